//! Cursor: an event for each kind of tool, and JSON in texts.
//!
//! On `preToolUse` it takes `ask` and lets the call pass all the same, so that `ask` becomes a
//! denial there. What it cannot parse on an event that gives leave blocks the call. One event in
//! `hooks.json` that it does not know, or `//` in any text, and it rejects the whole file.

use std::path::PathBuf;

use mcpproxy_core::Action;
use serde_json::{Value, json};

use super::adapter::{Adapter, Answer, Heard};
use super::payload::{Payload, unwrapped};
use super::reply::Reply;
use super::target::{Body, Entry, Setting, Target, is_gate, number, seconds, truth};
use super::{HookEvent, Tool, tools};
use crate::error::Error;
use crate::places::Places;
use crate::tree::{self, Node};

/// The events to hear of. Shell, files and MCP have events of their own on which `ask` counts, so
/// that `preToolUse` is only for the rest.
const EVENTS: [(&str, Option<&str>); 6] = [
    ("beforeShellExecution", None),
    ("beforeMCPExecution", None),
    ("beforeReadFile", None),
    ("preToolUse", Some("^(?!Shell$|Read$|MCP:)")),
    ("postToolUse", None),
    ("postToolUseFailure", None),
];

/// The events that Cursor knows.
const KNOWN: &[&str] = &[
    "beforeShellExecution",
    "beforeMCPExecution",
    "afterShellExecution",
    "afterMCPExecution",
    "beforeReadFile",
    "afterFileEdit",
    "beforeTabFileRead",
    "afterTabFileEdit",
    "stop",
    "beforeSubmitPrompt",
    "afterAgentResponse",
    "afterAgentThought",
    "sessionStart",
    "sessionEnd",
    "preCompact",
    "subagentStart",
    "subagentStop",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "workspaceOpen",
];

pub(super) struct Cursor;

impl Adapter for Cursor {
    fn decode(&self, mut payload: Payload, event_name: &str) -> Heard {
        let session = payload.owned(&["session_id", "conversation_id"]);
        let cwd = payload.owned(&["cwd"]).or_else(|| {
            let roots = payload.take(&["workspace_roots"])?;
            Some(roots.get(0)?.as_str()?.to_owned())
        });
        let tool_use_id = payload.owned(&["tool_use_id"]);
        let prompt = payload.owned(&["prompt"]);
        let (tool, input) = call(&mut payload, event_name);
        let given = [
            "tool_output",
            "result_json",
            "tool_response",
            "error_message",
            "output",
            "content",
        ];
        Heard {
            session,
            tool,
            input,
            response: payload.take(&given).map(unwrapped),
            tool_use_id,
            cwd,
            prompt,
        }
    }

    fn encode(&self, answer: &Answer<'_>) -> Reply {
        match (answer.event, answer.ruling) {
            (HookEvent::Pre | HookEvent::Permission, Action::Deny) => permission("deny", answer),
            (HookEvent::Pre | HookEvent::Permission, Action::Ask) => {
                let is_enforced = answer.event_name.starts_with("before");
                permission(if is_enforced { "ask" } else { "deny" }, answer)
            }
            (HookEvent::Pre | HookEvent::Permission, _) if !answer.quiet => {
                Reply::json(&json!({ "permission": "allow" }))
            }
            (HookEvent::Prompt, Action::Deny) => {
                Reply::json(&json!({ "continue": false, "user_message": answer.reason }))
            }
            // Nothing at all would not be JSON, and a permission is not given.
            _ => Reply::json(&json!({})),
        }
    }

