//! The ways of writing a text otherwise that the design names: each can be undone.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use crate::eval::random::Random;

/// One way of writing a text otherwise.
pub(super) type Code = fn(&mut Random, &str) -> String;

/// Codes that can be put into each other, with the names that the report has for them.
pub(super) const NESTED: &[(&str, Code)] = &[
    ("base64", |_, text| STANDARD.encode(text)),
    ("base64url", |_, text| URL_SAFE_NO_PAD.encode(text)),
    ("base32", |_, text| base32(text.as_bytes())),
    ("hex", |_, text| hex(text.as_bytes())),
    ("percent", |_, text| percent(text)),
    ("gzip", |_, text| STANDARD.encode(gzip(text))),
    ("zlib", |_, text| hex(&zlib(text.as_bytes()))),
    ("unicode", |_, text| unicode_escapes(text)),
    ("entities", entities),
    ("rot13", |_, text| rot13(text)),
    ("reversed", |_, text| reversed(text)),
];

/// Puts so many different codes around a text; the outermost is never a mere change of letters.
pub(super) fn nested(random: &mut Random, text: &str, depth: usize) -> String {
    let mut codes: Vec<&(&str, Code)> = NESTED.iter().collect();
    random.shuffle(&mut codes);
    codes.truncate(depth);
    codes.sort_by_key(|(name, _)| !matches!(*name, "rot13" | "reversed"));
    codes
        .iter()
        .fold(text.to_owned(), |inner, (_, code)| code(random, &inner))
}

/// Base64 in the form with padding, as programs print it.
pub(super) fn base64(_: &mut Random, text: &str) -> String {
    STANDARD.encode(text)
}

/// Base64 of bytes in one of its alphabets.
pub(super) fn base64_of(random: &mut Random, bytes: &[u8]) -> String {
    match random.below(2) {
        0 => STANDARD.encode(bytes),
        _ => URL_SAFE_NO_PAD.encode(bytes),
    }
}

/// Base64 with the alphabet for addresses, padded or not.
pub(super) fn base64_url(random: &mut Random, text: &str) -> String {
    match random.below(2) {
        0 => URL_SAFE.encode(text),
        _ => URL_SAFE_NO_PAD.encode(text),
    }
}

/// Base64 without its padding.
pub(super) fn base64_bare(_: &mut Random, text: &str) -> String {
    STANDARD_NO_PAD.encode(text)
}

/// Base64 in short lines, as in mails.
pub(super) fn base64_lines(random: &mut Random, text: &str) -> String {
    let width = random.pick(&[19, 32, 64, 76]);
    let joint = random.pick(&["\n", "\r\n", " ", "\n  "]);
    chunks(&STANDARD.encode(text), width).join(joint)
}

/// Cuts a text into pieces of so many characters.
pub(super) fn chunks(text: &str, width: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars
        .chunks(width.max(1))
        .map(|chunk| chunk.iter().collect())
        .collect()
}

/// Base32 of RFC 4648, padded.
pub(super) fn base32(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut out = String::new();
    for chunk in bytes.chunks(5) {
        let bits = (0..5).fold(0_u64, |bits, at| {
            bits << 8 | u64::from(chunk.get(at).copied().unwrap_or(0))
        });
        for place in 0..8 {
            let filled = chunk.len() * 8 > place * 5;
            let value = usize::try_from(bits >> (35 - 5 * place) & 31).unwrap_or(0);
            let letter = ALPHABET.get(value).copied().filter(|_| filled);
            out.push(letter.map_or('=', char::from));
        }
    }
    out
}

/// Hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().map(char::from);
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(digit).collect()
}

/// Hexadecimal in the spellings of dumps and string literals.
pub(super) fn hex_spelled(random: &mut Random, text: &str) -> String {
    let pairs = chunks(&hex(text.as_bytes()), 2);
    match random.below(4) {
        0 => pairs.join(" "),
        1 => pairs.join(":").to_uppercase(),
        2 => format!("\\x{}", pairs.join("\\x")),
        _ => format!("0x{}", pairs.join(", 0x")),
    }
}

/// Percent escapes of every byte.
pub(super) fn percent(text: &str) -> String {
    let pairs = chunks(&hex(text.as_bytes()), 2).into_iter();
    let escapes = pairs.flat_map(|pair| ["%".to_owned(), pair.to_uppercase()]);
    escapes.collect()
}

/// Percent escapes of what an address cannot hold.
pub(super) fn percent_needed(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let mut out = String::new();
    for byte in text.bytes() {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push_str(&hex(&[byte]).to_uppercase());
        }
    }
    out
}

/// Numeric entities of HTML, decimal or hexadecimal.
pub(super) fn entities(random: &mut Random, text: &str) -> String {
    let decimal = random.below(2) == 0;
    text.chars()
        .map(|char| {
            if decimal {
                format!("&#{};", u32::from(char))
            } else {
                format!("&#x{:x};", u32::from(char))
            }
        })
        .collect::<Vec<_>>()
        .concat()
}

/// Escapes of JSON for every character.
pub(super) fn unicode_escapes(text: &str) -> String {
    let units = text.encode_utf16();
    let escapes: Vec<String> = units.map(|unit| format!("\\u{unit:04x}")).collect();
    escapes.concat()
}

