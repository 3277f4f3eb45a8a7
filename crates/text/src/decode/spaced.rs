//! Characters with something between them: letters apart, pairs of hexadecimal digits, numbers of
//! characters in a list.
//!
//! The pass looks at eight bytes in one step for one that comes back at the same distance; only
//! there is a run followed.

use super::alphabets::nibble;
use super::{Coding, Run};
use crate::bits::BLOCK;

/// Letters apart from each other that are a word and not a list.
const LETTERS: usize = 6;
/// Numbers in a row that can spell something.
pub(super) const NUMBERS: usize = 6;
/// Separators between two letters of one word at most; more end the run.
const WIDE: usize = 4;

/// Bytes that follow a block and are looked at with it.
const BEHIND: usize = 8;

/// Adds the runs of `text` whose characters stand apart.
pub(super) fn find(text: &[u8], runs: &mut Vec<Run>) {
    let mut done = 0;
    let mut base = 0;
    while base < text.len() {
        let rest = text.get(base..).unwrap_or_default();
        // What is left at the end is looked at word by word, as is what a block does not rule out.
        let worth = rest.first_chunk().is_none_or(may_stand_apart);
        if worth {
            let (words, _) = rest
                .get(..rest.len().min(BLOCK))
                .unwrap_or(rest)
                .as_chunks();
            for (index, word) in words.iter().enumerate() {
                let at = base + index * 8;
                if looks_apart(u64::from_le_bytes(*word)) && at >= done {
                    let (run, end) = follow(text, at, done);
                    // INVARIANT: nothing is followed twice, found or not, so that the pass stays
                    // linear.
                    done = end;
                    runs.extend(run);
                }
            }
        }
        base += BLOCK;
    }
}

/// Tells whether some word of a block may look apart, without a jump, so that many bytes are done in
/// one go; most blocks have none that does.
fn may_stand_apart(around: &[u8; BLOCK + BEHIND]) -> bool {
    let (two, three) = (coming(around, 2), coming(around, 3));
    let mut apart = 0;
    for (((two, three), byte), next) in two.iter().zip(&three).zip(around).zip(ahead(around, 1)) {
        apart |= (two | three) & may_separate(*byte) & u8::from(byte != next);
    }
    // A sum that is checked is made byte by byte; sixty-four ones fit.
    let mut digits = 0_u8;
    for byte in ahead(around, 0) {
        digits = digits.wrapping_add(is_figure(*byte));
    }
    apart != 0 || digits >= 3 && may_list(around)
}

/// One for each byte of a block that comes back twice at a distance.
fn coming(around: &[u8; BLOCK + BEHIND], distance: usize) -> [u8; BLOCK] {
    let mut flags = [0; BLOCK];
    for ((flag, byte), other) in flags.iter_mut().zip(around).zip(ahead(around, distance)) {
        *flag = u8::from(byte == other);
    }
    for ((flag, byte), other) in flags
        .iter_mut()
        .zip(around)
        .zip(ahead(around, 2 * distance))
    {
        *flag &= u8::from(byte == other);
    }
    flags
}

/// Tells whether a comma of a block stands as `list` wants it.
fn may_list(around: &[u8; BLOCK + BEHIND]) -> bool {
    let mut listed = 0;
    let next = ahead(around, 1).iter().zip(ahead(around, 2));
    for (before, (comma, behind)) in around.iter().zip(next) {
        let closes = is_figure(*before) | (*before >> 6 & 1);
        let opens = is_figure(*behind) | u8::from(*behind == b' ');
        listed |= closes & u8::from(*comma == b',') & opens;
    }
    listed != 0
}

/// The bytes of a block so many places further on.
fn ahead(around: &[u8; BLOCK + BEHIND], by: usize) -> &[u8; BLOCK] {
    let rest = around.get(by..).and_then(<[u8]>::first_chunk);
    rest.unwrap_or(&[0; BLOCK])
}

