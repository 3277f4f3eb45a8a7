//! The log as evidence: what a kill leaves of it, what `activity verify` says of it, and a gateway
//! whose records are in PostgreSQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcpproxy_core::ActivityReader as _;
use mcpproxy_store::PostgresReader;
use mcpproxy_testkit::{EraSupport, Postgres, Sample};
use rcgen::generate_simple_self_signed;
use serde_json::{Value, json};

use crate::quarantine::{POISON, script, tool};
use crate::support::{
    Gateway, Home, Legacy, Over, PASSWORD, Upstream, names_of, refuses_without_password, until,
};

async fn echo(more: &Value) -> (Upstream, Value) {
    let upstream = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, Over::Shared).await;
    let mut config = json!({
        "routing_mode": "all",
        "activity": { "durability": "strict" },
        "mcpServers": { "echo": upstream.settings },
    });
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    (upstream, config)
}

/// What `activity verify` says, with its code.
async fn verified(home: &Home) -> (Option<i32>, Value) {
    let done = home.run(&["activity", "verify", "-o", "json"]).await;
    let said = serde_json::from_slice(&done.stdout).unwrap_or_default();
    (done.status.code(), said)
}

/// Four callers who call until they are told to end, and how many of their calls were answered.
struct Load {
    answered: Arc<AtomicUsize>,
    callers: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    async fn start(gateway: &Gateway) -> Self {
        let answered = Arc::new(AtomicUsize::new(0));
        let mut callers = Vec::new();
        for _ in 0..4 {
            let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
            let answered = Arc::clone(&answered);
            callers.push(tokio::spawn(async move {
                loop {
                    downstream.call("echo__echo", json!({ "text": "x" })).await;
                    answered.fetch_add(1, Ordering::SeqCst);
                }
            }));
        }
        Self { answered, callers }
    }

