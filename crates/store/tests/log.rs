//! The log in a SQLite database: what every log must do, over restarts, past its bounds, and after
//! faults.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::{
    ActivityReader as _, ActivitySink as _, Durability, Field, Record, SinkFault, Wall,
};
use mcpproxy_store::{Options, Reader, Retention, Sink};
use mcpproxy_testkit::suite::activity::{
    self as suite, NOON, denial, fill, number, numbers, query, record, until,
};
use mcpproxy_testkit::{FixedClock, WordSigner};
use serde_json::Value;
use tempfile::TempDir;

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
    folder: TempDir,
    sink: Sink,
    clock: Arc<FixedClock>,
}

impl Log {
    fn open(retention: Retention) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(FixedClock::at(Wall(NOON)));
        let sink = open(&folder.path().join("activity.db"), retention, &clock);
        Self {
            folder,
            sink,
            clock,
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("activity.db")
    }

    fn reader(&self) -> Reader {
        Reader::open(&self.path()).unwrap()
    }

    fn count(&self, sql: &str) -> i64 {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// Tells whether a text can be read in the files of the database, wherever it stands.
    fn holds(&self, says: &str) -> bool {
        let file = |ending: &str| std::fs::read(self.path().with_extension(ending));
        let files = ["db", "db-wal"].map(|ending| file(ending).unwrap_or_default());
        let has = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).contains(says);
        files.iter().any(has)
    }

    async fn sealed(&self, blocks: i64) {
        let sealed = || self.count("SELECT count(*) FROM block") == blocks;
        until("blocks", sealed).await;
    }
}

fn open(path: &Path, retention: Retention, clock: &Arc<FixedClock>) -> Sink {
    let options = Options {
        retention,
        signer: Arc::new(WordSigner("ours")),
        trust: Arc::new(WordSigner("ours")),
        clock: Arc::clone(clock) as _,
        reminder: None,
    };
    Sink::sqlite(path, options).unwrap()
}

/// Opens a log that says beside it how far it has got.
fn remembering(path: &Path, file: &Path, clock: &Arc<FixedClock>) -> Sink {
    let options = Options {
        retention: Retention::ALL,
        signer: Arc::new(WordSigner("ours")),
        trust: Arc::new(WordSigner("ours")),
        clock: Arc::clone(clock) as _,
        reminder: Some(file.to_owned()),
    };
    Sink::sqlite(path, options).unwrap()
}

/// Adds records of hooks that hold something sensitive, and waits until they are on disk: what they are found
/// by is partly read from words, which go in time.
async fn fill_told(sink: &Sink, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let record = Record {
            kind: "hook_evaluation",
            has_sensitive_data: true,
            ..suite::told(number)
        };
        while sink.append(record.clone(), Durability::Relaxed).await == Err(SinkFault::Full) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    sink.flush().await.unwrap();
}

/// Changes the database behind the log's back.
fn tamper(path: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(5)).unwrap();
    connection.execute_batch(sql).unwrap();
}

#[tokio::test]
async fn every_filter_finds_its_records_in_finished_blocks_and_after_them() {
    let log = Log::open(Retention::ALL);
    fill(&log.sink, 0..10_000).await;
    suite::finds_by_every_filter(&log.reader());
    log.sealed(4).await;
    suite::finds_by_every_filter(&log.reader());
    // As an earlier version left it: nothing is missed, and its blocks are finished again.
    let earlier = "DELETE FROM posting WHERE field > 14; PRAGMA user_version = 3; DROP TABLE redaction; \
                   ALTER TABLE writer DROP COLUMN gaps; ALTER TABLE writer DROP COLUMN gap_hash";
    tamper(&log.path(), earlier);
    suite::finds_by_every_filter(&log.reader());
    let other = open(&log.path(), Retention::ALL, &log.clock);
    other.retain(Retention::ALL);
    let digests = || log.count("SELECT count(*) FROM posting WHERE field > 14");
    until("digests", || digests() == 20).await;
    log.sealed(4).await;
    suite::finds_by_every_filter(&log.reader());
}

#[tokio::test]
async fn time_skipping_and_single_calls() {
    let log = Log::open(Retention::ALL);
    fill(&log.sink, 0..5000).await;
    log.sealed(2).await;
    suite::finds_by_time_and_place(&log.reader());
}

#[tokio::test]
async fn a_session_is_told_in_the_order_in_which_its_calls_began() {
    let log = Log::open(Retention::ALL);
    suite::fill_session(&log.sink).await;
    suite::tells_a_session_in_order_of_time(&log.reader());
    log.sealed(2).await;
    suite::tells_a_session_in_order_of_time(&log.reader());
}

