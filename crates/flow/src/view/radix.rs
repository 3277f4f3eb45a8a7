//! Bytes spelled in an alphabet: runs of base64, base32 and hexadecimal that begin in the middle,
//! their rarer cousins, base 85, and numbers in base 58 and 62.
//!
//! A decoding counts if what comes out is readable for a dozen bytes or more; only that much of it
//! is kept.

use std::ops::Range;

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

/// What each byte is worth in an alphabet.
type Values = [u8; 256];
/// What a byte is worth that is no digit.
const NONE: u8 = u8::MAX;

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn values(digits: &[u8], any_case: bool) -> Values {
    let mut values = [NONE; 256];
    let mut digit = 0_u8;
    while (digit as usize) < digits.len() {
        let byte = digits[digit as usize];
        values[byte as usize] = digit;
        if any_case {
            values[byte.to_ascii_lowercase() as usize] = digit;
        }
        digit += 1;
    }
    values
}

/// An alphabet whose digits stand for so many bits.
struct Alphabet {
    name: &'static str,
    bits: u32,
    values: Values,
}

impl Alphabet {
    /// Makes one in which the case of letters tells digits apart.
    const fn exact(name: &'static str, bits: u32, digits: &[u8]) -> Self {
        let values = values(digits, false);
        Self { name, bits, values }
    }

    /// Makes one in which it does not.
    const fn loose(name: &'static str, bits: u32, digits: &[u8]) -> Self {
        let values = values(digits, true);
        Self { name, bits, values }
    }
}

static ALPHABETS: [Alphabet; 8] = [
    Alphabet::exact(
        "base64",
        6,
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    ),
    Alphabet::exact(
        "base64",
        6,
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    ),
    Alphabet::exact(
        "crypt64",
        6,
        b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    ),
    Alphabet::loose("base32", 5, b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    Alphabet::loose("base32hex", 5, b"0123456789ABCDEFGHIJKLMNOPQRSTUV"),
    Alphabet::loose("crockford32", 5, b"0123456789ABCDEFGHJKMNPQRSTVWXYZ"),
    Alphabet::loose("zbase32", 5, b"YBNDRFG8EJKMCPQXOT1UWISZA345H769"),
    Alphabet::loose("hex", 4, b"0123456789ABCDEF"),
];

/// An alphabet of so many digits, which make one number or groups of numbers.
struct Radix {
    name: &'static str,
    base: u64,
    values: Values,
}

impl Radix {
    const fn new(name: &'static str, digits: &[u8]) -> Self {
        Self {
            name,
            base: digits.len() as u64,
            values: values(digits, false),
        }
    }

    /// Returns what all digits of a word are worth, if all are digits.
    fn read(&self, word: &[u8]) -> Option<Vec<u8>> {
        read(&self.values, word)
    }
}

static NUMBERS: [Radix; 4] = [
    Radix::new(
        "base58",
        b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    ),
    Radix::new(
        "base62",
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    ),
    Radix::new(
        "base62",
        b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    ),
    Radix::new("base36", b"0123456789abcdefghijklmnopqrstuvwxyz"),
];
static FIVES: [Radix; 2] = [
    Radix::new(
        "base85",
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~",
    ),
    Radix::new(
        "z85",
        b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#",
    ),
];
static BASE45: Radix = Radix::new("base45", b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:");

/// Returns what the bytes of a word are worth, if all of them are digits.
fn read(values: &Values, word: &[u8]) -> Option<Vec<u8>> {
    let value = |&byte: &u8| values.get(usize::from(byte)).copied().unwrap_or(NONE);
    // Most words fail in most alphabets, at no cost but this look.
    word.iter()
        .all(|byte| value(byte) != NONE)
        .then(|| word.iter().map(value).collect())
}

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
    let mut bytes = Vec::new();
    for alphabet in &ALPHABETS {
        in_bits(word, alphabet, &mut bytes, made);
    }
    if made.len() > before {
        return;
    }
    made.extend(FIVES.iter().filter_map(|radix| base85(word, radix)));
    made.extend(ascii85(word));
    made.extend(base45(word));
    if word.len() <= NUMBER && made.len() == before {
        made.extend(NUMBERS.iter().filter_map(|radix| number(word, radix)));
    }
}

/// Reads a token from each digit at which a byte could begin.
fn in_bits(word: &[u8], alphabet: &Alphabet, bytes: &mut Vec<u8>, made: &mut Vec<Made>) {
    let end = word
        .iter()
        .rposition(|&byte| byte != b'=')
        .map_or(0, |last| last + 1);
    let digits = read(&alphabet.values, word.get(..end).unwrap_or_default());
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
        let digits = digits.get(phase..).unwrap_or_default();
        pack(digits, alphabet.bits, bytes);
        if let Some(plain) = readable(bytes) {
            made.push(Made::new(alphabet.name, plain));
            return;
        }
        if phase == 0
            && let Some(plain) = unmixed(bytes)
        {
            made.push(Made::new("xor", plain));
            return;
        }
    }
}

