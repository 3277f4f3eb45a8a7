//! What guards an agent is not the agent's to read or to change: it runs as its user, and must not
//! be able to answer for them.

use mcpproxy_core::{Action, Finding, Severity, Source, Threat, Tier};

use super::{Case, finding};

/// Denies what would show the gateway's own keys or change what it decides.
pub(super) fn judge(case: &Case<'_>) -> Vec<Finding> {
    let tampering = case.facts.tampering.as_ref();
    let about = tampering.map(|what| Finding {
        source: Source::Static,
        severity: Severity::High,
        threat: Threat::UnauthorizedAccess,
        ..finding("own_guard", Tier::Guard, Action::Deny, what.as_str())
    });
    about.into_iter().collect()
}
