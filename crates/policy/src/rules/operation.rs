//! Policy by what a call does: read, write, destroy.

use mcpproxy_core::{Action, Finding, Operation, Owner, Severity, Source, Threat, Tier};

use super::{Case, finding};
use crate::words;

/// Reports an operation that the configuration does not simply allow.
///
/// The agent's own tools are not meant: whether it may remove a file of the user's is between the
/// two of them.
pub(super) fn judge(case: &Case<'_>) -> Vec<Finding> {
    let hook = case.call.hook.as_ref();
    if hook.is_some_and(|hook| hook.owner == Owner::Agent) {
        return Vec::new();
    }
    let tools = &case.policy.tools;
    let Some(operation) = case.operation() else {
        return Vec::new();
    };
    let (wants, word) = match operation {
        Operation::Read => (tools.read, "reads"),
        Operation::Write => (tools.write, "writes"),
        Operation::Destructive => (tools.destructive, "destroys"),
    };
    if wants == Action::Allow {
        return Vec::new();
    }
    let reason = format!(
        "The call {word}, and the policy for that is `{}`.",
        words::action(wants)
    );
    vec![Finding {
        source: Source::Operator,
        severity: Severity::Info,
        threat: Threat::UnauthorizedAccess,
        ..finding("tool_policy", Tier::Operation, wants, reason)
    }]
}
