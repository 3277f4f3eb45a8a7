//! VS Code: Claude Code's protocol in its own runtime, Copilot CLI's in the one that follows it.
//!
//! Both load the same files, so that an answer is one that both understand.

use mcpproxy_core::Action;
use serde_json::json;

use super::HookEvent;
use super::adapter::{Adapter, Answer, Heard};
use super::copilot_cli;
use super::payload::Payload;
use super::reply::Reply;

pub(super) struct VsCode;

impl Adapter for VsCode {
    fn decode(&self, payload: Payload, _event_name: &str) -> Heard {
        copilot_cli::decode(payload)
    }

    fn encode(&self, answer: &Answer<'_>) -> Reply {
        let decision = match (answer.event, answer.ruling) {
            (HookEvent::Pre, Action::Ask) => "ask",
            (HookEvent::Pre, Action::Deny) => "deny",
            _ => return answer.claude(),
        };
        Reply::json(&json!({
            "hookSpecificOutput": {
                "hookEventName": answer.event_name,
                "permissionDecision": decision,
                "permissionDecisionReason": answer.reason,
            },
            "permissionDecision": decision,
            "permissionDecisionReason": answer.reason,
        }))
    }
}
