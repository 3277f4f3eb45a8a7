//! Codex: Claude Code's names, with a reader so strict that a wrong answer lets the call pass.
//!
//! It takes neither `ask` nor a bare `allow`, no empty reason and no key it does not know.

use mcpproxy_core::Action;
use serde_json::json;

use super::adapter::{Adapter, Answer};
use super::payload::Payload;
use super::reply::Reply;
use super::{HookEvent, Tool, tools};

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
            _ => Reply::silence(),
        }
    }
}
