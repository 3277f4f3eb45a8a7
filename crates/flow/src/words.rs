//! The words of a text, and lists of words that are asked for one after the other: most are told
//! from all of a list by their first letter and their length.

use std::ops::Range;

use mcpproxy_text::bits::{self, BLOCK};

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

/// Longest text, and one more, that is looked at byte by byte first.
const SHORT: usize = 20;

/// One for what divides words and zero for any other byte.
pub(crate) fn blank(byte: u8) -> u8 {
    u8::from(byte == b' ') | u8::from(matches!(byte, b'\t' | b'\n' | b'\r' | b'\x0C'))
}

/// Hands the words of a text to `each` that have a byte for which `mark` is one, or at least `LEAST`
/// bytes, if that is not zero; it is no more than [`BLOCK`]. Blanks divide words; most words have
/// neither, and are passed over sixty-four bytes at a time.
pub(crate) fn marked<const LEAST: usize>(
    text: &str,
    mark: impl Fn(u8) -> u8,
    mut each: impl FnMut(Range<usize>),
) {
    const { assert!(LEAST <= BLOCK) };
    let bytes = text.as_bytes();
    let short = if LEAST == 0 { SHORT } else { LEAST.min(SHORT) };
    // Most texts are keys and short values without any mark, and a look at each of their bytes is less
    // than a look at a block.
    if bytes.len() < short && bytes.iter().all(|&byte| mark(byte) == 0) {
        return;
    }
    // Where the last word begins, and whether it is marked: it may go on in the next block.
    let (mut start, mut is_marked) = (0, false);
    // The last bytes of the block before that divide nothing.
    let mut before = 0;
    for base in (0..bytes.len()).step_by(BLOCK) {
        let block = bits::block(bytes, base);
        let within = u64::MAX >> BLOCK.saturating_sub(bytes.len() - base);
        let blanks = bits::mask(&block, blank);
        let mut marks = bits::mask(&block, &mark) & within;
        if LEAST > 0 {
            let solid = u128::from(!blanks & within) << (LEAST - 1) | before;
            before = solid >> BLOCK;
            marks |= runs::<LEAST>(solid);
        }
        if is_marked {
            // The first byte stands for the word that goes on.
            marks |= 1;
        }
        let mut left = blanks;
        loop {
            let at = marks.trailing_zeros();
            // Blanks before the mark: the last of them is where its word begins.
            let passed = left & !u64::MAX.checked_shl(at).unwrap_or(0);
            if passed != 0 {
                start = base + BLOCK - passed.leading_zeros() as usize;
            }
            left &= !passed;
            is_marked = marks != 0;
            if !is_marked || left == 0 {
                break;
            }
            let end = left.trailing_zeros();
            each(start..base + end as usize);
            marks &= u64::MAX << end << 1;
        }
    }
    if is_marked {
        each(start..bytes.len());
    }
}

/// Returns where, in the lower half, as many bits in a row begin.
#[inline]
fn runs<const LEAST: usize>(mut bits: u128) -> u64 {
    let mut have = 1;
    while have < LEAST {
        let step = have.min(LEAST - have);
        bits &= bits >> step;
        have += step;
    }
    u64::try_from(bits & u128::from(u64::MAX)).unwrap_or(0)
}

/// Hands the runs of ASCII letters and digits of a text to `each`; they end where bits say so, and not
/// by a guess at every byte.
#[inline]
pub(crate) fn alphanumeric<'t>(text: &'t str, mut each: impl FnMut(&'t str)) {
    runs_of_words(text.as_bytes(), |span| {
        each(text.get(span).unwrap_or_default());
    });
}

/// Hands on where the runs of ASCII letters and digits of a text are.
#[inline]
pub(crate) fn runs_of_words(bytes: &[u8], mut each: impl FnMut(Range<usize>)) {
    // Where the last run begins, if it goes on.
    let mut start = None;
    // Whether the last byte of the block before is one of them.
    let mut before = 0;
    for base in (0..bytes.len()).step_by(BLOCK) {
        let within = bits::mask(&bits::block(bytes, base), bits::alphanumeric);
        let mut edges = within ^ (within << 1 | before);
        before = within >> (BLOCK - 1);
        let mut next = || {
            let at = base + edges.trailing_zeros() as usize;
            let any = edges != 0;
            edges &= edges.wrapping_sub(1);
            any.then_some(at)
        };
        if let Some(from) = start {
            let Some(end) = next() else {
                continue;
            };
            each(from..end);
        }
        start = loop {
            let Some(from) = next() else {
                break None;
            };
            let Some(end) = next() else {
                break Some(from);
            };
            each(from..end);
        };
    }
    if let Some(start) = start {
        each(start..bytes.len());
    }
}

