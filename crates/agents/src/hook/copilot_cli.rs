//! Copilot CLI: two spellings of each event, and of what comes with it.

use mcpproxy_core::Action;
use serde_json::json;

use super::adapter::{Adapter, Answer, Heard};
use super::payload::{Payload, unwrapped};
use super::reply::Reply;
use super::{HookEvent, Tool, tools};

pub(super) struct CopilotCli;

impl Adapter for CopilotCli {
    fn decode(&self, payload: Payload, _event_name: &str) -> Heard {
        decode(payload)
    }

    fn encode(&self, answer: &Answer<'_>) -> Reply {
        match (answer.event, answer.ruling) {
            (HookEvent::Pre, Action::Ask | Action::Deny) => {
                let decision = if answer.ruling == Action::Ask {
                    "ask"
                } else {
                    "deny"
                };
                Reply::json(&json!({
                    "permissionDecision": decision,
                    "permissionDecisionReason": answer.reason,
                }))
            }
            (HookEvent::Pre, _) if !answer.quiet => {
                Reply::json(&json!({ "permissionDecision": "allow" }))
            }
            (HookEvent::Permission, Action::Deny) => {
                Reply::json(&json!({ "behavior": "deny", "message": answer.reason }))
            }
            (HookEvent::Permission, Action::Allow) if !answer.quiet => {
                Reply::json(&json!({ "behavior": "allow" }))
            }
            _ => Reply::silence(),
        }
    }
}

/// Understands both spellings.
pub(super) fn decode(mut payload: Payload) -> Heard {
    let tool = payload.text(&["tool_name", "toolName"]);
    let tool = tool.map_or(Tool::None, |name| tools::underscored(name, None));
    let given = ["tool_response", "toolResult", "tool_result", "error"];
    Heard {
        session: payload.owned(&["session_id", "sessionId"]),
        tool,
        input: payload.take(&["tool_input", "toolArgs"]).map(unwrapped),
        response: payload.take(&given),
        tool_use_id: payload.owned(&["tool_use_id", "toolUseId", "toolCallId"]),
        cwd: payload.owned(&["cwd"]),
        prompt: payload.owned(&["prompt"]),
    }
}