/// Regression for #8: whatever number of records there is, they are counted.
#[tokio::test]
async fn counts_are_those_of_the_records_in_finished_blocks_and_after_them() {
    let log = Log::open(Retention::ALL);
    suite::fill_mixed(&log.sink).await;
    suite::counts_what_pages_give(&log.reader());
    log.sealed(2).await;
    suite::counts_what_pages_give(&log.reader());
    suite::finds_nothing_by_a_character_that_nobody_keeps(&log.reader());
    // A block of which an earlier version did not say which records are calls is read.
    tamper(
        &log.path(),
        "DELETE FROM posting WHERE field = 18 AND block = 0",
    );
    suite::counts_what_pages_give(&log.reader());
    // Nothing is counted that was dropped.
    log.sink.retain(Retention {
        max_records: Some(3000),
        ..Retention::ALL
    });
    let first = || log.count("SELECT min(seq) FROM activity");
    until("surplus records to go", || first() == 3001).await;
    let all = mcpproxy_core::CountQuery {
        query: query(&[]),
        part: u64::MAX,
        by: Vec::new(),
    };
    let counted = log.reader().count(&all).unwrap();
    assert_eq!(counted.cells.values().sum::<u64>(), 2850);
}

#[tokio::test]
async fn a_record_is_shown_as_it_came() {
    let log = Log::open(Retention::ALL);
    suite::shows_what_came(&log.sink, &log.reader()).await;
}

#[tokio::test]
async fn past_the_bound_the_oldest_go_and_the_newest_stay_found() {
    let log = Log::open(Retention {
        max_bytes: 2 * 1024 * 1024,
        ..Retention::ALL
    });
    fill(&log.sink, 0..40_000).await;
    let used = "SELECT (SELECT page_count FROM pragma_page_count) \
                - (SELECT freelist_count FROM pragma_freelist_count)";
    let mut next = 40_000;
    until("room", || {
        // Upkeep is rung by the records that come.
        let record = record(next);
        next += 1;
        drop(log.sink.append(record, Durability::Relaxed));
        log.count(used) * 4096 < 3 * 1024 * 1024
            && log.count("SELECT min(seq) FROM activity") > 2048
    })
    .await;
    log.sink.flush().await.unwrap();
    let first = log.count("SELECT min(seq) FROM activity");
    let stale = format!("SELECT count(*) FROM posting WHERE block < {first} / 2048");
    assert_eq!(log.count(&stale), 0);
    let reader = log.reader();
    let newest = reader.page(&query(&[(Field::Tool, &["echo"])])).unwrap();
    assert_eq!(number(&newest.records[0]), next - 1);
    assert_eq!(reader.get(record(3).id).unwrap(), None);
}

#[tokio::test]
async fn a_log_goes_on_where_another_process_left_it() {
    let log = Log::open(Retention::ALL);
    fill(&log.sink, 0..100).await;
    let other = open(&log.path(), Retention::ALL, &log.clock);
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
    let reader = log.reader();
    assert_eq!(numbers(&reader, &query(&[])).len(), 120);
}

#[tokio::test]
async fn after_a_fault_writing_goes_on_and_the_gap_is_on_record() {
    let log = Log::open(Retention::ALL);
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
    let reader = log.reader();
    assert_eq!(numbers(&reader, &query(&[])), [5, 3, 1]);
    assert_eq!(reader.page(&query(&[])).unwrap().lost, 2);
    // Also when all is well again.
    assert_eq!(log.sink.lost(), 2);
    let check = |sql: &str, expect: &[&str]| {
        tamper(&log.path(), sql);
        let found = log.reader().verify(&WordSigner("ours")).unwrap();
        let told: Vec<_> = found.flaws.iter().map(|flaw| flaw.what).collect();
        assert_eq!(told, expect, "{sql}");
    };
    check("", &[]);
    check(
        "INSERT INTO gap VALUES (3, 9, 'luck')",
        &["a note of lost records was put in"],
    );
    check("DELETE FROM gap WHERE lost = 9", &[]);
    check(
        "UPDATE gap SET lost = lost - 1",
        &["a note of lost records is not what was written"],
    );
    check("UPDATE gap SET lost = lost + 1", &[]);
    check(
        "UPDATE gap SET why = 'luck'",
        &["a note of lost records is not what was written"],
    );
    check("DELETE FROM gap", &["a note of lost records is gone"]);
    // Who began over it has signed that.
    check(
        "UPDATE writer SET gaps = 0, gap_hash = zeroblob(32) WHERE writer = 2",
        &[
            "the signature is not genuine",
            "the record is not what was written",
            "the signature is gone",
        ],
    );
    let records = "DELETE FROM activity WHERE writer = 2";
    let found = {
        tamper(&log.path(), records);
        log.reader().verify(&WordSigner("ours")).unwrap()
    };
    assert!(!found.is_sound(), "nothing is left that was signed");
}

