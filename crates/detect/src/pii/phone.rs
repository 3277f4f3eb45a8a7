//! Telephone numbers: international, North American, with a trunk zero, and by their label.
//!
//! Dates, times, versions, fractions and plain counters share the digits of a telephone number;
//! what decides is the way they are grouped, and a label where the grouping says too little.

use std::ops::Range;

use super::checksum::{counting, is_day, number, variety};
use super::context::{Near, Topic};
use super::view::View;

/// The most digits of a number by E.164, and room for a trunk prefix.
const DIGITS: usize = 17;
const GROUPS: usize = 8;
/// The confidence in a number that is only in the place of a telephone number.
pub(super) const HINTED: u8 = 60;

/// The calling codes in use, by their length.
const CODES_1: &[u64] = &[1, 7];
const CODES_2: &[u64] = &[
    20, 27, 30, 31, 32, 33, 34, 36, 39, 40, 41, 43, 44, 45, 46, 47, 48, 49, 51, 52, 53, 54, 55, 56,
    57, 58, 60, 61, 62, 63, 64, 65, 66, 81, 82, 84, 86, 90, 91, 92, 93, 94, 95, 98,
];

/// A number and how it was recognized.
#[derive(Debug)]
pub(super) struct Phone {
    pub(super) span: Range<usize>,
    pub(super) confidence: u8,
    pub(super) why: &'static str,
}

/// Digits in groups, as they stand in the text.
#[derive(Debug)]
struct Groups {
    start: usize,
    end: usize,
    plus: bool,
    /// Whether a group stands in parentheses.
    area: bool,
    digits: [u8; DIGITS],
    count: usize,
    lengths: [usize; GROUPS],
    separators: [u8; GROUPS],
    parts: usize,
}

/// The telephone number whose first digit stands at `digit`.
///
/// `near` counts only if the grouping alone does not decide.
pub(super) fn find<'n>(
    view: View<'_>,
    digit: usize,
    near: impl FnOnce() -> &'n Near,
) -> Option<Phone> {
    let groups = read(view, digit)?;
    let body = groups.digits();
    if groups.count < 6 || variety(body) < 3 || !ends(view, groups.end) {
        return None;
    }
    let (confidence, why) = by_shape(view, &groups).or_else(|| {
        if groups.is_date() || !groups.opens(view) || view.is_literal(groups.start, groups.end) {
            return None;
        }
        by_label(&groups, near)
    })?;
    Some(Phone {
        span: groups.start..extension(view, groups.end),
        confidence,
        why,
    })
}

/// Whether a value whose key is known to be a telephone number's looks like one.
pub(super) fn is_whole(view: View<'_>) -> bool {
    let digit = view.run(0, view.len(), |byte| !byte.is_ascii_digit());
    read(view, digit).is_some_and(|groups| {
        groups.start == 0
            && extension(view, groups.end) == view.len()
            && groups.count >= 6
            && variety(groups.digits()) > 1
    })
}

fn by_shape(view: View<'_>, groups: &Groups) -> Option<(u8, &'static str)> {
    if groups.plus {
        return groups
            .is_international()
            .then_some((90, "international form with a calling code"));
    }
    if !groups.opens(view) {
        return None;
    }
    if groups.is_north_american() {
        return Some((80, "area code, exchange and line of North America"));
    }
    if groups.is_date() {
        return None;
    }
    if groups.parts > 1 && groups.has_exit_code() {
        return Some((75, "international form with an exit code"));
    }
    if groups.area && groups.parts > 1 && (9..=12).contains(&groups.count) {
        return Some((75, "area code in parentheses"));
    }
    groups
        .has_trunk_zero()
        .then_some((75, "national form with a trunk prefix"))
}

fn by_label<'n>(groups: &Groups, near: impl FnOnce() -> &'n Near) -> Option<(u8, &'static str)> {
    let grouped = groups.parts > 1;
    let enough = if grouped { 6 } else { 7 };
    let fraction = groups.parts == 2 && groups.separators().contains(&b'.');
    let short = groups
        .lengths()
        .iter()
        .filter(|length| **length == 1)
        .count();
    if groups.count > 15
        || groups.count < enough
        || short > 2
        || fraction
        || counting(groups.digits())
    {
        return None;
    }
    let near = near();
    if near.has(Topic::Phone) {
        return Some((80, "named as a telephone number"));
    }
    (near.has(Topic::Calling) && (grouped || is_mobile(groups.digits())))
        .then_some((HINTED, "in the place of a telephone number"))
}

