//! A synthetic denial through the installed command, end to end: whether it blocks is seen, not
//! believed.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mcpproxy_agents::Scope;
use mcpproxy_agents::hook::{CANARY, HookAgent, HookCommand, HookEvent, HookStatus, reply};
use mcpproxy_core::Action;
use mcpproxy_gateway::rest::hooks::CANARY_REASON;
use serde_json::{Value, json};

/// How long an agent would wait.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked whether the command has ended.
const LOOK: Duration = Duration::from_millis(5);

/// Runs the installed command of an agent and says what is wrong with its answer.
///
/// A project's file is whoever's wrote the project: from there nothing is run but this very program.
pub(crate) fn sing(hook: &HookStatus, command: &HookCommand, own: &Path) -> Result<(), String> {
    let named = Path::new(&command.program);
    if hook.scope == Scope::Project && !is_same(named, own) {
        let program = named.display();
        return Err(format!(
            "a file of the project has it run `{program}`, which is not this program and is not tried"
        ));
    }
    try_out(hook.agent, command)
}

/// Tells whether a path, as it is written, leads to a program.
fn is_same(named: &Path, own: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    named.is_absolute() && real(named).is_some_and(|named| Some(named) == real(own))
}

fn try_out(agent: HookAgent, command: &HookCommand) -> Result<(), String> {
    let (event, payload) = payload(agent);
    let words = command.words(agent, event);
    let Some((program, args)) = words.split_first() else {
        return Err("the command is empty".to_owned());
    };
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|fault| format!("`{program}` cannot be run: {fault}"))?;
    let answer = answer(&mut child, &payload.to_string());
    let (code, stdout, stderr) = answer.map_err(|fault| fault.to_string())?;
    let expect = reply(
        agent,
        HookEvent::Pre,
        event,
        Action::Deny,
        CANARY_REASON,
        true,
    );
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let same = code == i32::from(expect.exit) && json(&stdout) == json(&expect.stdout);
    judged(same, expect.exit, (code, &stdout, &stderr))
}

/// Says what is wrong with an answer. A denial counts only with the gateway's own reason: a command
/// that fails closed denies also where nobody was asked.
fn judged(same: bool, exit: u8, (code, stdout, stderr): (i32, &str, &str)) -> Result<(), String> {
    let reason = if exit == 0 { stdout } else { stderr };
    if same && reason.contains(CANARY_REASON) {
        return Ok(());
    }
    let said = stderr.lines().next().unwrap_or_default();
    let denied = if exit == 0 {
        stdout.contains("deny") || stdout.contains("block")
    } else {
        code == i32::from(exit)
    };
    let fault = if denied {
        "it denied without the gateway's answer"
    } else {
        "it does not deny what it must deny"
    };
    Err(format!("{fault} (exit code {code}) {said}"))
}

fn answer(child: &mut Child, payload: &str) -> io::Result<(i32, String, String)> {
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(payload.as_bytes())?;
    }
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if Instant::now() < deadline => std::thread::sleep(LOOK),
            None => {
                child.kill()?;
                child.wait()?;
                return Err(io::Error::other("it did not answer in time"));
            }
        }
    };
    let (mut stdout, mut stderr) = (String::new(), String::new());
    if let Some(out) = child.stdout.take() {
        out.take(64 * 1024).read_to_string(&mut stdout)?;
    }
    if let Some(err) = child.stderr.take() {
        err.take(64 * 1024).read_to_string(&mut stderr)?;
    }
    Ok((status.code().unwrap_or(-1), stdout, stderr))
}

/// An event about a tool that no agent has, as the agent would send it.
fn payload(agent: HookAgent) -> (&'static str, Value) {
    let event = match agent {
        HookAgent::Cursor | HookAgent::CopilotCli | HookAgent::Kiro => "preToolUse",
        HookAgent::GeminiCli => "BeforeTool",
        HookAgent::Windsurf => "pre_mcp_tool_use",
        HookAgent::OpenCode => "tool.execute.before",
        HookAgent::ClaudeCode
        | HookAgent::ClaudeAgentSdk
        | HookAgent::Codex
        | HookAgent::VsCode
        | HookAgent::Goose
        | HookAgent::Cline => "PreToolUse",
    };
    let session = "mcpproxy-doctor";
    let payload = match agent {
        HookAgent::Windsurf => json!({
            "agent_action_name": event, "trajectory_id": session,
            "tool_info": { "mcp_server_name": "mcpproxy", "mcp_tool_name": CANARY, "mcp_tool_arguments": {} },
        }),
        HookAgent::OpenCode => json!({
            "event": event, "sessionID": session, "callID": "1", "tool": CANARY, "args": {},
        }),
        HookAgent::Cline => json!({
            "clineVersion": "0", "hookName": event, "taskId": session,
            "preToolUse": { "toolName": CANARY, "parameters": {} },
        }),
        HookAgent::Goose => json!({
            "event": event, "session_id": session, "tool_name": CANARY, "tool_input": {},
        }),
        HookAgent::CopilotCli => json!({
            "sessionId": session, "timestamp": 0, "cwd": "/", "toolName": CANARY, "toolArgs": "{}",
        }),
        HookAgent::Cursor => json!({
            "conversation_id": session, "generation_id": "1", "cursor_version": "0",
            "hook_event_name": event, "tool_name": CANARY, "tool_input": {},
        }),
        HookAgent::ClaudeCode
        | HookAgent::ClaudeAgentSdk
        | HookAgent::Codex
        | HookAgent::VsCode
        | HookAgent::GeminiCli
        | HookAgent::Kiro => json!({
            "session_id": session, "hook_event_name": event, "tool_name": CANARY, "tool_input": {},
        }),
    };
    (event, payload)
}

#[cfg(test)]
mod tests {
    use mcpproxy_agents::hook::{Tool, read};

    use super::*;

    #[test]
    fn only_the_gateways_own_denial_counts() {
        let check = |same: bool, exit: u8, answer: (i32, &str, &str), expect: &str| {
            let judged = judged(same, exit, answer);
            let said = judged.err().unwrap_or_default();
            assert!(said.starts_with(expect), "{answer:?}: {said}");
        };
        let deny = format!(r#"{{"permission":"deny","reason":"{CANARY_REASON}"}}"#);
        check(true, 0, (0, &deny, ""), "");
        check(true, 2, (2, "", CANARY_REASON), "");
        let alone = "mcpproxy: the gateway does not answer";
        let closed = "it denied without the gateway's answer (exit code 2)";
        check(true, 2, (2, "", alone), closed);
        let closed = "it denied without the gateway's answer (exit code 0)";
        check(false, 0, (0, r#"{"permission":"deny"}"#, alone), closed);
        let open = "it does not deny what it must deny";
        check(false, 0, (0, "", alone), open);
        check(false, 2, (0, "", alone), open);
    }

    #[test]
    fn every_agent_has_one_that_is_understood() {
        for agent in HookAgent::ALL {
            let (event, payload) = payload(agent);
            let asked = read(payload.to_string().as_bytes(), Some(agent), Some(event)).unwrap();
            assert_eq!(asked.event, HookEvent::Pre, "{agent}");
            let (Tool::Own { spelled: tool, .. } | Tool::Mcp { tool, .. }) = &asked.tool else {
                panic!("{agent}: {:?}", asked.tool);
            };
            assert_eq!(tool, CANARY, "{agent}");
        }
    }
}
