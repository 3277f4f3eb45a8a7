//! The way of a call through the whole spine: read, leak, denial, record, and the bytes that left.
//! Other ways out than a plain call are in `leaks`.

mod leaks;

use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::{Value, json};

use crate::support::{Gateway, Home, Legacy, Over, Upstream, text_of, until};

/// A file of the private upstream that has credentials in it.
const PRIVATE: &str = "config/production.env";

/// A private upstream over standard input and output, an outside one over HTTP, both legacy.
async fn upstreams() -> (Upstream, Upstream) {
    let legacy = EraSupport::LegacyOnly;
    let github = Upstream::start(Sample::Github, legacy, Over::Shared).await;
    let slack = Upstream::start(Sample::Slack, legacy, Over::Http).await;
    (github, slack)
}

fn config(github: &Upstream, slack: &Upstream, durability: &str) -> Value {
    json!({
        "routing_mode": "all",
        "activity": { "durability": durability },
        "mcpServers": { "github": github.settings, "slack": slack.settings },
        "security": {
            "classification": {
                "server_overrides": { "github": "internal", "slack": "external" },
            },
            "flow_policy": { "internal_to_external": "deny" },
        },
    })
}

async fn read_private(downstream: &Legacy) -> String {
    let path = json!({ "path": PRIVATE });
    let file = downstream.call("github__get_file", path).await;
    text_of(&file).to_owned()
}

#[tokio::test]
async fn a_whole_field_read_inside_is_not_sent_outside() {
    let (github, slack) = upstreams().await;
    let gateway = Gateway::start(&config(&github, &slack, "relaxed")).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let file = read_private(&downstream).await;
    assert!(file.contains("AWS_SECRET_ACCESS_KEY"));

    let leak = json!({ "channel": "general", "text": file });
    let denied = downstream.call("slack__post_message", leak).await;
    assert_eq!(denied["isError"], true);
    let reason = "internal source (github) to external destination (slack)";
    assert!(text_of(&denied).contains(reason), "{denied}");

    assert_eq!(slack.received_with("tools/call"), Vec::<String>::new());
    let record = until("the record of the denial", || async {
        let activity = gateway.home.activity();
        activity.into_iter().find(|one| one["decision"] == "deny")
    })
    .await;
    assert_eq!(record["type"], "policy_decision");
    assert_eq!(record["status"], "blocked");
    assert_eq!(record["server_name"], "slack");
    assert_eq!(record["tool_name"], "post_message");
    assert_eq!(record["flow_type"], "internal→external");
    assert!(!record.to_string().contains("q8Zr1vTnB0xL"), "{record}");
}

