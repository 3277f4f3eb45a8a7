//! Where words begin and end, sixty-four bytes at a time.

use std::ops::Range;

use mcpproxy_text::bits::{self, BLOCK};

/// Whether a byte belongs to a word; every byte beyond ASCII does.
pub(super) fn is_letter(byte: u8) -> bool {
    flag(byte) != 0
}

/// One for a letter and zero for any other byte, without a jump, so that blocks are done in one go.
fn flag(byte: u8) -> u8 {
    bits::alphanumeric(byte) | byte >> 7
}

/// Hands the words at or after `from` to `look`, until it finds something.
pub(super) fn each<T>(
    bytes: &[u8],
    from: usize,
    mut look: impl FnMut(Range<usize>) -> Option<T>,
) -> Option<T> {
    let (blocks, rest) = bytes.get(from..)?.as_chunks::<BLOCK>();
    let mut last = [b' '; BLOCK];
    last.get_mut(..rest.len())?.copy_from_slice(rest);
    // What is left is less than a block, so a blank of this one ends the last word.
    let blocks = blocks.iter().chain([&last]);
    let (mut base, mut start, mut open) = (from, 0, 0);
    for block in blocks {
        let letters = bits::mask(block, flag);
        let shifted = letters << 1 | open;
        let (mut starts, mut ends) = (letters & !shifted, !letters & shifted);
        // A word that began in an earlier block has no start in this one.
        if open != 0 && ends != 0 {
            if let Some(found) = look(start..base + at(ends)) {
                return Some(found);
            }
            ends &= ends - 1;
        }
        while ends != 0 {
            if let Some(found) = look(base + at(starts)..base + at(ends)) {
                return Some(found);
            }
            starts &= starts - 1;
            ends &= ends - 1;
        }
        if starts != 0 {
            start = base + at(starts);
        }
        open = letters >> (BLOCK - 1);
        base += BLOCK;
    }
    None
}

/// The rest of the word that `from` cuts.
pub(super) fn cut(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let letter = |at: usize| bytes.get(at).copied().is_some_and(is_letter);
    let inside = letter(from) && from.checked_sub(1).is_some_and(letter);
    inside.then(|| {
        let rest = bytes.get(from..).unwrap_or_default().iter();
        from..from + rest.take_while(|byte| is_letter(**byte)).count()
    })
}

fn at(bits: u64) -> usize {
    bits.trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slow(bytes: &[u8], from: usize) -> Vec<Range<usize>> {
        let mut words = Vec::new();
        let mut start = from;
        for at in from..=bytes.len() {
            if bytes.get(at).copied().is_some_and(is_letter) {
                continue;
            }
            if start < at {
                words.push(start..at);
            }
            start = at + 1;
        }
        words
    }

    proptest! {
        #[test]
        fn words_are_those_that_a_look_at_each_byte_finds(
            text in "[a-zé9 .,_-]{0,300}", from in 0_usize..300,
        ) {
            let bytes = text.as_bytes();
            let from = from.min(bytes.len());
            let mut words = Vec::new();
            let none: Option<()> = each(bytes, from, |span| {
                words.push(span);
                None
            });
            prop_assert!(none.is_none());
            prop_assert_eq!(words, slow(bytes, from));
        }
    }
}
