//! The activity log as its owner reads it: over REST and on the command line.

use std::path::Path;
use std::time::Duration;

use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::{Value, json};

use crate::support::{Gateway, KEY, Legacy, Over, Upstream, headers, until, within};

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
    for word in ["summary", "export", "../stops", ""] {
        let (code, _, said) = run(&["activity", "show", word]).await;
        assert_eq!(code, Some(3), "{word}: {said}");
        assert!(said.contains("is no id of a record"), "{said}");
    }
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
        (&["--session-id", session, "--server", "up"][..], 5),
        (&["--risk-level", "critical"], 0),
        (&["--flow-type", "internal_to_external"], 0),
        (&["--sensitive-data"], 0),
        (
            &["--severity", "high", "--detection-type", "aws_secret_key"],
            0,
        ),
        (&["--start-time", "2999-01-01"], 0),
        (&["--end-time", "2999-01-01", "--decision", "allow"], 5),
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

/// US10.3: a call that took long stands where it began, not where it ended, over REST, page by page,
/// and on the command line.
#[tokio::test]
async fn a_session_is_shown_in_the_order_in_which_its_calls_began() {
    let upstream = Upstream::start(Sample::Echo, EraSupport::Both, Over::Shared).await;
    let gateway = Gateway::start(&json!({
        "routing_mode": "all",
        "activity": { "durability": "strict" },
        "mcpServers": { "up": upstream.settings },
    }))
    .await;
    let agent = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let tools = |page: &Value| {
        let records = page["activities"].as_array().unwrap().iter();
        let tools = records.map(|one| one["tool_name"].as_str().unwrap().to_owned());
        tools.collect::<Vec<_>>()
    };
    let quick = async {
        until("the slow call under way", || async {
            let page = gateway.api("/activity?type=intent&tool=slow").await;
            (!ids(&page).is_empty()).then_some(())
        })
        .await;
        agent.call("up__echo", json!({ "text": "meanwhile" })).await;
        // Regression for #8: what has ended is told of once, and is not pending.
        let listed = gateway.api("/activity?server=up").await;
        assert_eq!(tools(&listed), ["echo", "slow"]);
        let pending = gateway.api("/activity?status=pending").await;
        assert_eq!(tools(&pending), ["slow"]);
    };
    let slow = json!({
        "jsonrpc": "2.0", "id": "slow", "method": "tools/call",
        "params": { "name": "up__slow", "arguments": { "ms": 2000 } },
    });
    let slow = async { agent.send(slow.to_string()).await.result().await };
    tokio::join!(slow, quick);
    let written = gateway.api("/activity?type=tool_call").await;
    assert_eq!(tools(&written), ["slow", "echo"]);
    let pending = gateway.api("/activity?status=pending").await;
    assert_eq!(tools(&pending), Vec::<String>::new());
    let session = written["activities"][0]["session_id"].as_str().unwrap();
    let asked = format!("/activity?type=tool_call&session_id={session}");
    assert_eq!(tools(&gateway.api(&asked).await), ["echo", "slow"]);
    let first = gateway.api(&format!("{asked}&limit=1")).await;
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = gateway
        .api(&format!("{asked}&limit=1&cursor={cursor}"))
        .await;
    assert_eq!([tools(&first), tools(&second)].concat(), ["echo", "slow"]);
    assert_eq!(second["next_cursor"], Value::Null);
    let args = ["activity", "list", "--type", "tool_call", "-o", "jsonl"];
    let (_, said, _) = run(&gateway, &[&args[..], &["--session-id", session]].concat()).await;
    let told = said.lines().map(|line| line.parse::<Value>().unwrap());
    let told: Vec<_> = told.map(|one| one["tool_name"].clone()).collect();
    assert_eq!(told, ["slow", "echo"]);
}

