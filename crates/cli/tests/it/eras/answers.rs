//! Requests and their answers: lists, calls, prompts, resources, completions, progress.

use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::{Value, json};

use super::{Client, Grid};
use crate::support::{Gateway, Legacy, Modern, Over, Upstream, names_of, text_of, until};

#[tokio::test]
async fn tools_are_listed_and_called_in_every_combination() {
    let grid = Grid::start().await;
    for client in Client::both(&grid.gateway).await {
        let tools = client.ask("tools/list", json!({})).await;
        for (name, upstream) in &grid.upstreams {
            let case = format!("{} to {name}", client.era());
            let echo = format!("{name}__echo");
            assert!(names_of(&tools["tools"]).contains(&&*echo), "{case}");
            let said = json!({ "text": case });
            let result = client.call(&echo, said).await;
            assert_eq!(result["structuredContent"]["text"], case.as_str());
            let failed = client.call(&format!("{name}__fail"), json!({})).await;
            assert_eq!(failed["isError"], true, "{case}");
            let params = json!({ "name": format!("{name}__nothing"), "arguments": {} });
            let error = client.raw("1", "tools/call", params).await.error().await;
            assert_eq!(error["code"], -32602, "{case}: {error}");
            // What the upstream was sent is of its own era.
            let sent = upstream.received_with(&case);
            let carries = sent[0].contains("io.modelcontextprotocol/protocolVersion");
            assert_eq!(carries, name.starts_with("modern"), "{case}: {}", sent[0]);
        }
    }
}

#[tokio::test]
async fn modern_results_say_what_they_are_and_legacy_ones_need_not() {
    let grid = Grid::start().await;
    let [legacy, modern] = Client::both(&grid.gateway).await;
    let check = |result: &Value, cached: bool, case: &str| {
        assert_eq!(result["resultType"], "complete", "{case}: {result}");
        assert_eq!(result["ttlMs"].is_u64(), cached, "{case}: {result}");
        let scope = &result["cacheScope"];
        assert_eq!(
            scope == "public" || scope == "private",
            cached,
            "{case}: {result}"
        );
    };
    let lists = [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ];
    for method in lists.into_iter().chain(["server/discover"]) {
        check(&modern.ask(method, json!({})).await, true, method);
    }
    for method in lists {
        let result = legacy.ask(method, json!({})).await;
        assert_eq!(result["resultType"], Value::Null, "{method}");
    }
    for (name, _) in &grid.upstreams {
        let call = modern
            .call(&format!("{name}__echo"), json!({ "text": "x" }))
            .await;
        check(&call, false, name);
        let greet = json!({ "name": format!("{name}__greet"), "arguments": { "name": "Ada" } });
        let prompt = modern.ask("prompts/get", greet.clone()).await;
        check(&prompt, false, name);
        let told = legacy.ask("prompts/get", greet).await;
        assert_eq!(told["messages"], prompt["messages"], "{name}");
        assert_eq!(told["messages"][0]["content"]["text"], "Say hello to Ada.");
        let about = json!({
            "ref": { "type": "ref/prompt", "name": format!("{name}__greet") },
            "argument": { "name": "name", "value": "B" },
        });
        for client in [&legacy, &modern] {
            let result = client.ask("completion/complete", about.clone()).await;
            assert_eq!(result["completion"]["values"], json!(["Barbara"]), "{name}");
        }
    }
    for (name, _) in &grid.upstreams {
        // All of them offer the same address: only a token says whose is meant.
        let agent = grid.gateway.token(name, &json!([name])).await.at("/mcp");
        let modern = Modern::with(agent, json!({}));
        let read = modern.ask("resources/read", json!({ "uri": "memo://1" }));
        check(&read.await, true, name);
    }
}

