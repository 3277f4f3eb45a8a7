//! How much can be seen of what agents do: which hooks are installed, whether they are heard from,
//! whether they block, and what they could not ask about.

use std::path::Path;

use mcpproxy_agents::Os;
use mcpproxy_agents::hook::{FailMode, HookStatus, Trust};
use serde_json::Value;

use super::check::Check;
use crate::daemon::SOCKET;
use crate::hook::missed::Missed;
use crate::hook::{Reached, canary};

const AREA: &str = "Security Coverage";
/// What somebody without hooks is told (US9.2).
const NUDGE: &str = "Install agent hooks for improved security coverage. Hooks provide visibility \
    into agent-internal tools (Read, Bash, WebFetch). Without hooks, flow detection is limited to \
    MCP-proxied tool calls. Run `mcpproxy hook install --agent claude-code` to enable.";

/// What is known about hooks.
pub(super) struct Known<'a> {
    /// What stands in the agents' files.
    pub(super) installed: &'a [HookStatus],
    /// What the running gateway says, if there is one.
    pub(super) status: Option<&'a Value>,
    /// What the configuration says about failures.
    pub(super) fail_open: Option<bool>,
    /// Whether hooks are answered at all.
    pub(super) is_answered: bool,
    /// This program, as agents are told to run it.
    pub(super) program: &'a Path,
    /// The data folder.
    pub(super) folder: Option<&'a Path>,
}

/// Looks at everything about hooks.
pub(super) fn checks(known: &Known<'_>) -> Vec<Check> {
    let mut checks = summary(known);
    if !known.is_answered && known.installed.iter().any(|hook| hook.is_installed) {
        let message = "Hooks: switched off in the configuration; every use of a tool passes";
        let hint = "set `security.agent_hooks.enabled: true`";
        checks.push(Check::fail(AREA, message.to_owned(), hint));
    }
    for hook in known.installed {
        checks.extend(installed(hook, known));
    }
    checks.extend(gaps(known));
    checks
}

/// Says how much can be seen: who was heard, and whose hook is installed and was not.
fn summary(known: &Known<'_>) -> Vec<Check> {
    let agents = known
        .status
        .and_then(|status| status.pointer("/hooks/agents"));
    let agents = agents
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let is_heard = |name: &str| agents.iter().any(|agent| agent["agent"] == name);
    let installed = known.installed.iter().filter(|hook| hook.is_installed);
    let silent = installed.filter(|hook| !is_heard(hook.agent.name()));
    let (answered, alone): (Vec<_>, Vec<_>) = silent.partition(|hook| known.answers(hook));
    let mut checks = Vec::new();
    if !agents.is_empty() {
        let heard: Vec<_> = agents.iter().map(heard).collect();
        let message = format!("Hooks: active ({})", heard.join("; "));
        checks.push(Check::ok(AREA, message));
    }
    if answered.is_empty() && alone.is_empty() && agents.is_empty() {
        let message = "Hooks: not installed; security coverage: MCP proxy only".to_owned();
        checks.push(Check::warn(AREA, message, NUDGE));
    }
    if !answered.is_empty() {
        let message = format!(
            "Hooks: installed ({}), but no event was seen yet",
            names(&answered)
        );
        let hint = "let the agent use a tool, then look again";
        checks.push(Check::warn(AREA, message, hint));
    }
    if !alone.is_empty() {
        let message = format!(
            "Hooks: installed ({}), but no gateway answers them",
            names(&alone)
        );
        let hint = "start one with `mcpproxy serve`";
        checks.push(Check::fail(AREA, message, hint));
    }
    checks
}

impl Known<'_> {
    /// Tells whether the hook of an agent is answered where it asks, which may be elsewhere.
    fn answers(&self, hook: &HookStatus) -> bool {
        Reached::by(hook).map_or(self.status.is_some(), |asked| asked.is_reachable)
    }

    /// Returns the gateway that a hook asks, if it is another than the one that is looked at.
    fn other(&self, hook: &HookStatus) -> Option<Reached> {
        let own = self.folder?.join(SOCKET);
        Reached::by(hook).filter(|asked| asked.socket != own)
    }
}

/// The agents of hooks, each once.
fn names(hooks: &[&HookStatus]) -> String {
    let mut names: Vec<_> = hooks.iter().map(|hook| hook.agent.name()).collect();
    names.dedup();
    names.join(", ")
}

/// What was heard from one agent.
fn heard(agent: &Value) -> String {
    let text = |name: &str| agent.get(name).and_then(Value::as_str).unwrap_or("unknown");
    let sessions = agent.get("sessions").and_then(Value::as_u64).unwrap_or(0);
    let noun = if sessions == 1 { "session" } else { "sessions" };
    let (name, last) = (text("agent"), text("last_event"));
    format!("{name}, {sessions} {noun}, last event {last}")
}