/// Regression for #8: lists, counts and exports said each something else of a call that a crash cut off.
#[tokio::test]
async fn a_call_that_a_crash_cut_off_is_listed_counted_and_carried_away_once() {
    let upstream = Upstream::start(Sample::Echo, EraSupport::Both, Over::Shared).await;
    let gateway = Gateway::start(&json!({
        "routing_mode": "all",
        "activity": { "durability": "strict" },
        "mcpServers": { "up": upstream.settings },
    }))
    .await;
    let agent = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    for _ in 0..3 {
        agent.call("up__echo", json!({ "text": "before" })).await;
    }
    let call = json!({ "name": "up__slow", "arguments": { "ms": 60_000 } });
    let cut = tokio::spawn(async move { agent.ask("tools/call", call).await });
    until("the slow call under way", || async {
        let page = gateway.api("/activity?type=intent&tool=slow").await;
        (!ids(&page).is_empty()).then_some(())
    })
    .await;
    let gateway = Gateway::start_in(gateway.kill().await).await;
    cut.abort();

    let listed = ids(&gateway.api("/activity?status=pending").await).len();
    let counted = async |query: &str| {
        let summary = gateway.api(&format!("/activity/summary?{query}")).await;
        assert_eq!(summary["complete"], true, "{summary}");
        [&summary["total"], &summary["calls"]].map(|one| one.as_u64().unwrap())
    };
    let exported = async |query: &str| {
        let args = ["activity", "export", "--format", "ndjson"];
        let more: Vec<_> = query.split_whitespace().collect();
        let (code, said, note) = run(&gateway, &[&args[..], &more].concat()).await;
        assert_eq!(code, Some(0), "{note}");
        let records = said.lines().map(|line| line.parse::<Value>().unwrap());
        let tools = records.map(|one| one["tool_name"].as_str().unwrap().to_owned());
        tools.collect::<Vec<_>>()
    };
    assert_eq!(listed, 1);
    assert_eq!(counted("status=pending").await, [1, 1]);
    assert_eq!(exported("--status pending").await, ["slow"]);
    assert_eq!(counted("type=intent").await, [4, 0]);
    assert_eq!(exported("--type intent").await.len(), 4);
    assert_eq!(counted("server=up").await, [4, 4]);
    let all = exported("--server up").await;
    assert_eq!(all, ["slow", "echo", "echo", "echo"]);
}

/// What a command printed, and how it ended.
async fn run(gateway: &Gateway, args: &[&str]) -> (Option<i32>, String, String) {
    let done = gateway.home.run(args).await;
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (done.status.code(), text(&done.stdout), text(&done.stderr))
}

#[tokio::test]
async fn a_stretch_of_time_is_counted() {
    let (_upstream, gateway) = recorded().await;
    let summary = gateway
        .api("/activity/summary?period=1h&group_by=tool")
        .await;
    assert_eq!(summary["by_type"]["tool_call"], 5, "{summary}");
    // With the one that was refused; the start of the gateway is on record, too.
    assert_eq!(summary["calls"], 6, "{summary}");
    assert!(summary["total"].as_u64().unwrap() > 6, "{summary}");
    assert_eq!(
        summary["total"],
        summary["buckets"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| { one["total"].as_u64().unwrap() })
            .sum::<u64>()
    );
    assert_eq!(summary["buckets"].as_array().unwrap().len(), 60);
    assert_eq!(summary["complete"], true);
    assert_eq!(summary["servers"][0]["name"], "up");
    let groups = summary["groups"].as_array().unwrap();
    assert!(
        groups
            .iter()
            .any(|one| one["key"] == "up:echo" && one["total"] == 5),
        "{groups:?}"
    );
    for period in ["24h", "7d", "30d"] {
        let summary = gateway
            .api(&format!("/activity/summary?period={period}&tool=echo"))
            .await;
        assert_eq!(
            (&summary["total"], &summary["period"]),
            (&json!(5), &json!(period))
        );
    }
    let owner = gateway.owner();
    for odd in ["period=1y", "group_by=x", "limit=3", "cursor=1"] {
        let (status, _) = owner.get(&format!("/api/v1/activity/summary?{odd}")).await;
        assert_eq!(status, 400, "{odd}");
    }
    let args = [
        "activity",
        "summary",
        "--period",
        "1h",
        "--group-by",
        "tool",
    ];
    let (code, table, _) = run(&gateway, &args).await;
    assert_eq!(code, Some(0));
    assert!(
        table.contains("by_status:") && table.contains("up:echo"),
        "{table}"
    );
    let (_, said, _) = run(&gateway, &[&args[..], &["-o", "json"]].concat()).await;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["by_type"]["tool_call"], 5);
}

