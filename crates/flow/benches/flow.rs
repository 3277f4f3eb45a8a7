//! What recording and checking cost: `cargo bench -p mcpproxy-flow --bench flow [-- WORD]`.
//!
//! Contents of three sizes with no, a thousand and ten thousand origins before them, and whole calls
//! as a gateway makes them one after the other; then the memory of a session that is full. Each figure is the best of some rounds, beside the aim.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use mcpproxy_core::{
    CallId, DataOrigin, Destination, FlowScope, Id128, SessionBasis, SessionKey, Side, Sink, Tick,
    ToolName, UpstreamId, Wall,
};
use mcpproxy_flow::{Content, Fate, FlowTracking, Leaving, Tracker, Whose};

/// Many short rounds: on a busy machine one of them is left alone.
const ROUNDS: usize = 60;
const ROUND: Duration = Duration::from_millis(4);
const SIZES: [usize; 3] = [1 << 10, 1 << 16, 1 << 20];
const ORIGINS: [u64; 3] = [0, 1_000, 10_000];
/// Aims: nanoseconds for a record of 64 KB, and for a check of 1 KB.
const RECORD: f64 = 500_000.0;
const CHECK: f64 = 30_000.0;
/// Aim: bytes of a full scope.
const MEMORY: f64 = 6e6;

const WORDS: [&str; 24] = [
    "the",
    "account",
    "of",
    "quarterly",
    "delivery",
    "was",
    "moved",
    "before",
    "a",
    "customer",
    "asked",
    "for",
    "Warehouse",
    "and",
    "shift",
    "plan",
    "in",
    "northern",
    "region",
    "with",
    "overdue",
    "invoice",
    "number",
    "street",
];

fn main() {
    let word = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let chosen = |name: &str| word.as_deref().is_none_or(|word| name.contains(word));
    println!("| what | KB | origins | us | of the aim |\n|---|---|---|---|---|");
    for origins in ORIGINS {
        let tracker = filled(origins);
        for size in SIZES.into_iter().filter(|_| chosen("record")) {
            let text = message(size, 77);
            let taken = best(|n| record(&tracker, &text, n));
            row(
                "record",
                size,
                origins,
                taken,
                (size == 1 << 16).then_some(RECORD),
            );
        }
        let tracker = filled(origins);
        for size in SIZES.into_iter().filter(|_| chosen("check")) {
            let text = message(size, 99);
            let taken = best(|n| check(&tracker, &text, n));
            row(
                "check",
                size,
                origins,
                taken,
                (size == 1 << 10).then_some(CHECK),
            );
        }
    }
    if chosen("call") {
        let tracker = filled(1_000);
        let size = 1 << 10;
        row("call", size, 1_000, best(|n| call(&tracker, size, n)), None);
    }
    if !chosen("memory") {
        return;
    }
    let tracker = filled(0);
    for n in 0..12_000 {
        record(&tracker, &message(2_000, n), n);
    }
    let usage = tracker.usage();
    let bytes = f64::from(u32::try_from(usage.bytes).unwrap_or(u32::MAX));
    println!(
        "\nfull session: {} origins, {} fingerprints, {} bytes, {:.2} of the aim",
        usage.origins,
        usage.fingerprints,
        usage.bytes,
        bytes / MEMORY
    );
}

fn row(what: &str, size: usize, origins: u64, nanoseconds: f64, aim: Option<f64>) {
    let ratio = aim.map_or(String::new(), |aim| format!("{:.2}", nanoseconds / aim));
    let micros = nanoseconds / 1e3;
    println!(
        "| {what} | {} | {origins} | {micros:.1} | {ratio} |",
        size >> 10
    );
}

/// Returns the nanoseconds of one run, in the best round.
fn best(mut run: impl FnMut(u64)) -> f64 {
    let mut least = f64::MAX;
    let mut number = 1 << 40;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut runs = 0_u32;
        while start.elapsed() < ROUND {
            number += 1;
            runs += 1;
            run(number);
        }
        let nanoseconds = start.elapsed().as_secs_f64() * 1e9;
        least = least.min(nanoseconds / f64::from(runs));
    }
    least
}

/// Makes a tracker that has seen so many origins.
fn filled(origins: u64) -> Tracker {
    let tracker = Tracker::new(&FlowTracking::default());
    for n in 0..origins {
        record(&tracker, &message(400, n), n);
    }
    tracker
}

fn whose() -> Whose {
    Whose {
        scope: FlowScope(Id128(1)),
        session: SessionKey {
            basis: SessionBasis::McpSession,
            id: Id128(1),
        },
    }
}

fn origin(call: CallId, upstream: &str, side: Side) -> DataOrigin {
    DataOrigin {
        call,
        upstream: UpstreamId::new(upstream),
        tool: ToolName::new("read"),
        at: Wall(0),
        side,
    }
}

fn record(tracker: &Tracker, json: &str, number: u64) {
    let origin = origin(CallId::new(number, 0), "files", Side::Inside);
    let content = Content { json, marked: &[] };
    black_box(tracker.record(whose(), origin, &content, Tick(Duration::ZERO)));
}

fn check(tracker: &Tracker, json: &str, number: u64) {
    checked(tracker, json, 0, number);
}

/// Sends a message in the envelope of the protocol, and reads one of the same size as the answer.
fn call(tracker: &Tracker, size: usize, number: u64) {
    let head = format!(
        r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"post","arguments":"#
    );
    let json = format!("{head}{}}}}}", message(size, number));
    checked(tracker, &json, head.len(), number);
    record(tracker, &message(size, number + 1), number);
}

/// Compares a message, of which the agent says what begins at `said`, and lets it leave.
fn checked(tracker: &Tracker, json: &str, said: usize, number: u64) {
    let call = CallId::new(number, 1);
    let to = Destination {
        sink: Sink::Outside,
        class: "external",
        name: "slack".into(),
    };
    let leaving = Leaving {
        by: &origin(call, "slack", Side::Outside),
        to: &to,
        content: &Content { json, marked: &[] },
        said: &(said..json.len()),
    };
    let now = Tick(Duration::ZERO);
    black_box(tracker.check(whose(), leaving, Duration::from_mins(5), now));
    tracker.settle(whose(), call, Fate::Left, now);
}

/// Makes a message of ordinary text that no other number makes.
fn message(size: usize, number: u64) -> String {
    let mut text = String::from("{\"channel\":\"general\",\"text\":\"");
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    while text.len() < size {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        match WORDS.get(usize::try_from(state % 40).unwrap_or(0)) {
            Some(word) => text.push_str(word),
            None if state % 40 > 37 => {
                let _always = write!(text, "{:x}", state % 99_991);
            }
            None => syllables(state, &mut text),
        }
        text.push_str(if state.is_multiple_of(11) { ". " } else { " " });
    }
    let _always = write!(text, "\"}}");
    text
}

/// Adds a word that is rarely made twice.
fn syllables(mut state: u64, text: &mut String) {
    for _ in 0..3 {
        let pick = |letters: &'static str, state: u64| {
            let at = usize::try_from(state % 5).unwrap_or(0);
            letters.chars().nth(at)
        };
        text.extend(pick("ktmsr", state));
        text.extend(pick("aeiou", state / 5));
        text.extend(pick("nlrst", state / 25));
        state /= 125;
    }
}
