//! `cargo xtask bench store`: appends with and without waiting for the disk, beside a bare SQLite
//! group commit in the same run, what a record costs the processor, and pages at ten thousand, a
//! hundred thousand and a million records; in SQLite and in a PostgreSQL that is started for it.
//!
//! Times are printed beside their aims, never asserted: the machine is never quiet.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench's product is what it prints, and one that cannot go on stops"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake};
use std::time::{Duration, Instant};

use mcpproxy_core::{
    Action, ActivityQuery, ActivityReader, ActivitySink as _, CallId, Door, Durability, Field,
    Finding, FlowType, Masked, Record, Risk, RiskLevel, Severity, SinkFault, Source, Status,
    SystemClock, Threat, Tier, Wall,
};
use mcpproxy_store::{Options, PostgresReader, Reader, Retention, Sink};
use mcpproxy_testkit::{Postgres, WordSigner};

const NOON: u64 = 1_780_000_000_000;
/// Callers that wait for their record at the same time.
const CALLERS: u64 = 16;
const STRICT: Duration = Duration::from_secs(8);
const ROUNDS: u32 = 8;
const MILLION: u64 = 1_000_000;

/// The sizes at which pages are asked for.
const SIZES: [u64; 3] = [MILLION / 100, MILLION / 10, MILLION];

fn main() {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let (time, less) = if quick { (STRICT / 8, 20) } else { (STRICT, 1) };
    // Words pick what is measured: of `sqlite` and `postgres`, and of `append` and `pages`.
    let words: Vec<_> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let picked = |one: &str, other: &str| {
        let has = |word: &str| words.iter().any(|given| given == word);
        has(one) || !has(other)
    };
    let (append, query) = (picked("append", "pages"), picked("pages", "append"));
    if picked("sqlite", "postgres") {
        sqlite(time, less, append, query);
    }
    if picked("postgres", "sqlite") {
        match Postgres::start() {
            Ok(server) => postgres(server, time, less, append, query),
            Err(why) => println!("PostgreSQL is not measured: {why}"),
        }
    }
}

fn sqlite(time: Duration, less: u64, append: bool, query: bool) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| Place::File(folder.path().join(name));
    if append {
        // In turns, since the disk is never as fast as it was a moment ago.
        let (mut floor, mut ours) = (Measured::default(), Measured::default());
        for round in 0..ROUNDS {
            let file = |name: &str| folder.path().join(format!("{name}{round}.db"));
            floor.add(bare(&file("bare"), time / ROUNDS));
            ours.add(strict(&Place::File(file("strict")), time / ROUNDS));
        }
        println!("records of 1 KB, {CALLERS} callers that wait for the disk");
        println!("  bare SQLite, FULL   {floor}");
        println!("  mcpproxy, SQLite    {ours}");
        let ratio = ours.rate() / floor.rate();
        println!("  ratio {ratio:.2} (aim: 0.70 or more; p99 at most 5 ms)");
        relaxed(&file("usual"), "usual records", usual, MILLION / 2 / less);
        relaxed(&file("large"), "records of 1 KB", large, MILLION / 2 / less);
    }
    if query {
        pages(&file("pages"), less);
    }
}

fn postgres(server: Postgres, time: Duration, less: u64, append: bool, query: bool) {
    if append {
        let place = Place::Database(server.url());
        println!("PostgreSQL, records of 1 KB, {CALLERS} callers that wait for the disk");
        println!("  mcpproxy            {}", strict(&place, time / 2));
        if std::env::var("MCP_STRICT").is_ok() {
            return;
        }
        relaxed(&place, "usual records", usual, MILLION / 5 / less);
        relaxed(&place, "records of 1 KB", large, MILLION / 10 / less);
    }
    drop(server);
    if query {
        let server = Postgres::start().unwrap();
        pages(&Place::Database(server.url()), less);
    }
}

