//! Configuration files: any text is loaded or refused with a place, as YAML and as JSON.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use mcpproxy_config::{Flags, Sources, load_text};

fuzz_target!(|text: &str| {
    let none = |_: &str| None;
    let sources = Sources::new(Flags::default(), &none);
    for file in ["mcpproxy.yaml", "mcpproxy.json"] {
        drop(load_text(&sources, Path::new(file), text));
    }
});
