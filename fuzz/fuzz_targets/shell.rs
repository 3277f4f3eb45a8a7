//! Shell commands: any text is read, twice alike, with places inside it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_classify::shell::{Dialect, read_as};

fuzz_target!(|text: &str| {
    for dialect in [Dialect::Posix, Dialect::Cmd, Dialect::PowerShell] {
        let analysis = read_as(text, dialect);
        for access in analysis.reads.iter().chain(&analysis.writes).chain(&analysis.runs) {
            assert!(access.span.end <= text.len(), "a place outside the text");
        }
        assert_eq!(analysis, read_as(text, dialect));
    }
});
