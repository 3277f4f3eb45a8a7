//! capability: integrity of context
//! guard: context-integrity
//! attack: a resource that must not change, changed between two reads
//! twin: the same resource read again, unchanged

use serde_json::{Value, json};

use crate::guards::{library, reading};
use crate::support::Legacy;

/// Reads the same resource three times; the third time it has changed.
async fn read_thrice(config: &Value) -> Vec<String> {
    let library = library();
    let gateway = reading(&library, config).await;
    let agent = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let listed = agent.ask("resources/list", json!({})).await;
    let uri = json!({ "uri": listed["resources"][0]["uri"] });
    let mut said = Vec::new();
    for _ in 0..3 {
        let reply = agent.request("resources/read", uri.clone()).await;
        said.push(reply.text().await);
    }
    said
}

#[tokio::test]
async fn a_resource_that_must_not_change_is_withheld_once_it_does() {
    let said = read_thrice(&json!({ "immutable": ["doc://policy"] })).await;
    let [first, again, changed] = said.as_slice() else {
        panic!("{said:?}");
    };
    assert!(first.contains("pay nobody") && again.contains("pay nobody"));
    assert!(!changed.contains("mallory"), "{changed}");
    assert!(changed.contains("never changes"), "{changed}");
}

#[tokio::test]
async fn with_the_defence_off_the_change_arrives() {
    let said = read_thrice(&json!({ "immutable": ["doc://policy"], "on_change": "off" })).await;
    assert!(said.last().unwrap().contains("mallory"), "{said:?}");
}
