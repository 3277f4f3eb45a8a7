//! An orderly end: what is under way is answered, what only waits is not waited for.

use std::time::Duration;

use http::{HeaderMap, Method};
use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::json;

use super::measure::bounded;
use crate::support::{Bridge, Gateway, Legacy, Modern, Over, Upstream, text_of, until};

/// How long the gateway here lets calls go on.
const GRACE: Duration = Duration::from_secs(2);
/// How long an end may take when nothing is under way, and beyond the grace when something is; on a
/// busy machine, where an end that waits for calls would take a minute.
const PROMPT: Duration = Duration::from_secs(10);

async fn gateway(grace: &str) -> (Upstream, Gateway) {
    let echo = Upstream::start(Sample::Echo, EraSupport::Both, Over::Shared).await;
    let (limits, upstreams) = (
        json!({ "shutdown_grace": grace }),
        json!({ "up": echo.settings }),
    );
    let gateway = Gateway::start(&json!({ "limits": limits, "mcpServers": upstreams })).await;
    (echo, gateway)
}

/// A call of each era and one over the bridge are under way when the signal comes.
#[tokio::test]
async fn calls_in_flight_are_answered_before_the_end() {
    let (echo, gateway) = gateway("20s").await;
    let modern = Modern::new(&gateway.url("/mcp/all"), json!({}));
    let legacy = Legacy::open(&gateway.url("/mcp/all"), json!({})).await;
    let mut bridge = Bridge::start(&gateway.home, &["--mode", "all"]);
    bridge.open_legacy().await;

    let slow = json!({ "ms": 1000 });
    let bridged = bridge.call("up__slow", slow.clone());
    let signal = async {
        until("three calls at the upstream", || async {
            (echo.received_with("\"slow\"").len() == 3).then_some(())
        })
        .await;
        bounded("an end", Duration::from_secs(3), gateway.stop()).await;
    };
    let (one, two, three, ()) = tokio::join!(
        modern.call("up__slow", slow.clone()),
        legacy.call("up__slow", slow),
        bridged,
        signal
    );
    for result in [one, two, three] {
        assert_eq!(text_of(&result), "took 1000 ms");
    }
    bridge.ends().await;
}

#[tokio::test]
async fn a_call_that_hangs_holds_the_end_up_for_the_grace_only() {
    let (echo, gateway) = gateway("2s").await;
    let modern = Modern::new(&gateway.url("/mcp/all"), json!({}));
    let hang = tokio::spawn(async move {
        let params = json!({ "name": "up__hang", "arguments": {} });
        modern.request("tools/call", params).await
    });
    echo.until_received("\"hang\"").await;
    bounded("an end", GRACE + PROMPT, gateway.stop()).await;
    hang.abort();
}

/// Streams on which nothing is under way: a session's general one, one of the older transport, a
/// subscription, and the bridge.
#[tokio::test]
async fn idle_streams_do_not_hold_the_end_up() {
    let (_echo, gateway) = gateway("60s").await;
    let modern = Modern::new(&gateway.url("/mcp/all"), json!({}));
    let legacy = Legacy::open(&gateway.url("/mcp/all"), json!({})).await;
    let _general = legacy.listen(None).await;
    let (get, nothing) = (Method::GET, HeaderMap::new());
    let _older = gateway.http().send(get, "/sse", nothing, "").await;
    let params = json!({ "notifications": { "toolsListChanged": true } });
    let mut subscription = modern.request("subscriptions/listen", params).await;
    subscription
        .notification("notifications/subscriptions/acknowledged")
        .await;
    let mut bridge = Bridge::start(&gateway.home, &[]);
    bridge.open_legacy().await;
    bounded("an end", PROMPT, gateway.stop()).await;
    bridge.ends().await;
}

/// What was answered is on record, however soon the end comes after it.
#[tokio::test]
async fn records_of_answered_calls_survive_an_orderly_stop() {
    let upstream = Upstream::start(Sample::Echo, EraSupport::Both, Over::Shared).await;
    let config = json!({ "routing_mode": "all", "mcpServers": { "up": upstream.settings } });
    let gateway = Gateway::start(&config).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    for number in 0..20 {
        let said = json!({ "text": number.to_string() });
        downstream.call("up__echo", said).await;
    }
    let home = gateway.stop().await;
    let records = home.activity();
    let calls = records.iter().filter(|one| one["type"] == "tool_call");
    assert_eq!(calls.count(), 20);
}
