//! The rules' own examples, what they must have in common, and texts that no single rule owns.

use super::*;

fn secrets() -> Secrets {
    Secrets::new(4.5).unwrap()
}

fn seen(text: &str) -> Vec<Detection> {
    let mut out = Vec::new();
    secrets().scan(text, &mut out);
    out
}

#[test]
fn every_example_does_what_its_rule_promises() {
    let failures = check(&secrets());
    assert!(failures.is_empty(), "{failures:#?}");
}