/// Hands on where the words of a text are that blanks divide, the last one first.
pub(crate) fn from_end(text: &str, mut each: impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    // Where the last word ends, if it goes on.
    let mut end = None;
    // Whether the first byte of the block behind is one of a word.
    let mut behind = 0;
    for base in (0..bytes.len()).step_by(BLOCK).rev() {
        let within = u64::MAX >> BLOCK.saturating_sub(bytes.len() - base);
        let solid = !bits::mask(&bits::block(bytes, base), blank) & within;
        let mut edges = solid ^ (solid >> 1 | behind << (BLOCK - 1));
        behind = solid & 1;
        while edges != 0 {
            let last = edges.ilog2();
            edges ^= 1 << last;
            let at = base + last as usize + 1;
            end = match end {
                Some(end) => {
                    each(at..end);
                    None
                }
                None => Some(at),
            };
        }
    }
    if let Some(end) = end {
        each(0..end);
    }
}

/// Returns the words of a text that blanks divide, the last one first. Who asks for a few of a long text
/// finds them sooner than with [`from_end`].
pub(crate) fn last(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let bytes = rest.trim_ascii_end().as_bytes();
        // Nearly all bytes are none by the first look.
        let divides = |byte: &u8| *byte <= b' ' && byte.is_ascii_whitespace();
        let before = bytes.iter().rposition(divides);
        let start = before.map_or(0, |at| at + 1);
        let word = rest.get(start..bytes.len()).unwrap_or_default();
        rest = rest.get(..start).unwrap_or_default();
        (!word.is_empty()).then_some(word)
    })
}

/// Returns a word without what stands around its letters and digits.
pub(crate) fn trimmed(word: &str) -> &str {
    // Most words have nothing to trim.
    if let [first, .., last] = word.as_bytes()
        && first.is_ascii_alphanumeric()
        && last.is_ascii_alphanumeric()
    {
        return word;
    }
    word.trim_matches(|char: char| !char.is_alphanumeric())
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

    fn has_marked<const LEAST: usize>(text: &str) {
        let fits = |word: &str| {
            LEAST > 0 && word.len() >= LEAST || word.bytes().any(|byte| byte.is_ascii_digit())
        };
        let all = split(text, |byte| blank(byte) == 1).filter(|(_, word)| fits(word));
        let all: Vec<_> = all.map(|(at, word)| at..at + word.len()).collect();
        let mut found = Vec::new();
        marked::<LEAST>(text, bits::digit, |span| found.push(span));
        assert_eq!(found, all, "{LEAST} {text}");
    }

    proptest! {
        #[test]
        fn marked_words_are_those_of_the_split_that_have_a_mark_or_are_long(
            text in "([a-zé0-9]{0,30}[ \n]{0,2}|[a-z]{50,90} ?|[a-z]{1,3}[ ]{60,70}){0,9}",
        ) {
            has_marked::<0>(&text);
            has_marked::<1>(&text);
            has_marked::<7>(&text);
            has_marked::<20>(&text);
            has_marked::<63>(&text);
            has_marked::<BLOCK>(&text);
        }

        #[test]
        fn last_words_are_those_of_the_split_turned_round(
            text in "([a-zé0-9]{0,9}[ \n\t\r\x0C]{0,2}){0,9}",
        ) {
            let all: Vec<_> = text.split_ascii_whitespace().rev().collect();
            prop_assert_eq!(last(&text).collect::<Vec<_>>(), all);
        }

        #[test]
        fn runs_of_letters_and_digits_are_those_of_the_split(
            text in "([a-zA-Z0-9]{0,30}[ é,]{0,2}|[a-z]{50,150} ?|,{60,140}){0,9}",
        ) {
            let all = text.split(|char: char| !char.is_ascii_alphanumeric());
            let all = all.filter(|word| !word.is_empty());
            let mut found = Vec::new();
            alphanumeric(&text, |word| found.push(word));
            prop_assert_eq!(found, all.collect::<Vec<_>>());
        }

        #[test]
        fn words_from_the_end_are_those_of_the_split_turned_round(
            text in "([a-zé0-9]{0,30}[ \n\t\r\x0C]{0,2}|[a-z]{50,150} ?|[ ]{60,140}){0,9}",
        ) {
            let mut found = Vec::new();
            from_end(&text, |span| found.push(text.get(span).unwrap()));
            prop_assert_eq!(found, text.split_ascii_whitespace().rev().collect::<Vec<_>>());
        }

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