#[tokio::test]
async fn another_text_passes_and_the_upstream_gets_the_very_bytes() {
    let (github, slack) = upstreams().await;
    let gateway = Gateway::start(&config(&github, &slack, "relaxed")).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    read_private(&downstream).await;

    // Space, order, escapes and what the gateway does not know are the downstream's own.
    let rest =
        r#"  "arguments" : {"text":"hi \u00e4 \/ 1e2", "x-1":1.00, "channel":"general"}, "y":[]"#;
    let sent = format!(r#"{{ "name":"slack__post_message",{rest}}}"#);
    let mut reply = downstream.raw("\"a\"", "tools/call", &sent).await;
    let posted = reply.result().await;
    assert_eq!(posted["structuredContent"]["channel"], "general");
    let calls = slack.received_with("tools/call");
    let expected = format!(r#""params":{{ "name":"post_message",{rest}}}}}"#);
    assert_eq!(calls.len(), 1);
    assert!(calls[0].ends_with(&expected), "{}", calls[0]);
}

#[tokio::test]
async fn in_strict_mode_every_record_is_on_disk_before_its_answer() {
    let (github, slack) = upstreams().await;
    let gateway = Gateway::start(&config(&github, &slack, "strict")).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    for number in 1..=5 {
        read_private(&downstream).await;
        // Looked at once: no record may come after its answer.
        let activity = gateway.home.activity();
        assert_eq!(activity.len(), 2 * number);
        let [.., intent, outcome] = &activity[..] else {
            panic!("{activity:?}");
        };
        assert_eq!(
            (&intent["type"], &intent["status"]),
            (&json!("intent"), &json!("pending"))
        );
        assert_eq!(
            (&outcome["type"], &outcome["status"]),
            (&json!("tool_call"), &json!("success"))
        );
        assert_eq!(intent["id"], outcome["id"]);
    }
    let file = read_private(&downstream).await;
    let leak = json!({ "channel": "general", "text": file });
    downstream.call("slack__post_message", leak).await;
    let activity = gateway.home.activity();
    assert_eq!(activity.last().unwrap()["decision"], "deny");
}

#[tokio::test]
async fn a_log_that_cannot_be_opened_keeps_the_gateway_from_starting() {
    let (github, slack) = upstreams().await;
    let home = Home::new(&config(&github, &slack, "relaxed"));
    std::fs::create_dir_all(home.log()).unwrap();
    let refused = Gateway::launch(home, &[]).await.err().unwrap();
    assert_eq!(refused.code, Some(2));
    assert!(refused.said.contains("activity.db"), "{}", refused.said);
}

#[tokio::test]
async fn in_strict_mode_calls_are_refused_while_the_log_cannot_be_written() {
    let (github, slack) = upstreams().await;
    let gateway = Gateway::start(&config(&github, &slack, "strict")).await;
    let lock = locked(&gateway).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let params = json!({ "name": "github__get_file", "arguments": { "path": PRIVATE } });
    for _ in 0..2 {
        let mut reply = downstream.request("tools/call", params.clone()).await;
        let error = reply.error().await;
        assert_eq!(error["message"], "the activity log cannot be written");
        assert_eq!(error["data"]["error"], "unrecorded");
        assert!(!reply.raw.concat().contains("AWS"), "{:?}", reply.raw);
    }
    gateway.until_logged("activity log").await;
    let (status, said) = gateway.owner().get("/readyz").await;
    let expect = "the activity log cannot be written: calls are refused";
    assert_eq!(status, 503, "{said}");
    assert_eq!(
        (&said["problem"], &said["ready"]),
        (&json!(expect), &json!(false))
    );
    assert_eq!(github.received_with("tools/call"), Vec::<String>::new());
    // Once it can be written, it is, without a restart.
    drop(lock);
    until("the log to be written again", || async {
        let problem = &gateway.api("/status").await["activity_problem"];
        problem.is_null().then_some(())
    })
    .await;
    let (status, said) = gateway.owner().get("/readyz").await;
    assert_eq!(said, json!({ "ready": true, "starting": 0 }));
    assert_eq!(status, 200);
    assert!(read_private(&downstream).await.contains("AWS"));
    assert_eq!(gateway.api("/activity").await["lost"], 2);
}

/// Keeps the log from being written for as long as what is returned lives, once the start is on
/// record.
async fn locked(gateway: &Gateway) -> rusqlite::Connection {
    until("the start to be on record", || async {
        let started = gateway.api("/activity?type=system_start").await;
        let started = started["activities"].as_array()?.len();
        (started > 0).then_some(())
    })
    .await;
    let lock = rusqlite::Connection::open(gateway.home.log()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    lock
}

#[tokio::test]
async fn in_relaxed_mode_the_configuration_says_what_a_broken_log_does() {
    for (mode, open) in [("open", true), ("closed", false)] {
        let (github, slack) = upstreams().await;
        let mut config = config(&github, &slack, "relaxed");
        config["activity"]["on_failure"] = json!(mode);
        let gateway = Gateway::start(&config).await;
        let lock = locked(&gateway).await;
        let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
        let params = json!({ "name": "github__list_files", "arguments": {} });
        // The first call is what the log breaks at.
        downstream.request("tools/call", params.clone()).await;
        until("the log to break", || async {
            let problem = &gateway.api("/status").await["activity_problem"];
            (!problem.is_null()).then_some(())
        })
        .await;
        let (status, said) = gateway.owner().get("/readyz").await;
        assert_eq!((status == 200, &said["ready"]), (open, &json!(open)));
        let expect = if open {
            "records are being lost"
        } else {
            "calls are refused"
        };
        assert!(
            said["problem"].as_str().unwrap().ends_with(expect),
            "{said}"
        );
        let answer = downstream
            .request("tools/call", params)
            .await
            .answer()
            .await;
        assert_eq!(answer.get("result").is_some(), open, "{mode}: {answer}");
        let reached = github.received_with("tools/call").len();
        assert_eq!(reached, if open { 2 } else { 1 }, "{mode}");
        drop(lock);
    }
}

#[tokio::test]
async fn in_strict_mode_the_intent_is_on_disk_before_the_upstream_has_the_call() {
    let upstream = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, Over::Shared).await;
    let config = json!({
        "routing_mode": "all",
        "activity": { "durability": "strict" },
        "mcpServers": { "echo": upstream.settings },
    });
    let gateway = Gateway::start(&config).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let hanging = tokio::spawn(async move { downstream.call("echo__hang", json!({})).await });
    upstream.until_received("\"hang\"").await;
    let activity = gateway.home.activity();
    assert_eq!(activity.len(), 1);
    assert_eq!(
        (&activity[0]["type"], &activity[0]["tool_name"]),
        (&json!("intent"), &json!("hang"))
    );
    hanging.abort();
}
