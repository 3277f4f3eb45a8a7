//! A session whose flows were denied again and again.

use mcpproxy_core::{Action, Finding, Operation, Source, Threat, Tier};

use super::{Case, REPEATED, finding};

/// Asks about everything that such a session writes outside.
pub(super) fn judge(case: &Case<'_>) -> Vec<Finding> {
    let reads = case.operation().is_none_or(|done| done == Operation::Read);
    if case.facts.history.denials < REPEATED || !case.outside() || reads {
        return Vec::new();
    }
    let times = case.facts.history.denials;
    let reason = format!("Data was kept from leaving {times} times in this session.");
    vec![Finding {
        source: Source::Behavioral,
        threat: Threat::AnomalousBehavior,
        ..finding("after_denials", Tier::Flow, Action::Ask, reason)
    }]
}
