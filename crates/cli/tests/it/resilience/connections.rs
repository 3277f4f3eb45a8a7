//! Downstreams that take up connections: heads and bodies that never end, and more connections
//! than there are places.

use std::time::Duration;

use mcpproxy_front::SOCKET;
use mcpproxy_mcp::compose;
use mcpproxy_mcp::era::MODERN;
use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixSocket, UnixStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, timeout};

use super::measure::bounded;
use crate::support::{Gateway, Legacy, Modern, Over, Upstream, text_of, within};

/// Connections that send a head byte by byte.
const SLOW: usize = 200;
/// How long the gateway here waits for a head or a body.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long after that a connection may still be open, on a busy machine.
const SLACK: Duration = Duration::from_secs(2);
/// How long another caller's call may take meanwhile.
const CALLS: Duration = Duration::from_secs(1);

async fn gateway(limits: Value) -> (Upstream, Gateway) {
    let echo = Upstream::start(Sample::Echo, EraSupport::Both, Over::Shared).await;
    let upstreams = json!({ "good": echo.settings });
    let gateway = Gateway::start(&json!({ "limits": limits, "mcpServers": upstreams })).await;
    (echo, gateway)
}

async fn calls(downstream: &Modern) {
    let call = downstream.call("good__echo", json!({ "text": "served" }));
    let result = bounded("a call", CALLS, call).await;
    assert_eq!(text_of(&result), "served");
}

/// Sends `start`, then a byte at a time until the other end has had enough. Returns how long that
/// took and what was said.
async fn drip(address: String, start: Vec<u8>) -> (Duration, String) {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(&address).await.unwrap();
    stream.write_all(&start).await.unwrap();
    let (mut input, mut output) = stream.into_split();
    let mut said = Vec::new();
    let mut pace = interval(Duration::from_millis(50));
    let mut closed = std::pin::pin!(input.read_to_end(&mut said));
    loop {
        tokio::select! {
            // A reset is an end, too.
            _ = &mut closed => break,
            _ = pace.tick() => drop(output.write_all(b"x").await),
        }
    }
    (begun.elapsed(), String::from_utf8_lossy(&said).into_owned())
}

#[tokio::test]
async fn slow_heads_get_no_more_than_their_time() {
    let limits = json!({ "header_timeout": "1s", "connections": 256 });
    let (_echo, gateway) = gateway(limits).await;
    let downstream = Modern::new(&gateway.url("/mcp/all"), json!({}));
    let mut slow = JoinSet::new();
    for number in 0..SLOW {
        // Some say nothing at all, some are in the middle of a header.
        let start = match number % 4 {
            0 => "",
            1 => "P",
            2 => "POST /mcp HTTP/1.1\r\nhost: ",
            _ => "POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-slow: ",
        };
        slow.spawn(drip(gateway.address.clone(), start.into()));
    }
    let mut ended = 0;
    while ended < SLOW {
        tokio::select! {
            Some(one) = slow.join_next() => {
                let (took, _) = one.unwrap();
                assert!(took <= PATIENCE + SLACK, "open for {took:?}");
                ended += 1;
            }
            () = calls(&downstream) => {}
        }
    }
}

