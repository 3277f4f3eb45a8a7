//! What each agent is told, byte for byte.

use super::*;

#[track_caller]
fn check(agent: HookAgent, event_name: &str, ruling: Action, quiet: bool, expect: &str) {
    let event = HookEvent::from_name(event_name).unwrap();
    let reply = reply(agent, event, event_name, ruling, "no", quiet);
    let shown = format!("{}{}{}", reply.exit, reply.stdout, reply.stderr);
    assert_eq!(shown.trim_end(), expect, "{agent} {event_name} {ruling:?}");
}

#[test]
fn a_reason_is_never_empty_never_endless_and_moves_no_cursor() {
    assert!(!spoken(" \n").is_empty());
    assert_eq!(spoken("a\u{1b}b"), "a\u{fffd}b");
    assert_eq!(spoken(&"é".repeat(9_000)).chars().count(), MAX_REASON);
}

/// Checks one event: what is said to allow, warn, ask and deny, first loudly and then quietly.
#[track_caller]
fn table(agent: HookAgent, event: &str, loud: [&str; 4], quiet: [&str; 4]) {
    let rulings = [Action::Allow, Action::Warn, Action::Ask, Action::Deny];
    for ((ruling, loud), quiet) in rulings.into_iter().zip(loud).zip(quiet) {
        check(agent, event, ruling, false, loud);
        check(agent, event, ruling, true, quiet);
    }
}

#[test]
fn claude_code() {
    for agent in [HookAgent::ClaudeCode, HookAgent::ClaudeAgentSdk] {
        let ask = r#"0{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"no"}}"#;
        let deny = r#"0{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#;
        let message = r#"0{"systemMessage":"no"}"#;
        table(
            agent,
            "PreToolUse",
            [
                r#"0{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}"#,
                r#"0{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"},"systemMessage":"no"}"#,
                ask,
                deny,
            ],
            ["0", message, ask, deny],
        );
        table(agent, "PostToolUse", ["0"; 4], ["0"; 4]);
        table(agent, "PostToolUseFailure", ["0"; 4], ["0"; 4]);
        let block = r#"0{"decision":"block","reason":"no"}"#;
        let prompt = ["0", message, message, block];
        table(agent, "UserPromptSubmit", prompt, prompt);
        let deny = r#"0{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}"#;
        table(
            agent,
            "PermissionRequest",
            [
                r#"0{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}"#,
                message,
                "0",
                deny,
            ],
            ["0", message, "0", deny],
        );
        table(agent, "SessionStart", ["0"; 4], ["0"; 4]);
        table(agent, "SessionEnd", ["0"; 4], ["0"; 4]);
    }
}

#[test]
fn codex_is_never_told_what_it_rejects() {
    let deny = r#"0{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#;
    let message = r#"0{"systemMessage":"no"}"#;
    let pre = ["0", message, deny, deny];
    table(HookAgent::Codex, "PreToolUse", pre, pre);
    table(HookAgent::Codex, "PostToolUse", ["0"; 4], ["0"; 4]);
    let prompt = [
        "0",
        message,
        message,
        r#"0{"decision":"block","reason":"no"}"#,
    ];
    table(HookAgent::Codex, "UserPromptSubmit", prompt, prompt);
    let deny = r#"0{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}"#;
    table(
        HookAgent::Codex,
        "PermissionRequest",
        [
            r#"0{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}"#,
            message,
            "0",
            deny,
        ],
        ["0", message, "0", deny],
    );
}

#[test]
fn cursor_is_always_told_json() {
    let ask = r#"0{"permission":"ask","user_message":"no","agent_message":"no"}"#;
    let deny = r#"0{"permission":"deny","user_message":"no","agent_message":"no"}"#;
    let allow = r#"0{"permission":"allow"}"#;
    for event in [
        "beforeShellExecution",
        "beforeMCPExecution",
        "beforeReadFile",
    ] {
        let quiet = ["0{}", "0{}", ask, deny];
        table(HookAgent::Cursor, event, [allow, allow, ask, deny], quiet);
    }
    let quiet = ["0{}", "0{}", deny, deny];
    table(
        HookAgent::Cursor,
        "preToolUse",
        [allow, allow, deny, deny],
        quiet,
    );
    table(HookAgent::Cursor, "postToolUse", ["0{}"; 4], ["0{}"; 4]);
    let stop = r#"0{"continue":false,"user_message":"no"}"#;
    let prompt = ["0{}", "0{}", "0{}", stop];
    table(HookAgent::Cursor, "beforeSubmitPrompt", prompt, prompt);
}

