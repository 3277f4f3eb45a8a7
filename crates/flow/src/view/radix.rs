//! Bytes spelled in an alphabet: runs of base64, base32 and hexadecimal that begin in the middle,
//! their rarer cousins, base 85, and numbers in base 58 and 62.
//!
//! A decoding counts if what comes out is readable for a dozen bytes or more; only that much of it
//! is kept.

use std::ops::Range;
use std::sync::LazyLock;

use super::Made;
use super::cipher::unmixed;
use super::natural::{Look, is_natural};
use crate::words::split;

/// Shortest token that is tried.
const TOKEN: usize = 16;
/// Longest token that is read in alphabets nobody uses; longer ones are opaque.
const LONGEST: usize = 4096;
/// Tokens of a text that are tried.
const TOKENS: usize = 32;
/// Longest text that is put together from groups.
const SQUEEZED: usize = 8 << 10;
/// Readable bytes in a row that are no accident.
const READABLE: usize = 10;
/// Longest number in base 58 or 62; reading one is quadratic.
const NUMBER: usize = 256;

/// An alphabet whose digits stand for so many bits.
struct Alphabet {
    name: &'static str,
    bits: u32,
    digits: &'static [u8],
    any_case: bool,
}

const ALPHABETS: [Alphabet; 8] = [
    Alphabet {
        name: "base64",
        bits: 6,
        digits: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        any_case: false,
    },
    Alphabet {
        name: "base64",
        bits: 6,
        digits: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
        any_case: false,
    },
    Alphabet {
        name: "crypt64",
        bits: 6,
        digits: b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        any_case: false,
    },
    Alphabet {
        name: "base32",
        bits: 5,
        digits: b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        any_case: true,
    },
    Alphabet {
        name: "base32hex",
        bits: 5,
        digits: b"0123456789ABCDEFGHIJKLMNOPQRSTUV",
        any_case: true,
    },
    Alphabet {
        name: "crockford32",
        bits: 5,
        digits: b"0123456789ABCDEFGHJKMNPQRSTVWXYZ",
        any_case: true,
    },
    Alphabet {
        name: "zbase32",
        bits: 5,
        digits: b"YBNDRFG8EJKMCPQXOT1UWISZA345H769",
        any_case: true,
    },
    Alphabet {
        name: "hex",
        bits: 4,
        digits: b"0123456789ABCDEF",
        any_case: true,
    },
];

const BASE58: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const BASE62: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE62_LOWER: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const BASE36: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const BASE85: &[u8] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
const Z85: &[u8] =
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
const BASE45: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";

/// Adds what the tokens of `text` spell, but for those in `read`.
pub(super) fn find(text: &str, look: Look, read: &[Range<usize>], made: &mut Vec<Made>) {
    let mut tried = 0;
    let divides = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b',');
    for (at, word) in split(text, divides) {
        let end = at + word.len();
        let inside = |one: &Range<usize>| one.start <= at + 2 && end < one.end + 4;
        if !(TOKEN..=LONGEST).contains(&word.len())
            || tried >= TOKENS
            || reads_like_words(word)
            || read.iter().any(inside)
            || !is_dense(word)
        {
            continue;
        }
        tried += 1;
        token(word.as_bytes(), made);
    }
    if text.len() <= SQUEEZED
        && !look.is_natural()
        && let Some(squeezed) = squeezed(text)
    {
        token(squeezed.as_bytes(), made);
    }
}

/// Tells whether a token is a name or words: few digits, and pairs of letters of a language.
fn reads_like_words(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    digits * 8 < word.len() && is_natural(word)
}

/// Tells whether a token can spell bytes: it has more than letters of one case, or is long.
fn is_dense(word: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| word.bytes().any(|byte| kind(&byte));
    let kinds = [
        has(u8::is_ascii_lowercase),
        has(u8::is_ascii_uppercase),
        has(u8::is_ascii_digit),
    ];
    word.is_ascii() && (kinds.iter().filter(|has| **has).count() >= 2 || word.len() >= 32)
}