/// Where a log is.
enum Place {
    File(PathBuf),
    Database(String),
}

impl Place {
    fn name(&self) -> &'static str {
        match self {
            Self::File(_) => "SQLite",
            Self::Database(_) => "PostgreSQL",
        }
    }

    fn open(&self) -> Sink {
        let options = Options {
            retention: Retention::ALL,
            signer: Arc::new(WordSigner("bench")),
            trust: Arc::new(WordSigner("bench")),
            clock: Arc::new(SystemClock::start()),
            reminder: None,
        };
        match self {
            Self::File(path) => Sink::sqlite(path, options),
            Self::Database(url) => Sink::postgres(url, options),
        }
        .unwrap()
    }

    fn reader(&self) -> Box<dyn ActivityReader> {
        match self {
            Self::File(path) => Box::new(Reader::open(path).unwrap()),
            Self::Database(url) => Box::new(PostgresReader::open(url).unwrap()),
        }
    }

    /// Returns how many blocks are finished.
    fn sealed(&self) -> i64 {
        let sql = "SELECT count(*) FROM mcpproxy.block";
        match self {
            Self::File(path) => {
                let connection = rusqlite::Connection::open(path).unwrap();
                let sql = sql.replace("mcpproxy.", "");
                connection.query_row(&sql, [], |row| row.get(0)).unwrap()
            }
            Self::Database(url) => {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                runtime.unwrap().block_on(async {
                    let connected = tokio_postgres::connect(url, tokio_postgres::NoTls).await;
                    let (client, connection) = connected.unwrap();
                    tokio::spawn(connection);
                    client.query_one(sql, &[]).await.unwrap().get(0)
                })
            }
        }
    }
}

/// The record of an ordinary call.
fn usual(number: u64) -> Record {
    Record {
        server_name: format!("server{}", number % 20),
        tool_name: format!("tool_{}", number % 200),
        method: "tools/call".to_owned(),
        duration_ms: 1.25,
        timestamp: Wall(NOON + number / 20).rfc3339(),
        session_id: format!("{:032x}", number / 500),
        principal: "token:agent".to_owned(),
        request_bytes: 256,
        response_bytes: 1024,
        ..Record::new(
            CallId::new(NOON + number / 20, u128::from(number)),
            "tool_call",
            Door::Mcp,
        )
    }
}

/// A record with findings, about a kilobyte of them.
fn large(number: u64) -> Record {
    let finding = |rule: &'static str| Finding {
        source: Source::Flow,
        severity: Severity::High,
        confidence: 90,
        threat: Threat::DataExfiltration,
        place: Some("/arguments/text".into()),
        reason: Masked::from_safe(
            "data flowing from internal source to external destination ".repeat(2),
        ),
        ..Finding::new(rule, Tier::Flow, Action::Warn)
    };
    Record {
        findings: ["one", "two", "three"].map(finding).into(),
        has_sensitive_data: true,
        max_severity: Some(Severity::High),
        ..usual(number)
    }
}

/// What a rare record says.
fn rare(number: u64) -> Record {
    Record {
        kind: "policy_decision",
        status: Status::Blocked,
        decision: Action::Deny,
        effective: Action::Deny,
        flow_type: FlowType::InternalToExternal,
        risk: Risk {
            level: RiskLevel::Critical,
            score: 90,
        },
        server_name: "seldom".to_owned(),
        tool_name: "seldom".to_owned(),
        ..large(number)
    }
}

/// Appends that were waited for.
#[derive(Default)]
struct Measured {
    took: Duration,
    latencies: Vec<Duration>,
}

impl Measured {
    fn add(&mut self, more: Self) {
        self.took += more.took;
        self.latencies.extend(more.latencies);
        self.latencies.sort_unstable();
    }

    fn rate(&self) -> f64 {
        let count = u32::try_from(self.latencies.len()).unwrap_or(u32::MAX);
        f64::from(count) / self.took.as_secs_f64()
    }

