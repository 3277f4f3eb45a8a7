//! Calls that are on record, judged again under another policy.
//!
//! A record has no arguments and no answers, so that only those calls can be judged again whose
//! record says everything that the policy looked at. Whether that is so is tried: under the policy
//! in force the same decision must come out as on record. What guards, hooks and the quarantine
//! found stands as it was. An override for a tool settles its calls whatever else was looked at.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{
    Action, Askable, Call, CallId, DataOrigin, Declared, Door, Enforcement, Facts, Finding,
    FlowScope, FlowType, Id128, Label, Likeness, Masked, Match, MessageKind, Nature, Operation,
    Principal, SessionBasis, SessionKey, Severity, Side, Sink, Source, Threat, Tick, Tier,
    ToolName, ToolRef, Trace, UpstreamId, Wall, Weight, Wire,
};
use mcpproxy_policy::{decide, judge};
use serde::Deserialize;

use crate::classes::Classes;
use crate::engine::Engine;
use crate::facts::destination;
use crate::out_of_scope::SCOPE;
use crate::ready::EngineSettings;

/// The rule for secrets that stray after orders to the model.
const AFTER_ORDERS: &str = "secret_after_orders";
/// Rules of the policy whose facts a record has.
const REBUILT: [&str; 8] = [
    "internal_to_external",
    "sensitive_data_external",
    AFTER_ORDERS,
    "tool_override",
    "tool_policy",
    "lethal_trifecta",
    "after_denials",
    // It is made of the others.
    "risk_score",
];
/// Rules of the policy that looked at what is not kept, and where they stand.
const UNKEPT: [(&str, Tier); 11] = [
    ("contradiction", Tier::Contradiction),
    ("suspicious_endpoint", Tier::Endpoint),
    ("likely_collector", Tier::Risk),
    ("command_external", Tier::SensitiveFlow),
    ("secret_to_external", Tier::SensitiveFlow),
    ("pii_to_external", Tier::Risk),
    ("unread_to_external", Tier::Flow),
    ("reduced_look", Tier::Flow),
    ("rapid_external_sends", Tier::Risk),
    ("pii_external_sends", Tier::Risk),
    ("data_volume", Tier::Risk),
];
/// Denials after which the policy is careful.
const REPEATED: u32 = 3;

/// What came of judging a call again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Again {
    /// The same.
    Same,
    /// Something else.
    Changed {
        /// The record.
        id: CallId,
        /// The tool, as `upstream:tool`.
        tool: String,
        /// What was decided.
        before: Action,
        /// What would be.
        after: Action,
    },
    /// It cannot be done from the record, for this reason.
    Skipped(&'static str),
}

/// Judges records again.
#[derive(Debug)]
pub struct Recorded {
    before: Judge,
    after: Judge,
}

#[derive(Debug)]
struct Judge {
    settings: EngineSettings,
    classes: Classes,
}

/// What one of two policies comes to.
struct Judged {
    wanted: Action,
    flow: FlowType,
    sink: Sink,
    /// Whether an override for the tool speaks.
    overridden: bool,
}

#[derive(Deserialize)]
struct Read<'a> {
    id: String,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    server_name: String,
    tool_name: String,
    method: String,
    decision: Action,
    enforcement: Enforcement,
    flow_type: FlowType,
    #[serde(default)]
    declared: ReadDeclared,
    #[serde(default)]
    findings: Vec<ReadFinding>,
}

#[derive(Default, Deserialize)]
struct ReadDeclared {
    #[serde(default)]
    operation: Option<Operation>,
    #[serde(default)]
    sensitivity: Option<Box<str>>,
    #[serde(default)]
    flow_justification: Option<Box<str>>,
    #[serde(default)]
    flow_destination_type: Option<Box<str>>,
}

#[derive(Deserialize)]
struct ReadFinding {
    rule: String,
    source: Source,
    wants: Action,
    severity: Severity,
    confidence: u8,
    threat: Threat,
    #[serde(default)]
    evidence: Option<ReadMatch>,
}

#[derive(Deserialize)]
struct ReadMatch {
    evidence: Likeness,
    origin: ReadOrigin,
    place: Box<str>,
    shared: u32,
    weight: Weight,
    #[serde(default)]
    label: Option<ReadLabel>,
}

#[derive(Deserialize)]
struct ReadOrigin {
    upstream: String,
    tool: String,
    side: Side,
}

#[derive(Deserialize)]
struct ReadLabel {
    kind: String,
    severity: Severity,
    validated: bool,
    nature: Nature,
}

impl Recorded {
    /// Makes ready to judge the records of an engine under other settings.
    pub fn new(engine: &Engine, after: EngineSettings) -> Self {
        let judge = |settings: EngineSettings| Judge {
            classes: engine.classes().under(&settings.classification),
            settings,
        };
        Self {
            before: judge(engine.settings()),
            after: judge(after),
        }
    }

    /// Judges a record again.
    pub fn judge(&self, record: &str) -> Again {
        let Ok(read) = serde_json::from_str::<Read<'_>>(record) else {
            return Again::Skipped("the record is not understood");
        };
        if read.kind == "hook_evaluation" {
            return Again::Skipped("what an agent does by itself is judged by its arguments");
        }
        if said(&read, SCOPE) {
            return Again::Skipped("the scope of a token refused it before the policy was asked");
        }
        let after = self.after.judge(&read);
        if after.overridden {
            return changed(&read, after.wanted);
        }
        if read.findings.iter().any(|one| unkept(&one.rule).is_some()) {
            return Again::Skipped("a rule looked at what is not kept");
        }
        let before = self.before.judge(&read);
        // Data that stayed on its side is on record only as its direction: that is enough while the
        // destination stays what it was.
        let moved = before.flow != read.flow_type
            && (read.flow_type == FlowType::InternalToExternal || before.sink != after.sink);
        if before.wanted != read.decision || moved {
            return Again::Skipped("the record does not say what the decision was made of");
        }
        changed(&read, after.wanted)
    }
}