/// One for every separator and for few others.
fn may_separate(byte: u8) -> u8 {
    let low = u8::from(byte < b'0') | u8::from(byte == b':') | u8::from(byte == b';');
    low | u8::from(byte == b'_') | u8::from(byte == b'|')
}

/// One for a digit and for the few signs that `list` takes for one.
fn is_figure(byte: u8) -> u8 {
    u8::from(byte & 0xF0 == 0x30)
}

const SEPARATOR: u8 = 1;
/// A letter or a digit, or a byte of a character beyond ASCII.
const LETTER: u8 = 2;
const HEX: u8 = 4;
/// A digit of a number, or the `x` in front of one.
const NUMBER: u8 = 8;

/// What each byte can be in a run. A table, since prose has something that looks apart in every
/// other line, and a jump for each class is guessed wrong there.
const CLASSES: [u8; 256] = classes();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn classes() -> [u8; 256] {
    let mut table = [LETTER; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b' ' | b'.' | b'-' | b'_' | b',' | b':' | b'|' | b'/' | b'*' | b'+' | b'\t' | b';' => {
                SEPARATOR
            }
            _ if byte.is_ascii_hexdigit() => LETTER | HEX | NUMBER,
            b'x' => LETTER | NUMBER,
            _ if byte.is_ascii_alphanumeric() => LETTER,
            _ => 0,
        };
        byte += 1;
    }
    table
}

/// Tells whether a byte is of any of these classes.
fn is(byte: u8, classes: u8) -> bool {
    let own = CLASSES.get(usize::from(byte)).copied().unwrap_or(0);
    own & classes != 0
}

fn separates(byte: u8) -> bool {
    is(byte, SEPARATOR)
}

const ONES: u64 = 0x0101_0101_0101_0101;
const LOWS: u64 = 0x7F * ONES;

/// Marks the bytes of a word that are zero, in their highest bits.
const fn zeros(word: u64) -> u64 {
    !(((word & LOWS) + LOWS) | word | LOWS)
}

/// Tells whether some byte of a word is zero, in fewer steps than it takes to say which.
const fn has_zero(word: u64) -> bool {
    word.wrapping_sub(ONES) & !word & !LOWS != 0
}

/// Tells whether a separator comes back twice at a distance of two or three, or whether digits
/// stand around a comma. All eight bytes are looked at in one step.
fn looks_apart(word: u64) -> bool {
    comes_back(word) && any_separates(word, coming_back(word)) || list(word)
}

/// Tells whether some byte comes back twice at a distance of two or three, which few words have.
fn comes_back(word: u64) -> bool {
    let second = word ^ (word >> 16);
    let third = word ^ (word >> 24);
    // Only the first four bytes can come back twice at a distance of two, the first two at three.
    has_zero(second | (second >> 16) | u64::MAX << 32)
        || has_zero(third | (third >> 24) | u64::MAX << 16)
}

/// Marks the bytes that come back twice at a distance of two or three.
fn coming_back(word: u64) -> u64 {
    // The highest bytes have no partner at the distance.
    let next = zeros(word ^ (word >> 8)) & (u64::MAX >> 8);
    let second = zeros(word ^ (word >> 16)) & (u64::MAX >> 16);
    let third = zeros(word ^ (word >> 24)) & (u64::MAX >> 24);
    // A byte that is its own neighbour, as in a ruled line, separates nothing.
    (second & (second >> 16) | third & (third >> 24)) & !next
}

/// Tells whether one of the marked bytes is a separator.
fn any_separates(word: u64, mut marks: u64) -> bool {
    while marks != 0 {
        let [byte, ..] = (word >> (marks.trailing_zeros() - 7)).to_le_bytes();
        if separates(byte) {
            return true;
        }
        marks &= marks - 1;
    }
    false
}