    fn quantile(&self, percent: usize) -> f64 {
        let place = self.latencies.len() * percent / 100;
        self.latencies.get(place).map_or(0.0, Duration::as_secs_f64) * 1000.0
    }
}

impl std::fmt::Display for Measured {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (rate, p50, p99) = (self.rate(), self.quantile(50), self.quantile(99));
        write!(formatter, "{rate:>8.0}/s  p50 {p50:.2} ms  p99 {p99:.2} ms")
    }
}

/// Lets callers append one record after the other for a time.
fn measure(time: Duration, append: impl Fn(u64) + Sync) -> Measured {
    let begun = Instant::now();
    let caller = |first: u64| {
        let mut latencies = Vec::new();
        let mut number = first;
        while begun.elapsed() < time {
            let sent = Instant::now();
            append(number);
            latencies.push(sent.elapsed());
            number += CALLERS;
        }
        latencies
    };
    let mut latencies: Vec<_> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|first| scope.spawn(move || caller(first)))
            .collect();
        callers
            .into_iter()
            .flat_map(|one| one.join().unwrap())
            .collect()
    });
    let took = begun.elapsed();
    latencies.sort_unstable();
    Measured { took, latencies }
}

/// The floor: one table, one column of a kilobyte, one thread that commits what has come.
fn bare(path: &Path, time: Duration) -> Measured {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE log (seq INTEGER PRIMARY KEY, body TEXT NOT NULL);",
        )
        .unwrap();
    let (queue, entries) = mpsc::sync_channel::<mpsc::SyncSender<()>>(1024);
    let writer = std::thread::spawn(move || {
        let body = "x".repeat(1024);
        let mut insert = connection
            .prepare("INSERT INTO log (body) VALUES (?)")
            .unwrap();
        while let Ok(first) = entries.recv() {
            let group: Vec<_> = std::iter::once(first).chain(entries.try_iter()).collect();
            connection.execute_batch("BEGIN IMMEDIATE").unwrap();
            for _ in &group {
                insert.execute([&body]).unwrap();
            }
            connection.execute_batch("COMMIT").unwrap();
            for done in &group {
                done.send(()).unwrap();
            }
        }
    });
    let measured = measure(time, |_| {
        let (done, is_done) = mpsc::sync_channel(1);
        queue.send(done).unwrap();
        is_done.recv().unwrap();
    });
    drop(queue);
    writer.join().unwrap();
    measured
}

fn strict(place: &Place, time: Duration) -> Measured {
    let sink = place.open();
    measure(time, |number| {
        wait(sink.append(large(number), Durability::Strict)).unwrap();
    })
}

/// Wakes the thread that waits for a future.
struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn relaxed(place: &Place, what: &str, make: fn(u64) -> Record, many: u64) {
    let sink = place.open();
    let begun = Instant::now();
    (0..many).for_each(|number| append(&sink, &make(number)));
    wait(sink.flush()).unwrap();
    let took = begun.elapsed();
    let count = f64::from(u32::try_from(many).unwrap_or(u32::MAX));
    let rate = count / took.as_secs_f64();
    let name = place.name();
    println!("{name}, relaxed, {what}, making them included: {rate:.0}/s (aim: 80,000 or more)");
    for (name, time) in processor() {
        let each = time.as_secs_f64() * 1e6 / count;
        println!("  {name:<16} {each:.2} us of processor a record");
    }
}

