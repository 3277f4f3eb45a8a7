//! Ways by which data could leave beside a plain call: every one of them goes through the engine.

use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::{Value, json};

use crate::support::{Gateway, Home, Legacy, Modern, Over, Upstream, text_of, until};

/// A private upstream, and an outside one that can do everything.
struct Scene {
    gateway: Gateway,
    outside: Upstream,
    _inside: Upstream,
}

impl Scene {
    async fn start(mode: &str, era: EraSupport) -> Self {
        let inside = Upstream::start(Sample::Github, era, Over::Shared).await;
        let outside = Upstream::start(Sample::Echo, era, Over::Http).await;
        let config = json!({
            "routing_mode": mode,
            "activity": { "durability": "strict" },
            "mcpServers": { "inside": inside.settings, "outside": outside.settings },
            "security": {
                "classification": {
                    "server_overrides": { "inside": "internal", "outside": "external" },
                },
                "flow_policy": { "internal_to_external": "deny" },
            },
        });
        Self {
            gateway: Gateway::start(&config).await,
            outside,
            _inside: inside,
        }
    }

    async fn open(&self) -> Legacy {
        let can = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
        Legacy::open(&self.gateway.url("/mcp"), can).await
    }

    /// Nothing of the text reached the outside.
    fn is_safe(&self, secret: &str) {
        let secret = Value::from(secret).to_string();
        let secret = secret.trim_matches('"');
        assert_eq!(self.outside.received_with(secret), Vec::<String>::new());
    }
}

fn denied(result: &Value) {
    assert_eq!(result["isError"], true, "{result}");
    assert!(
        text_of(result).contains("internal source (inside)"),
        "{result}"
    );
}

async fn secret(downstream: &Legacy) -> String {
    let path = json!({ "path": "README.md" });
    text_of(&downstream.call("inside__get_file", path).await).to_owned()
}

#[tokio::test]
async fn a_modern_downstream_leaks_nothing_either() {
    for era in [EraSupport::LegacyOnly, EraSupport::ModernOnly] {
        let scene = Scene::start("all", era).await;
        let downstream = Modern::new(&scene.gateway.url("/mcp"), json!({}));
        let path = json!({ "path": "README.md" });
        let read = downstream.call("inside__get_file", path).await;
        let leak = json!({ "text": text_of(&read) });
        let result = downstream.call("outside__echo", leak).await;
        denied(&result);
        assert_eq!(result["resultType"], "complete");
        scene.is_safe(text_of(&read));
    }
}

#[tokio::test]
async fn in_call_mode_the_inner_call_is_judged() {
    let scene = Scene::start("call", EraSupport::LegacyOnly).await;
    let downstream = scene.open().await;
    let path = json!({ "name": "inside:get_file", "args": { "path": "README.md" } });
    let read = downstream.call("call_tool_read", path).await;
    let args = json!({ "text": text_of(&read) });
    let inside_text = json!({ "name": "outside:echo", "args_json": args.to_string() });
    denied(&downstream.call("call_tool_write", inside_text).await);
    let plain = json!({ "name": "outside:echo", "args": args });
    denied(&downstream.call("call_tool_write", plain).await);
    let rest = json!({ "name": "outside:echo", "arguments": args, "operation": "write" });
    let (status, answer) = scene
        .gateway
        .owner()
        .post("/api/v1/tools/call", &rest)
        .await;
    assert_eq!(
        status, 200,
        "another session, which has read nothing: {answer}"
    );
    assert_eq!(scene.outside.received_with("tools/call").len(), 1);
}

#[tokio::test]
async fn other_requests_and_members_of_the_envelope_are_judged_too() {
    let scene = Scene::start("all", EraSupport::LegacyOnly).await;
    let downstream = scene.open().await;
    let secret = secret(&downstream).await;
    let prompt = json!({ "name": "outside__greet", "arguments": { "name": secret } });
    let completion = json!({
        "ref": { "type": "ref/prompt", "name": "outside__greet" },
        "argument": { "name": "name", "value": secret },
    });
    for (method, params) in [("prompts/get", prompt), ("completion/complete", completion)] {
        let error = downstream.request(method, params).await.error().await;
        assert_eq!(error["code"], -31002, "{method}: {error}");
    }
    // After three denied flows a session is told no reasons; this is about the first ones.
    let downstream = scene.open().await;
    self::secret(&downstream).await;
    let call = json!({ "name": "outside__echo", "arguments": { "text": "x" } });
    let mut beside = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call });
    beside["note"] = json!(secret);
    denied(&downstream.send(beside.to_string()).await.result().await);
    let key = json!({ "name": "outside__echo", "arguments": { secret.as_str(): "x" } });
    denied(&downstream.ask("tools/call", key).await);
    let mut meta = call.clone();
    meta["_meta"] = json!({ "traceparent": secret });
    denied(&downstream.ask("tools/call", meta).await);
    scene.is_safe(&secret);
}