/// Looks at the hook of one agent.
fn installed(hook: &HookStatus, known: &Known<'_>) -> Vec<Check> {
    let name = hook.agent.name();
    let again = format!("run `{}`", hook.remedy());
    let mut checks = Vec::new();
    for fault in &hook.faults {
        checks.push(Check::fail(AREA, format!("{name}: {fault}"), &again));
    }
    if hook.trust == Trust::Missing {
        let message = format!("{name}: the hook is installed but not trusted, so it does not run");
        let hint = "trust it in the agent";
        checks.push(Check::fail(AREA, message, hint));
    }
    for file in &hook.also_in {
        let message = format!(
            "{name}: the hook runs a second time from `{}`",
            file.display()
        );
        checks.push(Check::warn(AREA, message, "take one of the two out"));
    }
    if let (Some(other), Some(folder)) = (known.other(hook), known.folder) {
        let message = format!(
            "{name}: the hook asks another gateway, at `{}`",
            other.socket.display()
        );
        let hint = format!("run `{}`", hook.moved(folder, Os::Linux));
        checks.push(Check::warn(AREA, message, &hint));
    }
    let configured = known.fail_open.map(|open| {
        if open {
            FailMode::Open
        } else {
            FailMode::Closed
        }
    });
    if let (Some(baked), Some(configured)) = (hook.fail, configured)
        && baked != configured
    {
        let mut hint = format!("run `{}`", hook.renewal());
        if baked == FailMode::Closed {
            hint = format!("set `security.agent_hooks.fail_open: false`, or {hint} to fail open");
        }
        let (baked, configured) = (baked.name(), configured.name());
        let message =
            format!("{name}: the hook fails {baked}, the configuration says {configured}");
        checks.push(Check::warn(AREA, message, &hint));
    }
    let is_tried = known.is_answered && (known.status.is_some() || known.answers(hook));
    if let (Some(command), true) = (&hook.command, is_tried) {
        checks.push(match canary::sing(hook, command, known.program) {
            Ok(()) => Check::ok(
                AREA,
                format!("{name}: a test through the installed command was blocked"),
            ),
            Err(why) => {
                let message =
                    format!("{name}: a test through the installed command was not blocked: {why}");
                Check::fail(AREA, message, &again)
            }
        });
    }
    checks
}

/// Looks for uses of tools about which hooks could not ask.
fn gaps(known: &Known<'_>) -> Option<Check> {
    let missed = Missed::found(known.status, known.folder)?;
    Some(Check::warn(AREA, missed.sentence(), missed.hint()))
}

#[cfg(test)]
mod tests {
    use mcpproxy_agents::hook::HookAgent;
    use mcpproxy_agents::{Places, Scope};
    use serde_json::json;

    use super::super::check::Status;
    use super::*;

    fn known(status: Option<&Value>) -> Known<'_> {
        Known {
            installed: &[],
            status,
            fail_open: Some(true),
            is_answered: true,
            program: Path::new("/usr/bin/mcpproxy"),
            folder: None,
        }
    }

    #[test]
    fn without_hooks_the_specifications_words_are_said() {
        let found = checks(&known(None));
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].area, found[0].status),
            ("Security Coverage", Status::Warn)
        );
        assert_eq!(
            found[0].hint.as_deref().unwrap(),
            "Install agent hooks for improved security coverage. Hooks provide visibility into agent-internal tools (Read, Bash, WebFetch). Without hooks, flow detection is limited to MCP-proxied tool calls. Run `mcpproxy hook install --agent claude-code` to enable."
        );
    }

    #[test]
    fn a_hook_that_was_never_heard_is_not_hidden_by_one_that_was() {
        let home = tempfile::tempdir().unwrap();
        let places = Places::usual(home.path(), home.path(), Os::Linux);
        let mut installed = [HookAgent::Codex, HookAgent::Cursor]
            .map(|agent| mcpproxy_agents::hook::status(agent, Scope::User, &places));
        for hook in &mut installed {
            hook.is_installed = true;
        }
        let check = |agents: &[&str], expect: &[&str]| {
            let agents = agents.iter().map(|name| json!({ "agent": name }));
            let status = json!({ "hooks": { "agents": agents.collect::<Vec<_>>() } });
            let known = Known {
                installed: &installed,
                ..known(Some(&status))
            };
            let found = summary(&known);
            let found: Vec<_> = found.iter().map(|check| check.message.as_str()).collect();
            assert_eq!(found, expect);
        };
        check(
            &["codex"],
            &[
                "Hooks: active (codex, 0 sessions, last event unknown)",
                "Hooks: installed (cursor), but no event was seen yet",
            ],
        );
        let none = "Hooks: installed (codex, cursor), but no event was seen yet";
        check(&[], &[none]);
        let both = "Hooks: active (codex, 0 sessions, last event unknown; \
                    cursor, 0 sessions, last event unknown)";
        check(&["codex", "cursor"], &[both]);
    }

    #[test]
    fn what_is_heard_and_what_was_missed_is_told() {
        let status = json!({ "hooks": {
            "agents": [{ "agent": "codex", "sessions": 1, "events": 3, "last_event": "then" }],
            "gaps": { "count": 2, "last": { "at": "earlier", "agent": "codex" } },
        } });
        let found = checks(&known(Some(&status)));
        let messages: Vec<_> = found.iter().map(|check| check.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "Hooks: active (codex, 1 session, last event then)",
                "2 uses of tools could not be asked about, last earlier (codex)",
            ]
        );
        assert_eq!(found[0].status, Status::Ok);
    }
}
