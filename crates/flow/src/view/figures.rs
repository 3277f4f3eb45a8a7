//! Runs of numbers with hardly a word between them: whatever can be numbered can be sent as
//! numbers, in any notation. People send tables and series, too, but those that they made up
//! themselves are short.

use std::collections::HashSet;
use std::ops::Range;

use mcpproxy_text::bits::{self, BLOCK};

use super::meter::Meter;
use super::usual::{Read, time, unique};

/// Digits that make a run; those of one card or account are fewer.
const ENOUGH: i32 = 28;
/// Letters, in digits, after which a run is over.
const OVER: i32 = 24;
/// Digits of one word that count: a long one is one value.
const WORD: usize = 10;
/// Fewer words than these cannot make a run.
const FEWEST: usize = 3;
/// What a letter takes off.
const LETTER: i32 = 2;

/// Returns the runs of numbers in a text, but for what lies in `read`, which is sorted.
pub(super) fn find(text: &str, read: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if i32::try_from(digits(text.as_bytes())).unwrap_or(i32::MAX) < ENOUGH / 2
        || numbers(text) < FEWEST
    {
        return found;
    }
    let mut meter = Meter::new(ENOUGH, OVER);
    let mut seen = HashSet::new();
    let mut read = Read::new(read);
    let (mut at, mut last) = (0, None);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let word = Word::first(rest);
        let place = at..at + word.length;
        at = place.end;
        if place.start < read.until(place.start) {
            continue;
        }
        let mut more = word.value();
        // Words and signs are no numbers, whether they came before or not.
        if word.digits > 0 || word.is_hex {
            let known = known(rest.as_bytes());
            at = at.max(place.start + known);
            let word = rest.get(..place.len()).unwrap_or_default();
            let number = word.parse::<u64>().ok();
            // Nothing follows the largest number that there is.
            let next = last.and_then(|one: u64| one.checked_add(1));
            let follows = number.is_some() && (number == last || number == next);
            if more > 0 && (known > 0 || follows || word.len() > 2 && !seen.insert(word)) {
                more = 0;
            }
            last = number.or(last);
        }
        meter.add(place, more, &mut found);
    }
    meter.end(&mut found);
    found
}

/// Counts digits in blocks, in which no count wraps, so that the compiler does many bytes in one go.
fn digits(text: &[u8]) -> usize {
    let count = |block: &[u8]| {
        let add = |sum: u8, byte: &u8| sum.wrapping_add(bits::digit(*byte));
        usize::from(block.iter().fold(0, add))
    };
    text.chunks(BLOCK).map(count).sum()
}

/// Counts words with a digit, as far as it matters.
fn numbers(text: &str) -> usize {
    let words = text.as_bytes().split(|byte| !byte.is_ascii_alphanumeric());
    let numbers = words.filter(|word| word.iter().any(u8::is_ascii_digit));
    numbers.take(FEWEST).count()
}

/// A word, or a sign that stands alone.
#[derive(Debug)]
struct Word {
    length: usize,
    digits: usize,
    /// Letters of any language.
    letters: usize,
    /// Whether all of it are hexadecimal digits.
    is_hex: bool,
}

impl Word {
    /// Looks at the word at the beginning of a text, or at the sign that stands there.
    fn first(text: &str) -> Self {
        let mut word = Self {
            length: 0,
            digits: 0,
            letters: 0,
            is_hex: true,
        };
        for byte in text.bytes() {
            match byte {
                b'0'..=b'9' => word.digits += 1,
                b'a'..=b'f' | b'A'..=b'F' => word.letters += 1,
                b'g'..=b'z' | b'G'..=b'Z' => {
                    word.letters += 1;
                    word.is_hex = false;
                }
                0x80.. => return Self::of_any(text),
                _ => break,
            }
            word.length += 1;
        }
        if word.length == 0 {
            (word.length, word.is_hex) = (1, false);
        }
        word
    }

    /// The same for a word that is not all ASCII.
    fn of_any(text: &str) -> Self {
        let mut chars = text.chars().take_while(|char| char.is_alphanumeric());
        let mut word = Self {
            length: 0,
            digits: 0,
            letters: 0,
            is_hex: true,
        };
        for char in chars.by_ref() {
            word.length += char.len_utf8();
            word.digits += usize::from(char.is_ascii_digit());
            word.letters += usize::from(char.is_alphabetic());
            word.is_hex &= char.is_ascii_hexdigit();
        }
        if word.length == 0 {
            word.length = text.chars().next().map_or(1, char::len_utf8);
            word.is_hex = false;
        }
        word
    }

    /// Returns what the word counts: its digits, or what its letters take off.
    fn value(&self) -> i32 {
        let count = |length: usize| i32::try_from(length.min(WORD)).unwrap_or(0);
        match self.digits {
            0 if self.is_hex && self.length <= 2 => 0,
            0 => -LETTER * count(self.letters),
            digits if self.is_hex || digits * 2 >= self.length => count(self.length),
            _ => 0,
        }
    }
}

/// Returns the length of a time, a date or a unique number at the beginning, or zero.
fn known(text: &[u8]) -> usize {
    const FORMS: [&[u8]; 2] = [b"0000-00-00", b"00:00"];
    let fits = |form: &&&[u8]| {
        let fit = |(form, byte): (&u8, &u8)| match form {
            b'0' => byte.is_ascii_digit(),
            _ => byte == form,
        };
        text.len() >= form.len() && form.iter().zip(text).all(fit)
    };
    let short = FORMS.iter().find(fits).map_or(0, |form| form.len());
    let unique = unique(text).unwrap_or(0);
    time(text).max(short).max(unique)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_numbers_are_told_from_numbers_in_text() {
        let check = |text: &str, expect: bool| {
            assert_eq!(!find(text, &[]).is_empty(), expect, "{text}");
        };
        check("16 45 23 52 11 34 15 24 33 41 22 53 14 25", true);
        check("#3f9a2c #81d04e #aa17b3 #5c60f2 #e8d911", true);
        check("3170429586—8841270935—5526019347", true);
        check("3170429586—8841270935", false);
        check(
            "48.8566,2.3522 -33.8688,151.2093 35.6762,139.6503 40.7128,74.0060",
            true,
        );
        check(
            "call +49 30 5550 1234 about account DE02 1203 0000 0000 2020 51",
            false,
        );
        check(
            "1. one\n2. two\n3. three\n4. four\n5. five\n6. six\n7. seven\n8. eight",
            false,
        );
        check(
            "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24",
            false,
        );
        check(
            "2026-03-04T09:15:22Z 2026-03-05T09:15:22Z 2026-03-06T09:15:22Z",
            false,
        );
        check(
            "0b7c9a52-41d3-4e0a-9c7e-3f5a1c2d8e90 failed at 09:15:22",
            false,
        );
        check(
            "built 1204 crates in 312 s, 44 warnings, 0 errors, 98 % of 20310 lines",
            false,
        );
        check("any from 0 to 18446744073709551615, or 7 of them", false);
    }
}
