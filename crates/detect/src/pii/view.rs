//! A text under inspection: bytes with harmless edges, words, and what may stand beside a number.
//!
//! Nothing here knows what a number means.

use std::ops::Range;

use mcpproxy_text::bits::{self, BLOCK};

/// A text, read byte by byte; outside of it there are only zeros.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    text: &'a str,
    bytes: &'a [u8],
}

impl<'a> View<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
        }
    }

    pub(super) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    pub(super) fn len(self) -> usize {
        self.bytes.len()
    }

    /// The byte at `at`, or zero.
    pub(super) fn at(self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// The byte `count` before `at`, or zero.
    pub(super) fn before(self, at: usize, count: usize) -> u8 {
        at.checked_sub(count).map_or(0, |place| self.at(place))
    }

    /// The bytes of `range`, or none if it leaves the text.
    pub(super) fn slice(self, range: Range<usize>) -> &'a [u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    /// The text of `range`, or none if it splits a character.
    pub(super) fn str(self, range: Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or_default()
    }

    /// The bytes of at most `count` before `at`.
    pub(super) fn tail(self, at: usize, count: usize) -> &'a [u8] {
        self.slice(at.saturating_sub(count)..at)
    }

    /// The bytes of at most `count` from `at` on.
    pub(super) fn head(self, at: usize, count: usize) -> &'a [u8] {
        self.slice(at..at.saturating_add(count).min(self.len()))
    }

    /// Counts the bytes from `at` on that satisfy `test`, at most `limit`.
    pub(super) fn run(self, at: usize, limit: usize, test: impl Fn(u8) -> bool) -> usize {
        self.head(at, limit)
            .iter()
            .take_while(|byte| test(**byte))
            .count()
    }

    /// Counts the bytes that end at `at` and satisfy `test`, at most `limit`.
    pub(super) fn run_back(self, at: usize, limit: usize, test: impl Fn(u8) -> bool) -> usize {
        self.tail(at, limit)
            .iter()
            .rev()
            .take_while(|byte| test(**byte))
            .count()
    }

    /// Whether a number may begin at `at`: it is not the middle of a name, a path or a fraction.
    pub(super) fn opens(self, at: usize) -> bool {
        match self.before(at, 1) {
            b'n' | b't' | b'r' => self.before(at, 2) == b'\\',
            b'_' | b'-' | b'.' | b'/' | b'%' | b'@' | b'&' | b'$' | b'+' | b'~' | b'^' => false,
            b':' => !self.before(at, 2).is_ascii_digit(),
            byte => !byte.is_ascii_alphanumeric(),
        }
    }

    /// Whether the number in `start..end` is a constant in code: `= 2147764225;`.
    pub(super) fn is_literal(self, start: usize, end: usize) -> bool {
        self.at(end) == b';' && self.tail(start, 2) == b"= "
    }

    /// Whether a number may end at `at`: no further digits or letters hang on it.
    pub(super) fn closes(self, at: usize) -> bool {
        match self.at(at) {
            b'_' | b'@' | b'%' | b'/' | b'+' | b'$' => false,
            b'.' | b'-' | b':' => !self.at(at + 1).is_ascii_alphanumeric(),
            byte => !byte.is_ascii_alphanumeric(),
        }
    }

    /// Whether another group of digits stands directly after `at`, behind one space.
    pub(super) fn precedes_digits(self, at: usize) -> bool {
        self.at(at) == b' ' && self.at(at + 1).is_ascii_digit()
    }

    /// Whether another group of digits stands directly before `at`, behind one space.
    pub(super) fn follows_digits(self, at: usize) -> bool {
        self.before(at, 1) == b' ' && self.before(at, 2).is_ascii_digit()
    }
}

/// Goes from word to word with a digit in it, sixty-four bytes at a time.
#[derive(Debug)]
pub(super) struct Numbers<'a> {
    view: View<'a>,
    /// The block that was looked at last: where it begins, one bit for each byte that is a digit,
    /// and, if there is one, for each that is a letter or a digit.
    base: usize,
    digits: u64,
    words: u64,
}

impl<'a> Numbers<'a> {
    pub(super) fn new(view: View<'a>) -> Self {
        let mut numbers = Self {
            view,
            base: 0,
            digits: 0,
            words: 0,
        };
        numbers.load(0);
        numbers
    }

    /// The next word of ASCII letters and digits whose first digit at or after `from` it is around;
    /// it does not reach before `from`.
    ///
    /// The letter of an escaped line break or tab (`\n42`) is not part of it. Also returns whether it
    /// is nothing but digits.
    pub(super) fn next(&mut self, from: usize) -> Option<(Range<usize>, bool)> {
        let digit = self.digit(from)?;
        let view = self.view;
        let mut start = self.start(digit).max(from);
        if matches!(view.at(start), b'n' | b't' | b'r') && view.before(start, 1) == b'\\' {
            start += 1;
        }
        let word = start..self.end(digit);
        let plain = self.is_plain(&word);
        Some((word, plain))
    }

