//! capability: tokens and sessions
//! guard: oauth
//! attack: a token made for another service, and somebody else's session
//! twin: a token for this gateway, in its own session

use serde_json::json;

use crate::access::oauth::{Issuer, bearer, signed, started};
use crate::support::{Legacy, headers, text_of};

fn call(text: &str) -> String {
    let params = json!({ "name": "one__echo", "arguments": { "text": text } });
    json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string()
}

#[tokio::test]
async fn a_token_for_another_service_and_a_stolen_session_open_nothing() {
    let issuer = Issuer::start().await;
    let (one, _other, gateway) = started(&issuer).await;
    let ada = bearer(&gateway, &issuer.token("ada", &[])).at("/mcp");
    let ada = Legacy::open_with(ada, json!({})).await;
    let mut elsewhere = issuer.claims("ada", &[]);
    elsewhere["aud"] = json!("https://mail.example");
    let tokens = [signed("a", 1, &elsewhere), issuer.token("bob", &[])];
    let expect = [401, 404];
    for (token, expect) in tokens.iter().zip(expect) {
        let more = headers(&[
            ("mcp-session-id", &ada.session),
            ("content-type", "application/json"),
        ]);
        let sent = bearer(&gateway, token);
        let sent = sent.send(http::Method::POST, "/mcp", more, call("stolen"));
        assert_eq!(sent.await.status, expect);
    }
    let said = ada.call("one__echo", json!({ "text": "mine" })).await;
    assert_eq!(text_of(&said), "mine");
    assert!(one.received_with("stolen").is_empty());
}

#[tokio::test]
async fn with_no_issuer_named_a_stranger_on_this_machine_comes_in() {
    let (one, _other, config) = crate::access::two().await;
    let gateway = crate::support::Gateway::start(&config).await;
    let stranger = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    stranger
        .call("one__echo", json!({ "text": "stolen" }))
        .await;
    assert!(!one.received_with("stolen").is_empty());
}
