//! Payment cards: Luhn, the issuers' ranges, and every way to group the digits.
//!
//! Lengths and ranges that ordinary numbers share need the word for a card near by.

use std::ops::Range;

use super::checksum::{luhn, number, uniform};
use super::view::View;

/// Digits of the longest and the shortest card.
const LONGEST: usize = 19;
pub(super) const SHORTEST: usize = 12;

/// A card number that Luhn and an issuer vouch for.
#[derive(Debug)]
pub(super) struct Card {
    pub(super) span: Range<usize>,
    /// Whether it needs a word for it near by.
    pub(super) weak: bool,
}

/// The card that begins at `start`.
pub(super) fn find(view: View<'_>, start: usize) -> Option<Card> {
    let mut digits = [0_u8; LONGEST];
    let mut count = 0;
    let mut groups = 0;
    let mut group = 0;
    let mut shortest_group = LONGEST;
    let mut separator = 0;
    let mut at = start;
    loop {
        let byte = view.at(at);
        if byte.is_ascii_digit() {
            *digits.get_mut(count)? = byte;
            count += 1;
            group += 1;
            at += 1;
        } else if is_separator(byte, separator) && view.at(at + 1).is_ascii_digit() && group > 0 {
            separator = byte;
            groups += 1;
            shortest_group = shortest_group.min(group);
            group = 0;
            at += 1;
        } else {
            break;
        }
    }
    let digits = digits.get(..count)?;
    let grouped = groups > 0;
    // Groups of fewer than three digits before the last are a table, not a card.
    if count < SHORTEST || grouped && (shortest_group < 3 || groups > 5) || !view.closes(at) {
        return None;
    }
    let issuer = issuer(digits)?;
    (luhn(digits) && !uniform(digits)).then_some(Card {
        span: start..at,
        weak: matches!(issuer, Issuer::Weak) || grouped && groups < 2,
    })
}

/// Whether a byte separates groups, the same one throughout.
fn is_separator(byte: u8, used: u8) -> bool {
    matches!(byte, b' ' | b'-' | b'.') && (used == 0 || used == byte)
}

/// How much an issuer's range says by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Issuer {
    /// A range and length in everyday use.
    Strong,
    /// A range or length that other numbers share.
    Weak,
}

fn issuer(digits: &[u8]) -> Option<Issuer> {
    let two = number(digits, 0, 2);
    let four = number(digits, 0, 4);
    let six = number(digits, 0, 6);
    match (digits.len(), two) {
        (16, 40..=49 | 51..=55 | 65) | (15, 34 | 37) | (14, 36 | 38 | 39) => Some(Issuer::Strong),
        (16, _) if matches!(four, 2221..=2720 | 3528..=3589 | 6011 | 6440..=6499 | 5018..=5020) => {
            Some(Issuer::Strong)
        }
        (16, _) if matches!(six, 622_126..=622_925 | 506_099..=506_198 | 508_500..=508_999) => {
            Some(Issuer::Strong)
        }
        (16, 62 | 67) => Some(Issuer::Strong),
        (14, _) if matches!(four, 3000..=3059 | 3095) => Some(Issuer::Strong),
        (15, _) if matches!(four, 1800 | 2131) => Some(Issuer::Strong),
        (13 | 19, 40..=49) | (12, 0..=9) => Some(Issuer::Weak),
        (16, _) if matches!(four, 2200..=2204 | 9792 | 8100..=8299) => Some(Issuer::Weak),
        (12..=19, 50 | 56..=69) | (15, 10..=19) | (16..=19, 30 | 35 | 36 | 38 | 39) => {
            Some(Issuer::Weak)
        }
        _ => None,
    }
}