#[tokio::test]
async fn a_large_group_of_many_days_is_kept_whole_and_in_order() {
    let log = Log::open(Retention::ALL);
    suite::keeps_a_group_of_many_days(&log.sink, &log.reader()).await;
    let found = log.reader().verify(&WordSigner("ours")).unwrap();
    assert_eq!(found.flaws, []);
}

#[tokio::test]
async fn a_writer_whose_first_statement_cannot_be_kept_leaves_nothing() {
    let log = Log::open(Retention::ALL);
    log.sink.flush().await.unwrap();
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON checkpoint \
                  BEGIN SELECT RAISE(ABORT, 'no room'); END";
    tamper(&log.path(), refuse);
    let refused = log.sink.append(record(1), Durability::Strict).await;
    assert!(matches!(refused, Err(SinkFault::Broken(_))), "{refused:?}");
    assert_eq!(log.count("SELECT count(*) FROM writer"), 0);
    tamper(&log.path(), "DROP TRIGGER refuse");
    until("the log to recover", || log.sink.problem().is_none()).await;
    log.sink
        .append(record(2), Durability::Strict)
        .await
        .unwrap();
    let found = log.reader().verify(&WordSigner("ours")).unwrap();
    assert_eq!((found.writers, found.flaws), (1, vec![]));
}

