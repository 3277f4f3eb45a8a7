//! A text under inspection: bytes with harmless edges, words, and what may stand beside a number.
//!
//! Nothing here knows what a number means.

use std::ops::Range;

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

    /// The word of ASCII letters and digits around `at`, not reaching before `floor`.
    ///
    /// The letter of an escaped line break or tab (`\n42`) is not part of it.
    pub(super) fn word(self, at: usize, floor: usize) -> Range<usize> {
        let back = self.run_back(at, at - floor.min(at), |byte| byte.is_ascii_alphanumeric());
        let mut start = at - back;
        if matches!(self.at(start), b'n' | b't' | b'r') && self.before(start, 1) == b'\\' {
            start += 1;
        }
        let ahead = self.run(at, self.len(), |byte| byte.is_ascii_alphanumeric());
        start..at + ahead
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

/// The place of the next ASCII digit at or after `from`.
///
/// Whole blocks without a digit are passed over with a loop that the compiler can widen.
pub(super) fn next_digit(bytes: &[u8], from: usize) -> Option<usize> {
    const BLOCK: usize = 32;
    // Where there are digits at all there are many.
    const NEAR: usize = 8;
    let rest = bytes.get(from..)?;
    if let Some(near) = rest.get(..NEAR).and_then(first_digit) {
        return Some(from + near);
    }
    let mut base = from;
    let mut blocks = rest.chunks_exact(BLOCK);
    for block in blocks.by_ref() {
        let any = block
            .iter()
            .fold(0, |any, byte| any | u8::from(byte.wrapping_sub(b'0') < 10));
        if any != 0 {
            return first_digit(block).map(|offset| base + offset);
        }
        base += BLOCK;
    }
    first_digit(blocks.remainder()).map(|offset| base + offset)
}

fn first_digit(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(u8::is_ascii_digit)
}
