//! Africa and Oceania.

use mcpproxy_core::Severity;

use super::{Kind, high};
use crate::pii::checksum::{counting, digit, is_day, is_yymmdd, luhn, number, uniform, weighed};
use crate::pii::context::Topic;

/// The kinds of this part of the world.
pub(super) const KINDS: &[Kind] = &[
    high(
        "za_id",
        "South African identity number",
        Topic::SouthAfricanId,
        &["999999_9999_999"],
        &["9999999999999", "999999 9999 999"],
        south_african,
    ),
    high(
        "ng_nin",
        "Nigerian NIN",
        Topic::NigerianId,
        &["99999999999", "9999 999 9999"],
        &[],
        |id| !uniform(id) && !counting(id),
    )
    .unchecked(),
    high(
        "eg_national_id",
        "Egyptian national number",
        Topic::EgyptianId,
        &["99999999999999"],
        &[],
        |id| matches!(digit(id, 0), 2 | 3) && is_yymmdd(id, 1),
    )
    .unchecked(),
    high(
        "au_tfn",
        "Australian tax file number",
        Topic::Tfn,
        &["999_999_999"],
        &[],
        |id| weighed(id, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11) && !uniform(id),
    ),
    high(
        "au_abn",
        "Australian business number",
        Topic::Abn,
        &["99_999_999_999"],
        &["99 999 999 999"],
        abn,
    )
    .rated(Severity::Low),
    high(
        "au_acn",
        "Australian company number",
        Topic::Acn,
        &["999_999_999"],
        &[],
        acn,
    )
    .rated(Severity::Low),
    high(
        "au_medicare",
        "Australian Medicare number",
        Topic::AustralianMedicare,
        &["9999_99999_9"],
        &["9999 99999 9"],
        medicare,
    ),
    high(
        "au_medicare",
        "Australian Medicare number",
        Topic::Medicare,
        &["9999_99999_9"],
        &[],
        medicare,
    ),
    high(
        "nz_ird",
        "New Zealand IRD number",
        Topic::NewZealandTax,
        &["99_999_999", "999_999_999"],
        &[],
        ird,
    ),
];

/// Birthday, serial, citizenship and Luhn.
fn south_african(id: &[u8]) -> bool {
    let year = number(id, 0, 2);
    is_day(year, number(id, 2, 4), number(id, 4, 6))
        && matches!(digit(id, 10), 0..=2)
        && matches!(digit(id, 11), 8 | 9)
        && luhn(id)
}

/// One is taken from the first digit.
fn abn(id: &[u8]) -> bool {
    let sum = weighed(id, &[10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
    digit(id, 0) != 0 && (sum - 10).is_multiple_of(89)
}

fn acn(id: &[u8]) -> bool {
    let sum = weighed(id, &[8, 7, 6, 5, 4, 3, 2, 1]);
    (10 - sum % 10) % 10 == digit(id, 8) && number(id, 0, 9) != 0
}

fn medicare(id: &[u8]) -> bool {
    let sum = weighed(id, &[1, 3, 7, 9, 1, 3, 7, 9]);
    matches!(digit(id, 0), 2..=6) && sum % 10 == digit(id, 8) && digit(id, 9) != 0
}

fn ird(id: &[u8]) -> bool {
    let skip = 9_usize.saturating_sub(id.len());
    let weights = |list: &[u32; 8]| weighed(id, list.get(skip..).unwrap_or_default()) % 11;
    let last = id.len().saturating_sub(1);
    let check = |rest: u32| if rest == 0 { 0 } else { 11 - rest };
    let first = check(weights(&[3, 2, 7, 6, 5, 4, 3, 2]));
    let value = match first {
        10 => check(weights(&[7, 4, 3, 2, 5, 2, 7, 6])),
        value => value,
    };
    value == digit(id, last) && !uniform(id)
}
