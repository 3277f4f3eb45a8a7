//! Claude Code: the protocol that others took over.

use super::adapter::{Adapter, Answer};
use super::payload::Payload;
use super::reply::Reply;
use super::{Tool, tools};

pub(super) struct ClaudeCode;

impl Adapter for ClaudeCode {
    fn tool(&self, payload: &Payload) -> Tool {
        tool(payload)
    }

    fn encode(&self, answer: &Answer<'_>) -> Reply {
        answer.claude()
    }
}

/// Finds the tool; its upstream stands beside it in newer payloads.
pub(super) fn tool(payload: &Payload) -> Tool {
    let upstream = payload.text_in("mcp_server", "name");
    let name = payload.text(&["tool_name"]);
    name.map_or(Tool::None, |name| tools::claude(name, upstream))
}
