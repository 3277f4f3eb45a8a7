//! Cursor: an event for each kind of tool, and JSON in texts.
//!
//! On `preToolUse` it takes `ask` and lets the call pass all the same, so that `ask` becomes a
//! denial there. What it cannot parse on an event that gives leave blocks the call.

use mcpproxy_core::Action;
use serde_json::{Value, json};

use super::adapter::{Adapter, Answer, Heard};
use super::payload::{Payload, unwrapped};
use super::reply::Reply;
use super::{HookEvent, Tool, tools};

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
            _ => Reply::silence(),
        }
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
