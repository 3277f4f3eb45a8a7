//! What several gateways remember together between two messages: calls of stateless agents that wait
//! for an answer. Each test has a twin without Redis, in which every gateway is alone.

use mcpproxy_testkit::{EraSupport, RedisServer, Sample};
use serde_json::{Value, json};

use super::together::sharing;
use super::{Pair, recovered};
use crate::support::{Modern, Over, Upstream, sides, text_of};

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
