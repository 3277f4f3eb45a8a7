//! Codex: Claude Code's names, with a reader so strict that a wrong answer lets the call pass.
//!
//! It takes neither `ask` nor a bare `allow`, no empty reason and no key it does not know. A hook
//! runs only once its user has trusted it; what was trusted stands in `config.toml` by a hash.

use std::path::PathBuf;

use mcpproxy_core::Action;
use serde_json::json;

use super::adapter::{Adapter, Answer};
use super::command::TIMEOUT;
use super::payload::Payload;
use super::reply::Reply;
use super::spot::Spot;
use super::status::Trust;
use super::target::{Body, Entry, Setting, Target, seconds};
use super::{HookAgent, HookEvent, Tool, plan, tools};
use crate::error::Error;
use crate::files;
use crate::format::Format;
use crate::places::{Places, Scope};
use crate::style::json_text;
use crate::tree::{Node, Value};

/// The events to hear of, and their names in the record of what is trusted.
const EVENTS: [(&str, &str); 2] = [
    ("PreToolUse", "pre_tool_use"),
    ("PostToolUse", "post_tool_use"),
];

pub(super) struct Codex;

impl Adapter for Codex {
    fn tool(&self, payload: &Payload) -> Tool {
        let name = payload.text(&["tool_name"]);
        name.map_or(Tool::None, |name| tools::claude(name, None))
    }

    fn encode(&self, answer: &Answer<'_>) -> Reply {
        match (answer.event, answer.ruling) {
            (HookEvent::Pre, Action::Ask | Action::Deny) => Reply::json(&json!({
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "deny",
                    "permissionDecisionReason": answer.reason,
                },
            })),
            (HookEvent::Permission, Action::Deny) => {
                let decision = json!({ "behavior": "deny", "message": answer.reason });
                answer.claude_decision(&decision)
            }
            (HookEvent::Permission, Action::Allow) if !answer.quiet => {
                answer.claude_decision(&json!({ "behavior": "allow" }))
            }
            (HookEvent::Prompt, Action::Deny) => answer.block(),
            (HookEvent::Prompt, Action::Ask)
            | (HookEvent::Pre | HookEvent::Permission | HookEvent::Prompt, Action::Warn) => {
                answer.message()
            }
            _ => Reply::silence(),
        }
    }

    fn targets(&self, setting: &Setting<'_>) -> Result<Vec<Target>, Error> {
        let entry = |(event, _): (&str, _)| {
            let handler = [
                ("type", Node::text("command")),
                ("command", setting.line(event)),
                ("timeout", seconds()),
            ];
            Entry::nested(event, None, handler)
        };
        Ok(vec![Target {
            path: file(setting.places, setting.scope),
            body: Body::Json {
                head: Vec::new(),
                entries: EVENTS.into_iter().map(entry).collect(),
                is_ours: false,
            },
        }])
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn traces(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.codex_home.clone()]
    }

    fn obstacles(&self, root: &Node) -> Vec<String> {
        let members = root.members().unwrap_or_default().iter();
        let unknown = members.filter(|it| !matches!(it.key.as_str(), "description" | "hooks"));
        unknown
            .map(|it| format!("Codex rejects the whole file for `{}`; take it out", it.key))
            .collect()
    }

    fn after_install(&self) -> Vec<String> {
        let note = "Codex runs the hook only once it is trusted: open `/hooks` there and do so";
        vec![note.to_owned()]
    }

    fn trust(&self, places: &Places, scope: Scope, spots: &[Spot]) -> Trust {
        let config = plan::read(&places.codex_home.join("config.toml"));
        let config = config.ok().flatten().unwrap_or_default();
        let Ok(root) = Format::Toml.parse(&config) else {
            return Trust::Unknown;
        };
        if scope == Scope::Project && !is_trusted(&root, places) {
            return Trust::Missing;
        }
        let file = file(places, scope).display().to_string();
        let each: Vec<Trust> = spots
            .iter()
            .filter_map(|spot| trust_of(&root, &file, spot, places))
            .collect();
        let worst = [Trust::Missing, Trust::Unknown, Trust::Given];
        let worst = worst.into_iter().find(|trust| each.contains(trust));
        worst.unwrap_or(Trust::Unknown)
    }
}

