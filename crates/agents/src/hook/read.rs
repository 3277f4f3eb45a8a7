//! Reads a payload: whose it is, what happened, and what it says.
//!
//! An agent is recognised by fields that no other agent sends. Where the caller knows better, that
//! counts, and a mark of another agent is only noted.

use serde_json::{Map, Value};

use super::payload::{Payload, doubt};
use super::{Asked, HookAgent, HookError, HookEvent, Tool};

/// The most bytes of a payload that are looked at.
pub const MAX_PAYLOAD: usize = 16 * 1024 * 1024;

/// Where agents write what happened.
const EVENT_KEYS: &[&str] = &[
    "hook_event_name",
    "hookEventName",
    "agent_action_name",
    "hookName",
    "event",
];

/// Where agents tell of a tool, and where they write what it gave.
const TOOL_KEYS: &[&str] = &[
    "tool_name",
    "toolName",
    "tool",
    "tool_input",
    "toolInput",
    "toolArgs",
    "preToolUse",
    "command",
];
const GAVE_KEYS: &[&str] = &[
    "tool_response",
    "toolResponse",
    "tool_result",
    "toolResult",
    "tool_output",
    "error",
];

/// Understands one payload of an agent, or of the specification's plain shape (FR-041).
///
/// What the payload says about its event counts more than what the caller says, since a file with
/// our command in it may be loaded by another agent.
pub fn read(
    bytes: &[u8],
    agent: Option<HookAgent>,
    event: Option<&str>,
) -> Result<Asked, HookError> {
    if bytes.len() > MAX_PAYLOAD {
        return Err(HookError::TooLarge { limit: MAX_PAYLOAD });
    }
    let (payload, fault) = match Payload::parse(bytes) {
        Ok(payload) => (payload, None),
        Err(fault) if fault.is_evasion() => match Payload::as_far_as_it_goes(bytes) {
            Some(payload) => (payload, Some(fault)),
            None => return Err(fault),
        },
        Err(fault) => return Err(fault),
    };
    let seen = mark(&payload);
    let happened = happened(&payload, event);
    // What a tool gave is remembered as far as it can be read; what one is given is not guessed at.
    let is_told = matches!(happened, Ok((HookEvent::Post, _)));
    if let Some(fault) = fault.filter(|_| !is_told) {
        return Err(fault);
    }
    let (event, event_name) = happened?;
    let agent = match (agent, seen) {
        // An event in another agent's own words wants that agent's own answer.
        (Some(told), Some(seen)) if !are_kin(told, seen) && !is_common(event, &event_name) => seen,
        (told, seen) => told.or(seen).unwrap_or(HookAgent::ClaudeCode),
    };
    let permission_mode = payload.owned(&["permission_mode"]);
    let subagent = payload.owned(&["agent_id"]);
    let heard = agent.adapter().decode(payload, &event_name);
    if event.has_tool() && heard.tool == Tool::None {
        return Err(HookError::Missing { field: "tool_name" });
    }
    // Arguments that some agents send as a text, which their adapter could not take for one thing.
    let arguments = heard.input.as_ref().and_then(Value::as_str);
    let fault = arguments
        .filter(|_| event != HookEvent::Post)
        .and_then(doubt);
    if let Some(fault) = fault {
        return Err(fault);
    }
    Ok(Asked {
        agent,
        borrowed_by: seen.filter(|seen| borrows(*seen, agent)),
        event,
        event_name,
        session: heard.session.unwrap_or_default(),
        tool: heard.tool,
        input: heard.input.unwrap_or_else(|| Value::Object(Map::new())),
        response: heard.response,
        tool_use_id: heard.tool_use_id,
        cwd: heard.cwd,
        prompt: heard.prompt.filter(|_| event == HookEvent::Prompt),
        permission_mode,
        subagent,
    })
}

/// Finds out what happened: the first name that means something to us.
fn happened(payload: &Payload, told: Option<&str>) -> Result<(HookEvent, String), HookError> {
    let written = EVENT_KEYS.iter().filter_map(|key| payload.text(&[key]));
    let says = |name: &&str| name.contains(char::is_alphabetic);
    let names: Vec<&str> = written.chain(told).filter(says).collect();
    // Whoever does not say what happened may be about to use a tool: that is no event of another kind.
    let Some(first) = names.first() else {
        return Err(HookError::Missing { field: "event" });
    };
    let mut known = names
        .iter()
        .filter_map(|name| Some((HookEvent::from_name(name)?, (*name).to_owned())));
    // With a slip in its name, the use of a tool would pass for something that is none.
    let has = |keys: &[&str]| keys.iter().any(|key| payload.says(key));
    let uses = has(TOOL_KEYS) && !has(GAVE_KEYS);
    let short = || first.chars().take(80).collect();
    match known.next() {
        Some((event, _)) if uses && !event.has_tool() && HookEvent::from_name(first).is_none() => {
            Err(HookError::UnknownUse { name: short() })
        }
        Some(known) => Ok(known),
        None if uses => Err(HookError::UnknownUse { name: short() }),
        None => Err(HookError::UnknownEvent { name: short() }),
    }
}

/// Says whether an agent runs what stands in the file of another. Claude Code does not, and its
/// mark is one that others may have too.
fn borrows(seen: HookAgent, agent: HookAgent) -> bool {
    seen != HookAgent::ClaudeCode && !are_kin(seen, agent)
}

/// Says whether an event is spelled as in Claude Code's file, which other agents load too.
fn is_common(event: HookEvent, name: &str) -> bool {
    name == event.name() || name == "PostToolUseFailure"
}

/// Says whether one agent's payloads cannot be told from the other's for certain.
fn are_kin(left: HookAgent, right: HookAgent) -> bool {
    use HookAgent::{ClaudeAgentSdk, ClaudeCode, CopilotCli, VsCode};
    let family = |agent| match agent {
        ClaudeAgentSdk => ClaudeCode,
        VsCode => CopilotCli,
        other => other,
    };
    family(left) == family(right)
}

/// Recognises the agent by what only its payloads have.
fn mark(payload: &Payload) -> Option<HookAgent> {
    let event = payload.text(&["hook_event_name"]).unwrap_or_default();
    let has = |key: &str| payload.has(key);
    let gemini = ["BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent"];
    let rules = [
        (HookAgent::Cline, has("clineVersion")),
        (HookAgent::Windsurf, has("agent_action_name")),
        (
            HookAgent::Cursor,
            has("cursor_version") || has("generation_id"),
        ),
        (HookAgent::OpenCode, has("sessionID") && has("tool")),
        (HookAgent::VsCode, has("hookEventName")),
        (
            HookAgent::CopilotCli,
            has("sessionId") || has("toolName") || has("toolArgs"),
        ),
        (
            HookAgent::Goose,
            has("event") && (has("working_dir") || has("matcher_context") || has("tool_call_id")),
        ),
        (HookAgent::GeminiCli, gemini.contains(&event)),
        (HookAgent::Codex, has("turn_id")),
        (
            HookAgent::Kiro,
            event.starts_with(|first: char| first.is_ascii_lowercase()),
        ),
        (HookAgent::ClaudeCode, has("transcript_path")),
    ];
    let mut found = rules.into_iter().filter(|(_, is_so)| *is_so);
    found.next().map(|(agent, _)| agent)
}

#[cfg(test)]
mod tests;