#[tokio::test]
async fn methods_of_the_other_era_are_unknown() {
    let grid = Grid::start().await;
    let [legacy, modern] = Client::both(&grid.gateway).await;
    for method in [
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "initialize",
    ] {
        let mut reply = modern.raw("1", method, json!({})).await;
        assert_eq!(reply.status, 404, "{method}");
        assert_eq!(reply.error().await["code"], -32601, "{method}");
    }
    let error = legacy
        .raw("1", "server/discover", json!({}))
        .await
        .error()
        .await;
    assert_eq!(error["code"], -32601);
    assert_eq!(legacy.ask("ping", json!({})).await, json!({}));
    for client in [legacy, modern] {
        let error = client.raw("1", "no/such", json!({})).await.error().await;
        assert_eq!(error["code"], -32601);
    }
}

#[tokio::test]
async fn progress_comes_under_the_caller_s_own_token_ahead_of_the_answer() {
    let grid = Grid::start().await;
    for client in Client::both(&grid.gateway).await {
        for (name, upstream) in &grid.upstreams {
            for token in [json!("tok \"1\""), json!(7)] {
                let case = format!("{} to {name} {token}", client.era());
                let params = json!({
                    "name": format!("{name}__slow"), "arguments": { "ms": 20 },
                    "_meta": { "progressToken": token },
                });
                let mut reply = client.raw("1", "tools/call", params).await;
                assert_eq!(text_of(&reply.result().await), "took 20 ms");
                let heard = reply.heard("notifications/progress");
                let steps: Vec<_> = heard.iter().map(|one| &one["params"]["progress"]).collect();
                assert_eq!(steps, [1, 2, 3, 4], "{case}");
                assert!(
                    heard
                        .iter()
                        .all(|one| one["params"]["progressToken"] == token)
                );
            }
            // Two callers may choose one token; what the upstream sees are the gateway's own.
            assert!(upstream.received_with("tok").is_empty(), "{name}");
        }
    }
}

#[tokio::test]
async fn a_modern_upstream_gets_the_headers_that_repeat_its_own_request() {
    let slack = Upstream::start(Sample::Slack, EraSupport::ModernOnly, Over::Http).await;
    let gateway = Gateway::start(&json!({ "mcpServers": { "chat": slack.settings } })).await;
    let all = Legacy::open(&gateway.url("/mcp/all"), json!({})).await;
    let call = Legacy::open(&gateway.url("/mcp/call"), json!({})).await;
    let post = json!({ "channel": "general", "text": "x" });
    all.call("chat__post_message", post.clone()).await;
    let inner = json!({ "name": "chat:post_message", "args": post });
    call.call("call_tool_write", inner).await;
    let odd = json!({ "channel": "général", "text": "x" });
    let refused = all.call("chat__post_message", odd).await;
    assert!(
        text_of(&refused).contains("no channel is called `général`"),
        "{refused}"
    );
    let requests = slack.http.as_ref().unwrap().requests();
    let calls = requests
        .iter()
        .filter(|one| one.body.contains("tools/call"));
    let headers: Vec<_> = calls
        .map(|one| ["mcp-method", "mcp-name", "mcp-param-channel"].map(|name| &one.headers[name]))
        .collect();
    let plain = ["tools/call", "post_message", "general"];
    let encoded = ["tools/call", "post_message", "=?base64?Z8OpbsOpcmFs?="];
    assert_eq!(headers, [plain, plain, encoded]);
}

#[tokio::test]
async fn a_session_that_ends_or_is_forgotten_leaves_nothing_behind() {
    let upstream = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, Over::Http).await;
    let config = json!({ "routing_mode": "all", "mcpServers": { "echo": upstream.settings } });
    let gateway = Gateway::start(&config).await;
    let http = upstream.http.as_ref().unwrap();
    let before = http.sessions();
    let said = json!({ "text": "x" });
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    downstream.call("echo__echo", said.clone()).await;
    assert_eq!(
        http.sessions(),
        before + 1,
        "a session has one of its own upstream"
    );
    // The upstream was restarted: the call is made in a new session and nobody notices.
    http.forget_sessions();
    assert_eq!(text_of(&downstream.call("echo__echo", said).await), "x");
    assert_eq!(upstream.received_with("tools/call").len(), 3);
    let open = http.sessions();
    downstream.end().await;
    until("the session upstream to end", || async {
        (http.sessions() < open).then_some(())
    })
    .await;
}
