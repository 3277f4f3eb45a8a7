//! The Claude Agent SDK: Claude Code's protocol, in functions of the program that uses it.

use super::adapter::{Adapter, Answer};
use super::payload::Payload;
use super::reply::Reply;
use super::{Tool, claude_code};

pub(super) struct ClaudeAgentSdk;

impl Adapter for ClaudeAgentSdk {
    fn tool(&self, payload: &Payload) -> Tool {
        claude_code::tool(payload)
    }

    fn encode(&self, answer: &Answer<'_>) -> Reply {
        answer.claude()
    }
}
