//! The agent's hook: put into the agent's settings by the program itself, and run as those settings
//! say, with the agent's payload in and the agent's own protocol out.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Semaphore;

use crate::error::Error;
use crate::gateway::{Gateway, command};

/// The agent that is played, and its settings in its home.
const AGENT: &str = "claude-code";
const SETTINGS: &str = ".claude/settings.json";
/// What agents run commands with.
const SHELL: &str = "/bin/sh";
/// How long putting the hook in may take.
const INSTALLING: Duration = Duration::from_secs(20);
/// How long the agent waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a gateway is asked that does not answer in time.
const TRIES: usize = 5;
/// Commands that run at once for one gateway. Each has two seconds to get an answer, and many cases at
/// once on a small machine would take them from each other.
const AT_ONCE: usize = 2;
/// The length of a payload from which on it is the product's affair that it was not looked at.
const LONG: usize = 64 * 1024;

/// A hook that is installed.
#[derive(Debug)]
pub(crate) struct Hook {
    home: PathBuf,
    settings: Value,
    turns: Semaphore,
}

/// What an agent makes of its hook's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// There is nothing against the use of the tool.
    Nothing,
    /// The user is to be asked.
    Ask,
    /// The tool may not be used.
    Deny,
}

impl Hook {
    /// Has the program install its hook for the gateway, in a home that goes away with it.
    pub(crate) async fn install(program: &Path, gateway: &Gateway) -> Result<Self, Error> {
        let home = gateway.folder().to_owned();
        let installing = command(program, &home)
            .args(["hook", "install", "--agent", AGENT, "--config"])
            .arg(gateway.config())
            .arg("--data-dir")
            .arg(gateway.data())
            .stderr(Stdio::piped())
            .output();
        let done = tokio::time::timeout(INSTALLING, installing).await;
        let done = done.map_err(|_| Error::Hook("it was not installed in time".to_owned()))??;
        if !done.status.success() {
            return Err(Error::Hook(words(&done.stderr)));
        }
        let settings = std::fs::read(home.join(SETTINGS))?;
        let settings = serde_json::from_slice(&settings);
        Ok(Self {
            settings: settings.map_err(|fault| Error::Hook(fault.to_string()))?,
            home,
            turns: Semaphore::new(AT_ONCE),
        })
    }

    /// Runs what the settings have for an event about a tool, and returns what the agent makes of it.
    pub(crate) async fn tell(
        &self,
        event: &str,
        tool: &str,
        payload: &Value,
    ) -> Result<Heard, Error> {
        let payload = payload.to_string();
        for line in commands(&self.settings, event, tool) {
            let heard = self.told(line, &payload).await?;
            if heard != Heard::Nothing {
                return Ok(heard);
            }
        }
        Ok(Heard::Nothing)
    }

    /// Runs a command until the gateway was asked. The hook lets everything pass where it could not be:
    /// a case that was played so tells nothing, and must not count as one that came through. On a
    /// machine that plays many cases at once a gateway is late at times, so it is asked again.
    async fn told(&self, line: &str, payload: &str) -> Result<Heard, Error> {
        let mut unseen = String::new();
        for _ in 0..TRIES {
            let done = self.run(line, payload).await?;
            let heard = heard(&done)?;
            if heard != Heard::Nothing || done.stderr.is_empty() || payload.len() >= LONG {
                return Ok(heard);
            }
            unseen = words(&done.stderr);
        }
        Err(Error::Hook(unseen))
    }

    async fn run(&self, line: &str, payload: &str) -> Result<Output, Error> {
        let turn = self.turns.acquire().await;
        let mut child = command(Path::new(SHELL), &self.home)
            .args(["-c", line])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take();
        let answered = async {
            if let Some(mut stdin) = stdin {
                // It need not read what is too long for it.
                drop(stdin.write_all(payload.as_bytes()).await);
            }
            child.wait_with_output().await
        };
        let done = tokio::time::timeout(PATIENCE, answered).await;
        drop(turn);
        let done = done.map_err(|_| Error::Hook("it did not answer in time".to_owned()))?;
        Ok(done?)
    }
}

