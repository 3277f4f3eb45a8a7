//! What comes unasked: changes, updates, log messages; and taking back what was asked for.

use mcpproxy_testkit::{EraSupport, Sample};
use mcpproxy_text as text;
use serde_json::{Value, json};

use super::{Client, Grid};
use crate::support::{
    Gateway, Legacy, Modern, Over, Reply, Upstream, headers, names_of, scripted, text_of, until,
};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Starts to hear what belongs to no request: a stream in one era, a subscription in the other.
async fn hear(client: &Client, wanted: Value) -> Reply {
    match client {
        Client::Legacy(legacy) => legacy.listen(None).await,
        Client::Modern(modern) => listen(modern, wanted).await,
    }
}

async fn listen(modern: &Modern, wanted: Value) -> Reply {
    let params = json!({ "notifications": wanted });
    let mut heard = modern.raw("\"mine\"", "subscriptions/listen", params).await;
    let method = "notifications/subscriptions/acknowledged";
    let acknowledged = heard.notification(method).await;
    assert_eq!(acknowledged["params"]["_meta"][SUBSCRIPTION], "mine");
    assert_eq!(acknowledged["params"]["notifications"], wanted);
    heard
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_the_upstream() {
    let grid = Grid::start().await;
    for client in Client::both(&grid.gateway).await {
        for (name, upstream) in &grid.upstreams {
            let case = format!("{} to {name}", client.era());
            let params = json!({ "name": format!("{name}__hang"), "arguments": { "n": case } });
            let calling = client.raw("\"x\"", "tools/call", params);
            // The answer's head comes only with its first word, so that both are waited for.
            let sent = tokio::select! {
                sent = upstream.until_received(&case) => sent,
                _ = calling => panic!("{case}: nothing should be answered"),
            };
            if let Client::Legacy(legacy) = &client {
                let cancel = json!({ "requestId": "x", "reason": case });
                legacy.notify("notifications/cancelled", cancel).await;
            }
            until("nothing in flight", || async {
                let status = grid.gateway.api("/status").await;
                (status["calls_in_flight"] == 0).then_some(())
            })
            .await;
            // Over HTTP closing the stream says it in the modern era.
            if *name != "modern-http" {
                let (id, _) = text::get(&sent, &["id"]).unwrap();
                let cancelled = format!(r#""requestId":{id}"#);
                upstream.until_received(&cancelled).await;
            }
        }
    }
}

#[tokio::test]
async fn a_change_of_the_tools_is_told_to_whoever_listens() {
    // What comes later need not wait here.
    let trusting = json!({ "tool_quarantine": { "trust": "auto" } });
    let grid = Grid::start_with(trusting).await;
    let clients = Client::both(&grid.gateway).await;
    for (name, _) in &grid.upstreams {
        let mut streams = Vec::new();
        for client in &clients {
            streams.push(hear(client, json!({ "toolsListChanged": true })).await);
        }
        // A child for each session is none of the catalogue's, whose own has not changed.
        if name.ends_with("stdio") {
            continue;
        }
        clients[0].call(&format!("{name}__change"), json!({})).await;
        for (client, stream) in clients.iter().zip(&mut streams) {
            let method = "notifications/tools/list_changed";
            let told = stream.notification(method).await;
            if let Client::Modern(_) = client {
                assert_eq!(told["params"]["_meta"][SUBSCRIPTION], "mine", "{name}");
            }
            let expect = format!("{name}__extra_1");
            until("the new tool", || async {
                let tools = client.ask("tools/list", json!({})).await;
                names_of(&tools["tools"]).contains(&&*expect).then_some(())
            })
            .await;
        }
    }
}

/// A gateway with one upstream of the grid, whose resources are then its own.
async fn alone(grid: &Grid, name: &str, mode: &str) -> Gateway {
    let (_, upstream) = grid.upstreams.iter().find(|(one, _)| *one == name).unwrap();
    let upstreams = json!({ name: upstream.settings });
    let config = json!({ "routing_mode": mode, "mcpServers": upstreams });
    Gateway::start(&config).await
}

async fn updates_arrive(grid: &Grid, name: &str, mode: &str) {
    let gateway = alone(grid, name, mode).await;
    let touch = if mode == "single" {
        "touch".to_owned()
    } else {
        format!("{name}__touch")
    };
    for client in Client::both(&gateway).await {
        let case = format!("{} to {name} {mode}", client.era());
        let (one, other) = (json!({ "uri": "memo://1" }), json!({ "uri": "memo://2" }));
        let wanted = json!({ "resourceSubscriptions": ["memo://1"] });
        let mut stream = hear(&client, wanted).await;
        if let Client::Legacy(legacy) = &client {
            assert_eq!(
                legacy.ask("resources/subscribe", one.clone()).await,
                json!({})
            );
        }
        let method = "notifications/resources/updated";
        client.call(&touch, other.clone()).await;
        client.call(&touch, one.clone()).await;
        let told = stream.notification(method).await;
        assert_eq!(told["params"]["uri"], "memo://1", "{case}");
        if let Client::Modern(_) = &client {
            assert_eq!(told["params"]["_meta"][SUBSCRIPTION], "mine", "{case}");
        }
    }
}

#[tokio::test]
async fn a_change_of_the_only_upstreams_tools_is_told_to_whoever_listens() {
    let grid = Grid::start().await;
    for name in ["legacy-http", "legacy-sse", "modern-http"] {
        let gateway = alone(&grid, name, "single").await;
        for client in Client::both(&gateway).await {
            let mut stream = hear(&client, json!({ "toolsListChanged": true })).await;
            client.call("change", json!({})).await;
            let told = stream
                .notification("notifications/tools/list_changed")
                .await;
            if let Client::Modern(_) = &client {
                assert_eq!(told["params"]["_meta"][SUBSCRIPTION], "mine", "{name}");
            }
        }
    }
}

#[tokio::test]
async fn updates_of_a_resource_reach_who_subscribed_in_all_mode() {
    let grid = Grid::start().await;
    for name in ["legacy-http", "legacy-sse", "modern-http"] {
        updates_arrive(&grid, name, "all").await;
    }
}

#[tokio::test]
async fn updates_of_a_resource_reach_who_subscribed_in_single_mode() {
    let grid = Grid::start().await;
    for name in ["legacy-http", "legacy-sse", "modern-http"] {
        updates_arrive(&grid, name, "single").await;
    }
}

#[tokio::test]
async fn a_shared_subscription_lasts_until_nobody_wants_it() {
    let upstream = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, Over::Shared).await;
    let config = json!({ "routing_mode": "all", "mcpServers": { "echo": upstream.settings } });
    let gateway = Gateway::start(&config).await;
    let one = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let other = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let (mut first, mut second) = (one.listen(None).await, other.listen(None).await);
    let memo = json!({ "uri": "memo://1" });
    for client in [&one, &other] {
        client.ask("resources/subscribe", memo.clone()).await;
    }
    one.ask("resources/unsubscribe", memo.clone()).await;
    one.call("echo__touch", memo.clone()).await;
    second.notification("notifications/resources/updated").await;
    other.ask("resources/unsubscribe", memo.clone()).await;
    upstream.until_received("resources/unsubscribe").await;
    other.call("echo__touch", memo).await;
    // The next word on both streams shows what did not come before it.
    one.call("echo__change", json!({})).await;
    for (stream, updates) in [(&mut first, 0), (&mut second, 1)] {
        stream
            .notification("notifications/tools/list_changed")
            .await;
        let heard = stream.heard("notifications/resources/updated");
        assert_eq!(heard.len(), updates);
    }
}

async fn shared() -> (Upstream, Gateway, Legacy) {
    in_front_of(EraSupport::LegacyOnly).await
}

async fn in_front_of(era: EraSupport) -> (Upstream, Gateway, Legacy) {
    let upstream = Upstream::start(Sample::Echo, era, Over::Shared).await;
    let restart = json!({ "backoff_min": "1ms", "backoff_max": "1ms" });
    let echo = upstream.with("restart", restart);
    let config = json!({
        "routing_mode": "all",
        "mcpServers": { "echo": echo },
        "tool_policy": { "destructive": "allow" },
    });
    let gateway = Gateway::start(&config).await;
    let client = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    (upstream, gateway, client)
}

#[tokio::test]
async fn a_shared_subscription_ends_with_the_last_session_that_wants_it() {
    let (upstream, gateway, one) = shared().await;
    let other = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    for client in [&one, &other] {
        for memo in ["memo://1", "memo://2"] {
            client
                .ask("resources/subscribe", json!({ "uri": memo }))
                .await;
        }
    }
    other
        .ask("resources/unsubscribe", json!({ "uri": "memo://2" }))
        .await;
    let back = || upstream.received_with("resources/unsubscribe");
    assert_eq!(back(), Vec::<String>::new(), "one still wants both");
    assert_eq!(one.end().await, 200);
    upstream.until_received("resources/unsubscribe").await;
    assert!(back()[0].contains("memo://2"), "{:?}", back());
    assert_eq!(other.end().await, 200);
    until("the other", || async { (back().len() == 2).then_some(()) }).await;
    assert!(back()[1].contains("memo://1"), "{:?}", back());
}

#[tokio::test]
async fn a_shared_subscription_outlives_a_restart_of_its_upstream() {
    let (upstream, gateway, client) = shared().await;
    let mut stream = client.listen(None).await;
    let memo = json!({ "uri": "memo://1" });
    client.ask("resources/subscribe", memo.clone()).await;
    let params = json!({ "name": "echo__crash", "arguments": {} });
    client.request("tools/call", params).await.error().await;
    until("a new subscription", || async {
        let subscribed = upstream.received_with("resources/subscribe");
        (subscribed.len() == 2).then_some(())
    })
    .await;
    // A stateless downstream that touches it is heard of in the session.
    let toucher = Modern::new(&gateway.url("/mcp"), json!({}));
    until("an update", || async {
        let params = json!({ "name": "echo__touch", "arguments": memo });
        let mut reply = toucher.request("tools/call", params).await;
        reply.answer().await.get("result").map(|_| ())
    })
    .await;
    let told = stream.notification("notifications/resources/updated").await;
    assert_eq!(told["params"]["uri"], "memo://1");
}

/// At a modern upstream a subscription is a request that stays open, and ends with the upstream.
#[tokio::test]
async fn a_subscription_at_a_modern_upstream_outlives_its_restart() {
    let (upstream, gateway, legacy) = in_front_of(EraSupport::ModernOnly).await;
    let memo = json!({ "uri": "memo://1" });
    let mut general = legacy.listen(None).await;
    legacy.ask("resources/subscribe", memo.clone()).await;
    let modern = Client::Modern(Modern::new(&gateway.url("/mcp"), json!({})));
    let mut own = hear(&modern, json!({ "resourceSubscriptions": ["memo://1"] })).await;
    let asked = async |times: usize| {
        until("subscriptions", || async {
            let asked = upstream.received_with("\"resourceSubscriptions\":[\"memo://1\"]");
            (asked.len() == times).then_some(())
        })
        .await;
    };
    asked(2).await;
    let params = json!({ "name": "echo__crash", "arguments": {} });
    legacy.request("tools/call", params).await.error().await;
    asked(4).await;
    modern.call("echo__touch", memo).await;
    for stream in [&mut general, &mut own] {
        let told = stream.notification("notifications/resources/updated").await;
        assert_eq!(told["params"]["uri"], "memo://1");
    }
}

#[tokio::test]
async fn a_long_address_is_not_subscribed_to() {
    let (upstream, _gateway, client) = shared().await;
    let uri = format!("memo://{}", "1".repeat(3000));
    let mut reply = client
        .request("resources/subscribe", json!({ "uri": uri }))
        .await;
    let error = reply.error().await;
    assert_eq!(error["code"], -32602, "{error}");
    assert!(upstream.received_with("resources/subscribe").is_empty());
}

#[tokio::test]
async fn a_stream_that_broke_off_is_resumed_where_it_was() {
    let upstream = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, Over::Shared).await;
    let config = json!({ "routing_mode": "all", "mcpServers": { "echo": upstream.settings } });
    let gateway = Gateway::start(&config).await;
    let client = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let params = json!({
        "name": "echo__slow", "arguments": { "ms": 400 }, "_meta": { "progressToken": "t" },
    });
    let mut reply = client.request("tools/call", params).await;
    let step = reply.notification("notifications/progress").await;
    assert_eq!(step["params"]["progress"], 1);
    let last = reply.events.last().unwrap().clone();
    drop(reply);
    let mut rest = client.listen(Some(&last)).await;
    assert_eq!(text_of(&rest.result().await), "took 400 ms");
    let steps = rest.heard("notifications/progress");
    let steps: Vec<_> = steps.iter().map(|one| &one["params"]["progress"]).collect();
    assert_eq!(steps, [2, 3, 4]);
    // It was delivered and is gone; the session is not.
    let again = client.get(headers(&[("last-event-id", &last)])).await;
    assert_eq!(again.status, 410);
    client.ask("ping", json!({})).await;
}

