//! What several gateways remember together between two messages: calls of stateless agents that wait
//! for an answer, and what answers are held to. Each test has a twin without Redis, in which every
//! gateway is alone.

use mcpproxy_testkit::{EraSupport, RedisServer, Sample};
use serde_json::{Value, json};

use super::together::sharing;
use super::{Pair, recovered};
use crate::support::{Gateway, KEY, Legacy, Modern, Over, Upstream, sides, text_of};

/// What a state that no call waits for is answered with.
const REFUSED: &str = "this request state is not valid here";

/// Calls a tool that asks, and returns the parameters with which the call may be made again.
async fn asked(client: &Modern) -> Value {
    let mut params = json!({ "name": "outside__ask", "arguments": { "question": "Sure?" } });
    let result = client.ask("tools/call", params.clone()).await;
    let (key, _) = result["inputRequests"]
        .as_object()
        .unwrap()
        .iter()
        .next()
        .unwrap();
    let answer = json!({ "action": "accept", "content": { "answer": "yes" } });
    params["inputResponses"] = json!({ key: answer });
    params["requestState"] = result["requestState"].clone();
    params
}

async fn refused(client: &Modern, params: &Value, case: &str) {
    let mut reply = client.request("tools/call", params.clone()).await;
    assert_eq!(reply.error().await["message"], REFUSED, "{case}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_call_goes_on_whichever_gateway_the_answer_comes_to() {
    for shared in [false, true] {
        let redis = RedisServer::start().expect("redis-server is needed");
        let [inside, _] = sides();
        let echo = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, Over::Http).await;
        let pair = Pair::between(inside, echo, &sharing(&redis, shared)).await;
        let can = json!({ "elicitation": {} });
        let here = Modern::new(&pair.one.url("/mcp"), can.clone());
        let there = Modern::new(&pair.other.url("/mcp"), can.clone());
        let retry = asked(&here).await;
        if !shared {
            refused(&there, &retry, "alone").await;
            continue;
        }
        // Neither another caller nor another call has anything of it, and neither uses it up.
        let thief = Modern::with(pair.other.owner().at("/mcp"), can.clone());
        refused(&thief, &retry, "stolen").await;
        let mut other = retry.clone();
        other["arguments"]["question"] = json!("Delete all?");
        refused(&there, &other, "for another call").await;
        let result = there.ask("tools/call", retry.clone()).await;
        assert_eq!(text_of(&result), "accept: yes");
        refused(&there, &retry, "used").await;
        refused(&here, &retry, "used").await;
        // It goes on after Redis was away, too.
        let retry = asked(&there).await;
        redis.stop().unwrap();
        redis.go_on().unwrap();
        recovered(&pair.one).await;
        recovered(&pair.other).await;
        let result = here.ask("tools/call", retry).await;
        assert_eq!(text_of(&result), "accept: yes");
        // One whose gateway died is refused, and not waited for without end.
        let retry = asked(&here).await;
        let Pair { one, other, .. } = pair;
        one.kill().await;
        refused(&there, &retry, "orphaned").await;
        drop(other);
    }
}

/// A library that gives out a key, and has a policy that must never change.
fn library(policy: &str) -> Upstream {
    let policy = json!({ "contents": [{ "uri": "doc://policy", "text": policy }] });
    let tool = json!({ "name": "look", "inputSchema": { "type": "object" } });
    let results = json!({ "look": [format!("the key is {KEY}")], "resources/read": [policy] });
    let resources = json!([{ "uri": "doc://policy", "name": "policy" }]);
    Upstream::play(&json!({ "tools": [tool], "results": results, "resources": resources }))
}

/// A gateway in front of it.
async fn reading(library: &Upstream, more: &Value) -> Gateway {
    let guarding = json!({ "immutable": ["doc://policy"], "cross_session": "deny" });
    let mut config = json!({
        "routing_mode": "all",
        "mcpServers": { "library": library.settings },
        "security": {
            "hooks": [{ "id": "context-integrity", "type": "native", "config": guarding }],
        },
    });
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    Gateway::start(&config).await
}

async fn agent(gateway: &Gateway, name: &str) -> Legacy {
    let http = gateway.token(name, &Value::Null).await.at("/mcp");
    Legacy::open_with(http, json!({})).await
}

async fn policy(agent: &Legacy) -> String {
    let read = json!({ "uri": "doc://policy" });
    agent.request("resources/read", read).await.text().await
}

async fn look(agent: &Legacy) -> String {
    let look = json!({ "name": "library__look", "arguments": {} });
    agent.request("tools/call", look).await.text().await
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_held_to_what_any_gateway_saw() {
    for shared in [false, true] {
        let redis = RedisServer::start().expect("redis-server is needed");
        let more = sharing(&redis, shared);
        // The same upstream by name, which says something else to each.
        let (first, second) = (library("pay nobody"), library("pay mallory"));
        let (one, other) = (reading(&first, &more).await, reading(&second, &more).await);
        let local = async |gateway: &Gateway| Legacy::open(&gateway.url("/mcp"), json!({})).await;
        assert!(policy(&local(&one).await).await.contains("pay nobody"));
        let said = policy(&local(&other).await).await;
        assert_eq!(said.contains("pay mallory"), !shared, "{said}");
        assert_eq!(said.contains("is not what it was"), shared, "{said}");
        // A secret that one caller was given does not reach another by another gateway.
        assert!(look(&agent(&one, "ada").await).await.contains(KEY));
        let bob = agent(&other, "bob").await;
        let said = look(&bob).await;
        assert_eq!(said.contains(KEY), !shared, "{said}");
        assert_eq!(said.contains("another caller"), shared, "{said}");
        if !shared {
            continue;
        }
        // What was seen before Redis forgot everything is told again, to one that comes later as well.
        redis.stop().unwrap();
        redis.forget().unwrap();
        redis.go_on().unwrap();
        recovered(&one).await;
        drop(other);
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        let late = reading(&second, &more).await;
        let said = look(&agent(&late, "eve").await).await;
        assert!(said.contains("another caller"), "{said}");
        let said = policy(&local(&late).await).await;
        assert!(said.contains("is not what it was"), "{said}");
    }
}