/// Tells whether a comma stands behind a number and before a digit or a space.
fn list(word: u64) -> bool {
    if !has_zero(word ^ (0x2C * ONES)) {
        return false;
    }
    let commas = zeros(word ^ (0x2C * ONES));
    let digits = zeros((word & (0xF0 * ONES)) ^ (0x30 * ONES));
    let spaces = zeros(word ^ (0x20 * ONES));
    // The last digit of a hexadecimal number may be a letter.
    let ends = digits | (word & (0x40 * ONES)) << 1;
    commas & (ends << 8) & ((digits | spaces) >> 8) != 0 && digits.count_ones() >= 3
}

/// Follows the run around a place, not before `least`; also returns how far was looked.
fn follow(text: &[u8], at: usize, least: usize) -> (Option<Run>, usize) {
    let (letters, first) = letters(text, at, least);
    if letters.is_some() {
        return (letters, first);
    }
    let (pairs, second) = pairs(text, at, least);
    if pairs.is_some() {
        return (pairs, second);
    }
    let (numbers, third) = numbers(text, at, least);
    (numbers, first.max(second).max(third))
}

/// Goes back over at most 32 bytes of separators and of the class that they separate.
fn back(text: &[u8], at: usize, least: usize, part: u8) -> usize {
    let floor = least.max(at.saturating_sub(32));
    let before = text.get(floor..at).unwrap_or_default().iter().rev();
    let mut start = at
        - before
            .take_while(|byte| is(**byte, part | SEPARATOR))
            .count();
    // A word that reaches further back is no part of the run.
    let inside = |at: usize| text.get(at).is_some_and(|&byte| is(byte, part));
    if start > 0 && inside(start - 1) {
        while start < at && inside(start) {
            start += 1;
        }
    }
    start
}

/// Splits into parts of characters of the class `part` and the gaps between them; ends where a
/// part or a gap does not please `fits`.
fn parts(
    text: &[u8],
    start: usize,
    part: u8,
    fits: impl Fn(&[u8], &[u8]) -> bool,
) -> (std::ops::Range<usize>, usize) {
    let (mut at, mut count) = (start, 0);
    let mut span = start..start;
    loop {
        let length = |from: usize, class: u8| {
            let rest = text.get(from..).unwrap_or_default();
            rest.iter()
                .take(WIDE + 4)
                .take_while(|byte| is(**byte, class))
                .count()
        };
        let gap = length(at, SEPARATOR);
        let token = length(at + gap, part);
        let gap_bytes = text.get(at..at + gap).unwrap_or_default();
        let token_bytes = text.get(at + gap..at + gap + token).unwrap_or_default();
        // What comes before the first part is not a gap of the run.
        let gap_bytes = if count == 0 { &[][..] } else { gap_bytes };
        let cut = text
            .get(at + gap + token)
            .is_some_and(u8::is_ascii_alphanumeric);
        if token == 0 || cut || !fits(gap_bytes, token_bytes) {
            if count > 0 {
                return (span, count);
            }
            // The first part may be cut; the run starts at a later one.
            if token == 0 && gap == 0 || at > start + 40 {
                return (span, 0);
            }
            at += (gap + token).max(1);
            continue;
        }
        if count == 0 {
            span.start = at + gap;
        }
        at += gap + token;
        span.end = at;
        count += 1;
    }
}

fn letters(text: &[u8], at: usize, least: usize) -> (Option<Run>, usize) {
    let start = back(text, at, least, LETTER);
    let single = |gap: &[u8], token: &[u8]| {
        let same = gap.windows(2).all(|pair| matches!(pair, [a, b] if a == b));
        token.len() == 1 && token.is_ascii() && gap.len() <= WIDE && same
    };
    let (span, count) = parts(text, start, LETTER, single);
    let run = text.get(span.clone()).unwrap_or_default();
    let letters = run.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let word = count >= LETTERS && letters >= LETTERS && letters * 5 >= count * 2;
    let end = span.end;
    let coding = Coding::Separated;
    (word.then_some(Run { span, coding }), end)
}

