//! Configuration files: any text is loaded or refused with a place.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use mcpproxy_config::{Flags, Sources, load_text};

fuzz_target!(|text: &str| {
    let none = |_: &str| None;
    let sources = Sources::new(Flags::default(), &none);
    drop(load_text(&sources, Path::new("mcpproxy.yaml"), text));
});