#[tokio::test]
async fn a_change_of_the_user_s_folders_reaches_the_session_s_own_upstreams() {
    let grid = Grid::start().await;
    let can = json!({ "roots": { "listChanged": true } });
    let client = Legacy::open(&grid.gateway.url("/mcp"), can).await;
    for (name, upstream) in &grid.upstreams {
        client
            .call(&format!("{name}__echo"), json!({ "text": "x" }))
            .await;
        if name.starts_with("legacy") {
            client
                .notify("notifications/roots/list_changed", json!({}))
                .await;
            upstream
                .until_received("notifications/roots/list_changed")
                .await;
        }
    }
}

#[tokio::test]
async fn an_upstream_that_refuses_a_notification_keeps_it_from_no_other() {
    let one = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, Over::Http).await;
    let other = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, Over::Http).await;
    let upstreams = json!({ "a": one.settings, "b": other.settings });
    let config = json!({ "routing_mode": "all", "mcpServers": upstreams });
    let gateway = Gateway::start(&config).await;
    let can = json!({ "roots": { "listChanged": true } });
    let client = Legacy::open(&gateway.url("/mcp"), can).await;
    for name in ["a__echo", "b__echo"] {
        client.call(name, json!({ "text": "x" })).await;
    }
    let stopped = gateway.home.run(&["stop-calls", "upstream:a"]).await;
    assert!(stopped.status.success(), "{stopped:?}");
    let method = "notifications/roots/list_changed";
    client.notify(method, json!({})).await;
    other.until_received(method).await;
    assert_eq!(one.received_with(method), Vec::<String>::new());
    let expect = format!("could not pass `{method}` on to `a`");
    gateway.until_logged(&expect).await;
}

