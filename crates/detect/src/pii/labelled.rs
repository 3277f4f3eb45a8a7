//! Numbers that only their label gives away: passports, licences, accounts, records of patients.
//!
//! No check digit is common to them, so each needs its name near by and a plausible length.

use std::ops::Range;

use mcpproxy_core::Severity;

use super::checksum::{typed, uniform};
use super::context::{Near, Topic};
use super::view::View;

/// One kind of number that a label names.
#[derive(Debug)]
pub(super) struct Label {
    pub(super) kind: &'static str,
    pub(super) name: &'static str,
    topic: Topic,
    /// The least and the most letters and digits.
    length: Range<usize>,
    /// The least digits among them.
    digits: usize,
    /// The most letters among them.
    letters: usize,
    pub(super) severity: Severity,
}

/// All of them, the narrower first.
const LABELS: &[Label] = &[
    label(
        "passport",
        "passport number",
        Topic::Passport,
        6..11,
        5,
        3,
        Severity::High,
    ),
    label(
        "driver_license",
        "driver's licence",
        Topic::Licence,
        5..18,
        4,
        6,
        Severity::High,
    ),
    label(
        "medical_record",
        "medical record number",
        Topic::Medical,
        5..15,
        4,
        4,
        Severity::High,
    ),
    label(
        "health_insurance",
        "insurance number",
        Topic::Policy,
        6..17,
        5,
        5,
        Severity::High,
    ),
    label(
        "bank_account",
        "bank account number",
        Topic::Account,
        7..19,
        7,
        0,
        Severity::High,
    ),
    label(
        "vin",
        "vehicle identification number",
        Topic::Vehicle,
        17..18,
        3,
        14,
        Severity::Low,
    ),
];

/// All kinds that a label names.
pub(super) fn all() -> impl Iterator<Item = &'static Label> {
    LABELS.iter()
}

const fn label(
    kind: &'static str,
    name: &'static str,
    topic: Topic,
    length: Range<usize>,
    digits: usize,
    letters: usize,
    severity: Severity,
) -> Label {
    Label {
        kind,
        name,
        topic,
        length,
        digits,
        letters,
        severity,
    }
}

/// What the nearest label makes of the value in `span`.
pub(super) fn find(view: View<'_>, span: Range<usize>, near: &Near) -> Option<&'static Label> {
    if !near.any() {
        return None;
    }
    fitting(view, span)
        .filter(|label| near.has(label.topic))
        .max_by_key(|label| near.to(label.topic))
}

/// Whether any label at all could name the value in `span`.
pub(super) fn may_name(view: View<'_>, span: Range<usize>) -> bool {
    fitting(view, span).next().is_some()
}

/// The labels for values like the one in `span`.
fn fitting(view: View<'_>, span: Range<usize>) -> impl Iterator<Item = &'static Label> {
    let value = view.slice(span);
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = value
        .iter()
        .filter(|byte| byte.is_ascii_alphabetic())
        .count();
    let labels = LABELS.iter().filter(move |label| {
        label.length.contains(&(digits + letters))
            && digits >= label.digits
            && letters <= label.letters
            && (label.kind != "vin" || is_vin(value))
    });
    labels.filter(move |_| !uniform(value) && !typed(value))
}

/// The end of the dashed groups that the word up to `end` begins, as some licences have them.
pub(super) fn end_of_groups(view: View<'_>, end: usize) -> usize {
    let mut at = end;
    for _ in 0..4 {
        let more = view.run(at + 1, 12, |byte| byte.is_ascii_alphanumeric());
        if view.at(at) != b'-' || more == 0 {
            break;
        }
        at += 1 + more;
    }
    at
}

/// The check digit of a vehicle in North America; I, O and Q are never used.
fn is_vin(value: &[u8]) -> bool {
    const WEIGHTS: [u32; 17] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
    const LETTERS: &[u8; 26] = b"12345678012345070923456789";
    let upper = value.to_ascii_uppercase();
    let weight = |byte: &u8| match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        _ => LETTERS
            .get(usize::from(byte.wrapping_sub(b'A')))
            .map_or(0, |digit| u32::from(digit - b'0')),
    };
    let sum: u32 = upper
        .iter()
        .zip(WEIGHTS)
        .map(|(byte, by)| weight(byte) * by)
        .sum();
    let wanted = match sum % 11 {
        10 => b'X',
        rest => b'0' + u8::try_from(rest).unwrap_or(0),
    };
    upper.get(8) == Some(&wanted) && !upper.iter().any(|byte| b"IOQ".contains(byte))
}
