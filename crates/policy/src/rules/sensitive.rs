//! Sensitive data that was read inside, on its way out, or to where nobody knows whether it is.

use mcpproxy_core::{Action, Finding, Match, Severity, Side, Tier, Weight};

use super::{Case, confidence, finding, source};

/// How many kinds of sensitive data one call is reported for.
const KINDS: usize = 8;

/// Reports each kind of sensitive data and each source once.
pub(super) fn judge(case: &Case<'_>) -> Vec<Finding> {
    let outside = case.outside();
    let most = case.policy.flow.sensitive_data_external;
    // An upstream that nothing is known of may well be the user's own: that is for them to say.
    let (wants, severity) = if outside {
        (most, Severity::Critical)
    } else {
        (most.min(Action::Ask), Severity::High)
    };
    let mut told: Vec<(&str, &str)> = Vec::new();
    let mut found = Vec::new();
    for one in case
        .facts
        .flow
        .matches
        .iter()
        .filter(|one| outside && is_sensitive(one) || case.strays(one))
    {
        let kind = (word(one), one.origin.upstream.as_str());
        if told.contains(&kind) || told.len() == KINDS {
            continue;
        }
        told.push(kind);
        let (word, _) = kind;
        let (from, to) = (source(one), case.destination());
        let reason = format!("Sensitive data ({word}) flowing from {from} to {to}.");
        found.push(Finding {
            severity,
            confidence: confidence(one.how),
            place: Some(one.place.clone()),
            evidence: Some(Box::new(one.clone())),
            ..finding(
                "sensitive_data_external",
                Tier::SensitiveFlow,
                wants,
                reason,
            )
        });
    }
    found
}

fn is_sensitive(one: &Match) -> bool {
    one.origin.side == Side::Inside && one.weight == Weight::Sensitive
}

fn word(one: &Match) -> &'static str {
    one.label.as_ref().map_or("sensitive", |label| label.word)
}