#[tokio::test]
async fn a_level_that_changes_often_is_told_by_one_task() {
    // It never answers to what it is told about the level.
    let mut settings = scripted("say done");
    let script = settings["args"][1].as_str().unwrap();
    let script = script.replace(r#"{"tools":{}}"#, r#"{"tools":{},"logging":{}}"#);
    settings["args"][1] = json!(script);
    settings["scope"] = json!("session");
    settings["max_in_flight"] = json!(3);
    let config = json!({ "routing_mode": "all", "mcpServers": { "line": settings } });
    let gateway = Gateway::start(&config).await;
    let client = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    assert_eq!(text_of(&client.call("line__do", json!({})).await), "done");
    for level in ["debug", "info", "notice", "warning", "error"] {
        let params = json!({ "level": level });
        client.ask("logging/setLevel", params).await;
    }
    assert_eq!(text_of(&client.call("line__do", json!({})).await), "done");
}

#[tokio::test]
async fn only_messages_of_the_level_asked_for_are_logged() {
    let grid = Grid::start().await;
    let clients = Client::both(&grid.gateway).await;
    for client in clients {
        let mut general = None;
        if let Client::Legacy(legacy) = &client {
            general = Some(legacy.listen(None).await);
            legacy
                .ask("logging/setLevel", json!({ "level": "error" }))
                .await;
        }
        for (name, _) in &grid.upstreams {
            let case = format!("{} to {name}", client.era());
            let log = |level: &str| {
                let said = json!({ "level": level, "text": format!("{case} {level}") });
                let level = json!({ "io.modelcontextprotocol/logLevel": "error" });
                json!({ "name": format!("{name}__log"), "arguments": said, "_meta": level })
            };
            let mut less = client.raw("1", "tools/call", log("info")).await;
            less.result().await;
            let mut more = client.raw("1", "tools/call", log("critical")).await;
            assert_eq!(text_of(&more.result().await), "logged", "{case}");
            let method = "notifications/message";
            assert_eq!(less.heard(method), Vec::<Value>::new(), "{case}");
            // Some transports cannot say which call a message belongs to.
            let told = match (more.heard(method).pop(), &mut general) {
                (Some(told), _) => told,
                (None, Some(general)) => general.notification(method).await,
                (None, None) => panic!("{case}: no message"),
            };
            assert_eq!(told["params"]["data"], format!("{case} critical"), "{case}");
        }
    }
}
