//! More calls than the gateway takes: who has much in flight is turned away before who has
//! little, and is told that it may try again.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_mcp::era::OVERLOADED;
use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::measure::bounded;
use crate::support::{Gateway, Legacy, Modern, Over, Upstream, text_of, until, within};

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

/// Conversations at once with the upstream below.
const CONVERSATIONS: usize = 2;

/// How often a downstream was introduced to the upstream; the gateway itself can be asked nothing.
fn introduced(upstream: &Upstream) -> usize {
    let greetings = upstream.received_with("\"initialize\"");
    let own = greetings.iter().filter(|one| one.contains("mcpproxy"));
    greetings.len() - own.count()
}

#[tokio::test]
async fn what_a_downstream_cannot_be_asked_makes_no_new_conversation() {
    let echo = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, Over::Http).await;
    let gateway = Gateway::start(&json!({ "mcpServers": { "up": echo.settings } })).await;
    for number in 0..10 {
        let can = json!({ "elicitation": { "x": number }, "experimental": { "n": number } });
        let modern = Modern::new(&gateway.url("/mcp/all"), can);
        let result = modern.call("up__echo", json!({ "text": "x" })).await;
        assert_eq!(text_of(&result), "x");
    }
    assert_eq!(introduced(&echo), 1);
    let greeting = echo.received_with("\"elicitation\"");
    assert!(
        greeting[0].contains(r#""capabilities":{"elicitation":{}}"#),
        "{greeting:?}"
    );
}

#[tokio::test]
async fn idle_conversations_of_stateless_downstreams_make_room_for_new_ones() {
    let echo = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, Over::Http).await;
    let settings = echo.with("max_instances", json!(CONVERSATIONS));
    let gateway = Gateway::start(&json!({ "mcpServers": { "up": settings } })).await;
    let downstream = |can: Value| Modern::new(&gateway.url("/mcp/all"), can);
    let kinds = [
        json!({ "elicitation": {} }),
        json!({ "sampling": {} }),
        json!({ "roots": {} }),
    ];
    for can in &kinds {
        echoes_statelessly(&downstream(can.clone())).await;
        let open = gateway.api("/servers").await[0]["instances"].clone();
        assert!(open.as_u64().unwrap() <= 1 + CONVERSATIONS as u64, "{open}");
    }
    assert_eq!(introduced(&echo), kinds.len());
    // The latest two are there, the first has to be opened again.
    echoes_statelessly(&downstream(kinds[2].clone())).await;
    assert_eq!(introduced(&echo), kinds.len());
    echoes_statelessly(&downstream(kinds[0].clone())).await;
    assert_eq!(introduced(&echo), kinds.len() + 1);

    // A conversation with a call in flight is never closed for another.
    let mut hanging = JoinSet::new();
    for can in [&kinds[0], &kinds[2]] {
        let busy = downstream(can.clone());
        hanging.spawn(async move { busy.call("up__hang", json!({})).await });
    }
    until_hanging(&echo, 2).await;
    let params = json!({ "name": "up__echo", "arguments": { "text": "x" } });
    let mut refused = downstream(kinds[1].clone())
        .request("tools/call", params)
        .await;
    let error = refused.error().await;
    assert_eq!(error["code"], OVERLOADED, "{error}");
    assert_eq!(error["data"]["error"], "upstream_full", "{error}");
}

async fn echoes_statelessly(downstream: &Modern) {
    let result = downstream.call("up__echo", json!({ "text": "x" })).await;
    assert_eq!(text_of(&result), "x");
}
