//! What several gateways count, ask and know together: limits, answers of a person, tokens, events and
//! habits. Each test has a twin without Redis, in which every gateway is alone.

use mcpproxy_testkit::RedisServer;
use serde_json::{Value, json};

use super::{Pair, agent, live, posted, recovered};

/// What gateways are told to share, or that they share nothing.
fn sharing(redis: &RedisServer, shared: bool) -> Value {
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
