//! What is passed over: what was read otherwise, and what looks like chance and is sent by
//! everybody: hashes, unique numbers, times.

use std::ops::Range;

/// Goes along the spans of what was read otherwise.
#[derive(Debug)]
pub(super) struct Read<'a> {
    /// INVARIANT: sorted by where they begin.
    rest: &'a [Range<usize>],
    until: usize,
}

impl<'a> Read<'a> {
    /// Takes the spans, sorted by where they begin.
    pub(super) fn new(sorted: &'a [Range<usize>]) -> Self {
        Self {
            rest: sorted,
            until: 0,
        }
    }

    /// Returns where the spans end that begin here or before; places are asked for in order.
    pub(super) fn until(&mut self, at: usize) -> usize {
        while let [first, rest @ ..] = self.rest
            && first.start <= at
        {
            self.until = self.until.max(first.end);
            self.rest = rest;
        }
        self.until
    }
}

/// Returns where a hash, a unique number or a time ends that begins here, or `at` if none does.
pub(super) fn usual(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit());
    let count = digits.count();
    if rest.get(count).is_some_and(u8::is_ascii_alphanumeric) {
        return at;
    }
    let word = rest.get(..count).unwrap_or_default();
    match count {
        4 => at + time(rest),
        8 => unique(rest).map_or(at + count, |length| at + length),
        // A commit is named by its first digits, a build or a span by sixteen.
        7..=12 | 16 => at + count,
        32 | 40 | 56 | 64 | 96 | 128 if is_even(word) => at + count,
        _ => at,
    }
}

/// Returns the length of a time such as `2026-03-04T09:15:22.5Z`, or zero.
pub(super) fn time(bytes: &[u8]) -> usize {
    const FORM: &[u8] = b"0000-00-00T00:00";
    let fits = |(form, byte): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        _ => byte == form,
    };
    if bytes.len() < FORM.len() || !FORM.iter().zip(bytes).all(fits) {
        return 0;
    }
    let rest = bytes.iter().skip(FORM.len()).take(FORM.len());
    let more = rest.take_while(|byte| byte.is_ascii_digit() || b":.,+-Z".contains(byte));
    FORM.len() + more.count()
}

/// Returns the length of a number such as `8-4-4-4-12` digits.
pub(super) fn unique(bytes: &[u8]) -> Option<usize> {
    const LENGTH: usize = 36;
    let fits = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => matches!(byte, b'-' | b'_'),
        _ => byte.is_ascii_hexdigit(),
    };
    let whole = bytes.get(..LENGTH)?;
    let over = bytes.get(LENGTH).is_some_and(u8::is_ascii_alphanumeric);
    (!over && whole.iter().enumerate().all(fits)).then_some(LENGTH)
}

/// Tells whether digits can be those of a hash: every bit is set in some bytes and not in others.
fn is_even(digits: &[u8]) -> bool {
    let (mut all, mut any) = (u32::MAX, 0);
    for pair in digits.chunks(2) {
        let value = |sum: u32, digit: &u8| sum << 4 | char::from(*digit).to_digit(16).unwrap_or(0);
        let byte = pair.iter().fold(0, value);
        all &= byte;
        any |= byte;
    }
    all == 0 && any == 0xFF
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_everybody_sends_is_known() {
        let check = |text: &str, expect: usize| assert_eq!(usual(text, 0), expect, "{text}");
        check("9fceb02 is the one", 7);
        check("0b7c9a52-41d3-4e0a-9c7e-3f5a1c2d8e90.", 36);
        check("0b7c9a52-41d3-4e0a-9c7e-3f5a1c2d8e901", 8);
        check("9fceb02d0ae598e95dc970b74767f19372d61af8", 40);
        check("a09b8c9a8dfe8c9a91d09e93939a8ddf", 0);
        check("2026-03-04T09:15:22.5Z INFO", 22);
        check("2026-03-04", 0);
        check("word", 0);
    }
}
