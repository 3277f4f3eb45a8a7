//! Sizes: bodies and nesting past all reason, and as many sessions and tools as a large
//! installation has.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::measure::{bounded, peak, resident};
use crate::support::{Bridge, Gateway, Legacy, Modern, Over, Upstream, names_of, text_of, within};

/// The most memory that a gateway may have had after bodies that are too large, in megabytes: its
/// own bound on a body is 16 MiB.
const MEMORY: u64 = 100;
/// How long a refusal may take once the bound is passed.
const REFUSES: Duration = Duration::from_secs(5);
/// A body of a gigabyte.
const HUGE: usize = 1 << 30;
/// Levels of a message that nests too deep.
const DEEP: usize = 1_000_000;
/// Idle sessions and tools in this test; the figures for 10,000 of each are in the README.
const SESSIONS: usize = 2_000;
const TOOLS: usize = 2_000;
/// The memory that so many sessions and tools may take in a debug build, in megabytes, beside that of
/// a gateway without any.
const CROWDED: u64 = 25;

async fn gateway() -> (Upstream, Gateway) {
    let echo = Upstream::start(Sample::Echo, EraSupport::Both, Over::Shared).await;
    let gateway = Gateway::start(&json!({ "mcpServers": { "up": echo.settings } })).await;
    (echo, gateway)
}

/// Sends a head, then pieces of a body for as long as they are taken. Returns what was answered.
async fn pour(address: &str, head: &str, piece: &[u8]) -> String {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{head}\r\n\r\n"
    );
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut input, mut output) = stream.into_split();
    output.write_all(head.as_bytes()).await.unwrap();
    let pouring = async {
        for _ in 0..HUGE / piece.len() {
            if output.write_all(piece).await.is_err() {
                break;
            }
        }
        std::future::pending().await
    };
    let mut answer = vec![0; 1024];
    let answered = async {
        let read = input.read(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer[..read]).into_owned()
    };
    tokio::select! {
        answer = answered => answer,
        never = pouring => never,
    }
}

#[tokio::test]
async fn a_gigabyte_is_refused_without_being_kept() {
    let (_echo, gateway) = gateway().await;
    let plain = vec![b' '; 64 * 1024];
    let chunk = [b"10000\r\n", &*plain, b"\r\n"].concat();
    let declared = format!("content-length: {HUGE}");
    for (head, piece) in [
        (declared.as_str(), &plain),
        ("transfer-encoding: chunked", &chunk),
    ] {
        let answer = bounded("a refusal", REFUSES, pour(&gateway.address, head, piece)).await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{head}: {answer}");
        assert!(answer.contains("larger than 16777216 bytes"), "{answer}");
    }
    // The REST interface and a head without end have bounds of their own.
    let long = format!("x-long: {}", "x".repeat(1 << 20));
    let answer = bounded("a refusal", REFUSES, pour(&gateway.address, &long, &plain)).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let memory = peak(&gateway);
    assert!(memory < MEMORY, "{memory} MB");
}

#[tokio::test]
async fn nesting_without_end_is_refused() {
    let (echo, gateway) = gateway().await;
    let nested = ["[".repeat(DEEP), "]".repeat(DEEP)].concat();
    let unclosed = "{\"a\":".repeat(DEEP);
    let legacy = Legacy::open(&gateway.url("/mcp/all"), json!({})).await;
    let mut bridge = Bridge::start(&gateway.home, &["--mode", "all"]);
    bridge.open_legacy().await;
    for value in [nested, unclosed] {
        let params = format!(r#"{{"name":"up__echo","arguments":{{"text":{value}}}}}"#);
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{params}}}"#);
        let (status, answer) = legacy.send(body.clone()).await.json().await;
        assert_eq!(status, 400, "{answer}");
        assert_eq!(answer["error"]["code"], -32700, "{answer}");
        bridge.send(body.as_bytes()).await;
        let answer = bridge.next().await.unwrap();
        assert_eq!(answer["error"]["code"], -32700, "{answer}");
    }
    assert!(echo.received_with("deep").is_empty());
    assert!(echo.received_with("[[").is_empty());
    let memory = peak(&gateway);
    assert!(memory < MEMORY, "{memory} MB");
    let result = legacy.call("up__echo", json!({ "text": "fine" })).await;
    assert_eq!(text_of(&result), "fine");
}

/// Opens a session and leaves it.
async fn idle(http: crate::support::Http) {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "idle", "version": "1" },
        },
    });
    let body = Bytes::from(body.to_string());
    let mut reply = http.send(Method::POST, "", HeaderMap::new(), body).await;
    reply.result().await;
}

#[tokio::test]
async fn many_sessions_and_tools_take_little_memory() {
    let over = Over::Shared;
    let echo = Upstream::start_many(Sample::Echo, EraSupport::Both, over, TOOLS).await;
    let bare = resident(&Gateway::start(&json!({})).await);
    let gateway = Gateway::start(&json!({ "mcpServers": { "up": echo.settings } })).await;
    let http = gateway.http().at("/mcp/all");
    let http = http
        .with("content-type", "application/json")
        .with("accept", "application/json, text/event-stream");
    let mut opening = JoinSet::new();
    for _ in 0..SESSIONS {
        opening.spawn(idle(http.clone()));
        if opening.len() >= 16 {
            opening.join_next().await.unwrap().unwrap();
        }
    }
    within("all sessions", opening.join_all()).await;

    let status = gateway.api("/status").await;
    assert_eq!(status["sessions"], SESSIONS, "{status}");
    let downstream = Modern::new(&gateway.url("/mcp/all"), json!({}));
    let mut names = 0;
    let mut params = json!({});
    loop {
        let page = downstream.ask("tools/list", params).await;
        names += names_of(&page["tools"]).len();
        match page.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => break,
        }
    }
    assert!(names > TOOLS, "{names}");
    let memory = resident(&gateway);
    assert!(
        memory - bare < CROWDED,
        "{memory} MB, {bare} MB of them without any"
    );
}
