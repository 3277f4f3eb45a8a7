//! What people write as policy: scenario files and Cedar rules. Any text is read or refused with a
//! place.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use mcpproxy_config::read_scenario;
use mcpproxy_hooks_cedar::CedarRules;

fuzz_target!(|text: &str| {
    drop(read_scenario(Path::new("scenario.yaml"), text));
    if let Ok(rules) = CedarRules::parse(text, "rules.cedar") {
        assert!(rules.is_empty() == (rules.len() == 0));
    }
});
