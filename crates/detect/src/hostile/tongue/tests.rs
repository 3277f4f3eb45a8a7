//! Orders in other languages, and honest sentences beside them.

use serde_json::json;

use super::*;
use crate::detection::Level;
use crate::settings::Settings;
use crate::tool::{Appraisal, Inspector};

/// Sentences that were put aside before the words were chosen, as `language ±place sentence`.
const APART: &str = include_str!("tests/apart.txt");

/// How an example is marked: whether it must be seen, and where it stands.
fn example(line: &str) -> Option<(bool, &str, &str)> {
    let (mark, text) = line.split_once(' ')?;
    let (hostile, place) = match mark.split_at_checked(1)? {
        ("+", place) => (true, place),
        ("-", place) => (false, place),
        _ => return None,
    };
    Some((hostile, place, text))
}

fn judged(scan: &Inspector, place: &str, text: &str) -> Appraisal {
    match place {
        "d" => scan.tool(&json!({ "name": "helper", "description": text })),
        _ => scan.result(text),
    }
}

/// The examples that come out wrong, and how many of either kind there are.
fn wrong<'a>(examples: impl Iterator<Item = &'a str>) -> (Vec<String>, Vec<String>, usize) {
    let scan = Inspector::new(&Settings::default()).unwrap();
    let (mut missed, mut alarms, mut count) = (Vec::new(), Vec::new(), 0);
    for line in examples {
        let (hostile, place, text) = example(line).unwrap();
        let found = judged(&scan, place, text);
        count += 1;
        let rules: Vec<_> = found
            .findings
            .iter()
            .map(|one| format!("{} {}", one.detection.rule, one.detection.confidence))
            .collect();
        match (hostile, found.level >= Level::Warn) {
            (true, false) => missed.push(format!("{line} {rules:?}")),
            (false, true) => alarms.push(format!("{line} {rules:?}")),
            _ => {}
        }
    }
    (missed, alarms, count)
}

#[test]
fn the_examples_of_every_language_hold() {
    let listed = TONGUES.iter().flat_map(|(_, _, words)| words.lines());
    let (missed, alarms, _) = wrong(listed.filter(|line| line.starts_with(['+', '-'])));
    assert!(
        missed.is_empty() && alarms.is_empty(),
        "{missed:#?} {alarms:#?}"
    );
}

#[test]
fn cues_of_every_script_can_be_read() {
    let tongues = Tongues::load(std::iter::empty()).unwrap();
    assert!(tongues.foreign().is_some());
}

#[test]
fn every_list_speaks_of_the_same_ideas() {
    let mut shared = Lexicon::new();
    shared.read("en.words", SHARED).unwrap();
    for (name, _, words) in TONGUES {
        Lexicon::new().read(name, words).unwrap();
        let ideas = lines(words).map(|line| line.split(':').next().unwrap());
        let unknown: Vec<_> = ideas.filter(|idea| shared.idea(idea).is_none()).collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
    }
}

#[test]
fn sentences_that_were_put_aside_are_told_apart() {
    let lines = APART.lines().filter(|line| !line.starts_with('#'));
    let examples = lines.filter_map(|line| Some(line.split_once(' ')?.1));
    let (missed, alarms, count) = wrong(examples);
    assert!(missed.len() * 10 <= count, "{missed:#?}");
    assert!(alarms.is_empty(), "{alarms:#?}");
}