    /// Whether a word has no letters; most are within the block.
    fn is_plain(&self, word: &Range<usize>) -> bool {
        let from = word.start.checked_sub(self.base);
        let to = word.end.checked_sub(self.base).filter(|to| *to < BLOCK);
        if let (Some(from), Some(to)) = (from, to) {
            let own = !(u64::MAX << to) & u64::MAX << from;
            self.digits & own == own
        } else {
            let bytes = self.view.slice(word.clone());
            bytes.iter().all(u8::is_ascii_digit)
        }
    }

    fn load(&mut self, base: usize) {
        let block = bits::block(self.view.bytes, base);
        self.base = base;
        self.digits = bits::mask(&block, bits::digit);
        if self.digits != 0 {
            self.words = bits::mask(&block, bits::alphanumeric);
        }
    }

    /// The next digit at or after `from`.
    fn digit(&mut self, mut from: usize) -> Option<usize> {
        loop {
            let base = from - from % BLOCK;
            if base >= self.view.len() {
                return None;
            }
            if base != self.base {
                self.load(base);
            }
            let ahead = self.digits & u64::MAX << (from % BLOCK);
            if ahead != 0 {
                return Some(base + ahead.trailing_zeros() as usize);
            }
            from = base + BLOCK;
        }
    }

    /// Where the word around a digit of the block begins.
    fn start(&self, digit: usize) -> usize {
        let gaps = !self.words & !(u64::MAX << (digit % BLOCK));
        if gaps != 0 {
            return self.base + BLOCK - gaps.leading_zeros() as usize;
        }
        let view = self.view;
        self.base - view.run_back(self.base, self.base, |byte| byte.is_ascii_alphanumeric())
    }

    /// Where the word around a digit of the block ends, which may be in a later block.
    fn end(&self, digit: usize) -> usize {
        let mut base = self.base;
        let mut gaps = !self.words & u64::MAX << (digit % BLOCK);
        while gaps == 0 {
            base += BLOCK;
            gaps = !bits::mask(&bits::block(self.view.bytes, base), bits::alphanumeric);
        }
        base + gaps.trailing_zeros() as usize
    }
}

/// The first two letters of some words, five bits of each: what begins otherwise is none of them.
#[derive(Debug)]
pub(super) struct Heads([u32; 32]);

impl Heads {
    /// Takes words of at least two letters.
    #[expect(
        clippy::indexing_slicing,
        reason = "evaluated when compiled; a wrong index does not build"
    )]
    pub(super) const fn of(words: &[&str]) -> Self {
        let mut heads = [0; 32];
        let mut at = 0;
        while at < words.len() {
            let word = words[at].as_bytes();
            heads[(word[0] & 31) as usize] |= 1 << (word[1] & 31);
            at += 1;
        }
        Self(heads)
    }

    /// Whether some word may begin with these letters.
    pub(super) fn may_begin(&self, letters: &[u8]) -> bool {
        let [first, second, ..] = letters else {
            return true;
        };
        let seconds = self.0.get(usize::from(first & 31)).copied().unwrap_or(0);
        seconds >> (second & 31) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slow(view: View<'_>, from: usize) -> Option<(Range<usize>, bool)> {
        let rest = view.bytes().get(from..)?;
        let digit = from + rest.iter().position(u8::is_ascii_digit)?;
        let alphanumeric = |byte: u8| byte.is_ascii_alphanumeric();
        let mut start = digit - view.run_back(digit, digit - from, alphanumeric);
        if matches!(view.at(start), b'n' | b't' | b'r') && view.before(start, 1) == b'\\' {
            start += 1;
        }
        let word = start..digit + view.run(digit, view.len(), alphanumeric);
        let plain = view.slice(word.clone()).iter().all(u8::is_ascii_digit);
        Some((word, plain))
    }

    proptest! {
        #[test]
        fn words_are_those_that_a_look_at_each_byte_finds(
            text in r"[a1é \\n.]{0,40}[a-z1]{0,150}[a1 .\\n-]{0,100}", steps in any::<[u8; 8]>(),
        ) {
            let view = View::new(&text);
            let mut numbers = Numbers::new(view);
            let mut from = 0;
            for step in steps {
                let next = numbers.next(from);
                prop_assert_eq!(&next, &slow(view, from));
                from = next.map_or(from, |(word, _)| word.end) + usize::from(step % 4);
            }
        }
    }
}
