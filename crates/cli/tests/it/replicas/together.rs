//! What several gateways count, ask and know together: limits, answers of a person, tokens, events and
//! habits. Each test has a twin without Redis, in which every gateway is alone.

use std::time::Duration;

use http::Method;
use mcpproxy_testkit::RedisServer;
use serde_json::{Value, json};

use super::{Pair, agent, live, posted, read, recovered};
use crate::support::{Gateway, Heard, Home, KEY, WORDS, headers, hook, until};

/// What gateways are told to share, or that they share nothing.
pub(super) fn sharing(redis: &RedisServer, shared: bool) -> Value {
    if shared {
        live(redis, "local")
    } else {
        json!({})
    }
}

/// Four calls by one caller, and hardly another within the time of a test.
fn four_calls(more: &mut Value) {
    let limits = json!({ "per_principal": { "calls_per_minute": 1, "burst": 4 } });
    let limiter = json!({ "id": "rate-limiter", "type": "native", "config": limits });
    more["security.hooks"] = json!([limiter]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_counts_the_calls_through_every_gateway() {
    for (shared, expect) in [(false, 8), (true, 4)] {
        let redis = RedisServer::start().expect("redis-server is needed");
        let mut more = sharing(&redis, shared);
        four_calls(&mut more);
        let pair = Pair::start(&more).await;
        let (here, there) = (agent(&pair.one).await, agent(&pair.other).await);
        for number in 0..5 {
            posted(&here, &format!("here {number}")).await;
            posted(&there, &format!("there {number}")).await;
        }
        let arrived = pair.arrived();
        assert_eq!(arrived.len(), expect, "{shared}: {arrived:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_is_reached_holds_while_redis_is_away_and_when_it_forgot() {
    let redis = RedisServer::start().expect("redis-server is needed");
    let mut more = live(&redis, "local");
    four_calls(&mut more);
    let pair = Pair::start(&more).await;
    let (here, there) = (agent(&pair.one).await, agent(&pair.other).await);
    for number in 0..4 {
        assert!(posted(&here, &format!("here {number}")).await);
    }
    assert!(!posted(&there, "too much").await);
    redis.stop().unwrap();
    // Each goes on with what the store said last.
    assert!(!posted(&here, "meanwhile").await);
    assert!(!posted(&there, "meanwhile").await);
    redis.forget().unwrap();
    redis.go_on().unwrap();
    recovered(&pair.one).await;
    recovered(&pair.other).await;
    assert!(!posted(&here, "after").await);
    assert!(!posted(&there, "after").await);
    assert_eq!(pair.arrived().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_counts_at_every_gateway_for_the_call_that_is_repeated_and_for_the_session() {
    for shared in [false, true] {
        let redis = RedisServer::start().expect("redis-server is needed");
        let mut more = sharing(&redis, shared);
        more["security.approvals"] = json!({ "mode": "queue", "timeout": "1m" });
        // A call does not wait for a person: it is made again.
        more["limits"] = json!({ "call_timeout": "1s" });
        let pair = Pair::start(&more).await;
        let here = agent(&pair.one).await;
        let answer = async |gateway: &Gateway, decision: &str| {
            let question = until("the question", || async {
                let listed = gateway.api("/approvals").await;
                listed["approvals"].as_array().unwrap().first().cloned()
            })
            .await;
            let path = format!("/api/v1/approvals/{}", question["id"].as_str().unwrap());
            let (owner, decided) = (gateway.owner(), json!({ "decision": decision }));
            assert_eq!(owner.post(&path, &decided).await.0, 200);
        };
        read(&here).await;
        let there = agent(&pair.other).await;
        read(&there).await;
        // Asked by way of one gateway, answered there, and made again by way of the other: once.
        assert!(!posted(&here, WORDS).await);
        let seen = pair.other.api("/approvals").await;
        let seen = seen["approvals"].as_array().unwrap().len();
        assert_eq!(seen, usize::from(shared));
        answer(&pair.one, "approve").await;
        assert_eq!(posted(&there, WORDS).await, shared, "{shared}");
        assert!(!posted(&there, WORDS).await, "{shared}");
        // While the question waits at one gateway, the other does not put it again.
        let listed = pair.one.api("/approvals").await;
        let waiting = listed["approvals"].as_array().unwrap().len();
        assert_eq!(waiting, usize::from(shared), "{listed}");
        if !shared {
            continue;
        }
        assert!(!posted(&here, WORDS).await);
        let listed = pair.one.api("/approvals").await;
        assert_eq!(listed["approvals"].as_array().unwrap().len(), 1, "{listed}");
        // For the session, wherever it goes on.
        answer(&pair.one, "approve_for_session").await;
        let moved = there.at(&pair.one.url("/mcp"));
        until("the answer to count at the other gateway", || async {
            posted(&moved, &format!("{WORDS} and so on"))
                .await
                .then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_good_and_worthless_at_every_gateway() {
    for shared in [false, true] {
        let redis = RedisServer::start().expect("redis-server is needed");
        let pair = Pair::start(&sharing(&redis, shared)).await;
        let ci = pair.one.token("ci", &json!(["outside"])).await;
        let opens = async |gateway: &Gateway| {
            let ci = ci.to(&gateway.url(""));
            ci.get("/api/v1/servers").await.0 != 401
        };
        let until_it = async |what: &str, gateway: &Gateway, good: bool| {
            until(what, || async {
                (opens(gateway).await == good).then_some(())
            })
            .await;
        };
        assert!(opens(&pair.one).await);
        if !shared {
            assert!(!opens(&pair.other).await);
            continue;
        }
        until_it("the token at the other gateway", &pair.other, true).await;
        // Revoked by the other while Redis is away: the first hears of it when it is back.
        redis.stop().unwrap();
        let (status, said) = pair.other.owner().delete("/api/v1/tokens/ci").await;
        assert_eq!(status, 200, "{said}");
        assert!(!opens(&pair.other).await);
        redis.forget().unwrap();
        redis.go_on().unwrap();
        until_it("the end of the token", &pair.one, false).await;
        // One that comes later knows what there is, and what is not any more.
        pair.one.token("cd", &json!(["outside"])).await;
        let late = Gateway::start_in(Home::new(&pair.config)).await;
        until("the tokens at a later gateway", || async {
            let names = late.api("/tokens").await;
            let names: Vec<_> = names.as_array().unwrap().iter().collect();
            (names.len() == 1 && names[0]["name"] == "cd").then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_watches_at_one_gateway_sees_what_happens_at_the_other() {
    for shared in [false, true] {
        let redis = RedisServer::start().expect("redis-server is needed");
        let pair = Pair::start(&sharing(&redis, shared)).await;
        let (here, there) = (agent(&pair.one).await, agent(&pair.other).await);
        let path = "/events?types=activity.tool_call.completed,flow.alert";
        let owner = pair.other.owner();
        let mut events = owner.send(Method::GET, path, headers(&[]), "").await;
        let (name, _) = events.next_named().await;
        assert_eq!(name, "status");
        // What happens at once may come before the first gateway knows that somebody watches.
        let calls = tokio::spawn(async move {
            for number in 0..40 {
                posted(&here, &format!("here {number}")).await;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            read(&here).await;
            assert!(!posted(&here, KEY).await);
        });
        if !shared {
            // Of all that, the first that is seen is what happens here.
            calls.await.unwrap();
            read(&there).await;
            let (_, own) = events.next_named().await;
            assert_eq!(own["payload"]["server_name"], "inside", "{own}");
            continue;
        }
        let (name, seen) = events.next_named().await;
        assert_eq!(name, "activity.tool_call.completed");
        assert_eq!(seen["payload"]["server_name"], "outside", "{seen}");
        assert_eq!(seen["payload"]["status"], "success", "{seen}");
        let mut names = Vec::new();
        while names.last().is_none_or(|name| name != "flow.alert") {
            let (name, seen) = events.next_named().await;
            assert!(!seen.to_string().contains(KEY), "{seen}");
            names.push(name);
        }
        calls.await.unwrap();
        // While the others cannot be heard, it is said that something may be missing.
        redis.stop().unwrap();
        redis.go_on().unwrap();
        while events.next_named().await.0 != "missed" {}
        recovered(&pair.one).await;
        let here = agent(&pair.one).await;
        let told = async {
            loop {
                posted(&here, "again").await;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let heard = async {
            // Both may have something to say about what is missing.
            while events.next_named().await.0 != "activity.tool_call.completed" {}
        };
        tokio::select! {
            () = told => {}
            () = heard => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_gateway_learned_is_a_habit_at_the_other() {
    for shared in [false, true] {
        let redis = RedisServer::start().expect("redis-server is needed");
        let mut more = sharing(&redis, shared);
        let learning = json!({ "learning_calls": 70, "learning_time": "0s", "deny_at": 30 });
        let guard = json!({ "id": "anomaly-detector", "type": "native", "config": learning });
        more["security.hooks"] = json!([guard]);
        let pair = Pair::start(&more).await;
        let (here, there) = (agent(&pair.one).await, agent(&pair.other).await);
        for _ in 0..80 {
            read(&here).await;
        }
        // What was learned is told every second.
        tokio::time::sleep(Duration::from_secs(4)).await;
        read(&there).await;
        assert_eq!(posted(&there, "Good morning").await, !shared, "{shared}");
        assert_eq!(pair.arrived().len(), usize::from(!shared));
    }
}

/// Two hooks announce the same call, which then comes by one gateway. By which of them is not known,
/// so that neither announcement is good for a call that comes by the other gateway.
#[tokio::test(flavor = "multi_thread")]
async fn what_two_hooks_announced_links_nobody_at_any_gateway() {
    for shared in [false, true] {
        let redis = RedisServer::start().expect("redis-server is needed");
        let mut more = sharing(&redis, shared);
        more["activity"] = json!({ "durability": "strict" });
        more["security.agent_hooks"] = json!({ "correlation_ttl_seconds": 60 });
        let pair = Pair::start(&more).await;
        let announce = async |gateway: &Gateway, session: &str, tool: &str, input: Value| {
            let payload = json!({
                "session_id": session, "hook_event_name": "PreToolUse", "tool_name": tool,
                "tool_input": input, "tool_use_id": format!("toolu_{session}"),
            });
            let said = hook(&gateway.home, "claude-code", &payload.to_string(), &[]).await;
            assert_eq!(said.heard("claude-code"), Heard::Allow, "{said:?}");
        };
        // Alone, each hears of it by itself.
        let hear = [&pair.one, &pair.other]
            .into_iter()
            .take(if shared { 1 } else { 2 });
        for gateway in hear {
            for session in ["a", "b"] {
                announce(gateway, session, "mcp__mcpproxy__inside__read", json!({})).await;
            }
        }
        read(&agent(&pair.one).await).await;
        // What is told later has come once this is linked.
        announce(
            &pair.one,
            "c",
            "mcp__mcpproxy__outside__post",
            json!({ "text": "fence" }),
        )
        .await;
        if shared {
            until("a notice", || async {
                posted(&agent(&pair.other).await, "fence").await;
                (covered(&pair.other, "outside") == "full").then_some(())
            })
            .await;
        }
        let named = json!({ "name": "inside__read", "arguments": {}, "_meta": { "x/toolUseId": "toolu_a" } });
        agent(&pair.other).await.ask("tools/call", named).await;
        read(&agent(&pair.other).await).await;
        let expect = if shared { "proxy_only" } else { "full" };
        assert_eq!(covered(&pair.other, "inside"), expect);
    }
}

/// How much was seen of the last call to an upstream.
fn covered(gateway: &Gateway, upstream: &str) -> String {
    let mut records = gateway.home.activity();
    records.retain(|one| one["server_name"] == upstream && one["type"] == "tool_call");
    let last = records.last().map(|one| one["security_coverage"].clone());
    last.unwrap_or_default()
        .as_str()
        .unwrap_or_default()
        .to_owned()
}
