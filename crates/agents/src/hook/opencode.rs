//! `OpenCode`: a plugin of ours sends what it was called with, and throws what it is answered.

use std::path::PathBuf;

use mcpproxy_core::Action;
use serde_json::json;

use super::adapter::{Adapter, Answer, Heard};
use super::payload::Payload;
use super::reply::Reply;
use super::target::{Body, MARK, Setting, Target};
use super::{Tool, snippet, tools};
use crate::error::Error;
use crate::places::{Os, Places, Scope};

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

    fn targets(&self, setting: &Setting<'_>) -> Result<Vec<Target>, Error> {
        let file = "plugins/mcpproxy.ts";
        let path = match setting.scope {
            Scope::User => folder(setting.places).join(file),
            Scope::Project => setting.places.project.join(".opencode").join(file),
        };
        Ok(vec![Target {
            path,
            body: Body::Text {
                text: snippet::fill(include_str!("snippets/opencode.ts"), MARK, setting),
                is_executable: false,
            },
        }])
    }

    fn traces(&self, places: &Places) -> Vec<PathBuf> {
        vec![folder(places)]
    }
}

/// Returns the folder of the user's settings, which follows the XDG folders on every system.
fn folder(places: &Places) -> PathBuf {
    let config = match places.os {
        Os::Linux => places.config_home.clone(),
        Os::MacOs | Os::Windows => places.home.join(".config"),
    };
    config.join("opencode")
}
