//! Questions of an upstream to the user: a request in one era, a result in the other.

use serde_json::{Value, json};

use super::{Client, Grid, first};
use crate::support::{Gateway, Legacy, Modern, text_of, until};

#[tokio::test]
async fn the_user_is_asked_in_every_combination() {
    let grid = Grid::start().await;
    for client in Client::both(&grid.gateway).await {
        for (name, _) in &grid.upstreams {
            let case = format!("{} to {name}", client.era());
            let question = json!({ "question": case });
            let answer = json!({ "action": "accept", "content": { "answer": "fine" } });
            let asked = client
                .call_answering(&format!("{name}__ask"), question, answer)
                .await;
            assert_eq!(asked.0["method"], "elicitation/create", "{case}");
            assert_eq!(asked.0["params"]["message"], case.as_str());
            assert_eq!(text_of(&asked.1), "accept: fine", "{case}");
            let no = json!({ "action": "decline" });
            let question = json!({ "question": "Again?" });
            let asked = client
                .call_answering(&format!("{name}__ask"), question, no)
                .await;
            assert_eq!(text_of(&asked.1), "decline", "{case}");
        }
    }
}

#[tokio::test]
async fn the_user_s_model_and_folders_are_asked_in_every_combination() {
    let grid = Grid::start().await;
    for client in Client::both(&grid.gateway).await {
        for (name, _) in &grid.upstreams {
            let case = format!("{} to {name}", client.era());
            let prompt = json!({ "prompt": "One word?" });
            let answer = json!({
                "role": "assistant", "model": "m", "content": { "type": "text", "text": "word" },
            });
            let asked = client
                .call_answering(&format!("{name}__sample"), prompt, answer)
                .await;
            assert_eq!(asked.0["params"]["maxTokens"], 100, "{case}");
            assert_eq!(text_of(&asked.1), "word", "{case}");
            let roots = json!({ "roots": [{ "uri": "file:///a" }, { "uri": "file:///b" }] });
            let asked = client
                .call_answering(&format!("{name}__roots"), json!({}), roots)
                .await;
            assert_eq!(asked.0["method"], "roots/list", "{case}");
            assert_eq!(text_of(&asked.1), "file:///a\nfile:///b", "{case}");
        }
    }
}

#[tokio::test]
async fn who_cannot_be_asked_is_not_asked() {
    let grid = Grid::start().await;
    let endpoint = grid.gateway.url("/mcp");
    let mute = [
        Client::Legacy(Legacy::open(&endpoint, json!({})).await),
        Client::Modern(Modern::new(&endpoint, json!({}))),
    ];
    for client in mute {
        for (name, _) in &grid.upstreams {
            let case = format!("{} to {name}", client.era());
            let question = json!({ "question": "Sure?" });
            let params = json!({ "name": format!("{name}__ask"), "arguments": question });
            let answer = client.raw("1", "tools/call", params).await.answer().await;
            if name.starts_with("legacy") {
                assert_eq!(answer["result"]["isError"], true, "{case}: {answer}");
            } else {
                assert_eq!(answer["error"]["code"], -32021, "{case}: {answer}");
            }
        }
    }
}

/// Calls `ask` and returns the parameters with which the call may be retried.
async fn asked(client: &Modern, tool: &str) -> Value {
    let mut params = json!({ "name": tool, "arguments": { "question": "Sure?" } });
    let result = client.ask("tools/call", params.clone()).await;
    let (key, _) = first(&result["inputRequests"]);
    let answer = json!({ "action": "accept", "content": { "answer": "yes" } });
    params["inputResponses"] = json!({ key: answer });
    params["requestState"] = result["requestState"].clone();
    params
}

async fn refused(client: &Modern, params: Value, case: &str) {
    let mut reply = client.request("tools/call", params).await;
    let error = reply.error().await;
    let message = "this request state is not valid here";
    assert_eq!(error["message"], message, "{case}");
}

#[tokio::test]
async fn a_state_that_was_changed_used_or_stolen_resumes_nothing() {
    let grid = Grid::start().await;
    let can = json!({ "elicitation": {} });
    let client = Modern::new(&grid.gateway.url("/mcp"), can.clone());
    let thief = Modern::with(grid.gateway.owner().at("/mcp"), can.clone());
    for name in ["legacy-http", "legacy-stdio", "legacy-sse"] {
        let retry = asked(&client, &format!("{name}__ask")).await;
        let state = retry["requestState"].as_str().unwrap().to_owned();
        for at in [10, state.len() / 2, state.len() - 1] {
            let mut bytes = state.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let mut changed = retry.clone();
            changed["requestState"] = json!(String::from_utf8(bytes).unwrap());
            refused(&client, changed, "changed").await;
        }
        refused(&thief, retry.clone(), "stolen").await;
        let mut other = retry.clone();
        other["arguments"]["question"] = json!("Delete all?");
        refused(&client, other, "for another call").await;
        // None of that has used it up.
        let result = client.ask("tools/call", retry.clone()).await;
        assert_eq!(text_of(&result), "accept: yes", "{name}");
        refused(&client, retry, "used").await;
    }
    let retry = asked(&client, "legacy-http__ask").await;
    let home = grid.gateway.stop().await;
    let gateway = Gateway::start_in(home).await;
    let client = Modern::new(&gateway.url("/mcp"), can);
    refused(&client, retry, "of another process").await;
}

#[tokio::test]
async fn the_state_of_a_modern_upstream_is_its_own() {
    let grid = Grid::start().await;
    let client = Modern::new(&grid.gateway.url("/mcp"), json!({ "elicitation": {} }));
    for name in ["modern-http", "modern-stdio"] {
        let mut retry = asked(&client, &format!("{name}__ask")).await;
        assert_eq!(retry["requestState"], "ask:Sure?");
        let result = client.ask("tools/call", retry.clone()).await;
        assert_eq!(text_of(&result), "accept: yes");
        retry["requestState"] = json!("ask:Other?");
        let error = client.request("tools/call", retry).await.error().await;
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains("another question"),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_call_that_asks_can_be_cancelled() {
    let grid = Grid::start().await;
    let can = json!({ "elicitation": {} });
    let client = Legacy::open(&grid.gateway.url("/mcp"), can).await;
    for (name, upstream) in &grid.upstreams {
        let question = json!({ "question": "Sure?" });
        let params = json!({ "name": format!("{name}__ask"), "arguments": question });
        let mut reply = client.request("tools/call", params).await;
        reply.notification("elicitation/create").await;
        let cancel = json!({ "requestId": 1, "reason": "changed my mind" });
        client.notify("notifications/cancelled", cancel).await;
        let error = reply.error().await;
        assert_eq!(error["message"], "cancelled by the downstream", "{name}");
        if name.starts_with("legacy") {
            let told = upstream.until_received("notifications/cancelled").await;
            assert!(
                !told.contains("changed my mind"),
                "it was not judged: {told}"
            );
        }
    }
    until("nothing in flight", || async {
        let status = grid.gateway.api("/status").await;
        (status["calls_in_flight"] == 0).then_some(())
    })
    .await;
}
