//! The words of a text, and lists of words that are asked for one after the other: most are told
//! from all of a list by their first letter and their length.

use std::ops::Range;

/// Returns what stands between the bytes that divide a text, empty words included. Bytes of which a
/// character has several divide all of it or nothing.
pub(crate) fn split(
    text: &str,
    divides: impl Fn(u8) -> bool,
) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    let words = text.as_bytes().split(move |&byte| divides(byte));
    words.map(move |word| {
        let start = at;
        at += word.len() + 1;
        (
            start,
            text.get(start..start + word.len()).unwrap_or_default(),
        )
    })
}

/// Returns the words of at least `least` bytes, as [`split`] does: most text has none of them, and is
/// passed over from what divides it to what divides it furthest on.
pub(crate) fn long(
    text: &str,
    least: usize,
    divides: impl Fn(u8) -> bool,
) -> impl Iterator<Item = (usize, &str)> {
    let bytes = text.as_bytes();
    // INVARIANT: a word begins here, behind what divides it from the one before.
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at;
            let head = bytes.get(start..start + least)?;
            if let Some(last) = head.iter().rposition(|&byte| divides(byte)) {
                at = start + last + 1;
                continue;
            }
            let rest = bytes.get(start + least..).unwrap_or_default();
            let more = rest.iter().position(|&byte| divides(byte));
            let end = start + least + more.unwrap_or(rest.len());
            at = end + 1;
            return Some((start, text.get(start..end).unwrap_or_default()));
        }
    })
}

/// What divides words, among the kinds of bytes.
pub(crate) const SPACE: u8 = 1;

/// Hands every word of a text to `each`, empty ones included, with the kinds of all of its bytes.
/// Most words are not worth more than that one look at each byte.
#[inline]
pub(crate) fn kinds(text: &str, kind: impl Fn(u8) -> u8, mut each: impl FnMut(Range<usize>, u8)) {
    let (mut start, mut kinds) = (0, 0);
    for (at, byte) in text.bytes().enumerate() {
        let kind = kind(byte);
        if kind == SPACE {
            each(start..at, kinds);
            (start, kinds) = (at + 1, 0);
        } else {
            kinds |= kind;
        }
    }
    each(start..text.len(), kinds);
}

/// A sorted list of words in small ASCII letters.
#[derive(Debug)]
pub(crate) struct Words {
    list: &'static [&'static str],
    /// Where the words with each first letter begin.
    starts: [u16; 27],
    /// The lengths of the words that begin with each letter, as bits.
    lengths: [u32; 26],
}

impl Words {
    /// Makes a list that can be asked.
    #[expect(
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        reason = "evaluated when compiled; a wrong index or an unsorted list does not build"
    )]
    pub(crate) const fn new(list: &'static [&'static str]) -> Self {
        let mut starts = [0; 27];
        let mut lengths = [0; 26];
        let (mut at, mut letter) = (0, 0);
        while at < list.len() {
            let word = list[at].as_bytes();
            let first = (word[0] - b'a') as usize;
            assert!(first + 1 >= letter && word.len() < 32);
            while letter <= first {
                starts[letter] = at as u16;
                letter += 1;
            }
            lengths[first] |= 1 << word.len();
            at += 1;
        }
        while letter < 27 {
            starts[letter] = at as u16;
            letter += 1;
        }
        Self {
            list,
            starts,
            lengths,
        }
    }

    /// Tells whether a word is in the list, in any case.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.has_bytes(word.as_bytes())
    }

    /// Tells the same of the bytes of a word.
    #[inline]
    pub(crate) fn has_bytes(&self, word: &[u8]) -> bool {
        let [first, ..] = word else {
            return false;
        };
        let letter = usize::from(first.to_ascii_lowercase().wrapping_sub(b'a'));
        let lengths = self.lengths.get(letter).copied().unwrap_or(0);
        if word.len() >= 32 || lengths >> word.len() & 1 == 0 {
            return false;
        }
        self.lists(letter, word)
    }

    /// Tells whether a word is among those that begin with its letter.
    fn lists(&self, letter: usize, word: &[u8]) -> bool {
        let start = |letter: usize| self.starts.get(letter).map_or(0, |at| usize::from(*at));
        let same = self.list.get(start(letter)..start(letter + 1));
        let mut same = same.unwrap_or_default().iter();
        same.any(|known| known.as_bytes().eq_ignore_ascii_case(word))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn long_words_are_those_of_the_split_that_are_long(
            text in "([a-zé]{0,9}[ ,]{0,2}){0,9}", least in 1_usize..9,
        ) {
            let divides = |byte: u8| matches!(byte, b' ' | b',');
            let all = split(&text, divides).filter(|(_, word)| word.len() >= least);
            prop_assert_eq!(all.collect::<Vec<_>>(), long(&text, least, divides).collect::<Vec<_>>());
        }
    }

    #[test]
    fn words_are_found_in_any_case_and_none_beside_them() {
        static WORDS: Words = Words::new(&["alpha", "beta", "bravo", "zulu"]);
        let check = |word: &str, expect: bool| assert_eq!(WORDS.has(word), expect, "{word}");
        for word in ["alpha", "Beta", "BRAVO", "zulu"] {
            check(word, true);
        }
        for word in [
            "",
            "alph",
            "alphb",
            "bet",
            "gamma",
            "zul\u{fc}",
            "{eta",
            "a-pha",
        ] {
            check(word, false);
        }
    }
}
