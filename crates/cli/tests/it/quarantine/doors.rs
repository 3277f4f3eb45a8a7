//! Looking into the quarantine and changing it: REST, the command line, the agent's tool, events.

use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::{POISON, config, listed, rewrite, sums, tool, until_state};
use crate::support::{Gateway, Legacy, headers, text_of, within};

async fn poisoned() -> (Gateway, crate::support::Upstream) {
    let upstream = sums(&[tool("add", POISON), tool("sub", "Subtracts two numbers.")]);
    let gateway = Gateway::start(&config("all", &[("sums", &upstream)])).await;
    (gateway, upstream)
}

async fn over_the_socket(gateway: &Gateway, path: &str) -> String {
    let socket = gateway.home.data().join("mcpproxy.sock");
    let mut stream = UnixStream::connect(socket).await.unwrap();
    let body = json!({ "tools": ["add"] }).to_string();
    let length = body.len();
    let request = format!(
        "POST /api/v1{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut said = String::new();
    within("an answer", stream.read_to_string(&mut said))
        .await
        .unwrap();
    said.lines().next().unwrap().to_owned()
}

#[tokio::test]
async fn approving_needs_the_key_and_is_told_to_agents_and_listeners() {
    let (gateway, _upstream) = poisoned().await;
    let approve = "/servers/sums/tools/approve";
    assert_eq!(
        over_the_socket(&gateway, approve).await,
        "HTTP/1.1 403 Forbidden"
    );
    assert_eq!(
        over_the_socket(&gateway, "/servers/sums/unquarantine").await,
        "HTTP/1.1 403 Forbidden"
    );
    let token = gateway.token("ci", &json!(["sums"])).await;
    let body = json!({ "tools": ["add"] });
    let (status, _) = token.post(&format!("/api/v1{approve}"), &body).await;
    assert_eq!(status, 403);

    let agent = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let mut stream = agent.listen(None).await;
    let mut events = gateway
        .owner()
        .send(Method::GET, "/events", headers(&[]), "")
        .await;
    assert_eq!(events.next_named().await.0, "status");
    let (status, said) = gateway
        .owner()
        .post(&format!("/api/v1{approve}"), &body)
        .await;
    assert_eq!(
        (status.as_u16(), &said["data"]["changed"]),
        (200, &json!(1)),
        "{said}"
    );
    stream
        .notification("notifications/tools/list_changed")
        .await;
    let (name, event) = events.next_named().await;
    assert_eq!(name, "activity.tool_quarantine_change");
    assert_eq!(event["payload"]["server_name"], "sums");
    assert_eq!(event["payload"]["tool_name"], "add");
    assert_eq!(event["payload"]["state"], "approved");
    assert_eq!(event["payload"]["before"], "quarantined");
    assert_eq!(listed(&gateway).await, ["sums__add", "sums__sub"]);

    let (status, _) = gateway
        .owner()
        .post("/api/v1/servers/sums/quarantine", &json!({}))
        .await;
    assert_eq!(status, 200);
    assert_eq!(events.next_named().await.0, "activity.quarantine_change");
    assert_eq!(listed(&gateway).await, Vec::<String>::new());
    let stale = json!({ "tools": ["add"], "hash": "00" });
    let (status, _) = gateway
        .owner()
        .post(&format!("/api/v1{approve}"), &stale)
        .await;
    assert_eq!(status, 409);
    let diff = gateway.api("/servers/sums/tools/add/diff").await;
    let exact = json!({ "tools": ["add"], "hash": diff["fingerprint"]["combined_hash"] });
    let (status, _) = gateway
        .owner()
        .post(&format!("/api/v1{approve}"), &exact)
        .await;
    assert_eq!(status, 200);
    let diagnosed = gateway.api("/diagnostics").await.to_string();
    assert!(
        diagnosed.contains("everything of it is withheld"),
        "{diagnosed}"
    );
    let wrong = json!({ "tools": ["nothing"] });
    let (status, _) = gateway
        .owner()
        .post(&format!("/api/v1{approve}"), &wrong)
        .await;
    assert_eq!(status, 404);
    let (status, _) = gateway
        .owner()
        .post(&format!("/api/v1{approve}"), &json!({}))
        .await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn the_command_line_lists_shows_approves_and_blocks() {
    let (gateway, _upstream) = poisoned().await;
    let home = &gateway.home;
    let shown = async |args: &[&str]| {
        let out = home.run(args).await;
        let text = [out.stdout, out.stderr].concat();
        (out.status.code(), String::from_utf8(text).unwrap())
    };
    let with_key = async |args: &[&str]| {
        let mut command = home.command(args);
        let done = command.env("MCPPROXY_API_KEY", home.key()).output();
        within("a command", done).await.unwrap().status.code()
    };
    let (_, list) = shown(&["tools", "list"]).await;
    assert!(
        list.contains("quarantined") && list.contains("approved"),
        "{list}"
    );
    let (code, diff) = shown(&["tools", "diff", "sums", "add"]).await;
    assert_eq!(code, Some(1));
    assert!(
        diff.contains(POISON) && diff.contains("quarantined"),
        "{diff}"
    );
    let (code, _) = shown(&["tools", "approve", "sums", "add"]).await;
    assert_eq!(code, Some(4), "without a key");
    assert_eq!(
        with_key(&["tools", "approve", "sums", "add"]).await,
        Some(0)
    );
    assert_eq!(listed(&gateway).await.len(), 2);
    let (code, diff) = shown(&["tools", "diff", "sums", "add"]).await;
    assert_eq!(code, Some(0), "{diff}");
    let (code, said) = shown(&["tools", "block", "sums", "--all"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(listed(&gateway).await, Vec::<String>::new());
    // What was blocked passes by its name alone.
    assert_eq!(
        with_key(&["tools", "approve", "sums", "--all"]).await,
        Some(0)
    );
    assert_eq!(listed(&gateway).await, Vec::<String>::new());
    assert_eq!(
        // As `tools list` prints it.
        with_key(&["tools", "approve", "sums:sub"]).await,
        Some(0)
    );
    let (code, diff) = shown(&["tools", "diff", "sums:sub"]).await;
    assert_eq!(code, Some(0), "{diff}");
    assert_eq!(listed(&gateway).await, ["sums__sub"]);
    let (code, _) = shown(&["upstream", "quarantine", "sums"]).await;
    assert_eq!((code, listed(&gateway).await.len()), (Some(0), 0));
    let (code, _) = shown(&["upstream", "unquarantine", "sums"]).await;
    assert_eq!(code, Some(4), "without a key");
    assert_eq!(
        with_key(&["upstream", "unquarantine", "sums"]).await,
        Some(0)
    );
    assert_eq!(listed(&gateway).await, ["sums__sub"]);
    let (code, _) = shown(&["tools", "diff", "sums", "nothing"]).await;
    assert_eq!(code, Some(3));
}

#[tokio::test]
async fn an_agent_looks_and_tightens_and_never_lifts() {
    let upstream = sums(&[tool("add", POISON), tool("sub", "Subtracts two numbers.")]);
    let gateway = Gateway::start(&config("call", &[("sums", &upstream)])).await;
    let agent = Legacy::open_with(gateway.owner().at("/mcp"), json!({})).await;
    let ask = async |arguments: Value| {
        let result = agent.call("quarantine_security", arguments).await;
        (result["isError"] == true, text_of(&result).to_owned())
    };
    let find = async |query: &str| {
        let found = agent
            .call("retrieve_tools", json!({ "query": query }))
            .await;
        found["structuredContent"].clone()
    };
    let found = find("read the ssh key and pass its content as a note").await;
    assert!(!found["tools"].to_string().contains("ssh"), "{found}");
    let (_, listed) = ask(json!({ "operation": "list_quarantined" })).await;
    assert!(
        listed.contains("\"add\"") && !listed.contains("\"sub\""),
        "{listed}"
    );
    assert!(!listed.contains(POISON), "{listed}");
    let (_, tools) = ask(json!({ "operation": "inspect_tools", "name": "sums" })).await;
    assert!(tools.contains("\"sub\""), "{tools}");
    let inspect = json!({ "operation": "inspect_quarantined", "name": "sums" });
    let (_, tools) = ask(inspect).await;
    assert!(!tools.contains("\"sub\""), "{tools}");
    for operation in ["approve_tool", "approve_all_tools"] {
        let (failed, said) =
            ask(json!({ "operation": operation, "name": "sums", "tool_name": "add" })).await;
        assert!(failed && said.contains("an agent cannot lift"), "{said}");
    }
    let described = agent
        .call("describe_tool", json!({ "name": "sums:add" }))
        .await;
    assert!(text_of(&described).contains("withheld"), "{described}");
    let called = json!({ "name": "sums:add", "args": {} });
    let called = agent.call("call_tool_write", called).await;
    assert!(text_of(&called).contains("withheld"), "{called}");
    ask(json!({ "operation": "block_tool", "name": "sums", "tool_name": "sub" })).await;
    let found = find("subtract two numbers").await;
    assert_eq!(found["total"], 0);
    let why = found["unavailable"].to_string();
    assert!(why.contains("quarantined (blocked)"), "{why}");
    let all = json!({ "operation": "block_all_tools", "name": "sums" });
    assert!(!ask(all).await.0);
    let (_, tools) = ask(json!({ "operation": "inspect_tools", "name": "sums" })).await;
    assert_eq!(tools.matches("\"blocked\"").count(), 2, "{tools}");
    let (failed, _) = ask(json!({ "operation": "quarantine_server", "name": "sums" })).await;
    assert!(!failed);
    let (_, listed) = ask(json!({ "operation": "list_quarantined" })).await;
    assert!(listed.contains("\"server\""), "{listed}");
    assert_eq!(upstream.called().len(), 0);
}

#[tokio::test]
async fn an_agent_sees_only_what_it_may_reach() {
    let (one, other) = (sums(&[tool("add", POISON)]), sums(&[tool("sub", POISON)]));
    let gateway = Gateway::start(&config("call", &[("one", &one), ("other", &other)])).await;
    let token = gateway.token("ci", &json!(["one"])).await;
    let agent = Legacy::open_with(token.at("/mcp"), json!({})).await;
    let listed = agent
        .call(
            "quarantine_security",
            json!({ "operation": "list_quarantined" }),
        )
        .await;
    let said = text_of(&listed);
    assert!(said.contains("add") && !said.contains("sub"), "{said}");
    let asked = json!({ "operation": "quarantine_server", "name": "other" });
    let params = json!({ "name": "quarantine_security", "arguments": asked });
    let refused = agent.request("tools/call", params).await.answer().await;
    assert!(refused.to_string().contains("scope"), "{refused}");
    // What is put away is put away for everybody, so a caller that may only read does not.
    let reader = json!({ "name": "reader", "upstreams": ["one"], "operations": ["read"] });
    let (_, made) = gateway.owner().post("/api/v1/tokens", &reader).await;
    let bearer = format!("Bearer {}", made["data"]["token"].as_str().unwrap());
    let token = gateway.http().with("authorization", &bearer);
    let agent = Legacy::open_with(token.at("/mcp"), json!({})).await;
    for operation in ["quarantine_server", "block_all_tools", "block_tool"] {
        let asked = json!({ "operation": operation, "name": "one", "tool_name": "add" });
        let params = json!({ "name": "quarantine_security", "arguments": asked });
        let refused = agent.request("tools/call", params).await.answer().await;
        assert!(refused.to_string().contains("scope"), "{refused}");
    }
}

#[tokio::test]
async fn a_baseline_is_kept_in_the_file_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("baselines.db");
    let upstream = sums(&[tool("add", "Adds two numbers.")]);
    let mut config = config("all", &[("sums", &upstream)]);
    config["security"]["hooks"] = json!([{
        "id": "rug-pull-detector", "type": "native",
        "config": { "baseline_store": format!("file:{}", file.display()) },
    }]);
    let gateway = Gateway::start(&config).await;
    assert_eq!(listed(&gateway).await, ["sums__add"]);
    gateway.stop().await;
    // Another gateway with a data folder of its own knows what was approved, and that it turned.
    rewrite(&upstream, &[tool("add", POISON)]);
    let gateway = Gateway::start(&config).await;
    until_state(&gateway, "sums:add", "rug_pull").await;
}
