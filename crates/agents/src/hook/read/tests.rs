//! Payloads as the agents send them, written from their formats, and what they come down to.

use serde_json::json;

use super::*;

/// Shows what was understood in one line, with the response where there is one.
fn show(payload: &Value, agent: Option<HookAgent>, event: Option<&str>) -> String {
    let asked = match read(payload.to_string().as_bytes(), agent, event) {
        Ok(asked) => asked,
        Err(error) => return error.to_string(),
    };
    let tool = match &asked.tool {
        Tool::Own { name, .. } => name.clone(),
        Tool::Mcp { upstream, tool, .. } => format!("{upstream} > {tool}"),
        Tool::None => "-".to_owned(),
    };
    let borrowed = asked.borrowed_by.map(|by| format!(" by {}", by.name()));
    let mut line = format!(
        "{}{} {} {} {tool} {}",
        asked.agent.name(),
        borrowed.unwrap_or_default(),
        asked.event,
        asked.session,
        asked.input
    );
    let details = [
        ("gave", asked.response.map(|given| given.to_string())),
        ("id", asked.tool_use_id),
        ("in", asked.cwd),
        ("said", asked.prompt),
    ];
    for (name, detail) in details {
        line.extend(detail.map(|detail| format!(" {name}={detail}")));
    }
    line
}

#[track_caller]
fn check(payload: &Value, expect: &str) {
    assert_eq!(show(payload, None, None), expect);
}

#[test]
fn claude_code() {
    let base = json!({
        "session_id": "s1", "transcript_path": "/t/s1.jsonl", "cwd": "/w", "prompt_id": "p1",
        "permission_mode": "default", "tool_use_id": "toolu_1",
    });
    let with = |extra: Value| {
        let mut map = base.as_object().unwrap().clone();
        map.extend(extra.as_object().unwrap().clone());
        Value::Object(map)
    };
    check(
        &with(json!({
            "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": { "command": "ls", "description": "list" },
        })),
        r#"claude-code PreToolUse s1 Bash {"command":"ls","description":"list"} id=toolu_1 in=/w"#,
    );
    check(
        &with(json!({
            "hook_event_name": "PreToolUse", "tool_name": "mcp__team_chat__post",
            "tool_input": { "text": "hi" }, "mcp_server": { "name": "team.chat", "source": "user" },
        })),
        r#"claude-code PreToolUse s1 team.chat > post {"text":"hi"} id=toolu_1 in=/w"#,
    );
    check(
        &with(json!({
            "hook_event_name": "PostToolUse", "tool_name": "Read", "duration_ms": 3,
            "tool_input": { "file_path": "/w/.env" },
            "tool_response": { "type": "text", "file": { "content": "A=1" } },
        })),
        r#"claude-code PostToolUse s1 Read {"file_path":"/w/.env"} gave={"file":{"content":"A=1"},"type":"text"} id=toolu_1 in=/w"#,
    );
    check(
        &with(json!({
            "hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
            "tool_input": { "command": "cat k; false" }, "error": "Exit code 1\nk",
        })),
        r#"claude-code PostToolUse s1 Bash {"command":"cat k; false"} gave="Exit code 1\nk" id=toolu_1 in=/w"#,
    );
    check(
        &with(json!({ "hook_event_name": "UserPromptSubmit", "prompt": "do it" })),
        "claude-code UserPromptSubmit s1 - {} id=toolu_1 in=/w said=do it",
    );
    check(
        &with(json!({ "hook_event_name": "Stop" })),
        "the hook's payload speaks of `Stop`, an event that is not known here",
    );
}

#[test]
fn codex() {
    let payload = |tool: &str, input: Value| {
        json!({
            "session_id": "c1", "turn_id": "t1", "transcript_path": null, "cwd": "/w",
            "hook_event_name": "PreToolUse", "model": "m", "permission_mode": "default",
            "tool_name": tool, "tool_input": input, "tool_use_id": "call_1",
        })
    };
    check(
        &payload("Bash", json!({ "command": "ls" })),
        r#"codex PreToolUse c1 Bash {"command":"ls"} id=call_1 in=/w"#,
    );
    check(
        &payload("apply_patch", json!({ "command": "*** Begin Patch" })),
        r#"codex PreToolUse c1 Edit {"command":"*** Begin Patch"} id=call_1 in=/w"#,
    );
    check(
        &payload("mcp__gw__slack__post", json!({ "text": "x" })),
        r#"codex PreToolUse c1 gw > slack__post {"text":"x"} id=call_1 in=/w"#,
    );
}

#[test]
fn fr_041_the_plain_shape() {
    check(
        &json!({
            "event": "PostToolUse", "session_id": "p1", "tool_name": "Read",
            "tool_input": { "file_path": "a" }, "tool_response": ["any", 1],
        }),
        r#"claude-code PostToolUse p1 Read {"file_path":"a"} gave=["any",1]"#,
    );
    check(
        &json!({ "event": "PreToolUse", "session_id": "p1" }),
        "the hook's payload has no `tool_name`",
    );
}

#[test]
fn what_cannot_be_read_says_why() {
    let check = |bytes: &[u8], expect: &str, evasion: bool| {
        let error = read(bytes, None, None).unwrap_err();
        assert!(error.to_string().contains(expect), "{error}");
        assert_eq!(error.is_evasion(), evasion, "{error}");
    };
    check(b"", "EOF", false);
    check(b"[]", "another value", false);
    check(b"{\"a\":\xff}", "not a JSON object", false);
    check(b"{}", "``", false);
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
    check(deep.as_bytes(), "too deeply", true);
    check(&vec![b' '; MAX_PAYLOAD + 1], "more than", true);
}
