//! The answer of a webhook, version 1. It is read strictly: what does not say exactly one thing
//! is no decision. An objection is followed all the same, which `flawed` sees to.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use mcpproxy_core::finding::{Severity, Threat};
use mcpproxy_core::security::{
    HookFault, SecurityDecision, SecurityModification, SecurityViolation,
};

use crate::decision;
use crate::subject::Phase;

/// What a webhook answers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    /// What is to happen.
    decision: Decision,
    /// What was found; with `deny` and `ask`, and only there.
    #[serde(default)]
    violation: Option<Violation>,
    /// What the caller has to prove; with `require_auth`, and only there.
    #[serde(default)]
    auth: Option<String>,
    /// What is to change; with `modify`, and only there.
    #[serde(default)]
    modification: Option<Modification>,
    /// For how many seconds the same question has the same answer; absent where it is to be asked
    /// each time. Not with `modify`.
    #[serde(default)]
    valid_for: Option<u32>,
}

/// What is to happen.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Decision {
    /// Let it pass.
    Allow,
    /// Do not let it pass.
    Deny,
    /// Ask a person first.
    Ask,
    /// Let it pass only for somebody who proves more about themselves.
    RequireAuth,
    /// Let it pass in another form.
    Modify,
}

/// What was found.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Violation {
    /// The service's own name of the rule.
    rule_id: String,
    /// How bad it is.
    #[schemars(with = "SeverityWord")]
    severity: Severity,
    /// The threat it belongs to.
    #[schemars(with = "ThreatWord")]
    threat_type: Threat,
    /// What it is, for people.
    #[serde(default)]
    description: String,
    /// What it is based on.
    #[serde(default)]
    #[schemars(with = "serde_json::Value")]
    evidence: Option<Box<RawValue>>,
    /// What to do about it.
    #[serde(default)]
    recommended_action: String,
}

/// What is to change. One part or more is there.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Modification {
    /// Parameters in place of those of the request or message.
    #[serde(default)]
    #[schemars(with = "serde_json::Value")]
    params: Option<Box<RawValue>>,
    /// Result or error in place of the one that came.
    #[serde(default)]
    #[schemars(with = "serde_json::Value")]
    result: Option<Box<RawValue>>,
    /// Headers for the upstream.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// What to put on record.
    #[serde(default)]
    #[schemars(with = "serde_json::Value")]
    audit: Option<Box<RawValue>>,
}

/// Severities, for the schema.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(
    dead_code,
    reason = "describes `Severity` in the schema and is never made"
)]
enum SeverityWord {
    Info,
    Low,
    Medium,
    High,
    Critical,
}

/// Threats, for the schema.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(
    dead_code,
    reason = "describes `Threat` in the schema and is never made"
)]
enum ThreatWord {
    ToolPoisoning,
    RugPull,
    ToolShadowing,
    ServerSpoofing,
    UnauthorizedAccess,
    PromptInjection,
    CommandInjection,
    DataExfiltration,
    SessionHijacking,
    ContextPoisoning,
    RateLimitExceeded,
    AnomalousBehavior,
}

/// Reads an answer to a question of this phase, and for how long it holds.
pub(super) fn read(body: &[u8], phase: Phase) -> Result<(SecurityDecision, Duration), HookFault> {
    let answer: Answer = serde_json::from_slice(body).map_err(|why| garbage(place(&why)))?;
    if answer.valid_for.is_some() && answer.modification.is_some() {
        return Err(garbage("`valid_for` does not go with `modify`"));
    }
    let valid_for = Duration::from_secs(answer.valid_for.unwrap_or_default().into());
    Ok((decided(answer, phase)?, valid_for))
}

fn decided(answer: Answer, phase: Phase) -> Result<SecurityDecision, HookFault> {
    let parts = (answer.violation, answer.auth, answer.modification);
    match (answer.decision, parts) {
        (Decision::Allow, (None, None, None)) => Ok(SecurityDecision::Allow),
        (Decision::Deny, (Some(violation), None, None)) => {
            Ok(SecurityDecision::Deny(violation.into()))
        }
        (Decision::Ask, (Some(violation), None, None)) => {
            Ok(SecurityDecision::Ask(violation.into()))
        }
        (Decision::RequireAuth, (None, Some(what), None)) => {
            Ok(SecurityDecision::RequireAdditionalAuth(what))
        }
        (Decision::Modify, (None, None, Some(modification))) => modified(modification, phase),
        (decision, _) => {
            let needs = match decision {
                Decision::Allow => "`allow` stands alone",
                Decision::Deny | Decision::Ask => "`deny` and `ask` need `violation` alone",
                Decision::RequireAuth => "`require_auth` needs `auth` alone",
                Decision::Modify => "`modify` needs `modification` alone",
            };
            Err(garbage(needs))
        }
    }
}

/// Says what is wrong with an answer and where, without showing any of it.
fn place(why: &serde_json::Error) -> String {
    let what = match why.classify() {
        serde_json::error::Category::Syntax => "not JSON",
        serde_json::error::Category::Eof => "cut short",
        serde_json::error::Category::Data => "not of the published form",
        serde_json::error::Category::Io => "unreadable",
    };
    format!("{what} at line {} column {}", why.line(), why.column())
}

fn modified(modification: Modification, phase: Phase) -> Result<SecurityDecision, HookFault> {
    let change = SecurityModification {
        modified_request: modification.params.map(bytes),
        modified_response: modification.result.map(bytes),
        added_headers: modification.headers.into_iter().collect(),
        audit_metadata: modification.audit.map(|audit| audit.get().into()),
    };
    decision::modified(change, phase)
}

fn bytes(raw: Box<RawValue>) -> bytes::Bytes {
    bytes::Bytes::from(Box::<str>::from(raw).into_string())
}

fn garbage(why: impl Into<String>) -> HookFault {
    HookFault::Garbage(why.into())
}

impl From<Violation> for SecurityViolation {
    fn from(violation: Violation) -> Self {
        let evidence = violation.evidence;
        Self {
            rule_id: violation.rule_id,
            severity: violation.severity,
            threat_type: violation.threat_type,
            description: violation.description,
            evidence: evidence.map_or_else(|| "null".to_owned(), |raw| raw.get().to_owned()),
            recommended_action: violation.recommended_action,
        }
    }
}
