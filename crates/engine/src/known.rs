//! What is left out of records, logs and events because the conversation read it as a secret: a
//! detector knows a secret by the words around it or by its form, and the tracker by itself, wherever
//! an agent writes it.

use mcpproxy_core::{Call, Detected, Facts, Finding, Label, Masked, Outcome, Record, ToolName};

use crate::bodies::bodies;
use crate::engine::Engine;
use crate::facts::whose;
use crate::ready::Ready;
use crate::record::{note, note_label};

/// Stands for words that hold a secret.
pub(crate) const WITHHELD: &str = "[withheld: it holds a secret]";

impl Engine {
    /// Says what stands in words that the conversation of a call read as a secret or as personal data.
    pub(crate) fn known(&self, call: &Call, words: &str) -> Option<Label> {
        self.tracker().known(whose(call), words)
    }

    /// Takes the words out of a finding that hold such a value. Where only the name of what is used
    /// does, the rest still says what is wrong.
    pub(crate) fn hush(&self, call: &Call, finding: &mut Finding) {
        let known = |words: &str| self.known(call, words).is_some();
        if known(finding.reason.as_str()) {
            let (reason, name) = (finding.reason.as_str(), call.tool.tool.as_str());
            let unnamed = (!name.is_empty()).then(|| reason.replace(name, WITHHELD));
            let broken = || format!("The rule `{}` is broken.", finding.rule);
            let reason = unnamed.filter(|words| !known(words));
            finding.reason = Masked::from_safe(reason.unwrap_or_else(broken));
        }
        if let Some(found) = &mut finding.evidence
            && known(found.origin.tool.as_str())
        {
            found.origin.tool = ToolName::new(WITHHELD);
        }
        if let Some(said) = &mut finding.contradiction
            && known(said.explanation.as_str())
        {
            said.explanation = Masked::from_safe("What is said and what is sent do not agree.");
        }
    }

    /// Leaves out of the record of a call what holds such a value, and has the record say that there
    /// was one.
    pub(crate) fn withhold(&self, call: &Call, record: &mut Record) {
        let mut found = Vec::new();
        let mut cut = |words: &mut String| {
            if let Some(label) = self.known(call, words) {
                WITHHELD.clone_into(words);
                found.push(label);
            }
        };
        cut(&mut record.tool_name);
        cut(&mut record.correlation_id);
        record.error_message.iter_mut().for_each(&mut cut);
        if let Some(hook) = &mut record.hook {
            cut(&mut hook.event);
            cut(&mut hook.session);
            hook.tool_use_id.iter_mut().for_each(&mut cut);
        }
        let declared = &mut record.declared;
        for words in [
            &mut declared.sensitivity,
            &mut declared.reason,
            &mut declared.flow_justification,
            &mut declared.flow_destination_type,
        ] {
            if let Some(words) = words
                && let Some(label) = self.known(call, words)
            {
                *words = WITHHELD.into();
                found.push(label);
            }
        }
        for finding in &mut record.findings {
            self.hush(call, finding);
        }
        for label in found {
            note(record, &label);
        }
    }

    /// Adds what the record of a call keeps of what was sent and of what came back, where that is
    /// wanted.
    pub(crate) fn add_bodies(
        &self,
        record: &mut Record,
        call: &Call,
        outcome: &Outcome,
        ready: &Ready,
    ) {
        let mut found = Vec::new();
        let mut known = |words: &str| {
            let label = self.known(call, words);
            found.extend(label.clone());
            label.is_some()
        };
        record.bodies = bodies(call, outcome, &record.findings, ready, &mut known);
        for label in found {
            note(record, &label);
        }
    }
}

/// Adds what of a call was read before, which a detector may not know again by itself.
pub(crate) fn note_known(facts: &Facts, detected: &mut Detected) {
    let labels = facts.flow.matches.iter();
    for label in labels.filter_map(|one| one.label.as_ref()) {
        note_label(label, detected);
    }
}
