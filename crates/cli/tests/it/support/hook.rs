//! The program as an agent's hook: the agent's payload in, its own protocol out.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::{Home, program, within};

/// What the hook's command said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// What an agent makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Allow,
    Ask,
    Deny,
}

/// Runs `hook evaluate` for an agent with more arguments.
pub(crate) async fn hook(home: &Home, agent: &str, payload: &str, more: &[&str]) -> Said {
    let mut child = Command::new(program())
        .args(["hook", "evaluate", "--agent", agent])
        .args(more)
        .env_clear()
        .env("HOME", home.path())
        .env("MCPPROXY_DATA_DIR", home.data())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(payload.as_bytes()).await.unwrap();
    drop(stdin);
    let output = within("a hook", child.wait_with_output()).await.unwrap();
    Said {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Said {
    /// Understands the answer as the agent does.
    pub(crate) fn heard(&self, agent: &str) -> Heard {
        let said: Value = serde_json::from_str(&self.stdout).unwrap_or_default();
        let word = match agent {
            "claude-code" | "claude-agent-sdk" | "codex" | "vscode" => {
                said["hookSpecificOutput"]["permissionDecision"].as_str()
            }
            "copilot-cli" => said["permissionDecision"].as_str(),
            "cursor" => said["permission"].as_str(),
            "gemini-cli" | "opencode" => said["decision"].as_str(),
            "cline" => (said["cancel"] == true).then_some("deny"),
            "windsurf" | "goose" | "kiro" => (self.code == 2).then_some("deny"),
            _ => panic!("{agent} is not known"),
        };
        if self.code != 0 {
            assert!(self.code == 2 && !self.stderr.trim().is_empty(), "{self:?}");
        }
        match word {
            Some("deny") => Heard::Deny,
            Some("ask") => Heard::Ask,
            Some("allow") | None => Heard::Allow,
            Some(other) => panic!("{agent} does not know `{other}`"),
        }
    }
}