/// Joins letters; a wider gap than the first one is a space.
pub(super) fn joined(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / 2 + 1);
    let usual = bytes
        .iter()
        .skip(1)
        .take_while(|byte| separates(**byte))
        .count();
    let mut gap = 0;
    for &byte in bytes {
        if separates(byte) {
            gap += 1;
            continue;
        }
        if gap > usual {
            out.push(b' ');
        }
        gap = 0;
        out.push(byte);
    }
    out
}

fn pairs(text: &[u8], at: usize, least: usize) -> (Option<Run>, usize) {
    let start = back(text, at, least, HEX);
    let pair =
        |gap: &[u8], token: &[u8]| token.len() == 2 && gap.len() <= 2 && !gap.contains(&b',');
    let (span, count) = parts(text, start, HEX, pair);
    let spells = || {
        let head = span.start..span.end.min(span.start + 48);
        let head = char_codes(text.get(head).unwrap_or_default()).unwrap_or_default();
        head.iter().take(12).copied().all(plain_code)
    };
    let spells = count >= NUMBERS && spells();
    let end = span.end;
    let coding = Coding::CharCodes;
    (spells.then_some(Run { span, coding }), end)
}

fn numbers(text: &[u8], at: usize, least: usize) -> (Option<Run>, usize) {
    let start = back(text, at, least, NUMBER);
    let number = |gap: &[u8], token: &[u8]| {
        let comma = gap.is_empty() || gap.contains(&b',');
        comma && code(token).is_some_and(plain_code)
    };
    let (span, count) = parts(text, start, NUMBER, number);
    let end = span.end;
    let coding = Coding::CharCodes;
    ((count >= NUMBERS).then_some(Run { span, coding }), end)
}

fn plain_code(code: u8) -> bool {
    matches!(code, b'\t' | b'\n' | b'\r' | 0x20..0x7F)
}

/// Reads `0x69` or `105`.
fn code(token: &[u8]) -> Option<u8> {
    match token {
        [b'0', b'x', high, low] => Some(nibble(*high)? << 4 | nibble(*low)?),
        _ => std::str::from_utf8(token).ok()?.parse().ok(),
    }
}

/// Reads a list of numbers: with commas decimal or `0x`, otherwise pairs of hexadecimal digits.
pub(super) fn char_codes(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut tokens = bytes
        .split(|&byte| separates(byte))
        .filter(|token| !token.is_empty());
    let pairs = tokens
        .clone()
        .all(|token| token.len() == 2 && token.iter().all(u8::is_ascii_hexdigit));
    let listed = memchr::memchr(b',', bytes).is_some();
    if pairs && !listed {
        return tokens
            .map(|token| Some(nibble(*token.first()?)? << 4 | nibble(*token.get(1)?)?))
            .collect();
    }
    tokens.try_fold(Vec::new(), |mut out, token| {
        out.push(code(token)?);
        Some(out)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_block_with_a_word_that_looks_apart_is_never_passed_over(
            text in "([a-z]{0,9}|[ab .,|1é]{0,12}|(0x6f, ?){0,3}){72,90}",
        ) {
            for base in (0..text.len()).step_by(BLOCK) {
                let Some(around) = text.as_bytes().get(base..).and_then(<[u8]>::first_chunk) else {
                    break;
                };
                let words = around.as_chunks::<8>().0.iter().take(BLOCK / 8);
                let apart = words.map(|word| u64::from_le_bytes(*word)).any(looks_apart);
                prop_assert!(!apart || may_stand_apart(around));
            }
        }

        #[test]
        fn a_byte_that_comes_back_is_never_passed_over(word in "[a .,1é]{8,16}") {
            let bytes = word.as_bytes().first_chunk().copied().unwrap_or_default();
            let word = u64::from_le_bytes(bytes);
            let marked = zeros(word);
            prop_assert_eq!(has_zero(word), marked != 0);
            prop_assert!(comes_back(word) || coming_back(word) == 0);
        }
    }
}
