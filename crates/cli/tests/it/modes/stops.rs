//! The kill switch: at once, for a scope, over a restart.

use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{Gateway, Legacy, Modern, Over, Upstream, text_of, until};

async fn two() -> (Upstream, Upstream, Value) {
    let one = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, Over::Shared).await;
    let other = Upstream::start(Sample::Echo, EraSupport::ModernOnly, Over::Http).await;
    let upstreams = json!({ "one": one.settings, "other": other.settings });
    let config = json!({ "routing_mode": "all", "mcpServers": upstreams });
    (one, other, config)
}

async fn run(gateway: &Gateway, args: &[&str]) {
    let done = gateway.home.run(args).await;
    assert!(done.status.success(), "{done:?}");
}

fn is_stopped(result: &Value, scope: &str) {
    assert_eq!(result["isError"], true, "{result}");
    let expect = format!("calls are stopped by the operator ({scope})");
    assert!(text_of(result).contains(&expect), "{result}");
}

#[tokio::test]
async fn stopping_ends_calls_in_flight_at_once_and_refuses_new_ones() {
    let (one, other, config) = two().await;
    let gateway = Gateway::start(&config).await;
    let legacy = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let modern = Modern::new(&gateway.url("/mcp"), json!({}));
    let hanging = [
        tokio::spawn(async move { legacy.call("one__hang", json!({})).await }),
        tokio::spawn(async move { modern.call("other__hang", json!({})).await }),
    ];
    one.until_received("\"hang\"").await;
    other.until_received("\"hang\"").await;
    run(&gateway, &["stop-calls"]).await;
    let stopped = Instant::now();
    for call in hanging {
        is_stopped(&call.await.unwrap(), "all");
    }
    assert!(stopped.elapsed().as_secs() < 2, "{:?}", stopped.elapsed());
    one.until_received("notifications/cancelled").await;
    let legacy = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    is_stopped(
        &legacy.call("one__echo", json!({ "text": "x" })).await,
        "all",
    );
    assert_eq!(gateway.api("/status").await["stopped"], json!(["all"]));
    run(&gateway, &["resume-calls"]).await;
    let result = legacy.call("one__echo", json!({ "text": "x" })).await;
    assert_eq!(text_of(&result), "x");
    assert_eq!(one.received_with("\"echo\"").len(), 1);
}

#[tokio::test]
async fn a_scope_stops_only_its_own_and_outlives_a_restart() {
    let (_one, _other, config) = two().await;
    let gateway = Gateway::start(&config).await;
    let said = json!({ "text": "x" });
    let check = async |gateway: &Gateway| {
        let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
        is_stopped(
            &downstream.call("one__echo", said.clone()).await,
            "upstream:one",
        );
        let result = downstream.call("other__echo", said.clone()).await;
        assert_eq!(text_of(&result), "x");
    };
    run(&gateway, &["stop-calls", "upstream:one"]).await;
    check(&gateway).await;
    let gateway = Gateway::start_in(gateway.stop().await).await;
    check(&gateway).await;
    let gateway = Gateway::start_in(gateway.kill().await).await;
    check(&gateway).await;
    run(&gateway, &["resume-calls", "upstream:one"]).await;
    let gateway = Gateway::start_in(gateway.stop().await).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    assert_eq!(
        text_of(&downstream.call("one__echo", said.clone()).await),
        "x"
    );
    let refused = gateway.home.run(&["stop-calls", "everything"]).await;
    assert_eq!(refused.status.code(), Some(3));
}

#[tokio::test]
async fn one_session_or_one_principal_can_be_stopped() {
    let (_one, _other, config) = two().await;
    let gateway = Gateway::start(&config).await;
    let endpoint = gateway.url("/mcp");
    let bad = Legacy::open(&endpoint, json!({})).await;
    let sessions = gateway.api("/sessions").await;
    let scope = format!(
        "session:{}",
        sessions["sessions"][0]["id"].as_str().unwrap()
    );
    let good = Legacy::open(&endpoint, json!({})).await;
    let said = json!({ "text": "x" });
    run(&gateway, &["stop-calls", &scope]).await;
    is_stopped(&bad.call("one__echo", said.clone()).await, &scope);
    assert_eq!(text_of(&good.call("one__echo", said.clone()).await), "x");
    run(&gateway, &["stop-calls", "principal:local"]).await;
    is_stopped(
        &good.call("one__echo", said.clone()).await,
        "principal:local",
    );
    let owner = Legacy::open_with(gateway.owner().at("/mcp"), json!({})).await;
    assert_eq!(text_of(&owner.call("one__echo", said).await), "x");
}

#[tokio::test]
async fn a_call_that_waits_for_an_answer_of_the_user_is_stopped_too() {
    let upstream = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, Over::Http).await;
    let config = json!({ "routing_mode": "all", "mcpServers": { "echo": upstream.settings } });
    let gateway = Gateway::start(&config).await;
    let elicits = json!({ "elicitation": {} });
    let downstream = Legacy::open(&gateway.url("/mcp"), elicits).await;
    let params = json!({ "name": "echo__ask", "arguments": { "question": "Sure?" } });
    let mut reply = downstream.request("tools/call", params).await;
    reply.notification("elicitation/create").await;
    run(&gateway, &["stop-calls"]).await;
    is_stopped(&reply.result().await, "all");
    upstream.until_received("notifications/cancelled").await;
}

#[tokio::test]
async fn what_was_kept_of_an_answer_is_stopped_too() {
    let echo = Upstream::start(Sample::Echo, EraSupport::Both, Over::Shared).await;
    let config = json!({ "tool_response_limit": 2000, "mcpServers": { "echo": echo.settings } });
    let gateway = Gateway::start(&config).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let call = json!({ "name": "echo:big", "args": { "bytes": 9000 } });
    let result = downstream.call("call_tool_read", call).await;
    let key = text_of(&result).rsplit('`').nth(1).unwrap().to_owned();
    downstream.call("read_cache", json!({ "key": key })).await;
    until("the page to be on record like the answer", || async {
        let pages = gateway.home.activity();
        let pages = pages.iter().filter(|one| one["type"] == "tool_call");
        (pages.count() == 2).then_some(())
    })
    .await;
    run(&gateway, &["stop-calls", "upstream:echo"]).await;
    let stopped = downstream.call("read_cache", json!({ "key": key })).await;
    is_stopped(&stopped, "upstream:echo");
}

#[tokio::test]
async fn a_token_is_stopped_by_its_name_and_a_mistyped_name_is_noticed() {
    let (_one, _other, config) = two().await;
    let gateway = Gateway::start(&config).await;
    let agent = gateway.token("al", &Value::Null).await.at("/mcp");
    let legacy = Legacy::open_with(agent, json!({})).await;
    let said = json!({ "text": "x" });
    legacy.call("one__echo", said.clone()).await;
    run(&gateway, &["stop-calls", "principal:al"]).await;
    is_stopped(
        &legacy.call("one__echo", said.clone()).await,
        "principal:al",
    );
    run(&gateway, &["resume-calls", "principal:al"]).await;
    // A client's own name of its session does, too.
    let local = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let scope = format!("session:{}", local.session);
    run(&gateway, &["stop-calls", &scope]).await;
    assert_eq!(local.call("one__echo", said.clone()).await["isError"], true);
    assert_eq!(text_of(&legacy.call("one__echo", said).await), "x");
    let mistyped = gateway.home.run(&["stop-calls", "upstream:oen"]).await;
    let said = String::from_utf8_lossy(&mistyped.stderr).into_owned();
    assert!(said.contains("nothing that is known"), "{said}");
}
