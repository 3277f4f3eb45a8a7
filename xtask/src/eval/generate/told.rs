//! Descriptors, instructions, changes and results that were made up by hand, one a line.
//!
//! Kept apart from whatever rules are tuned on: only what comes of all of them together is looked
//! at, so that it says something about wordings nobody has seen.

use serde_json::{Map, Value};

use crate::eval::case::{Case, Detector};

/// The cases.
pub(super) fn cases() -> Vec<Case> {
    let lines = include_str!("told.jsonl").lines();
    lines.enumerate().filter_map(case).collect()
}

fn case((row, line): (usize, &str)) -> Option<Case> {
    let mut fields: Map<String, Value> = serde_json::from_str(line).ok()?;
    let attack = fields.remove("label")? == "attack";
    let kind = fields.get("kind")?.as_str()?;
    let detector = match kind {
        "tool_pair" => Detector::RugPull,
        "result" => Detector::Results,
        _ if attack => Detector::Poisoning,
        _ => Detector::HardNegatives,
    };
    let (source, id) = ("told by hand", format!("own/told/{row}"));
    let question = Value::Object(fields);
    Some(Case::own(detector, attack, source, id, question))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_case() {
        let lines = include_str!("told.jsonl").lines().count();
        assert_eq!(cases().len(), lines);
        assert!(lines > 150, "{lines}");
    }
}
