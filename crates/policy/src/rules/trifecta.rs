//! The lethal trifecta: private data, text of strangers, and a way outside in one session.

use mcpproxy_core::{Action, Finding, Operation, Severity, Source, Taint, Threat, Tier};

use super::{Case, finding};

/// Speaks at the call that would put the third leg down.
///
/// With `deny` it also speaks in a session that got there unforeseen, about what goes outside.
pub(super) fn judge(case: &Case<'_>) -> Vec<Finding> {
    let before = case.facts.flow.taint;
    let wants = case.policy.flow.lethal_trifecta.action();
    let moment = !before.is_lethal() && after(case, before).is_lethal();
    let too_late = before.is_lethal() && wants == Action::Deny && case.outside();
    if !moment && !too_late {
        return Vec::new();
    }
    let reason = "The session has private data, text of strangers and a way outside.";
    vec![Finding {
        source: Source::Behavioral,
        severity: Severity::Medium,
        threat: Threat::PromptInjection,
        ..finding("lethal_trifecta", Tier::Flow, wants, reason)
    }]
}

/// Returns what the session will have seen once this call is answered: who asks something private
/// gets private data, who asks something outside gets what strangers wrote.
fn after(case: &Case<'_>, before: Taint) -> Taint {
    let asks = case.operation().is_none_or(|done| done == Operation::Read);
    let class = case.facts.destination.class;
    Taint {
        private: before.private || (asks && matches!(class, "internal" | "hybrid")),
        untrusted: before.untrusted || (asks && matches!(class, "external" | "hybrid")),
        outside: before.outside || case.outside(),
    }
}
