//! Text that says nothing about where it is from: greetings, licences, boilerplate, imports, names
//! of fields, what programs complain about. Windows of it are neither remembered nor compared.

use std::sync::LazyLock;

use crate::fold::folded;
use crate::roll::{SPARE, TAG_BITS, roll};
use crate::winnow::GRAM;

/// Paragraphs of common text, one language or kind a file.
const TEXTS: [&str; 4] = [
    include_str!("common/prose.txt"),
    include_str!("common/licence.txt"),
    include_str!("common/code.txt"),
    include_str!("common/errors.txt"),
];

/// Bits of the filter in front of the table: what is in no common text hardly ever gets past it, and it
/// stays near while the table does not.
const FILTER_BITS: u32 = 20;

/// The tags of all common text.
struct Common {
    filter: Vec<u64>,
    /// In open addressing; zero is empty.
    table: Vec<u64>,
}

static TAGS: LazyLock<Common> = LazyLock::new(|| {
    let mut tags = Vec::new();
    for paragraph in TEXTS.iter().flat_map(|text| text.split("\n\n")) {
        roll::<GRAM>(&folded(paragraph), |hash| tags.push(hash >> SPARE));
    }
    let mut common = Common {
        filter: vec![0; 1 << (FILTER_BITS - 6)],
        table: vec![0; (tags.len() * 2).next_power_of_two()],
    };
    for tag in tags {
        let (word, bits) = place(tag);
        if let Some(word) = common.filter.get_mut(word) {
            *word |= bits;
        }
        let at = free(&common.table, tag);
        if let Some(slot) = at.and_then(|at| common.table.get_mut(at)) {
            *slot = tag;
        }
    }
    common
});

/// Returns the place of a tag in the filter: a word, and two of its bits. One bit alone would let ten times
/// as many pass, and each of them waits for the table.
fn place(tag: u64) -> (usize, u64) {
    let bit = tag >> (TAG_BITS - FILTER_BITS);
    let bits = 1 << (bit % 64) | 1 << (tag % 64);
    (usize::try_from(bit / 64).unwrap_or(0), bits)
}

/// Returns the first slot that is empty or has the tag.
fn free(table: &[u64], tag: u64) -> Option<usize> {
    let mask = table.len() - 1;
    let mut at = usize::try_from(tag).unwrap_or(0) & mask;
    // INVARIANT: half of the slots are empty, so that one is near.
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
    let common = &*TAGS;
    let (word, bits) = place(tag);
    if common
        .filter
        .get(word)
        .is_none_or(|word| word & bits != bits)
    {
        return false;
    }
    let slot = free(&common.table, tag).and_then(|at| common.table.get(at));
    slot == Some(&tag)
}