#[tokio::test]
async fn slow_bodies_get_no_more_than_their_time() {
    let (_echo, gateway) = gateway(json!({ "body_timeout": "1s" })).await;
    let downstream = Modern::new(&gateway.url("/mcp/all"), json!({}));
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                content-length: 1000000\r\n\r\n{";
    let slow = drip(gateway.address.clone(), head.into());
    tokio::pin!(slow);
    let (took, said) = loop {
        tokio::select! {
            ended = &mut slow => break ended,
            () = calls(&downstream) => {}
        }
    };
    assert!(took <= PATIENCE + SLACK, "open for {took:?}");
    assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
}

/// A downstream that asks for more than the system takes off the gateway's hands, and reads none.
#[tokio::test]
async fn an_answer_that_nobody_reads_is_given_up() {
    const ANSWER: usize = 14 * 1024 * 1024;
    let (_echo, gateway) = gateway(json!({ "write_timeout": "1s" })).await;
    let downstream = Modern::new(&gateway.url("/mcp/all"), json!({}));
    let arguments = json!({ "text": "x".repeat(ANSWER) });
    let params = json!({
        "name": "good__echo", "arguments": arguments, "_meta": downstream.envelope(),
    });
    let body = compose::request("1", "tools/call", &params.to_string());
    let head = format!(
        "POST /mcp/all HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         mcp-protocol-version: {MODERN}\r\nmcp-method: tools/call\r\nmcp-name: good__echo\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(&gateway.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body).await.unwrap();
    within("the answer's head", stream.readable())
        .await
        .unwrap();
    let given_up = gateway.until_logged("closed a connection whose other end does not read");
    bounded("an end", PATIENCE + SLACK, given_up).await;
    calls(&downstream).await;
}

/// Opens a connection, has one request answered on it, and keeps it.
async fn occupy(address: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    ask(&mut stream).await;
    within("an answer", stream.readable()).await.unwrap();
    stream
}

async fn ask(stream: &mut TcpStream) {
    let head = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(head).await.unwrap();
}

#[tokio::test]
async fn connections_past_the_bound_wait_and_are_served_later() {
    /// How long a connection is watched that must not be served.
    const UNSERVED: Duration = Duration::from_millis(300);
    let (_echo, gateway) = gateway(json!({ "connections": 4, "header_timeout": "60s" })).await;
    // Those with which the gateway was asked whether it is ready are still pooled.
    let mut held = Vec::new();
    let waiting = loop {
        let mut stream = TcpStream::connect(&gateway.address).await.unwrap();
        ask(&mut stream).await;
        match timeout(UNSERVED, stream.readable()).await {
            Ok(ready) => {
                ready.unwrap();
                held.push(stream);
            }
            Err(_) => break stream,
        }
        assert!(held.len() <= 4, "more connections than the bound");
    };
    assert!(!held.is_empty());
    held.pop();
    within("the next to be served", waiting.readable())
        .await
        .unwrap();
    let mut answer = vec![0; 12];
    let read = waiting.try_read(&mut answer).unwrap();
    assert_eq!(&answer[..read], b"HTTP/1.1 200");
}

/// Whoever owns the gateway can stop calls although strangers hold every place.
#[tokio::test]
async fn the_owner_is_served_when_every_place_is_taken() {
    let (_echo, gateway) = gateway(json!({ "connections": 2, "header_timeout": "60s" })).await;
    let held = [
        occupy(&gateway.address).await,
        occupy(&gateway.address).await,
    ];
    let stopped = gateway.home.run(&["stop-calls"]).await;
    assert!(stopped.status.success(), "{stopped:?}");
    let resumed = gateway.home.run(&["resume-calls"]).await;
    assert!(resumed.status.success(), "{resumed:?}");
    drop(held);
}

/// Regression for #8: programs of the same user that held the socket kept its owner from stopping calls.
#[tokio::test]
async fn who_holds_the_socket_and_says_nothing_makes_room() {
    let (_echo, gateway) = gateway(json!({ "connections": 4, "header_timeout": "1h" })).await;
    let socket = gateway.home.data().join(SOCKET);
    let mut held = Vec::new();
    for _ in 0..64 {
        held.push(UnixStream::connect(&socket).await.unwrap());
    }
    let stopped = gateway.home.run(&["stop-calls"]).await;
    assert!(stopped.status.success(), "{stopped:?}");
    drop(held);
}

/// Regression for #8: a socket that is full was told as a gateway that does not run.
#[tokio::test]
async fn where_the_socket_is_full_that_is_said_and_the_key_leads_around_it() {
    let (_echo, gateway) = gateway(json!({})).await;
    let home = &gateway.home;
    // In the place of the gateway's: nobody takes anybody in here.
    let socket = home.data().join(SOCKET);
    std::fs::remove_file(&socket).unwrap();
    let full = UnixSocket::new_stream().unwrap();
    full.bind(&socket).unwrap();
    let full = full.listen(1).unwrap();
    let mut held = Vec::new();
    while let Ok(stream) = UnixStream::connect(&socket).await {
        held.push(stream);
    }
    let refused = home.run(&["stop-calls"]).await;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        said.contains("is full") && said.contains("MCPPROXY_API_KEY"),
        "{said}"
    );
    assert!(!said.contains("mcpproxy serve"), "{said}");
    home.configure(&json!({ "listen": gateway.address }).to_string());
    let mut command = home.command(&["stop-calls"]);
    let command = command.env("MCPPROXY_API_KEY", home.key()).output();
    let stopped = within("the command", command).await.unwrap();
    assert!(stopped.status.success(), "{stopped:?}");
    drop((held, full));
}

/// Streams that are open and say nothing are no calls in flight.
#[tokio::test]
async fn open_streams_take_no_place_from_calls() {
    const STREAMS: usize = 12;
    let limits = json!({ "calls_in_flight": 8, "calls_per_caller": 4 });
    let (_echo, gateway) = gateway(limits).await;
    let downstream = Modern::new(&gateway.url("/mcp/all"), json!({}));
    let session = Legacy::open(&gateway.url("/mcp/all"), json!({})).await;
    let mut open = vec![session.listen(None).await];
    for number in 0..STREAMS {
        let params = json!({ "notifications": { "toolsListChanged": true } });
        let id = number.to_string();
        let mut stream = downstream.raw(&id, "subscriptions/listen", params).await;
        stream
            .notification("notifications/subscriptions/acknowledged")
            .await;
        open.push(stream);
    }
    calls(&downstream).await;
}
