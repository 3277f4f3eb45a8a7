//! The Nordic and the Baltic countries.

use super::{Kind, high};
use crate::pii::checksum::{digit, is_day, is_ddmmyy, luhn, number, weighed};
use crate::pii::context::Topic;

/// The kinds of this part of the world.
pub(super) const KINDS: &[Kind] = &[
    high(
        "se_personnummer",
        "Swedish personal number",
        Topic::SwedishId,
        &["999999_9999", "99999999_9999"],
        &["999999-9999", "99999999-9999", "999999+9999"],
        swedish,
    ),
    high(
        "fi_hetu",
        "Finnish personal identity code",
        Topic::FinnishId,
        &["999999-999X", "999999+999X", "999999A999X"],
        &["999999-999X", "999999+999X", "999999A999X"],
        hetu,
    ),
    high(
        "no_fodselsnummer",
        "Norwegian birth number",
        Topic::NorwegianId,
        &["999999_99999"],
        &["99999999999", "999999 99999"],
        norwegian,
    ),
    high(
        "dk_cpr",
        "Danish CPR number",
        Topic::DanishId,
        &["999999_9999"],
        &[],
        |id| is_ddmmyy(id, 0),
    )
    .unchecked(),
    high(
        "dk_cpr",
        "Danish CPR number",
        Topic::DanishId,
        &[],
        &["999999-9999"],
        danish,
    ),
    high(
        "is_kennitala",
        "Icelandic kennitala",
        Topic::NationalId,
        &["999999-9999"],
        &["999999-9999"],
        icelandic,
    ),
    high(
        "ee_isikukood",
        "Estonian or Lithuanian personal code",
        Topic::BalticId,
        &["99999999999"],
        &[],
        estonian,
    ),
    high(
        "lv_personas_kods",
        "Latvian personal code",
        Topic::BalticId,
        &["999999_99999"],
        &[],
        latvian,
    ),
];

/// Coordination numbers have sixty added to the day; a century before it does not count.
fn swedish(id: &[u8]) -> bool {
    let short = id.get(id.len().saturating_sub(10)..).unwrap_or_default();
    let day = number(short, 4, 6);
    let day = if day > 60 { day - 60 } else { day };
    let century = id.len() == 10 || matches!(number(id, 0, 2), 18..=20);
    century && is_day(number(short, 0, 2), number(short, 2, 4), day) && luhn(short)
}

/// The sign of the century stands between date and number and is a letter or was left out.
fn hetu(id: &[u8]) -> bool {
    const ALPHABET: &[u8; 31] = b"0123456789ABCDEFHJKLMNPRSTUVWXY";
    let tail = id.get(id.len().saturating_sub(4)..).unwrap_or_default();
    let century = match id {
        [_, _, _, _, _, _, sign, _, _, _, _] => matches!(sign, b'A'..=b'F' | b'U'..=b'Y'),
        _ => id.len() == 10,
    };
    let rest = (number(id, 0, 6) * 1000 + number(tail, 0, 3)) % 31;
    let wanted = usize::try_from(rest).ok().and_then(|at| ALPHABET.get(at));
    century && is_ddmmyy(id, 0) && number(tail, 0, 3) >= 2 && tail.last() == wanted
}

/// D-numbers have forty added to the day; test numbers add to the month.
fn norwegian(id: &[u8]) -> bool {
    let day = number(id, 0, 2);
    let day = if day > 40 { day - 40 } else { day };
    let first = (11 - weighed(id, &[3, 7, 6, 1, 8, 9, 4, 5, 2]) % 11) % 11;
    let second = (11 - weighed(id, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11) % 11;
    is_day(number(id, 4, 6), number(id, 2, 4), day)
        && first == digit(id, 9)
        && second == digit(id, 10)
}

fn danish(id: &[u8]) -> bool {
    is_ddmmyy(id, 0) && weighed(id, &[4, 3, 2, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11)
}

fn icelandic(id: &[u8]) -> bool {
    let check = (11 - weighed(id, &[3, 2, 7, 6, 5, 4, 3, 2]) % 11) % 11;
    matches!(digit(id, 9), 0 | 8 | 9) && is_ddmmyy(id, 0) && check == digit(id, 8)
}

fn estonian(id: &[u8]) -> bool {
    let first = weighed(id, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
    let check = match first {
        10 => weighed(id, &[3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11 % 10,
        rest => rest,
    };
    (1..=8).contains(&digit(id, 0))
        && is_day(number(id, 1, 3), number(id, 3, 5), number(id, 5, 7))
        && check == digit(id, 10)
}

/// New codes begin with 32 and carry no date.
fn latvian(id: &[u8]) -> bool {
    let check = (1101 - weighed(id, &[1, 6, 3, 7, 9, 10, 5, 8, 4, 2])) % 11;
    number(id, 0, 2) == 32 || is_ddmmyy(id, 0) && check == digit(id, 10)
}
