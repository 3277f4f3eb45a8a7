//! Asia and the Near East.

use mcpproxy_core::Severity;

use super::{Kind, high};
use crate::pii::checksum::{
    counting, digit, is_day, is_yymmdd, luhn, number, uniform, verhoeff, weighed,
};
use crate::pii::context::Topic;

/// The kinds of this part of the world.
pub(super) const KINDS: &[Kind] = &[
    high(
        "in_aadhaar",
        "Indian Aadhaar number",
        Topic::Aadhaar,
        &["9999_9999_9999"],
        &["9999 9999 9999", "9999-9999-9999"],
        |id| digit(id, 0) > 1 && verhoeff(id) && !uniform(id),
    ),
    high(
        "in_pan",
        "Indian PAN",
        Topic::IndianPan,
        &["AAAAA9999A"],
        &["AAAAA9999A"],
        pan,
    )
    .unchecked(),
    high(
        "in_gstin",
        "Indian GSTIN",
        Topic::IndianGst,
        &["99AAAAA9999AXAX"],
        &["99AAAAA9999AXAX"],
        gstin,
    )
    .rated(Severity::Low),
    high(
        "in_voter_id",
        "Indian voter number",
        Topic::IndianVoter,
        &["AAA9999999"],
        &[],
        |id| !uniform(id.get(3..).unwrap_or_default()),
    )
    .unchecked(),
    high(
        "cn_resident_id",
        "Chinese resident identity number",
        Topic::ChineseId,
        &["99999999999999999X"],
        &["99999999999999999X"],
        chinese,
    ),
    high(
        "jp_my_number",
        "Japanese individual number",
        Topic::JapaneseId,
        &["9999_9999_9999"],
        &[],
        japanese,
    ),
    high(
        "kr_rrn",
        "Korean resident registration number",
        Topic::KoreanId,
        &["999999_9999999"],
        &["999999-9999999"],
        korean,
    )
    .unchecked(),
    high(
        "sg_nric",
        "Singaporean NRIC or FIN",
        Topic::SingaporeId,
        &["A9999999A"],
        &["A9999999A"],
        nric,
    ),
    high(
        "th_citizen_id",
        "Thai citizen number",
        Topic::ThaiId,
        &["9_9999_99999_99_9"],
        &["9-9999-99999-99-9", "9 9999 99999 99 9"],
        thai,
    ),
    high(
        "id_nik",
        "Indonesian NIK",
        Topic::IndonesianId,
        &["9999999999999999", "999999_999999_9999"],
        &[],
        nik,
    )
    .unchecked(),
    high(
        "my_mykad",
        "Malaysian MyKad number",
        Topic::MalaysianId,
        &["999999_99_9999"],
        &["999999-99-9999"],
        |id| is_yymmdd(id, 0) && number(id, 6, 8) != 0,
    )
    .unchecked(),
    high(
        "tw_id",
        "Taiwanese identity number",
        Topic::TaiwaneseId,
        &["A999999999"],
        &[],
        taiwanese,
    ),
    high(
        "hk_id",
        "Hong Kong identity card",
        Topic::HongKongId,
        &["A999999X"],
        &["A999999(X)", "AA999999(X)"],
        hong_kong,
    ),
    high(
        "pk_cnic",
        "Pakistani CNIC",
        Topic::PakistaniId,
        &["99999_9999999_9"],
        &["99999-9999999-9"],
        |id| matches!(digit(id, 0), 1..=7) && digit(id, 12) != 0,
    )
    .unchecked(),
    high(
        "il_id",
        "Israeli identity number",
        Topic::IsraeliId,
        &["999999999", "99999999_9"],
        &[],
        |id| luhn(id) && !uniform(id),
    ),
    high(
        "ae_emirates_id",
        "Emirates identity number",
        Topic::EmiratesId,
        &["999_9999_9999999_9"],
        &["999-9999-9999999-9"],
        |id| number(id, 0, 3) == 784 && luhn(id),
    ),
    high(
        "sa_id",
        "Saudi identity or residence number",
        Topic::SaudiId,
        &["9999999999"],
        &[],
        |id| matches!(digit(id, 0), 1 | 2) && luhn(id),
    ),
    high(
        "ph_tin",
        "Philippine TIN",
        Topic::PhilippineTax,
        &["999_999_999", "999_999_999_999"],
        &[],
        philippine,
    ),
    high(
        "kr_brn",
        "Korean business number",
        Topic::KoreanId,
        &["999_99_99999"],
        &["999-99-99999"],
        korean_business,
    )
    .rated(Severity::Low),
    high(
        "cn_uscc",
        "Chinese unified social credit code",
        Topic::ChineseFirm,
        &["99999999XXXXXXXXXX"],
        &[],
        social_credit,
    )
    .rated(Severity::Low),
    high(
        "jp_corporate_number",
        "Japanese corporate number",
        Topic::JapaneseFirm,
        &["9_9999_9999_9999"],
        &[],
        japanese_firm,
    )
    .rated(Severity::Low),
    high(
        "id_npwp",
        "Indonesian tax number",
        Topic::IndonesianTax,
        &["99_999_999_9_999_999"],
        &["99.999.999.9-999.999"],
        |id| luhn(id.get(..9).unwrap_or_default()) && number(id, 0, 9) != 0,
    ),
    high(
        "ir_national_code",
        "Iranian national code",
        Topic::IranianId,
        &["999_999999_9"],
        &[],
        iranian,
    ),
    high(
        "vn_cccd",
        "Vietnamese citizen number",
        Topic::VietnameseId,
        &["999999999999"],
        &[],
        |id| matches!(number(id, 0, 3), 1..=96) && digit(id, 3) < 4 && !uniform(id),
    )
    .unchecked(),
];