    fn answered(&self) -> usize {
        self.answered.load(Ordering::SeqCst)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.callers.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

/// Kills a gateway while four callers call, and returns how many of their calls were answered.
async fn kill_under_load(gateway: Gateway) -> (Home, usize) {
    let load = Load::start(&gateway).await;
    until("some answers", || async {
        (load.answered() >= 200).then_some(())
    })
    .await;
    let home = gateway.kill().await;
    (home, load.answered())
}

fn check_kept(records: &[Value], answered: usize) {
    let kept = |kind: &str| records.iter().filter(|one| one["type"] == kind).count();
    let calls = kept("tool_call");
    assert!(calls >= answered, "{calls} of {answered}");
    assert!(kept("intent") >= calls, "a call has no intent");
}

#[tokio::test]
async fn in_strict_mode_a_kill_loses_no_record_of_an_answered_call_and_the_chain_holds() {
    let (_upstream, config) = echo(&json!({})).await;
    let (home, first) = kill_under_load(Gateway::start(&config).await).await;
    check_kept(&home.activity(), first);
    // A second run goes on after the first.
    let (home, second) = kill_under_load(Gateway::start_in(home).await).await;
    check_kept(&home.activity(), first + second);
    let (code, said) = verified(&home).await;
    assert_eq!((code, &said["sound"]), (Some(0), &json!(true)), "{said}");
    assert_eq!(said["writers"], 2);

    let log = rusqlite::Connection::open(home.log()).unwrap();
    let sql = "UPDATE activity SET principal = 'nobody' WHERE seq = 17";
    log.execute_batch(sql).unwrap();
    let (code, said) = verified(&home).await;
    assert_eq!((code, &said["sound"]), (Some(1), &json!(false)), "{said}");
    assert_eq!(said["problems"][0]["place"], 17);
    assert_eq!(
        said["problems"][0]["problem"],
        "the record is not what was written"
    );
    // One cell that nobody can read is told with its record.
    let sql = "UPDATE activity SET hash = NULL WHERE seq = 18";
    log.execute_batch(sql).unwrap();
    let (code, said) = verified(&home).await;
    assert_eq!(
        (code, &said["problems"][1]["place"]),
        (Some(1), &json!(18)),
        "{said}"
    );
    // Who takes everything out leaves the key, which was there to sign it.
    let sql = "DELETE FROM activity; DELETE FROM checkpoint; DELETE FROM writer";
    log.execute_batch(sql).unwrap();
    let (code, said) = verified(&home).await;
    assert_eq!((code, &said["sound"]), (Some(1), &json!(false)), "{said}");
    let log = home.log();
    std::fs::remove_file(&log).unwrap();
    assert_eq!(verified(&home).await.0, Some(2));
}

/// Issue 9: what was withheld was on record only some time after the list had been shown.
#[tokio::test]
async fn in_strict_mode_a_kill_loses_no_record_of_what_was_withheld_from_a_list() {
    for _ in 0..3 {
        let upstream = Upstream::play(&script(&[tool("add", POISON), tool("sum", "Adds.")]));
        let gateway = Gateway::start(&json!({
            "routing_mode": "all",
            "activity": { "durability": "strict" },
            "mcpServers": { "sums": upstream.settings },
        }))
        .await;
        let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
        until("the list", || async {
            let listed = downstream.ask("tools/list", json!({})).await;
            (names_of(&listed["tools"]) == ["sums__sum"]).then_some(())
        })
        .await;
        let home = gateway.kill().await;
        let records = home.records();
        let withheld = records
            .iter()
            .any(|one| one["quarantine"]["state"].is_string() && one["tool_name"] == "add");
        assert!(withheld, "{records:?}");
    }
}

#[tokio::test]
async fn a_gateway_that_ended_politely_has_signed_its_last_record() {
    let (_upstream, config) = echo(&json!({ "activity": { "durability": "relaxed" } })).await;
    let gateway = Gateway::start(&config).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    downstream.call("echo__echo", json!({ "text": "x" })).await;
    let home = gateway.stop().await;
    let (code, said) = verified(&home).await;
    assert_eq!((code, &said["unsigned"]), (Some(0), &json!(0)), "{said}");
    // Nobody else can have signed it.
    std::fs::remove_file(home.data().join("keys/activity.pub")).unwrap();
    let (code, said) = verified(&home).await;
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(said["unknown_keys"].as_array().map(Vec::len), Some(1));
}

/// Regression for #8: the last run of a gateway could be taken out, and nobody knew of it.
#[tokio::test]
async fn the_last_run_of_a_gateway_cannot_be_taken_out_unseen() {
    let (_upstream, config) = echo(&json!({})).await;
    let home = Gateway::start(&config).await.stop().await;
    let home = Gateway::start_in(home).await.stop().await;
    let (code, said) = verified(&home).await;
    assert_eq!((code, &said["writers"]), (Some(0), &json!(2)), "{said}");
    let log = rusqlite::Connection::open(home.log()).unwrap();
    let newest = "DELETE FROM activity WHERE writer = 2; DELETE FROM checkpoint WHERE writer = 2; \
                  DELETE FROM writer WHERE writer = 2";
    log.execute_batch(newest).unwrap();
    drop(log);
    let gone = "a run of the gateway is gone that is known beside the key";
    let (code, said) = verified(&home).await;
    assert_eq!(
        (code, &said["problems"][0]["problem"]),
        (Some(1), &json!(gone)),
        "{said}"
    );
    // Nor is it covered up by the next.
    let home = Gateway::start_in(home).await.stop().await;
    let (code, said) = verified(&home).await;
    assert_eq!(
        (code, &said["problems"][0]["problem"]),
        (Some(1), &json!(gone)),
        "{said}"
    );
}

/// What somebody changed is evidence: it is not dropped, and whoever looks after the gateway hears of
/// it.
#[tokio::test]
async fn a_record_that_was_changed_is_not_dropped_and_the_gateway_says_so() {
    let activity = json!({ "durability": "relaxed", "max_records": 2048 });
    let (_upstream, config) = echo(&json!({ "activity": activity })).await;
    let gateway = Gateway::start(&config).await;
    let _load = Load::start(&gateway).await;
    let log = rusqlite::Connection::open(gateway.home.log()).unwrap();
    log.busy_timeout(Duration::from_secs(10)).unwrap();
    let sql = "UPDATE activity SET principal = 'nobody' WHERE seq = 17";
    until("the record", || async {
        (log.execute(sql, []).unwrap() > 0).then_some(())
    })
    .await;
    let said = until("word of it", || async {
        let diagnosed = gateway.api("/diagnostics").await;
        let problems = diagnosed["problems"].as_array().unwrap();
        let about = |one: &&Value| one["area"] == "activity log";
        problems.iter().find(about).cloned()
    })
    .await;
    assert_eq!(said["hint"], "mcpproxy activity verify", "{said}");
    let problem = said["problem"].as_str().unwrap();
    gateway.until_logged(problem).await;
    let there = "SELECT count(*) FROM activity WHERE seq = 17";
    let there: i64 = log.query_row(there, [], |row| row.get(0)).unwrap();
    assert_eq!(there, 1);
    let doctor = gateway.home.run(&["doctor"]).await;
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains(problem), "{doctor}");
}

/// SC-006.
#[tokio::test]
async fn under_load_a_record_is_found_within_two_seconds_of_its_call() {
    let (_upstream, config) = echo(&json!({ "activity": { "durability": "relaxed" } })).await;
    let gateway = Gateway::start(&config).await;
    let _load = Load::start(&gateway).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    for _ in 0..5 {
        let before = gateway.api("/activity?tool=add&limit=100").await;
        let before = before["activities"].as_array().unwrap().len();
        downstream
            .call("echo__add", json!({ "a": 1, "b": 2 }))
            .await;
        let answered = Instant::now();
        until("the record", || async {
            let page = gateway.api("/activity?tool=add&limit=100").await;
            (page["activities"].as_array().unwrap().len() > before).then_some(())
        })
        .await;
        let took = answered.elapsed();
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_postgresql_a_kill_loses_nothing_and_the_chain_holds() {
    let postgres = Postgres::start().expect("PostgreSQL is needed");
    let (_upstream, config) = echo(&json!({ "store": postgres.url() })).await;
    let (home, answered) = kill_under_load(Gateway::start(&config).await).await;
    let reader = PostgresReader::open(&postgres.url()).unwrap();
    let records: Vec<Value> = {
        let page = reader.tail(0, 100_000).unwrap();
        let records = page.records.iter();
        records
            .map(|one| serde_json::from_str(one).unwrap())
            .collect()
    };
    check_kept(&records, answered);
    let (code, said) = verified(&home).await;
    assert_eq!((code, &said["sound"]), (Some(0), &json!(true)), "{said}");
    // Nothing of it is in the data folder.
    assert!(!home.log().exists(), "there is a second log");
    // The next gateway finds what the one before learned of its upstreams.
    let gateway = Gateway::start_in(home).await;
    let page = gateway.api("/activity?type=tool_call&limit=1").await;
    assert_eq!(page["activities"][0]["tool_name"], "echo");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_postgresql_is_away_strict_refuses_open_goes_on_and_both_recover() {
    for (durability, passes) in [("strict", false), ("relaxed", true)] {
        let postgres = Postgres::start().expect("PostgreSQL is needed");
        let activity = json!({ "durability": durability });
        let more = json!({ "store": postgres.url(), "activity": activity });
        let (_upstream, config) = echo(&more).await;
        let gateway = Gateway::start(&config).await;
        let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
        let said = json!({ "name": "echo__echo", "arguments": { "text": "x" } });
        let call = async || {
            let mut sent = downstream.request("tools/call", said.clone()).await;
            sent.answer().await.get("result").is_some()
        };
        assert!(call().await, "{durability}");
        postgres.stop().unwrap();
        assert_eq!(call().await, passes, "{durability}");
        until("the problem to be known", || async {
            let status = gateway.api("/status").await;
            (!status["activity_problem"].is_null()).then_some(())
        })
        .await;
        assert_eq!(call().await, passes, "{durability}");
        postgres.go_on().unwrap();
        until("the log to recover", || async {
            let status = gateway.api("/status").await;
            status["activity_problem"].is_null().then_some(())
        })
        .await;
        assert!(call().await, "{durability}");
        let (code, said) = verified(&gateway.home).await;
        assert_eq!((code, &said["sound"]), (Some(0), &json!(true)), "{said}");
    }
}

#[tokio::test]
async fn a_store_that_is_not_there_is_said_at_the_start_and_without_its_password() {
    let url = format!("postgres://me:{PASSWORD}@127.0.0.1:9/log");
    let (_upstream, config) = echo(&json!({ "store": url })).await;
    refuses_without_password(&config, "postgres://127.0.0.1:9/log").await;
}

#[tokio::test]
async fn the_way_to_postgresql_is_encrypted_and_its_certificate_checked() {
    let names = ["127.0.0.1".to_owned()];
    let [shown, other] = [(); 2].map(|()| generate_simple_self_signed(names.clone()).unwrap());
    let (certificate, key) = (shown.cert.pem(), shown.signing_key.serialize_pem());
    let postgres = Postgres::start_encrypted(&certificate, &key).expect("PostgreSQL is needed");
    let folder = tempfile::tempdir().unwrap();
    let issuer = |name: &str, pem: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, pem).unwrap();
        file.display().to_string()
    };
    let (issuer, stranger) = (
        issuer("issuer.pem", &certificate),
        issuer("stranger.pem", &other.cert.pem()),
    );
    let store = |parameters: &str| json!({ "store": format!("{}?{parameters}", postgres.url()) });
    // Neither in clear, which the server does not take, nor to a server that anybody could be.
    for parameters in [
        "sslmode=disable",
        "sslmode=require",
        &format!("sslmode=verify-full&sslrootcert={stranger}"),
    ] {
        let (_upstream, config) = echo(&store(parameters)).await;
        let refused = Gateway::launch(Home::new(&config), &[]).await.err();
        let refused = refused.unwrap_or_else(|| panic!("{parameters} is taken"));
        assert_eq!(refused.code, Some(2), "{}", refused.said);
    }
    let trusted = store(&format!("sslmode=verify-full&sslrootcert={issuer}"));
    let (_upstream, config) = echo(&trusted).await;
    let gateway = Gateway::start(&config).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    downstream.call("echo__echo", json!({ "text": "x" })).await;
    let listed = gateway.api("/activity?type=tool_call&limit=10").await;
    assert_eq!(listed["activities"].as_array().map(Vec::len), Some(1));
    let (code, said) = verified(&gateway.home).await;
    assert_eq!((code, &said["sound"]), (Some(0), &json!(true)), "{said}");
}
