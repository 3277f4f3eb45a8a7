//! Words that everybody writes: those that hold sentences together, those of greetings, notices and
//! licences, and those of programming languages. Shared text that has hardly any other word says
//! nothing about where it is from.
//!
//! Folded text has no blanks, so its words are found by how they fit together. A word alone fits
//! into others by accident: only chains of some length are taken for what they look like.

use std::ops::Range;
use std::sync::LazyLock;

use crate::hash::QuickSet;

/// What a chain has to be worth, where a word is worth twice its length but one: three short words,
/// or a long one.
const CHAIN: i32 = 14;
/// Longest stretch that is looked at; a longer one says enough by its length.
const LONGEST: usize = 1024;
/// Symbols beside a stretch that the words at its ends may reach into.
const BESIDE: usize = 12;

/// The words, each as the number that its letters make: none has more than [`LETTERS`].
static WORDS: LazyLock<QuickSet<u128>> = LazyLock::new(|| {
    let words = include_str!("common/words.txt").split_ascii_whitespace();
    words.map(|word| word.bytes().fold(0, longer)).collect()
});
const LETTERS: usize = 16;

/// Adds a letter to the number that a word makes; what is further back than any word reaches is gone.
fn longer(word: u128, letter: u8) -> u128 {
    word << 8 | u128::from(letter)
}

/// The lengths of words by their edges, as bits: few stretches can be a word, and only those are looked
/// up.
struct Edges {
    /// Of those that begin with two letters.
    begins: Vec<u32>,
    /// Of those that end with one, two or three letters, as many as they have.
    ends: [Vec<u32>; 3],
}

static EDGES: LazyLock<Edges> = LazyLock::new(|| {
    let mut edges = Edges {
        begins: vec![0; PLACES],
        ends: ENDS.map(|end| vec![0; 1 << end.bits]),
    };
    let words = include_str!("common/words.txt").split_ascii_whitespace();
    for word in words.map(str::as_bytes) {
        let lengths = edges.begins.get_mut(beginning(word));
        let ends = edges.ends.iter_mut().zip(ENDS);
        let end = ends.take(word.len()).last();
        let end = end.and_then(|(table, end)| {
            table.get_mut(end.place(word.iter().copied().fold(0, longer)))
        });
        for lengths in lengths.into_iter().chain(end) {
            *lengths |= 1 << word.len();
        }
    }
    edges
});
/// Places of the table of beginnings, a power of two.
const PLACES: usize = 1 << 12;

/// The last few letters of a text, and the bits that tell a place in their table: no more than they need,
/// since every symbol looks into all of these tables.
#[derive(Clone, Copy)]
struct End {
    letters: u32,
    bits: u32,
}

const ENDS: [End; 3] = [
    End {
        letters: 1,
        bits: 6,
    },
    End {
        letters: 2,
        bits: 10,
    },
    End {
        letters: 3,
        bits: 12,
    },
];

impl End {
    /// Returns the place in the table of what ends with these letters.
    fn place(self, text: u128) -> usize {
        let last = u64::try_from(text & ((1 << (8 * self.letters)) - 1)).unwrap_or(0);
        let spread = last.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - self.bits);
        usize::try_from(spread).unwrap_or(0)
    }
}

/// Returns the place in the table of what begins with the first two letters of a text.
fn beginning(text: &[u8]) -> usize {
    match text {
        [first, second, ..] => (usize::from(*first) * 29 + usize::from(*second)) & (PLACES - 1),
        [_] | [] => 0,
    }
}

/// Room for the ways to read a text, which is used again for the next.
#[derive(Debug, Default)]
pub(crate) struct Room(Vec<Best>);

/// Returns how many symbols of a stretch belong to no chain of plain words.
pub(crate) fn rare(symbols: &[u8], stretch: Range<usize>, room: &mut Room) -> u32 {
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    if stretch.len() > LONGEST {
        return count(stretch.len());
    }
    let start = stretch.start.saturating_sub(BESIDE);
    let end = symbols.len().min(stretch.end.saturating_add(BESIDE));
    let text = symbols.get(start..end).unwrap_or_default();
    chains(text, room);
    let first = stretch.start - start;
    let within = first..text.len().min(first + stretch.len());
    count(within.len() - plain(&room.0, &within))
}