/// Returns the file that holds the hooks.
fn file(places: &Places, scope: Scope) -> PathBuf {
    match scope {
        Scope::User => places.codex_home.join("hooks.json"),
        Scope::Project => places.project.join(".codex/hooks.json"),
    }
}

/// Says whether the user trusts the project, without which its hooks are not even read.
fn is_trusted(root: &Node, places: &Places) -> bool {
    let path = places.project.display().to_string();
    let level = root.at(&["projects".to_owned(), path, "trust_level".to_owned()]);
    level.and_then(Node::as_text) == Some("trusted")
}

/// Says whether one entry is trusted. A hash that is another than we would reckon may be that of an
/// earlier command or of another way to reckon, so that nothing is said about it.
fn trust_of(root: &Node, file: &str, spot: &Spot, places: &Places) -> Option<Trust> {
    let Some(keys) = spot.keys() else {
        // Codex counts the handlers of a group, and another's may stand before ours.
        return Some(Trust::Unknown);
    };
    let event = keys.get(1)?;
    let (event, label) = EVENTS.into_iter().find(|(name, _)| name == event)?;
    let key = format!("{file}:{label}:{}:0", spot.index);
    let state = root.at(&["hooks".to_owned(), "state".to_owned(), key]);
    let off = state.and_then(|state| state.get("enabled"));
    if off.is_some_and(|flag| flag.value == Value::Bool(false)) {
        return Some(Trust::Missing);
    }
    let Some(hash) = state.and_then(|state| state.get("trusted_hash")?.as_text()) else {
        return Some(Trust::Missing);
    };
    let command = spot.own.command.line(HookAgent::Codex, event, places.os);
    let given = hash == trusted_hash(label, &command);
    Some(if given { Trust::Given } else { Trust::Unknown })
}

/// Reckons the hash of an entry of ours: that of its canonical JSON, defaults filled in.
fn trusted_hash(label: &str, command: &str) -> String {
    let canonical = format!(
        r#"{{"event_name":{},"hooks":[{{"async":false,"command":{},"timeout":{},"type":"command"}}]}}"#,
        json_text(label),
        json_text(command),
        TIMEOUT.as_secs()
    );
    format!("sha256:{}", files::fingerprint(canonical.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_canonical_json() {
        // Reckoned with another program.
        let expect = "sha256:77b49c10c9c626efc01c134aa79b64a59e404f938d5148598490423df88f8223";
        let command = "/x/mcpproxy hook evaluate é\"";
        assert_eq!(trusted_hash("pre_tool_use", command), expect);
    }

    #[test]
    fn what_the_user_has_trusted_counts_until_the_command_changes() {
        let home = tempfile::tempdir().unwrap();
        let places = Places::usual(home.path(), "/shop".as_ref(), crate::places::Os::Linux);
        let line = |event| format!("mcpproxy hook evaluate --agent codex --event {event}");
        let hooks = EVENTS.map(|(event, _)| {
            let line = line(event);
            format!(r#""{event}": [{{ "hooks": [{{ "command": "{line} --fail-open" }}] }}]"#)
        });
        let text = format!(r#"{{ "hooks": {{ {} }} }}"#, hooks.join(", "));
        let spots = crate::hook::spot::find(&Format::Jsonc.parse(&text).unwrap());
        let check = |suffix: &str, also: &str, expect: Trust| {
            let file = file(&places, Scope::User);
            let states = EVENTS.map(|(event, label)| {
                let command = format!("{} --quiet-allow --fail-open{suffix}", line(event));
                let hash = trusted_hash(label, &command);
                let key = format!("{}:{label}:0:0", file.display());
                format!("[hooks.state.\"{key}\"]\ntrusted_hash = \"{hash}\"\n{also}")
            });
            std::fs::create_dir_all(home.path().join(".codex")).unwrap();
            std::fs::write(home.path().join(".codex/config.toml"), states.concat()).unwrap();
            assert_eq!(
                Codex.trust(&places, Scope::User, &spots),
                expect,
                "{suffix}{also}"
            );
            assert_eq!(Codex.trust(&places, Scope::Project, &spots), Trust::Missing);
        };
        check("", "", Trust::Given);
        check("", "enabled = false\n", Trust::Missing);
        check(" more", "", Trust::Unknown);
    }
}
