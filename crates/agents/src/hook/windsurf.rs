//! Windsurf: an event for each kind of tool, and an answer by exit code alone.

use std::path::PathBuf;

use mcpproxy_core::Action;
use serde_json::{Value, json};

use super::adapter::{Adapter, Answer, Heard};
use super::payload::{Payload, unwrapped};
use super::reply::Reply;
use super::target::{Body, Entry, Setting, Target, truth};
use super::{HookEvent, Tool, tools};
use crate::error::Error;
use crate::places::Places;

/// The events to hear of; of those afterwards only this one says what came back.
const EVENTS: [&str; 5] = [
    "pre_run_command",
    "pre_mcp_tool_use",
    "pre_read_code",
    "pre_write_code",
    "post_mcp_tool_use",
];

pub(super) struct Windsurf;

impl Adapter for Windsurf {
    fn decode(&self, mut payload: Payload, event_name: &str) -> Heard {
        let session = payload.owned(&["trajectory_id"]);
        let tool_use_id = payload.owned(&["execution_id"]);
        let mut info = payload.inner("tool_info");
        let prompt = info.owned(&["user_prompt"]);
        let cwd = info.owned(&["cwd"]);
        let response = info
            .take(&["mcp_result", "response", "output"])
            .map(unwrapped);
        let (tool, input) = call(info, event_name);
        Heard {
            session,
            tool,
            input,
            response,
            tool_use_id,
            cwd,
            prompt,
        }
    }

    fn encode(&self, answer: &Answer<'_>) -> Reply {
        match (answer.event, answer.ruling) {
            (HookEvent::Pre | HookEvent::Permission, Action::Ask | Action::Deny)
            | (HookEvent::Prompt, Action::Deny) => Reply::blocked(answer.reason),
            _ => Reply::silence(),
        }
    }

    fn targets(&self, setting: &Setting<'_>) -> Result<Vec<Target>, Error> {
        let entry = |event: &str| {
            let handler = [("command", setting.line(event)), ("show_output", truth())];
            Entry::flat(event, handler)
        };
        Ok(vec![Target {
            path: setting.path(".codeium/windsurf/hooks.json", ".windsurf/hooks.json"),
            body: Body::Json {
                head: Vec::new(),
                entries: EVENTS.map(entry).into(),
                is_ours: false,
            },
        }])
    }

    fn traces(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.home.join(".codeium/windsurf")]
    }
}

/// Finds the tool by the event, and its arguments under the names that others give them.
fn call(mut info: Payload, event_name: &str) -> (Tool, Option<Value>) {
    let spelled = event_name
        .strip_prefix("pre_")
        .or_else(|| event_name.strip_prefix("post_"));
    match spelled {
        Some("mcp_tool_use") => {
            let upstream = info.owned(&["mcp_server_name"]).unwrap_or_default();
            let tool = info.owned(&["mcp_tool_name"]).unwrap_or_default();
            let spelled = format!("{upstream}/{tool}");
            let input = info.take(&["mcp_tool_arguments"]).map(unwrapped);
            (tools::mcp(&upstream, &tool, &spelled), input)
        }
        Some("run_command") => {
            let command = info.take(&["command_line", "command"]);
            let input = command.map(|command| json!({ "command": command }));
            (tools::own("run_command"), input)
        }
        Some("user_prompt") | None => (Tool::None, None),
        Some(spelled) => (tools::own(spelled), Some(info.rest())),
    }
}
