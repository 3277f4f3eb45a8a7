//! Hostile text: no panic on any input, and every detection lies within the text.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use mcpproxy_detect::{Audience, Hostile, Scan};

static SCANNER: LazyLock<Hostile> =
    LazyLock::new(|| Hostile::new(Audience::Descriptor).expect("the embedded rules load"));

fuzz_target!(|text: &str| {
    for audience in [Audience::Descriptor, Audience::Result] {
        let mut found = Vec::new();
        SCANNER.for_audience(audience).scan(text, &mut found);
        for one in found {
            assert!(text.get(one.span).is_some(), "a detection outside the text");
        }
    }
});
