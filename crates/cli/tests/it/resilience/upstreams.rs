//! Upstreams that crash, never start or never answer: they come back by themselves, and nobody
//! else notices.

use std::time::Duration;

use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::Instant;

use super::measure::bounded;
use crate::support::{
    Gateway, Home, Legacy, Modern, Over, Upstream, names_of, text_of, until, within,
};

/// How long a gateway may take to listen, whatever its upstreams do.
const LISTENS: Duration = Duration::from_secs(2);
/// How long a list waits for upstreams that are being started (2 s), and time to answer.
const LISTS: Duration = Duration::from_millis(3500);
/// How long a call of an upstream that is up may take while another one is in trouble.
const CALLS: Duration = Duration::from_secs(1);

async fn echo() -> Upstream {
    Upstream::start(Sample::Echo, EraSupport::Both, Over::Shared).await
}

async fn calls(downstream: &Modern, text: &str) {
    let call = downstream.call("good__echo", json!({ "text": text }));
    let result = bounded("a call", CALLS, call).await;
    assert_eq!(text_of(&result), text);
}

#[tokio::test]
async fn a_crashed_upstream_comes_back_with_its_tools() {
    let good = echo().await;
    let crashing = echo().await;
    // A crash is the first in a row if the upstream was up for longer than `backoff_max` before.
    let restart = json!({ "backoff_min": "1ms", "backoff_max": "1ms", "max_attempts": 3 });
    let crashing = crashing.with("restart", restart);
    let upstreams = json!({ "good": good.settings, "bad": crashing });
    let policy = json!({ "destructive": "allow" });
    let config = json!({ "mcpServers": upstreams, "tool_policy": policy });
    let gateway = Gateway::start(&config).await;
    let downstream = Modern::new(&gateway.url("/mcp/all"), json!({}));
    for _ in 0..4 {
        let params = json!({ "name": "bad__crash", "arguments": {} });
        let mut reply = downstream.request("tools/call", params).await;
        let error = reply.error().await;
        assert_eq!(error["data"]["error"], "upstream_failed", "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("upstream `bad` failed: "), "{error}");
        assert_eq!(error["data"]["retry"], false, "it may have acted: {error}");
        calls(&downstream, "meanwhile").await;
        until("the upstream to come back", || async {
            let params = json!({ "name": "bad__add", "arguments": { "a": 1, "b": 2 } });
            let mut reply = downstream.request("tools/call", params).await;
            let answer = reply.answer().await;
            answer.get("result").is_some().then_some(())
        })
        .await;
        let listed = downstream.ask("tools/list", json!({})).await;
        assert!(names_of(&listed["tools"]).contains(&"bad__echo"));
        // Longer than `backoff_max`, so that the next crash is the first in a row.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn starts_are_farther_and_farther_apart() {
    const WAITS: [u64; 4] = [50, 100, 200, 200];
    let folder = TempDir::new().unwrap();
    let starts = folder.path().join("starts");
    let script = format!("date +%s%N >> {}; exit 7", starts.display());
    let restart = json!({ "backoff_min": "50ms", "backoff_max": "200ms" });
    let failing = json!({
        "command": "sh", "args": ["-c", script], "era": "legacy", "restart": restart,
    });
    let gateway = Gateway::start(&json!({ "mcpServers": { "failing": failing } })).await;
    let times: Vec<u64> = until("five starts", || async {
        let text = std::fs::read_to_string(&starts).ok()?;
        let times: Vec<_> = text.lines().map(|line| line.parse().unwrap()).collect();
        (times.len() > WAITS.len()).then_some(times)
    })
    .await;
    for (pair, wait) in times.windows(2).zip(WAITS) {
        let waited = Duration::from_nanos(pair[1] - pair[0]);
        assert!(
            waited >= Duration::from_millis(wait),
            "{waited:?} < {wait} ms"
        );
    }
    let servers = gateway.api("/servers").await;
    assert_eq!(
        servers[0]["status"], "down: exited with code 7",
        "{servers}"
    );
}

/// One upstream has no program, one never answers, one is slow to start and one is fine.
#[tokio::test]
async fn dead_and_silent_upstreams_hold_nobody_up() {
    let good = echo().await;
    let upstreams = json!({
        "dead": { "command": "no-such-program-anywhere" },
        "good": good.settings,
        "silent": { "command": "sh", "args": ["-c", "while read -r line; do :; done"] },
        "unreachable": { "url": "http://127.0.0.1:1/mcp" },
    });
    let home = Home::new(&json!({ "mcpServers": upstreams }));
    let launched = bounded("listening", LISTENS, Gateway::launch(home, &[])).await;
    let gateway = launched.unwrap();
    let endpoint = gateway.url("/mcp/all");
    let modern = Modern::new(&endpoint, json!({}));
    let open = Legacy::open(&endpoint, json!({}));
    let legacy = bounded("opening a session", CALLS, open).await;

    for listed in [
        bounded("a list", LISTS, modern.ask("tools/list", json!({}))).await,
        bounded("a list", LISTS, legacy.ask("tools/list", json!({}))).await,
    ] {
        let names = names_of(&listed["tools"]);
        assert!(names.contains(&"good__echo"), "{names:?}");
    }
    calls(&modern, "at once").await;

    let missing = |name: &'static str| {
        let modern = modern.clone();
        async move {
            let params = json!({ "name": format!("{name}__x"), "arguments": {} });
            let mut reply = modern.request("tools/call", params).await;
            reply.error().await
        }
    };
    let dead = bounded("a refusal", CALLS, missing("dead")).await;
    assert_eq!(dead["data"]["error"], "upstream_down", "{dead}");
    assert!(message(&dead).contains("no such program in PATH"), "{dead}");
    let unreachable = bounded("a refusal", CALLS, missing("unreachable")).await;
    assert_eq!(unreachable["data"]["retry"], true, "{unreachable}");
}

fn message(error: &Value) -> &str {
    error["message"].as_str().unwrap()
}

/// It takes the probe for the modern era only after the gateway has given it up, and then refuses
/// the legacy opening.
#[tokio::test]
async fn an_upstream_that_is_slow_to_start_is_understood() {
    let script = r#"
        sleep 3.3
        answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$1" "$2"; }
        while IFS= read -r line; do
            id=$${line#*'"id":'}; id=$${id%%,*}
            case "$line" in
                *'"method":"server/discover"'*) answer "$id" '"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}' ;;
                *'"method":"tools/list"'*) answer "$id" '"result":{"resultType":"complete","tools":[{"name":"do","inputSchema":{"type":"object"}}]}' ;;
                *) answer "$id" '"error":{"code":-32601,"message":"not here"}' ;;
            esac
        done
    "#;
    let slow = json!({ "command": "sh", "args": ["-c", script] });
    let home = Home::new(&json!({ "mcpServers": { "slow": slow } }));
    let gateway = Gateway::launch(home, &[]).await.unwrap();
    gateway.until_logged("upstream `slow` is up").await;
    assert!(!gateway.log().contains("is down"), "{}", gateway.log());
}

