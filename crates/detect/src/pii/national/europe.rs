//! Europe without its north, with Turkey, Russia, Ukraine and Kazakhstan.

use mcpproxy_core::Severity;

use super::{Kind, high};
use crate::pii::checksum::{
    digit, is_day, is_ddmmyy, is_yymmdd, luhn, mod11_10, number, uniform, weighed,
};
use crate::pii::context::Topic;

/// The kinds of this part of the world.
pub(super) const KINDS: &[Kind] = &[
    high(
        "uk_nino",
        "UK national insurance number",
        Topic::Nino,
        &["AA_99_99_99_A", "AA_999999_A"],
        &["AA999999A", "AA 99 99 99 A", "AA-99-99-99-A"],
        nino,
    ),
    high(
        "uk_nhs",
        "UK NHS number",
        Topic::Nhs,
        &["999_999_9999"],
        &[],
        nhs,
    ),
    high(
        "de_tax_id",
        "German tax identification number",
        Topic::GermanTax,
        &["99_999_999_999"],
        &[],
        |id| digit(id, 0) != 0 && !uniform(id) && mod11_10(id),
    ),
    high(
        "de_tax_id",
        "German tax identification number",
        Topic::GermanTax,
        &[],
        &["99999999999", "99 999 999 999"],
        german_tax,
    ),
    high(
        "de_social_security",
        "German pension insurance number",
        Topic::GermanSocial,
        &["99_999999_A_999"],
        &["99999999A999", "99 999999 A 999"],
        german_social,
    ),
    high(
        "de_id_card",
        "German identity card",
        Topic::IdCard,
        &["X99XX99XX", "AX99XXX99", "AXXXXXXX9"],
        &[],
        document,
    ),
    high(
        "de_doctor",
        "German doctor's number",
        Topic::GermanDoctor,
        &["999999999"],
        &[],
        |id| number(id, 0, 9) != 0,
    )
    .unchecked(),
    high(
        "fr_nir",
        "French social security number",
        Topic::FrenchSocial,
        &["9_99_99_99_999_999_99", "9_99_99_9A_999_999_99"],
        &[
            "999999999999999",
            "9 99 99 99 999 999 99",
            "9 99 99 9A 999 999 99",
        ],
        nir,
    ),
    high(
        "es_dni",
        "Spanish DNI",
        Topic::SpanishId,
        &["99_999_999_A"],
        &["99999999A", "99999999-A", "99.999.999-A"],
        dni,
    ),
    high(
        "es_nie",
        "Spanish NIE",
        Topic::SpanishId,
        &["A_9999999_A"],
        &["A9999999A", "A9999999-A", "A-9999999-A"],
        nie,
    ),
    high(
        "it_codice_fiscale",
        "Italian codice fiscale",
        Topic::ItalianTax,
        &["AAA_AAA_99A99_A999A"],
        &["AAAAAA99A99A999A"],
        codice_fiscale,
    ),
    high(
        "it_partita_iva",
        "Italian VAT number",
        Topic::ItalianVat,
        &["99999999999"],
        &[],
        |id| luhn(id) && !uniform(id),
    ),
    high(
        "nl_bsn",
        "Dutch BSN",
        Topic::DutchBsn,
        &["999_99_9999", "999_999_999"],
        &[],
        bsn,
    ),
    high(
        "be_national_number",
        "Belgian national number",
        Topic::BelgianId,
        &["99_99_99_999_99"],
        &["99999999999", "99.99.99-999.99"],
        belgian,
    ),
    high(
        "pl_pesel",
        "Polish PESEL",
        Topic::Pesel,
        &["99999999999"],
        &["99999999999"],
        pesel,
    ),
    high(
        "pt_nif",
        "Portuguese NIF",
        Topic::PortugueseTax,
        &["999_999_999"],
        &[],
        portuguese,
    ),
    high(
        "at_social_security",
        "Austrian social security number",
        Topic::AustrianId,
        &["9999_999999"],
        &[],
        austrian,
    ),
    high(
        "ch_ahv",
        "Swiss AHV number",
        Topic::SwissId,
        &["999_9999_9999_99"],
        &["999.9999.9999.99", "9999999999999"],
        ahv,
    ),
    high(
        "cz_birth_number",
        "Czech or Slovak birth number",
        Topic::CzechId,
        &["999999_9999"],
        &["999999/9999"],
        czech,
    ),
    high(
        "ro_cnp",
        "Romanian CNP",
        Topic::RomanianId,
        &["9999999999999"],
        &[],
        cnp,
    ),
    high(
        "bg_egn",
        "Bulgarian EGN",
        Topic::BulgarianId,
        &["9999999999"],
        &[],
        egn,
    ),
    high(
        "hr_oib",
        "Croatian OIB",
        Topic::CroatianId,
        &["99999999999"],
        &[],
        mod11_10,
    ),
    high(
        "rs_jmbg",
        "Serbian or Slovenian personal number",
        Topic::BalkanId,
        &["9999999999999"],
        &[],
        jmbg,
    ),
    high(
        "gr_amka",
        "Greek AMKA",
        Topic::GreekId,
        &["99999999999"],
        &[],
        |id| is_ddmmyy(id, 0) && luhn(id),
    ),
    high(
        "ie_pps",
        "Irish PPS number",
        Topic::IrishId,
        &["9999999A", "9999999AA"],
        &[],
        pps,
    ),
    high(
        "hu_taj",
        "Hungarian TAJ number",
        Topic::HungarianId,
        &["999_999_999"],
        &[],
        |id| weighed(id, &[3, 7, 3, 7, 3, 7, 3, 7]) % 10 == digit(id, 8) && !uniform(id),
    ),
    high(
        "tr_tckn",
        "Turkish identity number",
        Topic::TurkishId,
        &["99999999999"],
        &["99999999999"],
        tckn,
    ),
    high(
        "ru_inn",
        "Russian INN",
        Topic::RussianTax,
        &["9999999999", "999999999999"],
        &[],
        inn,
    ),
    high(
        "ru_snils",
        "Russian SNILS",
        Topic::RussianSocial,
        &["999_999_999_99"],
        &["999-999-999 99", "999-999-999-99"],
        snils,
    ),
    high(
        "ua_tax_number",
        "Ukrainian tax number",
        Topic::UkrainianTax,
        &["9999999999"],
        &[],
        ukrainian,
    ),
    high(
        "kz_iin",
        "Kazakh IIN",
        Topic::KazakhId,
        &["999999999999"],
        &[],
        iin,
    ),
    high(
        "pl_nip",
        "Polish tax number",
        Topic::PolishTax,
        &["999_999_99_99", "999_99_99_999"],
        &[],
        |id| weighed(id, &[6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 == digit(id, 9) && !uniform(id),
    ),
    high(
        "uk_utr",
        "UK unique taxpayer reference",
        Topic::Utr,
        &["99999_99999"],
        &[],
        utr,
    ),
    high(
        "fr_siret",
        "French SIRET",
        Topic::FrenchFirm,
        &["999_999_999_99999"],
        &[],
        |id| luhn(id) && luhn(id.get(..9).unwrap_or_default()) && number(id, 0, 9) != 0,
    )
    .rated(Severity::Low),
    high(
        "fr_siren",
        "French SIREN",
        Topic::FrenchFirm,
        &["999_999_999"],
        &[],
        |id| luhn(id) && !uniform(id),
    )
    .rated(Severity::Low),
    high(
        "ru_ogrn",
        "Russian OGRN",
        Topic::RussianFirm,
        &["9999999999999"],
        &[],
        |id| number(id, 0, 12) % 11 % 10 == u64::from(digit(id, 12)) && digit(id, 0) != 0,
    )
    .rated(Severity::Low),
];

/// The byte at `at`, or zero.
fn byte(id: &[u8], at: usize) -> u8 {
    id.get(at).copied().unwrap_or(0)
}

/// The prefixes that were never allotted are not numbers.
fn nino(id: &[u8]) -> bool {
    let prefix = id.get(..2).unwrap_or_default();
    let unused = [b"BG", b"GB", b"KN", b"NK", b"NT", b"TN", b"ZZ"];
    !b"DFIQUV".contains(&byte(id, 0))
        && !b"DFIQUVO".contains(&byte(id, 1))
        && matches!(byte(id, 8), b'A'..=b'D')
        && !unused.iter().any(|pair| pair.as_slice() == prefix)
}

fn nhs(id: &[u8]) -> bool {
    let check = 11 - weighed(id, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    check % 11 == digit(id, 9) && check != 10 && !uniform(id)
}

/// Of the first ten digits one stands twice or three times, and not three in a row.
fn german_tax(id: &[u8]) -> bool {
    let body = id.get(..10).unwrap_or_default();
    let count = |value: u32| (0..10).filter(|at| digit(body, *at) == value).count();
    let repeated = (0..10).filter(|value| count(*value) > 1).count();
    let most = (0..10).map(count).max().unwrap_or(0);
    digit(id, 0) != 0 && repeated == 1 && most <= 3 && mod11_10(id)
}

/// The letter counts as two digits; products are summed by their own digits.
fn german_social(id: &[u8]) -> bool {
    const WEIGHTS: [u32; 12] = [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1];
    let letter = u32::from(byte(id, 8).wrapping_sub(b'A')) + 1;
    let values = (0..8)
        .map(|at| digit(id, at))
        .chain([letter / 10, letter % 10])
        .chain([digit(id, 9), digit(id, 10)]);
    let sum: u32 = values
        .zip(WEIGHTS)
        .map(|(value, weight)| value * weight)
        .map(|product| product / 10 + product % 10)
        .sum();
    let day = number(id, 2, 4);
    let day = if day > 50 { day - 50 } else { day };
    is_day(number(id, 6, 8), number(id, 4, 6), day) && sum % 10 == digit(id, 11)
}

/// Nine characters of a travel document with the check digit of ICAO 9303.
pub(in crate::pii) fn document(id: &[u8]) -> bool {
    let sum: u32 = id
        .iter()
        .take(8)
        .zip([7, 3, 1].into_iter().cycle())
        .map(|(byte, weight)| {
            weight
                * match byte {
                    b'0'..=b'9' => u32::from(byte - b'0'),
                    _ => u32::from(byte.wrapping_sub(b'A')) + 10,
                }
        })
        .sum();
    let digits = id.iter().filter(|byte| byte.is_ascii_digit()).count();
    digits >= 4 && byte(id, 8).is_ascii_digit() && sum % 10 == digit(id, 8)
}

/// Corsica's 2A and 2B count as 19 and 18.
fn nir(id: &[u8]) -> bool {
    let mut body = [0_u8; 13];
    for (slot, byte) in body.iter_mut().zip(id) {
        *slot = *byte;
    }
    match id.get(5..7) {
        Some(b"2A") => (body[5], body[6]) = (b'1', b'9'),
        Some(b"2B") => (body[5], body[6]) = (b'1', b'8'),
        Some([b'0'..=b'9', b'0'..=b'9']) => {}
        _ => return false,
    }
    let month = number(id, 3, 5);
    matches!(byte(id, 0), b'1' | b'2')
        && (matches!(month, 1..=12 | 20..=42 | 50..=99))
        && 97 - number(&body, 0, 13) % 97 == number(id, 13, 15)
}

/// The letter that belongs to a Spanish number.
fn spanish_letter(number: u64) -> u8 {
    let at = usize::try_from(number % 23).unwrap_or(0);
    byte(b"TRWAGMYFPDXBNJZSQVHLCKE", at)
}

fn dni(id: &[u8]) -> bool {
    spanish_letter(number(id, 0, 8)) == byte(id, 8) && !uniform(id.get(..8).unwrap_or_default())
}

fn nie(id: &[u8]) -> bool {
    let first = match byte(id, 0) {
        letter @ b'X'..=b'Z' => u64::from(letter - b'X'),
        _ => return false,
    };
    spanish_letter(first * 10_000_000 + number(id, 1, 8)) == byte(id, 8)
}

/// Odd places count by a table, even ones by value.
fn codice_fiscale(id: &[u8]) -> bool {
    const ODD: [u8; 26] = [
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24,
        23,
    ];
    let value = |byte: u8| match byte {
        b'0'..=b'9' => byte - b'0',
        _ => byte.wrapping_sub(b'A'),
    };
    let sum: u32 = id
        .iter()
        .take(15)
        .enumerate()
        .map(|(at, byte)| match at % 2 {
            0 => ODD.get(usize::from(value(*byte))).copied().unwrap_or(0),
            _ => value(*byte),
        })
        .map(u32::from)
        .sum();
    let day = number(id, 9, 11);
    b"ABCDEHLMPRST".contains(&byte(id, 8))
        && matches!(day, 1..=31 | 41..=71)
        && u32::from(byte(id, 15).wrapping_sub(b'A')) == sum % 26
}

fn bsn(id: &[u8]) -> bool {
    let sum = weighed(id, &[9, 8, 7, 6, 5, 4, 3, 2]) + 10 * 11 - digit(id, 8);
    sum.is_multiple_of(11) && !uniform(id)
}

/// Those born from 2000 on have a 2 before the number.
fn belgian(id: &[u8]) -> bool {
    let body = number(id, 0, 9);
    let check = number(id, 9, 11);
    is_yymmdd(id, 0) && (97 - body % 97 == check || 97 - (2_000_000_000 + body) % 97 == check)
}

/// The month carries the century.
fn pesel(id: &[u8]) -> bool {
    let sum = weighed(id, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3]);
    is_day(number(id, 0, 2), number(id, 2, 4) % 20, number(id, 4, 6))
        && (10 - sum % 10) % 10 == digit(id, 10)
}

fn portuguese(id: &[u8]) -> bool {
    let check = match weighed(id, &[9, 8, 7, 6, 5, 4, 3, 2]) % 11 {
        0 | 1 => 0,
        rest => 11 - rest,
    };
    matches!(digit(id, 0), 1..=3 | 5 | 6 | 8 | 9) && check == digit(id, 8) && !uniform(id)
}

fn austrian(id: &[u8]) -> bool {
    let sum = weighed(id, &[3, 7, 9, 0, 5, 8, 4, 2, 1, 6]);
    digit(id, 0) != 0 && is_ddmmyy(id, 4) && sum % 11 == digit(id, 3)
}

fn ahv(id: &[u8]) -> bool {
    let sum = weighed(id, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]);
    number(id, 0, 3) == 756 && sum.is_multiple_of(10)
}

/// Women's months are raised by fifty; exhausted days raise both by twenty.
fn czech(id: &[u8]) -> bool {
    let month = number(id, 2, 4) % 50;
    let month = if month > 20 { month - 20 } else { month };
    is_day(number(id, 0, 2), month, number(id, 4, 6)) && number(id, 0, 10).is_multiple_of(11)
}

fn cnp(id: &[u8]) -> bool {
    let rest = weighed(id, &[2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
    digit(id, 0) != 0
        && is_yymmdd(id, 1)
        && rest.min(if rest == 10 { 1 } else { 9 }) == digit(id, 12)
}

fn egn(id: &[u8]) -> bool {
    let month = number(id, 2, 4) % 20;
    let sum = weighed(id, &[2, 4, 8, 5, 10, 9, 7, 3, 6]);
    is_day(number(id, 0, 2), month, number(id, 4, 6)) && sum % 11 % 10 == digit(id, 9)
}

fn jmbg(id: &[u8]) -> bool {
    let check = 11 - weighed(id, &[7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    is_day(number(id, 4, 7), number(id, 2, 4), number(id, 0, 2))
        && (if check > 9 { 0 } else { check }) == digit(id, 12)
}

fn pps(id: &[u8]) -> bool {
    let second = match byte(id, 8) {
        letter @ b'A'..=b'I' => u32::from(letter - b'A') + 1,
        _ => 0,
    };
    let rest = (weighed(id, &[8, 7, 6, 5, 4, 3, 2]) + 9 * second) % 23;
    let letter = if rest == 0 { 23 } else { rest };
    u32::from(byte(id, 7)) == 64 + letter
}

fn tckn(id: &[u8]) -> bool {
    let odd = digit(id, 0) + digit(id, 2) + digit(id, 4) + digit(id, 6) + digit(id, 8);
    let even = digit(id, 1) + digit(id, 3) + digit(id, 5) + digit(id, 7);
    digit(id, 0) != 0
        && (odd * 7 + 90 - even) % 10 == digit(id, 9)
        && (odd + even + digit(id, 9)) % 10 == digit(id, 10)
}

fn inn(id: &[u8]) -> bool {
    if uniform(id) {
        return false;
    }
    if id.len() == 10 {
        return weighed(id, &[2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11 % 10 == digit(id, 9);
    }
    weighed(id, &[7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11 % 10 == digit(id, 10)
        && weighed(id, &[3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11 % 10 == digit(id, 11)
}

fn snils(id: &[u8]) -> bool {
    let sum = weighed(id, &[9, 8, 7, 6, 5, 4, 3, 2, 1]);
    u64::from(sum % 101 % 100) == number(id, 9, 11) && !uniform(id)
}

fn ukrainian(id: &[u8]) -> bool {
    // The first weight is minus one; ninety-nine keeps the sum above zero without changing it.
    let sum = weighed(id, &[0, 5, 7, 9, 4, 6, 10, 5, 7]) + 99 - digit(id, 0);
    sum % 11 % 10 == digit(id, 9) && !uniform(id)
}

fn iin(id: &[u8]) -> bool {
    let first = weighed(id, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) % 11;
    let check = match first {
        10 => weighed(id, &[3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2]) % 11,
        rest => rest,
    };
    is_yymmdd(id, 0) && check == digit(id, 11)
}

/// The check digit leads.
fn utr(id: &[u8]) -> bool {
    const CHECKS: &[u8; 11] = b"21987654321";
    let rest = id.get(1..).unwrap_or_default();
    let sum = weighed(rest, &[6, 7, 8, 9, 10, 5, 4, 3, 2]) % 11;
    let wanted = usize::try_from(sum).ok().and_then(|at| CHECKS.get(at));
    wanted == id.first() && !uniform(id)
}
