//! Frames: another id changes the id and nothing else.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use mcpproxy_mcp::Frame;
use mcpproxy_text::Limits;

fuzz_target!(|data: &[u8]| {
    let limits = Limits { depth: 64 };
    if let Ok(frame) = Frame::parse(Bytes::copy_from_slice(data), limits) {
        let renumbered = frame.renumbered(7);
        let again = Frame::parse(renumbered.raw().clone(), limits).expect("a number is an id");
        assert_eq!(again.kind(), frame.kind());
        assert_eq!(again.params(), frame.params());
        assert_eq!(again.payload(), frame.payload());
    }
});