#[tokio::test]
async fn a_full_queue_says_so() {
    let log = Log::open(Retention::ALL);
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

#[tokio::test]
async fn old_and_surplus_records_go_and_what_remains_is_signed() {
    let log = Log::open(Retention::ALL);
    fill(&log.sink, 0..9000).await;
    // A record is a millisecond younger than the one before.
    log.clock.set_wall(Wall(NOON + 5000));
    log.sink.retain(Retention {
        max_age: Some(Duration::from_secs(2)),
        ..Retention::ALL
    });
    let first = || log.count("SELECT min(seq) FROM activity");
    until("old records to go", || first() == 3001).await;
    log.sink.retain(Retention {
        max_records: Some(1500),
        ..Retention::ALL
    });
    until("surplus records to go", || first() == 7501).await;
    // What is left of a block is found, and nothing is left of what is not.
    let third: Vec<_> = (7500..9000).rev().filter(|one| one % 3 == 1).collect();
    let wanted = query(&[(Field::Upstream, &["server1"])]);
    assert_eq!(numbers(&log.reader(), &wanted), third);
    let stale = "SELECT count(*) FROM posting WHERE block < 7501 / 2048 OR value = 's6'";
    assert_eq!(log.count(stale), 0);
    log.sink.flush().await.unwrap();
    let found = log.reader().verify(&WordSigner("ours")).unwrap();
    assert_eq!(
        (found.records, found.pruned, found.flaws),
        (1500, 7500, vec![])
    );
    suite::check_newest(&log.reader(), 8999);
    tamper(
        &log.path(),
        "UPDATE checkpoint SET number = number - 1 WHERE pruned",
    );
    let found = log.reader().verify(&WordSigner("ours")).unwrap();
    assert!(!found.is_sound(), "a changed statement passed");
}

/// Regression for #8: who changed what is said of blocks had the log drop records, and sign it.
#[tokio::test]
async fn nothing_is_dropped_for_what_the_database_says_of_itself() {
    let old = Retention {
        max_age: Some(DAY),
        ..Retention::ALL
    };
    let many = Retention {
        max_records: Some(20_000),
        ..Retention::ALL
    };
    let large = Retention {
        max_bytes: 64 * 1024 * 1024,
        ..Retention::ALL
    };
    let far = "CREATE TEMP TABLE one AS SELECT * FROM activity WHERE seq = 9000; \
               UPDATE one SET seq = 9000000000; INSERT INTO activity SELECT * FROM one";
    let cases = [
        ("UPDATE block SET last_at = first_at - 99999999999", old),
        (far, many),
        (
            "CREATE TABLE junk AS SELECT zeroblob(99999999) AS bytes",
            large,
        ),
    ];
    for (sql, retention) in cases {
        let log = Log::open(Retention::ALL);
        fill(&log.sink, 0..9000).await;
        log.sealed(4).await;
        tamper(&log.path(), sql);
        log.sink.retain(retention);
        // What was asked of the writer is done before it finishes later blocks.
        fill(&log.sink, 9000..14_000).await;
        let blocks = || log.count("SELECT count(*) FROM block");
        let left = || log.count("SELECT count(*) FROM activity WHERE seq <= 9000");
        until("blocks", || blocks() >= 6 || left() < 9000).await;
        log.sink.flush().await.unwrap();
        assert_eq!(left(), 9000, "{sql}");
        let signed = "SELECT count(*) FROM checkpoint WHERE pruned";
        assert_eq!(log.count(signed), 0, "{sql}");
    }
}

/// Regression for #8: what was changed or taken out went with the rest, signed, and the log was sound again.
#[tokio::test]
async fn what_is_not_what_was_written_is_not_dropped() {
    let log = Log::open(Retention::ALL);
    fill(&log.sink, 0..9000).await;
    log.sealed(4).await;
    let few = Retention {
        max_records: Some(1500),
        ..Retention::ALL
    };
    let refuse = async |sql: &str, expect: &str| {
        tamper(&log.path(), sql);
        log.sink.retain(few);
        let doubt = || log.sink.doubt().unwrap_or_default();
        until("a refusal", || doubt().contains(expect)).await;
        let found = log.reader().verify(&WordSigner("ours")).unwrap();
        assert!(!found.is_sound(), "{sql}");
        found.pruned
    };
    let change = "UPDATE activity SET status = 'error' WHERE seq = 7";
    let back = "UPDATE activity SET status = 'success' WHERE seq = 7";
    assert_eq!(refuse(change, "not what was written").await, 0);
    let gone = "CREATE TABLE taken AS SELECT * FROM activity WHERE seq = 100; \
                DELETE FROM activity WHERE seq = 100";
    let gone = format!("{back}; {gone}");
    assert_eq!(refuse(&gone, "records before this one are gone").await, 0);
    let signature = "INSERT INTO activity SELECT * FROM taken; \
                     CREATE TABLE stated AS SELECT * FROM checkpoint; DELETE FROM checkpoint";
    assert_eq!(refuse(signature, "the signature is gone").await, 0);
    let later = "INSERT INTO checkpoint SELECT * FROM stated; \
                 UPDATE activity SET principal = 'nobody' WHERE seq = 5000";
    let dropped = refuse(later, "record 5000 of the activity log").await;
    assert_eq!(dropped, 4095, "blocks before it are as they were written");
    tamper(
        &log.path(),
        "UPDATE activity SET principal = 'owner' WHERE seq = 5000",
    );
    log.sink.retain(few);
    let first = || log.count("SELECT min(seq) FROM activity");
    until("surplus records to go", || first() == 7501).await;
    until("nothing to refuse", || log.sink.doubt().is_none()).await;
    let found = log.reader().verify(&WordSigner("ours")).unwrap();
    assert_eq!((found.pruned, found.flaws), (7500, vec![]));
    // What was dropped before must have been signed by somebody.
    tamper(
        &log.path(),
        "UPDATE checkpoint SET hash = zeroblob(32) WHERE pruned",
    );
    log.sink.retain(Retention {
        max_records: Some(100),
        ..Retention::ALL
    });
    let doubt = || log.sink.doubt().unwrap_or_default();
    until("a refusal", || doubt().contains("not genuine")).await;
}

/// A file that grows makes every commit slower.
#[tokio::test]
async fn the_write_ahead_log_starts_anew_long_before_it_is_large() {
    let log = Log::open(Retention::ALL);
    let path = log.path().with_extension("db-wal");
    let mut next = 0;
    loop {
        fill(&log.sink, next..next + 100).await;
        next += 100;
        let wal = std::fs::read(&path).unwrap();
        // Its header counts how often it has started anew.
        let [_, _, _, times, ..] = wal.as_chunks::<4>().0 else {
            panic!("no header");
        };
        if u32::from_be_bytes(*times) > 1 {
            break;
        }
        assert!(wal.len() < 32 * 1024 * 1024, "{} bytes", wal.len());
    }
}

#[tokio::test]
async fn sensitive_records_lose_their_words_in_time_and_the_chain_holds() {
    let log = Log::open(Retention::ALL);
    fill(&log.sink, 0..6000).await;
    let has = || log.holds("a key is about to leave");
    assert!(has(), "the words were never there");
    log.clock.set_wall(Wall(NOON + 5500).after(30 * DAY));
    log.sink.retain(Retention {
        redact_after: Some(30 * DAY),
        ..Retention::ALL
    });
    let said = "SELECT count(*) FROM activity WHERE words IS NOT NULL";
    let all = log.count(said);
    until("words to go", || log.count(said) < all).await;
    let shown = log.reader().get(denial(4999).id).unwrap().unwrap();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["redacted"], true);
    assert_eq!(shown["findings"], Value::Array(vec![]));
    assert_eq!(shown["decision"], "deny");
    assert_eq!(shown["detection_types"][0], "aws_secret_key");
    log.sink.flush().await.unwrap();
    let found = log.reader().verify(&WordSigner("ours")).unwrap();
    assert_eq!((found.redacted, found.flaws), (1, vec![]));
    assert_eq!(found.unaccounted, 0);
    // A record that was not old enough, or not sensitive, is as it was.
    assert_eq!(
        numbers(&log.reader(), &query(&[(Field::Tool, &["echo"])])).len(),
        6000
    );
    until("the words to leave the files", || !has()).await;
    // What is signed about a record goes when the record does.
    let signed = || log.count("SELECT count(*) FROM redaction");
    assert_eq!(signed(), 1);
    log.sink.retain(Retention {
        max_records: Some(500),
        ..Retention::ALL
    });
    until("old records to go", || signed() == 0).await;
    let found = log.reader().verify(&WordSigner("ours")).unwrap();
    assert_eq!(found.flaws, []);
}