#[tokio::test]
async fn an_answer_to_a_question_is_judged_and_recorded() {
    let scene = Scene::start("all", EraSupport::LegacyOnly).await;
    let downstream = scene.open().await;
    let secret = secret(&downstream).await;
    let ask = json!({ "name": "outside__ask", "arguments": { "question": "Which key?" } });
    let mut reply = downstream.request("tools/call", ask.clone()).await;
    let question = reply.notification("elicitation/create").await;
    let told = json!({ "action": "accept", "content": { "answer": secret } });
    downstream.respond(&question, told).await;
    let result = reply.result().await;
    assert!(
        text_of(&result).contains("the question was refused"),
        "{result}"
    );
    scene.is_safe(&secret);
    let record = scene.gateway.home.activity();
    let record = record.iter().find(|one| one["decision"] == "deny").unwrap();
    assert_eq!(record["method"], "elicitation/create");

    let mut reply = downstream.request("tools/call", ask).await;
    let question = reply.notification("elicitation/create").await;
    let told = json!({ "action": "accept", "content": { "answer": "none of yours" } });
    downstream.respond(&question, told).await;
    assert_eq!(text_of(&reply.result().await), "accept: none of yours");
    // The upstream may have answered before the record of what it was told was written.
    until("the record of the answer", || async {
        let mut answers = scene.gateway.home.activity();
        answers.retain(|one| one["method"] == "elicitation/create");
        let statuses: Vec<_> = answers.iter().map(|one| &one["status"]).collect();
        (statuses == ["blocked", "pending", "success"]).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_modern_answer_is_judged_too() {
    let scene = Scene::start("all", EraSupport::ModernOnly).await;
    let downstream = scene.open().await;
    let secret = secret(&downstream).await;
    let ask = json!({ "name": "outside__ask", "arguments": { "question": "Which key?" } });
    let mut reply = downstream.request("tools/call", ask).await;
    let question = reply.notification("elicitation/create").await;
    let told = json!({ "action": "accept", "content": { "answer": secret } });
    downstream.respond(&question, told).await;
    denied(&reply.result().await);
    scene.is_safe(&secret);
}

#[tokio::test]
async fn what_a_downstream_says_of_itself_is_judged_before_it_leaves() {
    let scene = Scene::start("all", EraSupport::LegacyOnly).await;
    let secret = secret(&scene.open().await).await;
    // It says the text when it opens, reads it, and then lets the gateway introduce it outside.
    let can = json!({ "experimental": { "note": { "text": secret } } });
    let downstream = Legacy::open(&scene.gateway.url("/mcp"), can).await;
    let path = json!({ "path": "README.md" });
    downstream.call("inside__get_file", path).await;
    denied(
        &downstream
            .call("outside__echo", json!({ "text": "x" }))
            .await,
    );
    scene.is_safe(&secret);
}

#[tokio::test]
async fn a_name_without_end_takes_little_of_the_log() {
    let scene = Scene::start("all", EraSupport::LegacyOnly).await;
    let downstream = scene.open().await;
    let name = format!("outside__{}", "n".repeat(100_000));
    let params = json!({ "name": name, "arguments": {} });
    downstream.request("tools/call", params).await.error().await;
    let records = scene.gateway.home.activity();
    let bytes: usize = records.iter().map(|one| one.to_string().len()).sum();
    assert!(bytes < 10_000, "{bytes} bytes");
    let tool = records.last().unwrap()["tool_name"].as_str().unwrap();
    assert!(tool.ends_with("(100000 bytes)"), "{tool}");
}

#[tokio::test]
async fn a_log_of_everything_repeats_no_name_that_a_caller_made_up() {
    let upstream = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, Over::Http).await;
    let home = Home::new(&json!({
        "routing_mode": "all",
        "mcpServers": { "outside": upstream.settings },
    }));
    let launched = Gateway::launch(home, &["--log-level", "debug"]).await;
    let Ok(gateway) = launched else {
        panic!("the gateway did not start");
    };
    gateway.until_ready().await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let made_up = "Vq7tL2mZx9RkPw4sHd8C";
    for (method, params) in [
        ("tools/call", json!({ "name": made_up })),
        (made_up, json!({})),
    ] {
        let said = downstream.request(method, params).await.text().await;
        assert!(said.contains("error"), "{said}");
    }
    gateway.until_logged("a request failed").await;
    assert!(!gateway.log().contains(made_up), "{}", gateway.log());
}
