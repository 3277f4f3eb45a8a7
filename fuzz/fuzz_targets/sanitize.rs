//! Sanitizing: never longer, and clean after the first time; what hides is found without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_detect::{Audience, Hidden, Scan, sanitize};

fuzz_target!(|text: &str| {
    let once = sanitize(text);
    assert!(once.text.len() <= text.len(), "the text grew");
    let twice = sanitize(&once.text);
    assert!(twice.removed.is_empty(), "the second time found more");
    let mut found = Vec::new();
    Hidden::new(Audience::Result).scan(text, &mut found);
    for one in found {
        assert!(text.get(one.span).is_some(), "a detection outside the text");
    }
});
