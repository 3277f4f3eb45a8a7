//! What a chain of hooks came to: what they object to, what they changed, what they left behind.
//!
//! Words of hooks are cut and freed of what a terminal would act upon. Whether they hold a secret
//! is for the caller to find out, who has the detectors.

use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_core::{
    Action, Askable, Finding, HookFault, Masked, SecurityViolation, Severity, Source, Threat, Tier,
};

use crate::limits::FailureMode;

/// Characters of a hook's rule id that are kept.
const RULE: usize = 64;
/// Characters of a hook's description that are kept.
const DESCRIPTION: usize = 512;

/// What a chain of hooks came to.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// What hooks object to, and which of them did not decide.
    pub noted: Vec<Noted>,
    /// The body in place of the message's own.
    pub changed: Option<Bytes>,
    /// Headers for the upstream.
    pub headers: Vec<(String, String)>,
    /// What hooks left, as pairs of a hook's id and JSON text.
    pub metadata: Vec<(Box<str>, Box<str>)>,
}

impl Ran {
    /// Returns the strictest that any of the hooks wants.
    pub fn wants(&self) -> Action {
        let wants = self.noted.iter().map(|noted| noted.wants);
        wants.max().unwrap_or(Action::Allow)
    }
}

/// What one hook has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// The rule, with the hook's id in front.
    pub rule: String,
    /// What it wants.
    pub wants: Action,
    /// How bad it is.
    pub severity: Severity,
    /// The threat it belongs to.
    pub threat: Threat,
    /// Why, in words that may hold anything.
    pub reason: String,
    /// Whether it objects, rather than failed or changed something.
    pub objects: bool,
    /// Whether it stands until somebody approves, or proves more about themselves: where nobody can
    /// be asked, nobody has, and it is a denial.
    pub or_denies: bool,
}

impl Noted {
    /// What a hook found.
    pub(crate) fn violation(hook: &str, wants: Action, violation: &SecurityViolation) -> Self {
        let description = said(&violation.description, "it gives no reason");
        Self {
            rule: named(hook, &violation.rule_id),
            wants,
            severity: violation.severity,
            threat: violation.threat_type,
            reason: format!("hook `{hook}`: {description}"),
            objects: true,
            or_denies: false,
        }
    }

    /// The same as a denial that only a person lifts.
    pub(crate) fn or_denies(self) -> Self {
        Self {
            or_denies: true,
            ..self
        }
    }

    /// A hook that wants to know more about the caller.
    pub(crate) fn auth(hook: &str, what: &str) -> Self {
        let what = said(what, "it does not say which");
        Self {
            rule: named(hook, "require_additional_auth"),
            wants: Action::Ask,
            severity: Severity::Medium,
            threat: Threat::UnauthorizedAccess,
            reason: format!("hook `{hook}` wants additional authorization: {what}"),
            objects: true,
            or_denies: true,
        }
    }

    /// A hook that changed the message.
    pub(crate) fn modified(hook: &str) -> Self {
        Self {
            rule: named(hook, "modified"),
            wants: Action::Allow,
            severity: Severity::Info,
            threat: Threat::AnomalousBehavior,
            reason: format!("hook `{hook}` changed the message"),
            objects: false,
            or_denies: false,
        }
    }

    /// A hook whose change cannot be used.
    pub(crate) fn unusable(hook: &str, why: &str) -> Self {
        Self {
            rule: named(hook, "unusable_modification"),
            wants: Action::Deny,
            severity: Severity::High,
            threat: Threat::AnomalousBehavior,
            reason: format!("hook `{hook}` changed the message, but {why}"),
            objects: false,
            or_denies: false,
        }
    }

