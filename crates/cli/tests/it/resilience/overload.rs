//! More calls than the gateway takes: who has much in flight is turned away before who has
//! little, and is told that it may try again.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_mcp::era::OVERLOADED;
use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::measure::bounded;
use crate::support::{Gateway, Legacy, Over, Upstream, text_of, until, within};

/// Calls at once, of all and of one caller.
const ALL: usize = 8;
const EACH: usize = 6;
/// Calls that the greedy caller makes at once.
const GREED: usize = 20;
/// The first id of calls that hang; others are in use for calls that do not.
const FIRST: usize = 100;
/// How long the modest caller's call may take.
const CALLS: Duration = Duration::from_secs(1);

/// Starts calls that never end; those that are turned away are answered.
fn hang(downstream: &Arc<Legacy>, calls: usize) -> JoinSet<Value> {
    let mut answers = JoinSet::new();
    for id in FIRST..FIRST + calls {
        let downstream = Arc::clone(downstream);
        answers.spawn(async move {
            let params = json!({ "name": "up__hang", "arguments": {} }).to_string();
            let mut reply = downstream.raw(&id.to_string(), "tools/call", &params).await;
            reply.error().await
        });
    }
    answers
}

async fn until_hanging(upstream: &Upstream, count: usize) {
    until("calls to hang", || async {
        (upstream.received_with("\"hang\"").len() == count).then_some(())
    })
    .await;
}

async fn turned_away(answers: &mut JoinSet<Value>) {
    let error = within("a refusal", answers.join_next()).await;
    let error = error.unwrap().unwrap();
    assert_eq!(error["code"], OVERLOADED, "{error}");
    assert_eq!(
        error["data"],
        json!({ "error": "overloaded", "retry": true })
    );
}

async fn echoes(downstream: &Legacy) {
    let call = downstream.call("up__echo", json!({ "text": "modest" }));
    let result = bounded("a call", CALLS, call).await;
    assert_eq!(text_of(&result), "modest");
}

#[tokio::test]
async fn a_greedy_caller_does_not_starve_a_modest_one() {
    let echo = Upstream::start(Sample::Echo, EraSupport::Both, Over::Shared).await;
    let limits = json!({ "calls_in_flight": ALL, "calls_per_caller": EACH });
    let upstreams = json!({ "up": echo.settings });
    let gateway = Gateway::start(&json!({ "limits": limits, "mcpServers": upstreams })).await;
    let greedy = Arc::new(Legacy::open(&gateway.url("/mcp/all"), json!({})).await);
    let modest = Arc::new(Legacy::open(&gateway.url("/mcp/all"), json!({})).await);
    let mut refusals = hang(&greedy, GREED);
    for _ in 0..GREED - EACH {
        turned_away(&mut refusals).await;
    }
    until_hanging(&echo, EACH).await;
    for _ in 0..GREED {
        echoes(&modest).await;
    }

    // Even what is full for everybody is free again as soon as somebody gives up.
    let mut more = hang(&modest, ALL - EACH + 1);
    turned_away(&mut more).await;
    until_hanging(&echo, ALL).await;
    for id in FIRST..FIRST + GREED {
        let params = json!({ "requestId": id });
        greedy.notify("notifications/cancelled", params).await;
    }
    until("a place", || async {
        let params = json!({ "name": "up__echo", "arguments": { "text": "again" } });
        let mut reply = greedy.request("tools/call", params).await;
        reply.answer().await.get("result").map(|_| ())
    })
    .await;
    echoes(&modest).await;
}
