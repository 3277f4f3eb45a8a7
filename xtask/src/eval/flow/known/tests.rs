//! Every code is undone here by other means than it was made.

use std::io::Read as _;

use flate2::read::{GzDecoder, ZlibDecoder};

use super::*;

const TEXTS: &[&str] = &[
    "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "a",
    "Zwei Zeilen,\nund = noch 100% ok?\n",
    "",
];

fn check(code: impl Fn(&mut Random, &str) -> String, undo: impl Fn(&str) -> String) {
    for text in TEXTS {
        for seed in ["a", "b", "c", "d", "e", "f"] {
            let coded = code(&mut Random::named(seed), text);
            assert_eq!(undo(&coded), *text, "{coded}");
        }
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn unhex(coded: &str) -> Vec<u8> {
    let digits: Vec<u8> = coded.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

fn unbase32(coded: &str) -> Vec<u8> {
    let value = |char: char| match char {
        'A'..='Z' => u32::from(char) - 65,
        _ => u32::from(char) - 50 + 26,
    };
    let letters = coded.trim_end_matches('=').chars();
    let bits: Vec<String> = letters.map(|char| format!("{:05b}", value(char))).collect();
    let bits = bits.concat();
    let bytes = chunks(&bits, 8).into_iter().filter(|byte| byte.len() == 8);
    bytes
        .map(|byte| u8::from_str_radix(&byte, 2).unwrap())
        .collect()
}

/// Undoes escapes of two hexadecimal digits after a sign.
fn unescaped(coded: &str, sign: char) -> String {
    let mut parts = coded.split(sign);
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at(2);
        out.push(char::from(unhex(digits)[0]));
        out.push_str(rest);
    }
    out
}

#[test]
fn codes_of_bytes_are_undone() {
    check(base64, |coded| text(STANDARD.decode(coded).unwrap()));
    check(base64_bare, |coded| {
        text(STANDARD_NO_PAD.decode(coded).unwrap())
    });
    check(base64_url, |coded| {
        text(URL_SAFE_NO_PAD.decode(coded.trim_end_matches('=')).unwrap())
    });
    check(base64_lines, |coded| {
        let bare: String = coded.split_whitespace().collect();
        text(STANDARD.decode(bare).unwrap())
    });
    check(
        |_, from| base32(from.as_bytes()),
        |coded| text(unbase32(coded)),
    );
    check(|_, from| hex(from.as_bytes()), |coded| text(unhex(coded)));
    check(hex_spelled, |coded| text(unhex(&coded.replace("0x", ""))));
    check(|_, from| percent(from), |coded| text(unhex(coded)));
}

#[test]
fn escapes_are_undone() {
    check(
        |_, from| unicode_escapes(from),
        |coded| serde_json::from_str(&format!("\"{coded}\"")).unwrap(),
    );
    check(entities, |coded| {
        let units = coded.split(';').filter_map(|unit| unit.strip_prefix("&#"));
        let number = |unit: &str| match unit.strip_prefix('x') {
            Some(hex) => u32::from_str_radix(hex, 16).unwrap(),
            None => unit.parse().unwrap(),
        };
        units
            .map(|unit| char::from_u32(number(unit)).unwrap())
            .collect()
    });
    check(quoted_printable, |coded| {
        unescaped(&coded.replace("=\r\n", ""), '=')
    });
    check(
        |_, from| percent_needed(from),
        |coded| unescaped(coded, '%'),
    );
}

#[test]
fn compressed_text_is_unpacked() {
    check(
        |_, from| STANDARD.encode(gzip(from)),
        |coded| {
            let bytes = STANDARD.decode(coded).unwrap();
            let mut out = String::new();
            GzDecoder::new(bytes.as_slice())
                .read_to_string(&mut out)
                .unwrap();
            out
        },
    );
    check(
        |_, from| hex(&zlib(from.as_bytes())),
        |coded| {
            let mut out = String::new();
            ZlibDecoder::new(unhex(coded).as_slice())
                .read_to_string(&mut out)
                .unwrap();
            out
        },
    );
}

#[test]
fn changes_of_letters_are_undone() {
    check(|_, from| rot13(from), rot13);
    check(|_, from| reversed(from), reversed);
    check(|_, from| shifted(from, 5), |coded| shifted(coded, 21));
    check(homoglyphs, |coded| {
        let own = |char| TWINS.iter().find(|(_, other)| *other == char);
        coded
            .chars()
            .map(|char| own(char).map_or(char, |(own, _)| *own))
            .collect()
    });
    check(fullwidth, |coded| {
        let narrow = |char| match char {
            '\u{3000}' => ' ',
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(char) - 0xfee0).unwrap(),
            _ => char,
        };
        coded.chars().map(narrow).collect()
    });
    check(zero_width, |coded| coded.chars().step_by(2).collect());
}

#[test]
fn what_folding_removes_is_all_that_changes() {
    let fold = |text: &str| -> String {
        let chars = text.chars().filter(char::is_ascii_alphanumeric);
        chars.map(|char| char.to_ascii_lowercase()).collect()
    };
    for code in [recased as Code, padded, separated] {
        for from in TEXTS {
            for seed in ["a", "b", "c", "d"] {
                assert_eq!(fold(&code(&mut Random::named(seed), from)), fold(from));
            }
        }
    }
}

#[test]
fn nested_codes_hide_the_text() {
    for seed in ["a", "b", "c", "d", "e", "f", "g"] {
        for depth in [2, 3] {
            let coded = nested(&mut Random::named(seed), TEXTS[0], depth);
            assert!(
                !coded.contains(TEXTS[0]) && coded.len() > TEXTS[0].len(),
                "{coded}"
            );
        }
    }
}
