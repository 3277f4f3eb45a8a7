//! A new configuration is put in force under load, and a bad one leaves the last good one alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::{
    Gateway, Http, Legacy, Modern, Over, Upstream, names_of, scripted, text_of, until,
};

async fn echo(over: Over) -> Upstream {
    Upstream::start(Sample::Echo, EraSupport::Both, over).await
}

fn config(upstreams: &[(&str, &Value)]) -> Value {
    let upstreams: serde_json::Map<_, _> = upstreams
        .iter()
        .map(|&(name, settings)| (name.to_owned(), settings.clone()))
        .collect();
    json!({ "routing_mode": "all", "mcpServers": upstreams })
}

/// Asks for a reload by the interface and returns the answer.
async fn reload(gateway: &Gateway) -> (u16, Value) {
    let (status, answer) = gateway
        .owner()
        .post("/api/v1/config/reload", &json!({}))
        .await;
    (status.as_u16(), answer)
}

/// Calls in turn until it is told to stop, and counts.
async fn keep_calling(http: Http, client: usize, stop: Arc<AtomicBool>, made: Arc<AtomicUsize>) {
    let legacy = Legacy::open_with(http.clone(), json!({})).await;
    let modern = Modern::with(http, json!({}));
    while !stop.load(Ordering::Relaxed) {
        for tool in ["line__echo", "web__echo"] {
            let said = format!("{client}-{}", made.fetch_add(1, Ordering::Relaxed));
            let arguments = json!({ "text": said });
            let result = if client.is_multiple_of(2) {
                legacy.call(tool, arguments).await
            } else {
                modern.call(tool, arguments).await
            };
            assert_eq!(text_of(&result), said);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_callers_do_not_notice_twenty_reloads() {
    let (line, web) = (echo(Over::Shared).await, echo(Over::Http).await);
    let kept = [("line", &line.settings), ("web", &web.settings)];
    let gateway = Gateway::start(&config(&kept)).await;
    let (stop, made) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let http = Http::new(&gateway.url("/mcp"));
    let mut callers = JoinSet::new();
    for client in 0..50 {
        let (stop, made) = (Arc::clone(&stop), Arc::clone(&made));
        callers.spawn(keep_calling(http.clone(), client, stop, made));
    }
    let lazy = line.with("start", json!("lazy"));
    for round in 0..20 {
        let before = made.load(Ordering::Relaxed);
        let mut next = config(&kept);
        if round % 2 == 0 {
            next["mcpServers"]["unrelated"] = lazy.clone();
        }
        let level = ["info", "warn", "debug"][round % 3];
        next["log"] = json!({ "level": level });
        gateway.home.configure(&next.to_string());
        assert_eq!(reload(&gateway).await.0, 200);
        let servers = gateway.api("/servers").await;
        assert_eq!(names_of(&servers).contains(&"unrelated"), round % 2 == 0);
        until("calls under the new configuration", || async {
            (made.load(Ordering::Relaxed) > before + 20).then_some(())
        })
        .await;
    }
    stop.store(true, Ordering::Relaxed);
    while let Some(ended) = callers.join_next().await {
        ended.unwrap();
    }
    assert_eq!(
        line.received_with("initialize").len() + line.received_with("discover").len(),
        1
    );
}

#[tokio::test]
async fn a_call_in_flight_outlives_the_removal_of_its_upstream() {
    let (line, web) = (echo(Over::Shared).await, echo(Over::Http).await);
    let both = [("line", &line.settings), ("web", &web.settings)];
    let gateway = Gateway::start(&config(&both)).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let mut general = downstream.listen(None).await;
    let slow = {
        let other = Legacy::open(&gateway.url("/mcp"), json!({})).await;
        tokio::spawn(async move { other.call("line__slow", json!({ "ms": 1500 })).await })
    };
    line.until_received("\"slow\"").await;
    let less = config(&[("web", &web.settings)]);
    gateway.home.configure(&less.to_string());
    assert_eq!(reload(&gateway).await.0, 200);
    general
        .notification("notifications/tools/list_changed")
        .await;
    let tools = downstream.ask("tools/list", json!({})).await;
    let names = names_of(&tools["tools"]);
    assert!(
        names.iter().all(|name| name.starts_with("web__")),
        "{names:?}"
    );
    assert_eq!(text_of(&slow.await.unwrap()), "took 1500 ms");
    let params = json!({ "name": "line__echo", "arguments": { "text": "x" } });
    let error = downstream.request("tools/call", params).await.error().await;
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("no upstream is named `line`")
    );
    let found = gateway.api("/index/search?q=echo").await;
    assert!(
        names_of(&found).iter().all(|name| name.starts_with("web:")),
        "{found}"
    );
}

#[tokio::test]
async fn a_bad_file_keeps_the_last_good_configuration_and_says_so() {
    let line = echo(Over::Shared).await;
    let good = config(&[("line", &line.settings)]);
    let gateway = Gateway::start(&good).await;
    let mut bad = good.clone();
    bad["mcpServers"] = json!({ "line": { "comand": "x" } });
    gateway.home.configure(&bad.to_string());
    // Seen by itself: the files are watched.
    let logged = gateway.until_logged("the last good one stays").await;
    assert!(
        logged.contains("mcpServers.line.comand: unknown key"),
        "{logged}"
    );
    let problem = gateway.api("/status").await["config_problem"].clone();
    assert!(problem.as_str().unwrap().contains("comand"), "{problem}");
    let diagnosed = gateway.api("/diagnostics").await.to_string();
    assert!(diagnosed.contains("comand"), "{diagnosed}");
    let doctor = gateway.home.run(&["doctor"]).await;
    let said = [doctor.stdout, doctor.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.contains("comand"), "{said}");
    assert_ne!(doctor.status.code(), Some(0), "{said}");
    let (status, answer) = reload(&gateway).await;
    assert_eq!(status, 409, "{answer}");
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let result = downstream
        .call("line__echo", json!({ "text": "still" }))
        .await;
    assert_eq!(text_of(&result), "still");

    gateway.home.configure(&good.to_string());
    until("the problem to be over", || async {
        let status = gateway.api("/status").await;
        status["config_problem"].is_null().then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_hangup_reads_the_files_again() {
    let line = echo(Over::Shared).await;
    let gateway = Gateway::start(&config(&[])).await;
    gateway
        .home
        .configure(&config(&[("line", &line.settings)]).to_string());
    gateway.signal("HUP").await;
    gateway.until_logged("1 added, 0 removed, 0 changed").await;
    until("the new upstream", || async {
        let servers = gateway.api("/servers").await;
        (names_of(&servers) == ["line"]).then_some(())
    })
    .await;
    let modern = Modern::new(&gateway.url("/mcp"), json!({}));
    let result = modern.call("line__echo", json!({ "text": "x" })).await;
    assert_eq!(text_of(&result), "x");
}

#[tokio::test]
async fn a_change_that_needs_a_restart_says_so() {
    let gateway = Gateway::start(&json!({})).await;
    gateway.home.configure(
        r#"{"activity":{"durability":"strict"},"api_key":"0123456789abcdef0123456789abcdef"}"#,
    );
    gateway.signal("HUP").await;
    gateway
        .until_logged("`api_key` changed, which takes effect only after a restart")
        .await;
}

#[tokio::test]
async fn the_level_of_the_log_changes_without_a_restart() {
    let gateway = Gateway::start(&json!({ "log": { "level": "error" } })).await;
    let refuse = async || {
        let odd = gateway.http().with("host", "evil.example");
        assert_eq!(odd.get("/mcp").await.0, 403);
    };
    refuse().await;
    gateway.home.configure(r#"{"log":{"level":"info"}}"#);
    assert_eq!(reload(&gateway).await.0, 200);
    assert!(!gateway.log().contains("refused a request"));
    refuse().await;
    gateway.until_logged("refused a request").await;
}

#[tokio::test]
async fn a_policy_is_in_force_with_the_reload_that_brings_it() {
    let legacy = EraSupport::LegacyOnly;
    let github = Upstream::start(Sample::Github, legacy, Over::Shared).await;
    let slack = Upstream::start(Sample::Slack, legacy, Over::Shared).await;
    let mut open = config(&[("github", &github.settings), ("slack", &slack.settings)]);
    let overrides = json!({ "github": "internal", "slack": "external" });
    open["security"] = json!({
        "classification": { "server_overrides": overrides },
        "flow_policy": { "internal_to_external": "allow" },
    });
    let gateway = Gateway::start(&open).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let path = json!({ "path": "README.md" });
    let file = downstream.call("github__get_file", path).await;
    let leak = json!({ "channel": "general", "text": text_of(&file) });
    let posted = downstream.call("slack__post_message", leak.clone()).await;
    assert_eq!(posted["isError"], Value::Null);
    open["security"]["flow_policy"]["internal_to_external"] = json!("deny");
    gateway.home.configure(&open.to_string());
    assert_eq!(reload(&gateway).await.0, 200);
    let denied = downstream.call("slack__post_message", leak).await;
    assert_eq!(denied["isError"], true);
    assert_eq!(slack.received_with("tools/call").len(), 1);
}

#[tokio::test]
async fn starts_stops_and_changes_are_on_record() {
    let (one, two) = (scripted("say one"), scripted("say two"));
    let config = json!({ "mcpServers": { "one": one } });
    let gateway = Gateway::start(&config).await;
    let config = json!({ "mcpServers": { "two": two } });
    gateway.home.configure(&config.to_string());
    assert_eq!(reload(&gateway).await.0, 200);
    let changes = until("the changes", || async {
        let page = gateway.api("/activity?type=server_change").await;
        let records = page["activities"].as_array().unwrap().clone();
        (records.len() == 2).then_some(records)
    })
    .await;
    let mut changes: Vec<_> = changes
        .iter()
        .map(|one| [&one["server_name"], &one["method"]].map(|word| word.as_str().unwrap()))
        .collect();
    changes.sort_unstable();
    assert_eq!(changes, [["one", "removed"], ["two", "added"]]);
    let home = gateway.stop().await;
    let records = home.records();
    let mut kinds: Vec<_> = records
        .iter()
        .filter_map(|one| one["type"].as_str())
        .filter(|kind| kind.starts_with("system_") || *kind == "config_change")
        .collect();
    // The file is watched too, and may have been read once more.
    kinds.dedup();
    assert_eq!(kinds, ["system_start", "config_change", "system_stop"]);
}
