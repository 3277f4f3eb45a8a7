//! Sessions, streams and questions of the legacy era, and the older transport.

use super::*;

#[tokio::test]
async fn sessions_begin_end_and_are_forgotten() {
    let mut downstream = Downstream::start(Sample::Echo, EraSupport::Both).await;
    let ping = request(1, "ping", &json!({}));
    assert_eq!(downstream.post(&ping).await.status(), 400, "no session yet");
    downstream.initialize().await;
    assert_eq!(downstream.upstream.sessions(), 1);
    assert_eq!(
        body(downstream.post(&ping).await).await["result"],
        json!({})
    );
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(downstream.post(&initialized).await.status(), 202);

    downstream.upstream.forget_sessions();
    assert_eq!(downstream.post(&ping).await.status(), 404);
    let lost = downstream.headers[header::SESSION].clone();
    downstream.headers.remove(header::SESSION);
    downstream.initialize().await;
    assert_ne!(downstream.headers[header::SESSION], lost);

    let url = downstream.upstream.url.clone();
    let headers = downstream.headers.clone();
    let ended = downstream
        .send(Method::DELETE, &url, headers, String::new())
        .await;
    assert_eq!(ended.status(), 200);
    assert_eq!(downstream.post(&ping).await.status(), 404);
}

#[tokio::test]
async fn requests_that_break_the_transport_s_rules() {
    let mut downstream = Downstream::start(Sample::Echo, EraSupport::LegacyOnly).await;
    downstream.initialize().await;
    let check = async |method: Method, path: &str, header: (&'static str, &'static str), expect| {
        let url = downstream.upstream.url.replace("/mcp", path);
        let mut headers = downstream.headers.clone();
        let (name, value) = header;
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
        let ping = request(1, "ping", &json!({})).to_string();
        let response = downstream.send(method, &url, headers, ping).await;
        assert_eq!(response.status().as_u16(), expect, "{path} {header:?}");
    };
    check(Method::POST, "/mcp", ("x-any", "thing"), 200).await;
    check(
        Method::POST,
        "/mcp",
        ("mcp-protocol-version", "2025-06-18"),
        200,
    )
    .await;
    check(
        Method::POST,
        "/mcp",
        ("mcp-protocol-version", "2026-07-28"),
        400,
    )
    .await;
    check(Method::POST, "/mcp", ("accept", "application/json"), 406).await;
    check(Method::POST, "/mcp", ("mcp-session-id", "session-0"), 404).await;
    check(Method::GET, "/mcp", ("mcp-session-id", "session-0"), 404).await;
    check(Method::PUT, "/mcp", ("x-any", "thing"), 405).await;
    check(Method::POST, "/messages", ("x-any", "thing"), 404).await;
    check(Method::POST, "/other", ("x-any", "thing"), 404).await;
    let discover = downstream
        .post(&modern(1, "server/discover", json!({})))
        .await;
    assert_eq!(body(discover).await["error"]["code"], -32601);
}

#[tokio::test]
async fn a_call_that_speaks_first_is_answered_with_a_stream() {
    let mut downstream = Downstream::start(Sample::Echo, EraSupport::LegacyOnly).await;
    downstream.initialize().await;
    let meta = json!({ "progressToken": "t" });
    let params = json!({ "name": "slow", "arguments": { "ms": 4 }, "_meta": meta });
    let mut events = Events::of(downstream.post(&request(1, "tools/call", &params)).await);
    for step in 1..=4 {
        assert_eq!(events.next().await["params"]["progress"], step);
    }
    assert_eq!(events.next().await["id"], 1);
    assert_eq!(events.text().await, None);
    let quiet = body(downstream.post(&tool(2, "slow", &json!({ "ms": 0 }))).await).await;
    assert_eq!(quiet["id"], 2);
}

#[tokio::test]
async fn a_question_is_answered_by_another_request() {
    let mut downstream = Downstream::start(Sample::Echo, EraSupport::LegacyOnly).await;
    downstream.initialize().await;
    let ask = tool(1, "ask", &json!({ "question": "?" }));
    let mut events = Events::of(downstream.post(&ask).await);
    let id = events.next().await["id"].take();
    let reply = json!({ "jsonrpc": "2.0", "id": id, "result": { "action": "decline" } });
    assert_eq!(downstream.post(&reply).await.status(), 202);
    assert_eq!(
        events.next().await["result"]["content"][0]["text"],
        "decline"
    );
}

#[tokio::test]
async fn changes_are_told_on_the_session_s_stream() {
    let mut downstream = Downstream::start(Sample::Echo, EraSupport::LegacyOnly).await;
    downstream.initialize().await;
    let (url, headers) = (downstream.upstream.url.clone(), downstream.headers.clone());
    let stream = downstream
        .send(Method::GET, &url, headers, String::new())
        .await;
    let mut stream = Events::of(stream);
    let answer = body(downstream.post(&tool(1, "change", &json!({}))).await).await;
    assert_eq!(answer["result"]["content"][0]["text"], "added extra_1");
    assert_eq!(
        stream.next().await["method"],
        "notifications/tools/list_changed"
    );
    downstream.upstream.forget_sessions();
    assert_eq!(stream.text().await, None);
}

#[tokio::test]
async fn a_cancelled_call_has_no_answer() {
    let mut downstream = Downstream::start(Sample::Echo, EraSupport::LegacyOnly).await;
    downstream.initialize().await;
    let params = json!({ "requestId": 7 });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    let cancelling = async {
        downstream.upstream.until_received(r#""hang""#).await;
        downstream.post(&cancel).await
    };
    let hang = tool(7, "hang", &json!({}));
    let (answer, cancelled) = tokio::join!(downstream.post(&hang), cancelling);
    assert_eq!(
        (answer.status().as_u16(), cancelled.status().as_u16()),
        (204, 202)
    );
}

#[tokio::test]
async fn the_older_transport_answers_on_its_stream() {
    let downstream = Downstream::start(Sample::Echo, EraSupport::LegacyOnly).await;
    let url = &downstream.upstream.sse_url;
    let stream = downstream
        .send(Method::GET, url, HeaderMap::new(), String::new())
        .await;
    let mut stream = Events::of(stream);
    let endpoint = url.replace("/sse", &stream.text().await.unwrap());
    let params = json!({ "protocolVersion": "2024-11-05", "capabilities": {} });
    for message in [
        request(0, "initialize", &params),
        request(1, "ping", &json!({})),
    ] {
        let body = message.to_string();
        let taken = downstream
            .send(Method::POST, &endpoint, HeaderMap::new(), body)
            .await;
        assert_eq!(taken.status(), 202);
        assert_eq!(stream.next().await["id"], message["id"]);
    }
}
