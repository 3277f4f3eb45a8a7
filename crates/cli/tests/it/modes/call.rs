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
    let shown = "retrieve_tools describe_tool call_tool_read call_tool_write call_tool_destructive read_cache upstream_servers quarantine_security";
    assert_eq!(names_of(&tools["tools"]).join(" "), shown);

    for tool in tools["tools"].as_array().unwrap() {
        let nested = tool["inputSchema"]["properties"].as_object().unwrap();
        let mut nested = nested.iter().filter(|(_, one)| one["type"] == "object");
        assert!(nested.all(|(name, _)| name == "args"), "{tool}");
        let (name, hints) = (tool["name"].as_str().unwrap(), &tool["annotations"]);
        let reads = [
            "retrieve_tools",
            "describe_tool",
            "call_tool_read",
            "read_cache",
        ];
        assert_eq!(
            hints["readOnlyHint"] == true,
            reads.contains(&name),
            "{name}"
        );
        let destroys = ["call_tool_destructive", "upstream_servers"];
        assert_eq!(
            hints["destructiveHint"] == true,
            destroys.contains(&name),
            "{name}"
        );
        assert_eq!(
            hints["openWorldHint"] == true,
            name.starts_with("call_tool_"),
            "{name}"
        );
    }
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
    check("read_cache", json!({}), "`key` is missing").await;
    check("retrieve_tools", json!({}), "`query` is missing").await;
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
async fn a_search_is_narrowed_widened_and_explained() {
    let (echo, slack) = (shared(Sample::Echo).await, shared(Sample::Slack).await);
    let mut filtered = echo.settings.clone();
    filtered["tools"] = json!({ "deny": ["add"] });
    let config = json!({ "mcpServers": { "echo": filtered, "slack": slack.settings } });
    let gateway = Gateway::start(&config).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let find = async |more: Value| {
        let mut query = json!({ "query": "message", "limit": 100 });
        for (key, value) in more.as_object().unwrap() {
            query[key] = value.clone();
        }
        own(&downstream, "retrieve_tools", query).await
    };
    let all = find(json!({})).await;
    let names = names_of(&all["tools"]).len();
    assert!(names > 1, "{all}");
    assert_eq!(all["total"], names);
    assert!(all["usage_instructions"].is_string());
    assert!(all["tools"][0]["inputSchema"].is_object());
    assert_eq!(
        names_of(&find(json!({ "limit": 1 })).await["tools"]).len(),
        1
    );
    let compact = find(json!({ "detail": "compact" })).await;
    assert!(compact["tools"][0]["inputSchema"].is_null());
    let narrowed = [
        ("read_only_only", "slack:post_message"),
        ("exclude_open_world", "slack:post_message"),
        ("exclude_destructive", "echo:crash"),
    ];
    for (narrower, left_out) in narrowed {
        let about = json!({ "query": "message crash upstream" });
        let about = find(about).await;
        assert!(names_of(&about["tools"]).contains(&left_out), "{about}");
        let found = find(json!({ "query": "message crash upstream", narrower: true })).await;
        let found = names_of(&found["tools"]);
        assert!(!found.contains(&left_out), "{narrower}: {found:?}");
    }
    let debug = find(json!({ "debug": true })).await;
    assert!(debug["tools"][0]["matched"].is_string());
    let explained = find(json!({ "explain_tool": "slack:post_message" })).await;
    assert!(explained["explanation"]["rank"].is_u64(), "{explained}");
    let disabled = find(json!({ "include_disabled": true })).await;
    let why = disabled["unavailable"].to_string();
    assert!(
        why.contains("echo:add") && why.contains("filtered"),
        "{why}"
    );
    let nothing = own(&downstream, "retrieve_tools", json!({ "query": "zzqx" })).await;
    assert_eq!(
        (&nothing["tools"], &nothing["total"]),
        (&json!([]), &json!(0))
    );
    assert!(nothing["unavailable"].to_string().contains("filtered"));
    let risk = &all["session_risk"];
    for flag in [
        "has_open_world_tools",
        "has_destructive_tools",
        "has_write_tools",
    ] {
        assert_eq!(risk[flag], true, "{flag}");
    }
    assert_eq!(risk["level"], "high");
}

#[tokio::test]
async fn what_an_agent_declares_is_on_record() {
    let echo = shared(Sample::Echo).await;
    let gateway = Gateway::start(&json!({ "mcpServers": { "echo": echo.settings } })).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let call = json!({
        "name": "echo:echo", "args": { "text": "x" }, "intent_data_sensitivity": "public",
        "intent_reason": "a test", "flow_justification": "the user asked",
        "flow_destination_type": "internal",
    });
    for operation in ["read", "write", "destructive"] {
        let tool = format!("call_tool_{operation}");
        downstream.call(&tool, call.clone()).await;
        let record = until("the record", || async {
            let mut activity = gateway.home.activity();
            activity.retain(|one| one["declared"]["operation"] == operation);
            activity.pop()
        });
        let expect = json!({
            "operation": operation, "sensitivity": "public", "reason": "a test",
            "flow_justification": "the user asked", "flow_destination_type": "internal",
        });
        assert_eq!(record.await["declared"], expect);
    }
}

#[tokio::test]
async fn the_owner_manages_upstreams_by_the_tool() {
    let echo = shared(Sample::Echo).await;
    let gateway = Gateway::start(&json!({ "mcpServers": { "echo": echo.settings } })).await;
    let owner = gateway.owner().at("/mcp");
    let downstream = Legacy::open_with(owner, json!({})).await;
    let act = async |operation: &str, more: Value| {
        let mut arguments = json!({ "operation": operation, "name": "echo" });
        for (key, value) in more.as_object().unwrap() {
            arguments[key] = value.clone();
        }
        own(&downstream, "upstream_servers", arguments).await
    };
    let done = act("disable", json!({})).await;
    assert_eq!(done["servers"][0]["enabled"], false);
    let params = json!({ "name": "call_tool_read", "arguments": { "name": "echo:echo" } });
    let answer = downstream
        .request("tools/call", params)
        .await
        .answer()
        .await;
    assert!(answer.to_string().contains("disabled"), "{answer}");
    assert_eq!(
        act("enable", json!({})).await["servers"][0]["enabled"],
        true
    );
    for operation in ["restart", "refresh"] {
        assert_eq!(act(operation, json!({})).await["done"], operation);
    }
    assert!(act("tail_log", json!({ "lines": 3 })).await["lines"].is_array());
    let other = json!({ "name": "other", "command": "does-not-exist" });
    let added = act("add", other).await;
    assert_eq!(names_of(&added["servers"]), ["echo", "other"]);
    for operation in ["update", "patch"] {
        let changed = act(operation, json!({ "name": "other", "command": operation })).await;
        assert_eq!(changed["servers"][1]["command"], operation);
    }
    let removed = act("remove", json!({ "name": "other" })).await;
    assert_eq!(names_of(&removed["servers"]), ["echo"]);
}

#[tokio::test]
async fn management_can_be_switched_off() {
    let gateway = Gateway::start(&json!({ "management_tools": false })).await;
    let owner = Legacy::open_with(gateway.owner().at("/mcp"), json!({})).await;
    let tools = owner.ask("tools/list", json!({})).await;
    assert!(!names_of(&tools["tools"]).contains(&"upstream_servers"));
    let arguments = json!({ "operation": "list" });
    let params = json!({ "name": "upstream_servers", "arguments": arguments });
    let error = owner.request("tools/call", params).await.error().await;
    assert!(error.to_string().contains("no tool is named"), "{error}");
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
