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

#[test]
fn claude_code() {
    let check = |event: &str, ruling, quiet, expect: &str| {
        check(HookAgent::ClaudeCode, event, ruling, quiet, expect);
        check(HookAgent::ClaudeAgentSdk, event, ruling, quiet, expect);
    };
    let pre = "PreToolUse";
    check(pre, Action::Allow, true, "0");
    check(
        pre,
        Action::Allow,
        false,
        r#"0{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}"#,
    );
}
