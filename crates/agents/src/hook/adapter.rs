//! What each agent must say about its hooks. One adapter a file.

use mcpproxy_core::Action;
use serde_json::Value;

use super::payload::Payload;
use super::reply::Reply;
use super::{HookEvent, Tool, tools};

/// What a payload says, in the words of one agent.
pub(super) struct Heard {
    pub(super) session: Option<String>,
    pub(super) tool: Tool,
    pub(super) input: Option<Value>,
    pub(super) response: Option<Value>,
    pub(super) tool_use_id: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) prompt: Option<String>,
}

/// What an agent is to be told.
pub(super) struct Answer<'a> {
    pub(super) event: HookEvent,
    /// What the agent calls the event.
    pub(super) event_name: &'a str,
    pub(super) ruling: Action,
    /// Never empty.
    pub(super) reason: &'a str,
    /// Whether nothing is said where there is nothing against the call.
    pub(super) quiet: bool,
}

/// What an agent must say about its hooks.
pub(super) trait Adapter: Sync {
    /// Understands a payload. Most agents took Claude Code's names over.
    fn decode(&self, mut payload: Payload, _event_name: &str) -> Heard {
        Heard {
            session: payload.owned(&["session_id"]),
            tool: self.tool(&payload),
            input: payload.take(&["tool_input"]),
            response: payload.take(&["tool_response", "error"]),
            tool_use_id: payload.owned(&["tool_use_id"]),
            cwd: payload.owned(&["cwd"]),
            prompt: payload.owned(&["prompt"]),
        }
    }

    /// Finds the tool that a payload with Claude Code's names speaks of.
    fn tool(&self, payload: &Payload) -> Tool {
        payload.text(&["tool_name"]).map_or(Tool::None, tools::own)
    }

    /// Says a ruling in the agent's own protocol.
    fn encode(&self, answer: &Answer<'_>) -> Reply;
}
