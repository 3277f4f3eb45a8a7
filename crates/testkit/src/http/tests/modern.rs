//! The stateless era: headers, statuses, streams.

use super::*;

#[tokio::test]
async fn answers_are_json_with_a_status_of_their_own() {
    let downstream = Downstream::start(Sample::Echo, EraSupport::ModernOnly).await;
    let check = async |method: &str, params: Value, extra: &[_], status: u16, code: Value| {
        let response = downstream.modern(method, params, extra).await;
        let found = response.status().as_u16();
        assert!(response.headers().get(header::SESSION).is_none());
        let answer = body(response).await;
        assert_eq!(
            (found, &answer["error"]["code"]),
            (status, &code),
            "{method}: {answer}"
        );
    };
    let echo = || json!({ "name": "echo", "arguments": { "text": "x" } });
    let ask = json!({ "name": "ask", "arguments": { "question": "x" } });
    check("server/discover", json!({}), &[], 200, Value::Null).await;
    check("tools/call", echo(), &[], 200, Value::Null).await;
    check(
        "tools/call",
        echo(),
        &[("mcp-name", "add")],
        400,
        (-32020).into(),
    )
    .await;
    check(
        "tools/call",
        echo(),
        &[("mcp-method", "tools/list")],
        400,
        (-32020).into(),
    )
    .await;
    let old = ("mcp-protocol-version", "2025-11-25");
    check("tools/list", json!({}), &[old], 400, (-32020).into()).await;
    check("tools/call", ask, &[], 400, (-32021).into()).await;
    check("ping", json!({}), &[], 404, (-32601).into()).await;
    check(
        "initialize",
        json!({ "protocolVersion": "x" }),
        &[],
        400,
        (-32022).into(),
    )
    .await;
}

#[tokio::test]
async fn arguments_are_repeated_in_headers_where_the_schema_says_so() {
    let downstream = Downstream::start(Sample::Slack, EraSupport::Both).await;
    let check = async |extra: &[_], expect: u16| {
        let arguments = json!({ "channel": "general", "text": "x" });
        let params = json!({ "name": "post_message", "arguments": arguments });
        let response = downstream.modern("tools/call", params, extra).await;
        assert_eq!(response.status().as_u16(), expect, "{extra:?}");
    };
    check(&[("mcp-param-channel", "general")], 200).await;
    check(&[("mcp-param-channel", "partners")], 400).await;
    check(&[], 400).await;
}

#[tokio::test]
async fn there_is_neither_session_nor_stream() {
    let downstream = Downstream::start(Sample::Echo, EraSupport::ModernOnly).await;
    let check = async |method: Method, path: &str, message: Value, expect: u16| {
        let url = downstream.upstream.url.replace("/mcp", path);
        let mut headers = downstream.headers.clone();
        headers.insert(header::VERSION, HeaderValue::from_static("2026-07-28"));
        let response = downstream
            .send(method, &url, headers, message.to_string())
            .await;
        assert_eq!(response.status().as_u16(), expect);
    };
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" });
    check(Method::GET, "/mcp", Value::Null, 405).await;
    check(Method::DELETE, "/mcp", Value::Null, 405).await;
    check(Method::GET, "/sse", Value::Null, 405).await;
    check(Method::POST, "/mcp", notification, 202).await;
}

#[tokio::test]
async fn a_subscription_is_a_stream_that_closing_ends() {
    let downstream = Downstream::start(Sample::Echo, EraSupport::Both).await;
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    let mut stream = Events::of(downstream.modern("subscriptions/listen", wanted, &[]).await);
    let told = stream.next().await;
    assert_eq!(told["method"], "notifications/subscriptions/acknowledged");
    let change = json!({ "name": "change" });
    let answer = body(downstream.modern("tools/call", change, &[]).await).await;
    assert_eq!(answer["result"]["content"][0]["text"], "added extra_1");
    let told = stream.next().await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(
        told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        1
    );
}

#[tokio::test]
async fn closing_the_stream_cancels_the_call() {
    let downstream = Downstream::start(Sample::Echo, EraSupport::Both).await;
    let service = &downstream.upstream.shared.service;
    let idle = Arc::strong_count(service);
    let call = downstream.modern("tools/call", json!({ "name": "hang" }), &[]);
    tokio::select! {
        _ = call => panic!("a call that hangs was answered"),
        _ = downstream.upstream.until_received(r#""hang""#) => {}
    }
    // A conversation holds on to the sample until its call is given up.
    while Arc::strong_count(service) > idle {
        tokio::task::yield_now().await;
    }
}
