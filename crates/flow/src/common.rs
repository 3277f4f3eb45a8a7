//! Text that says nothing about where it is from: greetings, licences, boilerplate, imports, names
//! of fields. Windows of it are neither remembered nor compared.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::fold::folded;
use crate::roll::{SPARE, roll};
use crate::winnow::GRAM;

static TAGS: LazyLock<HashSet<u64>> = LazyLock::new(|| {
    let mut tags = HashSet::new();
    for text in [include_str!("common/text.txt")] {
        for paragraph in text.split("\n\n") {
            roll::<GRAM>(&folded(paragraph), |hash| {
                tags.insert(hash >> SPARE);
            });
        }
    }
    tags
});

/// Tells whether a window is one of common text.
pub(crate) fn has(tag: u64) -> bool {
    TAGS.contains(&tag)
}