/// Quoted-printable: every byte, or as mailers do with soft line breaks.
pub(super) fn quoted_printable(random: &mut Random, text: &str) -> String {
    let all = random.below(2) == 0;
    let width = random.pick(&[24, 40, 73]);
    let (mut out, mut column) = (String::new(), 0);
    for byte in text.bytes() {
        let plain = !all && (byte.is_ascii_graphic() || byte == b' ') && byte != b'=';
        let unit = if plain {
            char::from(byte).to_string()
        } else {
            format!("={byte:02X}")
        };
        if column + unit.len() > width {
            out.push_str("=\r\n");
            column = 0;
        }
        column += unit.len();
        out.push_str(&unit);
    }
    out
}

/// Gzip, as bytes.
pub(super) fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(text.as_bytes());
    written.and_then(|()| encoder.finish()).unwrap_or_default()
}

/// Zlib, as bytes.
pub(super) fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(bytes);
    written.and_then(|()| encoder.finish()).unwrap_or_default()
}

/// Letters thirteen places on.
pub(super) fn rot13(text: &str) -> String {
    shifted(text, 13)
}

/// Letters so many places on in the alphabet.
pub(super) fn shifted(text: &str, by: u8) -> String {
    let turn = |byte: u8, first: u8| char::from(first + (byte - first + by) % 26);
    text.chars()
        .map(|char| match u8::try_from(char) {
            Ok(byte) if byte.is_ascii_lowercase() => turn(byte, b'a'),
            Ok(byte) if byte.is_ascii_uppercase() => turn(byte, b'A'),
            _ => char,
        })
        .collect()
}

/// Back to front.
pub(super) fn reversed(text: &str) -> String {
    text.chars().rev().collect()
}

/// Another case: all large, all small, exchanged, or at random.
pub(super) fn recased(random: &mut Random, text: &str) -> String {
    let swap = |char: char| {
        if char.is_ascii_lowercase() {
            char.to_ascii_uppercase()
        } else {
            char.to_ascii_lowercase()
        }
    };
    match random.below(4) {
        0 => text.to_uppercase(),
        1 => text.to_lowercase(),
        2 => text.chars().map(swap).collect(),
        _ => text
            .chars()
            .map(|char| {
                if random.below(2) == 0 {
                    swap(char)
                } else {
                    char
                }
            })
            .collect(),
    }
}

/// Spaces and line breaks around it, and in place of those within.
pub(super) fn padded(random: &mut Random, text: &str) -> String {
    let space = |random: &mut Random| random.pick(&["  ", "\n", "\t", " \n ", "\u{a0}", "\r\n"]);
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut out = space(random).repeat(3);
    for word in words {
        out.push_str(word);
        out.push_str(space(random));
    }
    out + &space(random).repeat(2)
}

/// A separator between all characters.
pub(super) fn separated(random: &mut Random, text: &str) -> String {
    let joint = random.pick(&["-", " ", ".", "|", "_", ", ", " / ", "*"]);
    let chars: Vec<String> = text.chars().map(String::from).collect();
    chars.join(joint)
}

/// Characters without width between all others.
pub(super) fn zero_width(random: &mut Random, text: &str) -> String {
    const NOTHING: &[char] = &[
        '\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}', '\u{ad}',
    ];
    let mut out = String::new();
    for char in text.chars() {
        out.push(char);
        out.push(random.pick(NOTHING));
    }
    out
}

/// Letters that look the same in other alphabets.
pub(super) const TWINS: &[(char, char)] = &[
    ('a', 'а'),
    ('c', 'с'),
    ('e', 'е'),
    ('i', 'і'),
    ('j', 'ј'),
    ('o', 'о'),
    ('p', 'р'),
    ('s', 'ѕ'),
    ('x', 'х'),
    ('y', 'у'),
    ('A', 'А'),
    ('B', 'В'),
    ('E', 'Е'),
    ('H', 'Н'),
    ('I', 'І'),
    ('K', 'К'),
    ('M', 'М'),
    ('N', 'Ν'),
    ('O', 'О'),
    ('P', 'Р'),
    ('T', 'Т'),
    ('X', 'Х'),
    ('Z', 'Ζ'),
    ('v', 'ν'),
];

/// Replaces letters by their twins.
pub(super) fn homoglyphs(_: &mut Random, text: &str) -> String {
    let twin = |char| TWINS.iter().find(|(own, _)| *own == char);
    text.chars()
        .map(|char| twin(char).map_or(char, |(_, other)| *other))
        .collect()
}

/// The wide forms of ASCII.
pub(super) fn fullwidth(_: &mut Random, text: &str) -> String {
    moved(text, |char| match char {
        ' ' => Some('\u{3000}'),
        '!'..='~' => char::from_u32(u32::from(char) + 0xfee0),
        _ => None,
    })
}

/// Bold letters and digits of mathematics.
pub(super) fn styled(_: &mut Random, text: &str) -> String {
    let from = |char: char, first: char, bold: u32| {
        char::from_u32(u32::from(char) - u32::from(first) + bold)
    };
    moved(text, |char| match char {
        'A'..='Z' => from(char, 'A', 0x1d400),
        'a'..='z' => from(char, 'a', 0x1d41a),
        '0'..='9' => from(char, '0', 0x1d7ce),
        _ => None,
    })
}

fn moved(text: &str, to: impl Fn(char) -> Option<char>) -> String {
    text.chars().map(|char| to(char).unwrap_or(char)).collect()
}

#[cfg(test)]
mod tests;
