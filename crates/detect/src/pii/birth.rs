//! Dates of birth: a date in any common spelling, and a word for birth near by.

use std::ops::Range;

use super::checksum::{is_day, number};
use super::view::{Heads, View};

/// The first letters of the months in the larger European languages.
const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "mär",
    "mai", "juin", "okt", "dez", "fév", "avr", "aoû", "déc", "ene", "abr", "ago", "dic", "gen",
    "mag", "giu", "lug", "set", "ott", "fev", "out", "mei", "maj",
];

/// How the months begin.
const HEADS: Heads = Heads::of(MONTHS);

/// Whether a month, or the `de` before one, may begin with these three letters.
pub(super) fn may_begin(letters: &[u8]) -> bool {
    letters == b"de "
        || HEADS.may_begin(letters)
            && MONTHS
                .iter()
                .any(|month| month.as_bytes().starts_with(letters))
}

/// The date that begins at `start`, between 1900 and 2035.
pub(super) fn date(view: View<'_>, start: usize) -> Option<Range<usize>> {
    numeric(view, start).or_else(|| spelled(view, start))
}

/// Three groups of digits with the same separator.
fn numeric(view: View<'_>, start: usize) -> Option<Range<usize>> {
    let mut at = start;
    let mut parts = [(0_u64, 0_usize); 3];
    let mut separator = 0;
    for (index, part) in parts.iter_mut().enumerate() {
        let length = view.run(at, 5, |byte| byte.is_ascii_digit());
        let value = number(view.slice(at..at + length), 0, length);
        *part = (value, length);
        at += length;
        if index < 2 {
            let byte = view.at(at);
            if !matches!(byte, b'-' | b'/' | b'.') || separator != 0 && byte != separator {
                return None;
            }
            separator = byte;
            at += 1;
        }
    }
    let day = match parts {
        [(year, 4), (month, 1..=2), (day, 1..=2)] => is_birthday(year, month, day),
        [(one, 1..=2), (two, 1..=2), (year, 4)] => {
            is_birthday(year, two, one) || is_birthday(year, one, two)
        }
        [(one, 1..=2), (two, 1..=2), (_, 2)] => is_day(4, two, one) || is_day(4, one, two),
        _ => false,
    };
    // The time of day may follow behind a T.
    let ends = !view.at(at).is_ascii_alphanumeric() || view.at(at) == b'T';
    (day && ends).then_some(start..at)
}

/// `12 March 1984`, or `12, 1984` with the month before it.
fn spelled(view: View<'_>, start: usize) -> Option<Range<usize>> {
    let length = view.run(start, 3, |byte| byte.is_ascii_digit());
    let day = number(view.slice(start..start + length), 0, length);
    if !(1..=31).contains(&day) || length > 2 {
        return None;
    }
    let suffix = view.run(start + length, 3, |byte| {
        byte.is_ascii_lowercase() || byte == b'.'
    });
    let mut at = start + length + suffix;
    at += view.run(at, 2, |byte| matches!(byte, b' ' | b',' | b'-'));
    let mut first = start;
    if view.at(at).is_ascii_digit() {
        let gap = view.run_back(start, 2, |byte| matches!(byte, b' ' | b'.'));
        let word = view.run_back(start - gap, 10, is_letter);
        first = start - gap - word;
        is_month(view.str(first..start - gap)).then_some(())?;
    } else {
        if view.slice(at..at + 3) == b"de " {
            at += 3;
        }
        let word = view.run(at, 10, is_letter);
        is_month(view.str(at..at + word)).then_some(())?;
        at += word;
        at += view.run(at, 2, |byte| matches!(byte, b' ' | b',' | b'.' | b'-'));
        if view.slice(at..at + 3) == b"de " {
            at += 3;
        }
    }
    let digits = view.run(at, 5, |byte| byte.is_ascii_digit());
    let year = number(view.slice(at..at + digits), 0, digits);
    (digits == 4 && (1900..2035).contains(&year)).then_some(first..at + digits)
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte > 127
}

fn is_month(word: &str) -> bool {
    let lower = word.to_lowercase();
    MONTHS.iter().any(|month| lower.starts_with(month))
}

fn is_birthday(year: u64, month: u64, day: u64) -> bool {
    (1900..2035).contains(&year) && is_day(year, month, day)
}
