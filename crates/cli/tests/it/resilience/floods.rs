//! Upstreams that say too much: storms of notifications, answers without end, and downstreams
//! that do not read what they are sent.

use std::time::Duration;

use mcpproxy_testkit::{Broken, EraSupport, Sample};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::measure::{bounded, peak};
use crate::support::{Gateway, Legacy, Modern, Over, Upstream, scripted, text_of, until, within};

/// How many notifications a storm has.
const STORM: usize = 100_000;
/// How long another caller's call may take meanwhile.
const CALLS: Duration = Duration::from_secs(2);
/// The most memory that a gateway may have had after all of this, in megabytes.
const MEMORY: u64 = 100;
/// The largest answer of an upstream that the gateway here takes.
const ANSWER: &str = "8MiB";

async fn quiet() -> Upstream {
    Upstream::start(Sample::Echo, EraSupport::Both, Over::Shared).await
}

async fn calls(downstream: &Modern) {
    let call = downstream.call("quiet__echo", json!({ "text": "still here" }));
    let result = bounded("a call", CALLS, call).await;
    assert_eq!(text_of(&result), "still here");
}

/// Keeps calling until `done` resolves, and returns what it came to.
async fn while_others_call<T>(downstream: &Modern, done: impl Future<Output = T>) -> T {
    tokio::pin!(done);
    loop {
        tokio::select! {
            value = &mut done => return value,
            () = calls(downstream) => {}
        }
    }
}

#[tokio::test]
async fn a_storm_of_changes_does_not_swell_the_gateway() {
    for over in [Over::Shared, Over::Stdio, Over::Http] {
        let (quiet, stormy) = (
            quiet().await,
            Upstream::start(Sample::Echo, EraSupport::LegacyOnly, over).await,
        );
        let upstreams = json!({ "quiet": quiet.settings, "stormy": stormy.settings });
        let gateway = Gateway::start(&json!({ "mcpServers": upstreams })).await;
        let others = Modern::new(&gateway.url("/mcp/all"), json!({}));
        let downstream = Legacy::open(&gateway.url("/mcp/all"), json!({})).await;
        let mut heard = downstream.listen(None).await;

        let storm = downstream.call("stormy__storm", json!({ "count": STORM }));
        let result = while_others_call(&others, Box::pin(within("the storm to end", storm))).await;
        assert_eq!(text_of(&result), format!("told {STORM} times"));
        // What really changed is still told.
        downstream.call("stormy__change", json!({})).await;
        heard.notification("notifications/tools/list_changed").await;
        calls(&others).await;
        let memory = peak(&gateway);
        assert!(memory < MEMORY, "{over:?}: {memory} MB");
    }
}

async fn fails(downstream: &Modern, tool: &str) -> Value {
    let params = json!({ "name": tool, "arguments": { "text": "x" } });
    let mut reply = downstream.request("tools/call", params).await;
    reply.error().await
}

#[tokio::test]
async fn an_answer_without_end_is_cut_off() {
    let quiet = quiet().await;
    let endless = Upstream::start(Sample::Echo, EraSupport::Both, Over::Http).await;
    let upstream = endless.http.as_ref().unwrap();
    // A line of a child that does not end either.
    let child = scripted("head -c 1000000000 /dev/zero | tr '\\0' x; exit 0");
    let upstreams = json!({ "quiet": quiet.settings, "http": endless.settings, "child": child });
    let limits = json!({ "response_bytes": ANSWER });
    let gateway = Gateway::start(&json!({ "limits": limits, "mcpServers": upstreams })).await;
    upstream.break_answers("tools/call", Broken::Endless);
    let downstream = Modern::new(&gateway.url("/mcp/all"), json!({}));
    for tool in ["http__echo", "child__do"] {
        let error = while_others_call(&downstream, Box::pin(fails(&downstream, tool))).await;
        assert_eq!(error["data"]["error"], "upstream_failed", "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("larger than 8388608 bytes"), "{message}");
    }
    calls(&downstream).await;
    let memory = peak(&gateway);
    assert!(memory < MEMORY, "{memory} MB");

    // Both serve again once they behave.
    upstream.mend();
    let text = json!({ "text": "mended" });
    assert_eq!(
        text_of(&downstream.call("http__echo", text).await),
        "mended"
    );
    until("the child to be started anew", || async {
        let answer = downstream.ask("tools/list", json!({})).await;
        answer.to_string().contains("child__do").then_some(())
    })
    .await;
}

/// A stream that is opened and never read, while there is much to say on it.
#[tokio::test]
async fn a_downstream_that_does_not_read_blocks_nobody() {
    let quiet = quiet().await;
    let stormy = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, Over::Stdio).await;
    let upstreams = json!({ "quiet": quiet.settings, "stormy": stormy.settings });
    let gateway = Gateway::start(&json!({ "mcpServers": upstreams })).await;
    let others = Modern::new(&gateway.url("/mcp/all"), json!({}));
    let deaf = Legacy::open(&gateway.url("/mcp/all"), json!({})).await;
    let mut stream = TcpStream::connect(&gateway.address).await.unwrap();
    let head = format!(
        "GET /mcp/all HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\
         mcp-session-id: {}\r\n\r\n",
        deaf.session
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.readable().await.unwrap();

    let storm = deaf.call("stormy__storm", json!({ "count": STORM }));
    while_others_call(&others, Box::pin(within("the storm to end", storm))).await;
    // An answer that is asked for and not read.
    let mut second = TcpStream::connect(&gateway.address).await.unwrap();
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"quiet__big","arguments":{"bytes":16777216}}}"#;
    let head = format!(
        "POST /mcp/all HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-session-id: {}\r\n\
         content-length: {}\r\n\r\n{body}",
        deaf.session,
        body.len()
    );
    second.write_all(head.as_bytes()).await.unwrap();
    within("an answer to begin", second.readable())
        .await
        .unwrap();
    calls(&others).await;
    let echo = deaf.call("quiet__echo", json!({ "text": "its own session, too" }));
    bounded("a call", CALLS, echo).await;
    let memory = peak(&gateway);
    assert!(memory < MEMORY, "{memory} MB");
}
