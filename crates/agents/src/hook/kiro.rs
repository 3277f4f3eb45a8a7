//! Kiro, and Amazon Q from which it came: `@upstream/tool`, and an answer by exit code.

use std::path::PathBuf;

use mcpproxy_core::Action;

use super::adapter::{Adapter, Answer};
use super::payload::Payload;
use super::reply::Reply;
use super::target::{Body, Entry, Setting, Target, seconds, truth};
use super::{HookEvent, Tool, tools};
use crate::error::Error;
use crate::places::Places;
use crate::tree::Node;

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

    fn targets(&self, setting: &Setting<'_>) -> Result<Vec<Target>, Error> {
        let entry = |(event, name): (&str, &str)| {
            let action = [
                ("type", Node::text("command")),
                ("command", setting.line(event)),
            ];
            let item = Node::map([
                ("name", Node::text(name)),
                ("trigger", Node::text(event)),
                ("matcher", Node::text(".*")),
                ("action", Node::map(action)),
                ("timeout", seconds()),
                ("enabled", truth()),
            ]);
            Entry {
                list: vec!["hooks".to_owned()],
                item,
            }
        };
        let events = [
            ("PreToolUse", "mcpproxy-before"),
            ("PostToolUse", "mcpproxy-after"),
        ];
        let file = ".kiro/hooks/mcpproxy.json";
        Ok(vec![Target {
            path: setting.path(file, file),
            body: Body::Json {
                head: vec![("version", Node::text("v1"))],
                entries: events.map(entry).into(),
                is_ours: true,
            },
        }])
    }

    fn traces(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.home.join(".kiro")]
    }
}
