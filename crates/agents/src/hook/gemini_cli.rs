//! Gemini CLI: events before and after a tool, names of tools with single underscores.

use mcpproxy_core::Action;
use serde_json::json;

use super::adapter::{Adapter, Answer};
use super::payload::Payload;
use super::reply::Reply;
use super::{HookEvent, Tool, tools};

pub(super) struct GeminiCli;

impl Adapter for GeminiCli {
    fn tool(&self, payload: &Payload) -> Tool {
        let Some(spelled) = payload.text(&["tool_name"]) else {
            return Tool::None;
        };
        let upstream = payload.text_in("mcp_context", "server_name");
        match (upstream, payload.text_in("mcp_context", "tool_name")) {
            (Some(upstream), Some(tool)) => tools::mcp(upstream, tool, spelled),
            _ => tools::underscored(spelled, upstream),
        }
    }

    fn encode(&self, answer: &Answer<'_>) -> Reply {
        let said =
            |decision: &str| Reply::json(&json!({ "decision": decision, "reason": answer.reason }));
        match (answer.event, answer.ruling) {
            (HookEvent::Pre | HookEvent::Permission | HookEvent::Prompt, Action::Deny) => {
                said("deny")
            }
            (HookEvent::Pre | HookEvent::Permission, Action::Ask) => said("ask"),
            (HookEvent::Pre | HookEvent::Permission, Action::Warn) if !answer.quiet => {
                Reply::json(&json!({ "decision": "allow", "systemMessage": answer.reason }))
            }
            (HookEvent::Pre | HookEvent::Permission, Action::Allow) if !answer.quiet => {
                Reply::json(&json!({ "decision": "allow" }))
            }
            (HookEvent::Pre | HookEvent::Permission | HookEvent::Prompt, Action::Warn)
            | (HookEvent::Prompt, Action::Ask) => answer.message(),
            _ => Reply::silence(),
        }
    }
}