    fn targets(&self, setting: &Setting<'_>) -> Result<Vec<Target>, Error> {
        let entry = |(event, matcher): (&str, Option<&str>)| {
            let closed = setting.is_closed() && is_gate(event);
            let handler = [("command", setting.line(event))]
                .into_iter()
                .chain(matcher.map(|matcher| ("matcher", Node::text(matcher))))
                .chain([("timeout", seconds())])
                .chain(closed.then(|| ("failClosed", truth())));
            Entry::flat(event, handler)
        };
        if setting
            .command
            .words(setting.agent, "")
            .iter()
            .any(|word| word.contains("//"))
        {
            return Err(Error::NoHook {
                agent: "Cursor",
                reason: "it rejects a file that has `//` in a text, as our command would",
            });
        }
        Ok(vec![Target {
            path: setting.path(".cursor/hooks.json", ".cursor/hooks.json"),
            body: Body::Json {
                head: vec![("version", number(1))],
                entries: EVENTS.into_iter().map(entry).collect(),
                is_ours: false,
            },
        }])
    }

    fn traces(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.home.join(".cursor")]
    }

    fn obstacles(&self, root: &Node) -> Vec<String> {
        let hooks = root.get("hooks").and_then(Node::members);
        let events = hooks.unwrap_or_default().iter().map(|it| it.key.as_str());
        let unknown = events.filter(|event| !KNOWN.contains(event));
        let mut obstacles: Vec<String> = unknown
            .map(|event| format!("Cursor rejects the whole file for `{event}`; take it out"))
            .collect();
        let version = root.get("version").and_then(Node::as_number);
        if version != Some(1) {
            let text = "Cursor rejects the whole file without `\"version\": 1`; write it";
            obstacles.push(text.to_owned());
        }
        if has_slashes(root) {
            let text = "Cursor rejects the whole file for `//` in a text; take that out";
            obstacles.push(text.to_owned());
        }
        obstacles
    }

    fn borrows(&self, places: &Places) -> Vec<PathBuf> {
        let file = ".claude/settings.json";
        vec![places.home.join(file), places.project.join(file)]
    }
}

/// Says whether a text has what Cursor takes for a comment.
fn has_slashes(node: &Node) -> bool {
    match &node.value {
        tree::Value::Text(text) => text.contains("//"),
        tree::Value::List(items) => items.iter().any(has_slashes),
        tree::Value::Map(members) => members
            .iter()
            .any(|member| member.key.contains("//") || has_slashes(&member.value)),
        tree::Value::Null | tree::Value::Bool(_) | tree::Value::Number(_) => false,
    }
}

fn permission(permission: &str, answer: &Answer<'_>) -> Reply {
    Reply::json(&json!({
        "permission": permission,
        "user_message": answer.reason,
        "agent_message": answer.reason,
    }))
}

/// Finds the tool and its arguments, which stand elsewhere for each event.
fn call(payload: &mut Payload, event_name: &str) -> (Tool, Option<Value>) {
    let fields = |payload: &mut Payload, keys: &[&str]| {
        let pairs = keys.iter().filter_map(|key| {
            let value = payload.take(&[key])?;
            Some(((*key).to_owned(), value))
        });
        Some(Value::Object(pairs.collect()))
    };
    match event_name {
        "beforeShellExecution" | "afterShellExecution" => {
            (tools::own("Shell"), fields(payload, &["command", "cwd"]))
        }
        "beforeReadFile" | "beforeTabFileRead" => {
            (tools::own("Read"), fields(payload, &["file_path"]))
        }
        "afterFileEdit" | "afterTabFileEdit" => {
            (tools::own("Edit"), fields(payload, &["file_path", "edits"]))
        }
        _ => {
            let input = payload.take(&["tool_input"]).map(unwrapped);
            (named(payload, event_name), input)
        }
    }
}

fn named(payload: &Payload, event_name: &str) -> Tool {
    let Some(name) = payload.text(&["tool_name"]) else {
        return Tool::None;
    };
    let upstream = payload.text(&["mcp_server_name"]);
    let is_mcp = matches!(event_name, "beforeMCPExecution" | "afterMCPExecution");
    match name.strip_prefix("MCP:") {
        Some(tool) => tools::mcp(upstream.unwrap_or_default(), tool.trim_start(), name),
        None if is_mcp => tools::mcp(upstream.unwrap_or_default(), name, name),
        None => tools::claude(name, upstream),
    }
}
