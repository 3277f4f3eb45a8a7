//! How fast clean and hostile text is passed over by the scanners for personal data and for files:
//! `cargo bench -p mcpproxy-detect --bench pii`.

#![expect(clippy::print_stdout, reason = "a bench reports on standard output")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use mcpproxy_detect::{DetectError, Files, Pii, Scan};

/// The size of each text.
const SIZE: usize = 1 << 20;
/// How long each text is scanned, over and over.
const TIME: Duration = Duration::from_millis(300);

/// One piece of each kind of text; it is repeated up to the size.
const TEXTS: &[(&str, &str)] = &[
    (
        "prose",
        "The firewall stands between an agent and its tools, follows what was read to where it is \
         about to be sent, and decides before the call leaves. It was measured in 3 places.\n",
    ),
    (
        "code",
        "    let mut state = [0_u32; 8];\n    for (index, word) in block.chunks(4).enumerate() {\n\
         \x20       state[index % 8] ^= u32::from_le_bytes(word.try_into()?);\n    }\n",
    ),
    (
        "json",
        "{\"name\":\"lodash\",\"version\":\"4.17.21\",\"license\":\"MIT\",\"main\":\"index.js\",\
         \"files\":[\"core.js\",\"fp\"],\"size\":1413786,\"private\":false},\n",
    ),
    (
        "log",
        "2026-03-01T10:11:12.345Z INFO request_id=46d1fb6dfbdb0ae0 status=200 took=12ms path=/a\n",
    ),
    (
        "numbers",
        "{\"id\": 482910437, \"ts\": 1712345678, \"value\": 0.4829104371234, \"n\": 17},\n",
    ),
    ("digits", "8"),
    ("at signs", "@"),
    ("near cards", "4111 1111 1111 1112 "),
    ("near numbers", "411-"),
    ("near machines", "a1:"),
    ("near files", "/.ss/.aw/.en/id_rs"),
];

fn main() -> Result<(), DetectError> {
    let scanners: [(&str, Box<dyn Scan>); 2] = [
        ("pii", Box::new(Pii::new())),
        ("files", Box::new(Files::new()?)),
    ];
    for (name, piece) in TEXTS {
        let text = piece.repeat(SIZE / piece.len());
        for (scanner, scan) in &scanners {
            let rate = megabytes_a_second(scan.as_ref(), &text);
            println!("{name:14} {scanner:6} {rate:8.1} MB/s");
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people to read")]
fn megabytes_a_second(scan: &dyn Scan, text: &str) -> f64 {
    let mut out = Vec::new();
    let mut rounds = 0_u32;
    let start = Instant::now();
    while start.elapsed() < TIME {
        out.clear();
        scan.scan(black_box(text), &mut out);
        rounds += 1;
    }
    let bytes = text.len() as f64 * f64::from(rounds);
    bytes / start.elapsed().as_secs_f64() / 1e6
}
