//! Descriptors, instructions and results of honest authors who speak of secrets, of attacks, of the
//! order of calls and of what is not to be told: none may be worth a look.
//!
//! Rules were changed after these were seen, by reasons that more than one of them shares. So this
//! guards against falling back; what becomes of wordings that nobody has seen is measured by
//! `cargo xtask eval detect`.

use mcpproxy_detect::{Inspector, Settings};
use serde_json::json;

/// One case a line, in the form that `mcpproxy detect` takes.
const CASES: &str = include_str!("honest.jsonl");

#[test]
fn honest_texts_about_security_raise_no_alarm() {
    let inspector = Inspector::new(&Settings::default()).unwrap();
    let mut alarms = Vec::new();
    for line in CASES.lines() {
        let answer = json!(inspector.case(line).unwrap());
        if answer["verdict"] != "clean" {
            alarms.push(format!("{line}\n    {answer}"));
        }
    }
    assert!(CASES.lines().count() > 400);
    assert!(alarms.is_empty(), "{}", alarms.join("\n"));
}
