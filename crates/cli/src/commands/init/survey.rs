//! What the agents have configured, as far as it can be imported.

use anyhow::Result;
use mcpproxy_agents::{self as agents, AgentKind, Found, Places, Scope};
use mcpproxy_config::check_upstream;
use serde_json::Value;

use super::additions::entry;
use super::own::environment;
use crate::exit::bad_input;
use crate::places::places;

/// The agents' files, without the servers that cannot be imported.
pub(super) struct Survey {
    pub(super) found: Vec<Found>,
    /// The servers that stay with their agents, and why.
    pub(super) left: Vec<String>,
}

impl Survey {
    /// Looks for the files of all agents, or of those that are named.
    ///
    /// A named agent without a file gets one, if the folder for it is there.
    pub(super) fn take(named: &[AgentKind], command: &str) -> Result<Self> {
        let places = places()?;
        let mut found = agents::discover(&places);
        if !named.is_empty() {
            found.retain(|file| named.contains(&file.agent));
        }
        for agent in named {
            if !found
                .iter()
                .any(|file| file.agent == *agent && file.scope == Scope::User)
            {
                found.extend(new_file(*agent, &places));
            }
            if !found.iter().any(|file| file.agent == *agent) {
                let message = format!("no configuration of {agent} was found");
                return Err(bad_input(
                    message,
                    Some("is it installed, and for this user?"),
                ));
            }
        }
        let left = found
            .iter_mut()
            .flat_map(|file| set_aside(file, command))
            .collect();
        Ok(Self { found, left })
    }
}

/// Reads the names of agents.
pub(super) fn agents(names: &[String]) -> Result<Vec<AgentKind>> {
    let read = |name: &String| {
        AgentKind::from_slug(name).ok_or_else(|| {
            let known = AgentKind::ALL.map(AgentKind::slug).join(", ");
            bad_input(
                format!("unknown agent `{name}`"),
                Some(&format!("known are {known}")),
            )
        })
    };
    names.iter().map(read).collect()
}

fn new_file(agent: AgentKind, places: &Places) -> Option<Found> {
    let blank = agents::blank(agent, places)?;
    blank
        .path
        .parent()
        .is_some_and(std::path::Path::is_dir)
        .then_some(blank)
}

/// Takes out the servers that our configuration would not load with, as when a variable is not
/// set: they stay with the agent rather than keep the gateway from starting.
fn set_aside(file: &mut Found, command: &str) -> Vec<String> {
    let mut left = Vec::new();
    let agent = file.agent;
    file.upstreams.retain(|upstream| {
        let checked = check_upstream("imported", &Value::Object(entry(upstream)), &environment);
        let Err(problems) = checked else { return true };
        let reasons: Vec<_> = problems
            .iter()
            .map(|problem| problem.message.clone())
            .collect();
        let reasons = reasons.join("; ");
        let name = &upstream.name;
        left.push(format!(
            "`{name}` stays with {agent}: {reasons} (mend that and run `mcpproxy {command}` again)"
        ));
        false
    });
    left
}

#[cfg(test)]
mod tests {
    use mcpproxy_agents::Os;

    use super::*;

    #[test]
    fn agents_are_named_by_their_slug() {
        let names = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            agents(&names).map_err(|fault| fault.to_string())
        };
        assert_eq!(names(&[]).unwrap(), []);
        assert_eq!(
            names(&["cursor", "claude-code"]).unwrap(),
            [AgentKind::Cursor, AgentKind::ClaudeCode]
        );
        assert_eq!(names(&["Cursor"]).unwrap_err(), "unknown agent `Cursor`");
    }

    #[test]
    fn a_server_that_would_not_load_stays_with_its_agent() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".cursor")).unwrap();
        let text = r#"{"mcpServers": {
            "good": {"command": "good"},
            "bad": {"command": "bad", "env": {"T": "${env:MCPPROXY_TEST_NOT_SET}"}}}}"#;
        std::fs::write(home.path().join(".cursor/mcp.json"), text).unwrap();
        let places = Places::usual(home.path(), &home.path().join("project"), Os::Linux);
        let mut found = agents::discover(&places);
        let left: Vec<_> = found
            .iter_mut()
            .flat_map(|file| set_aside(file, "init"))
            .collect();
        assert_eq!(found[0].upstreams.len(), 1);
        assert_eq!(left.len(), 1);
        assert!(
            left[0].contains("`MCPPROXY_TEST_NOT_SET` is not set"),
            "{left:?}"
        );
    }
}
