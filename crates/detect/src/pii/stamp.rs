//! The moment that a line of a log begins with: nothing in it is anybody's.

use std::ops::Range;

use super::view::View;

/// The length of month and day behind a year, with their dashes.
const STAMP: usize = 6;
/// The length of hour and minute behind that, with what stands before and behind them.
const CLOCK: usize = 7;
/// The length of the seconds behind that, with the first digit of their fraction.
const SECONDS: usize = 4;
/// The most letters and digits that hang on a fraction of a second; more is something else.
const LONGEST: usize = 62;

/// Where the moment ends whose year is `word`, as far as it can be passed over.
pub(super) fn end(view: View<'_>, word: &Range<usize>) -> Option<usize> {
    is_stamp(view, word).then(|| {
        let date = word.end + STAMP;
        let minute = date + clock(view, date);
        minute + seconds(view, minute)
    })
}

/// Whether a word is the year of the date that a line of a log begins with.
///
/// No label stands before it, unless the line before ends in a colon.
fn is_stamp(view: View<'_>, word: &Range<usize>) -> bool {
    let [b'-', month @ .., b'-', one, two] = view.head(word.end, STAMP) else {
        return false;
    };
    let digits = month.iter().chain([one, two]).all(u8::is_ascii_digit);
    let year = word.len() == 4 && view.slice(word.clone()).iter().all(u8::is_ascii_digit);
    let line =
        matches!(view.before(word.start, 1), 0 | b'\n') && view.before(word.start, 2) != b':';
    year && line && digits && !view.at(word.end + STAMP).is_ascii_digit()
}

/// The length of hour and minute behind a date, if the seconds follow and then no more of the kind.
fn clock(view: View<'_>, at: usize) -> usize {
    let [b'T' | b' ', clock @ .., end] = view.head(at, CLOCK + 3) else {
        return 0;
    };
    let timed = clock.iter().enumerate().all(|(place, byte)| match place {
        2 | 5 => *byte == b':',
        _ => byte.is_ascii_digit(),
    });
    let whole = clock.len() == CLOCK + 1 && matches!(end, b'.' | b',' | b' ' | b'Z');
    if timed && whole { CLOCK } else { 0 }
}

/// The length of the seconds behind that with their fraction, as far as letters and digits go: no
/// number of anybody begins there but the address of a machine, and that has more dots.
fn seconds(view: View<'_>, at: usize) -> usize {
    let [one, two, b'.', fraction] = view.head(at, SECONDS) else {
        return 0;
    };
    let behind = view.before(at, 1) == b':' && view.before(at, 2).is_ascii_digit();
    let timed = [one, two, fraction].into_iter().all(u8::is_ascii_digit);
    let length = view.run(at + SECONDS, LONGEST, |byte| byte.is_ascii_alphanumeric());
    let whole = length < LONGEST && view.at(at + SECONDS + length) != b'.';
    if behind && timed && whole {
        SECONDS + length
    } else {
        0
    }
}