/// Puts a text together whose groups of digits and letters stand apart.
fn squeezed(text: &str) -> Option<String> {
    let separates = |byte: u8| {
        byte.is_ascii_whitespace()
            || matches!(byte, b'.' | b'-' | b'_' | b',' | b':' | b';' | b'/' | b'|')
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'=');
    let gaps = text.bytes().filter(|&byte| separates(byte)).count();
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let fits = text.bytes().all(|byte| separates(byte) || plain(byte));
    let enough = text.len() >= TOKEN + gaps && digits * 10 >= text.len() - gaps;
    (gaps >= 2 && fits && enough).then(|| {
        text.bytes()
            .filter(|&byte| plain(byte))
            .map(char::from)
            .collect()
    })
}

fn token(word: &[u8], made: &mut Vec<Made>) {
    let before = made.len();
    for (alphabet, values) in ALPHABETS.iter().zip(VALUES.iter()) {
        in_bits(word, alphabet, values, made);
    }
    if made.len() > before {
        return;
    }
    for (name, digits) in [("base85", BASE85), ("z85", Z85)] {
        made.extend(base85(word, digits, name));
    }
    made.extend(ascii85(word));
    made.extend(base45(word));
    if word.len() <= NUMBER && made.len() == before {
        for (name, digits) in [
            ("base58", BASE58),
            ("base62", BASE62),
            ("base62", BASE62_LOWER),
            ("base36", BASE36),
        ] {
            made.extend(number(word, digits, name));
        }
    }
}

/// What each byte is worth in each alphabet.
static VALUES: LazyLock<Vec<[u8; 256]>> =
    LazyLock::new(|| ALPHABETS.iter().map(Alphabet::values).collect());
const NONE: u8 = u8::MAX;

impl Alphabet {
    fn values(&self) -> [u8; 256] {
        let mut values = [NONE; 256];
        for (digit, &byte) in (0_u8..).zip(self.digits) {
            let other = if self.any_case {
                byte.to_ascii_lowercase()
            } else {
                byte
            };
            for spelled in [byte, other] {
                if let Some(value) = values.get_mut(usize::from(spelled)) {
                    *value = digit;
                }
            }
        }
        values
    }
}

/// Reads a token from each digit at which a byte could begin.
fn in_bits(word: &[u8], alphabet: &Alphabet, values: &[u8; 256], made: &mut Vec<Made>) {
    let end = word
        .iter()
        .rposition(|&byte| byte != b'=')
        .map_or(0, |last| last + 1);
    let value = |&byte: &u8| {
        let value = values.get(usize::from(byte)).copied();
        value.filter(|&value| value != NONE).map(u32::from)
    };
    let digits: Option<Vec<u32>> = word.iter().take(end).map(value).collect();
    let Some(digits) = digits else {
        return;
    };
    // Digits until a byte begins with a digit again.
    let phases = match alphabet.bits {
        6 => 4,
        5 => 8,
        _ => 2,
    };
    for phase in 0..phases {
        let bytes = packed(digits.get(phase..).unwrap_or_default(), alphabet.bits);
        if let Some(plain) = readable(&bytes) {
            made.push(Made::new(alphabet.name, plain));
            return;
        }
        if phase == 0
            && let Some(plain) = unmixed(&bytes)
        {
            made.push(Made::new("xor", plain));
            return;
        }
    }
}

fn packed(digits: &[u32], width: u32) -> Vec<u8> {
    let (mut bits, mut held) = (0_u32, 0);
    let mut bytes = Vec::with_capacity(digits.len());
    for digit in digits {
        bits = (bits << width | digit) & 0xFFFF;
        held += width;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xFF).unwrap_or(0));
        }
    }
    bytes
}

/// Returns the readable runs of some bytes, if there are any and they are most of it.
fn readable(bytes: &[u8]) -> Option<String> {
    let fair = |byte: u8| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
    let mut plain = String::new();
    for run in bytes.split(|&byte| !fair(byte)) {
        if run.len() >= READABLE {
            plain.extend(run.iter().copied().map(char::from));
            plain.push('\n');
        }
    }
    (!plain.is_empty() && plain.len() * 2 >= bytes.len()).then_some(plain)
}

