//! Access policies through the real gateway: what is hidden is unknown, what is forbidden does not
//! arrive, and its twin does.

use serde_json::{Value, json};

use crate::support::{Gateway, Home, Http, Legacy, Upstream, names_of, text_of, until};

const POLICIES: &str = r#"
@id("readers")
permit(principal == Agent::"reader", action == Action::"tools/call", resource == Tool::"files/read_note");

@id("writers")
permit(principal == Agent::"writer", action, resource in Server::"files")
unless { resource.name like "secret*" };

@id("no-keys")
forbid(principal, action, resource)
when { context.arguments has path && context.arguments.path like "*.key" };
"#;

fn files() -> Upstream {
    let tool = |name: &str, reads: bool| {
        json!({
            "name": name,
            "description": "Works on notes.",
            "inputSchema": { "type": "object", "properties": { "path": { "type": "string" } } },
            "annotations": { "readOnlyHint": reads },
        })
    };
    Upstream::play(&json!({
        "tools": [tool("read_note", true), tool("write_note", false), tool("secret_wipe", false)],
        "prompts": [{ "name": "summary" }, { "name": "secret_plan" }],
        "resources": [{ "uri": "note://1", "name": "one" }],
        "results": { "read_note": ["a note"], "write_note": ["written"], "secret_wipe": ["gone"] },
    }))
}

fn config(files: &Upstream, policies: &Value) -> Value {
    json!({
        "routing_mode": "all",
        "mcpServers": { "files": files.settings },
        "security": {
            "hooks": [{ "id": "rbac-enforcer", "type": "native", "config": policies }],
        },
    })
}

async fn start() -> (Upstream, Gateway, Http, Http) {
    let files = files();
    let gateway = Gateway::start(&config(&files, &json!({ "policies": POLICIES }))).await;
    gateway.until_ready().await;
    let reader = gateway.token("reader", &Value::Null).await;
    let writer = gateway.token("writer", &Value::Null).await;
    (files, gateway, reader, writer)
}

/// Asks and returns what came back, error or not, with a name in it made neutral.
async fn said(agent: &Legacy, method: &str, params: Value, name: &str) -> String {
    let answer = agent.request(method, params).await.answer().await;
    let told = if answer["error"].is_null() {
        &answer["result"]
    } else {
        &answer["error"]
    };
    told.to_string().replace(name, "NAME")
}

#[tokio::test]
async fn lists_show_what_their_reader_could_use() {
    let (_files, _gateway, reader, writer) = start().await;
    let check = async |who: &Http, method: &str, expect: &[&str]| {
        let agent = Legacy::open_with(who.clone().at("/mcp"), json!({})).await;
        let list = agent.ask(method, json!({})).await;
        let key = method.split('/').next().unwrap();
        assert_eq!(names_of(&list[key]), expect, "{list}");
    };
    check(&reader, "tools/list", &["files__read_note"]).await;
    check(&reader, "prompts/list", &[]).await;
    check(&reader, "resources/list", &[]).await;
    let both = ["files__read_note", "files__write_note"];
    check(&writer, "tools/list", &both).await;
    check(&writer, "prompts/list", &["files__summary"]).await;
    check(&writer, "resources/list", &["one"]).await;
}

#[tokio::test]
async fn a_search_finds_and_describes_no_more_than_a_list_shows() {
    let (_files, _gateway, reader, writer) = start().await;
    let search =
        json!({ "query": "notes", "include_disabled": true, "explain_tool": "files:secret_wipe" });
    for (who, shown) in [(&reader, 1), (&writer, 2)] {
        let agent = Legacy::open_with(who.clone().at("/mcp/call"), json!({})).await;
        let found = agent.call("retrieve_tools", search.clone()).await;
        let found = text_of(&found).replace("`files:secret_wipe` is not indexed", "");
        let answer: Value = serde_json::from_str(&found).unwrap();
        assert_eq!(answer["total"], shown, "{found}");
        assert!(!found.contains("secret"), "{found}");
        let describe = |name: &str| json!({ "name": "describe_tool", "arguments": { "name": format!("files:{name}") } });
        let hidden = said(&agent, "tools/call", describe("secret_wipe"), "secret_wipe").await;
        let absent = said(&agent, "tools/call", describe("nothing"), "nothing").await;
        assert_eq!(hidden, absent);
    }
}