/// Returns the commands that settings have for an event about a tool.
fn commands<'a>(settings: &'a Value, event: &str, tool: &'a str) -> impl Iterator<Item = &'a str> {
    let groups = settings.get("hooks").and_then(|all| all.get(event));
    let groups = groups.and_then(Value::as_array).into_iter().flatten();
    let meant = groups.filter(move |group| {
        let matcher = group.get("matcher").and_then(Value::as_str);
        matcher.is_none_or(|matcher| matches(matcher, tool))
    });
    let hooks = meant.filter_map(|group| group.get("hooks")?.as_array());
    hooks
        .flatten()
        .filter_map(|hook| hook.get("command")?.as_str())
}

/// Tells whether a matcher means a tool: names, and beginnings of names, with `|` between them. Agents
/// take any regular expression; more than this the program does not write.
fn matches(matcher: &str, tool: &str) -> bool {
    let mut names = matcher.split('|');
    names.any(|name| match name.strip_suffix(".*") {
        Some(start) => tool.starts_with(start),
        None => tool == name,
    })
}

/// Understands an answer as the agent does.
fn heard(done: &Output) -> Result<Heard, Error> {
    match done.status.code() {
        Some(0) => {}
        Some(2) => return Ok(Heard::Deny),
        _ => return Err(Error::Hook(words(&done.stderr))),
    }
    if done.stdout.is_empty() {
        return Ok(Heard::Nothing);
    }
    let said: Value = serde_json::from_slice(&done.stdout)
        .map_err(|_| Error::Hook(format!("it said `{}`", words(&done.stdout))))?;
    let decision = said.pointer("/hookSpecificOutput/permissionDecision");
    match decision.and_then(Value::as_str) {
        Some("deny") => Ok(Heard::Deny),
        Some("ask") => Ok(Heard::Ask),
        Some("allow") | None => Ok(Heard::Nothing),
        Some(other) => Err(Error::Hook(format!("it decided `{other}`"))),
    }
}

fn words(said: &[u8]) -> String {
    String::from_utf8_lossy(said).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_settings_have_for_a_tool_is_run() {
        let settings = json!({ "hooks": { "PreToolUse": [
            { "matcher": "Read|mcp__.*", "hooks": [{ "type": "command", "command": "a" }] },
            { "hooks": [{ "type": "command", "command": "b" }] },
        ] } });
        let check = |event: &str, tool: &str, expect: &[&str]| {
            let found: Vec<&str> = commands(&settings, event, tool).collect();
            assert_eq!(found, expect, "{event} {tool}");
        };
        check("PreToolUse", "Read", &["a", "b"]);
        check("PreToolUse", "mcp__mcpproxy__x", &["a", "b"]);
        check("PreToolUse", "ReadMore", &["b"]);
        check("PostToolUse", "Read", &[]);
    }

    #[test]
    fn answers_are_understood_as_the_agent_does() {
        let check = |code: i32, stdout: &str, expect: Option<Heard>| {
            let done = Output {
                status: ExitStatus::from_raw(code << 8),
                stdout: stdout.into(),
                stderr: Vec::new(),
            };
            assert_eq!(heard(&done).ok(), expect, "{code} {stdout}");
        };
        let said = |word: &str| {
            json!({ "hookSpecificOutput": { "permissionDecision": word } }).to_string()
        };
        check(0, "", Some(Heard::Nothing));
        check(0, &said("allow"), Some(Heard::Nothing));
        check(0, r#"{"systemMessage":"look"}"#, Some(Heard::Nothing));
        check(0, &said("ask"), Some(Heard::Ask));
        check(0, &said("deny"), Some(Heard::Deny));
        check(2, "", Some(Heard::Deny));
        check(0, &said("perhaps"), None);
        check(0, "no", None);
        check(1, "", None);
    }
}
