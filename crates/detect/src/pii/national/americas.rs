//! North and South America.

use mcpproxy_core::Severity;

use super::{Kind, high};
use crate::pii::checksum::{digit, is_yymmdd, luhn, number, uniform, weighed};
use crate::pii::context::Topic;

/// The kinds of this part of the world.
pub(super) const KINDS: &[Kind] = &[
    high(
        "ssn",
        "US social security number",
        Topic::Ssn,
        &["999_99_9999"],
        &["999-99-9999"],
        ssn,
    )
    .unchecked()
    .even_typed()
    .rated(Severity::Critical),
    high(
        "us_itin",
        "US individual taxpayer number",
        Topic::Itin,
        &["999_99_9999"],
        &["999-99-9999"],
        itin,
    )
    .unchecked()
    .rated(Severity::Critical),
    high(
        "us_ein",
        "US employer identification number",
        Topic::Ein,
        &["99-9999999", "999999999"],
        &[],
        |id| number(id, 0, 2) != 0 && !uniform(id),
    )
    .unchecked()
    .rated(Severity::Medium),
    high(
        "us_mbi",
        "US Medicare beneficiary identifier",
        Topic::Medicare,
        &["9AX9_AX9_AA99"],
        &["9AX9-AX9-AA99"],
        mbi,
    )
    .unchecked(),
    high(
        "us_npi",
        "US provider identifier",
        Topic::Npi,
        &["9999999999"],
        &[],
        npi,
    )
    .rated(Severity::Low),
    high(
        "us_dea",
        "US DEA registration",
        Topic::Dea,
        &["AX9999999"],
        &[],
        dea,
    )
    .rated(Severity::Medium),
    high(
        "us_routing_number",
        "US bank routing number",
        Topic::Routing,
        &["999999999", "9999-9999-9"],
        &[],
        aba,
    )
    .rated(Severity::Medium),
    high(
        "ca_sin",
        "Canadian social insurance number",
        Topic::Sin,
        &["999_999_999"],
        &[],
        |id| !matches!(digit(id, 0), 0 | 8) && luhn(id) && !uniform(id),
    )
    .rated(Severity::Critical),
    high(
        "br_cpf",
        "Brazilian CPF",
        Topic::Cpf,
        &["999_999_999_99"],
        &["999.999.999-99", "99999999999", "999999999-99"],
        cpf,
    ),
    high(
        "br_cnpj",
        "Brazilian CNPJ",
        Topic::Cnpj,
        &["99_999_999_9999_99"],
        &["99.999.999/9999-99"],
        cnpj,
    )
    .rated(Severity::Low),
    high(
        "mx_curp",
        "Mexican CURP",
        Topic::Curp,
        &["AAAA999999AAAAAAX9"],
        &["AAAA999999AAAAAAX9"],
        curp,
    ),
    high(
        "mx_rfc",
        "Mexican RFC",
        Topic::Rfc,
        &["AAAA999999XXX"],
        &["AAAA999999XXX"],
        rfc,
    )
    .rated(Severity::Medium),
    high(
        "ar_cuit",
        "Argentine CUIT",
        Topic::Cuit,
        &["99_99999999_9"],
        &["99-99999999-9"],
        cuit,
    )
    .rated(Severity::Medium),
    high(
        "ar_dni",
        "Argentine or Peruvian DNI",
        Topic::SpanishId,
        &["99.999.999", "99999999"],
        &[],
        |id| digit(id, 0) != 0 && !uniform(id),
    )
    .unchecked(),
    high(
        "cl_rut",
        "Chilean RUT",
        Topic::Rut,
        &["99999999-X", "9999999-X", "99999999X"],
        &["99.999.999-X", "9.999.999-X"],
        rut,
    ),
    high(
        "co_cedula",
        "Colombian cédula",
        Topic::ColombianId,
        &["9.999.999.999", "99.999.999", "9999999999", "99999999"],
        &[],
        |id| digit(id, 0) != 0 && !uniform(id),
    )
    .unchecked(),
    high(
        "co_nit",
        "Colombian NIT",
        Topic::ColombianId,
        &["999_999_999_9"],
        &["999.999.999-9"],
        nit,
    )
    .rated(Severity::Low),
    high(
        "pe_ruc",
        "Peruvian RUC",
        Topic::PeruvianId,
        &["99999999999"],
        &[],
        ruc,
    )
    .rated(Severity::Medium),
    high(
        "ec_cedula",
        "Ecuadorian cédula",
        Topic::EcuadorianId,
        &["999999999_9"],
        &[],
        |id| (1..=24).contains(&number(id, 0, 2)) && digit(id, 2) < 6 && luhn(id),
    ),
    high(
        "do_cedula",
        "Dominican cédula",
        Topic::DominicanId,
        &["999_9999999_9"],
        &["999-9999999-9"],
        |id| luhn(id) && !uniform(id),
    ),
    high(
        "br_pis",
        "Brazilian PIS",
        Topic::BrazilianPis,
        &["999_99999_99_9"],
        &[],
        pis,
    ),
    high(
        "mx_clabe",
        "Mexican bank account",
        Topic::Clabe,
        &["999_999_99999999999_9"],
        &[],
        clabe,
    ),
];

/// Area, group and serial are all issued ones.
/// The numbers that were printed in a wallet and in a leaflet are void for good. `123-45-6789` is
/// no real one either, but it is what everybody types to see whether numbers are found.
fn ssn(id: &[u8]) -> bool {
    const VOID: [&[u8]; 2] = [b"078051120", b"219099999"];
    let area = number(id, 0, 3);
    let given = area != 0 && area != 666 && area < 900;
    let held = number(id, 3, 5) != 0 && number(id, 5, 9) != 0;
    given && held && !VOID.contains(&id) && !uniform(id)
}

