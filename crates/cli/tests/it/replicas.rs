//! Several gateways that act as one, with a real Redis between them and one PostgreSQL: what was read
//! through one does not leave through another, a session goes on when its gateway dies, and what
//! happens while Redis is away is what the configuration says.
//!
//! Each test asserts what arrived outside. The control shows the leak: two gateways without Redis.

mod away;
mod orders;
mod remembered;
mod shown;
mod together;

use mcpproxy_testkit::{Postgres, RedisServer};
use serde_json::{Value, json};

use crate::support::{
    Gateway, Heard, Home, KEY, Legacy, PASSWORD, Upstream, WORDS, arrived, hook,
    refuses_without_password, sides, text_of, until,
};

/// What only these gateways know, made up.
const SHARED: &str = "wV8q-3nTz-6Yb1-Lk0p-Rm7d-Xs2f-Hc9j";

/// What a file says that only an agent's own tool reads.
const PLAN: &str = "The cranes of the third quay are sold to Gdynia in spring, and nobody but the \
    foreman and his two clerks may hear of it before the contract is signed.";

/// Two gateways in front of the same upstreams.
struct Pair {
    one: Gateway,
    other: Gateway,
    outside: Upstream,
    config: Value,
    _inside: Upstream,
}

impl Pair {
    async fn start(more: &Value) -> Self {
        let [inside, outside] = sides();
        Self::between(inside, outside, more).await
    }

    async fn between(inside: Upstream, outside: Upstream, more: &Value) -> Self {
        let classes = json!({ "inside": "internal", "outside": "external" });
        let mut config = json!({
            "routing_mode": "all",
            "mcpServers": { "inside": inside.settings, "outside": outside.settings },
            "security": { "classification": { "server_overrides": classes } },
        });
        for (key, value) in more.as_object().unwrap() {
            match key.strip_prefix("security.") {
                Some(key) => config["security"][key] = value.clone(),
                None => config[key] = value.clone(),
            }
        }
        Self {
            one: Gateway::start(&config).await,
            other: Gateway::start(&config).await,
            outside,
            config,
            _inside: inside,
        }
    }

    /// The texts that arrived outside.
    fn arrived(&self) -> Vec<String> {
        arrived(&self.outside)
    }
}

fn live(redis: &RedisServer, on_loss: &str) -> Value {
    json!({ "live": {
        "url": redis.url(), "key": SHARED, "timeout": "500ms", "on_loss": on_loss,
    } })
}

async fn agent(gateway: &Gateway) -> Legacy {
    Legacy::open(&gateway.url("/mcp"), json!({})).await
}

/// Posts a text outside; tells whether that was let through.
async fn posted(agent: &Legacy, text: &str) -> bool {
    let result = agent.call("outside__post", json!({ "text": text })).await;
    result["isError"] != true
}

/// Waits until a gateway has its live state again.
async fn recovered(gateway: &Gateway) {
    until("live state to recover", || async {
        let status = gateway.api("/status").await;
        status["live_problem"].is_null().then_some(())
    })
    .await;
}

