//! How fast the scanner for secrets reads clean text, and how it fares with text made to slow it
//! down. `cargo bench -p mcpproxy-detect --bench secrets`.
#![expect(clippy::unwrap_used, reason = "a bench may stop at the first surprise")]

use std::hint::black_box;
use std::io::Write as _;
use std::time::Instant;

use mcpproxy_detect::{Scan, Secrets};

const SMALL: usize = 64 << 10;
const LARGE: usize = 1 << 20;

const PROSE: &str = "Seven wizards quietly judge the fox by the river bank, and nobody asks why. ";
const JSON: &str =
    r#"{"id": 4711, "name": "item", "tags": ["red"], "url": "https://plum.dev/items/4711"},"#;
const CODE: &str = "    let total = items.iter().filter(|item| item.price > limit).count();\n";
const NEAR_MISSES: [&str; 8] = [
    "token=",
    "ghp_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghi ",
    "password: ",
    "-eyJ",
    "https://a:b",
    "cookie: ",
    "jdbc:a:",
    "-----BEGIN RSA PRIVATE KEY-----\n",
];

fn main() {
    let mut out = std::io::stdout().lock();
    let start = Instant::now();
    let secrets = Secrets::new(4.5).unwrap();
    writeln!(
        out,
        "rules read in {:.2} ms",
        start.elapsed().as_secs_f64() * 1e3
    )
    .unwrap();
    for pattern in [PROSE, JSON, CODE].into_iter().chain(NEAR_MISSES) {
        let small = nanoseconds(&secrets, &repeat(pattern, SMALL));
        let large = nanoseconds(&secrets, &repeat(pattern, LARGE));
        let name: String = pattern.trim().chars().take(32).collect();
        let ratio = large / small;
        writeln!(
            out,
            "{name:32} {:7.0} MB/s, 1 MB to 64 KB {ratio:.2}",
            1e3 / small
        )
        .unwrap();
    }
}

fn repeat(pattern: &str, len: usize) -> String {
    pattern.repeat(len / pattern.len() + 1)
}

/// Returns the best of some runs, in nanoseconds a byte.
fn nanoseconds(secrets: &Secrets, text: &str) -> f64 {
    let bytes = f64::from(u32::try_from(text.len()).unwrap());
    let run = || {
        let start = Instant::now();
        let mut seen = Vec::new();
        secrets.scan(black_box(text), &mut seen);
        black_box(seen);
        start.elapsed().as_secs_f64() * 1e9 / bytes
    };
    (0..9).map(|_| run()).fold(f64::INFINITY, f64::min)
}