#[tokio::test]
async fn an_upstream_that_has_listed_nothing_yet_is_known_to_nobody() {
    // Nobody needs it, so that its list stays unknown.
    let silent = json!({ "command": "sleep", "args": ["600"], "start": "lazy" });
    let files = files();
    let mut config = config(&files, &json!({ "policies": POLICIES }));
    config["mcpServers"]["vault"] = silent;
    let gateway = Gateway::start(&config).await;
    let writer = gateway.token("writer", &Value::Null).await;
    let agent = Legacy::open_with(writer.at("/mcp/call"), json!({})).await;
    until("the files", async || {
        let list = json!({ "operation": "list" });
        let list = agent.call("upstream_servers", list).await;
        let list = text_of(&list).to_owned();
        assert!(!list.contains("vault"), "{list}");
        list.contains("files").then_some(())
    })
    .await;
    let call = |name: &str| {
        let arguments = json!({ "name": name, "args": {} });
        json!({ "name": "call_tool_read", "arguments": arguments })
    };
    let hidden = said(&agent, "tools/call", call("vault:open"), "vault").await;
    let absent = said(&agent, "tools/call", call("nowhere:open"), "nowhere").await;
    assert_eq!(hidden, absent);
}

#[tokio::test]
async fn what_is_hidden_answers_as_what_is_not_there() {
    let (files, gateway, reader, writer) = start().await;
    for who in [&reader, &writer] {
        let agent = Legacy::open_with(who.clone().at("/mcp"), json!({})).await;
        let check = async |method: &str, param: &str, hidden: &str, absent: &str| {
            let one = said(&agent, method, json!({ param: hidden }), hidden).await;
            let other = said(&agent, method, json!({ param: absent }), absent).await;
            // The gateway's own names of upstreams are no part of what upstreams call things.
            let plain = |text: &str| {
                text.replace("secret_wipe", "NAME")
                    .replace("nothing", "NAME")
            };
            let plain = |text: &str| plain(text).replace("secret_plan", "NAME");
            assert_eq!(plain(&one), plain(&other), "{method}");
        };
        check("tools/call", "name", "files__secret_wipe", "files__nothing").await;
        check(
            "prompts/get",
            "name",
            "files__secret_plan",
            "files__nothing",
        )
        .await;
    }
    let agent = Legacy::open_with(reader.at("/mcp"), json!({})).await;
    let one = said(
        &agent,
        "resources/read",
        json!({ "uri": "note://1" }),
        "note://1",
    )
    .await;
    let other = said(
        &agent,
        "resources/read",
        json!({ "uri": "note://2" }),
        "note://2",
    )
    .await;
    assert_eq!(one, other);
    assert!(files.called().is_empty());
    // Who looks at the log sees that it was tried, and why it was refused.
    until("the record of a refusal", async || {
        let records = gateway.home.activity();
        let mut denied = records.iter().filter(|one| one["decision"] == "deny");
        let hidden = |one: &Value| one["findings"].to_string().contains("rbac-enforcer/hidden");
        denied.any(hidden).then_some(())
    })
    .await;
}

#[tokio::test]
async fn what_is_hidden_is_not_counted_and_not_put_into_quarantine() {
    let (_files, gateway, reader, _writer) = start().await;
    let agent = Legacy::open_with(reader.at("/mcp/call"), json!({})).await;
    let own = async |tool: &str, arguments: Value| {
        let answer = agent.call(tool, arguments).await;
        serde_json::from_str::<Value>(text_of(&answer)).unwrap()
    };
    let search = json!({ "query": "notes", "explain_tool": "files:read_note" });
    let explained = own("retrieve_tools", search).await;
    assert_eq!(explained["explanation"]["of"], 1, "{explained}");
    assert_eq!(explained["explanation"]["rank"], 1, "{explained}");
    let counts = |server: &Value| ["tools", "prompts", "resources"].map(|key| server[key].clone());
    let shown = own("upstream_servers", json!({ "operation": "list" })).await;
    assert_eq!(counts(&shown["servers"][0]), [1, 0, 0].map(Value::from));
    let owner = gateway.api("/servers").await;
    assert_eq!(counts(&owner[0]), [3, 2, 1].map(Value::from));
    let block = |tool: &str| {
        let arguments = json!({ "operation": "block_tool", "name": "files", "tool_name": tool });
        json!({ "name": "quarantine_security", "arguments": arguments })
    };
    let hidden = said(&agent, "tools/call", block("write_note"), "write_note").await;
    let absent = said(&agent, "tools/call", block("gone_tool"), "gone_tool").await;
    assert_eq!(hidden, absent);
    assert!(
        hidden.contains("error") || hidden.contains("code"),
        "{hidden}"
    );
}

