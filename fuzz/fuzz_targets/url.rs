//! URLs, hosts and paths: every part lies in the text, and reading a canonical host again changes
//! nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_text::path;
use mcpproxy_text::url::{Host, carried, urls};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let found = urls(&text);
    let covered: usize = found.iter().map(|url| url.span.len()).sum();
    assert!(covered <= 8 * (text.len() + 64), "the same bytes again and again");
    for url in &found {
        assert!(text.get(url.span.clone()).is_some(), "a URL outside the text");
        drop((url.tricks(), carried(url).len(), url.host.unicode().len()));
        if let Host::Name(name) = &url.host {
            assert_eq!(Host::read(name).as_ref(), Some(&url.host), "two readings of one name");
        }
    }
    let normal = path::normal(&text);
    assert!(normal.len() <= text.len() * 3 + 16, "a path that grows");
});
