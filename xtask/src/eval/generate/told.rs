//! Descriptors, instructions, changes and results that were made up by hand, one a line.
//!
//! Kept apart from whatever rules are tuned on: only what comes of all of them together is looked
//! at, so that it says something about wordings nobody has seen.

use serde_json::{Map, Value};

use crate::eval::case::{Case, Detector};

/// The cases: those that the aims are about, and those of somebody who knows no rule.
pub(super) fn cases() -> Vec<Case> {
    let lines = include_str!("told.jsonl").lines().enumerate();
    let natural = include_str!("natural.jsonl").lines().enumerate();
    let natural = natural.filter_map(in_natural_words);
    lines.filter_map(case).chain(natural).collect()
}

fn in_natural_words((row, line): (usize, &str)) -> Option<Case> {
    let mut fields: Map<String, Value> = serde_json::from_str(line).ok()?;
    let attack = fields.remove("label")? == "attack";
    let (source, id) = ("natural words", format!("own/natural/{row}"));
    let question = Value::Object(fields);
    Some(Case::own(Detector::Natural, attack, source, id, question))
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
        let told = include_str!("told.jsonl").lines().count();
        let natural = include_str!("natural.jsonl").lines().count();
        assert_eq!(cases().len(), told + natural);
        assert!(told > 150 && natural > 150, "{told} {natural}");
    }
}
