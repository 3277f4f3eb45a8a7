//! Cline: what happened stands under a key of its own name, and every event wants an answer.
//!
//! A hook is a program with the name of the event, so that each of ours is a short script.

use std::path::PathBuf;

use mcpproxy_core::Action;
use serde_json::{Value, json};

use super::adapter::{Adapter, Answer, Heard};
use super::payload::{Payload, unwrapped};
use super::reply::Reply;
use super::target::{Body, MARK, Setting, Target};
use super::{HookEvent, Tool, tools};
use crate::error::Error;
use crate::places::{Os, Places};

pub(super) struct Cline;

impl Adapter for Cline {
    fn decode(&self, mut payload: Payload, event_name: &str) -> Heard {
        let mut initial = event_name.chars();
        let key: String = initial
            .next()
            .map(|first| first.to_ascii_lowercase())
            .into_iter()
            .chain(initial)
            .collect();
        let mut inner = payload.inner(&key);
        let roots = payload.take(&["workspaceRoots"]);
        let (tool, input) = call(&mut inner);
        Heard {
            session: payload.owned(&["taskId"]),
            tool,
            input,
            response: inner.take(&["result", "output"]),
            tool_use_id: None,
            cwd: roots.and_then(|roots| Some(roots.get(0)?.as_str()?.to_owned())),
            prompt: inner.owned(&["prompt"]),
        }
    }

    fn encode(&self, answer: &Answer<'_>) -> Reply {
        let stops = matches!(
            (answer.event, answer.ruling),
            (
                HookEvent::Pre | HookEvent::Permission,
                Action::Ask | Action::Deny
            ) | (HookEvent::Prompt, Action::Deny)
        );
        Reply::json(&if stops {
            json!({ "cancel": true, "errorMessage": answer.reason })
        } else {
            json!({ "cancel": false })
        })
    }

    fn targets(&self, setting: &Setting<'_>) -> Result<Vec<Target>, Error> {
        if setting.places.os == Os::Windows {
            return Err(Error::NoHook {
                agent: "Cline",
                reason: "it has hooks on macOS and Linux only",
            });
        }
        let folder = setting.path("Documents/Cline/Hooks", ".clinerules/hooks");
        let target = |event: &str| {
            let line = setting
                .command
                .line(setting.agent, event, setting.places.os);
            Target {
                path: folder.join(event),
                body: Body::Text {
                    text: format!("#!/bin/sh\n# {MARK}\nexec {line}\n"),
                    is_executable: true,
                },
            }
        };
        Ok(["PreToolUse", "PostToolUse"].map(target).into())
    }

    fn traces(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.home.join("Documents/Cline")]
    }
}

/// Finds the tool; those behind MCP are arguments of one tool of Cline's own.
fn call(inner: &mut Payload) -> (Tool, Option<Value>) {
    let Some(spelled) = inner.owned(&["toolName"]) else {
        return (Tool::None, None);
    };
    if spelled != "use_mcp_tool" {
        return (tools::own(&spelled), inner.take(&["parameters"]));
    }
    let mut parameters = inner.inner("parameters");
    let upstream = parameters.owned(&["server_name"]).unwrap_or_default();
    let tool = parameters.owned(&["tool_name"]).unwrap_or_default();
    let input = parameters.take(&["arguments"]).map(unwrapped);
    (tools::mcp(&upstream, &tool, &spelled), input)
}
