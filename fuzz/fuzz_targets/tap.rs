//! Reading along with a line: the same is seen however it is cut into chunks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_mcp::tap::{Part, Seen, Tap, Watch};

#[derive(Default)]
struct Heard(Vec<Seen>);

impl Watch for Heard {
    fn part(&mut self, _: Part, _: &[u8]) {}

    fn message(&mut self, seen: Seen) {
        self.0.push(seen);
    }
}

fn hear(line: &[u8], size: usize) -> (Vec<Seen>, bool) {
    let mut heard = Heard::default();
    let mut tap = Tap::default();
    for chunk in line.chunks(size) {
        tap.push(chunk, &mut heard);
    }
    let read = tap.finish().is_ok();
    (heard.0, read)
}

fuzz_target!(|line: &[u8]| {
    assert_eq!(hear(line, line.len().max(1)), hear(line, 3));
});
