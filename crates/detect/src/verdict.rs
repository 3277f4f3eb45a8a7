//! What detections amount to together: the one place where they are added up.

use std::collections::BTreeMap;

use mcpproxy_core::Severity;

use crate::detection::{Category, Detection, Level};

/// The weight from which a person should look.
const WARN: u32 = 50;

/// The weight from which the text is stopped.
const BLOCK: u32 = 90;

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
        let near = rest.iter().take_while(|one| one.span.start <= reach);
        heaviest = heaviest.max(weigh(near.copied()));
        rest = tail;
    }
    heaviest
}

/// The weight of acts that belong together: for each kind of act the heaviest way of doing it, and
/// half of every other way, since saying it twice in other words is more than saying it once.
fn weigh<'a>(acts: impl Iterator<Item = &'a Detection>) -> u32 {
    let mut kinds: BTreeMap<&str, BTreeMap<&str, &Detection>> = BTreeMap::new();
    for one in acts {
        let ways = kinds.entry(&one.kind).or_default();
        let known = ways.entry(&one.rule).or_insert(one);
        if known.confidence < one.confidence {
            *known = one;
        }
    }
    kinds.values().map(weigh_kind).sum()
}

/// The weight of one kind of act. Where all ways stand over the same words, nothing was said twice:
/// the others only make it surer.
fn weigh_kind(ways: &BTreeMap<&str, &Detection>) -> u32 {
    let Some(most) = ways.values().max_by_key(|one| one.confidence) else {
        return 0;
    };
    let heaviest = u32::from(most.confidence);
    let all: u32 = ways.values().map(|one| u32::from(one.confidence)).sum();
    let others = all - heaviest;
    let same = |one: &&Detection| one.span.start < most.span.end && most.span.start < one.span.end;
    let grave = ways.values().any(|one| one.severity == Severity::Critical);
    let share = if !grave && ways.values().all(same) {
        4
    } else {
        2
    };
    heaviest + others / share
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use mcpproxy_core::Masked;

    use super::*;

    fn found(category: Category, rule: &'static str, confidence: u8, at: usize) -> Detection {
        let act = rule.split('.').next().unwrap();
        Detection {
            rule: Cow::Borrowed(rule),
            kind: Cow::Borrowed(act),
            category,
            severity: Severity::High,
            confidence,
            level: level_of(u32::from(confidence)),
            span: at..at + 1,
            via: Vec::new(),
            reason: Masked::from_safe(""),
            sample: Masked::from_safe(""),
            tags: &[],
        }
    }

    #[test]
    fn acts_add_up_where_they_stand_together() {
        let hostile = |rule, weight, at| found(Category::HostileText, rule, weight, at);
        let check = |detections: &[Detection], expect: Level| {
            assert_eq!(verdict(detections), expect, "{detections:?}");
        };
        check(&[], Level::Note);
        check(&[hostile("a.x", 45, 0)], Level::Note);
        check(&[hostile("a.x", 50, 0)], Level::Warn);
        check(&[hostile("a.x", 30, 0), hostile("b.x", 30, 9)], Level::Warn);
        check(
            &[hostile("a.x", 30, 0), hostile("b.x", 30, 9000)],
            Level::Note,
        );
        check(&[hostile("a.x", 60, 0), hostile("a.x", 60, 9)], Level::Warn);
        check(&[hostile("a.x", 45, 0), hostile("a.y", 30, 9)], Level::Warn);
        check(
            &[hostile("a.x", 60, 0), hostile("b.x", 60, 9)],
            Level::Block,
        );
        // One act in the same words, seen in two ways.
        let wide = Detection {
            span: 0..40,
            ..hostile("a.y", 70, 0)
        };
        check(&[hostile("a.x", 70, 9), wide.clone()], Level::Warn);
        check(&[hostile("a.x", 70, 90), wide], Level::Block);
        let hidden = found(Category::HiddenText, "zero_width", 80, 0);
        check(std::slice::from_ref(&hidden), Level::Warn);
        check(&[hidden, hostile("a.x", 50, 0)], Level::Block);
    }
}
