//! The strict JSON pass: whatever it accepts, the walkers read without a surprise.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_text::{Limits, check, leaves, members};

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = check(data, Limits { depth: 64 }) {
        assert!(balanced(text), "accepted what is not JSON");
        for member in members(text) {
            assert!(text.get(member.value).is_some(), "a member outside the text");
        }
        drop(leaves(text));
    }
});

/// A second opinion without a second parser: brackets outside strings must balance.
fn balanced(text: &str) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_i64, false, false);
    for byte in text.bytes() {
        match (in_string, escaped, byte) {
            (true, true, _) => escaped = false,
            (true, false, b'\\') => escaped = true,
            (_, false, b'"') => in_string = !in_string,
            (false, _, b'{' | b'[') => depth += 1,
            (false, _, b'}' | b']') => depth -= 1,
            _ => {}
        }
    }
    depth == 0 && !in_string
}
