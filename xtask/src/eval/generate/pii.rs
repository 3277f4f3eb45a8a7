//! Personal data with right check digits, nobody's, in ordinary sentences and records.

use serde_json::json;

use crate::eval::case::{Case, Detector, Expect, Mark, Set};
use crate::eval::random::{DIGIT, Random};

/// Cases of each type.
const EACH: usize = 16;

const CARRIERS: &[&str] = &[
    "{\"customer\":{\"{label}\":\"{}\"},\"status\":\"active\"}",
    "Please update the {label} of the customer to {} by tomorrow.",
    "id,{label},state\n17,{},open\n",
    "2026-02-03 11:09:41 INFO form saved, {label}={} ok\n",
    "**{label}:** {}\n",
];
const FIRST: &[&str] = &[
    "nora", "liam", "chen", "amara", "jose", "petra", "yusuf", "ingrid",
];
const LAST: &[&str] = &[
    "vogel", "okafor", "tanaka", "silva", "novak", "larsen", "haddad", "moss",
];
const DOMAINS: &[&str] = &[
    "postbox.org",
    "mailkit.io",
    "uni-west.edu",
    "fastcorp.co.uk",
];

/// The types: name, the word that stands by it, and how one is made.
type Type = (&'static str, &'static str, fn(&mut Random) -> String);

const TYPES: &[Type] = &[
    ("email", "email", email),
    ("card", "card number", |random| {
        let start = random.pick(&["4", "51", "53", "55", "6011"]);
        card(random, start, 16)
    }),
    ("amex", "card number", |random| card(random, "37", 15)),
    ("card_spaced", "credit card", |random| {
        let digits = card(random, "4", 16);
        grouped(&digits, ' ')
    }),
    ("ssn", "SSN", ssn),
    ("iban_de", "IBAN", |random| iban(random, "DE", 18)),
    ("iban_fr", "IBAN", |random| iban(random, "FR", 23)),
    ("ipv4", "ip", ipv4),
    ("nino", "national insurance number", nino),
    ("us_passport", "passport number", |random| {
        random.fill("{d9}")
    }),
    ("date_of_birth", "date of birth", birth),
    ("dni", "DNI", dni),
    ("cpf", "CPF", cpf),
    ("pesel", "PESEL", pesel),
    ("mac", "mac address", mac),
];

const PHONES: &[Type] = &[
    ("us_dashes", "phone", |random| us(random, "{a}-{b}-{c}")),
    ("us_parentheses", "phone", |random| {
        us(random, "({a}) {b}-{c}")
    }),
    ("us_international", "mobile", |random| {
        us(random, "+1 {a} {b} {c}")
    }),
    ("german", "Telefon", |random| {
        random.fill("+49 30 {d4} {d4}")
    }),
    ("british", "tel", |random| random.fill("+44 20 7{d3} {d4}")),
    ("french", "phone", |random| {
        random.fill("+33 6 {d2} {d2} {d2} {d2}")
    }),
    ("indian", "mobile", |random| random.fill("+91 98{d3} {d5}")),
    ("japanese", "phone", |random| {
        random.fill("+81 90-{d4}-{d4}")
    }),
    ("compact", "phone", |random| random.fill("+4917{d9}")),
];

/// The cases.
pub(super) fn cases() -> Vec<Case> {
    let mut random = Random::named("pii");
    let mut cases = Vec::new();
    for (detector, types) in [(Detector::Pii, TYPES), (Detector::Phones, PHONES)] {
        for (name, label, make) in types {
            for number in 0..EACH {
                let value = make(&mut random);
                let text = random
                    .pick(CARRIERS)
                    .replace("{label}", label)
                    .replace("{}", &value);
                cases.push(case(
                    detector,
                    format!("own/pii/{name}/{number}"),
                    &text,
                    &value,
                ));
            }
        }
    }
    cases
}

/// Makes one of a type; returns the word that stands by it and the value.
pub(in crate::eval) fn draw(random: &mut Random, name: &str) -> Option<(&'static str, String)> {
    let mut types = TYPES.iter().chain(PHONES);
    let (_, label, make) = types.find(|(own, _, _)| *own == name)?;
    Some((label, make(random)))
}

fn case(detector: Detector, id: String, text: &str, value: &str) -> Case {
    let place = text.rfind(value).map(|at| at..at + value.len());
    Case {
        set: Set::Own,
        id,
        source: "generators".to_owned(),
        question: json!({ "kind": "text", "text": text }),
        marks: vec![Mark {
            detector,
            expect: Expect::Flagged(place),
        }],
    }
}

fn email(random: &mut Random) -> String {
    let (first, last) = (random.pick(FIRST), random.pick(LAST));
    format!(
        "{first}.{last}{}@{}",
        random.below(90),
        random.pick(DOMAINS)
    )
}