/// Compares a decision with the one on record.
fn changed(read: &Read<'_>, after: Action) -> Again {
    let before = read.decision;
    let Some(id) = CallId::parse(&read.id).filter(|_| after != before) else {
        return Again::Same;
    };
    Again::Changed {
        id,
        tool: format!("{}:{}", read.server_name, read.tool_name),
        before,
        after,
    }
}

impl Judge {
    fn judge(&self, read: &Read<'_>) -> Judged {
        let call = call(read);
        let settings = &self.settings;
        let class = self.classes.of(&call.tool, &settings.classification);
        let mut facts = Facts::bare(destination(&call, &class));
        let mut findings: Vec<_> = read.findings.iter().filter_map(carried).collect();
        if settings.enabled {
            facts.operation = class.does.operation;
            let said = |rule: &str| said(read, rule);
            facts.flow.taint.private = said("lethal_trifecta");
            facts.flow.taint.untrusted = said("lethal_trifecta");
            if said("after_denials") {
                facts.history.denials = REPEATED;
            }
            facts.history.ordered = said(AFTER_ORDERS);
            if settings.flow_tracking.enabled {
                let evidence = read.findings.iter().filter_map(|one| one.evidence.as_ref());
                facts.flow.matches = evidence.map(recognized).collect();
            }
            findings.extend(judge(&settings.policy, &call, &facts));
        }
        let overridden = findings.iter().any(|one| one.tier == Tier::Override);
        // The score is made anew of what has a say, as it is for a call: an override takes from it
        // what it silences.
        let verdict = decide(&settings.policy, &call, &facts, findings);
        Judged {
            wanted: verdict.wanted,
            flow: verdict.flow,
            sink: facts.destination.sink,
            overridden,
        }
    }
}

/// The tier of a rule of the policy that looked at what is not kept.
fn unkept(rule: &str) -> Option<Tier> {
    let found = UNKEPT.iter().find(|(name, _)| *name == rule);
    found.map(|(_, tier)| *tier)
}

/// Tells whether a rule had something to say about a call.
fn said(read: &Read<'_>, rule: &str) -> bool {
    read.findings.iter().any(|one| one.rule == rule)
}

/// What others than the policy found, which stands as it was.
fn carried(read: &ReadFinding) -> Option<Finding> {
    let rebuilt = REBUILT.contains(&read.rule.as_str());
    (!rebuilt).then(|| found(read, tier(read)))
}

fn found(read: &ReadFinding, tier: Tier) -> Finding {
    Finding {
        source: read.source,
        severity: read.severity,
        confidence: read.confidence,
        threat: read.threat,
        ..Finding::new(read.rule.clone(), tier, read.wants)
    }
}

/// The tier of what others found: an operator's orders, hooks by their id, else guards.
fn tier(read: &ReadFinding) -> Tier {
    if let Some(tier) = unkept(&read.rule) {
        return tier;
    }
    match read.source {
        Source::Operator => Tier::Quarantine,
        Source::Behavioral => Tier::Risk,
        _ if read.rule.contains([':', '/']) => Tier::Hook,
        Source::Flow | Source::Pii | Source::Static | Source::AgentHint => Tier::Guard,
    }
}

fn recognized(read: &ReadMatch) -> Match {
    Match {
        how: read.evidence,
        via: Vec::new(),
        origin: DataOrigin {
            call: CallId::new(0, 0),
            upstream: UpstreamId::new(&*read.origin.upstream),
            tool: ToolName::new(&*read.origin.tool),
            at: Wall(0),
            side: read.origin.side,
        },
        place: read.place.clone(),
        shared: read.shared,
        weight: read.weight,
        label: read.label.as_ref().map(|label| Label {
            kind: label.kind.as_str().into(),
            word: "sensitive",
            severity: label.severity,
            validated: label.validated,
            nature: label.nature,
        }),
        sample: Masked::from_safe(""),
    }
}

fn call(read: &Read<'_>) -> Call {
    let nobody = Id128(0);
    Call {
        id: CallId::new(0, 0),
        leg: 0,
        at: Wall(0),
        deadline: Tick(Duration::ZERO),
        door: Door::Internal,
        who: Principal::local(),
        scope: FlowScope(nobody),
        session: SessionKey {
            basis: SessionBasis::Credential,
            id: nobody,
        },
        kind: MessageKind::Request(read.method.as_str().into()),
        tool: ToolRef {
            upstream: UpstreamId::new(&*read.server_name),
            tool: ToolName::new(&*read.tool_name),
        },
        declared: Declared {
            operation: read.declared.operation,
            sensitivity: read.declared.sensitivity.clone(),
            flow_justification: read.declared.flow_justification.clone(),
            flow_destination_type: read.declared.flow_destination_type.clone(),
            ..Declared::default()
        },
        askable: match read.enforcement {
            Enforcement::Degraded => Askable::Nobody,
            // The rule speaks only where nobody can be asked.
            Enforcement::Enforced | Enforcement::Shadow | Enforcement::Unheard
                if said(read, AFTER_ORDERS) =>
            {
                Askable::Nobody
            }
            Enforcement::Enforced | Enforcement::Shadow | Enforcement::Unheard => {
                Askable::AgentPrompt
            }
        },
        hook: None,
        trace: Trace::default(),
        wire: Wire {
            raw: Bytes::new(),
            ticket: None,
        },
    }
}

#[cfg(test)]
mod tests;
