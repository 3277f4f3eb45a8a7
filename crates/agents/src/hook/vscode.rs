//! VS Code: Claude Code's protocol in its own runtime, Copilot CLI's in the one that follows it.
//!
//! Both load the same files, so that an answer is one that both understand.

use std::path::PathBuf;

use mcpproxy_core::Action;
use serde_json::json;

use super::HookEvent;
use super::adapter::{Adapter, Answer, Heard};
use super::claude_code::switched_off;
use super::copilot_cli;
use super::payload::Payload;
use super::reply::Reply;
use super::target::{Body, Entry, Setting, Target, number, seconds};
use crate::error::Error;
use crate::places::Places;
use crate::tree::Node;

pub(super) struct VsCode;

impl Adapter for VsCode {
    fn decode(&self, payload: Payload, _event_name: &str) -> Heard {
        copilot_cli::decode(payload)
    }

    fn encode(&self, answer: &Answer<'_>) -> Reply {
        let decision = match (answer.event, answer.ruling) {
            (HookEvent::Pre, Action::Ask) => "ask",
            (HookEvent::Pre, Action::Deny) => "deny",
            _ => return answer.claude(),
        };
        Reply::json(&json!({
            "hookSpecificOutput": {
                "hookEventName": answer.event_name,
                "permissionDecision": decision,
                "permissionDecisionReason": answer.reason,
            },
            "permissionDecision": decision,
            "permissionDecisionReason": answer.reason,
        }))
    }

    fn targets(&self, setting: &Setting<'_>) -> Result<Vec<Target>, Error> {
        let entry = |event: &str| {
            let handler = [
                ("type", Node::text("command")),
                ("command", setting.line(event)),
                ("timeout", seconds()),
            ];
            Entry::flat(event, handler)
        };
        Ok(vec![Target {
            path: setting.path(
                ".copilot/hooks/mcpproxy-vscode.json",
                ".github/hooks/mcpproxy-vscode.json",
            ),
            body: Body::Json {
                // Copilot's runtime wants it, the older one does not mind.
                head: vec![("version", number(1))],
                entries: ["PreToolUse", "PostToolUse"].map(entry).into(),
                is_ours: true,
            },
        }])
    }

    fn traces(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.home.join(".vscode"), places.config_home.join("Code")]
    }

    fn obstacles(&self, root: &Node) -> Vec<String> {
        switched_off(root)
    }

    fn settings(&self, places: &Places) -> Vec<PathBuf> {
        copilot_cli::settings(places)
    }

    fn borrows(&self, places: &Places) -> Vec<PathBuf> {
        vec![
            places.home.join(".claude/settings.json"),
            places.project.join(".claude/settings.json"),
            places.home.join(".copilot/hooks/mcpproxy.json"),
            places.project.join(".github/hooks/mcpproxy.json"),
        ]
    }
}
