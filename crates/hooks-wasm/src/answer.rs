//! What a component may answer, and how it becomes a decision of the port.

use serde::de::IgnoredAny;
use wasmtime::component::{ComponentType, Lift};

use mcpproxy_core::finding::{Severity, Threat};
use mcpproxy_core::security::{
    HookFault, SecurityDecision, SecurityModification, SecurityViolation,
};

use crate::question::About;

#[derive(ComponentType, Lift)]
#[component(variant)]
pub(crate) enum Answer {
    #[component(name = "allow")]
    Allow,
    #[component(name = "modify")]
    Modify(Modification),
    #[component(name = "ask")]
    Ask(Violation),
    #[component(name = "require-auth")]
    RequireAuth(String),
    #[component(name = "deny")]
    Deny(Violation),
}

#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct Modification {
    params: Option<String>,
    body: Option<String>,
    headers: Vec<Pair>,
    audit: Option<String>,
}

#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct Pair {
    name: String,
    value: String,
}

#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct Violation {
    #[component(name = "rule-id")]
    rule_id: String,
    severity: Grade,
    #[component(name = "threat-type")]
    threat_type: Kind,
    description: String,
    evidence: Option<String>,
    #[component(name = "recommended-action")]
    recommended_action: String,
}

#[derive(Clone, Copy, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
#[expect(
    dead_code,
    reason = "components make them, by way of the derived `Lift`"
)]
pub(crate) enum Grade {
    #[component(name = "info")]
    Info,
    #[component(name = "low")]
    Low,
    #[component(name = "medium")]
    Medium,
    #[component(name = "high")]
    High,
    #[component(name = "critical")]
    Critical,
}

#[derive(Clone, Copy, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
#[expect(
    dead_code,
    reason = "components make them, by way of the derived `Lift`"
)]
pub(crate) enum Kind {
    #[component(name = "tool-poisoning")]
    ToolPoisoning,
    #[component(name = "rug-pull")]
    RugPull,
    #[component(name = "tool-shadowing")]
    ToolShadowing,
    #[component(name = "server-spoofing")]
    ServerSpoofing,
    #[component(name = "unauthorized-access")]
    UnauthorizedAccess,
    #[component(name = "prompt-injection")]
    PromptInjection,
    #[component(name = "command-injection")]
    CommandInjection,
    #[component(name = "data-exfiltration")]
    DataExfiltration,
    #[component(name = "session-hijacking")]
    SessionHijacking,
    #[component(name = "context-poisoning")]
    ContextPoisoning,
    #[component(name = "rate-limit-exceeded")]
    RateLimitExceeded,
    #[component(name = "anomalous-behavior")]
    AnomalousBehavior,
}

impl Answer {
    /// Takes an answer that fits what was asked about.
    pub(crate) fn decision(self, about: &About) -> Result<SecurityDecision, HookFault> {
        Ok(match self {
            Self::Allow => SecurityDecision::Allow,
            Self::Modify(modification) => modified(modification, about)?,
            Self::Ask(found) => SecurityDecision::Ask(violation(found)),
            Self::RequireAuth(what) => SecurityDecision::RequireAdditionalAuth(what),
            Self::Deny(found) => SecurityDecision::Deny(violation(found)),
        })
    }
}

/// Takes a modification that fits what was asked about and changes something.
///
/// Whether the new parameters or result are JSON is not looked at: where they are not, the
/// registry denies the message, which a fault would not do for a hook that fails open.
fn modified(modification: Modification, about: &About) -> Result<SecurityDecision, HookFault> {
    let headers = modification.headers.into_iter();
    let change = SecurityModification {
        modified_request: modification.params.map(bytes::Bytes::from),
        modified_response: modification.body.map(bytes::Bytes::from),
        added_headers: headers.map(|pair| (pair.name, pair.value)).collect(),
        audit_metadata: json(modification.audit)?.map(String::into_boxed_str),
    };
    let fits = match about {
        About::Request(_) => change.modified_response.is_none(),
        About::Message(_) => change.modified_response.is_none() && change.added_headers.is_empty(),
        About::Response(..) => change.modified_request.is_none() && change.added_headers.is_empty(),
    };
    if !fits {
        return Err(garbage(
            "the modification does not fit what was asked about",
        ));
    }
    if !change.added_headers.iter().all(sound) {
        return Err(garbage("a header of the modification is none"));
    }
    if change == SecurityModification::default() {
        return Err(garbage("the modification changes nothing"));
    }
    Ok(SecurityDecision::AllowWithModification(change))
}

/// Takes what was found. Whoever objects means it: evidence that is no JSON is left out.
fn violation(found: Violation) -> SecurityViolation {
    let evidence = json(found.evidence).ok().flatten();
    SecurityViolation {
        rule_id: found.rule_id,
        severity: found.severity.into(),
        threat_type: found.threat_type.into(),
        description: found.description,
        evidence: evidence.unwrap_or_else(|| "null".to_owned()),
        recommended_action: found.recommended_action,
    }
}

/// Takes text that has to be JSON.
fn json(text: Option<String>) -> Result<Option<String>, HookFault> {
    if let Some(text) = &text {
        serde_json::from_str::<IgnoredAny>(text)
            .map_err(|_| garbage("a text that has to be JSON is not"))?;
    }
    Ok(text)
}

/// Says whether a header is one: a token of RFC 9110, and a value without control characters.
fn sound((name, value): &(String, String)) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let visible = |b: u8| b == b'\t' || (b >= b' ' && b != 0x7f);
    !name.is_empty() && name.bytes().all(token) && value.bytes().all(visible)
}

fn garbage(why: &str) -> HookFault {
    HookFault::Garbage(why.to_owned())
}

impl From<Grade> for Severity {
    fn from(grade: Grade) -> Self {
        match grade {
            Grade::Info => Self::Info,
            Grade::Low => Self::Low,
            Grade::Medium => Self::Medium,
            Grade::High => Self::High,
            Grade::Critical => Self::Critical,
        }
    }
}

impl From<Kind> for Threat {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::ToolPoisoning => Self::ToolPoisoning,
            Kind::RugPull => Self::RugPull,
            Kind::ToolShadowing => Self::ToolShadowing,
            Kind::ServerSpoofing => Self::ServerSpoofing,
            Kind::UnauthorizedAccess => Self::UnauthorizedAccess,
            Kind::PromptInjection => Self::PromptInjection,
            Kind::CommandInjection => Self::CommandInjection,
            Kind::DataExfiltration => Self::DataExfiltration,
            Kind::SessionHijacking => Self::SessionHijacking,
            Kind::ContextPoisoning => Self::ContextPoisoning,
            Kind::RateLimitExceeded => Self::RateLimitExceeded,
            Kind::AnomalousBehavior => Self::AnomalousBehavior,
        }
    }
}