/// Puts the bytes that digits spell into `bytes`.
fn pack(digits: &[u8], width: u32, bytes: &mut Vec<u8>) {
    bytes.clear();
    let (mut bits, mut held) = (0_u32, 0);
    for &digit in digits {
        bits = (bits << width | u32::from(digit)) & 0xFFFF;
        held += width;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xFF).unwrap_or(0));
        }
    }
}

/// Returns the readable runs of some bytes, if there are any and they are most of it.
fn readable(bytes: &[u8]) -> Option<String> {
    let fair = |byte: &u8| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
    let runs = || {
        let runs = bytes.split(|byte| !fair(byte));
        runs.filter(|run| run.len() >= READABLE)
    };
    // Bytes by chance hardly ever have a run, and mostly end the count at once.
    let length: usize = runs().map(|run| run.len() + 1).sum();
    (length > 0 && length * 2 >= bytes.len()).then(|| {
        let mut plain = String::with_capacity(length);
        for run in runs() {
            plain.extend(run.iter().copied().map(char::from));
            plain.push('\n');
        }
        plain
    })
}

/// Reads groups of five digits in base 85.
fn base85(word: &[u8], radix: &Radix) -> Option<Made> {
    let bytes = grouped(&radix.read(word)?)?;
    readable(&bytes).map(|plain| Made::new(radix.name, plain))
}

fn ascii85(word: &[u8]) -> Option<Made> {
    let word = word.strip_prefix(b"<~").unwrap_or(word);
    let word = word.strip_suffix(b"~>").unwrap_or(word);
    let mut values = Vec::with_capacity(word.len());
    for &byte in word {
        match byte {
            b'!'..=b'u' => values.push(byte - b'!'),
            b'z' => values.extend([0; 5]),
            _ => return None,
        }
    }
    readable(&grouped(&values)?).map(|plain| Made::new("ascii85", plain))
}

/// Turns groups of five digits into four bytes; a last group may be short.
fn grouped(values: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(values.len());
    for group in values.chunks(5) {
        let padded = group.iter().copied().chain(std::iter::repeat(84)).take(5);
        let number = padded.fold(0_u64, |sum, digit| sum * 85 + u64::from(digit));
        let number = u32::try_from(number).ok()?;
        let keep = group.len().saturating_sub(1);
        bytes.extend(number.to_be_bytes().into_iter().take(keep));
    }
    Some(bytes)
}

/// Reads RFC 9285: three digits for two bytes.
fn base45(word: &[u8]) -> Option<Made> {
    let mut bytes = Vec::new();
    for group in BASE45.read(word)?.chunks(3) {
        let add = |sum: u32, digit: &u8| sum * 45 + u32::from(*digit);
        let number = group.iter().rev().fold(0, add);
        match group.len() {
            3 => bytes.extend(u16::try_from(number).ok()?.to_be_bytes()),
            2 => bytes.push(u8::try_from(number).ok()?),
            _ => return None,
        }
    }
    readable(&bytes).map(|plain| Made::new(BASE45.name, plain))
}

/// Reads one large number.
fn number(word: &[u8], radix: &Radix) -> Option<Made> {
    let digits = radix.read(word)?;
    // Limbs of 32 bits, the lowest first; five digits at a time, which fit in one.
    let mut limbs: Vec<u32> = Vec::with_capacity(digits.len() / 5 + 1);
    for five in digits.chunks(5) {
        let (mut factor, mut carry) = (1_u64, 0_u64);
        for &digit in five {
            carry = carry * radix.base + u64::from(digit);
            factor *= radix.base;
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
    readable(&bytes).map(|plain| Made::new(radix.name, plain))
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