#[tokio::test]
async fn records_are_carried_away_in_every_form() {
    let (_upstream, gateway) = recorded().await;
    let owner = gateway.owner();
    let fetch = async |query: &str| {
        let path = format!("/api/v1/activity/export?tool=echo&type=tool_call&{query}");
        let reply = owner.send(http::Method::GET, &path, headers(&[]), "").await;
        assert_eq!(reply.status, 200, "{query}");
        // Regression for #8: what has no envelope had no id.
        assert!(reply.headers.contains_key("x-request-id"), "{query}");
        let kind = reply.headers["content-type"].to_str().unwrap().to_owned();
        let next = reply.headers.get("x-next-cursor");
        let next = next.map(|next| next.to_str().unwrap().to_owned());
        (kind, next, reply.text().await)
    };
    let (kind, next, text) = fetch("format=json").await;
    assert_eq!((kind.as_str(), next), ("application/json", None));
    let whole: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(ids(&whole).len(), 5);
    assert_eq!(whole["daily"][0]["total"], 5, "{}", whole["daily"]);
    assert_eq!(whole["daily"][0]["by_type"]["tool_call"], 5);
    for (form, lines) in [("ndjson", 5), ("csv", 6), ("ocsf", 5), ("cef", 5)] {
        let (_, _, text) = fetch(&format!("format={form}")).await;
        assert_eq!(text.lines().count(), lines, "{form}: {text}");
    }
    let (_, _, text) = fetch("format=ndjson&rollup=daily").await;
    assert!(
        text.lines().last().unwrap().contains("daily_rollup"),
        "{text}"
    );
    // In parts, which put together are the whole.
    let (mut found, mut cursor) = (String::new(), None::<String>);
    loop {
        let from = cursor
            .as_ref()
            .map(|at| format!("&cursor={at}"))
            .unwrap_or_default();
        let (_, next, part) = fetch(&format!("format=csv&limit=2{from}")).await;
        found.push_str(&part);
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, fetch("format=csv").await.2);
    let (status, _) = owner.get("/api/v1/activity/export?format=pdf").await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn an_export_goes_to_a_file_whole_or_not_at_all() {
    let (_upstream, gateway) = recorded().await;
    let file = gateway.home.path().join("out.json");
    let name = file.to_str().unwrap();
    let args = [
        "activity",
        "export",
        "--output",
        name,
        "--type",
        "tool_call",
        "--tool",
        "echo",
    ];
    let (code, said, note) = run(&gateway, &args).await;
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert!(note.contains("wrote 5 records"), "{note}");
    let whole: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(whole.as_array().unwrap().len(), 5);
    assert!(!gateway.home.path().join("out.json.partial").exists());
    let (code, _, said) = run(&gateway, &[&args[..], &["--resume"]].concat()).await;
    assert_eq!(code, Some(3));
    assert!(said.contains("was not broken off"), "{said}");
    let args = [
        "activity",
        "export",
        "--format",
        "csv",
        "--include-flows",
        "--tool",
        "echo",
    ];
    let (code, said, _) = run(&gateway, &args).await;
    assert_eq!(code, Some(0));
    assert!(
        said.lines()
            .next()
            .unwrap()
            .ends_with("flow_sources,flow_evidence"),
        "{said}"
    );
    for more in [&["--rollup", "daily"][..], &["--include-bodies"]] {
        let (code, _, said) = run(&gateway, &[&args[..], more].concat()).await;
        assert_eq!(code, Some(3));
        assert!(said.contains("only json and ndjson have room"), "{said}");
    }
    let (code, _, said) = run(&gateway, &["status", "-o", "paper"]).await;
    assert_eq!(code, Some(3));
    assert!(said.contains("`paper` is no form of the output"), "{said}");
}

/// What was sent and what came back is kept only where that is wanted, masked, and carried away only
/// where that is asked for.
#[tokio::test]
async fn records_keep_bodies_where_that_is_wanted() {
    for wanted in [false, true] {
        let upstream = Upstream::play(&json!({
            "tools": [{ "name": "read", "inputSchema": { "type": "object" } }],
            "results": { "read": [format!("the key is {KEY}")] },
        }));
        let gateway = Gateway::start(&json!({
            "activity": { "durability": "strict", "bodies": wanted },
            "mcpServers": { "up": upstream.settings },
        }))
        .await;
        let agent = Legacy::open(&gateway.url("/mcp/all"), json!({})).await;
        agent.call("up__read", json!({ "path": "/w/a" })).await;
        let page = gateway.api("/activity?type=tool_call").await;
        let record = &page["activities"][0];
        assert_eq!(record["arguments"].as_str().is_some(), wanted, "{record}");
        if wanted {
            assert_eq!(record["arguments"], r#"{"path":"/w/a"}"#);
            let response = record["response"].as_str().unwrap();
            assert!(
                response.contains("the key is") && !response.contains(KEY),
                "{response}"
            );
            assert_eq!(record["response_truncated"], false);
        }
        for more in [&[][..], &["--include-bodies"]] {
            let (code, said, _) = run(&gateway, &[&["activity", "export"], more].concat()).await;
            assert_eq!(code, Some(0));
            let shown = wanted && !more.is_empty();
            assert_eq!(said.contains("the key is"), shown, "{said}");
            assert!(!said.contains(KEY));
        }
    }
}

fn export_to(file: &Path) -> [&str; 8] {
    let name = file.to_str().unwrap();
    [
        "activity",
        "export",
        "--rollup",
        "daily",
        "--type",
        "tool_call",
        "--output",
        name,
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_that_is_killed_goes_on_where_it_was() {
    let (_upstream, gateway) = recorded().await;
    let mut callers = Vec::new();
    for _ in 0..8 {
        let agent = Legacy::open(&gateway.url("/mcp"), json!({})).await;
        callers.push(tokio::spawn(async move {
            for _ in 0..400 {
                agent.call("up__echo", json!({ "text": "again" })).await;
            }
        }));
    }
    for caller in callers {
        caller.await.unwrap();
    }
    let [whole, broken] = ["whole.json", "broken.json"].map(|name| gateway.home.path().join(name));
    let exported = async |file: &Path, more: &[&str]| {
        let args = export_to(file);
        let (code, _, note) = run(&gateway, &[&args[..], more].concat()).await;
        assert_eq!(code, Some(0), "{note}");
        std::fs::read_to_string(file).unwrap()
    };
    let expect = exported(&whole, &[]).await;
    // However many parts there were, a day is counted once and the counts come last.
    let elements: Vec<Value> = serde_json::from_str(&expect).unwrap();
    let is_record = |one: &&Value| one["type"] == "tool_call";
    let records = elements.iter().take_while(is_record).count();
    assert_eq!(records, 5 + 8 * 400);
    let days = &elements[records..];
    assert!(
        days.iter().all(|one| one["type"] == "daily_rollup"),
        "{days:?}"
    );
    assert!(days.is_sorted_by(|one, next| one["day"].as_str() < next["day"].as_str()));
    let counted = days.iter().map(|one| one["by_type"]["tool_call"].as_u64());
    assert_eq!(counted.sum::<Option<u64>>(), Some(5 + 8 * 400), "{days:?}");
    let note = gateway.home.path().join("broken.json.resume");
    let mut left = 0;
    // One that is done before it is killed shows nothing: it is tried again.
    while left == 0 {
        drop(std::fs::remove_file(&broken));
        let args = export_to(&broken);
        let mut export = gateway.home.command(&args).spawn().unwrap();
        while !note.exists() && !broken.exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        export.kill().await.unwrap();
        if !broken.exists() {
            let partial = gateway.home.path().join("broken.json.partial");
            left = expect.len() - std::fs::read(partial).unwrap().len().min(expect.len());
        }
    }
    assert!(!broken.exists());
    assert_eq!(exported(&broken, &["--resume"]).await, expect);
    assert!(!note.exists());
}

#[tokio::test]
async fn what_happens_is_watched_from_the_command_line() {
    let (_upstream, gateway) = recorded().await;
    let mut command = gateway
        .home
        .command(&["activity", "watch", "-n", "1", "-o", "jsonl"]);
    let watching = command
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let ended = async {
        let mut ended = std::pin::pin!(watching.wait_with_output());
        loop {
            // It may not listen yet when the first call goes by.
            downstream.call("up__echo", json!({ "text": "seen" })).await;
            let pause = std::time::Duration::from_millis(100);
            if let Ok(done) = tokio::time::timeout(pause, &mut ended).await {
                return done.unwrap();
            }
        }
    };
    let done = within("an event", ended).await;
    let line: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(line["event"], "activity.tool_call.completed");
    assert_eq!(line["tool_name"], "echo");
}
