//! Detections of one text that say the same: the most specific one is kept.

use std::cmp::Reverse;

use crate::detection::{Category, Detection};

/// What detections have to share to compete with each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    /// Something that should not leave: secrets, and what looks random.
    Value,
    /// Everything else competes only with its like.
    Own(Category),
}

fn group(category: Category) -> Group {
    match category {
        Category::CloudCredentials
        | Category::PrivateKey
        | Category::ApiToken
        | Category::AuthToken
        | Category::DatabaseCredential
        | Category::HighEntropy => Group::Value,
        Category::CreditCard
        | Category::Pii
        | Category::SensitiveFile
        | Category::Custom
        | Category::HiddenText
        | Category::HostileText
        | Category::Opaque => Group::Own(category),
    }
}

/// How specific a detection is; the larger wins.
fn rank(detection: &Detection) -> impl Ord + use<> {
    (
        detection.category != Category::HighEntropy,
        detection.confidence,
        detection.severity,
        detection.span.len(),
    )
}

/// Sorts detections by place and drops those that a more specific one covers.
///
/// Hostile text is never dropped for another rule's sake: its signals are weighed together.
pub(crate) fn merge(detections: &mut Vec<Detection>) {
    if detections.len() < 2 {
        return;
    }
    detections.sort_by_cached_key(|d| (group(d.category), d.span.start, Reverse(d.span.end)));
    let mut kept: Vec<Detection> = Vec::with_capacity(detections.len());
    for detection in detections.drain(..) {
        match kept.last_mut() {
            Some(last) if same(last, &detection) => {
                if rank(&detection) > rank(last) {
                    *last = detection;
                }
            }
            _ => kept.push(detection),
        }
    }
    drop_shadowed(&mut kept);
    kept.sort_by(|one, other| {
        let key = |d: &Detection| (d.span.start, d.span.end);
        key(one)
            .cmp(&key(other))
            .then_with(|| one.rule.cmp(&other.rule))
    });
    *detections = kept;
}

/// Tells whether two detections, `one` starting first, are about the same thing.
fn same(one: &Detection, other: &Detection) -> bool {
    let overlap = other.span.start < one.span.end;
    let equal = one.span == other.span;
    if group(one.category) != group(other.category) || !overlap {
        return false;
    }
    let entropy = |d: &Detection| d.category == Category::HighEntropy;
    match (one.via.is_empty(), other.via.is_empty()) {
        // Different things can be found in one encoded run.
        (false, false) => equal && one.rule == other.rule && one.sample == other.sample,
        (true, false) | (false, true) => false,
        (true, true) => match one.category {
            Category::HiddenText | Category::HostileText | Category::Opaque | Category::Custom => {
                equal && one.rule == other.rule
            }
            _ => equal || entropy(one) || entropy(other) || one.kind == other.kind,
        },
    }
}

/// Drops random-looking values that are a card, a name or the like. All that was decoded from a run
/// stands where that run does: one of these says nothing about another.
fn drop_shadowed(kept: &mut Vec<Detection>) {
    let plain = |d: &&Detection| {
        let names = matches!(
            d.category,
            Category::CreditCard | Category::Pii | Category::SensitiveFile
        );
        names && d.via.is_empty()
    };
    let mut spans: Vec<_> = kept.iter().filter(plain).map(|d| d.span.clone()).collect();
    spans.sort_unstable_by_key(|span| span.start);
    kept.retain(|detection| {
        let next = spans.partition_point(|span| span.start < detection.span.end);
        let last = next.checked_sub(1).and_then(|index| spans.get(index));
        let shadowed = last.is_some_and(|span| span.end > detection.span.start);
        let random = detection.category == Category::HighEntropy && detection.via.is_empty();
        !random || !shadowed
    });
}
