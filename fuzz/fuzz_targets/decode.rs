//! Decoding: within its budget, at places that exist, with nothing left out in silence.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_text::decode::{Budget, decode, find, views};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let given = Budget { bytes: 1 << 16, depth: 4, views: 64 };
    let mut budget = given;
    let found = views(&text, &mut budget);
    let made: usize = found.views.iter().map(|view| view.text.len()).sum();
    // Bytes that are no UTF-8 become three each.
    assert!(made <= given.bytes * 3, "more output than allowed");
    assert!(found.views.len() <= given.views, "more views than allowed");
    for view in &found.views {
        assert!(text.get(view.span.clone()).is_some(), "a view outside the text");
        assert!(view.via.len() <= given.depth + 1, "deeper than allowed");
    }
    for stop in &found.stops {
        assert!(text.get(stop.span.clone()).is_some(), "a stop outside the text");
    }
    let runs = find(&text).runs;
    let covered: usize = runs.iter().map(|run| run.span.len()).sum();
    assert!(covered <= 64 * (text.len() + 64), "the same bytes again and again");
    for run in runs {
        drop(decode(&text, &run));
    }
});
