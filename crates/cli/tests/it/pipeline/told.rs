//! What a hook is told beside the message: the session, the caller, how the request came in.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Service, deny};
use crate::access::oauth::{Issuer, bearer};
use crate::support::{Gateway, Legacy, Modern, Scene, sides, text_of};

/// A gateway whose hook may see everything, and an issuer that names callers.
async fn started(service: &Service) -> (Issuer, Gateway, [crate::support::Upstream; 2]) {
    let issuer = Issuer::start().await;
    let [inside, outside] = sides();
    let sees = json!(["arguments", "results", "identity", "headers", "secrets"]);
    let config = json!({
        "routing_mode": "all", "oauth": issuer.settings(),
        "mcpServers": { "inside": inside.settings, "outside": outside.settings },
        "security": { "hooks": [service.hook(&json!({ "sees": sees }))] },
    });
    (issuer, Gateway::start(&config).await, [inside, outside])
}

#[tokio::test]
async fn a_hook_is_told_who_asks_what_of_whom() {
    let service = Service::start(|_| json!({ "decision": "allow" })).await;
    let (issuer, gateway, _upstreams) = started(&service).await;
    let token = issuer.token("ada", &["reader"]);
    let http = bearer(&gateway, &token).with("x-team-note", "blue");
    let agent = Legacy::open_with(http.at("/mcp"), json!({})).await;
    let said = agent.ask("tools/call", Scene::post("hello")).await;
    assert_eq!(text_of(&said), "posted");

    let told = service.asked("request").pop().unwrap();
    let session = &told["session"];
    assert_eq!(session["server_id"], "outside");
    for key in ["id", "server_name", "protocol_version", "established_at"] {
        assert!(
            session[key].as_str().is_some_and(|one| !one.is_empty()),
            "{key}: {told}"
        );
    }
    // The id names the session and does not open it.
    assert_ne!(session["id"], agent.session);
    let identity = &told["identity"];
    let user = identity["user_id"].as_str().unwrap();
    assert!(
        user.starts_with("oauth:") && user.ends_with("#ada"),
        "{user}"
    );
    assert_eq!(identity["roles"], json!(["user", "reader"]));
    assert_eq!(identity["scopes"], json!(["mcp:use"]));
    assert_eq!(
        identity["attributes"],
        json!([{ "name": "team", "value": "blue" }])
    );
    let received = &told["received"];
    assert_eq!(
        (&received["method"], &received["path"]),
        (&json!("tools/call"), &json!("/mcp"))
    );
    assert_eq!(received["remote_addr"], "127.0.0.1");
    assert!(received["at"].as_str().is_some(), "{received}");
    let headers = received["headers"].as_array().unwrap();
    assert!(
        headers.contains(&json!({ "name": "x-team-note", "value": "blue" })),
        "{received}"
    );
    assert!(
        !told.to_string().contains(&token),
        "a credential is no header for hooks"
    );
    let request = &told["request"];
    assert_eq!(
        (&request["method"], &request["name"]),
        (&json!("tools/call"), &json!("post"))
    );
    assert_eq!(request["params"]["arguments"], json!({ "text": "hello" }));
    assert!(!request["id"].is_null(), "{request}");

    let answered = service.asked("response").pop().unwrap();
    assert_eq!(answered["response"]["kind"], "result");
    assert_eq!(answered["response"]["body"]["content"][0]["text"], "posted");
    assert_eq!(answered["correlation_id"], told["correlation_id"]);
}

/// Of a session that is opened, and of a conversation that only its calls make one.
#[tokio::test]
async fn a_hook_is_told_when_the_session_began() {
    let pause = || tokio::time::sleep(Duration::from_millis(20));
    let service = Service::start(|_| json!({ "decision": "allow" })).await;
    let (issuer, gateway, _upstreams) = started(&service).await;
    let http = bearer(&gateway, &issuer.token("ada", &["reader"])).at("/mcp");
    let legacy = Legacy::open_with(http.clone(), json!({})).await;
    for _ in 0..2 {
        pause().await;
        legacy.ask("tools/call", Scene::post("hello")).await;
    }
    let modern = Modern::with(http, json!({}));
    for _ in 0..2 {
        pause().await;
        modern.ask("tools/call", Scene::post("hello")).await;
    }
    let told = service.asked("request");
    let text = |at: usize, path: &str| told[at].pointer(path).unwrap().as_str().unwrap().to_owned();
    let began = |at: usize| text(at, "/session/established_at");
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(began(0), began(1));
    assert!(began(0) < text(0, "/received/at"), "{told:?}");
    assert!(
        began(1) < began(3) && began(3) < text(3, "/received/at"),
        "{told:?}"
    );
}

/// Several hooks can object to one call, and the record has what each of them said until one denied.
#[tokio::test]
async fn no_hook_hides_what_another_objects_to() {
    let ask = |rule: &str| {
        let mut ask = deny(rule);
        ask["decision"] = json!("ask");
        ask
    };
    let (first, second) = (ask("DLP-1"), deny("DLP-2"));
    let first = Service::start(move |_| first.clone()).await;
    let second = Service::start(move |_| second.clone()).await;
    let hook = |service: &Service, id: &str, priority: u32| {
        service.hook(&json!({ "id": id, "priority": priority, "runs_on": "request" }))
    };
    let hooks = json!([hook(&second, "two", 2), hook(&first, "one", 1)]);
    let scene = Scene::start(json!({ "hooks": hooks })).await;
    let agent = Legacy::open(&scene.gateway.url("/mcp"), json!({})).await;
    agent.ask("tools/call", Scene::post("hello")).await;
    let record = scene.records().pop().unwrap();
    let rules: Vec<&Value> = record["findings"].as_array().unwrap().iter().collect();
    let said = |rule: &str| rules.iter().any(|one| one["rule"] == rule);
    assert!(said("one/DLP-1") && said("two/DLP-2"), "{record}");
    assert!(scene.arrived().is_empty());
}
