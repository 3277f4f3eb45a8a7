//! Orders to stop hold at every gateway, whatever became of the store that they share.

use mcpproxy_testkit::RedisServer;
use serde_json::json;

use super::together::sharing;
use super::{Pair, recovered};
use crate::support::{Gateway, until};

const TURNS: usize = 4;

async fn orders(gateway: &Gateway) -> usize {
    let stops = gateway.api("/stops").await;
    stops.as_array().unwrap().len()
}

/// Regression for #8: whichever gateway came back to the store last wrote down what it knew, and the
/// other was not told: an order of an outage held at one gateway alone.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_of_an_outage_holds_at_every_gateway_and_so_does_its_end() {
    let redis = RedisServer::start().expect("redis-server is needed");
    let pair = Pair::start(&sharing(&redis, true)).await;
    for turn in 0..TURNS {
        let (here, there) = match turn % 2 {
            0 => (&pair.one, &pair.other),
            _ => (&pair.other, &pair.one),
        };
        redis.stop().unwrap();
        let stop = json!({ "scope": "upstream:outside" });
        assert_eq!(here.owner().post("/api/v1/stops", &stop).await.0, 200);
        redis.go_on().unwrap();
        recovered(&pair.one).await;
        recovered(&pair.other).await;
        until("the order at the other gateway", || async {
            (orders(there).await == 1).then_some(())
        })
        .await;
        let (status, said) = there.owner().delete("/api/v1/stops/upstream:outside").await;
        assert_eq!(status, 200, "{said}");
        until("the end of the order", || async {
            (orders(here).await == 0).then_some(())
        })
        .await;
    }
}