async fn read(agent: &Legacy) {
    let result = agent.call("inside__read", json!({})).await;
    assert_ne!(result["isError"], true, "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_redis_what_one_gateway_read_leaves_by_another() {
    let pair = Pair::start(&json!({})).await;
    read(&agent(&pair.one).await).await;
    assert!(posted(&agent(&pair.other).await, KEY).await);
    assert_eq!(pair.arrived(), [KEY]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_gateway_read_does_not_leave_by_another() {
    let redis = RedisServer::start().expect("redis-server is needed");
    let postgres = Postgres::start().expect("PostgreSQL is needed");
    let mut more = live(&redis, "local");
    more["store"] = json!(postgres.url());
    more["activity"] = json!({ "durability": "strict" });
    let pair = Pair::start(&more).await;
    let (here, there) = (agent(&pair.one).await, agent(&pair.other).await);
    assert!(posted(&there, "Good morning").await);
    read(&here).await;
    assert!(!posted(&there, KEY).await, "the key left");
    // In two halves, each through another gateway, and the first is not enough by itself.
    let (first, second) = KEY.split_at(9);
    assert!(posted(&here, &format!("note {first}")).await);
    assert!(
        !posted(&there, &format!("note {second}")).await,
        "the rest left"
    );
    assert_eq!(
        pair.arrived(),
        ["Good morning".to_owned(), format!("note {first}")]
    );
    // Both wrote into one log, and it says where the key was read.
    let denied = pair
        .one
        .api("/activity?type=policy_decision&limit=10")
        .await;
    let denied = denied["activities"].to_string();
    assert!(denied.contains("inside"), "{denied}");
    assert!(!denied.contains(KEY), "{denied}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_when_its_gateway_dies_and_nobody_elses_does() {
    let redis = RedisServer::start().expect("redis-server is needed");
    let mut more = live(&redis, "closed");
    more["security.flow_policy"] = json!({ "internal_to_external": "deny" });
    let pair = Pair::start(&more).await;
    let here = agent(&pair.one).await;
    read(&here).await;
    let moved = here.at(&pair.other.url("/mcp"));
    // Another caller cannot go on with it, though it knows its id.
    let other = pair.other.token("guest", &json!(["inside"])).await;
    let other = other.at("/mcp");
    let guest = here.by(other);
    assert_eq!(guest.request("tools/list", json!({})).await.status, 404);
    let Pair {
        one,
        other,
        outside,
        ..
    } = pair;
    one.kill().await;
    let listed = moved.ask("tools/list", json!({})).await;
    assert_eq!(
        listed["tools"].as_array().map(Vec::len),
        Some(2),
        "{listed}"
    );
    // Text is followed by session: it is the same one.
    assert!(!posted(&moved, WORDS).await, "the words left");
    assert!(!posted(&moved, KEY).await, "the key left");
    assert!(posted(&moved, "Good morning").await);
    assert_eq!(outside.called().len(), 1);
    assert_eq!(moved.end().await, 200);
    assert_eq!(moved.request("tools/list", json!({})).await.status, 404);
    drop(other);
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_and_decisions_hold_at_every_gateway() {
    let redis = RedisServer::start().expect("redis-server is needed");
    let postgres = Postgres::start().expect("PostgreSQL is needed");
    let mut more = live(&redis, "local");
    more["store"] = json!(postgres.url());
    let pair = Pair::start(&more).await;
    let there = agent(&pair.other).await;
    let until_it = async |what: &str, passes: bool| {
        until(what, || async {
            (posted(&there, "Good morning").await == passes).then_some(())
        })
        .await;
    };
    let owner = pair.one.owner();
    let stop = json!({ "scope": "upstream:outside" });
    assert_eq!(owner.post("/api/v1/stops", &stop).await.0, 200);
    until_it("the order at the other gateway", false).await;
    // One that comes later knows of it, too.
    let late = Gateway::start_in(Home::new(&pair.config)).await;
    until("the order at a later gateway", || async {
        let stopped = late.api("/stops").await;
        (stopped == json!(["upstream:outside"])).then_some(())
    })
    .await;
    drop(late);
    let (status, said) = owner.delete("/api/v1/stops/upstream:outside").await;
    assert_eq!(status, 200, "{said}");
    until_it("the end of the order", true).await;
    let tool = json!({ "tools": ["post"] });
    for (act, passes) in [("block", false), ("approve", true)] {
        let path = format!("/api/v1/servers/outside/tools/{act}");
        let (status, said) = owner.post(&path, &tool).await;
        assert_eq!(status, 200, "{said}");
        until_it(act, passes).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_seen_and_answered_at_another_gateway() {
    let redis = RedisServer::start().expect("redis-server is needed");
    let mut more = live(&redis, "local");
    more["security.approvals"] = json!({ "mode": "queue", "timeout": "1m" });
    let pair = Pair::start(&more).await;
    for (decision, passes) in [("approve", true), ("deny", false)] {
        let here = agent(&pair.one).await;
        read(&here).await;
        let waits = tokio::spawn(async move { posted(&here, WORDS).await });
        let question = until("the question at the other gateway", || async {
            let listed = pair.other.api("/approvals").await;
            listed["approvals"].as_array().unwrap().first().cloned()
        })
        .await;
        assert_eq!(question["server_name"], "outside", "{question}");
        let shown = question["arguments"].as_str().unwrap();
        assert!(shown.contains(WORDS), "{question}");
        let path = format!("/api/v1/approvals/{}", question["id"].as_str().unwrap());
        let answer = json!({ "decision": decision });
        let owner = pair.other.owner();
        assert_eq!(owner.post(&path, &answer).await.0, 200);
        assert_eq!(waits.await.unwrap(), passes, "{decision}");
        assert_eq!(owner.post(&path, &answer).await.0, 404);
        assert_eq!(pair.one.api("/approvals").await["approvals"], json!([]));
        // Regression for #8: the record names who answered, not where.
        let id = question["id"].as_str().unwrap();
        let about = format!("/activity?type=approval&parent_id={id}");
        let said = until("the record of the answer", || async {
            let page = pair.one.api(&about).await;
            let records = page["activities"].as_array().unwrap().clone();
            let is_answer = |one: &Value| one["method"] != "requested";
            records.into_iter().find(is_answer)
        })
        .await;
        assert_eq!(said["principal"], "owner", "{said}");
    }
    assert_eq!(pair.arrived(), [WORDS]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_hook_saw_at_one_gateway_does_not_leave_by_a_session_at_another() {
    for shared in [false, true] {
        let redis = RedisServer::start().expect("redis-server is needed");
        let mut more = if shared {
            live(&redis, "local")
        } else {
            json!({})
        };
        more["security.flow_policy"] = json!({ "internal_to_external": "deny" });
        let pair = Pair::start(&more).await;
        let hooked = async |event: &str, tool: &str, more: Value| {
            let mut payload = json!({
                "session_id": "cc-1", "hook_event_name": event, "tool_name": tool, "tool_use_id": "toolu_1",
            });
            for (key, value) in more.as_object().unwrap() {
                payload[key] = value.clone();
            }
            let said = hook(&pair.one.home, "claude-code", &payload.to_string(), &[]).await;
            assert_eq!(said.heard("claude-code"), Heard::Allow, "{said:?}");
        };
        // The agent reads a file by itself, and announces a call that then comes by the other gateway.
        let file = json!({ "file_path": "/srv/harbour/plan.txt" });
        let given = json!({ "tool_input": file, "tool_response": { "content": PLAN } });
        hooked("PostToolUse", "Read", given).await;
        let call = json!({ "tool_input": {} });
        hooked("PreToolUse", "mcp__mcpproxy__inside__read", call).await;
        let there = agent(&pair.other).await;
        read(&there).await;
        assert_eq!(posted(&there, PLAN).await, !shared, "{shared}");
        assert_eq!(pair.arrived().len(), usize::from(!shared));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_redis_is_away_calls_go_on_locally_or_are_refused_and_both_recover() {
    for (on_loss, passes) in [("local", true), ("closed", false)] {
        let redis = RedisServer::start().expect("redis-server is needed");
        let pair = Pair::start(&live(&redis, on_loss)).await;
        let (here, there) = (agent(&pair.one).await, agent(&pair.other).await);
        assert!(posted(&there, "before").await, "{on_loss}");
        redis.stop().unwrap();
        assert_eq!(posted(&there, "meanwhile").await, passes, "{on_loss}");
        until("the problem to be known", || async {
            let status = pair.other.api("/status").await;
            (!status["live_problem"].is_null()).then_some(())
        })
        .await;
        // What is read meanwhile is known here at once, and everywhere once Redis is back.
        read(&here).await;
        assert!(!posted(&here, KEY).await, "{on_loss}");
        redis.go_on().unwrap();
        recovered(&pair.one).await;
        recovered(&pair.other).await;
        until("what was read meanwhile to be known", || async {
            (!posted(&there, &format!("x {KEY}")).await).then_some(())
        })
        .await;
        assert!(posted(&there, "after").await, "{on_loss}");
        let records = pair.other.home.activity();
        let noted = records.iter().filter(|one| {
            let text = one.to_string();
            text.contains("reduced_look") || text.contains("live-state-lost")
        });
        assert!(noted.count() > 0, "{on_loss}: no verdict says so");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_is_known_although_redis_forgot_everything() {
    let redis = RedisServer::start().expect("redis-server is needed");
    let pair = Pair::start(&live(&redis, "closed")).await;
    let (here, there) = (agent(&pair.one).await, agent(&pair.other).await);
    read(&here).await;
    redis.stop().unwrap();
    redis.forget().unwrap();
    redis.go_on().unwrap();
    recovered(&pair.one).await;
    // What the first gateway knows it tells again by itself.
    until("the other gateway to know", || async {
        (!posted(&there, &format!("x {KEY}")).await).then_some(())
    })
    .await;
}

/// Keys that nobody has, of the shape of one.
fn keys(count: u64) -> Vec<String> {
    let letters = b"ABCDEFGHJKMNPQRSTUVWXYZabcdefghjkmnpqrstuvwxyz23456789";
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let at = usize::try_from(state % 53).unwrap();
        char::from(letters[at])
    };
    let mut key = || (0..20).map(|_| letter()).collect::<String>();
    (0..count).map(|_| format!("glpat-{}", key())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn under_load_nothing_that_was_acknowledged_is_lost_when_redis_restarts() {
    let redis = RedisServer::start().expect("redis-server is needed");
    let keys = keys(60);
    let told: Vec<_> = keys
        .iter()
        .map(|key| format!("GITLAB_TOKEN={key}"))
        .collect();
    let tool = json!({ "name": "read", "inputSchema": { "type": "object" } });
    let inside = Upstream::play(&json!({ "tools": [tool], "results": { "read": told } }));
    let [_, outside] = sides();
    let pair = Pair::between(inside, outside, &live(&redis, "closed")).await;
    let (here, there) = (agent(&pair.one).await, agent(&pair.other).await);
    let reads = tokio::spawn(async move {
        let mut acknowledged = Vec::new();
        for _ in 0..60 {
            let result = here.call("inside__read", json!({})).await;
            acknowledged.push(text_of(&result).to_owned());
            // Whether it goes through depends on the moment; that it is answered does not.
            posted(&here, "a line of nobody").await;
        }
        acknowledged
    });
    for forgets in [false, true, false] {
        redis.stop().unwrap();
        if forgets {
            redis.forget().unwrap();
        }
        redis.go_on().unwrap();
        recovered(&pair.one).await;
        recovered(&pair.other).await;
    }
    let acknowledged = reads.await.unwrap();
    assert_eq!(acknowledged, told);
    // A call of the first gateway that is let through shows that it has told what it knew.
    let here = agent(&pair.one).await;
    until("the first gateway to share again", || async {
        posted(&here, "Good morning").await.then_some(())
    })
    .await;
    for key in &keys {
        assert!(!posted(&there, &format!("x {key}")).await, "{key} left");
    }
    let left = pair.arrived();
    assert!(!left.iter().any(|text| text.contains("glpat")), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_hangs_holds_nobody_for_longer_than_it_may() {
    let redis = RedisServer::start().expect("redis-server is needed");
    let pair = Pair::start(&live(&redis, "local")).await;
    let here = agent(&pair.one).await;
    redis.signal("STOP").unwrap();
    let asked = std::time::Instant::now();
    assert!(posted(&here, "meanwhile").await);
    let took = asked.elapsed();
    redis.signal("CONT").unwrap();
    assert!(took < std::time::Duration::from_secs(3), "{took:?}");
    recovered(&pair.one).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_in_redis_can_be_read_without_the_key() {
    let redis = RedisServer::start().expect("redis-server is needed");
    let pair = Pair::start(&live(&redis, "local")).await;
    let here = agent(&pair.one).await;
    read(&here).await;
    posted(&here, "The lamps on the east pier are nobody's business").await;
    let kept = redis.kept().unwrap();
    assert!(kept.len() > 1000, "{} bytes", kept.len());
    let text = String::from_utf8_lossy(&kept);
    let session = here.session.as_str();
    for secret in [
        KEY,
        WORDS,
        "east pier",
        "inside",
        "GITLAB",
        session,
        "local",
    ] {
        assert!(!text.contains(secret), "`{secret}` can be read");
    }
}

#[tokio::test]
async fn a_redis_that_is_not_there_is_said_at_the_start_and_without_its_password() {
    let url = format!("redis://me:{PASSWORD}@127.0.0.1:9/0");
    let config = json!({ "live": { "url": url, "key": SHARED, "timeout": "200ms" } });
    refuses_without_password(&config, "redis://127.0.0.1:9").await;
}
