//! What is told about how much can be seen: true because events came, not because a file says so.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::payloads::{Agent, Use};
use super::{FILE, gateway};
use crate::support::{Heard, Home};

/// US9.2, US9.5, FR-084.
#[tokio::test]
async fn without_hooks_everybody_is_told_what_they_would_add() {
    let gateway = gateway(json!({})).await;
    let status = gateway.api("/status").await;
    assert_eq!(status["security_coverage"], "proxy_only");
    assert_eq!(status["hooks_active"], false);
    let found = gateway.api("/diagnostics").await;
    let advice = &found["recommendations"][0];
    for key in [
        "id",
        "category",
        "title",
        "description",
        "command",
        "priority",
    ] {
        assert!(advice[key].is_string(), "{key}: {advice}");
    }
    assert_eq!(
        advice["command"],
        "mcpproxy hook install --agent claude-code"
    );
    let said = doctor(&gateway.home).await;
    let nudge = "Install agent hooks for improved security coverage. Hooks provide visibility into \
                 agent-internal tools (Read, Bash, WebFetch). Without hooks, flow detection is \
                 limited to MCP-proxied tool calls. Run `mcpproxy hook install --agent claude-code` \
                 to enable.";
    assert!(
        said.contains("Security Coverage") && said.contains(nudge),
        "{said}"
    );
}

/// US9.4.
#[tokio::test]
async fn with_hooks_heard_from_nobody_is_nudged() {
    let gateway = gateway(json!({})).await;
    for session in ["one", "two"] {
        let agent = Agent::new("claude-code", session);
        let heard = agent.heard(&gateway, Use::Read("/w/a.rs")).await;
        assert_eq!(heard, Heard::Allow);
        agent.after(&gateway, Use::Read("/w/a.rs"), FILE).await;
    }
    let status = gateway.api("/status").await;
    assert_eq!(status["security_coverage"], "full");
    assert_eq!(status["hooks_active"], true);
    let agent = &status["hooks"]["agents"][0];
    assert_eq!(
        (&agent["agent"], &agent["sessions"]),
        (&json!("claude-code"), &json!(2))
    );
    assert_eq!(agent["events"], 4);
    assert_eq!(
        gateway.api("/diagnostics").await["recommendations"],
        json!([])
    );
    let said = doctor(&gateway.home).await;
    assert!(said.contains("Hooks: active"), "{said}");
    assert!(
        said.contains("claude-code") && said.contains("2 sessions"),
        "{said}"
    );
    assert!(!said.contains("Install agent hooks"), "{said}");
    let shown = gateway.home.run(&["status"]).await;
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.contains("security_coverage") && shown.contains("full"),
        "{shown}"
    );
}

/// Installed is not active: doctor says that nothing was heard yet, and tries whether it blocks.
#[tokio::test]
async fn an_installed_hook_is_tried_and_a_broken_one_is_found() {
    let gateway = gateway(json!({})).await;
    let installed = gateway
        .home
        .run(&[
            "hook",
            "install",
            "--agent",
            "claude-code",
            "--scope",
            "user",
        ])
        .await;
    assert!(installed.status.success(), "{installed:?}");
    let said = doctor(&gateway.home).await;
    assert!(
        said.contains("installed (claude-code), but no event was seen yet"),
        "{said}"
    );
    assert!(
        said.contains("a test through the installed command was blocked"),
        "{said}"
    );
    assert!(!said.contains("Install agent hooks"), "{said}");
    // The test is no sign of life.
    assert_eq!(gateway.api("/status").await["hooks_active"], false);
    // A command that asks nobody blocks nothing.
    let file = gateway.home.path().join(".claude/settings.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let broken = text.replace("hook evaluate", "hook evaluate --socket /nonexistent");
    assert_ne!(text, broken);
    std::fs::write(&file, broken).unwrap();
    let output = gateway.home.run(&["doctor"]).await;
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("was not blocked"), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

/// A project's file is whoever's wrote the project.
#[tokio::test]
async fn nothing_of_a_project_is_run_to_see_whether_it_blocks() {
    let gateway = gateway(json!({})).await;
    let project = gateway.home.path().join("clone");
    std::fs::create_dir_all(project.join(".claude")).unwrap();
    let (program, marker) = (project.join("mcpproxy"), project.join("ran"));
    std::fs::write(&program, format!("#!/bin/sh\ntouch {}\n", marker.display())).unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    for program in ["./mcpproxy", program.to_str().unwrap()] {
        let command = format!("{program} hook evaluate --agent claude-code");
        let hook = json!({ "type": "command", "command": command });
        let settings = json!({ "hooks": { "PreToolUse": [{ "matcher": "*", "hooks": [hook] }] } });
        std::fs::write(project.join(".claude/settings.json"), settings.to_string()).unwrap();
        let mut command = gateway.home.command(&["doctor"]);
        let output = command.current_dir(&project).output().await.unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("is not tried"), "{said}");
        assert!(said.contains("--scope project"), "{said}");
        assert_eq!(output.status.code(), Some(1));
        assert!(!marker.exists());
    }
}

/// What keeps hooks from being heard is an error, whether or not any was.
#[tokio::test]
async fn a_hook_that_cannot_be_heard_fails_the_look() {
    let check = async |home: &Home, expect: &str| {
        let output = home.run(&["doctor"]).await;
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains(expect), "{said}");
        assert_eq!(output.status.code(), Some(1), "{said}");
    };
    let home = Home::new(&json!({}));
    let installed = home
        .run(&["hook", "install", "--agent", "claude-code"])
        .await;
    assert!(installed.status.success(), "{installed:?}");
    check(&home, "no gateway answers them").await;
    let broken = home.path().join(".claude/settings.json");
    std::fs::write(&broken, "garbage{").unwrap();
    check(&home, ".claude/settings.json").await;
    let off = gateway(json!({ "agent_hooks": { "enabled": false } })).await;
    let args = ["hook", "install", "--agent", "claude-code"];
    assert!(off.home.run(&args).await.status.success());
    check(&off.home, "switched off in the configuration").await;
    let shown = off.home.run(&["hook", "status"]).await;
    assert_eq!(shown.status.code(), Some(1), "{shown:?}");
}

async fn doctor(home: &Home) -> String {
    let output = home.run(&["doctor"]).await;
    String::from_utf8(output.stdout).unwrap()
}