/// Regression for #8: the bodies of records that were dropped could still be read in the file.
#[tokio::test]
async fn nothing_of_what_is_dropped_stays_in_the_files() {
    let old = Retention {
        max_age: Some(30 * DAY),
        ..Retention::ALL
    };
    let many = Retention {
        max_records: Some(500),
        ..Retention::ALL
    };
    for retention in [old, many] {
        let log = Log::open(Retention::ALL);
        for number in 0..3000 {
            let crane = if number < 2500 { "fourth" } else { "fifth" };
            let body = format!(
                "the {crane} crane is not insured, {number}: {}",
                "x".repeat(400)
            );
            let record = Record {
                error_message: Some(body),
                ..record(number)
            };
            while log.sink.append(record.clone(), Durability::Relaxed).await == Err(SinkFault::Full)
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        log.sink.flush().await.unwrap();
        assert!(log.holds("the fourth crane"));
        log.clock.set_wall(Wall(NOON + 2500).after(30 * DAY));
        log.sink.retain(retention);
        let first = || log.count("SELECT min(seq) FROM activity");
        until("records to go", || first() == 2501).await;
        let gone = || !log.holds("the fourth crane");
        until("what they said to go", gone).await;
        assert!(log.holds("the fifth crane"));
        let found = log.reader().verify(&WordSigner("ours")).unwrap();
        assert_eq!((found.records, found.flaws), (500, vec![]));
    }
}

/// Takes the words of a record, as anybody can who writes to the file.
fn take_words(path: &Path, seq: i64) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT salts, words FROM activity WHERE seq = ?";
    let row = connection.query_row(sql, [seq], |row| {
        Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, String>(1)?))
    });
    let (salts, words) = row.unwrap();
    let salts = suite::without_words(&salts, &words);
    let sql = "UPDATE activity SET words = NULL, salts = ? WHERE seq = ?";
    connection.execute(sql, (salts, seq)).unwrap();
}

/// Regression for #8: what the log drops can be dropped by anybody, and looked the same.
#[tokio::test]
async fn words_that_the_log_did_not_drop_are_missed() {
    let log = Log::open(Retention::ALL);
    fill(&log.sink, 0..10_000).await;
    log.clock.set_wall(Wall(NOON + 5500).after(30 * DAY));
    log.sink.retain(Retention {
        redact_after: Some(30 * DAY),
        ..Retention::ALL
    });
    until("words to go", || {
        log.count("SELECT words IS NULL FROM activity WHERE seq = 5000") == 1
    })
    .await;
    log.sink.flush().await.unwrap();
    let check = |redacted: u64, unaccounted: u64, expect: &[&str]| {
        let found = log.reader().verify(&WordSigner("ours")).unwrap();
        let mut told: Vec<_> = found.flaws.iter().map(|flaw| flaw.what).collect();
        // What is due may be signed more than once where upkeep is rung again meanwhile.
        told.dedup_by(|one, other| one == other && *one == FORGED);
        assert_eq!(told, expect);
        assert_eq!((found.redacted, found.unaccounted), (redacted, unaccounted));
        assert_eq!(found.is_sound(), expect.is_empty());
    };
    check(1, 0, &[]);
    take_words(&log.path(), 10_000);
    check(2, 1, &[suite::TAKEN]);
    // What was signed of one record is not to be had for another.
    let sql = "UPDATE redaction SET last = 10000, \
               records = CAST(x'0000000000002710' || substr(records, 9) AS BLOB)";
    tamper(&log.path(), sql);
    check(2, 2, &[FORGED, suite::TAKEN, suite::TAKEN]);
    tamper(&log.path(), "DROP TABLE redaction");
    check(2, 2, &[suite::TAKEN, suite::TAKEN]);
}

