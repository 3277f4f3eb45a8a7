//! A secret on its way to an upstream that nobody knows, in a session that was given orders.
//!
//! Where a secret of one upstream is handed to another that only its own word speaks for, the user is
//! asked: the other may well be theirs. Where nobody can be asked, that question becomes a warning.
//! It does not once something that the session read told the model what to do: two signs that have
//! nothing to do with each other then say the same, and nobody is there to say otherwise.

use mcpproxy_core::{Askable, Finding, Severity, Tier};

use super::{Case, confidence, finding, source};

/// Reports the heaviest of what strays.
pub(super) fn judge(case: &Case<'_>) -> Vec<Finding> {
    if !case.facts.history.ordered || case.call.askable != Askable::Nobody {
        return Vec::new();
    }
    let mut matches = case.facts.flow.matches.iter();
    let Some(one) = matches.find(|one| case.strays(one)) else {
        return Vec::new();
    };
    let (from, to) = (source(one), case.destination());
    let reason = format!(
        "A secret is flowing from {from} to {to} after a text that gives orders \
         to the model was read."
    );
    let wants = case.policy.flow.sensitive_data_external;
    vec![Finding {
        severity: Severity::Critical,
        confidence: confidence(one.how),
        place: Some(one.place.clone()),
        evidence: Some(Box::new(one.clone())),
        ..finding("secret_after_orders", Tier::SensitiveFlow, wants, reason)
    }]
}