/// Chinese and Indian mobile numbers are written without any grouping.
fn is_mobile(digits: &[u8]) -> bool {
    match digits {
        [b'1', b'3'..=b'9', ..] => digits.len() == 11,
        [b'6'..=b'9', ..] => digits.len() == 10,
        _ => false,
    }
}

impl Groups {
    fn digits(&self) -> &[u8] {
        self.digits.get(..self.count).unwrap_or_default()
    }

    fn lengths(&self) -> &[usize] {
        self.lengths.get(..self.parts).unwrap_or_default()
    }

    fn separators(&self) -> &[u8] {
        self.separators
            .get(..self.parts.saturating_sub(1))
            .unwrap_or_default()
    }

    /// Whether nothing before the number claims it for something else.
    fn opens(&self, view: View<'_>) -> bool {
        let spaced = self.separators().first() == Some(&b' ');
        view.opens(self.start) && !(spaced && view.follows_digits(self.start))
    }

    /// Two zeros, a calling code in use and a number behind it.
    fn has_exit_code(&self) -> bool {
        let digits = self.digits();
        digits.starts_with(b"00")
            && (10..=16).contains(&self.count)
            && digits.get(2..).is_some_and(has_calling_code)
            && self
                .lengths()
                .first()
                .is_some_and(|first| (4..=6).contains(first))
    }

    /// A plus, a calling code in use and as many digits as E.164 allows.
    fn is_international(&self) -> bool {
        let digits = self.digits();
        let enough = if self.parts > 1 { 8 } else { 9 };
        has_calling_code(digits)
            && (enough..=16).contains(&self.count)
            && !counting(digits)
            && !self.is_signed()
    }

    /// Three, three and four digits; neither area nor exchange begins with 0 or 1.
    fn is_north_american(&self) -> bool {
        let digits = self.digits();
        let national = match self.lengths() {
            [1, 3, 3, 4] if digits.first() == Some(&b'1') => digits.get(1..),
            [3, 3, 4] => Some(digits),
            [3, 7] if self.area => Some(digits),
            _ => None,
        };
        let separators = self.separators();
        let even = self.area
            || separators
                .windows(2)
                .all(|pair| pair.first() == pair.last())
            || self.parts == 4;
        national.is_some_and(|national| {
            even && !separators.contains(&b'/')
                && matches!(national.first(), Some(b'2'..=b'9'))
                && matches!(national.get(3), Some(b'2'..=b'9'))
        })
    }

    /// A zero and a digit that is none, in groups that a number is written in.
    fn has_trunk_zero(&self) -> bool {
        let digits = self.digits();
        let zero = matches!(digits, [b'0', b'1'..=b'9', ..]) && !counting(digits);
        let lengths = self.lengths();
        if self.parts == 1 {
            let mobile = matches!(digits, [_, b'6' | b'7', ..]);
            return zero && (self.count == 11 || self.count == 10 && mobile);
        }
        let separators = self.separators();
        let even = separators
            .iter()
            .skip(1)
            .all(|byte| Some(byte) == separators.get(1));
        let pairs = lengths == [2; 5];
        // Five and four are a postal code of the United States; three, two and four with dashes are
        // a social security number there, and what is left of those here is void.
        let american = lengths == [5, 4] || lengths == [3, 2, 4] && separators.contains(&b'-');
        let dotted = separators.contains(&b'.');
        let sizes = lengths.iter().all(|length| *length >= 2)
            && lengths.first().is_some_and(|first| *first <= 5)
            && (pairs || lengths.iter().any(|length| *length >= 3));
        zero && even && sizes && (9..=12).contains(&self.count) && (pairs || !dotted) && !american
    }

    /// Whether this is something else that is written with a plus: a date past the year 9999, a
    /// place on earth by ISO 6709, or a fraction.
    fn is_signed(&self) -> bool {
        match (self.lengths(), self.separators()) {
            ([5 | 6, 2, 2], _) | ([4, 5] | [6, 7], [b'-']) => true,
            ([first, _], [b'.']) => *first > 3,
            _ => false,
        }
    }

