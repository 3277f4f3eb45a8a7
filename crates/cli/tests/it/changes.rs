//! Who changed what, and which token was tried where it does not reach: both are on record.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Gateway, Legacy, Scene, headers, scripted, until};

/// The newest records of some types, once one satisfies.
async fn records(gateway: &Gateway, kinds: &str, last: impl Fn(&Value) -> bool) -> Vec<Value> {
    let path = format!("/activity?limit=100&type={kinds}");
    until("the record", || async {
        let page = gateway.api(&path).await;
        let records = page["activities"].as_array().unwrap().clone();
        records.iter().any(&last).then_some(records)
    })
    .await
}

/// Regression for #8: of what an operator did nothing said who had done it.
#[tokio::test]
async fn what_an_operator_changes_is_on_record_with_who_did_it() {
    let scene = Scene::start(json!({})).await;
    let gateway = &scene.gateway;
    let owner = gateway.owner();
    let steps = [
        (
            Method::POST,
            "/stops",
            json!({ "scope": "upstream:inside" }),
        ),
        (Method::DELETE, "/stops/upstream:inside", Value::Null),
        (
            Method::POST,
            "/tokens",
            json!({ "name": "ci", "upstreams": ["inside"], "operations": ["read"] }),
        ),
        (Method::DELETE, "/tokens/ci", Value::Null),
        (
            Method::POST,
            "/servers",
            json!({ "name": "new", "command": "true", "env": { "TOKEN": "hunter2-hunter2" } }),
        ),
        (Method::PATCH, "/servers/new", json!({ "args": ["x"] })),
        (Method::POST, "/servers/new/disable", Value::Null),
        (Method::POST, "/servers/new/enable", Value::Null),
        (Method::DELETE, "/servers/new", Value::Null),
        (
            Method::POST,
            "/config/apply",
            json!({ "patch": { "security": { "mode": "shadow" } } }),
        ),
        (Method::POST, "/config/reload", Value::Null),
    ];
    for (method, path, body) in steps {
        let kind = headers(&[("content-type", "application/json")]);
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let place = format!("/api/v1{path}");
        let reply = owner.send(method.clone(), &place, kind, body).await;
        let (status, said) = reply.json().await;
        assert_eq!(status, 200, "{method} {path}: {said}");
    }
    let kinds = "config_change,server_change";
    let records = records(gateway, kinds, |one| one["method"] == "reload").await;
    let mut told: Vec<_> = records
        .iter()
        .filter(|one| one["principal"] == "owner")
        .map(|one| {
            assert_eq!(one["source"], "api", "{one}");
            let said = &one["metadata"];
            let details = said["details"].as_array().cloned().unwrap_or_default();
            let details: Vec<_> = details.iter().map(|word| word.as_str().unwrap()).collect();
            [
                one["type"].as_str().unwrap().to_owned(),
                one["method"].as_str().unwrap().to_owned(),
                said["target"].as_str().unwrap().to_owned(),
                details.join(","),
            ]
        })
        .collect();
    told.reverse();
    let expect = [
        ["config_change", "stop_calls", "upstream:inside", ""],
        ["config_change", "resume_calls", "upstream:inside", ""],
        [
            "config_change",
            "create_token",
            "ci",
            "upstream:inside,operation:read",
        ],
        ["config_change", "revoke_token", "ci", ""],
        ["server_change", "add_upstream", "new", "command,env"],
        ["server_change", "change_upstream", "new", "args"],
        ["server_change", "disable_upstream", "new", ""],
        ["server_change", "enable_upstream", "new", ""],
        ["server_change", "remove_upstream", "new", ""],
        ["config_change", "change_config", "", "security.mode"],
        ["config_change", "reload", "", ""],
    ];
    assert_eq!(told, expect);
    let text = json!(records).to_string();
    assert!(
        !text.contains("mcp_agt_") && !text.contains("hunter2"),
        "{text}"
    );
    assert!(records.iter().all(|one| {
        one["principal"] == "" || one["type"] == "config_change" || one["server_name"] == "new"
    }));
}

/// Regression for #8: a token that was used outside its scope left nothing behind.
#[tokio::test]
async fn a_call_outside_the_scope_of_a_token_is_on_record_with_who_and_what() {
    let scene = Scene::start(json!({})).await;
    let gateway = &scene.gateway;
    let agent = gateway.token("ci", &json!(["inside"])).await;
    let mcp = Legacy::open_with(agent.clone().at("/mcp"), json!({})).await;
    let refused = mcp.ask("tools/call", Scene::post("x")).await;
    assert_eq!(refused["isError"], true, "{refused}");
    let call =
        json!({ "name": "outside:post", "operation": "write", "arguments": { "text": "x" } });
    let (_, said) = agent.post("/api/v1/tools/call", &call).await;
    assert_eq!(said["data"]["isError"], true, "{said}");
    // What it reaches leaves no such record.
    mcp.call("inside__read", json!({})).await;
    let records = records(gateway, "policy_decision", |one| one["source"] == "api").await;
    let told: Vec<_> = records
        .iter()
        .map(|one| {
            let rule = one["findings"][0]["rule"].as_str().unwrap();
            let word = |name: &str| one[name].as_str().unwrap();
            [
                word("source"),
                word("principal"),
                word("server_name"),
                word("tool_name"),
                word("method"),
                word("status"),
                word("decision"),
                rule,
            ]
        })
        .collect();
    let expect = |source| {
        [
            source,
            "token:ci",
            "outside",
            "post",
            "tools/call",
            "blocked",
            "deny",
            "scope",
        ]
    };
    assert_eq!(told, [expect("api"), expect("mcp")]);
    // The answer names the record.
    let id = said["request_id"].as_str().unwrap();
    let page = gateway.api(&format!("/activity?request_id={id}")).await;
    assert_eq!(page["activities"][0]["principal"], "token:ci", "{page}");
}

/// The tool with which the owner's agent changes upstreams says who did it, too.
#[tokio::test]
async fn an_upstream_that_is_changed_over_mcp_is_on_record() {
    let config = json!({ "routing_mode": "call", "mcpServers": { "one": scripted("say one") } });
    let gateway = Gateway::start(&config).await;
    let owner = Legacy::open_with(gateway.owner().at("/mcp"), json!({})).await;
    let order = json!({ "operation": "disable", "name": "one" });
    let done = owner.call("upstream_servers", order).await;
    assert_ne!(done["isError"], true, "{done}");
    let records = records(&gateway, "server_change", |one| one["principal"] == "owner").await;
    let one = records
        .iter()
        .find(|one| one["principal"] == "owner")
        .unwrap();
    assert_eq!(one["source"], "mcp", "{one}");
    assert_eq!(one["method"], "disable_upstream");
    assert_eq!(one["server_name"], "one");
}
