//! Kiro, and Amazon Q from which it came: `@upstream/tool`, and an answer by exit code.

use mcpproxy_core::Action;

use super::adapter::{Adapter, Answer};
use super::payload::Payload;
use super::reply::Reply;
use super::{HookEvent, Tool, tools};

pub(super) struct Kiro;

impl Adapter for Kiro {
    fn tool(&self, payload: &Payload) -> Tool {
        let Some(spelled) = payload.text(&["tool_name"]) else {
            return Tool::None;
        };
        tools::marked(spelled, "@", "/", None).unwrap_or_else(|| tools::own(spelled))
    }

    fn encode(&self, answer: &Answer<'_>) -> Reply {
        match (answer.event, answer.ruling) {
            (HookEvent::Pre | HookEvent::Permission, Action::Ask | Action::Deny) => {
                Reply::blocked(answer.reason)
            }
            _ => Reply::silence(),
        }
    }
}
