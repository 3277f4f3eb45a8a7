//! The log in a PostgreSQL database, a real one: what every log must do, shared by two writers, past
//! its bounds, and while the database is away.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::{ActivityReader as _, ActivitySink as _, Cursor, Durability, SinkFault, Wall};
use mcpproxy_store::{Options, PostgresBaselines, PostgresReader, Retention, Sink, Verified};
use mcpproxy_testkit::suite::activity::{
    self as suite, NOON, denial, fill, numbers, query, record, until,
};
use mcpproxy_testkit::suite::baselines;
use mcpproxy_testkit::{FixedClock, Postgres, WordSigner};
use serde_json::Value;

/// What is said of a statement that nobody signed so.
const FORGED: &str = "the signature is not genuine";
/// What is said of a block whose index was changed, of one whose index is gone, and of one that has an index too
/// soon.
const MISFILED: [&str; 3] = [
    "the index of a block is not what its records make it",
    "the index of a block is gone",
    "an index was put in for a block that is not full",
];
const DAY: Duration = Duration::from_hours(24);

struct Log {
    postgres: Postgres,
    sink: Sink,
    reader: PostgresReader,
    clock: Arc<FixedClock>,
}

impl Log {
    fn open() -> Self {
        let postgres = Postgres::start().expect("PostgreSQL is needed");
        let clock = Arc::new(FixedClock::at(Wall(NOON)));
        Self {
            sink: open(&postgres, &clock),
            reader: PostgresReader::open(&postgres.url()).unwrap(),
            postgres,
            clock,
        }
    }

    fn verified(&self) -> Verified {
        self.reader.verify(WordSigner("ours")).unwrap()
    }

    async fn client(&self) -> tokio_postgres::Client {
        let url = self.postgres.url();
        let connect = tokio_postgres::connect(&url, tokio_postgres::NoTls);
        let (client, connection) = connect.await.unwrap();
        tokio::spawn(connection);
        client
            .batch_execute("SET search_path = mcpproxy")
            .await
            .unwrap();
        client
    }
}

fn open(postgres: &Postgres, clock: &Arc<FixedClock>) -> Sink {
    let options = Options {
        retention: Retention::ALL,
        signer: Arc::new(WordSigner("ours")),
        trust: Arc::new(WordSigner("ours")),
        clock: Arc::clone(clock) as _,
        reminder: None,
    };
    Sink::postgres(&postgres.url(), options).unwrap()
}

