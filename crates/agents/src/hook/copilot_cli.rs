//! Copilot CLI: two spellings of each event, and of what comes with it.
//!
//! It takes a hook that crashes for a denial, and one that is late for leave.

use std::path::PathBuf;

use mcpproxy_core::Action;
use serde_json::json;

use super::adapter::{Adapter, Answer, Heard};
use super::claude_code::switched_off;
use super::payload::{Payload, unwrapped};
use super::reply::Reply;
use super::target::{Body, Entry, Setting, Target, number, seconds};
use super::{HookEvent, Tool, tools};
use crate::error::Error;
use crate::places::{Os, Places};
use crate::tree::Node;

pub(super) struct CopilotCli;

impl Adapter for CopilotCli {
    fn decode(&self, payload: Payload, _event_name: &str) -> Heard {
        decode(payload)
    }

    fn encode(&self, answer: &Answer<'_>) -> Reply {
        match (answer.event, answer.ruling) {
            (HookEvent::Pre, Action::Ask | Action::Deny) => {
                let decision = if answer.ruling == Action::Ask {
                    "ask"
                } else {
                    "deny"
                };
                Reply::json(&json!({
                    "permissionDecision": decision,
                    "permissionDecisionReason": answer.reason,
                }))
            }
            (HookEvent::Pre, _) if !answer.quiet => {
                Reply::json(&json!({ "permissionDecision": "allow" }))
            }
            (HookEvent::Permission, Action::Deny) => {
                Reply::json(&json!({ "behavior": "deny", "message": answer.reason }))
            }
            (HookEvent::Permission, Action::Allow) if !answer.quiet => {
                Reply::json(&json!({ "behavior": "allow" }))
            }
            _ => Reply::silence(),
        }
    }

    fn targets(&self, setting: &Setting<'_>) -> Result<Vec<Target>, Error> {
        let shell = match setting.places.os {
            Os::Linux | Os::MacOs => "bash",
            Os::Windows => "powershell",
        };
        let entry = |event: &str| {
            // PowerShell runs what is quoted only behind this mark.
            let line = setting
                .command
                .line(setting.agent, event, setting.places.os);
            let mark = if line.starts_with('"') { "& " } else { "" };
            let handler = [
                ("type", Node::text("command")),
                (shell, Node::text(format!("{mark}{line}"))),
                ("timeoutSec", seconds()),
            ];
            Entry::flat(event, handler)
        };
        Ok(vec![Target {
            path: setting.path(
                ".copilot/hooks/mcpproxy.json",
                ".github/hooks/mcpproxy.json",
            ),
            body: Body::Json {
                head: vec![("version", number(1))],
                entries: ["preToolUse", "postToolUse"].map(entry).into(),
                is_ours: true,
            },
        }])
    }

    fn traces(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.home.join(".copilot")]
    }

    fn obstacles(&self, root: &Node) -> Vec<String> {
        switched_off(root)
    }

    fn settings(&self, places: &Places) -> Vec<PathBuf> {
        settings(places)
    }

    fn borrows(&self, places: &Places) -> Vec<PathBuf> {
        vec![
            places.project.join(".claude/settings.json"),
            places.home.join(".copilot/hooks/mcpproxy-vscode.json"),
            places.project.join(".github/hooks/mcpproxy-vscode.json"),
        ]
    }

    fn timeout(&self, handler: &Node) -> Option<u64> {
        let seconds = handler.get("timeoutSec")?.as_number()?;
        Some(seconds.saturating_mul(1_000))
    }
}

/// Lists the files in which hooks can be switched off.
pub(super) fn settings(places: &Places) -> Vec<PathBuf> {
    let copilot = [
        ".github/copilot/settings.json",
        ".github/copilot/settings.local.json",
    ];
    let of_project = copilot.map(|file| places.project.join(file));
    let of_user = places.home.join(".copilot/settings.json");
    of_project.into_iter().chain([of_user]).collect()
}

/// Understands both spellings.
pub(super) fn decode(mut payload: Payload) -> Heard {
    let tool = payload.text(&["tool_name", "toolName"]);
    let tool = tool.map_or(Tool::None, |name| tools::underscored(name, None));
    let given = ["tool_response", "toolResult", "tool_result", "error"];
    Heard {
        session: payload.owned(&["session_id", "sessionId"]),
        tool,
        input: payload.take(&["tool_input", "toolArgs"]).map(unwrapped),
        response: payload.take(&given),
        tool_use_id: payload.owned(&["tool_use_id", "toolUseId", "toolCallId"]),
        cwd: payload.owned(&["cwd"]),
        prompt: payload.owned(&["prompt"]),
    }
}