/// The fourth letter is the kind of holder.
fn pan(id: &[u8]) -> bool {
    id.get(3)
        .is_some_and(|letter| b"ABCFGHLJPT".contains(letter))
        && number(id, 5, 9) != 0
        && !uniform(id.get(..5).unwrap_or_default())
}

/// The value of a character in base 36.
fn base36(byte: u8) -> u32 {
    match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        _ => u32::from(byte.wrapping_sub(b'A')) + 10,
    }
}

fn gstin(id: &[u8]) -> bool {
    let sum: u32 = id
        .iter()
        .take(14)
        .zip([1, 2].into_iter().cycle())
        .map(|(byte, factor)| base36(*byte) * factor)
        .map(|product| product / 36 + product % 36)
        .sum();
    let last = id.get(14).map_or(0, |byte| base36(*byte));
    matches!(number(id, 0, 2), 1..=38 | 97 | 99)
        && id.get(13) == Some(&b'Z')
        && (36 - sum % 36) % 36 == last
}

/// ISO 7064 MOD 11-2 over region, birthday and serial.
fn chinese(id: &[u8]) -> bool {
    let sum = weighed(id, &[7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]);
    let wanted = match (12 - sum % 11) % 11 {
        10 => b'X',
        value => b'0' + u8::try_from(value).unwrap_or(0),
    };
    let year = number(id, 6, 10);
    (1900..2100).contains(&year)
        && is_day(year, number(id, 10, 12), number(id, 12, 14))
        && matches!(digit(id, 0), 1..=9)
        && id.last() == Some(&wanted)
}

