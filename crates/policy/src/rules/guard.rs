//! What guards an agent is not the agent's to read or to change: it runs as its user, and must not
//! be able to answer for them. What it starts the next time is for its user to say.

use mcpproxy_core::{Action, Finding, Severity, Source, Threat, Tier};

use super::{Case, finding};

/// Denies what would show the gateway's own keys or change what it decides, and asks about what
/// would change the agent's own configuration.
pub(super) fn judge(case: &Case<'_>) -> Vec<Finding> {
    let tampering = case.facts.tampering.as_ref();
    let about = tampering.map(|what| Finding {
        source: Source::Static,
        severity: Severity::High,
        threat: Threat::UnauthorizedAccess,
        ..finding("own_guard", Tier::Guard, Action::Deny, what.as_str())
    });
    let rewiring = case.facts.rewiring.as_ref().map(|what| Finding {
        source: Source::Static,
        severity: Severity::High,
        threat: Threat::UnauthorizedAccess,
        ..finding(
            "agent_configuration",
            Tier::Guard,
            Action::Ask,
            what.as_str(),
        )
    });
    about.into_iter().chain(rewiring).collect()
}