/// Appends, and waits where the queue is full: nothing is lost in a bench.
fn append(sink: &Sink, record: &Record) {
    while wait(sink.append(record.clone(), Durability::Relaxed)) == Err(SinkFault::Full) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The processor time of the log's threads so far: of those that were started last.
fn processor() -> [(&'static str, Duration); 2] {
    ["activity-log", "activity-upkeep"].map(|name| {
        let mut newest = (0, Duration::ZERO);
        for task in fs::read_dir("/proc/self/task")
            .into_iter()
            .flatten()
            .flatten()
        {
            let read = |file: &str| fs::read_to_string(task.path().join(file)).unwrap_or_default();
            // The system keeps fifteen characters of a name.
            let comm = read("comm");
            let number = task.file_name().to_string_lossy().parse().unwrap_or(0_u64);
            if name.starts_with(comm.trim_end()) && !comm.trim().is_empty() && number > newest.0 {
                let nanos = read("schedstat")
                    .split(' ')
                    .next()
                    .and_then(|text| text.parse().ok());
                newest = (number, Duration::from_nanos(nanos.unwrap_or(0)));
            }
        }
        (name, newest.1)
    })
}

/// Asks for pages as the log grows.
fn pages(place: &Place, less: u64) {
    let sink = place.open();
    let mut number = 0;
    for size in SIZES.map(|size| size / less) {
        while number < size {
            // Two of them, among the oldest: the worst case for who begins with the newest.
            let is_rare = number == 10 || number == 400;
            let make = if is_rare { rare } else { usual };
            append(&sink, &make(number));
            number += 1;
        }
        wait(sink.flush()).unwrap();
        for _ in 0..1000 {
            if place.sealed() >= i64::try_from(size / 2048).unwrap_or(0) {
                break;
            }
            std::thread::sleep(Duration::from_millis(30));
        }
        pages_of(place, size);
    }
}

fn pages_of(place: &Place, many: u64) {
    let reader = &*place.reader();
    let name = place.name();
    println!("{name}, pages of 50 at {many} records (aim: each at most 10 ms)");
    let session = format!("{:032x}", 7);
    let request = usual(many / 2).id.to_string();
    for (field, value) in [
        (Field::Kind, "policy_decision"),
        (Field::Upstream, "seldom"),
        (Field::Upstream, "server7"),
        (Field::Upstream, "absent"),
        (Field::Tool, "tool_77"),
        (Field::Session, &session),
        (Field::Status, "success"),
        (Field::Status, "blocked"),
        (Field::Decision, "deny"),
        (Field::FlowType, "internal→external"),
        (Field::RiskLevel, "critical"),
        (Field::Severity, "high"),
        (Field::Request, &request),
        (Field::Request, "absent"),
        (Field::Parent, &request),
        (Field::Agent, "absent"),
        (Field::McpSession, "absent"),
    ] {
        let query = ActivityQuery {
            wanted: vec![(field, vec![value.to_owned()])],
            limit: 50,
            ..ActivityQuery::default()
        };
        page(reader, &format!("{}={value}", field.name()), &query);
    }
    let family = (0..200).map(|number| format!("type_{number}")).collect();
    let family = ActivityQuery {
        wanted: vec![(Field::Detection, family)],
        limit: 50,
        ..ActivityQuery::default()
    };
    page(reader, "detection_type, 200 types", &family);
    let early = ActivityQuery {
        to: Some(Wall(NOON + 5)),
        limit: 50,
        ..ActivityQuery::default()
    };
    page(reader, "end_time, the oldest", &early);
    let begun = Instant::now();
    let found = reader.get(usual(many / 2).id).unwrap().is_some();
    println!(
        "  one by its id: {:.2} ms ({found})",
        begun.elapsed().as_secs_f64() * 1000.0
    );
}

fn page(reader: &dyn ActivityReader, what: &str, query: &ActivityQuery) {
    let mut times: Vec<_> = (0..9)
        .map(|_| {
            let begun = Instant::now();
            let page = reader.page(query).unwrap();
            (begun.elapsed(), page.records.len())
        })
        .collect();
    times.sort_unstable();
    let (median, found) = times.get(times.len() / 2).copied().unwrap_or_default();
    println!(
        "  {what:<36} {:.2} ms, {found} found",
        median.as_secs_f64() * 1000.0
    );
}
