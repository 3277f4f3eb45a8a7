//! What is told about how much can be seen: true because events came, not because a file says so.

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

async fn doctor(home: &Home) -> String {
    let output = home.run(&["doctor"]).await;
    String::from_utf8(output.stdout).unwrap()
}