/// Reads groups of five digits in base 85.
fn base85(word: &[u8], digits: &[u8], name: &'static str) -> Option<Made> {
    let value = |byte: &u8| digits.iter().position(|digit| digit == byte);
    let values: Option<Vec<usize>> = word.iter().map(value).collect();
    let bytes = grouped(&values?);
    readable(&bytes?).map(|plain| Made::new(name, plain))
}

fn ascii85(word: &[u8]) -> Option<Made> {
    let word = word.strip_prefix(b"<~").unwrap_or(word);
    let word = word.strip_suffix(b"~>").unwrap_or(word);
    let mut values = Vec::with_capacity(word.len());
    for &byte in word {
        match byte {
            b'!'..=b'u' => values.push(usize::from(byte - b'!')),
            b'z' => values.extend([0; 5]),
            _ => return None,
        }
    }
    readable(&grouped(&values)?).map(|plain| Made::new("ascii85", plain))
}

/// Turns groups of five digits into four bytes; a last group may be short.
fn grouped(values: &[usize]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(values.len());
    for group in values.chunks(5) {
        let padded = group.iter().copied().chain(std::iter::repeat(84)).take(5);
        let number = padded.fold(0_u64, |sum, digit| {
            sum * 85 + u64::try_from(digit).unwrap_or(0)
        });
        let number = u32::try_from(number).ok()?;
        let keep = group.len().saturating_sub(1);
        bytes.extend(number.to_be_bytes().into_iter().take(keep));
    }
    Some(bytes)
}

/// Reads RFC 9285: three digits for two bytes.
fn base45(word: &[u8]) -> Option<Made> {
    let value = |byte: &u8| BASE45.iter().position(|digit| digit == byte);
    let values: Option<Vec<usize>> = word.iter().map(value).collect();
    let mut bytes = Vec::new();
    for group in values?.chunks(3) {
        let number = group.iter().rev().fold(0, |sum, digit| sum * 45 + digit);
        match group.len() {
            3 => bytes.extend(u16::try_from(number).ok()?.to_be_bytes()),
            2 => bytes.push(u8::try_from(number).ok()?),
            _ => return None,
        }
    }
    readable(&bytes).map(|plain| Made::new("base45", plain))
}

/// Reads one large number.
fn number(word: &[u8], digits: &[u8], name: &'static str) -> Option<Made> {
    let radix = u64::try_from(digits.len()).ok()?;
    // Limbs of 32 bits, the lowest first; five digits at a time, which fit in one.
    let mut limbs: Vec<u32> = Vec::with_capacity(word.len() / 5 + 1);
    for five in word.chunks(5) {
        let (mut factor, mut carry) = (1_u64, 0_u64);
        for byte in five {
            let digit = digits.iter().position(|digit| digit == byte)?;
            carry = carry * radix + u64::try_from(digit).ok()?;
            factor *= radix;
        }
        for limb in &mut limbs {
            let sum = u64::from(*limb) * factor + carry;
            *limb = u32::try_from(sum & 0xFFFF_FFFF).unwrap_or(0);
            carry = sum >> 32;
        }
        if carry > 0 {
            limbs.push(u32::try_from(carry).unwrap_or(0));
        }
    }
    let bytes = limbs.iter().rev().flat_map(|limb| limb.to_be_bytes());
    let bytes: Vec<u8> = bytes.skip_while(|&byte| byte == 0).collect();
    readable(&bytes).map(|plain| Made::new(name, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_from_any_digit() {
        let check = |word: &str, via: &str, expect: &str| {
            let mut made = Vec::new();
            find(word, Look::at(word), &[], &mut made);
            let found: Vec<_> = made.iter().map(|one| (one.via, one.text.trim())).collect();
            assert!(found.contains(&(via, expect)), "{word} {found:?}");
        };
        check(
            "V1bGwgbW9vbiBvdmVyIHRoZSBiYXk",
            "base64",
            "ll moon over the bay",
        );
        check(
            "66c6c206d6f6f6e206f76657220746865",
            "hex",
            "ll moon over the",
        );
        check("BOu!rDst>tGAhM<A1fSl1GgsI/", "ascii85", "world.123456");
    }
}