/// Waits until a query says so.
async fn settled(client: &tokio_postgres::Client, sql: &str) {
    for _ in 0..2000 {
        let row = client.query_one(sql, &[]).await.unwrap();
        if row.get::<_, bool>(0) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let row = client.query_one(sql, &[]).await.unwrap();
    assert!(row.get::<_, bool>(0), "waited in vain: {sql}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_filter_finds_its_records_in_finished_blocks_and_after_them() {
    let log = Log::open();
    suite::shows_what_came(&log.sink, &log.reader).await;
    let client = log.client().await;
    client
        .batch_execute("DELETE FROM activity; UPDATE place SET last = 0")
        .await
        .unwrap();
    drop(log.sink);
    let sink = open(&log.postgres, &log.clock);
    fill(&sink, 0..5000).await;
    suite::finds_by_time_and_place(&log.reader);
    fill(&sink, 5000..10_000).await;
    suite::finds_by_every_filter(&log.reader);
    settled(&client, "SELECT count(*) = 4 FROM block").await;
    suite::finds_by_every_filter(&log.reader);
    // Beside a gateway of an earlier version, which makes no digests, nothing is missed.
    client.batch_execute("DELETE FROM digest").await.unwrap();
    suite::finds_by_every_filter(&log.reader);
    // What it left is finished again.
    let earlier = "DROP TABLE digest, redaction; UPDATE form SET form = 1; \
                   ALTER TABLE writer DROP COLUMN gaps, DROP COLUMN gap_hash; \
                   ALTER TABLE gap DROP COLUMN gap";
    client.batch_execute(earlier).await.unwrap();
    let other = open(&log.postgres, &log.clock);
    other.retain(Retention::ALL);
    settled(&client, "SELECT count(*) = 16 FROM digest").await;
    suite::finds_by_every_filter(&log.reader);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_group_of_many_days_is_kept_whole_and_in_order() {
    let log = Log::open();
    suite::keeps_a_group_of_many_days(&log.sink, &log.reader).await;
    assert_eq!(log.verified().flaws, []);
}

/// Regression for #8: whatever number of records there is, they are counted, and a filter with a zero
/// finds nothing.
#[tokio::test(flavor = "multi_thread")]
async fn counts_are_those_of_the_records_in_finished_blocks_and_after_them() {
    let log = Log::open();
    suite::fill_mixed(&log.sink).await;
    suite::counts_what_pages_give(&log.reader);
    suite::finds_nothing_by_a_character_that_nobody_keeps(&log.reader);
    let client = log.client().await;
    settled(&client, "SELECT count(*) = 2 FROM block").await;
    suite::counts_what_pages_give(&log.reader);
    suite::finds_nothing_by_a_character_that_nobody_keeps(&log.reader);
    // A block of which an earlier version did not say which records are calls is read.
    let earlier = "DELETE FROM posting WHERE field = 18 AND block = 0";
    client.batch_execute(earlier).await.unwrap();
    suite::counts_what_pages_give(&log.reader);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_told_in_the_order_in_which_its_calls_began() {
    let log = Log::open();
    suite::fill_session(&log.sink).await;
    suite::tells_a_session_in_order_of_time(&log.reader);
    let client = log.client().await;
    settled(&client, "SELECT count(*) = 2 FROM block").await;
    suite::tells_a_session_in_order_of_time(&log.reader);
}

#[tokio::test(flavor = "multi_thread")]
async fn baselines_and_habits_outlive_the_process() {
    let postgres = Postgres::start().expect("PostgreSQL is needed");
    let url = postgres.url();
    baselines::keeps_the_latest(|| PostgresBaselines::open(&url).unwrap());
    baselines::keeps_habits_apart(|| PostgresBaselines::open(&url).unwrap());
    baselines::keeps_what_was_read_first(|| PostgresBaselines::open(&url).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_writers_share_a_log_and_what_is_changed_is_found() {
    let log = Log::open();
    let other = open(&log.postgres, &log.clock);
    let (one, two) = (fill(&log.sink, 0..3000), fill(&other, 5000..8000));
    tokio::join!(one, two);
    assert_eq!(numbers(&log.reader, &query(&[])).len(), 6000);
    let found = log.verified();
    assert_eq!(
        (found.records, found.writers, found.flaws),
        (6000, 2, vec![])
    );
    let tail = log.reader.tail(0, 10_000).unwrap();
    assert_eq!(
        (tail.records.len(), tail.next),
        (6000, Some(Cursor::from(6000)))
    );
    let client = log.client().await;
    let cases = [
        (
            "UPDATE activity SET status = 'error' WHERE seq = 7",
            "not what was written",
        ),
        (
            "UPDATE activity SET hash = '\\x00' WHERE seq = 9",
            "not what was written",
        ),
        (
            "DELETE FROM activity WHERE seq = 100",
            "records before this one are gone",
        ),
        ("UPDATE checkpoint SET number = 5", "not genuine"),
    ];
    for (sql, expect) in cases {
        client.batch_execute(sql).await.unwrap();
        let found = log.verified();
        let told: Vec<_> = found.flaws.iter().map(|flaw| flaw.what).collect();
        assert!(
            told.iter().any(|told| told.contains(expect)),
            "{sql}: {told:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_surplus_and_sensitive_records_go_and_what_remains_is_signed() {
    let log = Log::open();
    fill(&log.sink, 0..9000).await;
    let client = log.client().await;
    // The denial among the first half loses its words, and is dropped afterwards.
    log.clock.set_wall(Wall(NOON + 5500).after(30 * DAY));
    log.sink.retain(Retention {
        redact_after: Some(30 * DAY),
        ..Retention::ALL
    });
    settled(
        &client,
        "SELECT words IS NULL FROM activity WHERE seq = 5000",
    )
    .await;
    let shown = log.reader.get(denial(4999).id).unwrap().unwrap();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(
        (&shown["redacted"], &shown["decision"]),
        (&true.into(), &"deny".into())
    );
    let found = log.verified();
    assert_eq!((found.redacted, found.flaws), (1, vec![]));
    let signed = "SELECT count(*) = 1 FROM redaction";
    settled(&client, signed).await;
    log.clock.set_wall(Wall(NOON + 5000));
    log.sink.retain(Retention {
        max_age: Some(Duration::from_secs(2)),
        ..Retention::ALL
    });
    settled(&client, "SELECT min(seq) = 3001 FROM activity").await;
    log.sink.retain(Retention {
        max_records: Some(1500),
        ..Retention::ALL
    });
    settled(&client, "SELECT min(seq) = 7501 FROM activity").await;
    settled(&client, "SELECT count(*) = 0 FROM redaction").await;
    log.sink.flush().await.unwrap();
    let found = log.verified();
    assert_eq!(
        (found.records, found.pruned, found.flaws),
        (1500, 7500, vec![])
    );
    suite::check_newest(&log.reader, 8999);
    // A partition whose records are all dropped goes as a whole.
    let mut late = record(100_000);
    late.timestamp = Wall(NOON).after(70 * DAY).rfc3339();
    log.sink.append(late, Durability::Strict).await.unwrap();
    fill(&log.sink, 100_001..103_000).await;
    // Upkeep is rung by a block that is full, and by this; else it comes by once a minute.
    log.sink.retain(Retention {
        max_bytes: 1,
        max_records: Some(1),
        ..Retention::ALL
    });
    settled(&client, "SELECT count(*) <= 1 FROM activity").await;
    assert_eq!(log.verified().flaws, []);
}

/// Regression for #8: who changed what is said of blocks had the log drop records, and sign it.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_dropped_for_what_the_database_says_of_itself() {
    let old = Retention {
        max_age: Some(DAY),
        ..Retention::ALL
    };
    let many = Retention {
        max_records: Some(40_000),
        ..Retention::ALL
    };
    let large = Retention {
        max_bytes: 64 * 1024 * 1024,
        ..Retention::ALL
    };
    let cases = [
        ("UPDATE block SET last_at = first_at - 99999999999", old),
        ("UPDATE block SET bytes = 1000000000 WHERE block = 0", large),
        ("UPDATE block SET bytes = 1000000000 WHERE block = 3", large),
        ("UPDATE place SET last = 90000", many),
    ];
    let log = Log::open();
    let client = log.client().await;
    let mut next = 9000;
    fill(&log.sink, 0..next).await;
    settled(&client, "SELECT count(*) >= 4 FROM block").await;
    for (sql, retention) in cases {
        client.batch_execute(sql).await.unwrap();
        assert!(!log.verified().is_sound(), "{sql}");
        log.sink.retain(retention);
        // What was asked of the writer is done before it finishes later blocks.
        let before = client.query_one("SELECT count(*) FROM block", &[]);
        let before: i64 = before.await.unwrap().get(0);
        fill(&log.sink, next..next + 5000).await;
        next += 5000;
        let sealed = format!(
            "SELECT count(*) >= {before} + 2 OR (SELECT min(seq) > 1 FROM activity) FROM block"
        );
        settled(&client, &sealed).await;
        log.sink.flush().await.unwrap();
        let left = "SELECT count(*) FROM activity";
        let left: i64 = client.query_one(left, &[]).await.unwrap().get(0);
        assert_eq!(u64::try_from(left).unwrap(), next, "{sql}");
        let signed = "SELECT count(*) FROM checkpoint WHERE pruned";
        let signed: i64 = client.query_one(signed, &[]).await.unwrap().get(0);
        assert_eq!(signed, 0, "{sql}");
        log.sink.retain(Retention::ALL);
        let url = log.postgres.url();
        let remade = std::thread::spawn(move || mcpproxy_store::remake_database_index(&url));
        remade.join().unwrap().unwrap();
    }
    assert_eq!(log.verified().flaws, []);
}

/// Regression for #8: what was changed or taken out went with the rest, signed, and the log was sound again.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_what_was_written_is_not_dropped() {
    let log = Log::open();
    let client = log.client().await;
    fill(&log.sink, 0..9000).await;
    settled(&client, "SELECT count(*) = 4 FROM block").await;
    let few = Retention {
        max_records: Some(1500),
        ..Retention::ALL
    };
    let refuse = async |sql: &str, expect: &str| {
        client.batch_execute(sql).await.unwrap();
        log.sink.retain(few);
        let doubt = || log.sink.doubt().unwrap_or_default();
        until("a refusal", || doubt().contains(expect)).await;
        let found = log.verified();
        assert!(!found.is_sound(), "{sql}");
        found.pruned
    };
    let gone = "CREATE TABLE taken AS SELECT * FROM activity WHERE seq = 100; \
                DELETE FROM activity WHERE seq = 100";
    assert_eq!(refuse(gone, "records before this one are gone").await, 0);
    let later = "INSERT INTO activity SELECT * FROM taken; \
                 UPDATE activity SET principal = 'nobody' WHERE seq = 5000";
    let dropped = refuse(later, "record 5000 of the activity log").await;
    assert_eq!(dropped, 4095, "blocks before it are as they were written");
    let back = "UPDATE activity SET principal = 'owner' WHERE seq = 5000";
    client.batch_execute(back).await.unwrap();
    log.sink.retain(few);
    settled(&client, "SELECT min(seq) = 7501 FROM activity").await;
    until("nothing to refuse", || log.sink.doubt().is_none()).await;
    let found = log.verified();
    assert_eq!((found.pruned, found.flaws), (7500, vec![]));
}

/// Two gateways with keys of their own drop what the other wrote, and neither vouches for the other.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_dropped_names_all_keys_that_it_rests_on() {
    let log = Log::open();
    let options = Options {
        retention: Retention::ALL,
        signer: Arc::new(WordSigner("others")),
        trust: Arc::new(WordSigner("others")),
        clock: Arc::clone(&log.clock) as _,
        reminder: None,
    };
    let other = Sink::postgres(&log.postgres.url(), options).unwrap();
    fill(&other, 0..3000).await;
    fill(&log.sink, 3000..6000).await;
    let few = |most| Retention {
        max_records: Some(most),
        ..Retention::ALL
    };
    let client = log.client().await;
    other.retain(few(5000));
    settled(&client, "SELECT min(seq) = 1001 FROM activity").await;
    other.retain(Retention::ALL);
    log.sink.retain(few(2000));
    settled(&client, "SELECT min(seq) = 4001 FROM activity").await;
    let found = log.verified();
    assert_eq!((found.unknown_keys.len(), found.flaws), (1, vec![]));
    // Also once nothing else is left of the other.
    let alone = "DELETE FROM checkpoint WHERE NOT pruned AND writer = 1";
    client.batch_execute(alone).await.unwrap();
    assert_eq!(log.verified().unknown_keys.len(), 1);
    let ours = "UPDATE checkpoint SET key = substr(key, 1, 32) WHERE pruned";
    client.batch_execute(ours).await.unwrap();
    let told: Vec<_> = log.verified().flaws.iter().map(|one| one.what).collect();
    assert!(told.contains(&FORGED), "{told:?}");
}

/// Regression for #8: what the log drops can be dropped by anybody, and looked the same.
#[tokio::test(flavor = "multi_thread")]
async fn words_that_the_log_did_not_drop_are_missed() {
    let log = Log::open();
    fill(&log.sink, 0..10_000).await;
    let client = log.client().await;
    log.clock.set_wall(Wall(NOON + 5500).after(30 * DAY));
    log.sink.retain(Retention {
        redact_after: Some(30 * DAY),
        ..Retention::ALL
    });
    let gone = "SELECT words IS NULL FROM activity WHERE seq = 5000";
    settled(&client, gone).await;
    let check = |unaccounted: u64, expect: &[&str]| {
        let found = log.verified();
        let mut told: Vec<_> = found.flaws.iter().map(|flaw| flaw.what).collect();
        // What is due may be signed more than once where upkeep is rung again meanwhile.
        told.dedup_by(|one, other| one == other && *one == FORGED);
        assert_eq!((found.unaccounted, &told[..]), (unaccounted, expect));
    };
    check(0, &[]);
    let sql = "SELECT salts, words FROM activity WHERE seq = 10000";
    let row = client.query_one(sql, &[]).await.unwrap();
    let salts = suite::without_words(row.get(0), row.get(1));
    let sql = "UPDATE activity SET words = NULL, salts = $1 WHERE seq = 10000";
    client.execute(sql, &[&salts]).await.unwrap();
    check(1, &[suite::TAKEN]);
    let sql = "UPDATE redaction SET last = 10000, \
               records = '\\x0000000000002710' || substr(records, 9)";
    client.batch_execute(sql).await.unwrap();
    check(2, &[FORGED, suite::TAKEN, suite::TAKEN]);
}

/// Regression for #8: who changed what records are found by hid them from filters and summaries, and the log
/// counted as sound.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_its_records_do_not_make_is_found_and_made_anew() {
    let log = Log::open();
    suite::fill_mixed(&log.sink).await;
    let client = log.client().await;
    settled(&client, "SELECT count(*) = 2 FROM block").await;
    let [changed, gone, early] = MISFILED;
    let check = async |sql: &str, expect: &[(u64, &str)]| {
        client.batch_execute(sql).await.unwrap();
        let flaws = log.verified().flaws;
        let told = flaws.iter().map(|flaw| (flaw.block.unwrap(), flaw.what));
        assert_eq!(told.collect::<Vec<_>>(), expect, "{sql}");
        let url = log.postgres.url();
        let remade = std::thread::spawn(move || mcpproxy_store::remake_database_index(&url));
        assert_eq!(remade.join().unwrap().unwrap(), 2);
        let found = log.verified();
        assert_eq!((found.flaws, found.unindexed), (vec![], 0), "{sql}");
    };
    let both = [(0, changed), (1, changed)];
    check("", &[]).await;
    check("DELETE FROM posting WHERE value = 'blocked'", &both).await;
    let session = "DELETE FROM posting WHERE field = 5 AND value = 's3'";
    check(session, &[(1, changed)]).await;
    check(
        "UPDATE posting SET records = '' WHERE value = 'deny'",
        &both,
    )
    .await;
    let digest = "UPDATE digest SET records = '\\x' WHERE field = 15 AND block = 1";
    check(digest, &[(1, changed)]).await;
    let extra =
        "INSERT INTO posting SELECT field, 'never', block, records FROM posting WHERE field = 4";
    check(extra, &both).await;
    let times = "UPDATE block SET last_at = first_at WHERE block = 1";
    check(times, &[(1, changed)]).await;
    check("DELETE FROM block WHERE block = 0", &[(0, gone)]).await;
    check("INSERT INTO block VALUES (2, 0, 1, 1)", &[(2, early)]).await;
    check(
        "DELETE FROM digest; DELETE FROM posting WHERE field = 18",
        &[],
    )
    .await;
    suite::counts_what_pages_give(&log.reader);
    client
        .batch_execute("DELETE FROM posting; DELETE FROM block")
        .await
        .unwrap();
    let found = log.verified();
    assert_eq!((found.flaws, found.unindexed), (vec![], 2));
}

/// Regression for #8: a log without its last run looked as it did before that run.
#[tokio::test(flavor = "multi_thread")]
async fn each_gateway_misses_a_run_of_its_own_that_was_taken_out() {
    let log = Log::open();
    let folder = tempfile::tempdir().unwrap();
    let files = ["one", "two"].map(|name| folder.path().join(name));
    let told = |file: &std::path::Path| {
        let found = log.reader.verify_beside(WordSigner("ours"), file).unwrap();
        found.flaws.iter().map(|flaw| flaw.what).collect::<Vec<_>>()
    };
    for (file, first) in files.iter().zip([0, 100]) {
        let options = Options {
            retention: Retention::ALL,
            signer: Arc::new(WordSigner("ours")),
            trust: Arc::new(WordSigner("ours")),
            clock: Arc::clone(&log.clock) as _,
            reminder: Some(file.clone()),
        };
        let sink = Sink::postgres(&log.postgres.url(), options).unwrap();
        fill(&sink, first..first + 100).await;
    }
    let [one, two] = &files;
    assert_eq!((told(one), told(two)), (vec![], vec![]));
    let client = log.client().await;
    let newest = "DELETE FROM activity WHERE writer = 2; DELETE FROM checkpoint WHERE writer = 2; \
                  DELETE FROM writer WHERE writer = 2; \
                  UPDATE place SET last = (SELECT max(seq) FROM activity)";
    client.batch_execute(newest).await.unwrap();
    let gone = "a run of the gateway is gone that is known beside the key";
    assert_eq!((told(one), told(two)), (vec![], vec![gone]));
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_database_is_away_strict_refuses_and_all_goes_on_when_it_is_back() {
    let log = Log::open();
    let strict = async |number| log.sink.append(record(number), Durability::Strict).await;
    strict(1).await.unwrap();
    log.postgres.stop().unwrap();
    let refused = strict(2).await;
    assert!(matches!(refused, Err(SinkFault::Broken(_))), "{refused:?}");
    let problem = log.sink.problem().unwrap();
    assert!(problem.contains("1 records were lost"), "{problem}");
    assert!(!problem.contains("tester@"), "{problem}");
    assert!(
        log.reader.page(&query(&[])).is_err(),
        "nobody can have answered"
    );
    // What can wait is written once it can be.
    log.sink
        .append(record(3), Durability::Relaxed)
        .await
        .unwrap();
    log.postgres.go_on().unwrap();
    until("the log to recover", || log.sink.problem().is_none()).await;
    strict(5).await.unwrap();
    assert_eq!(numbers(&log.reader, &query(&[])), [5, 3, 1]);
    let page = log.reader.page(&query(&[])).unwrap();
    assert_eq!((page.records.len(), page.lost), (3, 1));
    let found = log.verified();
    assert_eq!((found.records, found.writers, found.flaws), (3, 2, vec![]));
    let client = log.client().await;
    let check = async |sql: &str, expect: &str| {
        client.batch_execute(sql).await.unwrap();
        let told = log.verified().flaws;
        let told: Vec<_> = told.iter().map(|flaw| flaw.what).collect();
        assert!(told.contains(&expect), "{sql}: {told:?}");
    };
    let changed = "a note of lost records is not what was written";
    check("UPDATE gap SET lost = lost - 1", changed).await;
    check("DELETE FROM gap", "a note of lost records is gone").await;
    let forgotten = "UPDATE writer SET gaps = NULL, gap_hash = NULL";
    check(forgotten, "the signature is not genuine").await;
}
