//! `OpenCode`: a plugin of ours sends what it was called with, and throws what it is answered.

use mcpproxy_core::Action;
use serde_json::json;

use super::adapter::{Adapter, Answer, Heard};
use super::payload::Payload;
use super::reply::Reply;
use super::{Tool, tools};

pub(super) struct OpenCode;

impl Adapter for OpenCode {
    fn decode(&self, mut payload: Payload, _event_name: &str) -> Heard {
        Heard {
            session: payload.owned(&["sessionID"]),
            tool: payload.text(&["tool"]).map_or(Tool::None, tools::own),
            input: payload.take(&["args"]),
            response: payload.take(&["output"]),
            tool_use_id: payload.owned(&["callID"]),
            cwd: payload.owned(&["cwd"]),
            prompt: payload.owned(&["prompt"]),
        }
    }

    fn encode(&self, answer: &Answer<'_>) -> Reply {
        match answer.ruling {
            Action::Ask | Action::Deny if answer.is_gate() => {
                Reply::json(&json!({ "decision": "deny", "reason": answer.reason }))
            }
            _ if answer.is_gate() && !answer.quiet => Reply::json(&json!({ "decision": "allow" })),
            _ => Reply::silence(),
        }
    }
}
