//! Call mode: tools to find tools and to call what was found.

use mcpproxy_testkit::Sample;
use serde_json::{Value, json};

use super::{own, shared};
use crate::support::{Gateway, Legacy, names_of, text_of, until};

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
    let record = until("the record", || async {
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