fn card(random: &mut Random, start: &str, length: usize) -> String {
    let body = format!("{start}{}", random.string(DIGIT, length - start.len() - 1));
    let sum: u32 = body
        .chars()
        .rev()
        .enumerate()
        .map(|(place, char)| {
            let digit = char.to_digit(10).unwrap_or(0);
            let digit = if place % 2 == 0 { digit * 2 } else { digit };
            digit / 10 + digit % 10
        })
        .sum();
    format!("{body}{}", (10 - sum % 10) % 10)
}

fn grouped(digits: &str, joint: char) -> String {
    let groups = digits.as_bytes().chunks(4).map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(&joint.to_string())
}

fn ssn(random: &mut Random) -> String {
    let area = [random.below(600) + 1, random.below(230) + 667];
    let area = random.pick(&area);
    format!(
        "{area:03}-{:02}-{:04}",
        random.below(98) + 1,
        random.below(9998) + 1
    )
}

fn iban(random: &mut Random, country: &str, length: usize) -> String {
    let account = random.string(DIGIT, length);
    let letters = country.chars().filter_map(|char| char.to_digit(36));
    let letters: String = letters.map(|value| value.to_string()).collect();
    let whole = format!("{account}{letters}00");
    let rest = whole.chars().filter_map(|char| char.to_digit(10));
    let rest = rest.fold(0, |rest, digit| (rest * 10 + digit) % 97);
    format!("{country}{:02}{account}", 98 - rest)
}

fn ipv4(random: &mut Random) -> String {
    let first = random.pick(&[45, 62, 81, 93, 141, 185, 212]);
    format!(
        "{first}.{}.{}.{}",
        random.below(256),
        random.below(256),
        random.below(254) + 1
    )
}

fn nino(random: &mut Random) -> String {
    let prefix = random.pick(&["AB", "CE", "HJ", "JK", "LM", "PR", "SW", "YZ"]);
    let suffix = random.pick(&["A", "B", "C", "D"]);
    random.fill(&format!("{prefix} {{d2}} {{d2}} {{d2}} {suffix}"))
}

fn birth(random: &mut Random) -> String {
    let (year, month, day) = (
        1940 + random.below(65),
        random.below(12) + 1,
        random.below(28) + 1,
    );
    match random.below(3) {
        0 => format!("{year}-{month:02}-{day:02}"),
        1 => format!("{month:02}/{day:02}/{year}"),
        _ => format!("{day:02}.{month:02}.{year}"),
    }
}

fn dni(random: &mut Random) -> String {
    let number = random.below(99_999_999);
    let letter = b"TRWAGMYFPDXBNJZSQVHLCKE"
        .get(number % 23)
        .copied()
        .unwrap_or(b'T');
    format!("{number:08}{}", char::from(letter))
}

fn cpf(random: &mut Random) -> String {
    let mut digits: Vec<u32> = (0..9)
        .map(|_| random.pick(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]))
        .collect();
    for weight in [10_u32, 11] {
        let sum: u32 = digits
            .iter()
            .zip((2..=weight).rev())
            .map(|(d, w)| d * w)
            .sum();
        digits.push(sum * 10 % 11 % 10);
    }
    let text: String = digits
        .iter()
        .filter_map(|&digit| char::from_digit(digit, 10))
        .collect();
    let (head, tail) = text.split_at_checked(9).unwrap_or_default();
    let groups = head
        .as_bytes()
        .chunks(3)
        .map(String::from_utf8_lossy)
        .collect::<Vec<_>>();
    format!("{}-{tail}", groups.join("."))
}

fn pesel(random: &mut Random) -> String {
    let (year, month, day) = (random.below(99), random.below(12) + 1, random.below(28) + 1);
    let body = format!("{year:02}{month:02}{day:02}{}", random.fill("{d4}"));
    let digits = body.chars().filter_map(|char| char.to_digit(10));
    let weights = [1, 3, 7, 9, 1, 3, 7, 9, 1, 3];
    let sum: u32 = digits
        .zip(weights)
        .map(|(digit, weight)| digit * weight)
        .sum();
    format!("{body}{}", (10 - sum % 10) % 10)
}

fn mac(random: &mut Random) -> String {
    let parts: Vec<String> = (0..6).map(|_| random.fill("{h2}")).collect();
    parts.join(":")
}

fn us(random: &mut Random, form: &str) -> String {
    let area = random.pick(&["212", "415", "617", "303", "702", "512"]);
    let exchange = random.below(700) + 201;
    let form = form
        .replace("{a}", area)
        .replace("{b}", &exchange.to_string());
    form.replace("{c}", &random.string(DIGIT, 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_digits_are_right() {
        let mut random = Random::named("test");
        for _ in 0..50 {
            let digits: Vec<u32> = card(&mut random, "4", 16)
                .chars()
                .filter_map(|char| char.to_digit(10))
                .collect();
            let doubled = digits.iter().rev().enumerate().map(|(place, digit)| {
                let digit = if place % 2 == 1 { digit * 2 } else { *digit };
                digit / 10 + digit % 10
            });
            assert_eq!(doubled.sum::<u32>() % 10, 0);
        }
    }
}
