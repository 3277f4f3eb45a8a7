//! Hostile text: no panic on any input, every detection lies within the text, and a descriptor that
//! changes is always noted.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use mcpproxy_detect::{Audience, Hostile, Inspector, Scan, Settings};
use serde_json::json;

static INSPECTOR: LazyLock<Inspector> =
    LazyLock::new(|| Inspector::new(&Settings::default()).expect("the embedded rules load"));

fuzz_target!(|text: &str| {
    for audience in [Audience::Descriptor, Audience::Result] {
        let mut found = Vec::new();
        let scanner = Hostile::new(audience).expect("the embedded rules load");
        scanner.scan(text, &mut found);
        for one in found {
            assert!(text.get(one.span).is_some(), "a detection outside the text");
        }
    }
    let tool = |text: &str| json!({ "name": "a", "description": text });
    let half = text.char_indices().nth(text.chars().count() / 2);
    let first = half.and_then(|(at, _)| text.get(..at)).unwrap_or_default();
    let change = INSPECTOR.tool_pair(&tool(first), &tool(text));
    assert_eq!(change.findings.is_empty(), first == text, "a change in silence");
});