/// The deadline of a call holds whatever the upstream does.
#[tokio::test]
async fn a_call_that_hangs_ends_at_its_deadline() {
    const DEADLINE: Duration = Duration::from_millis(300);
    let hanging = echo().await;
    let hanging = hanging.with("call_timeout", json!("300ms"));
    let gateway = Gateway::start(&json!({ "mcpServers": { "bad": hanging } })).await;
    let downstream = Modern::new(&gateway.url("/mcp/all"), json!({}));
    let begun = Instant::now();
    let params = json!({ "name": "bad__hang", "arguments": {} });
    let mut reply = within("an answer", downstream.request("tools/call", params)).await;
    let error = reply.error().await;
    assert_eq!(error["data"]["error"], "timed_out", "{error}");
    let took = begun.elapsed();
    assert!(took >= DEADLINE && took <= DEADLINE + CALLS, "{took:?}");
}

/// Answers the opening, and every call with half of an answer.
const MALFORMED: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"half","version":"1"}}}' ;;
    *'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"half","inputSchema":{"type":"object"}}]}}' ;;
    *'"tools/call"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[' ;;
  esac
done"#;

#[tokio::test]
async fn an_answer_that_cannot_be_read_ends_its_call_at_once() {
    let half = json!({ "command": "sh", "args": ["-c", MALFORMED], "era": "legacy" });
    let config = json!({ "routing_mode": "all", "mcpServers": { "half": half } });
    let gateway = Gateway::start(&config).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let params = json!({ "name": "half__half", "arguments": {} });
    // The deadline of a call is minutes away; the suite's own patience is seconds.
    let error = downstream.request("tools/call", params).await.error().await;
    assert!(error.to_string().contains("half"), "{error}");
}
