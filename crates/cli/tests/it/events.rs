//! What is told live at `/events`, what a session came to, and shadow mode, in which nothing is
//! stopped and everything is told.

use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use crate::support::{Http, KEY, Reply, Scene, WORDS, headers, text_of, within};

async fn listen(http: &Http) -> Reply {
    let path = "/events?types=flow.alert,approval.*";
    http.send(Method::GET, path, headers(&[]), "").await
}

/// The name of the first field that is told, as it stands on the wire.
async fn first_field(scene: &Scene) -> String {
    let mut stream = TcpStream::connect(&scene.gateway.address).await.unwrap();
    let (host, key) = (&scene.gateway.address, scene.gateway.home.key());
    let request = format!("GET /events HTTP/1.1\r\nhost: {host}\r\nx-api-key: {key}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(stream).lines();
    let found = async {
        let mut in_body = false;
        while let Some(line) = lines.next_line().await.unwrap() {
            in_body |= line.is_empty();
            if let (true, Some((field, _))) = (in_body, line.split_once(':')) {
                return field.to_owned();
            }
        }
        panic!("nothing is told");
    };
    within("the first field", found).await
}

#[tokio::test]
async fn a_flow_alert_is_told_live_and_to_the_owner_alone() {
    let scene = Scene::start(json!({})).await;
    let gateway = &scene.gateway;
    assert_eq!(listen(&gateway.http()).await.status, 403);
    let agent = gateway.token("ci", &json!(["outside"])).await;
    let refused = listen(&agent).await;
    assert_eq!(refused.status, 403);
    // Regression for #8: nothing said that there are tokens that may.
    let said = refused.text().await;
    assert!(
        said.contains("`mcpproxy token create NAME --audit`"),
        "{said}"
    );

    let mut events = listen(&gateway.owner()).await;
    assert_eq!(events.status, 200);
    let (name, hello) = events.next_named().await;
    assert_eq!(name, "status");
    assert!(hello["timestamp"].is_string() && hello["payload"]["since"].is_string());
    assert_eq!(first_field(&scene).await, "retry");

    let agent = scene.informed(json!({})).await;
    let denied = agent.ask("tools/call", Scene::post(KEY)).await;
    let decision = &denied["_meta"]["io.mcpproxy/decision"];
    let (name, alert) = events.next_named().await;
    assert_eq!(name, "flow.alert");
    let record = scene.records().pop().unwrap();
    let expect = json!({
        "activity_id": decision["activity_id"],
        "session_id": record["session_id"],
        "principal": record["principal"],
        "flow_type": "internal→external",
        "risk_level": "critical",
        "tool_name": "outside:post",
        "has_sensitive_data": true,
        "decision": "deny",
        "effective": "deny",
    });
    assert_eq!(alert["payload"], expect);
    assert_eq!(record["id"], decision["activity_id"]);
    assert!(alert["timestamp"].is_string());
    assert!(!alert.to_string().contains(KEY));

    // A flow that is only warned about is told, too.
    agent.ask("tools/call", Scene::post(WORDS)).await;
    let (name, alert) = events.next_named().await;
    assert_eq!(name, "flow.alert");
    assert_eq!(alert["payload"]["decision"], "ask");
    assert_eq!(alert["payload"]["effective"], "warn");
}

#[tokio::test]
async fn what_a_session_came_to_is_recorded_at_a_graceful_stop() {
    let scene = Scene::start(json!({})).await;
    let since = scene.gateway.api("/status").await["flow_tracking_since"].clone();
    assert!(
        since.as_str().is_some_and(|since| since.starts_with("20")),
        "{since}"
    );
    let agent = scene.informed(json!({})).await;
    for text in ["nothing of that", KEY, WORDS] {
        agent.ask("tools/call", Scene::post(text)).await;
    }
    let calls = scene.records();
    let session = calls[0]["session_id"].clone();
    // An edge for each thing that was recognized; one call may carry several.
    let findings = calls.iter().filter_map(|one| one["findings"].as_array());
    let recognized = findings.flatten().filter(|one| one["evidence"].is_object());
    let recognized = recognized.count();
    let mut records = scene.gateway.stop().await.activity();
    records.retain(|one| one["type"] == "flow_summary");
    let [record] = records.as_slice() else {
        panic!("one summary, not {records:?}");
    };
    assert_eq!(record["session_id"], session);
    assert_eq!(record["risk_level"], "critical");
    let summary = &record["summary"];
    assert_eq!(summary["edges"], recognized, "{summary} {calls:?}");
    assert_eq!(summary["flow_types"]["internal→external"], 2, "{summary}");
    assert_eq!(summary["risk_levels"]["critical"], 1, "{summary}");
    assert!(summary["origins"].as_u64().unwrap() > 0, "{summary}");
    let tools: Vec<Value> = summary["tools"].as_array().unwrap().clone();
    assert_eq!(tools, ["inside:read", "outside:post"]);
}

#[tokio::test]
async fn in_shadow_mode_everything_passes_and_a_deny_stays_a_deny() {
    let scene = Scene::start(json!({ "mode": "shadow" })).await;
    let agent = scene.informed(json!({ "elicitation": {} })).await;
    for (text, decision, risk) in [(WORDS, "ask", "medium"), (KEY, "deny", "critical")] {
        let result = agent.ask("tools/call", Scene::post(text)).await;
        assert_eq!(text_of(&result), "posted", "{result}");
        let record = scene.records().pop().unwrap();
        let decided = [
            &record["decision"],
            &record["effective"],
            &record["enforcement"],
        ];
        assert_eq!(decided, [decision, "allow", "shadow"], "{record}");
        assert_eq!(record["risk_level"], risk);
        assert_eq!(record["status"], "success");
    }
    assert_eq!(scene.arrived(), [WORDS, KEY]);
}

#[tokio::test]
async fn a_question_in_the_queue_and_its_end_are_told_live() {
    let scene = Scene::start(json!({ "approvals": { "mode": "queue" } })).await;
    let agent = scene.informed(json!({})).await;
    let mut events = listen(&scene.gateway.owner()).await;
    let watched = async {
        let mut names = Vec::new();
        let mut asked = Value::Null;
        while names.last().is_none_or(|name| name != "approval.resolved") {
            let (name, mut event) = events.next_named().await;
            if name == "approval.requested" {
                asked = event["payload"].take();
                assert_eq!(asked["tool_name"], "outside:post");
                let id = asked["approval_id"].as_str().unwrap();
                let path = format!("/api/v1/approvals/{id}");
                let body = json!({ "decision": "deny" });
                let (status, _) = scene.gateway.owner().post(&path, &body).await;
                assert_eq!(status, 200);
            } else if name == "approval.resolved" {
                assert_eq!(event["payload"]["approval_id"], asked["approval_id"]);
                assert_eq!(event["payload"]["outcome"], "denied");
            }
            names.push(name);
        }
        names
    };
    let call = agent.ask("tools/call", Scene::post(WORDS));
    let (denied, names) = tokio::join!(call, watched);
    assert_eq!(denied["isError"], true);
    let expect = [
        "status",
        "flow.alert",
        "approval.requested",
        "approval.resolved",
    ];
    assert_eq!(names, expect);
}

#[tokio::test]
async fn every_call_is_told_and_who_comes_back_hears_what_was_missed() {
    let scene = Scene::start(json!({})).await;
    let owner = scene.gateway.owner();
    let from = |last: &str| headers(&[("last-event-id", last)]);
    let path = "/events?types=activity.*,sensitive_data.detected";
    let mut events = owner.send(Method::GET, path, headers(&[]), "").await;
    assert_eq!(events.next_named().await.0, "status");
    let agent = scene.informed(json!({})).await;
    agent.ask("tools/call", Scene::post(KEY)).await;
    let mut names = Vec::new();
    let mut first = Value::Null;
    while names
        .last()
        .is_none_or(|name| name != "activity.tool_call.rejected")
    {
        let (name, told) = events.next_named().await;
        if name == "activity.tool_call.completed" {
            first = told["payload"].clone();
        }
        names.push(name);
    }
    let expect = [
        "activity.tool_call.started",
        "activity.tool_call.completed",
        "sensitive_data.detected",
        "activity.policy_decision",
        "activity.tool_call.rejected",
    ];
    assert_eq!(names, expect);
    assert_eq!(first["server_name"], "inside");
    assert_eq!(
        (&first["status"], &first["type"]),
        (&json!("success"), &json!("tool_call"))
    );
    assert!(!events.raw.iter().any(|one| one.contains(KEY)));
    let second = events.events[1].clone();
    drop(events);
    agent.call("inside__read", json!({})).await;
    let mut back = owner.send(Method::GET, path, from(&second), "").await;
    let mut names = Vec::new();
    while names.len() < 7 {
        names.push(back.next_named().await.0);
    }
    let again = [
        "status",
        "sensitive_data.detected",
        "activity.policy_decision",
    ];
    assert_eq!(&names[..3], again, "{names:?}");
    assert_eq!(names[5], "activity.tool_call.started");
    // Numbers of another run of the gateway mean that something was missed.
    let mut lost = owner.send(Method::GET, path, from("1-1"), "").await;
    assert_eq!(lost.next_named().await.0, "status");
    assert_eq!(lost.next_named().await.0, "missed");
    let (status, said) = owner.get("/events?types=flow").await;
    assert_eq!(status, 400);
    assert!(
        said["hint"].as_str().unwrap().contains("flow.alert"),
        "{said}"
    );
}

#[tokio::test]
async fn changes_of_servers_and_of_the_configuration_are_told() {
    let scene = Scene::start(json!({})).await;
    let owner = scene.gateway.owner();
    let path = "/events?types=servers.changed,config.reloaded";
    let mut events = owner.send(Method::GET, path, headers(&[]), "").await;
    assert_eq!(events.next_named().await.0, "status");
    let (status, _) = owner
        .post("/api/v1/servers/inside/disable", &json!({}))
        .await;
    assert_eq!(status, 200);
    let found = async {
        let mut servers = Vec::new();
        loop {
            let (name, told) = events.next_named().await;
            if name == "config.reloaded" {
                return (servers, told["payload"].clone());
            }
            servers.push(told["payload"].clone());
        }
    };
    let (servers, config) = within("the reload", found).await;
    assert_eq!(config["changed"], json!(["inside"]));
    assert!(
        servers.iter().any(|one| one["change"] == "changed"),
        "{servers:?}"
    );
}
