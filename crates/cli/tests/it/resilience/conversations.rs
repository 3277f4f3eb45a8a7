//! Conversations with upstreams that forget, refuse or hang, and sessions that end meanwhile: no call
//! goes unanswered or unrecorded, and nothing is left open.

use std::time::Duration;

use mcpproxy_mcp::compose;
use mcpproxy_testkit::{EraSupport, HttpUpstream, Sample};
use serde_json::{Value, json};

use super::measure::{bounded, marked, marker, until_marked};
use crate::support::{Bridge, Gateway, Home, Legacy, Over, Upstream, names_of, text_of, until};

/// How long an answer may take that nothing holds up.
const AT_ONCE: Duration = Duration::from_secs(1);
/// How long a call may take here, and how much later it may end.
const DEADLINE: Duration = Duration::from_secs(1);
const LATE: Duration = Duration::from_secs(2);
/// How long an upstream may take to hear that a conversation is over (2 s), and time to end it.
const CLOSES: Duration = Duration::from_secs(5);

/// A legacy upstream over HTTP, and a gateway with it as `echo`.
async fn start(key: &str, value: Value) -> (Upstream, Gateway) {
    let upstream = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, Over::Http).await;
    let settings = upstream.with(key, value);
    let config = json!({ "routing_mode": "all", "mcpServers": { "echo": settings } });
    let gateway = Gateway::start(&config).await;
    (upstream, gateway)
}

async fn start_by_session() -> (Upstream, Gateway) {
    start("scope", json!("session")).await
}

async fn open(gateway: &Gateway) -> Legacy {
    Legacy::open(&gateway.url("/mcp"), json!({ "elicitation": {} })).await
}

async fn echoes(downstream: &Legacy) {
    let result = downstream.call("echo__echo", json!({ "text": "x" })).await;
    assert_eq!(text_of(&result), "x");
}

async fn until_sessions(http: &HttpUpstream, count: usize) {
    let reached = until("sessions at the upstream", || async {
        (http.sessions() == count).then_some(())
    });
    bounded("ending sessions", CLOSES, reached).await;
}

#[tokio::test]
async fn a_shared_upstream_that_forgets_is_greeted_again() {
    let (upstream, gateway) = start("scope", json!("shared")).await;
    let downstream = open(&gateway).await;
    for _ in 0..3 {
        echoes(&downstream).await;
        upstream.http.as_ref().unwrap().forget_sessions();
    }
    echoes(&downstream).await;
    let servers = gateway.api("/servers").await;
    assert_eq!(servers[0]["instances"], 1, "{servers}");
    assert!(!gateway.log().contains("is down"), "{}", gateway.log());
}

#[tokio::test]
async fn a_call_that_left_is_on_record_though_its_upstream_forgot() {
    let (upstream, gateway) = start("call_timeout", json!("1s")).await;
    let http = upstream.http.as_ref().unwrap();
    let downstream = open(&gateway).await;
    echoes(&downstream).await;
    let records = || {
        let all = gateway.home.activity();
        let calls = all.iter().filter(|one| one["method"] == "tools/call");
        calls.count()
    };
    until("the record", || async { (records() == 1).then_some(()) }).await;
    http.forget_sessions();
    http.hang_on("initialize");
    let params = json!({ "name": "echo__echo", "arguments": { "text": "x" } });
    let call = async { downstream.request("tools/call", params).await.error().await };
    let error = bounded("a call", DEADLINE + LATE, call).await;
    assert_eq!(error["data"]["error"], "timed_out", "{error}");
    until("the record", || async { (records() == 2).then_some(()) }).await;
}

#[tokio::test]
async fn a_conversation_that_is_opened_for_a_session_that_ended_is_ended_too() {
    let (upstream, gateway) = start_by_session().await;
    let http = upstream.http.as_ref().unwrap();
    let own = http.sessions();
    let greetings = upstream.received_with("\"initialize\"").len();
    http.delay(Duration::from_millis(300));
    let downstream = open(&gateway).await;
    let params = json!({ "name": "echo__echo", "arguments": { "text": "x" } });
    let call = async {
        downstream
            .request("tools/call", params)
            .await
            .answer()
            .await
    };
    let end = async {
        until("the opening", || async {
            let now = upstream.received_with("\"initialize\"").len();
            (now > greetings).then_some(())
        })
        .await;
        downstream.end().await;
    };
    let (answer, ()) = tokio::join!(call, end);
    assert!(answer.get("error").is_some(), "{answer}");
    until_sessions(http, own).await;
    assert!(upstream.received_with("tools/call").is_empty());
}

#[tokio::test]
async fn an_answer_that_the_upstream_does_not_take_ends_the_call_at_its_deadline() {
    let (upstream, gateway) = start("call_timeout", json!("1s")).await;
    let downstream = open(&gateway).await;
    upstream.http.as_ref().unwrap().hang_on("\"action\"");
    let params = json!({ "name": "echo__ask", "arguments": { "question": "Sure?" } });
    let mut reply = downstream.request("tools/call", params).await;
    let asked = reply
        .until("a question", |one| one["method"] == "elicitation/create")
        .await;
    let answer = json!({ "action": "accept", "content": { "answer": "yes" } });
    downstream.respond(&asked, answer).await;
    let error = bounded("a call", DEADLINE + LATE, reply.error()).await;
    assert_eq!(error["data"]["error"], "timed_out", "{error}");
}