#[tokio::test]
async fn what_is_changed_taken_out_or_put_in_is_found() {
    let check = async |sql: &str, expect: &str| {
        let log = Log::open(Retention::ALL);
        fill(&log.sink, 0..3000).await;
        // A second writer goes on after the first.
        let other = open(&log.path(), Retention::ALL, &log.clock);
        fill(&other, 4000..5000).await;
        let found = log.reader().verify(&WordSigner("ours")).unwrap();
        assert_eq!(
            (found.records, found.writers, found.flaws),
            (4000, 2, vec![])
        );
        tamper(&log.path(), sql);
        let found = log.reader().verify(&WordSigner("ours")).unwrap();
        let told: Vec<_> = found.flaws.iter().map(|flaw| flaw.what).collect();
        assert!(
            told.iter().any(|told| told.contains(expect)),
            "{sql}: {told:?}"
        );
    };
    let cases = [
        (
            "UPDATE activity SET status = 'error' WHERE seq = 7",
            "not what was written",
        ),
        (
            "UPDATE activity SET tool_name = 'x' WHERE seq = 2500",
            "not what was written",
        ),
        (
            "UPDATE activity SET words = NULL WHERE seq = 4000",
            "not what was written",
        ),
        // Regression for #8: SQLite takes any number but zero for yes.
        (
            "UPDATE activity SET has_sensitive_data = 2 WHERE seq = 4000",
            "not what was written",
        ),
        (
            "UPDATE activity SET hash = zeroblob(32) WHERE seq = 8",
            "not what was written",
        ),
        (
            "UPDATE activity SET rest = '{}' WHERE seq = 9",
            "not what was written",
        ),
        (
            "DELETE FROM activity WHERE seq = 100",
            "records before this one are gone",
        ),
        (
            "DELETE FROM activity WHERE seq < 100",
            "records before this one are gone",
        ),
        (
            "DELETE FROM activity WHERE seq > 3990",
            "that were signed are gone",
        ),
        (
            "DELETE FROM activity WHERE writer = 1",
            "records before the next writer are gone",
        ),
        (
            "DELETE FROM activity WHERE writer = 1; DELETE FROM writer WHERE writer = 1",
            "is gone",
        ),
        ("DELETE FROM checkpoint", "the signature is gone"),
        ("UPDATE checkpoint SET number = 5", "not genuine"),
        (
            "INSERT INTO activity SELECT 9999, at, id, type, source, server_name, tool_name, method, \
             session_id, principal, status, decision, flow_type, risk_level, risk_score, duration_ms, \
             request_bytes, response_bytes, has_sensitive_data, intent_type, max_severity, \
             detection_types, rest, words, writer, number, salts, hash FROM activity WHERE seq = 5",
            "a second time",
        ),
        (
            "UPDATE activity SET writer = NULL WHERE seq = 50",
            "no place in a chain",
        ),
        (
            "UPDATE activity SET writer = NULL WHERE seq = (SELECT min(seq) FROM activity)",
            "no place in a chain",
        ),
        // Whoever has the file can make all of it look as if nobody had ever signed anything.
        (
            "DELETE FROM activity WHERE seq % 2 = 1; DELETE FROM writer; DELETE FROM checkpoint; \
             UPDATE activity SET writer = NULL, number = NULL, salts = NULL, hash = NULL",
            "no place in a chain",
        ),
    ];
    for (sql, expect) in cases {
        check(sql, expect).await;
    }
    let log = Log::open(Retention::ALL);
    fill(&log.sink, 0..10).await;
    let found = log.reader().verify(&WordSigner("others")).unwrap();
    assert_eq!((found.unknown_keys.len(), found.flaws.len()), (1, 0));
    assert!(!found.is_sound(), "a key that nobody knows was believed");
}

