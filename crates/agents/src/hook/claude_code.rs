//! Claude Code: the protocol that others took over, and `settings.json`.
//!
//! The command is one line for the shell: a program with arguments of its own is understood only by
//! newer versions, and not by the other agents that load this file.

use std::path::PathBuf;

use super::adapter::{Adapter, Answer};
use super::payload::Payload;
use super::reply::Reply;
use super::target::{Body, Entry, Setting, Target, seconds, truth};
use super::{Tool, tools};
use crate::error::Error;
use crate::places::{Os, Places};
use crate::tree::{Node, Value};

/// The tools to hear of (FR-049).
pub(super) const MATCHER: &str = "Read|Glob|Grep|Bash|Write|Edit|WebFetch|WebSearch|Task|mcp__.*";

pub(super) struct ClaudeCode;

impl Adapter for ClaudeCode {
    fn tool(&self, payload: &Payload) -> Tool {
        tool(payload)
    }

    fn encode(&self, answer: &Answer<'_>) -> Reply {
        answer.claude()
    }

    fn targets(&self, setting: &Setting<'_>) -> Result<Vec<Target>, Error> {
        let handler = |event: &str, last: Option<(&'static str, Node)>| {
            let handler = [
                ("type", Node::text("command")),
                ("command", setting.line(event)),
                ("timeout", seconds()),
            ];
            Entry::nested(event, Some(MATCHER), handler.into_iter().chain(last))
        };
        let closed = setting
            .is_closed()
            .then(|| ("onFailure", Node::text("block")));
        let entries = vec![
            handler("PreToolUse", closed),
            // Only records, so that the agent need not wait (FR-050).
            handler("PostToolUse", Some(("async", truth()))),
            handler("PostToolUseFailure", Some(("async", truth()))),
        ];
        Ok(vec![Target {
            path: setting.path(".claude/settings.json", ".claude/settings.json"),
            body: Body::Json {
                head: Vec::new(),
                entries,
                is_ours: false,
            },
        }])
    }

    fn traces(&self, places: &Places) -> Vec<PathBuf> {
        vec![
            places.home.join(".claude"),
            places.home.join(".claude.json"),
        ]
    }

    fn obstacles(&self, root: &Node) -> Vec<String> {
        switched_off(root)
    }

    fn settings(&self, places: &Places) -> Vec<PathBuf> {
        let managed = match places.os {
            Os::Linux => "/etc/claude-code/managed-settings.json",
            Os::MacOs => "/Library/Application Support/ClaudeCode/managed-settings.json",
            Os::Windows => r"C:\Program Files\ClaudeCode\managed-settings.json",
        };
        vec![
            places.home.join(".claude/settings.json"),
            places.project.join(".claude/settings.json"),
            places.project.join(".claude/settings.local.json"),
            PathBuf::from(managed),
        ]
    }

    fn borrows(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.project.join(".claude/settings.local.json")]
    }
}

/// Says so where a file switches all hooks off.
pub(super) fn switched_off(root: &Node) -> Vec<String> {
    let off = root.get("disableAllHooks").map(|flag| &flag.value);
    let off = matches!(off, Some(Value::Bool(true)));
    let text = "`disableAllHooks` keeps every hook from running; take it out";
    off.then(|| text.to_owned()).into_iter().collect()
}

/// Finds the tool; its upstream stands beside it in newer payloads.
pub(super) fn tool(payload: &Payload) -> Tool {
    let upstream = payload.text_in("mcp_server", "name");
    let name = payload.text(&["tool_name"]);
    name.map_or(Tool::None, |name| tools::claude(name, upstream))
}
