//! What happens while Redis is away is told when it is back, and what it forgot is told again, by
//! itself: nobody has to call for that.

use mcpproxy_testkit::RedisServer;
use serde_json::{Value, json};

use super::together::sharing;
use super::{Pair, agent, posted, read, recovered};
use crate::support::{Gateway, WORDS, until};

/// Has the store come back, with or without what it was told.
async fn comes_back(redis: &RedisServer, pair: &Pair, forgets: bool) {
    if forgets {
        redis.forget().unwrap();
    }
    redis.go_on().unwrap();
    recovered(&pair.one).await;
    recovered(&pair.other).await;
}

/// The questions that a gateway lists, oldest first.
async fn waiting(gateway: &Gateway) -> Vec<Value> {
    let listed = gateway.api("/approvals").await;
    listed["approvals"].as_array().unwrap().clone()
}

/// Regression for #8: a question that was put while Redis was away, or that it forgot, was seen at its
/// own gateway alone until it lapsed.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_an_outage_and_one_that_redis_forgot_are_answered_at_the_other_gateway() {
    for forgets in [false, true] {
        let redis = RedisServer::start().expect("redis-server is needed");
        let mut more = sharing(&redis, true);
        more["security.approvals"] = json!({ "mode": "queue", "timeout": "1m" });
        let pair = Pair::start(&more).await;
        let mut calls = Vec::new();
        for away in [false, true] {
            let here = agent(&pair.one).await;
            read(&here).await;
            if away {
                redis.stop().unwrap();
            }
            let text = format!("{WORDS} {away}");
            calls.push(tokio::spawn(async move { posted(&here, &text).await }));
            until("the question where it was put", || async {
                (waiting(&pair.one).await.len() == calls.len()).then_some(())
            })
            .await;
        }
        comes_back(&redis, &pair, forgets).await;
        let questions = until("the questions at the other gateway", || async {
            let questions = waiting(&pair.other).await;
            (questions.len() == 2).then_some(questions)
        })
        .await;
        let owner = pair.other.owner();
        for question in questions {
            let path = format!("/api/v1/approvals/{}", question["id"].as_str().unwrap());
            let answer = json!({ "decision": "approve" });
            assert_eq!(owner.post(&path, &answer).await.0, 200, "{forgets}");
        }
        for call in calls {
            assert!(call.await.unwrap(), "{forgets}");
        }
    }
}

/// Regression for #8: the other gateway knew of no session that was opened before Redis forgot it, or
/// while it was away, until its agent used it again and some minutes had passed.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_at_the_other_gateway_although_redis_forgot_it_or_was_away() {
    for forgets in [false, true] {
        let redis = RedisServer::start().expect("redis-server is needed");
        let pair = Pair::start(&sharing(&redis, true)).await;
        let before = agent(&pair.one).await;
        redis.stop().unwrap();
        let meanwhile = agent(&pair.one).await;
        comes_back(&redis, &pair, forgets).await;
        for (session, case) in [(before, "before"), (meanwhile, "meanwhile")] {
            let moved = session.at(&pair.other.url("/mcp"));
            until("the session at the other gateway", || async {
                let listed = moved.request("tools/list", json!({})).await;
                (listed.status == 200).then_some(())
            })
            .await;
            assert!(posted(&moved, case).await, "{case}, {forgets}");
        }
    }
}
