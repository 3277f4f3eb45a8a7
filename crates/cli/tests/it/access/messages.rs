//! What a message must look like to be heard: one meaning, within bounds, headers that agree.

use bytes::Bytes;
use http::Method;
use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::{Value, json};

use crate::support::{Gateway, Legacy, Modern, Over, Upstream, headers};

async fn start(limits: Value) -> (Upstream, Gateway) {
    let upstream = Upstream::start(Sample::Echo, EraSupport::Both, Over::Shared).await;
    let slack = Upstream::start(Sample::Slack, EraSupport::Both, Over::Shared).await;
    let upstreams = json!({ "echo": upstream.settings, "slack": slack.settings });
    let config = json!({ "routing_mode": "all", "limits": limits, "mcpServers": upstreams });
    let gateway = Gateway::start(&config).await;
    (upstream, gateway)
}

#[tokio::test]
async fn what_two_readers_could_read_differently_is_refused_with_the_reason() {
    let (upstream, gateway) = start(json!({ "nesting": 64 })).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let check = async |body: Vec<u8>, status: u16, code: i64, why: &str| {
        let shown = String::from_utf8_lossy(&body)
            .chars()
            .take(200)
            .collect::<String>();
        let mut reply = downstream.send(Bytes::from(body)).await;
        assert_eq!(reply.status, status, "{shown}");
        let error = reply.error().await;
        assert_eq!(error["code"], code, "{shown}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(why), "{shown}: {message}");
    };
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo__echo","arguments":{arguments}}}}}"#
        )
        .into_bytes()
    };
    let said = r#"{"text":"never said"}"#;
    let params = format!(r#""params":{{"name":"echo__echo","arguments":{said}}}"#);
    let twice =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call",{params}}}"#);
    check(twice.into(), 400, -32600, "method").await;
    let escaped = r#"{"text":"never said","\u0074ext":"b"}"#;
    check(call(escaped), 400, -32600, "text").await;
    let inside = r#"{"text":"never said","deep":[{"a":1,"a":2}]}"#;
    check(call(inside), 400, -32600, "`a`").await;
    let twins =
        format!(r#"{{"jsonrpc":"2.0","id":1,"Method":"ping","method":"tools/call",{params}}}"#);
    check(twins.into(), 400, -32600, "ethod").await;
    let twins = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo__echo","NAME":"x"}}"#;
    check(twins.to_vec(), 400, -32600, "NAME").await;
    let unseen = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo__echo\",\"na\u{200d}me\":\"x\"}}";
    check(unseen.into(), 400, -32600, "name").await;
    let meta = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo__echo","_meta":[]}}"#;
    check(meta.to_vec(), 400, -32600, "_meta").await;
    // A key of the tool's own schema has no twin either; what nobody declares may.
    check(
        call(r#"{"text":"never said","TEXT":"b"}"#),
        200,
        -32602,
        "TEXT",
    )
    .await;
    check(call("{\"text\":\"never said \u{0}\"}"), 400, -32700, "").await;
    let mut broken = call(r#"{"text":"never said ?"}"#);
    let at = broken.iter().position(|&byte| byte == b'?').unwrap();
    broken[at] = 0xff;
    check(broken, 400, -32700, "UTF-8").await;
    let deep = format!(
        r#"{{"text":"never said","v":{}{}}}"#,
        "[".repeat(64),
        "]".repeat(64)
    );
    check(call(&deep), 400, -32700, "64").await;
    let million = [b"[".repeat(1_000_000), b"]".repeat(1_000_000)].concat();
    check(million, 400, -32700, "64").await;
    check(b"[]".to_vec(), 400, -32600, "batches").await;
    check(
        [b"[".to_vec(), call(said), b"]".to_vec()].concat(),
        400,
        -32600,
        "batches",
    )
    .await;
    check(b"{}".to_vec(), 400, -32600, "2.0").await;
    check(b"{\"jsonrpc\":\"2.0\"".to_vec(), 400, -32700, "").await;
    let null = r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#;
    check(null.into(), 400, -32600, "null").await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["echo__echo"]}"#;
    check(list.into(), 400, -32600, "object").await;

    gateway.until_logged("refused a message").await;
    downstream
        .call("echo__echo", json!({ "text": "a", "other": 1, "OTHER": 2 }))
        .await;
    assert_eq!(upstream.received_with("never said"), Vec::<String>::new());
}

#[tokio::test]
async fn what_is_not_a_message_is_refused_by_its_status() {
    let (_upstream, gateway) = start(json!({})).await;
    let check = async |method: Method, pairs: &[(&str, &str)], expect: u16| {
        let http = gateway.http().at("/mcp");
        let reply = http.send(method.clone(), "", headers(pairs), "{}").await;
        assert_eq!(reply.status, expect, "{method} {pairs:?}");
    };
    let json = ("content-type", "application/json");
    check(Method::POST, &[], 415).await;
    // What another reader would decode first is read in two ways.
    for (kind, coding, expect) in [
        ("text/plain", "identity", 415),
        ("application/json-seq", "identity", 415),
        ("application/json", "gzip", 415),
        ("application/json; charset=utf-16", "identity", 415),
        ("Application/JSON; charset=\"UTF-8\"", "identity", 400),
    ] {
        let pairs = [("content-type", kind), ("content-encoding", coding)];
        check(Method::POST, &pairs, expect).await;
    }
    check(Method::POST, &[json, ("accept", "text/html")], 406).await;
    check(Method::GET, &[("accept", "application/json")], 406).await;
    check(Method::PUT, &[json], 405).await;
    check(Method::OPTIONS, &[], 405).await;
    let modern = ("mcp-protocol-version", "2026-07-28");
    check(Method::GET, &[("accept", "text/event-stream"), modern], 405).await;
    let (status, _) = gateway.http().get("/elsewhere").await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_body_past_the_bound_is_refused_with_413() {
    let (upstream, gateway) = start(json!({ "body_bytes": "64KiB" })).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let fits = "x".repeat(60 * 1024);
    downstream.call("echo__echo", json!({ "text": fits })).await;
    let params = json!({ "name": "echo__echo", "arguments": { "text": fits.repeat(2) } });
    let reply = downstream.request("tools/call", params).await;
    assert_eq!(reply.status, 413);
    let (_, answer) = reply.json().await;
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("65536")
    );
    assert_eq!(upstream.received_with("tools/call").len(), 1);
}

#[tokio::test]
async fn headers_that_disagree_with_a_modern_body_are_refused() {
    let (upstream, gateway) = start(json!({})).await;
    let downstream = Modern::new(&gateway.url("/mcp"), json!({}));
    let envelope = downstream.envelope();
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "echo__echo", "arguments": { "text": "x" }, "_meta": envelope },
    });
    let check = async |body: &Value, pairs: &[(&str, &str)], status: u16, code: Value| {
        let mut reply = downstream.send(body.to_string(), headers(pairs)).await;
        let found = (
            reply.status.as_u16(),
            reply.answer().await["error"]["code"].clone(),
        );
        assert_eq!(found, (status, code), "{pairs:?}");
    };
    let (version, method, name) = (
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "echo__echo"),
    );
    let mismatch = json!(-32020);
    check(&call, &[version, method, name], 200, Value::Null).await;
    check(
        &call,
        &[version, method, ("mcp-name", "=?base64?ZWNob19fZWNobw==?=")],
        200,
        Value::Null,
    )
    .await;
    check(
        &call,
        &[version, method, ("mcp-name", "echo__add")],
        400,
        mismatch.clone(),
    )
    .await;
    check(
        &call,
        &[version, ("mcp-method", "tools/list"), name],
        400,
        mismatch.clone(),
    )
    .await;
    check(&call, &[version, method], 400, mismatch.clone()).await;
    check(&call, &[version, name], 400, mismatch.clone()).await;
    check(&call, &[method, name], 400, mismatch.clone()).await;
    check(
        &call,
        &[version, method, name, ("mcp-name", "echo__add")],
        400,
        mismatch.clone(),
    )
    .await;
    let mut older = call.clone();
    older["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2027-01-01");
    let later = ("mcp-protocol-version", "2027-01-01");
    check(&older, &[version, method, name], 400, mismatch.clone()).await;
    check(&older, &[later, method, name], 400, json!(-32022)).await;
    // A header of one era with a body of the other is read two ways.
    let legacy = ("mcp-protocol-version", "2025-11-25");
    check(&call, &[legacy, method, name], 400, mismatch.clone()).await;
    let sessions = [("mcp-session-id", "a"), ("mcp-session-id", "b")];
    check(&call, &sessions, 400, mismatch.clone()).await;
    let mut nameless = call.clone();
    nameless["params"]["name"] = json!(7);
    check(&nameless, &[version, method, name], 400, mismatch.clone()).await;
    // A tool may want single arguments repeated.
    let mut post = call.clone();
    post["params"]["name"] = json!("slack__post_message");
    post["params"]["arguments"] = json!({ "channel": "general", "text": "x" });
    let name = ("mcp-name", "slack__post_message");
    let channel = ("mcp-param-channel", "general");
    check(&post, &[version, method, name, channel], 200, Value::Null).await;
    check(&post, &[version, method, name], 400, mismatch.clone()).await;
    check(
        &post,
        &[version, method, name, ("mcp-param-channel", "x")],
        400,
        mismatch,
    )
    .await;
    assert_eq!(upstream.received_with("tools/call").len(), 2);
}
