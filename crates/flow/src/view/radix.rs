//! Bytes spelled in an alphabet: runs of base64, base32 and hexadecimal that begin in the middle,
//! their rarer cousins, base 85, and numbers in base 58, 62, 36 and 10.
//!
//! A decoding counts if what comes out is readable for a dozen bytes or more; only that much of it
//! is kept.

use std::ops::Range;

use mcpproxy_text::bits::{self, BLOCK};

use super::Made;
use super::cipher::unmixed;
use super::natural::{Look, is_natural};
use crate::words::long;

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
/// Longest number that is read as one; reading it is quadratic.
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

/// Which bytes of ASCII there are in a word or in an alphabet, as bits.
type Set = u128;

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn set(values: &Values) -> Set {
    let mut set = 0;
    let mut byte = 0;
    while byte < 128 {
        if values[byte] != NONE {
            set |= 1 << byte;
        }
        byte += 1;
    }
    set
}

/// Returns the bytes of a word, which is all ASCII.
fn bytes_of(word: &[u8]) -> Set {
    word.iter().fold(0, |set, byte| set | 1 << (byte & 0x7F))
}

/// An alphabet whose digits stand for so many bits.
struct Alphabet {
    name: &'static str,
    bits: usize,
    values: Values,
    set: Set,
}

impl Alphabet {
    /// Makes one in which the case of letters tells digits apart.
    const fn exact(name: &'static str, bits: usize, digits: &[u8]) -> Self {
        Self::of(name, bits, values(digits, false))
    }

    /// Makes one in which it does not.
    const fn loose(name: &'static str, bits: usize, digits: &[u8]) -> Self {
        Self::of(name, bits, values(digits, true))
    }

    const fn of(name: &'static str, bits: usize, values: Values) -> Self {
        Self {
            name,
            bits,
            set: set(&values),
            values,
        }
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
    set: Set,
}

impl Radix {
    const fn new(name: &'static str, digits: &[u8]) -> Self {
        let values = values(digits, false);
        Self {
            name,
            base: digits.len() as u64,
            set: set(&values),
            values,
        }
    }

    /// Returns what all digits of a word are worth, if all of its bytes are digits.
    fn read(&self, word: &Word<'_>) -> Option<Vec<u8>> {
        // Most words fail in most alphabets, at no cost but this look.
        let fits = word.set & !self.set == 0;
        let values = word.bytes.iter().map(|&byte| value(&self.values, byte));
        fits.then(|| values.collect())
    }
}

/// A word of ASCII, and which bytes it has.
struct Word<'a> {
    bytes: &'a [u8],
    set: Set,
}

