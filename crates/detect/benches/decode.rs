//! MB/s of the decode pass and of the detector's own part, without scanners: 1 KB to 1 MB of clean
//! JSON, prose, code and base64, and of what is hostile to a decoder.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::expect_used, reason = "a bench that cannot go on fails")]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcpproxy_detect::{Context, Detector, Settings};
use mcpproxy_text::decode::{Budget, find, views};

fn main() {
    let detector = Detector::with(Vec::new(), &Settings::default()).expect("settings are fine");
    println!(
        "{:<22} {:>7} {:>9} {:>9} {:>9} {:>9}",
        "text", "KB", "find", "views", "text()", "json()"
    );
    for (name, text) in texts() {
        for size in [1 << 10, 1 << 16, 1 << 20] {
            let text = sized(&text, size);
            let raw = message(name, &text);
            println!(
                "{name:<22} {:>7} {:>9.0} {:>9.0} {:>9.0} {:>9.0}",
                size >> 10,
                rate(text.len(), || drop(black_box(find(&text)))),
                rate(text.len(), || drop(black_box(views(
                    &text,
                    &mut Budget::default()
                )))),
                rate(text.len(), || drop(black_box(detector.text(&text)))),
                rate(raw.len(), || drop(black_box(
                    detector.json(&raw, Context::default())
                ))),
            );
        }
    }
}

/// Returns MB/s of processor time over a quarter of a second of runs, so that other programs on
/// the machine count little.
fn rate(bytes: usize, run: impl Fn()) -> f64 {
    let (started, before) = (Instant::now(), used());
    let mut runs = 0_u32;
    while started.elapsed() < Duration::from_millis(250) {
        run();
        runs += 1;
    }
    let spent = before.and_then(|before| used()?.checked_sub(before));
    let spent = spent
        .filter(|spent| !spent.is_zero())
        .unwrap_or_else(|| started.elapsed());
    let bytes = f64::from(u32::try_from(bytes).unwrap_or(u32::MAX));
    bytes * f64::from(runs) / spent.as_secs_f64() / 1e6
}

/// Returns the processor time of this thread, where the system tells it.
fn used() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = stat.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

/// A message with the text in short leaves, but for a text that is JSON already.
fn message(name: &str, text: &str) -> String {
    if name == "json" {
        return format!("{{\"content\":[{}]}}", text.replace('\n', ","));
    }
    let lines = text.lines().map(|line| {
        let plain: String = line
            .chars()
            .map(|char| {
                if matches!(char, '"' | '\\' | '\t') {
                    ' '
                } else {
                    char
                }
            })
            .collect();
        format!("{{\"line\":\"{plain}\"}}")
    });
    format!("[{}]", lines.collect::<Vec<_>>().join(","))
}

/// Repeats whole lines up to a size.
fn sized(text: &str, size: usize) -> String {
    let mut out = String::with_capacity(size + 4096);
    while out.len() < size {
        for line in text.lines() {
            if out.len() >= size {
                break;
            }
            out.push_str(line);
            out.push('\n');
        }
    }
    out.pop();
    out
}

fn texts() -> Vec<(&'static str, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |files: &[&str]| {
        let texts = files
            .iter()
            .map(|file| fs::read_to_string(root.join(file)).expect("a file of the repository"));
        texts.collect::<Vec<_>>().join("\n")
    };
    let rows = (0..400).map(|row| {
        format!(r#"{{"id":{row},"name":"user {row}","tags":["alpha","beta"],"active":true,"score":{row}.5,"note":"an ordinary note about nothing in particular"}}"#)
    });
    let noise: Vec<u8> = (0..48_u32 << 10)
        .scan(1_u32, |state, _| {
            *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes().first().copied()
        })
        .collect();
    let secret =
        STANDARD.encode("an ordinary sentence that was encoded once, and then found again");
    vec![
        ("json", rows.collect::<Vec<_>>().join("\n")),
        (
            "prose",
            read(&["README.md", "ARCHITECTURE.md", "docs/configuration.md"]),
        ),
        (
            "code",
            read(&[
                "crates/text/src/json.rs",
                "crates/config/src/read.rs",
                "crates/config/src/check.rs",
            ]),
        ),
        ("base64 noise", STANDARD.encode(&noise)),
        ("base64 text", STANDARD.encode(read(&["ARCHITECTURE.md"]))),
        ("many small base64", format!("{secret}\n\n").repeat(20)),
        (
            "near misses",
            "aGVsbG8gd29ybGQ/%4 &#x \\u00 =4 a b c 1, 2, U+00 gur eht\n".repeat(20),
        ),
        ("repetition", "ab".repeat(2000)),
        ("percent", "%41%42+".repeat(500)),
        ("letters apart", "i g n o r e   a l l  ".repeat(100)),
    ]
}
