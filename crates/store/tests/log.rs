//! The log as a whole: what is written is found again by every filter, in order, over restarts,
//! past its bound, and after faults.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use mcpproxy_core::{
    Action, ActivityQuery, ActivityReader as _, ActivitySink as _, CallId, DataOrigin, Declared,
    Door, Durability, Field, Finding, FlowType, Label, Likeness, Masked, Match, Nature, Operation,
    Record, Risk, RiskLevel, Severity, Side, SinkFault, Source, Status, Threat, Tier, ToolName,
    UpstreamId, Wall, Weight,
};
use mcpproxy_store::{Reader, SqliteSink};
use serde_json::{Value, json};
use tempfile::TempDir;

const NOON: u64 = 1_780_000_000_000;

fn record(number: u64) -> Record {
    Record {
        server_name: format!("server{}", number % 3),
        tool_name: "echo".to_owned(),
        method: "tools/call".to_owned(),
        duration_ms: 1.5,
        timestamp: Wall(NOON + number).rfc3339(),
        session_id: format!("s{}", number / 1000),
        correlation_id: "trace-7".to_owned(),
        principal: "owner".to_owned(),
        request_bytes: 10,
        response_bytes: 20,
        ..Record::new(
            CallId::new(NOON + number, u128::from(number)),
            "tool_call",
            Door::Mcp,
        )
    }
}

/// A record in which everything is said that can be.
fn denial(number: u64) -> Record {
    let origin = DataOrigin {
        call: CallId::new(NOON, 1),
        upstream: UpstreamId::new("github"),
        tool: ToolName::new("get_file"),
        at: Wall(NOON),
        side: Side::Inside,
    };
    let label = Label {
        kind: "aws_secret_key".into(),
        word: "api_token",
        severity: Severity::Critical,
        validated: true,
        nature: Nature::Secret,
    };
    let evidence = Match {
        how: Likeness::Encoded,
        via: vec!["base64"],
        origin,
        place: "/arguments/text".into(),
        shared: 40,
        weight: Weight::Sensitive,
        label: Some(label),
        sample: Masked::from_safe("wJ…EY"),
    };
    let finding = Finding {
        rule: "flow".into(),
        source: Source::Flow,
        tier: Tier::SensitiveFlow,
        wants: Action::Deny,
        severity: Severity::Critical,
        confidence: 99,
        threat: Threat::DataExfiltration,
        place: None,
        evidence: Some(Box::new(evidence)),
        contradiction: None,
        reason: Masked::from_safe("a key is about to leave"),
    };
    Record {
        kind: "policy_decision",
        status: Status::Blocked,
        error_message: Some("a \"key\" is about to leave".to_owned()),
        decision: Action::Deny,
        effective: Action::Deny,
        flow_type: FlowType::InternalToExternal,
        risk: Risk {
            level: RiskLevel::Critical,
            score: 90,
        },
        declared: Declared {
            operation: Some(Operation::Write),
            reason: Some("to share it".into()),
            ..Declared::default()
        },
        findings: vec![finding],
        has_sensitive_data: true,
        detection_types: vec!["aws_secret_key".into()],
        max_severity: Some(Severity::Critical),
        ..record(number)
    }
}

struct Log {
    folder: TempDir,
    sink: SqliteSink,
}

impl Log {
    fn open(max_bytes: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sink = SqliteSink::open(&folder.path().join("activity.db"), max_bytes).unwrap();
        Self { folder, sink }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("activity.db")
    }

