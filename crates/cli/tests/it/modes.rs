//! What an agent is shown: all tools or those of one upstream, and why some are missing. Tools to
//! find tools are in `call`, the kill switch is in `stops`.

mod call;
mod rest;
mod stops;

use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::{Value, json};

use crate::support::{Gateway, Home, Legacy, Modern, Over, Upstream, names_of, text_of};

async fn shared(sample: Sample) -> Upstream {
    Upstream::start(sample, EraSupport::Both, Over::Shared).await
}

/// What one of the gateway's own tools answers, which is JSON both as text and as a value.
async fn own(downstream: &Legacy, tool: &str, arguments: Value) -> Value {
    let result = downstream.call(tool, arguments).await;
    let value = result["structuredContent"].clone();
    assert_eq!(
        serde_json::from_str::<Value>(text_of(&result)).unwrap(),
        value
    );
    value
}

#[tokio::test]
async fn in_all_mode_every_tool_prompt_and_resource_has_its_upstream() {
    let (echo, slack) = (shared(Sample::Echo).await, shared(Sample::Slack).await);
    let config = json!({ "mcpServers": { "echo": echo.settings, "slack": slack.settings } });
    let gateway = Gateway::start(&config).await;
    let downstream = Legacy::open(&gateway.url("/mcp/all"), json!({})).await;
    let tools = downstream.ask("tools/list", json!({})).await;
    let names = names_of(&tools["tools"]);
    assert!(names.contains(&"echo__echo") && names.contains(&"slack__post_message"));
    assert!(
        names
            .iter()
            .all(|name| name.starts_with("echo__") || name.starts_with("slack__"))
    );
    let prompts = downstream.ask("prompts/list", json!({})).await;
    assert_eq!(names_of(&prompts["prompts"]), ["echo__greet"]);
    let greet = json!({ "name": "echo__greet", "arguments": { "name": "Ada" } });
    let prompt = downstream.ask("prompts/get", greet).await;
    assert_eq!(
        prompt["messages"][0]["content"]["text"],
        "Say hello to Ada."
    );
    let about = json!({
        "ref": { "type": "ref/prompt", "name": "echo__greet" },
        "argument": { "name": "name", "value": "A" },
    });
    let completed = downstream.ask("completion/complete", about).await;
    assert_eq!(completed["completion"]["values"], json!(["Ada", "Alan"]));
    let read = json!({ "uri": "memo://77" });
    let memo = downstream.ask("resources/read", read).await;
    assert_eq!(memo["contents"][0]["text"], "This is memo 77.");
    let unknown = json!({ "uri": "nobody://1" });
    let error = downstream
        .request("resources/read", unknown)
        .await
        .error()
        .await;
    assert!(error["message"].as_str().unwrap().contains("nobody://1"));
}

#[tokio::test]
async fn thousands_of_tools_come_in_pages_each_once() {
    let (both, shared) = (EraSupport::Both, Over::Shared);
    let one = Upstream::start_many(Sample::Echo, both, shared, 1500).await;
    let other = Upstream::start_many(Sample::Echo, both, shared, 700).await;
    let config = json!({ "mcpServers": { "one": one.settings, "other": other.settings } });
    let gateway = Gateway::start(&config).await;
    let downstream = Modern::new(&gateway.url("/mcp/all"), json!({}));
    let (mut names, mut params, mut pages) = (Vec::new(), json!({}), 0);
    loop {
        let page = downstream.ask("tools/list", params).await;
        names.extend(names_of(&page["tools"]).into_iter().map(str::to_owned));
        pages += 1;
        match page["nextCursor"].as_str() {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => break,
        }
    }
    assert_eq!((names.len(), pages), (1500 + 700 + 2 * 14, 3));
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 2228);
    let error = downstream
        .request("tools/list", json!({ "cursor": "x" }))
        .await
        .error()
        .await;
    assert_eq!(error["code"], -32602);
    let last = downstream.call("one__many_1500", json!({})).await;
    assert_eq!(text_of(&last), "many_1500");
}

#[tokio::test]
async fn in_single_mode_the_only_upstream_shows_as_itself() {
    let echo = shared(Sample::Echo).await;
    let only = json!({ "routing_mode": "single", "mcpServers": { "echo": echo.settings } });
    let gateway = Gateway::start(&only).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    assert_eq!(downstream.hello["serverInfo"]["name"], "echo");
    let tools = downstream.ask("tools/list", json!({})).await;
    assert_eq!(names_of(&tools["tools"])[..2], ["echo", "add"]);
    assert_eq!(
        text_of(&downstream.call("echo", json!({ "text": "x" })).await),
        "x"
    );
    let modern = Modern::new(&gateway.url("/mcp"), json!({}));
    let discovered = modern.ask("server/discover", json!({})).await;
    let info = &discovered["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(info["name"], "echo");

    let mut two = only.clone();
    two["mcpServers"]["more"] = echo.settings.clone();
    let refused = Gateway::launch(Home::new(&two), &[]).await.err().unwrap();
    assert_eq!(refused.code, Some(3));
    assert!(refused.said.contains("exactly one"), "{}", refused.said);
}

#[tokio::test]
async fn a_tool_that_is_missing_says_why() {
    let echo = shared(Sample::Echo).await;
    let filtered = echo.with("tools", json!({ "deny": ["fail"] }));
    let gone = json!({ "command": "sh", "args": ["-c", "echo no licence >&2; echo token glpat-Zx81kQv9dTq3mN7pLr2w >&2; exit 4"] });
    let off = echo.with("enabled", json!(false));
    let config = json!({ "mcpServers": { "echo": filtered, "gone": gone, "off": off } });
    let gateway = Gateway::start(&config).await;
    let call = Legacy::open(&gateway.url("/mcp/call"), json!({})).await;
    let query = json!({ "query": "zzz", "include_disabled": true });
    let found = own(&call, "retrieve_tools", query).await;
    let reasons = found["unavailable"].to_string();
    for expect in [
        "echo:fail",
        "filtered",
        "gone",
        "exited with code 4",
        "off",
        "disabled",
    ] {
        assert!(reasons.contains(expect), "{expect}: {reasons}");
    }
    let all = Legacy::open(&gateway.url("/mcp/all"), json!({})).await;
    let check = async |tool: &str, expect: &str| {
        let params = json!({ "name": tool, "arguments": {} });
        let error = all.request("tools/call", params).await.error().await;
        assert!(
            error["message"].as_str().unwrap().contains(expect),
            "{tool}: {error}"
        );
    };
    check("echo__fail", "filtered").await;
    check("gone__do", "exited with code 4").await;
    check("off__echo", "disabled").await;
    let tools = all.ask("tools/list", json!({})).await;
    assert!(!names_of(&tools["tools"]).contains(&"echo__fail"));
    let logs = gateway.api("/servers/gone/logs").await;
    assert_eq!(logs["lines"][0], "no licence");
    // What an upstream says about its own secrets is masked.
    let said = logs["lines"][1].as_str().unwrap();
    assert!(
        said.starts_with("token ") && !said.contains("kQv9dTq3"),
        "{said}"
    );
}