fn itin(id: &[u8]) -> bool {
    digit(id, 0) == 9 && matches!(number(id, 3, 5), 50..=65 | 70..=88 | 90..=92 | 94..=99)
}

/// The letters S, L, O, I, B and Z are never used.
fn mbi(id: &[u8]) -> bool {
    digit(id, 0) != 0 && !id.iter().any(|byte| b"SLOIBZ".contains(byte))
}

fn npi(id: &[u8]) -> bool {
    let mut full = *b"808400000000000";
    for (slot, byte) in full.iter_mut().skip(5).zip(id) {
        *slot = *byte;
    }
    matches!(digit(id, 0), 1 | 2) && luhn(&full)
}

fn dea(id: &[u8]) -> bool {
    let sum = weighed(id.get(2..).unwrap_or_default(), &[1, 2, 1, 2, 1, 2]);
    sum % 10 == digit(id, 8) && !uniform(id.get(2..).unwrap_or_default())
}

fn aba(id: &[u8]) -> bool {
    let prefix = number(id, 0, 2);
    matches!(prefix, 1..=12 | 21..=32 | 61..=72 | 80)
        && weighed(id, &[3, 7, 1, 3, 7, 1, 3, 7, 1]).is_multiple_of(10)
}

/// A digit of Brazil's two: eleven minus the rest, nothing above nine.
fn brazilian(sum: u32) -> u32 {
    match sum % 11 {
        0 | 1 => 0,
        rest => 11 - rest,
    }
}

fn cpf(id: &[u8]) -> bool {
    !uniform(id)
        && brazilian(weighed(id, &[10, 9, 8, 7, 6, 5, 4, 3, 2])) == digit(id, 9)
        && brazilian(weighed(id, &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2])) == digit(id, 10)
}

fn cnpj(id: &[u8]) -> bool {
    !uniform(id)
        && brazilian(weighed(id, &[5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])) == digit(id, 12)
        && brazilian(weighed(id, &[6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])) == digit(id, 13)
}

/// The last digit over an alphabet of 37 with Ñ between N and O, weighed from 18 down.
fn curp(id: &[u8]) -> bool {
    let values = id.iter().take(17).zip((2..=18_u32).rev());
    let sum: u32 = values
        .map(|(byte, weight)| {
            weight
                * match byte {
                    b'0'..=b'9' => u32::from(byte - b'0'),
                    b'A'..=b'N' => u32::from(byte - b'A') + 10,
                    _ => u32::from(byte.wrapping_sub(b'A')) + 11,
                }
        })
        .sum();
    let sex = matches!(id.get(10), Some(b'H' | b'M' | b'X'));
    sex && is_yymmdd(id, 4) && (10 - sum % 10) % 10 == digit(id, 17)
}

/// The last character over an alphabet with `&`, space and Ñ, weighed from 13 down.
fn rfc(id: &[u8]) -> bool {
    let values = id.iter().take(12).zip((2..=13_u32).rev());
    let sum: u32 = values
        .map(|(byte, weight)| {
            weight
                * match byte {
                    b'0'..=b'9' => u32::from(byte - b'0'),
                    b'A'..=b'N' => u32::from(byte - b'A') + 10,
                    _ => u32::from(byte.wrapping_sub(b'A')) + 11,
                }
        })
        .sum();
    let last = id.get(12).copied().unwrap_or(0);
    let right = match 11 - sum % 11 {
        11 => last == b'0',
        10 => last == b'A',
        value => value == digit(id, 12) && last.is_ascii_digit(),
    };
    right && is_yymmdd(id, 4)
}

fn cuit(id: &[u8]) -> bool {
    let sum = weighed(id, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]);
    let prefix = matches!(number(id, 0, 2), 20 | 23..=27 | 30 | 33 | 34);
    prefix && (11 - sum % 11) % 11 == digit(id, 10)
}

fn rut(id: &[u8]) -> bool {
    let Some((last, body)) = id.split_last() else {
        return false;
    };
    let sum: u32 = body
        .iter()
        .rev()
        .zip([2, 3, 4, 5, 6, 7].into_iter().cycle())
        .map(|(byte, weight)| weight * u32::from(byte.wrapping_sub(b'0')))
        .sum();
    let right = match 11 - sum % 11 {
        11 => b'0',
        10 => b'K',
        value => b'0' + u8::try_from(value).unwrap_or(0),
    };
    *last == right && !uniform(body)
}

fn nit(id: &[u8]) -> bool {
    let sum = weighed(id, &[41, 37, 29, 23, 19, 17, 13, 7, 3]) % 11;
    digit(id, 9) == if sum < 2 { sum } else { 11 - sum }
}

fn ruc(id: &[u8]) -> bool {
    let sum = weighed(id, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]);
    matches!(number(id, 0, 2), 10 | 15 | 17 | 20) && (11 - sum % 11) % 10 == digit(id, 10)
}

fn pis(id: &[u8]) -> bool {
    let rest = weighed(id, &[3, 2, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    digit(id, 10) == if rest < 2 { 0 } else { 11 - rest } && !uniform(id)
}

/// Only the last digit of each product counts.
fn clabe(id: &[u8]) -> bool {
    let sum: u32 = [3, 7, 1]
        .into_iter()
        .cycle()
        .take(17)
        .enumerate()
        .map(|(at, by)| digit(id, at) * by % 10)
        .sum();
    (10 - sum % 10) % 10 == digit(id, 17) && number(id, 0, 3) != 0
}
