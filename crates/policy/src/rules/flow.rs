//! Data that was read inside and is not known to be sensitive, on its way out.

use mcpproxy_core::{Action, Finding, Severity, Side, Tier, Weight};

use super::{Case, confidence, finding, source};
use crate::direction;

/// Reports the heaviest of it.
///
/// A trace, as a ticket number or a link, is written down and has no say.
pub(super) fn judge(case: &Case<'_>) -> Vec<Finding> {
    if !case.outside() {
        return Vec::new();
    }
    let mut matches = case.facts.flow.matches.iter();
    let plain = matches
        .by_ref()
        .filter(|one| one.origin.side == Side::Inside && one.weight < Weight::Sensitive)
        .reduce(|best, one| if one.weight > best.weight { one } else { best });
    let Some(one) = plain else {
        return Vec::new();
    };
    let (wants, severity) = match one.weight {
        Weight::Trace => (Action::Allow, Severity::Info),
        Weight::Notable | Weight::Sensitive if direction::is_unjustified(case) => {
            (case.policy.flow.internal_to_external, Severity::High)
        }
        Weight::Notable | Weight::Sensitive => {
            (case.policy.flow.internal_to_external, Severity::Medium)
        }
    };
    let (from, to) = (source(one), case.destination());
    let reason = format!("Data flowing from {from} to {to}.");
    vec![Finding {
        severity,
        confidence: confidence(one.how),
        place: Some(one.place.clone()),
        evidence: Some(Box::new(one.clone())),
        ..finding("internal_to_external", Tier::Flow, wants, reason)
    }]
}