#[test]
fn gemini_cli() {
    let agent = HookAgent::GeminiCli;
    let (ask, deny) = (
        r#"0{"decision":"ask","reason":"no"}"#,
        r#"0{"decision":"deny","reason":"no"}"#,
    );
    let message = r#"0{"systemMessage":"no"}"#;
    table(
        agent,
        "BeforeTool",
        [
            r#"0{"decision":"allow"}"#,
            r#"0{"decision":"allow","systemMessage":"no"}"#,
            ask,
            deny,
        ],
        ["0", message, ask, deny],
    );
    table(agent, "AfterTool", ["0"; 4], ["0"; 4]);
    let prompt = ["0", message, message, deny];
    table(agent, "BeforeAgent", prompt, prompt);
}

#[test]
fn copilot_cli() {
    let agent = HookAgent::CopilotCli;
    let allow = r#"0{"permissionDecision":"allow"}"#;
    let ask = r#"0{"permissionDecision":"ask","permissionDecisionReason":"no"}"#;
    let deny = r#"0{"permissionDecision":"deny","permissionDecisionReason":"no"}"#;
    let quiet = ["0", "0", ask, deny];
    table(agent, "preToolUse", [allow, allow, ask, deny], quiet);
    table(agent, "postToolUse", ["0"; 4], ["0"; 4]);
    let deny = r#"0{"behavior":"deny","message":"no"}"#;
    let loud = [r#"0{"behavior":"allow"}"#, "0", "0", deny];
    table(agent, "permissionRequest", loud, ["0", "0", "0", deny]);
    table(agent, "userPromptSubmitted", ["0"; 4], ["0"; 4]);
}

#[test]
fn vscode_is_told_what_both_of_its_runtimes_understand() {
    let ask = r#"0{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"no"},"permissionDecision":"ask","permissionDecisionReason":"no"}"#;
    let deny = r#"0{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"},"permissionDecision":"deny","permissionDecisionReason":"no"}"#;
    table(
        HookAgent::VsCode,
        "PreToolUse",
        [
            r#"0{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}"#,
            r#"0{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"},"systemMessage":"no"}"#,
            ask,
            deny,
        ],
        ["0", r#"0{"systemMessage":"no"}"#, ask, deny],
    );
    table(HookAgent::VsCode, "PostToolUse", ["0"; 4], ["0"; 4]);
}

#[test]
fn those_who_know_only_exit_codes() {
    let stop = "2no";
    let pre = ["0", "0", stop, stop];
    for event in [
        "pre_run_command",
        "pre_mcp_tool_use",
        "pre_read_code",
        "pre_write_code",
    ] {
        table(HookAgent::Windsurf, event, pre, pre);
    }
    table(HookAgent::Windsurf, "post_mcp_tool_use", ["0"; 4], ["0"; 4]);
    let prompt = ["0", "0", "0", stop];
    table(HookAgent::Windsurf, "pre_user_prompt", prompt, prompt);
    let allow = r#"0{"decision":"allow"}"#;
    table(
        HookAgent::Goose,
        "PreToolUse",
        [allow, allow, stop, stop],
        pre,
    );
    table(HookAgent::Goose, "PostToolUse", ["0"; 4], ["0"; 4]);
    table(HookAgent::Goose, "UserPromptSubmit", ["0"; 4], ["0"; 4]);
    table(HookAgent::Kiro, "preToolUse", pre, pre);
    table(HookAgent::Kiro, "PostToolUse", ["0"; 4], ["0"; 4]);
}

#[test]
fn those_of_our_own_making_and_cline() {
    let agent = HookAgent::OpenCode;
    let allow = r#"0{"decision":"allow"}"#;
    let deny = r#"0{"decision":"deny","reason":"no"}"#;
    let loud = [allow, allow, deny, deny];
    table(agent, "tool.execute.before", loud, ["0", "0", deny, deny]);
    table(agent, "tool.execute.after", ["0"; 4], ["0"; 4]);
    let go = r#"0{"cancel":false}"#;
    let stop = r#"0{"cancel":true,"errorMessage":"no"}"#;
    let pre = [go, go, stop, stop];
    table(HookAgent::Cline, "PreToolUse", pre, pre);
    table(HookAgent::Cline, "PostToolUse", [go; 4], [go; 4]);
    table(
        HookAgent::Cline,
        "UserPromptSubmit",
        [go, go, go, stop],
        [go, go, go, stop],
    );
}

#[test]
fn nobody_is_stopped_after_the_fact_and_everybody_before() {
    for agent in HookAgent::ALL {
        let name = |event: HookEvent| event.name();
        let said = |event, ruling| reply(agent, event, name(event), ruling, "", true);
        let post = said(HookEvent::Post, Action::Deny);
        assert_eq!(post, said(HookEvent::Post, Action::Allow), "{agent}");
        let pre = said(HookEvent::Pre, Action::Deny);
        assert_ne!(pre, said(HookEvent::Pre, Action::Allow), "{agent}");
        assert!(
            pre.stdout.contains("policy") || pre.stderr.contains("policy"),
            "{agent}"
        );
    }
}
