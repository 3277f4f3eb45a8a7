//! The REST interface, as its owner uses it.

use mcpproxy_testkit::Sample;
use serde_json::{Value, json};

use super::shared;
use crate::support::{Gateway, Legacy, headers, names_of, until};

#[tokio::test]
async fn upstreams_are_managed_over_rest() {
    let echo = shared(Sample::Echo).await;
    let gateway = Gateway::start(&json!({ "mcpServers": { "echo": echo.settings } })).await;
    let owner = gateway.owner();
    let (status, made) = owner
        .post("/api/v1/servers", &json!({ "name": "b", "command": "x" }))
        .await;
    assert_eq!(
        (status.as_u16(), &made["success"]),
        (200, &json!(true)),
        "{made}"
    );
    assert!(made["request_id"].is_string() && made["data"].is_object());
    let one = gateway.api("/servers/b").await;
    assert_eq!((&one["name"], &one["command"]), (&json!("b"), &json!("x")));
    let change = json!({ "command": "y" }).to_string();
    let patched = owner
        .send(
            http::Method::PATCH,
            "/api/v1/servers/b",
            headers(&[("content-type", "application/json")]),
            change,
        )
        .await;
    assert_eq!(patched.status, 200);
    assert!(patched.headers.contains_key("x-request-id"));
    assert_eq!(gateway.api("/servers/b").await["command"], "y");
    for (action, enabled) in [("disable", false), ("enable", true)] {
        let path = format!("/api/v1/servers/echo/{action}");
        assert_eq!(owner.post(&path, &json!({})).await.0, 200);
        assert_eq!(gateway.api("/servers/echo").await["enabled"], enabled);
    }
    assert_eq!(
        owner
            .post("/api/v1/servers/echo/refresh", &json!({}))
            .await
            .0,
        200
    );
    let found = until("the tools", || async {
        let tools = gateway.api("/servers/echo/tools").await;
        names_of(&tools["tools"]).contains(&"echo").then_some(())
    });
    found.await;
    assert_eq!(owner.delete("/api/v1/servers/b").await.0, 200);
    let (status, gone) = owner.get("/api/v1/servers/b").await;
    assert_eq!((status.as_u16(), &gone["success"]), (404, &json!(false)));
    assert!(gone["error"].is_string() && gone["request_id"].is_string());
    let hits = gateway.api("/index/search?q=echo&limit=1").await;
    assert_eq!(hits[0]["name"], "echo:echo");
    let _session = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    assert_eq!(
        gateway.api("/sessions").await["sessions"][0]["principal"],
        "local"
    );
    assert_eq!(gateway.api("/diagnostics").await["problems"], json!([]));
}

#[tokio::test]
async fn a_change_that_would_not_load_is_not_made() {
    let gateway = Gateway::start(&json!({ "mcpServers": { "echo": { "command": "x" } } })).await;
    let file = gateway.home.path().join("mcpproxy.yaml");
    let before = std::fs::read_to_string(&file).unwrap();
    let bad = json!({ "name": "bad", "command": "x", "comand": "y" });
    let (status, answer) = gateway.owner().post("/api/v1/servers", &bad).await;
    assert_eq!(status, 409, "{answer}");
    assert!(
        answer["error"].as_str().unwrap().contains("comand"),
        "{answer}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    assert_eq!(gateway.api("/status").await["config_problem"], Value::Null);
}