    async fn fill(&self, numbers: std::ops::Range<u64>) {
        for number in numbers {
            let record = if number % 5000 == 4999 {
                denial(number)
            } else {
                record(number)
            };
            while self.sink.append(record.clone(), Durability::Relaxed).await
                == Err(SinkFault::Full)
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        self.sink.flush().await.unwrap();
    }
}

fn query(wanted: &[(Field, &[&str])]) -> ActivityQuery {
    let own = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect();
    ActivityQuery {
        wanted: wanted
            .iter()
            .map(|(field, values)| (*field, own(values)))
            .collect(),
        limit: 50,
        ..ActivityQuery::default()
    }
}

/// All pages of an answer, as the numbers of the records.
fn numbers(reader: &Reader, query: &ActivityQuery) -> Vec<u64> {
    let (mut query, mut numbers) = (query.clone(), Vec::new());
    loop {
        let page = reader.page(&query).unwrap();
        assert!(page.records.len() <= query.limit);
        numbers.extend(page.records.iter().map(|text| number(text)));
        query.skip = 0;
        query.before = page.next;
        if page.next.is_none() {
            return numbers;
        }
    }
}

fn number(text: &str) -> u64 {
    let record: Value = serde_json::from_str(text).unwrap();
    CallId::parse(record["id"].as_str().unwrap())
        .unwrap()
        .millis()
        - NOON
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("waited in vain for {what}");
}

fn count(path: &Path, sql: &str) -> i64 {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn every_filter_finds_its_records_in_finished_blocks_and_after_them() {
    let log = Log::open(u64::MAX);
    log.fill(0..10_000).await;
    let path = log.path();
    until("four blocks", || {
        count(&path, "SELECT count(*) FROM block") == 4
    })
    .await;
    let reader = Reader::open(&path).unwrap();
    let denials = vec![9999_u64, 4999];
    let check = |wanted: &[(Field, &[&str])], expect: &[u64]| {
        assert_eq!(numbers(&reader, &query(wanted)), expect, "{wanted:?}");
    };
    check(&[(Field::Kind, &["policy_decision", "approval"])], &denials);
    check(&[(Field::Status, &["blocked"])], &denials);
    check(&[(Field::Decision, &["deny"])], &denials);
    check(&[(Field::FlowType, &["internal→external"])], &denials);
    check(&[(Field::RiskLevel, &["high", "critical"])], &denials);
    check(&[(Field::Operation, &["write"])], &denials);
    check(&[(Field::Sensitive, &["true"])], &denials);
    check(&[(Field::Severity, &["critical"])], &denials);
    check(&[(Field::Detection, &["aws_secret_key"])], &denials);
    check(
        &[(Field::Session, &["s4"]), (Field::Decision, &["deny"])],
        &[4999],
    );
    check(
        &[(Field::Session, &["s5"]), (Field::Decision, &["deny"])],
        &[],
    );
    check(&[(Field::Tool, &["ech"])], &[]);
    check(
        &[(Field::Principal, &["owner"]), (Field::Kind, &["intent"])],
        &[],
    );
    check(&[(Field::Source, &["api"])], &[]);
    let third: Vec<_> = (0..10_000).rev().filter(|number| number % 3 == 1).collect();
    check(&[(Field::Upstream, &["server1"])], &third);
    check(&[], &(0..10_000).rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn time_skipping_and_single_calls() {
    let log = Log::open(u64::MAX);
    log.fill(0..5000).await;
    let path = log.path();
    until("two blocks", || {
        count(&path, "SELECT count(*) FROM block") == 2
    })
    .await;
    let reader = Reader::open(&path).unwrap();
    let span = ActivityQuery {
        from: Some(Wall(NOON + 2000)),
        to: Some(Wall(NOON + 2100)),
        ..query(&[])
    };
    assert_eq!(
        numbers(&reader, &span),
        (2000..=2100).rev().collect::<Vec<_>>()
    );
    let skipping = ActivityQuery {
        skip: 7,
        limit: 3,
        ..query(&[])
    };
    let page = reader.page(&skipping).unwrap();
    let shown: Vec<_> = page.records.iter().map(|text| number(text)).collect();
    assert_eq!(shown, [4992, 4991, 4990]);
    for one in [0, 2047, 2048, 4999] {
        let id = record(one).id;
        assert_eq!(number(&reader.get(id).unwrap().unwrap()), one);
    }
    assert_eq!(reader.get(CallId::new(NOON + 7, 8)).unwrap(), None);
    assert_eq!(reader.get(CallId::new(7, 7)).unwrap(), None);
    let tail = reader.tail(4998, 10).unwrap();
    assert_eq!(tail.records.len(), 2);
    assert_eq!(reader.tail(tail.next.unwrap(), 10).unwrap().next, None);
}

#[tokio::test]
async fn a_record_is_shown_as_it_came() {
    let log = Log::open(u64::MAX);
    for one in [record(1), denial(2)] {
        log.sink.append(one, Durability::Strict).await.unwrap();
    }
    let reader = Reader::open(&log.path()).unwrap();
    let page = reader.page(&query(&[])).unwrap();
    for (shown, came) in page.records.iter().zip([denial(2), record(1)]) {
        let mut shown: Value = serde_json::from_str(shown).unwrap();
        let mut came = serde_json::to_value(&came).unwrap();
        let shown = shown.as_object_mut().unwrap();
        let came = came.as_object_mut().unwrap();
        if came["decision"] == "allow" {
            // Nothing was declared and nothing detected.
            came.insert("declared".to_owned(), json!({}));
            came.remove("detection_types");
        }
        assert_eq!(shown, came);
    }
}

#[tokio::test]
async fn past_the_bound_the_oldest_go_and_the_newest_stay_found() {
    let log = Log::open(2 * 1024 * 1024);
    log.fill(0..40_000).await;
    let path = log.path();
    let used = "SELECT (SELECT page_count FROM pragma_page_count) \
                - (SELECT freelist_count FROM pragma_freelist_count)";
    let mut next = 40_000;
    until("room", || {
        // Upkeep is rung by the records that come.
        let record = record(next);
        next += 1;
        drop(log.sink.append(record, Durability::Relaxed));
        count(&path, used) * 4096 < 3 * 1024 * 1024
            && count(&path, "SELECT min(seq) FROM activity") > 2048
    })
    .await;
    log.sink.flush().await.unwrap();
    let first = count(&path, "SELECT min(seq) FROM activity");
    let stale = format!("SELECT count(*) FROM posting WHERE block < {first} / 2048");
    assert_eq!(count(&path, &stale), 0);
    let reader = Reader::open(&path).unwrap();
    let newest = reader.page(&query(&[(Field::Tool, &["echo"])])).unwrap();
    assert_eq!(number(&newest.records[0]), next - 1);
    assert_eq!(reader.get(record(3).id).unwrap(), None);
}

#[tokio::test]
async fn a_log_goes_on_where_another_process_left_it() {
    let log = Log::open(u64::MAX);
    log.fill(0..100).await;
    let other = SqliteSink::open(&log.path(), u64::MAX).unwrap();
    for number in 100..110 {
        other
            .append(record(number), Durability::Strict)
            .await
            .unwrap();
        log.sink
            .append(record(number + 10), Durability::Strict)
            .await
            .unwrap();
    }
    let reader = Reader::open(&log.path()).unwrap();
    assert_eq!(numbers(&reader, &query(&[])).len(), 120);
}

#[tokio::test]
async fn after_a_fault_writing_goes_on_and_the_gap_is_on_record() {
    let log = Log::open(u64::MAX);
    log.sink
        .append(record(1), Durability::Strict)
        .await
        .unwrap();
    // Whoever holds this lock keeps the writer from writing.
    let thief = rusqlite::Connection::open(log.path()).unwrap();
    thief.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = log.sink.append(record(2), Durability::Strict).await;
    assert!(matches!(refused, Err(SinkFault::Broken(_))), "{refused:?}");
    let problem = log.sink.problem().unwrap();
    assert!(problem.contains("1 records were lost"), "{problem}");
    // What can wait is written once it can be; what cannot is refused at once.
    log.sink
        .append(record(3), Durability::Relaxed)
        .await
        .unwrap();
    assert!(
        log.sink
            .append(record(4), Durability::Strict)
            .await
            .is_err()
    );
    thief.execute_batch("ROLLBACK").unwrap();
    until("the log to recover", || log.sink.problem().is_none()).await;
    log.sink
        .append(record(5), Durability::Strict)
        .await
        .unwrap();
    let reader = Reader::open(&log.path()).unwrap();
    assert_eq!(numbers(&reader, &query(&[])), [5, 3, 1]);
    assert_eq!(reader.page(&query(&[])).unwrap().lost, 2);
}

#[tokio::test]
async fn a_full_queue_says_so() {
    let log = Log::open(u64::MAX);
    log.sink.flush().await.unwrap();
    let thief = rusqlite::Connection::open(log.path()).unwrap();
    thief.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut taken = 0;
    while log
        .sink
        .append(record(taken), Durability::Relaxed)
        .await
        .is_ok()
    {
        taken += 1;
        assert!(taken < 100_000, "nothing is bounded");
    }
    let refused = log.sink.append(record(0), Durability::Strict).await;
    assert_eq!(refused, Err(SinkFault::Full));
    thief.execute_batch("ROLLBACK").unwrap();
    log.sink.flush().await.unwrap_or_default();
}
