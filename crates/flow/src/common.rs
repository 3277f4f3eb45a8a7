//! Text that says nothing about where it is from: greetings, licences, boilerplate, imports, names
//! of fields, what programs complain about. Windows of it are neither remembered nor compared.

use std::sync::LazyLock;

use crate::fold::folded;
use crate::roll::{SPARE, roll};
use crate::winnow::GRAM;

/// Paragraphs of common text, one language or kind a file.
const TEXTS: [&str; 4] = [
    include_str!("common/prose.txt"),
    include_str!("common/licence.txt"),
    include_str!("common/code.txt"),
    include_str!("common/errors.txt"),
];

/// Tags in open addressing; zero is empty.
static TAGS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut tags = Vec::new();
    for paragraph in TEXTS.iter().flat_map(|text| text.split("\n\n")) {
        roll::<GRAM>(&folded(paragraph), |hash| tags.push(hash >> SPARE));
    }
    let mut table = vec![0; (tags.len() * 4).next_power_of_two()];
    for tag in tags {
        if let Some(slot) = free(&table, tag).and_then(|at| table.get_mut(at)) {
            *slot = tag;
        }
    }
    table
});

/// Returns the first slot that is empty or has the tag.
fn free(table: &[u64], tag: u64) -> Option<usize> {
    let mask = table.len() - 1;
    let mut at = usize::try_from(tag).unwrap_or(0) & mask;
    // INVARIANT: three slots of four are empty, so that one is near.
    while let Some(&slot) = table.get(at) {
        if slot == 0 || slot == tag {
            return Some(at);
        }
        at = (at + 1) & mask;
    }
    None
}

/// Tells whether a window is one of common text.
pub(crate) fn has(tag: u64) -> bool {
    let slot = free(&TAGS, tag).and_then(|at| TAGS.get(at));
    slot == Some(&tag)
}