/// Regression for #8: who changed what records are found by hid them from filters and summaries, and the log
/// counted as sound.
#[tokio::test]
async fn an_index_that_its_records_do_not_make_is_found_and_made_anew() {
    let log = Log::open(Retention::ALL);
    suite::fill_mixed(&log.sink).await;
    log.sealed(2).await;
    let [changed, gone, early] = MISFILED;
    let check = |sql: &str, expect: &[(u64, &str)]| {
        tamper(&log.path(), sql);
        let found = log.reader().verify(&WordSigner("ours")).unwrap();
        let told = found
            .flaws
            .iter()
            .map(|flaw| (flaw.block.unwrap(), flaw.what));
        assert_eq!(told.collect::<Vec<_>>(), expect, "{sql}");
        assert_eq!(mcpproxy_store::remake_index(&log.path()).unwrap(), 2);
        let found = log.reader().verify(&WordSigner("ours")).unwrap();
        assert_eq!((found.flaws, found.unindexed), (vec![], 0), "{sql}");
    };
    let both = [(0, changed), (1, changed)];
    check("", &[]);
    check("DELETE FROM posting WHERE value = 'blocked'", &both);
    check(
        "DELETE FROM posting WHERE field = 5 AND value = 's1'",
        &[(0, changed)],
    );
    check(
        "DELETE FROM posting WHERE field = 5 AND value = 's3'",
        &[(1, changed)],
    );
    check("DELETE FROM posting", &both);
    check(
        "UPDATE posting SET records = x'' WHERE value = 'deny'",
        &both,
    );
    check("UPDATE posting SET records = x'' WHERE field = 18", &both);
    let digest = "UPDATE posting SET records = zeroblob(4096) WHERE field = 15 AND block = 1";
    check(digest, &[(1, changed)]);
    let extra =
        "INSERT INTO posting SELECT field, 'never', block, records FROM posting WHERE field = 4";
    check(extra, &both);
    let more = "UPDATE posting SET records = (SELECT records FROM posting WHERE value = 'tool_call') \
                WHERE value = 'blocked' AND block = 0";
    check(more, &[(0, changed)]);
    check(
        "UPDATE block SET last_at = first_at WHERE block = 1",
        &[(1, changed)],
    );
    check("DELETE FROM block WHERE block = 0", &[(0, gone)]);
    check("INSERT INTO block VALUES (2, 0, 1)", &[(2, early)]);
    check("INSERT INTO block VALUES (7, 0, 1)", &[(7, early)]);
    suite::counts_what_pages_give(&log.reader());
    // What hides nothing is left to upkeep.
    check("DELETE FROM posting WHERE field > 14", &[]);
    tamper(&log.path(), "DELETE FROM posting; DELETE FROM block");
    let found = log.reader().verify(&WordSigner("ours")).unwrap();
    assert_eq!((found.flaws, found.unindexed), (vec![], 2));
}

#[tokio::test]
async fn what_is_redacted_and_dropped_leaves_an_index_that_is_sound() {
    let log = Log::open(Retention::ALL);
    fill_told(&log.sink, 1..5001).await;
    log.sealed(2).await;
    let sound = || {
        let found = log.reader().verify(&WordSigner("ours")).unwrap();
        assert_eq!(found.flaws, []);
        found.redacted
    };
    assert_eq!(sound(), 0);
    log.clock.set_wall(Wall(NOON + 9000).after(30 * DAY));
    log.sink.retain(Retention {
        redact_after: Some(30 * DAY),
        ..Retention::ALL
    });
    let said = "SELECT count(*) FROM activity WHERE words IS NOT NULL";
    until("words to go", || log.count(said) == 0).await;
    log.sink.flush().await.unwrap();
    assert_eq!(sound(), 5000);
    // What stands for records that are dropped hides none of those that are left.
    let before =
        "CREATE TABLE old AS SELECT * FROM posting; CREATE TABLE spans AS SELECT * FROM block";
    tamper(&log.path(), before);
    log.sink.retain(Retention {
        max_records: Some(4000),
        ..Retention::ALL
    });
    let first = || log.count("SELECT min(seq) FROM activity");
    until("surplus records to go", || first() == 1001).await;
    log.sink.flush().await.unwrap();
    assert_eq!(sound(), 4000);
    let late = "INSERT OR REPLACE INTO posting SELECT * FROM old; \
                INSERT OR REPLACE INTO block SELECT * FROM spans";
    tamper(&log.path(), late);
    assert_eq!(sound(), 4000);
}