    /// Whether the groups read as a date, perhaps with a time.
    fn is_date(&self) -> bool {
        let digits = self.digits();
        let (year, month, day) = match self.lengths() {
            [4, 2, 2, ..] | [8, 6] | [8] => (0, 4, 6),
            [2, 2, 4, ..] => (4, 2, 0),
            [2, 2, 2] | [2, 2, 2, 2 | 4, ..] => (0, 2, 4),
            [4, 2] | [1 | 2, 1 | 2, 4, ..] => return true,
            _ => return false,
        };
        let part = |at: usize| number(digits, at, at + 2);
        let year_ok = if self.lengths().first() == Some(&2) && year == 0 {
            true
        } else {
            (1800..2200).contains(&number(digits, year, year + 4))
        };
        year_ok && (is_day(4, part(month), part(day)) || is_day(4, part(day), part(month)))
    }
}

/// Whether the digits begin with a calling code in use.
fn has_calling_code(digits: &[u8]) -> bool {
    let three = number(digits, 0, 3);
    CODES_1.contains(&number(digits, 0, 1))
        || CODES_2.contains(&number(digits, 0, 2))
        || matches!(three, 211..=269 | 290..=299 | 350..=389 | 420..=429 | 500..=509)
        || matches!(three, 590..=599 | 670..=692 | 800 | 808 | 850..=888 | 960..=998)
}

/// Reads groups of digits from `digit` on, with the plus or parenthesis before it.
fn read(view: View<'_>, digit: usize) -> Option<Groups> {
    let area = view.before(digit, 1) == b'(' && area_code(view, digit) > 0;
    let mut start = digit - usize::from(area);
    let plus = view.before(start, 1) == b'+';
    start -= usize::from(plus);
    if plus && view.before(start, 1).is_ascii_alphanumeric() {
        return None;
    }
    let mut groups = Groups {
        start,
        end: digit,
        plus,
        area,
        digits: [0; DIGITS],
        count: 0,
        lengths: [0; GROUPS],
        separators: [0; GROUPS],
        parts: 0,
    };
    let mut at = digit;
    let mut inside = area;
    loop {
        let length = view.run(at, DIGITS + 1, |byte| byte.is_ascii_digit());
        for byte in view.slice(at..at + length) {
            *groups.digits.get_mut(groups.count)? = *byte;
            groups.count += 1;
        }
        *groups.lengths.get_mut(groups.parts)? = length;
        groups.parts += 1;
        at += length + usize::from(inside);
        groups.end = at;
        let gap = gap(view, at, inside, groups.parts);
        let Some((gap, opens)) = gap else {
            break;
        };
        if let Some(slot) = groups.separators.get_mut(groups.parts - 1) {
            *slot = view.at(at);
        }
        groups.area |= opens;
        inside = opens;
        at += gap;
    }
    Some(groups)
}

/// The digits of an area code that a parenthesis before `at` opened and closes behind it.
fn area_code(view: View<'_>, at: usize) -> usize {
    let digits = view.run(at, 6, |byte| byte.is_ascii_digit());
    if (1..=5).contains(&digits) && view.at(at + digits) == b')' {
        digits
    } else {
        0
    }
}

/// How far it is from `at` to the next group, and whether that one stands in parentheses.
///
/// An area code follows the calling code or a zero, so it is the second group at the latest.
fn gap(view: View<'_>, at: usize, closed: bool, groups: usize) -> Option<(usize, bool)> {
    let separator = usize::from(matches!(view.at(at), b' ' | b'-' | b'.' | b'/'));
    let next = at + separator;
    if view.at(next).is_ascii_digit() && (separator == 1 || closed) {
        return Some((separator, false));
    }
    (groups == 1 && view.at(next) == b'(' && area_code(view, next + 1) > 0)
        .then_some((separator + 1, true))
}

/// Whether a number may end here; the x of an extension may follow.
fn ends(view: View<'_>, at: usize) -> bool {
    let next = view.at(at + 1);
    match view.at(at) {
        b'x' | b'X' => next.is_ascii_digit(),
        b'-' => !next.is_ascii_digit(),
        _ => view.closes(at),
    }
}

/// The end of the number with its extension.
fn extension(view: View<'_>, end: usize) -> usize {
    let gap = view.run(end, 2, |byte| matches!(byte, b' ' | b','));
    let word = [
        b"extension ".as_slice(),
        b"ext. ",
        b"ext.",
        b"ext ",
        b"ext",
        b"x",
        b"#",
    ]
    .into_iter()
    .find(|word| {
        view.slice(end + gap..end + gap + word.len())
            .eq_ignore_ascii_case(word)
    });
    let Some(word) = word else {
        return end;
    };
    let from = end + gap + word.len();
    let digits = view.run(from, 7, |byte| byte.is_ascii_digit());
    if (1..=6).contains(&digits) {
        from + digits
    } else {
        end
    }
}
