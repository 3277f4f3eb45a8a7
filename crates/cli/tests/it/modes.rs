//! What an agent is shown: tools to find tools, all tools, or those of one upstream; and why some
//! are missing. The kill switch is in `stops`.

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
async fn in_call_mode_tools_are_found_described_and_called() {
    let (echo, slack) = (shared(Sample::Echo).await, shared(Sample::Slack).await);
    let config = json!({ "mcpServers": { "echo": echo.settings, "slack": slack.settings } });
    let gateway = Gateway::start(&config).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let tools = downstream.ask("tools/list", json!({})).await;
    let shown = "retrieve_tools describe_tool call_tool_read call_tool_write call_tool_destructive read_cache upstream_servers";
    assert_eq!(names_of(&tools["tools"]).join(" "), shown);

    let query = json!({ "query": "post a mesage to a channel", "limit": 3 });
    let found = own(&downstream, "retrieve_tools", query).await;
    let best = &found["tools"][0];
    assert_eq!(best["name"], "slack:post_message");
    assert_eq!(best["call_with"], "call_tool_write");
    assert_eq!(best["inputSchema"]["required"], json!(["channel", "text"]));
    assert_eq!(found["session_risk"]["lethal_trifecta"], true);
    let query = json!({ "query": "post a message", "read_only_only": true });
    let found = own(&downstream, "retrieve_tools", query).await;
    assert!(!names_of(&found["tools"]).contains(&"slack:post_message"));

    let name = json!({ "name": "slack:post_message" });
    let described = own(&downstream, "describe_tool", name).await;
    assert!(described["outputSchema"]["properties"]["id"].is_object());

    let check = async |arguments: Value, expect: &str| {
        let result = downstream.call("call_tool_read", arguments).await;
        assert_eq!(text_of(&result), expect);
    };
    let args = json!({ "text": "as args" });
    check(json!({ "name": "echo:echo", "args": args }), "as args").await;
    let as_text = r#"{"text":"as text"}"#;
    let both = json!({ "name": "echo:echo", "args": args, "args_json": as_text });
    check(both, "as text").await;
    let record = crate::support::until("the record", || async {
        let mut activity = gateway.home.activity();
        activity.retain(|one| one["type"] == "tool_call");
        (activity.len() == 2).then(|| activity.remove(0))
    });
    assert_eq!(record.await["declared"]["operation"], "read");
}

#[tokio::test]
async fn in_call_mode_what_is_wrong_is_said() {
    let echo = shared(Sample::Echo).await;
    let gateway = Gateway::start(&json!({ "mcpServers": { "echo": echo.settings } })).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let check = async |tool: &str, arguments: Value, expect: &str| {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = downstream
            .request("tools/call", params)
            .await
            .answer()
            .await;
        assert!(answer.to_string().contains(expect), "{answer}");
    };
    check("call_tool_read", json!({ "name": "echo" }), "server:tool").await;
    check(
        "call_tool_read",
        json!({ "name": "no:echo" }),
        "no upstream is named `no`",
    )
    .await;
    check(
        "call_tool_read",
        json!({ "name": "echo:no" }),
        "unknown tool `no`",
    )
    .await;
    let list = json!({ "name": "echo:echo", "args_json": "[1]" });
    check("call_tool_read", list, "must be an object").await;
    let twice = json!({ "name": "echo:echo", "args_json": r#"{"text":"a","text":"b"}"# });
    check("call_tool_read", twice, "`args_json` is refused").await;
    let odd = json!({ "name": "echo:echo", "intent_data_sensitivity": "odd" });
    check(
        "call_tool_read",
        odd,
        "public, internal, private or unknown",
    )
    .await;
    let long = json!({ "name": "echo:echo", "intent_reason": "x".repeat(1001) });
    check("call_tool_read", long, "longer than 1000").await;
    check("echo__echo", json!({}), "no tool is named `echo__echo`").await;
    check("read_cache", json!({ "key": "0" }), "nothing is kept").await;
    check("describe_tool", json!({ "name": "echo:no" }), "not listed").await;
    let disable = json!({ "operation": "disable", "name": "echo" });
    check("upstream_servers", disable, "owner").await;
    let remove = json!({ "operation": "remove", "name": "echo" });
    check("upstream_servers", remove, "owner").await;
    let add = json!({ "operation": "add", "name": "evil", "command": "sh" });
    check("upstream_servers", add, "owner").await;
    let restart = json!({ "operation": "restart", "name": "echo" });
    check("upstream_servers", restart, "owner").await;
    let listed = own(
        &downstream,
        "upstream_servers",
        json!({ "operation": "list" }),
    )
    .await;
    assert_eq!(names_of(&listed["servers"]), ["echo"]);
    assert_eq!(listed["servers"][0]["status"], "up");
}

#[tokio::test]
async fn the_owner_manages_upstreams_by_the_tool() {
    let echo = shared(Sample::Echo).await;
    let gateway = Gateway::start(&json!({ "mcpServers": { "echo": echo.settings } })).await;
    let owner = gateway.owner().at("/mcp");
    let downstream = Legacy::open_with(owner, json!({})).await;
    let disable = json!({ "operation": "disable", "name": "echo" });
    let done = own(&downstream, "upstream_servers", disable).await;
    assert_eq!(done["servers"][0]["enabled"], false);
    let params = json!({ "name": "call_tool_read", "arguments": { "name": "echo:echo" } });
    let answer = downstream
        .request("tools/call", params)
        .await
        .answer()
        .await;
    assert!(answer.to_string().contains("disabled"), "{answer}");
}

#[tokio::test]
async fn a_long_answer_is_cut_and_read_on_page_by_page() {
    let echo = shared(Sample::Echo).await;
    let config = json!({ "tool_response_limit": 2000, "mcpServers": { "echo": echo.settings } });
    let gateway = Gateway::start(&config).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let call = json!({ "name": "echo:big", "args": { "bytes": 9000 } });
    let result = downstream.call("call_tool_read", call).await;
    let (head, note) = text_of(&result).split_once("\n\n[cut by mcpproxy").unwrap();
    let key = note.split('`').nth(1).unwrap();
    let (mut whole, mut offset) = (head.to_owned(), json!(head.len()));
    assert_eq!(offset, 2000);
    while !offset.is_null() {
        let page = json!({ "key": key, "offset": offset });
        let page = own(&downstream, "read_cache", page).await;
        let text = page["text"].as_str().unwrap();
        assert!(text.len() <= 2000);
        whole.push_str(text);
        offset = page["next_offset"].clone();
    }
    let whole: Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(text_of(&whole), "x".repeat(9000));
    // What was kept for one caller is nothing to another.
    let owner = Legacy::open_with(gateway.owner().at("/mcp"), json!({})).await;
    let params = json!({ "name": "read_cache", "arguments": { "key": key } });
    let error = owner.request("tools/call", params).await.error().await;
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("nothing is kept")
    );
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
    let other = Upstream::start_many(Sample::Echo, both, Over::Http, 700).await;
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
    let gone = json!({ "command": "sh", "args": ["-c", "echo no licence >&2; exit 4"] });
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
}
