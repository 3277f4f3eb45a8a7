//! Goose: extensions before each tool, and an answer by exit code.
//!
//! Anything on standard output that it does not know counts as a failure of the hook.

use mcpproxy_core::Action;
use serde_json::json;

use super::adapter::{Adapter, Answer, Heard};
use super::payload::Payload;
use super::reply::Reply;
use super::{HookEvent, Tool, tools};

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
            prompt: payload.owned(&["prompt", "user_prompt", "matcher_context"]),
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
}

fn tool(spelled: &str) -> Tool {
    match spelled.split_once("__") {
        Some((extension, tool)) if !BUILT_IN.contains(&extension) && !tool.is_empty() => {
            tools::mcp(extension, tool, spelled)
        }
        _ => tools::own(spelled),
    }
}
