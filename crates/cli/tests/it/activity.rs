//! The activity log as its owner reads it: over REST and on the command line.

use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::{Value, json};

use crate::support::{Gateway, Legacy, Over, Upstream, headers};

/// A gateway through which `echo` was called five times, and a tool that is not there once.
async fn recorded() -> (Upstream, Gateway) {
    let upstream = Upstream::start(Sample::Echo, EraSupport::Both, Over::Shared).await;
    let config = json!({
        "routing_mode": "all",
        "activity": { "durability": "strict" },
        "mcpServers": { "up": upstream.settings },
    });
    let gateway = Gateway::start(&config).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    for number in 0..5 {
        let said = json!({ "text": number.to_string() });
        downstream.call("up__echo", said).await;
    }
    let absent = json!({ "name": "up__absent", "arguments": {} });
    drop(downstream.request("tools/call", absent).await);
    (upstream, gateway)
}

fn ids(page: &Value) -> Vec<String> {
    let records = page["activities"].as_array().unwrap().iter();
    records
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn records_are_read_over_rest_page_by_page() {
    let (_upstream, gateway) = recorded().await;
    let filter = "/activity?type=tool_call&tool=echo&status=success";
    let all = gateway.api(filter).await;
    assert_eq!(ids(&all).len(), 5);
    assert_eq!(all["next_cursor"], Value::Null);
    let first = gateway.api(&format!("{filter}&limit=3")).await;
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = gateway
        .api(&format!("{filter}&limit=3&cursor={cursor}"))
        .await;
    assert_eq!([ids(&first), ids(&second)].concat(), ids(&all));
    let skipped = gateway.api(&format!("{filter}&offset=3")).await;
    assert_eq!(ids(&skipped), ids(&second));
    let record = gateway.api(&format!("/activity/{}", ids(&all)[0])).await;
    assert_eq!(record, all["activities"][0]);
    let both = gateway
        .api("/activity?type=intent,tool_call&tool=echo")
        .await;
    assert_eq!(ids(&both).len(), 10);
    let session = record["session_id"].as_str().unwrap();
    for everything in [
        &format!("session_id={session}"),
        "flow_type=none",
        "risk_level=none",
        "sensitive_data=false",
        "server=up",
        "source=mcp",
        "start_time=2026-01-01",
    ] {
        let page = gateway.api(&format!("{filter}&{everything}")).await;
        assert_eq!(ids(&page), ids(&all), "{everything}");
    }
    for nothing in [
        "server=other",
        "risk_level=medium",
        "flow_type=internal_to_external",
        "intent_type=destructive",
        "detection_type=aws_secret_key",
        "severity=critical",
        "sensitive_data=true",
        "start_time=2999-01-01",
        "end_time=2000-01-01T00:00:00Z",
    ] {
        let page = gateway.api(&format!("/activity?{nothing}")).await;
        assert_eq!(ids(&page), Vec::<String>::new(), "{nothing}");
    }
}

#[tokio::test]
async fn a_question_that_makes_no_sense_is_answered_with_what_is_known() {
    let (_upstream, gateway) = recorded().await;
    let owner = gateway.owner();
    for (asked, known) in [
        ("?status=ok", "success, error, blocked, rejected, pending"),
        ("?state=ok", "type, source, server"),
        ("?limit=1000", "up to 100"),
        ("?start_time=now", "2026-01-31"),
    ] {
        let (status, answer) = owner.get(&format!("/api/v1/activity{asked}")).await;
        assert_eq!(status, 400, "{asked}");
        assert!(
            answer["error"].as_str().unwrap().contains(known),
            "{answer}"
        );
    }
    let (status, _) = owner
        .get("/api/v1/activity/00000000000000000000000000")
        .await;
    assert_eq!(status, 404);
    let agent = gateway.token("ci", &json!(["up"])).await;
    for path in [
        "/api/v1/activity",
        "/api/v1/activity/00000000000000000000000000",
    ] {
        let answer = agent.send(http::Method::GET, path, headers(&[]), "").await;
        assert_eq!(answer.status, 403, "{path}");
    }
}

#[tokio::test]
async fn records_are_listed_and_shown_on_the_command_line() {
    let (_upstream, gateway) = recorded().await;
    let home = gateway.home.clone();
    let run = async |args: &[&str]| {
        let done = home.run(args).await;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (done.status.code(), text(&done.stdout), text(&done.stderr))
    };
    let (code, said, _) = run(&[
        "activity", "list", "--tool", "echo", "-n", "3", "-o", "jsonl",
    ])
    .await;
    assert_eq!((code, said.lines().count()), (Some(0), 3));
    let record: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    let id = record["id"].as_str().unwrap();
    let (code, shown, _) = run(&["activity", "show", id, "-o", "json"]).await;
    assert_eq!(code, Some(0));
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), record);
    let (_, table, _) = run(&[
        "activity",
        "list",
        "--type",
        "tool_call",
        "--status",
        "success",
    ])
    .await;
    assert_eq!(table.lines().count(), 6, "{table}");
    assert!(
        table
            .lines()
            .next()
            .unwrap()
            .to_lowercase()
            .contains("server_name"),
        "{table}"
    );
    let session = record["session_id"].as_str().unwrap();
    for (flags, expect) in [
        (&["--session-id", session, "--server", "up"][..], 10),
        (&["--risk-level", "critical"], 0),
        (&["--flow-type", "internal_to_external"], 0),
        (&["--sensitive-data"], 0),
        (
            &["--severity", "high", "--detection-type", "aws_secret_key"],
            0,
        ),
        (&["--start-time", "2999-01-01"], 0),
        (&["--end-time", "2999-01-01", "--decision", "allow"], 10),
    ] {
        let whole = [
            &["activity", "list", "--tool", "echo", "-o", "jsonl"],
            flags,
        ]
        .concat();
        let (code, said, _) = run(&whole).await;
        assert_eq!((code, said.lines().count()), (Some(0), expect), "{flags:?}");
    }
    let (code, _, said) = run(&["activity", "list", "--flow-type", "sideways"]).await;
    assert_eq!(code, Some(3));
    assert!(said.contains("known are none, internal→internal"), "{said}");
}