#[tokio::test]
async fn a_notification_that_an_upstream_does_not_take_holds_nobody_up() {
    let (upstream, gateway) = start_by_session().await;
    let mut lines = Bridge::start(&gateway.home, &[]);
    lines.open_legacy().await;
    lines.call("echo__echo", json!({ "text": "x" })).await;
    let method = "notifications/roots/list_changed";
    upstream.http.as_ref().unwrap().hang_on(method);
    for _ in 0..3 {
        lines.send(&compose::notification(method, "{}")).await;
    }
    upstream.until_received(method).await;
    bounded("an answer", AT_ONCE, lines.ask("ping", json!({}))).await;
    let call = lines.call("echo__echo", json!({ "text": "x" }));
    bounded("an answer", AT_ONCE, call).await;
}

#[tokio::test]
async fn connections_of_sessions_that_ended_are_closed_whatever_the_upstream_does() {
    const SESSIONS: usize = 6;
    for hanging in ["DELETE", "GET"] {
        let (upstream, gateway) = start_by_session().await;
        let http = upstream.http.as_ref().unwrap();
        http.hang_on(hanging);
        for _ in 0..SESSIONS {
            let downstream = open(&gateway).await;
            let _general = downstream.listen(None).await;
            echoes(&downstream).await;
            downstream.end().await;
        }
        let closed = until("connections to close", || async {
            (http.connections() < SESSIONS).then_some(())
        });
        bounded("closing connections", CLOSES, closed).await;
    }
}

#[tokio::test]
async fn conversations_are_ended_when_the_upstream_is_restarted_or_the_gateway_stops() {
    let (upstream, gateway) = start_by_session().await;
    let http = upstream.http.as_ref().unwrap();
    for _ in 0..3 {
        echoes(&open(&gateway).await).await;
    }
    assert!(http.sessions() > 3);
    let restarted = gateway.home.run(&["upstream", "restart", "echo"]).await;
    assert!(restarted.status.success(), "{restarted:?}");
    // One that is being opened when the gateway stops is known to the upstream alone.
    until("the upstream to be up again", || async {
        let servers = gateway.api("/servers").await;
        (servers[0]["instances"] == 1 && servers[0]["status"] == "up").then_some(())
    })
    .await;
    until_sessions(http, 1).await;
    gateway.stop().await;
    assert_eq!(http.sessions(), 0);
}

/// Answers its opening and nothing else.
fn silent(marker: &str) -> Value {
    let script = r#"
        while IFS= read -r line; do
            id=$${line#*'"id":'}; id=$${id%%,*}
            case "$line" in *'"initialize"'*)
                printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
            esac
        done"#;
    let args = json!(["-c", script, marker]);
    json!({ "command": "sh", "args": args, "era": "legacy", "shutdown_grace": "100ms" })
}

#[tokio::test]
async fn an_upstream_that_is_removed_while_its_lists_are_read_ends_at_once() {
    let marker = marker();
    let home = Home::new(&json!({ "mcpServers": { "slow": silent(&marker) } }));
    let gateway = Gateway::launch(home, &[]).await.unwrap();
    until_marked(&marker, 1).await;
    let removed = gateway.home.run(&["upstream", "remove", "slow"]).await;
    assert!(removed.status.success(), "{removed:?}");
    let gone = until("the child to end", || async {
        marked(&marker).is_empty().then_some(())
    });
    bounded("ending the child", CLOSES, gone).await;
}

#[tokio::test]
async fn a_resource_of_an_upstream_that_is_up_does_not_wait_for_others() {
    let upstream = Upstream::start(Sample::Echo, EraSupport::Both, Over::Http).await;
    let upstreams = json!({ "echo": upstream.settings, "slow": silent("") });
    let home = Home::new(&json!({ "routing_mode": "all", "mcpServers": upstreams }));
    let gateway = Gateway::launch(home, &[]).await.unwrap();
    gateway.until_logged("upstream `echo` is up").await;
    let downstream = open(&gateway).await;
    let listed = downstream.ask("resources/list", json!({})).await;
    let uri = listed["resources"][0]["uri"].clone();
    let read = downstream.ask("resources/read", json!({ "uri": uri }));
    let read = bounded("reading", AT_ONCE, read).await;
    assert_eq!(read["contents"][0]["uri"], uri);
}

#[tokio::test]
async fn an_upstream_that_declares_more_than_it_has_is_up() {
    let script = r#"
        answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$1" "$2"; }
        while IFS= read -r line; do
            id=$${line#*'"id":'}; id=$${id%%,*}
            case "$line" in
                *'"method":"initialize"'*) answer "$id" '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
                *'"method":"tools/list"'*) answer "$id" '"result":{"tools":[{"name":"do","inputSchema":{"type":"object"}}]}' ;;
                *'"method":"notifications'*) ;;
                *) answer "$id" '"error":{"code":-32601,"message":"not here"}' ;;
            esac
        done
    "#;
    let boastful = json!({ "command": "sh", "args": ["-c", script], "era": "legacy" });
    let config = json!({ "routing_mode": "all", "mcpServers": { "boastful": boastful } });
    let gateway = Gateway::start(&config).await;
    let listed = open(&gateway).await.ask("tools/list", json!({})).await;
    assert_eq!(names_of(&listed["tools"]), ["boastful__do"]);
    let servers = gateway.api("/servers").await;
    let problems = servers[0]["problems"].to_string();
    for method in ["prompts/list", "resources/list"] {
        assert!(problems.contains(method), "{problems}");
    }
}
