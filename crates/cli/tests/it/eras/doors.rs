//! The other doors: lines, as agents that know only stdio speak, and the older HTTP+SSE.

use http::{HeaderMap, Method};
use mcpproxy_mcp::compose;
use mcpproxy_mcp::era::{META_CAPABILITIES, META_VERSION};
use serde_json::json;

use super::{Grid, first};
use crate::support::{
    Bridge, Gateway, Home, Http, Reply, headers, scripted, text_of, until, within,
};

/// Opens a legacy conversation over lines with somebody who can be asked.
async fn open(lines: &mut Bridge) {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "test", "version": "1" },
    });
    lines.ask("initialize", params).await;
    let ready = compose::notification("notifications/initialized", "{}");
    lines.send(&ready).await;
}

/// Goes through what a legacy agent over lines does with every upstream.
async fn converse(lines: &mut Bridge, grid: &Grid) {
    open(lines).await;
    for (name, upstream) in &grid.upstreams {
        let echo = format!("{name}__echo");
        let result = lines.call(&echo, json!({ "text": name })).await;
        assert_eq!(text_of(&result), *name);

        let ask = json!({ "name": format!("{name}__ask"), "arguments": { "question": "?" } });
        let id = lines.request("tools/call", &ask).await;
        let asked = loop {
            let message = lines.next().await.unwrap();
            assert!(message.get("result").is_none(), "{name}: {message}");
            if message["method"] == "elicitation/create" {
                break message;
            }
        };
        let reply = r#"{"action":"accept","content":{"answer":"yes"}}"#;
        lines
            .send(&compose::result(&asked["id"].to_string(), reply))
            .await;
        let answer = lines.answer(id).await;
        assert_eq!(text_of(&answer["result"]), "accept: yes", "{name}");

        let hang = json!({ "name": format!("{name}__hang"), "arguments": { "n": "lines" } });
        let id = lines.request("tools/call", &hang).await;
        upstream.until_received("\"lines\"").await;
        lines
            .send(&compose::request(&id.to_string(), "ping", "{}"))
            .await;
        let twice = lines.answer(id).await;
        assert_eq!(twice["error"]["code"], -32600, "{name}: {twice}");
        let cancel = json!({ "requestId": id }).to_string();
        lines
            .send(&compose::notification("notifications/cancelled", &cancel))
            .await;
        let cancelled = lines.answer(id).await;
        assert_eq!(
            cancelled["error"]["message"], "cancelled by the downstream",
            "{name}"
        );
    }
    lines
        .send(br#"{"jsonrpc":"2.0","id":"a","method":"ping","id":"b"}"#)
        .await;
    let refused = loop {
        let message = lines.next().await.unwrap();
        if message.get("error").is_some() {
            break message;
        }
    };
    assert_eq!(refused["error"]["code"], -32600);
}

#[tokio::test]
async fn an_agent_that_knows_only_stdio_reaches_every_upstream() {
    let grid = Grid::start().await;
    let mut lines = Bridge::start(&grid.gateway.home, &[]);
    converse(&mut lines, &grid).await;
    assert_eq!(grid.gateway.api("/sessions").await["total"], 1);
    lines.close();
    lines.ends().await;
    until("the session to end", || async {
        let sessions = grid.gateway.api("/sessions").await;
        (sessions["total"] == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_bridge_that_stands_alone_reaches_every_upstream() {
    let grid = Grid::start().await;
    let config = std::fs::read(grid.gateway.home.config()).unwrap();
    let home = Home::new(&serde_json::from_slice(&config).unwrap());
    let mut lines = Bridge::start(&home, &["--standalone"]);
    converse(&mut lines, &grid).await;
    lines.close();
    lines.ends().await;
}

#[tokio::test]
async fn a_modern_agent_is_asked_over_lines_too() {
    let grid = Grid::start().await;
    let mut lines = Bridge::start(&grid.gateway.home, &[]);
    let mut envelope = Bridge::modern(json!({}))["_meta"].take();
    envelope[META_CAPABILITIES] = json!({ "elicitation": {} });
    for (name, _) in &grid.upstreams {
        let mut params = json!({
            "name": format!("{name}__ask"), "arguments": { "question": "?" }, "_meta": envelope,
        });
        let result = lines.ask("tools/call", params.clone()).await;
        assert_eq!(result["resultType"], "input_required", "{name}");
        let (key, _) = first(&result["inputRequests"]);
        params["inputResponses"] = json!({ key: { "action": "decline" } });
        params["requestState"] = result["requestState"].clone();
        let result = lines.ask("tools/call", params).await;
        assert_eq!(text_of(&result), "decline", "{name}");
    }
    envelope[META_VERSION] = json!("2027-01-01");
    let id = lines
        .request("tools/list", &json!({ "_meta": envelope }))
        .await;
    assert_eq!(lines.answer(id).await["error"]["code"], -32022);
}

/// Posts a message to the address that the stream named.
async fn post(http: &Http, endpoint: &str, message: impl Into<bytes::Bytes>) -> Reply {
    let kind = headers(&[("content-type", "application/json")]);
    http.send(Method::POST, endpoint, kind, message).await
}

async fn open_sse(gateway: &Gateway) -> (Http, Reply, String) {
    let http = gateway.http();
    let accept = headers(&[("accept", "text/event-stream")]);
    let mut stream = http.send(Method::GET, "/sse", accept, "").await;
    let endpoint = within("the endpoint", stream.next_text()).await.unwrap();
    assert!(endpoint.starts_with("/messages?"), "{endpoint}");
    (http, stream, endpoint)
}

/// Opens a session over the older door with somebody who can be asked.
async fn greet(http: &Http, stream: &mut Reply, endpoint: &str) {
    let params = json!({
        "protocolVersion": "2024-11-05", "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "test", "version": "1" },
    });
    let open = compose::request("1", "initialize", &params.to_string());
    assert_eq!(post(http, endpoint, open).await.status, 202);
    assert_eq!(stream.result().await["protocolVersion"], "2024-11-05");
}

#[tokio::test]
async fn a_call_over_the_older_door_is_answered_before_the_gateway_stops() {
    let grid = Grid::start().await;
    let (http, mut stream, endpoint) = open_sse(&grid.gateway).await;
    greet(&http, &mut stream, &endpoint).await;
    let slow = json!({ "name": "legacy-http__slow", "arguments": { "ms": 700 } });
    let call = compose::request("2", "tools/call", &slow.to_string());
    post(&http, &endpoint, call).await;
    grid.upstreams[1].1.until_received("\"slow\"").await;
    grid.gateway.signal("TERM").await;
    assert_eq!(text_of(&stream.result().await), "took 700 ms");
}

#[tokio::test]
async fn of_two_openings_at_once_over_the_older_door_one_is_refused() {
    let mut slow = scripted("say done");
    let script = slow["args"][1].as_str().unwrap();
    let script = script.replace(
        r#"answer "$id" "$hello""#,
        r#"sleep 0.5; answer "$id" "$hello""#,
    );
    slow["args"][1] = json!(script);
    slow["scope"] = json!("session");
    let config = json!({ "routing_mode": "single", "mcpServers": { "slow": slow } });
    let gateway = Gateway::start(&config).await;
    let (http, mut stream, endpoint) = open_sse(&gateway).await;
    let params = json!({ "protocolVersion": "2024-11-05", "capabilities": {} }).to_string();
    let open = |id: &str| {
        post(
            &http,
            &endpoint,
            compose::request(id, "initialize", &params),
        )
    };
    tokio::join!(open("1"), open("2"));
    let (one, other) = (stream.answer().await, stream.answer().await);
    assert_eq!(one["error"]["code"], -32600, "{one}");
    assert!(other["result"].is_object(), "{other}");
    assert_eq!(gateway.api("/sessions").await["total"], 1);
    drop(stream);
    until("the session to end", || async {
        let sessions = gateway.api("/sessions").await;
        (sessions["total"] == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_older_http_door_serves_every_upstream() {
    let grid = Grid::start().await;
    let (http, mut stream, endpoint) = open_sse(&grid.gateway).await;
    let early = post(&http, &endpoint, compose::request("1", "ping", "{}")).await;
    assert_eq!(early.status, 400, "a session comes first");
    greet(&http, &mut stream, &endpoint).await;
    for (name, _) in &grid.upstreams {
        let slow = json!({
            "name": format!("{name}__slow"), "arguments": { "ms": 8 },
            "_meta": { "progressToken": name },
        });
        let before = stream.heard("notifications/progress").len();
        post(
            &http,
            &endpoint,
            compose::request("2", "tools/call", &slow.to_string()),
        )
        .await;
        assert_eq!(text_of(&stream.result().await), "took 8 ms");
        assert_eq!(
            stream.heard("notifications/progress").len(),
            before + 4,
            "{name}"
        );

        let ask = json!({ "name": format!("{name}__ask"), "arguments": { "question": "?" } });
        post(
            &http,
            &endpoint,
            compose::request("3", "tools/call", &ask.to_string()),
        )
        .await;
        let asked = stream.notification("elicitation/create").await;
        let reply = compose::result(&asked["id"].to_string(), r#"{"action":"cancel"}"#);
        post(&http, &endpoint, reply).await;
        assert_eq!(text_of(&stream.result().await), "cancel", "{name}");
    }
    // Another connection does not know this one's address once it is closed.
    drop(stream);
    until("the stream to be gone", || async {
        let reply = post(&http, &endpoint, compose::request("4", "ping", "{}")).await;
        (reply.status == 404).then_some(())
    })
    .await;
    let none = http
        .send(
            Method::POST,
            "/messages?sessionId=no",
            HeaderMap::new(),
            "{}",
        )
        .await;
    assert_eq!(none.status, 404);
}
