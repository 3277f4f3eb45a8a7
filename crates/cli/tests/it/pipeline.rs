//! The pipeline of hooks as an operator has it: the id of a request everywhere, counts, and what
//! the commands say.

use http::{HeaderMap, Method};
use serde_json::{Value, json};

use crate::support::{Http, Legacy, Reply, Scene, headers};

/// Calls the tool outside with more headers, and returns the answer.
async fn post(agent: &Legacy, more: &[(&str, &str)]) -> Reply {
    let call = json!({
        "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": Scene::post("hello"),
    });
    agent.send_with(call.to_string(), headers(more)).await
}

async fn metrics(http: &Http) -> (u16, String) {
    let reply = http
        .send(Method::GET, "/metrics", HeaderMap::new(), "")
        .await;
    (reply.status.as_u16(), reply.text().await)
}

#[tokio::test]
async fn a_request_has_one_id_in_its_record_and_its_answer() {
    let security = json!({ "correlation_id_header": "X-Trace" });
    let scene = Scene::start(security).await;
    let agent = scene.informed(json!({})).await;
    let given = post(&agent, &[("x-trace", "4bf92f3577b34da6")]).await;
    assert_eq!(given.headers["x-trace"], "4bf92f3577b34da6");
    given.json().await;
    let record = scene.records().pop().unwrap();
    assert_eq!(record["correlation_id"], "4bf92f3577b34da6");

    // Without one, or with one that cannot be written everywhere, it is made.
    for more in [&[][..], &[("x-trace", "two words")]] {
        let made = post(&agent, more).await;
        let id = made.headers["x-trace"].to_str().unwrap().to_owned();
        made.json().await;
        let record = scene.records().pop().unwrap();
        assert_eq!(record["correlation_id"], id);
        assert_eq!(record["id"], id);
    }
}

#[tokio::test]
async fn without_hooks_there_is_nothing_to_list_and_violations_are_counted() {
    let scene = Scene::start(json!({})).await;
    let gateway = &scene.gateway;
    assert_eq!(gateway.api("/hooks").await["hooks"], json!([]));
    assert_eq!(metrics(&gateway.http()).await.0, 403);
    let agent = scene.informed(json!({})).await;
    agent
        .ask("tools/call", Scene::post(crate::support::KEY))
        .await;
    let (status, text) = metrics(&gateway.owner()).await;
    assert_eq!(status, 200);
    let counted =
        r#"security_violations_total{threat_type="data_exfiltration",severity="critical"}"#;
    assert!(text.contains(counted), "{text}");
    let listed = gateway.home.run(&["hooks", "list"]).await;
    let said = String::from_utf8(listed.stderr).unwrap();
    assert!(said.contains("no hook is configured"), "{said}");
    let unknown = gateway.home.run(&["hooks", "bench", "dlp"]).await;
    assert_eq!(unknown.status.code(), Some(3));
    let said: Value = String::from_utf8(unknown.stderr).unwrap().into();
    assert!(
        said.as_str().unwrap().contains("there is no hook `dlp`"),
        "{said}"
    );
}
