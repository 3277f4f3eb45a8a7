//! Gemini CLI: events before and after a tool, names of tools with single underscores; times in
//! `settings.json` are milliseconds.

use std::path::PathBuf;

use mcpproxy_core::Action;
use serde_json::json;

use super::adapter::{Adapter, Answer};
use super::command::TIMEOUT;
use super::payload::Payload;
use super::reply::Reply;
use super::target::{Body, Entry, Setting, Target, number};
use super::{HookEvent, Tool, tools};
use crate::error::Error;
use crate::places::Places;
use crate::tree::{Node, Value};

/// What the hook is called in the list of those that are switched off.
const NAME: &str = "mcpproxy";

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

    fn targets(&self, setting: &Setting<'_>) -> Result<Vec<Target>, Error> {
        let milliseconds = u64::try_from(TIMEOUT.as_millis()).unwrap_or(u64::MAX);
        let entry = |event: &str| {
            let handler = [
                ("name", Node::text(NAME)),
                ("type", Node::text("command")),
                ("command", setting.line(event)),
                ("timeout", number(milliseconds)),
            ];
            Entry::nested(event, Some(".*"), handler)
        };
        Ok(vec![Target {
            path: setting.path(".gemini/settings.json", ".gemini/settings.json"),
            body: Body::Json {
                head: Vec::new(),
                entries: ["BeforeTool", "AfterTool"].map(entry).into(),
                is_ours: false,
            },
        }])
    }

    fn traces(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.home.join(".gemini")]
    }

    fn obstacles(&self, root: &Node) -> Vec<String> {
        let Some(config) = root.get("hooksConfig") else {
            return Vec::new();
        };
        let off = config.get("enabled").map(|flag| &flag.value);
        let all = matches!(off, Some(Value::Bool(false)));
        let ours = config.names("disabled").iter().any(|name| name == NAME);
        let all = all.then_some("`hooksConfig.enabled` keeps every hook from running; set it");
        let ours = ours.then_some("`hooksConfig.disabled` names our hook; take it out there");
        all.into_iter().chain(ours).map(str::to_owned).collect()
    }

    fn settings(&self, places: &Places) -> Vec<PathBuf> {
        vec![
            places.home.join(".gemini/settings.json"),
            places.project.join(".gemini/settings.json"),
            PathBuf::from("/etc/gemini-cli/settings.json"),
        ]
    }

    fn timeout(&self, handler: &Node) -> Option<u64> {
        handler.get("timeout")?.as_number()
    }
}