fn japanese(id: &[u8]) -> bool {
    let rest = weighed(id, &[6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    digit(id, 11) == if rest < 2 { 0 } else { 11 - rest } && !uniform(id) && !counting(id)
}

/// Numbers given since October 2020 have no check digit, so only date and sex are checked.
fn korean(id: &[u8]) -> bool {
    is_yymmdd(id, 0) && matches!(digit(id, 6), 1..=4) || is_foreign_korean(id)
}

/// Foreigners' numbers keep their check digit; it is two off the usual one.
fn is_foreign_korean(id: &[u8]) -> bool {
    let sum = weighed(id, &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]) % 11;
    is_yymmdd(id, 0) && matches!(digit(id, 6), 5..=8) && (11 - sum + 2) % 10 == digit(id, 12)
}

fn korean_business(id: &[u8]) -> bool {
    let sum = weighed(id, &[1, 3, 7, 1, 3, 7, 1, 3, 5]) + digit(id, 8) * 5 / 10;
    (10 - sum % 10) % 10 == digit(id, 9) && !uniform(id)
}

fn nric(id: &[u8]) -> bool {
    let sum = weighed(id.get(1..).unwrap_or_default(), &[2, 7, 6, 5, 4, 3, 2]);
    let (offset, letters): (u32, &[u8; 11]) = match id.first() {
        Some(b'S') => (0, b"JZIHGFEDCBA"),
        Some(b'T') => (4, b"JZIHGFEDCBA"),
        Some(b'F') => (0, b"XWUTRQPNMLK"),
        Some(b'G') => (4, b"XWUTRQPNMLK"),
        Some(b'M') => (3, b"XWUTRQPNJLK"),
        _ => return false,
    };
    let rest = usize::try_from((sum + offset) % 11).unwrap_or(0);
    id.last() == letters.get(rest)
}

fn thai(id: &[u8]) -> bool {
    let sum = weighed(id, &[13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
    matches!(digit(id, 0), 1..=8) && (11 - sum % 11) % 10 == digit(id, 12)
}

/// Women's days are raised by forty.
fn nik(id: &[u8]) -> bool {
    let day = number(id, 6, 8);
    let day = if day > 40 { day - 40 } else { day };
    (11..=94).contains(&number(id, 0, 2)) && is_day(number(id, 10, 12), number(id, 8, 10), day)
}

fn taiwanese(id: &[u8]) -> bool {
    const REGIONS: &[u8; 26] = b"ABCDEFGHJKLMNPQRSTUVXYWZIO";
    let Some(region) = REGIONS.iter().position(|letter| Some(letter) == id.first()) else {
        return false;
    };
    let region = u32::try_from(region).unwrap_or(0) + 10;
    let digits = id.get(1..).unwrap_or_default();
    let sum = region / 10 + region % 10 * 9 + weighed(digits, &[8, 7, 6, 5, 4, 3, 2, 1, 1]);
    matches!(digit(id, 1), 1 | 2 | 8 | 9) && sum.is_multiple_of(10)
}

/// One or two letters, six digits and a check character of base eleven.
fn hong_kong(id: &[u8]) -> bool {
    let (last, body) = match id.split_last() {
        Some((b'A', body)) => (10, body),
        Some((last @ b'0'..=b'9', body)) => (u32::from(last - b'0'), body),
        _ => return false,
    };
    let letters = if body.len() == 7 { 36 * 9 } else { 0 };
    let sum: u32 = body
        .iter()
        .rev()
        .zip(2..)
        .map(|(byte, weight)| base36(*byte) * weight)
        .sum();
    (sum + letters + last).is_multiple_of(11)
}

/// GB 32100: a check character of base 31 over authority, region and organization.
fn social_credit(id: &[u8]) -> bool {
    const LETTERS: &[u8; 31] = b"0123456789ABCDEFGHJKLMNPQRTUWXY";
    const WEIGHTS: [usize; 17] = [
        1, 3, 9, 27, 19, 26, 16, 17, 20, 29, 25, 13, 8, 24, 10, 30, 28,
    ];
    let values = id
        .iter()
        .map(|byte| LETTERS.iter().position(|letter| letter == byte));
    let Some(values) = values.collect::<Option<Vec<usize>>>() else {
        return false;
    };
    let sum: usize = values
        .iter()
        .zip(WEIGHTS)
        .map(|(value, by)| value * by)
        .sum();
    matches!(digit(id, 0), 1 | 5 | 9)
        && number(id, 2, 8) != 0
        && values.last() == Some(&((31 - sum % 31) % 31))
}

/// The check digit of firms leads.
fn japanese_firm(id: &[u8]) -> bool {
    let rest = id.get(1..).unwrap_or_default();
    let sum = weighed(rest, &[2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1]);
    9 - sum % 9 == digit(id, 0) && !uniform(id)
}

fn iranian(id: &[u8]) -> bool {
    let rest = weighed(id, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    digit(id, 9) == if rest < 2 { rest } else { 11 - rest } && !uniform(id)
}

fn philippine(id: &[u8]) -> bool {
    let sum = weighed(id, &[1, 2, 3, 4, 5, 6, 7, 8]);
    digit(id, 0) < 6 && sum % 11 % 10 == digit(id, 8)
}