/// The best way to read a text up to some place: what it is worth, and what it ends with.
#[derive(Clone, Copy, Debug, Default)]
struct Best {
    /// What it is worth if a chain may have ended before, and whether one ends just here.
    apart: i32,
    closed: bool,
    /// What it is worth if a chain ends here: its last word, and whether that is its first.
    chained: Option<(i32, u8, bool)>,
}

/// Finds the best way to read a text up to each place.
fn chains(text: &[u8], Room(best): &mut Room) {
    let Edges { begins, ends } = &*EDGES;
    best.clear();
    best.reserve(text.len() + 1);
    best.push(Best::default());
    // The last letters, as the number that they make.
    let mut letters = 0;
    for (end, &letter) in (1_usize..).zip(text) {
        letters = longer(letters, letter);
        let mut chained = None;
        let lengths = |table: &[u32], place: usize| table.get(place).copied().unwrap_or(0);
        let ends = ends.iter().zip(ENDS);
        let mut left = ends.fold(0, |left, (table, end)| {
            left | lengths(table, end.place(letters))
        });
        while left != 0 {
            let length = usize::try_from(left.trailing_zeros()).unwrap_or(usize::MAX);
            left &= left - 1;
            let Some(word) = end
                .checked_sub(length)
                .and_then(|start| text.get(start..end))
            else {
                break;
            };
            if length > 1 && lengths(begins, beginning(word)) & 1 << length == 0 {
                continue;
            }
            let number = letters & u128::MAX >> (8 * LETTERS.saturating_sub(length));
            let is_word = |_: &&Best| WORDS.contains(&number);
            let Some(before) = best.get(end - length).filter(is_word) else {
                continue;
            };
            let begun = before.apart - CHAIN;
            let (worth, first) = match before.chained {
                Some((worth, ..)) if worth >= begun => (worth, false),
                Some(_) | None => (begun, true),
            };
            let worth = worth + i32::try_from(2 * length - 1).unwrap_or(0);
            let length = u8::try_from(length).unwrap_or(u8::MAX);
            chained = chained.max(Some((worth, length, first)));
        }
        let apart = best.last().map_or(0, |last| last.apart);
        let closed = chained.filter(|(worth, ..)| *worth > apart);
        best.push(Best {
            apart: closed.map_or(apart, |(worth, ..)| worth),
            closed: closed.is_some(),
            chained,
        });
    }
}

/// Follows the best way back from the end; returns how many symbols `within` belong to a chain.
fn plain(best: &[Best], within: &Range<usize>) -> usize {
    let (mut at, mut inside, mut count) = (best.len() - 1, false, 0);
    while at > within.start {
        let one = best.get(at).copied().unwrap_or_default();
        match one.chained.filter(|_| inside || one.closed) {
            Some((_, length, first)) => {
                let start = at - usize::from(length);
                count += at.min(within.end).saturating_sub(start.max(within.start));
                at = start;
                inside = !first;
            }
            None => at -= 1,
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::folded;

    #[test]
    fn the_longest_word_is_one_number() {
        let mut words = include_str!("common/words.txt").split_ascii_whitespace();
        assert!(words.all(|word| word.len() <= LETTERS));
    }

    #[test]
    fn words_that_everybody_writes_are_told_from_the_others() {
        let check = |text: &str, least: u32, most: u32| {
            let symbols = folded(text);
            let found = rare(&symbols, 0..symbols.len(), &mut Room::default());
            assert!((least..=most).contains(&found), "{text}: {found}");
        };
        check("Please let me know if you have any questions.", 0, 0);
        check(
            "This message is intended solely for the person named above",
            0,
            0,
        );
        check("for i in range(len(items)):\n    print(items[i])", 0, 1);
        check("if err != nil {\n\treturn nil, err\n}", 0, 0);
        check(
            "The Kessler depot moves its night shift to Bremen in March",
            30,
            48,
        );
        check(
            "Salaries of the drivers rise by four percent from October",
            30,
            50,
        );
        check("xkqz vvjw pqkd", 12, 12);
        check("", 0, 0);
    }

    #[test]
    fn words_reach_beyond_the_ends_of_a_stretch() {
        let symbols = folded("please do not hesitate to contact us");
        assert_eq!(rare(&symbols, 3..20, &mut Room::default()), 0);
        assert_eq!(rare(&symbols, 3..5000, &mut Room::default()), 4997);
    }
}
