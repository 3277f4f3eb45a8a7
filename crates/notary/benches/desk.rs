//! What a call pays for its receipt in relaxed mode: the time and the CPU of whoever hands it in.
//!
//! `cargo bench -p mcpproxy-notary --bench desk`. The clerk and the writer work beside the call, on
//! threads of their own; what they take is shown for all threads together.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints its figures and fails where it cannot run"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcpproxy_core::{
    Action, Call, CallId, Deed, Durability, Ended, Enforcement, FlowType, PackInterval, Passing,
    Risk, RiskLevel, SystemClock, Verdict, Wire,
};
use mcpproxy_notary::content::Keep;
use mcpproxy_notary::desk::{Desk, Rules};
use mcpproxy_notary::keys::Signer;
use mcpproxy_notary::ledger::{CHECKPOINT_EVERY, Options, Profile, Transport};
use mcpproxy_testkit::samples;

const CALLS: u32 = 20_000;
/// Calls between two looks at the CPU, which cost more than a call does.
const BURST: u32 = 20;
/// The pace of short calls: ten thousand a second.
const PACE: Duration = Duration::from_micros(100);
/// What the clerk must be given for a byte, so that what waits does not grow.
const BYTE: Duration = Duration::from_nanos(20);

/// The nanoseconds of CPU that a file of `/proc` tells of.
fn cpu(file: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn process() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let tasks = tasks.map(|task| task.unwrap().path().join("schedstat"));
    tasks.map(|path| cpu(&path.display().to_string())).sum()
}

fn verdict() -> Arc<Verdict> {
    Arc::new(Verdict {
        action: Action::Allow,
        wanted: Action::Allow,
        enforced: Enforcement::Enforced,
        decided_by: None,
        findings: [].into(),
        risk: Risk {
            level: RiskLevel::None,
            score: 0,
        },
        flow: FlowType::None,
    })
}

fn open(folder: &std::path::Path) -> Desk {
    let options = Options {
        server_id: "mcpproxy".to_owned(),
        transport: Transport::Gateway,
        profile: Profile::Guard,
        durability: Durability::Relaxed,
        policy_hash: None,
        version: "0".to_owned(),
        checkpoint_every: CHECKPOINT_EVERY,
        clock: Arc::new(SystemClock::start()),
        signer: Arc::new(Signer::generate("bench").unwrap()),
    };
    let rules = Rules {
        arguments: Keep::Nothing,
        results: Keep::Nothing,
        pepper: None,
        interval: PackInterval::Session,
    };
    Desk::open(folder, options, rules, Box::new(drop)).unwrap()
}

fn measure(size: usize) {
    let folder = tempfile::tempdir().unwrap();
    let desk = open(folder.path());
    let text = "a line of plain text that says nothing. ".repeat(size / 40);
    let arguments = format!(r#"{{"text":"{text}"}}"#);
    let head = r#"{"params":{"name":"t","arguments":"#;
    let raw = Bytes::from(format!("{head}{arguments}}}}}"));
    let body = Bytes::from(format!(
        r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#
    ));
    let verdict = verdict();
    let (mut took, mut spent) = (Vec::new(), 0);
    let all = process();
    for burst in 0..CALLS / BURST {
        let began = Instant::now();
        let before = cpu("/proc/thread-self/schedstat");
        for number in 0..BURST {
            let number = burst * BURST + number;
            let call = Call {
                id: CallId::new(1, number.into()),
                wire: Wire {
                    raw: raw.clone(),
                    ticket: Some(number.into()),
                },
                ..samples::call()
            };
            let place = head.len()..head.len() + arguments.len();
            let began = Instant::now();
            let deed = || Deed::new(&call, place.clone(), &verdict, call.at);
            assert!(desk.intent(deed(), None));
            let ended = Ended::Answered {
                body: body.clone(),
                is_error: false,
                passing: Passing::Whole,
                took: Duration::ZERO,
            };
            assert!(desk.outcome(deed(), ended, None));
            took.push(began.elapsed());
        }
        spent += cpu("/proc/thread-self/schedstat") - before;
        let pace = PACE.max(BYTE * u32::try_from(size).unwrap());
        std::thread::sleep((pace * BURST).saturating_sub(began.elapsed()));
    }
    while desk.counts().forwarded < u64::from(CALLS) {
        std::thread::sleep(PACE);
    }
    let all = process() - all;
    desk.finish().unwrap();
    took.sort_unstable();
    let at = |percent: usize| took.get(took.len() * percent / 100).copied();
    let micros = |nanos: u64| Duration::from_nanos(nanos / u64::from(CALLS)).as_secs_f64() * 1e6;
    let [half, late] = [50, 99].map(|percent| at(percent).unwrap().as_secs_f64() * 1e6);
    println!(
        "{size:>8} {half:>9.1} {late:>9.1} {:>11.1} {:>13.1}",
        micros(spent),
        micros(all)
    );
}

fn main() {
    println!("the receipt of one call (intent and outcome), relaxed; microseconds");
    println!("   bytes       p50       p99   CPU, path  CPU, process");
    for size in [40, 1 << 10, 64 << 10] {
        measure(size);
    }
}