static NUMBERS: [Radix; 5] = [
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
    Radix::new("decimal", b"0123456789"),
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

fn value(values: &Values, byte: u8) -> u8 {
    values.get(usize::from(byte)).copied().unwrap_or(NONE)
}

/// Adds what the tokens of `text` spell, but for those in `read`.
pub(super) fn find(text: &str, look: Look, read: &[Range<usize>], made: &mut Vec<Made>) {
    let mut tried = 0;
    let divides = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b',');
    for (at, word) in long(text, TOKEN, divides) {
        let end = at + word.len();
        let inside = |one: &Range<usize>| one.start <= at + 2 && end < one.end + 4;
        if word.len() > LONGEST
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
    // As many digits as groups need; no more than signs and blanks stand between them.
    let dense = look.digits * 10 + look.signs + look.blanks >= text.len();
    if text.len() <= SQUEEZED
        && dense
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
    let end = word.iter().rposition(|&byte| byte != b'=');
    let bare = word
        .get(..end.map_or(0, |last| last + 1))
        .unwrap_or_default();
    let set = bytes_of(bare);
    let mut tried = Tried::default();
    let mut last: Option<&Alphabet> = None;
    for alphabet in ALPHABETS.iter().filter(|one| set & !one.set == 0) {
        // The first two differ in a few signs alone: without them they say the same.
        let twins = last.is_some_and(|last| last.name == alphabet.name);
        last = Some(alphabet);
        if twins {
            let same = made.get(before);
            let same = same.map(|one| Made::new(one.via, one.text.clone()));
            made.extend(same);
            continue;
        }
        tried.read(bare, alphabet);
        made.extend(in_bits(alphabet, &mut tried));
    }
    if made.len() > before {
        return;
    }
    let word = Word {
        bytes: word,
        set: bytes_of(word),
    };
    made.extend(FIVES.iter().filter_map(|radix| base85(&word, radix)));
    made.extend(ascii85(word.bytes));
    made.extend(base45(&word));
    if word.bytes.len() <= NUMBER && made.len() == before {
        made.extend(NUMBERS.iter().filter_map(|radix| number(&word, radix)));
    }
}

/// A token as it is read in one alphabet.
#[derive(Debug, Default)]
struct Tried {
    /// What its digits are worth.
    digits: Vec<u8>,
    /// Their bits in a row, with a byte of none behind them.
    packed: Vec<u8>,
    /// The bytes that they spell from one of the digits on.
    bytes: Vec<u8>,
}

impl Tried {
    /// Reads a token of which every byte is a digit.
    fn read(&mut self, word: &[u8], alphabet: &Alphabet) {
        self.digits.clear();
        let digits = word.iter().map(|&byte| value(&alphabet.values, byte));
        self.digits.extend(digits);
        self.packed.clear();
        match alphabet.bits {
            6 => pack::<4, 6>(&self.digits, &mut self.packed),
            5 => pack::<8, 5>(&self.digits, &mut self.packed),
            _ => pack::<2, 4>(&self.digits, &mut self.packed),
        }
    }

    /// Spells the bytes from the digit `phase` on, where each digit has so many bits.
    fn spell(&mut self, phase: usize, width: usize) -> &[u8] {
        let left = self.digits.len().saturating_sub(phase);
        let (skip, shift) = (phase * width / 8, phase * width % 8);
        let high = self.packed.get(skip..).unwrap_or_default();
        let low = high.get(1..).unwrap_or_default();
        let byte = |(&high, &low): (&u8, &u8)| {
            let [byte, _] = (u16::from_be_bytes([high, low]) << shift).to_be_bytes();
            byte
        };
        self.bytes.clear();
        // What is left of the last byte is no byte.
        let whole = high.iter().zip(low).map(byte);
        self.bytes.extend(whole.take(left * width / 8));
        &self.bytes
    }
}

/// Reads a token from each digit at which a byte could begin.
fn in_bits(alphabet: &Alphabet, tried: &mut Tried) -> Option<Made> {
    // Digits until a byte begins with a digit again.
    let phases = match alphabet.bits {
        6 => 4,
        5 => 8,
        _ => 2,
    };
    for phase in 0..phases {
        let bytes = tried.spell(phase, alphabet.bits);
        if let Some(plain) = readable(bytes) {
            return Some(Made::new(alphabet.name, plain));
        }
        if phase == 0
            && let Some(plain) = unmixed(bytes)
        {
            return Some(Made::new("xor", plain));
        }
    }
    None
}

/// Adds the bits of digits of `WIDTH` each, and a byte of none; `GROUP` of them are whole bytes.
fn pack<const GROUP: usize, const WIDTH: usize>(digits: &[u8], packed: &mut Vec<u8>) {
    let (groups, rest) = digits.as_chunks::<GROUP>();
    let add = |sum: u64, digit: &u8| sum << WIDTH | u64::from(*digit);
    packed.reserve(digits.len() * WIDTH / 8 + 8);
    for group in groups {
        let bits = group.iter().fold(0, add) << (64 - GROUP * WIDTH);
        let bytes = bits.to_be_bytes();
        packed.extend_from_slice(bytes.get(..GROUP * WIDTH / 8).unwrap_or_default());
    }
    let missing = GROUP - rest.len();
    let bits = rest.iter().chain(&[0; GROUP]).take(rest.len() + missing);
    let bits = bits.fold(0, add) << (64 - GROUP * WIDTH);
    packed.extend_from_slice(&bits.to_be_bytes());
}

/// Returns the readable runs of some bytes, if there are any and they are most of it.
fn readable(bytes: &[u8]) -> Option<String> {
    // Bytes by chance hardly ever have a run.
    if !may_read(bytes) {
        return None;
    }
    let fair = |byte: &u8| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
    let runs = || {
        let runs = bytes.split(|byte| !fair(byte));
        runs.filter(|run| run.len() >= READABLE)
    };
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

/// Tells whether some bytes can have a readable run: as many in a row as that takes, each of them
/// between a tab and a tilde, as all that is readable is.
fn may_read(bytes: &[u8]) -> bool {
    let flag = |byte: u8| u8::from(byte.wrapping_sub(b'\t') <= b'~' - b'\t');
    let mut before = 0;
    let mut base = 0;
    while base < bytes.len() {
        let fair = bits::mask(&bits::block(bytes, base), flag);
        // The last bits of the block before come first, since a run may begin there.
        let window = u128::from(fair) << (READABLE - 1) | before;
        let pairs = window & window >> 1;
        let fours = pairs & pairs >> 2;
        if fours & fours >> 4 & fours >> (READABLE - 4) != 0 {
            return true;
        }
        before = u128::from(fair >> (BLOCK + 1 - READABLE));
        base += BLOCK;
    }
    false
}

/// Reads groups of five digits in base 85.
fn base85(word: &Word<'_>, radix: &Radix) -> Option<Made> {
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
    let add = |sum: u64, digit: &u8| sum * 85 + u64::from(*digit);
    let number = |digits: &[u8; 5]| {
        let number = digits.iter().fold(0, add);
        u32::try_from(number).ok().map(u32::to_be_bytes)
    };
    let mut bytes = Vec::with_capacity(values.len());
    let (groups, rest) = values.as_chunks::<5>();
    for group in groups {
        bytes.extend_from_slice(&number(group)?);
    }
    let mut last = [84; 5];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    if let Some(keep) = rest.len().checked_sub(1) {
        bytes.extend(number(&last)?.into_iter().take(keep));
    }
    Some(bytes)
}

/// Reads RFC 9285: three digits for two bytes.
fn base45(word: &Word<'_>) -> Option<Made> {
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
fn number(word: &Word<'_>, radix: &Radix) -> Option<Made> {
    let digits = radix.read(word)?;
    // Limbs of 64 bits, the lowest first; ten digits at a time, which fit in one.
    let mut limbs: Vec<u64> = Vec::with_capacity(digits.len() / 10 + 1);
    for ten in digits.chunks(10) {
        let (mut factor, mut carry) = (1_u64, 0_u64);
        for &digit in ten {
            carry = carry * radix.base + u64::from(digit);
            factor *= radix.base;
        }
        for limb in &mut limbs {
            (*limb, carry) = limb.carrying_mul(factor, carry);
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    let mut bytes = Vec::with_capacity(limbs.len() * 8);
    for limb in limbs.iter().rev() {
        bytes.extend_from_slice(&limb.to_be_bytes());
    }
    let first = bytes.iter().position(|&byte| byte != 0)?;
    readable(bytes.get(first..)?).map(|plain| Made::new(radix.name, plain))
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
        check(
            "38334345427860815108237194404519536027706495472918905",
            "decimal",
            "full moon over the bay",
        );
    }
}