    /// A hook that did not decide.
    pub(crate) fn fault(hook: &str, fault: &HookFault, mode: FailureMode) -> Self {
        let (wants, severity) = match mode {
            FailureMode::Open => (Action::Warn, Severity::Info),
            FailureMode::Closed => (Action::Deny, Severity::Medium),
        };
        let (kind, mode) = (fault.name(), mode.name());
        Self {
            rule: named(hook, kind),
            wants,
            severity,
            threat: Threat::AnomalousBehavior,
            reason: format!("hook `{hook}` did not decide ({kind}) and is `{mode}`"),
            objects: false,
            or_denies: false,
        }
    }

    /// Returns what a check would say; `safe` makes words safe to show.
    pub fn finding(self, askable: Askable, safe: impl FnOnce(String) -> Masked) -> Finding {
        let alone = self.or_denies && askable == Askable::Nobody;
        let wants = if alone { Action::Deny } else { self.wants };
        Finding {
            source: source(self.threat),
            severity: self.severity,
            threat: self.threat,
            reason: safe(self.reason),
            ..Finding::new(self.rule, Tier::Hook, wants)
        }
    }
}

/// Returns what a hook leaves on record about what it found.
pub(crate) fn note(violation: &SecurityViolation) -> Option<Box<str>> {
    let evidence: Option<&serde_json::value::RawValue> = serde_json::from_str(&violation.evidence)
        .ok()
        .filter(|_| violation.evidence.len() <= DESCRIPTION * 4);
    let action = plain(&violation.recommended_action, DESCRIPTION);
    if evidence.is_none() && action.is_empty() {
        return None;
    }
    let note = serde_json::json!({
        "rule_id": plain(&violation.rule_id, RULE),
        "evidence": evidence,
        "recommended_action": action,
    });
    Some(note.to_string().into())
}

/// Names a rule of a hook.
fn named(hook: &str, rule: &str) -> String {
    let plain = |char: char| {
        let usual = char.is_ascii_alphanumeric() || "_-.:/".contains(char);
        if usual { char } else { '_' }
    };
    let rule: String = rule.chars().take(RULE).map(plain).collect();
    match rule.as_str() {
        "" => hook.to_owned(),
        rule => format!("{hook}/{rule}"),
    }
}

/// Returns what a hook says, or what is said in its place.
fn said(words: &str, otherwise: &str) -> String {
    let words = plain(words, DESCRIPTION);
    match words.trim() {
        "" => otherwise.to_owned(),
        words => words.to_owned(),
    }
}

/// Cuts a text, without what a terminal would act upon.
fn plain(text: &str, most: usize) -> String {
    let shown = |char: char| if char.is_control() { ' ' } else { char };
    text.chars().take(most).map(shown).collect()
}

/// The kind of detection that a threat is seen by; it weighs the risk score.
fn source(threat: Threat) -> Source {
    match threat {
        Threat::DataExfiltration => Source::Flow,
        Threat::RateLimitExceeded | Threat::AnomalousBehavior => Source::Behavioral,
        Threat::ToolPoisoning
        | Threat::RugPull
        | Threat::ToolShadowing
        | Threat::ServerSpoofing
        | Threat::UnauthorizedAccess
        | Threat::PromptInjection
        | Threat::CommandInjection
        | Threat::SessionHijacking
        | Threat::ContextPoisoning => Source::Static,
    }
}

/// The id of a hook, shared by everything that speaks of it.
pub(crate) type HookId = Arc<str>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_that_gives_no_reason_is_said_to_give_none() {
        let check = |words: &str, found: &str, auth: &str| {
            let violation = SecurityViolation {
                rule_id: String::new(),
                severity: Severity::High,
                threat_type: Threat::RugPull,
                description: words.to_owned(),
                evidence: "null".to_owned(),
                recommended_action: String::new(),
            };
            let noted = Noted::violation("h1", Action::Deny, &violation);
            assert_eq!(noted.reason, format!("hook `h1`: {found}"));
            let noted = Noted::auth("h1", words);
            let expect = format!("hook `h1` wants additional authorization: {auth}");
            assert_eq!(noted.reason, expect);
        };
        check("a card", "a card", "a card");
        check(" \n", "it gives no reason", "it does not say which");
    }
}