/// Regression for #8: a log without its last run looked as it did before that run.
#[tokio::test]
async fn a_run_that_was_taken_out_is_missed_also_after_the_next() {
    let log = Log::open(Retention::ALL);
    let file = log.folder.path().join("activity.last");
    let told = || {
        let found = log
            .reader()
            .verify_beside(&WordSigner("ours"), &file)
            .unwrap();
        found.flaws.iter().map(|flaw| flaw.what).collect::<Vec<_>>()
    };
    let run = async |numbers| {
        let sink = remembering(&log.path(), &file, &log.clock);
        fill(&sink, numbers).await;
    };
    let newest = "DELETE FROM activity WHERE writer = (SELECT max(writer) FROM writer); \
                  DELETE FROM checkpoint WHERE writer = (SELECT max(writer) FROM writer); \
                  DELETE FROM writer WHERE writer = (SELECT max(writer) FROM writer)";
    // A log of an earlier version has nothing beside it.
    fill(&log.sink, 0..100).await;
    assert_eq!(told(), [""; 0]);
    run(100..200).await;
    run(200..300).await;
    assert_eq!(told(), [""; 0]);
    let whole = std::fs::read_to_string(&file).unwrap();
    assert_eq!(whole.lines().count(), 1, "{whole}");
    tamper(&log.path(), newest);
    let gone = "a run of the gateway is gone that is known beside the key";
    assert_eq!(told(), [gone]);
    run(300..400).await;
    assert_eq!(told(), [gone]);
    run(400..500).await;
    assert_eq!(told(), [gone]);
    // Nobody says so who could not have signed it.
    std::fs::write(&file, whole.replace(" 100 ", " 99 ")).unwrap();
    assert_eq!(
        told(),
        ["what is kept beside the key about the last run is not genuine"]
    );
}

#[tokio::test]
async fn records_that_were_taken_off_the_end_with_an_older_signature_are_missed() {
    let log = Log::open(Retention::ALL);
    let file = log.folder.path().join("activity.last");
    let sink = remembering(&log.path(), &file, &log.clock);
    fill(&sink, 0..100).await;
    tamper(
        &log.path(),
        "CREATE TABLE older AS SELECT * FROM checkpoint",
    );
    fill(&sink, 100..200).await;
    let verified = || {
        log.reader()
            .verify_beside(&WordSigner("ours"), &file)
            .unwrap()
    };
    assert_eq!(verified().flaws, []);
    let cut = "DELETE FROM activity WHERE seq > 100; DELETE FROM checkpoint; \
               INSERT INTO checkpoint SELECT * FROM older";
    tamper(&log.path(), cut);
    let told: Vec<_> = verified().flaws.iter().map(|flaw| flaw.what).collect();
    let gone = "records are gone that were signed, as is known beside the key";
    assert_eq!(told, [gone]);
}

#[tokio::test]
async fn one_damaged_cell_is_told_with_its_record_and_hides_no_other() {
    let check = async |set: &str, seq: u64, expect: &str| {
        let log = Log::open(Retention::ALL);
        fill(&log.sink, 0..100).await;
        tamper(
            &log.path(),
            &format!("UPDATE activity SET {set} WHERE seq = {seq}"),
        );
        let found = log.reader().verify(&WordSigner("ours")).unwrap();
        let told: Vec<_> = found.flaws.iter().map(|flaw| flaw.what).collect();
        assert!(
            told.iter().any(|told| told.contains(expect)),
            "{set}: {told:?}"
        );
        let records: Vec<_> = found.flaws.iter().filter_map(|one| one.record).collect();
        assert!(
            records.iter().any(|(place, _)| *place == seq),
            "{set}: {records:?}"
        );
        // Whoever asks gets all records, and whoever writes goes on.
        let all = mcpproxy_core::ActivityQuery {
            limit: 200,
            ..query(&[])
        };
        let page = log.reader().page(&all).unwrap();
        assert_eq!(page.records.len(), 100, "{set}");
        let other = open(&log.path(), Retention::ALL, &log.clock);
        fill(&other, 200..210).await;
        let found = log.reader().verify(&WordSigner("ours")).unwrap();
        assert_eq!(found.records, 110, "{set}");
        if expect.starts_with("not") {
            assert_eq!(found.flaws.len(), 1, "{set}: {:?}", found.flaws);
        }
    };
    let changed = "not what was written";
    check("hash = NULL", 100, changed).await;
    check("hash = NULL", 50, changed).await;
    check("hash = 'text'", 50, changed).await;
    check("salts = NULL", 50, changed).await;
    check("status = x'ff'", 50, changed).await;
    check("risk_score = 'many'", 50, changed).await;
    check("tool_name = x'ff'", 50, changed).await;
    check("id = x'00'", 50, changed).await;
    check("number = NULL", 50, "a second time").await;
    check("writer = 'nobody'", 50, "no place in a chain").await;
}
