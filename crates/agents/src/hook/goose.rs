//! Goose: extensions before each tool, and an answer by exit code.
//!
//! Anything on standard output that it does not know counts as a failure of the hook. Hooks are
//! parts of plugins, so that ours is a plugin of two files.

use std::path::PathBuf;

use mcpproxy_core::Action;
use serde_json::json;

use super::adapter::{Adapter, Answer, Heard};
use super::payload::Payload;
use super::reply::Reply;
use super::target::{Body, Entry, MARK, Setting, Target, is_gate, seconds};
use super::{HookEvent, Tool, tools};
use crate::error::Error;
use crate::places::Places;
use crate::tree::Node;

/// The extensions that are part of Goose itself.
const BUILT_IN: &[&str] = &[
    "developer",
    "computercontroller",
    "memory",
    "todo",
    "platform",
    "autovisualiser",
    "tutorial",
    "skills",
    "summon",
];

pub(super) struct Goose;

impl Adapter for Goose {
    fn decode(&self, mut payload: Payload, _event_name: &str) -> Heard {
        Heard {
            session: payload.owned(&["session_id"]),
            tool: payload.text(&["tool_name"]).map_or(Tool::None, tool),
            input: payload.take(&["tool_input"]),
            response: payload.take(&["tool_response", "tool_output", "error"]),
            tool_use_id: payload.owned(&["tool_call_id", "tool_use_id"]),
            cwd: payload.owned(&["working_dir", "cwd"]),
            prompt: payload.owned(&["message", "prompt"]),
        }
    }

    fn encode(&self, answer: &Answer<'_>) -> Reply {
        match (answer.event, answer.ruling) {
            (HookEvent::Pre | HookEvent::Permission, Action::Ask | Action::Deny) => {
                Reply::blocked(answer.reason)
            }
            (HookEvent::Pre, _) if !answer.quiet => Reply::json(&json!({ "decision": "allow" })),
            _ => Reply::silence(),
        }
    }

    fn targets(&self, setting: &Setting<'_>) -> Result<Vec<Target>, Error> {
        let entry = |event: &str| {
            let closed = setting.is_closed() && is_gate(event);
            let handler = [
                ("type", Node::text("command")),
                ("command", setting.line(event)),
                ("timeout", seconds()),
            ];
            let closed = closed.then(|| ("on_failure", Node::text("block")));
            Entry::nested(event, None, handler.into_iter().chain(closed))
        };
        let events = ["PreToolUse", "PostToolUse", "PostToolUseFailure"];
        let folder = ".agents/plugins/mcpproxy";
        let folder = setting.path(folder, folder);
        Ok(vec![
            Target {
                path: folder.join("hooks").join("hooks.json"),
                body: Body::Json {
                    head: Vec::new(),
                    entries: events.map(entry).into(),
                    is_ours: true,
                },
            },
            Target {
                path: folder.join("plugin.json"),
                body: Body::Text {
                    text: manifest(),
                    is_executable: false,
                },
            },
        ])
    }

    fn traces(&self, places: &Places) -> Vec<PathBuf> {
        vec![
            places.home.join(".config/goose"),
            places.config_home.join("goose"),
            places.config_home.join("Block/goose"),
        ]
    }
}

fn manifest() -> String {
    let description = format!("Asks mcpproxy about tool calls; {MARK}");
    let manifest = json!({
        "name": "mcpproxy",
        "version": "1.0.0",
        "description": description,
    });
    format!("{manifest:#}\n")
}

fn tool(spelled: &str) -> Tool {
    match spelled.split_once("__") {
        Some((extension, tool)) if !BUILT_IN.contains(&extension) && !tool.is_empty() => {
            tools::mcp(extension, tool, spelled)
        }
        _ => tools::own(spelled),
    }
}
