//! What detections amount to together: the one place where they are added up.

use std::collections::BTreeMap;

use crate::detection::{Category, Detection, Level};

/// The weight from which a person should look.
const WARN: u32 = 50;

/// The weight from which the text is stopped.
const BLOCK: u32 = 100;

/// Acts that stand at most so many bytes apart belong to one attempt.
const NEAR: usize = 1200;

/// The level of a weight.
pub(crate) fn level_of(weight: u32) -> Level {
    match weight {
        BLOCK.. => Level::Block,
        WARN.. => Level::Warn,
        _ => Level::Note,
    }
}

/// Combines the detections of one text; `Note` if there is nothing to act on.
///
/// The worst single detection counts, and so does the sum of different hostile acts that stand near
/// each other. Something hidden beside something hostile makes both worse.
pub fn verdict(detections: &[Detection]) -> Level {
    let worst = detections
        .iter()
        .map(|one| one.level)
        .max()
        .unwrap_or(Level::Note);
    let hostile = level_of(heaviest(detections));
    let hides = detections
        .iter()
        .any(|one| one.category == Category::HiddenText && one.level >= Level::Warn);
    if hides && hostile >= Level::Warn {
        return Level::Block;
    }
    worst.max(hostile)
}

/// The greatest sum of different acts within reach of each other.
fn heaviest(detections: &[Detection]) -> u32 {
    let mut acts: Vec<&Detection> = detections
        .iter()
        .filter(|one| one.category == Category::HostileText)
        .collect();
    acts.sort_by_key(|one| one.span.start);
    let mut heaviest = 0;
    let mut rest = acts.as_slice();
    while let [first, tail @ ..] = rest {
        let reach = first.span.start + NEAR;
        let mut weights: BTreeMap<&str, u8> = BTreeMap::new();
        for one in rest.iter().take_while(|one| one.span.start <= reach) {
            let weight = weights.entry(&one.kind).or_insert(0);
            *weight = (*weight).max(one.confidence);
        }
        heaviest = heaviest.max(weights.values().map(|&weight| u32::from(weight)).sum());
        rest = tail;
    }
    heaviest
}
