//! The operator's own word about single tools.

use mcpproxy_core::{Finding, Severity, Source, Threat, Tier};

use super::{Case, finding};

/// Speaks for a tool that has an override, under any of its names.
///
/// Where several names of one tool are listed, each speaks and the strictest wins.
pub(super) fn judge(case: &Case<'_>) -> Vec<Finding> {
    let overrides = &case.policy.flow.tool_overrides;
    let mut found = Vec::new();
    if overrides.is_empty() {
        return found;
    }
    for name in names(
        case.call.tool.upstream.as_str(),
        case.call.tool.tool.as_str(),
    ) {
        let Some(action) = overrides.get(&name) else {
            continue;
        };
        let reason = format!("An override for `{name}` applies.");
        found.push(Finding {
            source: Source::Operator,
            severity: Severity::Info,
            threat: Threat::UnauthorizedAccess,
            ..finding("tool_override", Tier::Override, *action, reason)
        });
    }
    found
}

/// Returns the names that an override may use for a tool: its own, with its upstream as agents and
/// as gateways write it, and the other way round for one that an agent calls `mcp__upstream__tool`.
fn names(upstream: &str, tool: &str) -> Vec<String> {
    let mut names = vec![tool.to_owned()];
    let full = tool
        .strip_prefix("mcp__")
        .and_then(|rest| rest.split_once("__"));
    let (upstream, tool) = full.unwrap_or((upstream, tool));
    names.push(format!("{upstream}:{tool}"));
    names.push(format!("{upstream}__{tool}"));
    let agents = format!("mcp__{upstream}__{tool}");
    if !names.contains(&agents) {
        names.push(agents);
    }
    names
}