#[tokio::test]
async fn the_scope_of_a_token_does_not_tell_hidden_from_absent() {
    let (files, gateway, _reader, _writer) = start().await;
    gateway.owner().delete("/api/v1/tokens/writer").await;
    let body = json!({ "name": "writer", "operations": ["read"] });
    let (_, made) = gateway.owner().post("/api/v1/tokens", &body).await;
    let token = made["data"]["token"].as_str().unwrap();
    let http = gateway
        .http()
        .with("authorization", &format!("Bearer {token}"));
    let agent = Legacy::open_with(http.at("/mcp"), json!({})).await;
    let call = async |tool: &str| {
        let params = json!({ "name": format!("files__{tool}") });
        said(&agent, "tools/call", params, tool).await
    };
    let (hidden, absent) = (call("secret_wipe").await, call("nothing").await);
    assert_eq!(hidden, absent);
    // What they may know of is refused with the reason.
    let known = call("write_note").await;
    assert!(known.contains("scope"), "{known}");
    assert!(files.called().is_empty());
}

#[tokio::test]
async fn the_rest_of_a_cut_answer_is_for_who_may_use_the_tool() {
    let tool = json!({ "name": "read_note", "inputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": true } });
    let long = "word ".repeat(1000);
    let files =
        Upstream::play(&json!({ "tools": [tool], "results": { "read_note": [long.clone()] } }));
    let home = Home::new(&json!({}));
    let policies = home.path().join("access.cedar");
    std::fs::write(&policies, POLICIES).unwrap();
    let mut config = config(&files, &json!({ "policy_file": policies }));
    config["tool_response_limit"] = json!(2000);
    home.configure(&config.to_string());
    let gateway = Gateway::start_in(home).await;
    gateway.until_ready().await;
    let reader = gateway.token("reader", &Value::Null).await;
    let agent = Legacy::open_with(reader.at("/mcp/call"), json!({})).await;
    let read = json!({ "name": "files:read_note", "args": {} });
    let cut = agent.call("call_tool_read", read).await;
    let (_, note) = text_of(&cut).split_once("[cut by mcpproxy").unwrap();
    let key = note.split('`').nth(1).unwrap().to_owned();
    let page = json!({ "name": "read_cache", "arguments": { "key": key, "offset": 2000 } });
    let read_on = async || said(&agent, "tools/call", page.clone(), "read_note").await;
    let fine = read_on().await;
    assert!(fine.contains("word word"), "{fine}");
    std::fs::write(
        &policies,
        "permit(principal == Owner::\"x\", action, resource);",
    )
    .unwrap();
    until("the new policies", async || {
        (!read_on().await.contains("word")).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_forbidden_call_does_not_arrive_and_its_twin_does() {
    let (files, _gateway, reader, writer) = start().await;
    let reader = Legacy::open_with(reader.at("/mcp"), json!({})).await;
    let writer = Legacy::open_with(writer.at("/mcp"), json!({})).await;
    let read = |path: &str| json!({ "path": path });
    let fine = reader.call("files__read_note", read("a.txt")).await;
    assert_eq!(text_of(&fine), "a note");
    let refused = reader.call("files__read_note", read("tls.key")).await;
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(text_of(&refused).contains("`no-keys` forbids"), "{refused}");
    let fine = writer.call("files__write_note", read("b.txt")).await;
    assert_eq!(text_of(&fine), "written");
    let arrived: Vec<_> = files.called().into_iter().map(|(tool, _)| tool).collect();
    assert_eq!(arrived, ["read_note", "write_note"]);
}

#[tokio::test]
async fn policies_in_a_file_are_read_again_and_a_broken_file_changes_nothing() {
    let files = files();
    let home = Home::new(&json!({}));
    let policies = home.path().join("access.cedar");
    std::fs::write(&policies, POLICIES).unwrap();
    let config = config(&files, &json!({ "policy_file": policies }));
    home.configure(&config.to_string());
    let gateway = Gateway::start_in(home).await;
    gateway.until_ready().await;
    let reader = gateway.token("reader", &Value::Null).await.at("/mcp");
    let agent = Legacy::open_with(reader, json!({})).await;
    let tools = async || {
        let list = agent.ask("tools/list", json!({})).await;
        names_of(&list["tools"]).len()
    };
    assert_eq!(tools().await, 1);
    std::fs::write(
        &policies,
        "permit(principal, action, resource)\n  when { x };",
    )
    .unwrap();
    let why = gateway.until_logged("not reloaded").await;
    assert!(why.contains("access.cedar` line 2 column 10"), "{why}");
    assert_eq!(tools().await, 1);
    std::fs::write(&policies, "permit(principal, action, resource);").unwrap();
    until("the new policies", async || {
        (tools().await == 3).then_some(())
    })
    .await;
}

/// Issue 6: a policy with a slip in a name would protect nothing.
#[tokio::test]
async fn a_server_that_policies_name_and_nobody_configured_is_told() {
    let policies = r#"@id("p") forbid(principal, action, resource in Server::"fils");"#;
    let home = Home::new(&config(&files(), &json!({ "policies": policies })));
    let said = home.run(&["config", "check"]).await;
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    let told = "access policy `p` names the server `fils`, which is not configured; did you mean \
                `files`?";
    assert!(said.contains(told), "{said}");
    let gateway = Gateway::start_in(home).await;
    gateway.until_logged(told).await;
}

#[tokio::test]
async fn policies_that_cannot_be_read_stop_the_start() {
    let check = async |policies: &Value, expect: &str| {
        let home = Home::new(&config(&files(), policies));
        let said = home.run(&["config", "check"]).await;
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.contains(expect), "{said}");
        let refused = Gateway::launch(home, &[]).await;
        let said = refused
            .err()
            .map(|refused| refused.said)
            .unwrap_or_default();
        assert!(said.contains(expect), "{said}");
    };
    check(&json!({ "policies": "permit(\n" }), "line 1 column 8").await;
    let slip = r#"@id("p") forbid(principal, action, resource == Tool::"files:read_note");"#;
    check(
        &json!({ "policies": slip }),
        "policy `p` would never apply: it names `Tool::",
    )
    .await;
    check(&json!({ "policies": "" }), "has none").await;
    check(
        &json!({ "policy_file": "/nowhere/a.cedar" }),
        "/nowhere/a.cedar",
    )
    .await;
    check(&json!({}), "needs `policy_file` or `policies`").await;
}

/// What a call comes to without a gateway, and in one that runs, is what it comes to in earnest.
#[tokio::test]
async fn policies_and_guards_are_tried_out_as_they_are_asked() {
    let (_files, gateway, ..) = start().await;
    let call = |who: &str, tool: &str, path: &str| {
        json!({
            "caller": { "kind": "agent", "name": who },
            "calls": [{ "server": "files", "tool": tool, "args": { "path": path } }],
        })
    };
    for (who, tool, path, expect) in [
        ("reader", "read_note", "a.txt", None),
        ("reader", "read_note", "tls.key", Some("rbac-enforcer")),
        (
            "reader",
            "write_note",
            "a.txt",
            Some("rbac-enforcer/hidden"),
        ),
        ("writer", "write_note", "a.txt", None),
        (
            "writer",
            "secret_wipe",
            "a.txt",
            Some("rbac-enforcer/hidden"),
        ),
    ] {
        let call = call(who, tool, path);
        let file = gateway.home.path().join("call.json");
        std::fs::write(&file, call.to_string()).unwrap();
        let file = file.to_str().unwrap();
        let explained = gateway
            .home
            .run(&["policy", "explain", file, "--json"])
            .await;
        let alone: Value = serde_json::from_slice(&explained.stdout).unwrap();
        let (status, within) = gateway.owner().post("/api/v1/policy/explain", &call).await;
        assert_eq!(status, 200, "{within}");
        for explained in [&alone, &within["data"]] {
            let decided = explained["decided_by"].as_str();
            assert_eq!(decided, expect, "{who} {tool} {path}: {explained}");
        }
        let replayed = gateway
            .home
            .run(&["policy", "replay", "--jsonl", file, "--json"])
            .await;
        let replayed: Value = serde_json::from_slice(&replayed.stdout).unwrap();
        let decision = &replayed["calls"][0]["decision"];
        assert_eq!(decision == "deny", expect.is_some(), "{replayed}");
    }
}
