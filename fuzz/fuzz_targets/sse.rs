//! Event streams: how the bytes are cut into pieces makes no difference.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_mcp::sse::{Decoder, Event};

fn decode(pieces: &[&[u8]]) -> Vec<Event> {
    let mut decoder = Decoder::new(1 << 20);
    let mut events = Vec::new();
    for piece in pieces {
        if decoder.push(piece).is_err() {
            break;
        }
        while let Some(event) = decoder.next_event() {
            events.push(event);
        }
    }
    events
}

fuzz_target!(|data: &[u8]| {
    let Some((&cut, data)) = data.split_first() else { return };
    let (one, other) = data.split_at(usize::from(cut).min(data.len()));
    assert_eq!(decode(&[data]), decode(&[one, other]));
});
