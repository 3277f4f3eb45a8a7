//! An objection that is not of the published form. Whoever says `deny` means it, however the rest is
//! spelled: taken for a failure, the call would pass with a hook that fails open.

use serde::Deserialize;
use serde_json::Value;

use mcpproxy_core::finding::{Severity, Threat};
use mcpproxy_core::security::{SecurityDecision, SecurityViolation};

/// What can be read of it.
#[derive(Deserialize)]
struct Objection {
    decision: String,
    #[serde(default)]
    violation: Value,
}

/// Reads a denial or a question; nothing where the answer is neither, or says two things.
pub(super) fn objection(body: &[u8]) -> Option<SecurityDecision> {
    let said: Objection = serde_json::from_slice(body).ok()?;
    let found = violation(&said.violation);
    match squeezed(&said.decision).as_str() {
        "deny" => Some(SecurityDecision::Deny(found)),
        "ask" => Some(SecurityDecision::Ask(found)),
        _ => None,
    }
}

fn violation(said: &Value) -> SecurityViolation {
    let text = |field: &str| said.get(field).and_then(Value::as_str).unwrap_or_default();
    let threat = squeezed(text("threat_type"));
    let mut threats = Threat::ALL.into_iter();
    let threat = threats.find(|one| squeezed(one.name()) == threat);
    let severity = Value::String(squeezed(text("severity")));
    SecurityViolation {
        rule_id: text("rule_id").to_owned(),
        severity: serde_json::from_value(severity).unwrap_or(Severity::High),
        threat_type: threat.unwrap_or(Threat::UnauthorizedAccess),
        description: text("description").to_owned(),
        evidence: said.get("evidence").unwrap_or(&Value::Null).to_string(),
        recommended_action: text("recommended_action").to_owned(),
    }
}

/// A word without case and separators: `RugPull` is `rug_pull`.
fn squeezed(word: &str) -> String {
    let letters = word.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}
