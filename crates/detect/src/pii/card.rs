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

/// The issuer of a number by its first six digits, and only where it issues numbers of that length.
fn issuer(digits: &[u8]) -> Option<Issuer> {
    let (six, length) = (number(digits, 0, 6), digits.len());
    if is_strong(six, length) {
        Some(Issuer::Strong)
    } else {
        is_weak(six, length).then_some(Issuer::Weak)
    }
}

fn is_strong(six: u64, length: usize) -> bool {
    match length {
        // Diners Club.
        14 => matches!(
            six,
            300_000..=305_999 | 309_500..=309_599 | 360_000..=369_999 | 380_000..=399_999
        ),
        // American Express, and the older numbers of JCB.
        15 => matches!(
            six,
            340_000..=349_999 | 370_000..=379_999 | 180_000..=180_099 | 213_100..=213_199
        ),
        16 => {
            let visa_mastercard =
                matches!(six, 400_000..=499_999 | 510_000..=559_999 | 222_100..=272_099);
            let jcb_discover_unionpay = matches!(
                six,
                352_800..=358_999 | 601_100..=601_199 | 644_000..=659_999 | 620_000..=629_999
            );
            let maestro_verve_rupay = matches!(
                six,
                501_800..=502_099 | 670_000..=679_999 | 506_099..=506_198 | 508_500..=508_999
            );
            visa_mastercard || jcb_discover_unionpay || maestro_verve_rupay
        }
        _ => false,
    }
}

fn is_weak(six: u64, length: usize) -> bool {
    let visa = matches!(six, 400_000..=499_999);
    let maestro = matches!(
        six,
        500_000..=509_999 | 560_000..=589_999 | 630_000..=639_999 | 670_000..=679_999
    );
    // Diners Club, JCB, RuPay, Discover, UnionPay and Mir.
    let long = matches!(
        six,
        300_000..=305_999
            | 309_500..=309_599
            | 350_000..=369_999
            | 380_000..=399_999
            | 600_000..=629_999
            | 644_000..=659_999
            | 220_000..=220_499
    );
    // RuPay, Uzcard, Troy and Humo.
    let regional = matches!(
        six,
        810_000..=829_999 | 860_000..=860_099 | 979_200..=979_299 | 986_000..=986_099
    );
    match length {
        // Maestro alone has numbers of twelve digits.
        12 => maestro || matches!(six, 60_400..=60_499),
        13 => maestro || visa,
        14 => maestro,
        // UATP, and Diners Club.
        15 => maestro || matches!(six, 100_000..=199_999 | 360_000..=369_999),
        16 => maestro || long || regional,
        17 | 18 => maestro || long,
        19 => maestro || long || visa,
        _ => false,
    }
}
