//! Ways of writing a text otherwise that are named nowhere: what a gateway makes of codes that
//! nobody told it about.

use base64::Engine as _;
use base64::alphabet::Alphabet;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{NO_PAD, STANDARD};

use super::known::{chunks, hex, shifted};
use crate::eval::random::{Random, WORD};

/// Bytes combined with a key of a few bytes, then base64.
pub(super) fn xored(random: &mut Random, text: &str) -> String {
    let key = random.bytes(7);
    let bytes = text
        .bytes()
        .zip(key.iter().cycle())
        .map(|(byte, key)| byte ^ key);
    STANDARD.encode(bytes.collect::<Vec<u8>>())
}

/// Base64 with its alphabet in another order.
pub(super) fn custom_base64(random: &mut Random, text: &str) -> String {
    let mut order: Vec<char> = format!("{WORD}-_").chars().collect();
    random.shuffle(&mut order);
    let order: String = order.into_iter().collect();
    match Alphabet::new(&order) {
        Ok(alphabet) => GeneralPurpose::new(&alphabet, NO_PAD).encode(text),
        Err(_) => String::new(),
    }
}

/// Base64 of sixteen-bit characters, as one shell takes its commands.
pub(super) fn utf16_base64(_: &mut Random, text: &str) -> String {
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    STANDARD.encode(bytes)
}

/// Letters and digits in Morse code.
pub(super) const MORSE: &[(char, &str)] = &[
    ('a', ".-"),
    ('b', "-..."),
    ('c', "-.-."),
    ('d', "-.."),
    ('e', "."),
    ('f', "..-."),
    ('g', "--."),
    ('h', "...."),
    ('i', ".."),
    ('j', ".---"),
    ('k', "-.-"),
    ('l', ".-.."),
    ('m', "--"),
    ('n', "-."),
    ('o', "---"),
    ('p', ".--."),
    ('q', "--.-"),
    ('r', ".-."),
    ('s', "..."),
    ('t', "-"),
    ('u', "..-"),
    ('v', "...-"),
    ('w', ".--"),
    ('x', "-..-"),
    ('y', "-.--"),
    ('z', "--.."),
    ('0', "-----"),
    ('1', ".----"),
    ('2', "..---"),
    ('3', "...--"),
    ('4', "....-"),
    ('5', "....."),
    ('6', "-...."),
    ('7', "--..."),
    ('8', "---.."),
    ('9', "----."),
];

/// Morse code; other characters are a stroke.
pub(super) fn morse(_: &mut Random, text: &str) -> String {
    spelled(text, MORSE, "/")
}

/// The spelling alphabet of radio.
pub(super) const RADIO: &[(char, &str)] = &[
    ('a', "Alfa"),
    ('b', "Bravo"),
    ('c', "Charlie"),
    ('d', "Delta"),
    ('e', "Echo"),
    ('f', "Foxtrot"),
    ('g', "Golf"),
    ('h', "Hotel"),
    ('i', "India"),
    ('j', "Juliett"),
    ('k', "Kilo"),
    ('l', "Lima"),
    ('m', "Mike"),
    ('n', "November"),
    ('o', "Oscar"),
    ('p', "Papa"),
    ('q', "Quebec"),
    ('r', "Romeo"),
    ('s', "Sierra"),
    ('t', "Tango"),
    ('u', "Uniform"),
    ('v', "Victor"),
    ('w', "Whiskey"),
    ('x', "X-ray"),
    ('y', "Yankee"),
    ('z', "Zulu"),
    ('0', "Zero"),
    ('1', "One"),
    ('2', "Two"),
    ('3', "Three"),
    ('4', "Four"),
    ('5', "Five"),
    ('6', "Six"),
    ('7', "Seven"),
    ('8', "Eight"),
    ('9', "Nine"),
];

/// The words of radio.
pub(super) fn radio(_: &mut Random, text: &str) -> String {
    spelled(text, RADIO, "stop")
}

fn spelled(text: &str, table: &[(char, &str)], other: &str) -> String {
    let word = |char: char| {
        let known = table
            .iter()
            .find(|(own, _)| *own == char.to_ascii_lowercase());
        known.map_or(other, |(_, word)| word)
    };
    text.chars().map(word).collect::<Vec<_>>().join(" ")
}

/// Letters and digits five places on.
pub(super) fn shifted_by_five(_: &mut Random, text: &str) -> String {
    let digit = |char: char| match char.to_digit(10) {
        Some(digit) => char::from_digit((digit + 5) % 10, 10).unwrap_or(char),
        None => char,
    };
    shifted(text, 5).chars().map(digit).collect()
}

/// The alphabet back to front.
pub(super) fn atbash(_: &mut Random, text: &str) -> String {
    let mirror = |byte: u8, first: u8, last: u8| char::from(first + last - byte);
    text.chars()
        .map(|char| match u8::try_from(char) {
            Ok(byte) if byte.is_ascii_lowercase() => mirror(byte, b'a', b'z'),
            Ok(byte) if byte.is_ascii_uppercase() => mirror(byte, b'A', b'Z'),
            Ok(byte) if byte.is_ascii_digit() => mirror(byte, b'0', b'9'),
            _ => char,
        })
        .collect()
}

/// Letters and digits shifted by those of a word, in turn.
pub(super) fn vigenere(random: &mut Random, text: &str) -> String {
    let key = random.bytes(6);
    let shift = |(char, key): (char, &u8)| match char.to_digit(10) {
        Some(digit) => {
            let digit = (digit + 1 + u32::from(key % 9)) % 10;
            char::from_digit(digit, 10)
                .map(String::from)
                .unwrap_or_default()
        }
        None => shifted(&char.to_string(), 1 + key % 25),
    };
    text.chars().zip(key.iter().cycle()).map(shift).collect()
}

/// Other characters between all characters.
pub(super) fn decoys(random: &mut Random, text: &str) -> String {
    let mut out = String::new();
    for char in text.chars() {
        out.push(char);
        out.push_str(&random.string(WORD, 1));
    }
    out
}

/// First the characters at even places, then those at odd ones.
pub(super) fn every_second(_: &mut Random, text: &str) -> String {
    let (even, odd) = (text.chars().step_by(2), text.chars().skip(1).step_by(2));
    even.chain(odd).collect()
}

/// Written in a zigzag over four lines and read line by line.
pub(super) fn rail_fence(_: &mut Random, text: &str) -> String {
    let mut rails = vec![String::new(); 4];
    for (char, rail) in text
        .chars()
        .zip([0_usize, 1, 2, 3, 2, 1].into_iter().cycle())
    {
        if let Some(rail) = rails.get_mut(rail) {
            rail.push(char);
        }
    }
    rails.concat()
}

/// The words in another order.
pub(super) fn words_shuffled(random: &mut Random, text: &str) -> String {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    random.shuffle(&mut words);
    words.join(" ")
}

/// Ordinary words whose first letters spell it; digits are counted out.
pub(super) fn acrostic(random: &mut Random, text: &str) -> String {
    let word = |char: char| match char.to_digit(36) {
        Some(digit @ 0..=9) => format!("{} times", pick(NUMERALS, digit)),
        Some(letter) => {
            let words = if random.below(2) == 0 {
                WORDS
            } else {
                OTHER_WORDS
            };
            let tail: String = pick(words, letter - 10).chars().skip(1).collect();
            format!("{char}{tail}")
        }
        None => String::new(),
    };
    let chars = text.chars().filter(char::is_ascii_alphanumeric);
    chars.map(word).collect::<Vec<_>>().join(" ")
}

fn pick(words: &[&'static str], at: u32) -> &'static str {
    let word = usize::try_from(at).ok().and_then(|at| words.get(at));
    word.copied().unwrap_or_default()
}

const NUMERALS: &[&str] = &[
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
];
const WORDS: &[&str] = &[
    "apples",
    "bring",
    "calm",
    "during",
    "every",
    "fine",
    "green",
    "hours",
    "in",
    "june",
    "keep",
    "lights",
    "many",
    "new",
    "often",
    "people",
    "quite",
    "rain",
    "some",
    "then",
    "under",
    "very",
    "warm",
    "xylophones",
    "yellow",
    "zebras",
];
const OTHER_WORDS: &[&str] = &[
    "all", "before", "cats", "dance", "even", "for", "good", "have", "it", "just", "kind", "long",
    "more", "never", "over", "play", "quiet", "round", "sun", "the", "until", "voices", "we",
    "xenon", "you", "zones",
];

/// Base 85 as in PostScript.
pub(super) fn ascii85(_: &mut Random, text: &str) -> String {
    let mut out = String::from("<~");
    for chunk in text.as_bytes().chunks(4) {
        let word = (0..4).fold(0_u32, |word, at| {
            word << 8 | u32::from(chunk.get(at).copied().unwrap_or(0))
        });
        let digit = |power: u32| word / 85_u32.pow(power) % 85;
        let digits = (0..5).rev().map(digit).take(chunk.len() + 1);
        out.extend(digits.filter_map(|digit| char::from_u32(33 + digit)));
    }
    out + "~>"
}

/// One long number in base 58.
pub(super) fn base58(_: &mut Random, text: &str) -> String {
    in_base(
        text.as_bytes(),
        b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    )
}

/// One long number in base 36.
pub(super) fn base36(_: &mut Random, text: &str) -> String {
    in_base(text.as_bytes(), b"0123456789abcdefghijklmnopqrstuvwxyz")
}

fn in_base(bytes: &[u8], alphabet: &[u8]) -> String {
    let base = u32::try_from(alphabet.len()).unwrap_or(1);
    let mut digits: Vec<u32> = Vec::new();
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += *digit << 8;
            *digit = carry % base;
            carry /= base;
        }
        while carry > 0 {
            digits.push(carry % base);
            carry /= base;
        }
    }
    let letter = |digit: &u32| alphabet.get(usize::try_from(*digit).ok()?).copied();
    digits
        .iter()
        .rev()
        .filter_map(letter)
        .map(char::from)
        .collect()
}

/// Base 45 as in vaccination codes.
pub(super) fn base45(_: &mut Random, text: &str) -> String {
    const ALPHABET: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";
    let mut out = String::new();
    for pair in text.as_bytes().chunks(2) {
        let mut value = pair
            .iter()
            .fold(0_usize, |value, byte| value << 8 | usize::from(*byte));
        for _ in 0..=pair.len() {
            out.extend(ALPHABET.get(value % 45).copied().map(char::from));
            value /= 45;
        }
    }
    out
}

/// Decimal numbers of the characters.
pub(super) fn decimal(random: &mut Random, text: &str) -> String {
    let joint = random.pick(&[" ", ",", ", ", "-"]);
    numbers(text, joint, |byte| byte.to_string())
}

/// Octal numbers of the characters.
pub(super) fn octal(random: &mut Random, text: &str) -> String {
    let joint = random.pick(&[" ", "\\", ","]);
    numbers(text, joint, |byte| format!("{byte:03o}"))
}

/// Binary digits of the characters.
pub(super) fn binary(random: &mut Random, text: &str) -> String {
    let joint = random.pick(&[" ", ""]);
    numbers(text, joint, |byte| format!("{byte:08b}"))
}

fn numbers(text: &str, joint: &str, number: impl Fn(u8) -> String) -> String {
    text.bytes().map(number).collect::<Vec<_>>().join(joint)
}

/// A picture for each character.
pub(super) fn emoji(_: &mut Random, text: &str) -> String {
    let picture = |byte: u8| char::from_u32(0x1f400 + u32::from(byte));
    text.bytes().filter_map(picture).collect()
}

/// Digits and signs for letters.
pub(super) fn leet(_: &mut Random, text: &str) -> String {
    let other = |char: char| match char.to_ascii_lowercase() {
        'a' => '4',
        'b' => '8',
        'e' => '3',
        'g' => '9',
        'i' | 'l' => '1',
        'o' => '0',
        's' => '5',
        't' => '7',
        'z' => '2',
        _ => char,
    };
    text.chars().map(other).collect()
}

/// Without vowels.
pub(super) fn vowels_removed(_: &mut Random, text: &str) -> String {
    text.chars()
        .filter(|char| !"aeiouAEIOU".contains(*char))
        .collect()
}

/// Every bit the other way, in hexadecimal.
pub(super) fn complement(_: &mut Random, text: &str) -> String {
    hex(&text.bytes().map(|byte| !byte).collect::<Vec<u8>>())
}

/// The encoding of old mails.
pub(super) fn uuencoded(_: &mut Random, text: &str) -> String {
    let sign = |value: usize| match u32::try_from(value) {
        Ok(0) | Err(_) => '`',
        Ok(value) => char::from_u32(32 + value).unwrap_or('`'),
    };
    let mut out = String::from("begin 644 notes.txt\n");
    for line in text.as_bytes().chunks(45) {
        out.push(sign(line.len()));
        for chunk in line.chunks(3) {
            let bits = (0..3).fold(0_usize, |bits, at| {
                bits << 8 | usize::from(chunk.get(at).copied().unwrap_or(0))
            });
            out.extend((0..4).rev().map(|place| sign(bits >> (6 * place) & 63)));
        }
        out.push('\n');
    }
    out + "`\nend\n"
}

/// A program of eight signs that prints it.
pub(super) fn program(_: &mut Random, text: &str) -> String {
    let (mut out, mut at) = (String::new(), 0_i32);
    for byte in text.bytes() {
        let by = i32::from(byte) - at;
        at = i32::from(byte);
        let step = if by < 0 { "-" } else { "+" };
        let (tens, ones) = (by.unsigned_abs() / 10, by.unsigned_abs() % 10);
        if tens > 0 {
            let tens = step.repeat(usize::try_from(tens).unwrap_or(0));
            out.extend([">++++++++++[<", &tens, ">-]<"]);
        }
        out.push_str(&step.repeat(usize::try_from(ones).unwrap_or(0)));
        out.push('.');
    }
    out
}

/// How often each character comes in a row, and the character.
pub(super) fn run_lengths(_: &mut Random, text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let runs = chars.chunk_by(|a, b| a == b);
    runs.filter_map(|run| Some(format!("{}{}", run.len(), run.first()?)))
        .collect()
}

/// A harmless sentence whose large and small letters are its bits.
pub(super) fn capitals(_: &mut Random, text: &str) -> String {
    const COVER: &str =
        "the quick release of the new website went well and everybody is happy with it ";
    let bits = text
        .bytes()
        .flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1));
    let mut out = String::new();
    let mut cover = COVER.chars().cycle();
    for bit in bits {
        for char in cover.by_ref() {
            if char.is_ascii_alphabetic() {
                out.push(if bit { char.to_ascii_uppercase() } else { char });
                break;
            }
            out.push(char);
        }
    }
    out
}

/// Cuts a text in pieces and numbers them, last first.
pub(super) fn pieces_out_of_order(_: &mut Random, text: &str) -> String {
    let pieces = chunks(text, 5);
    let numbered = pieces.iter().enumerate().rev();
    numbered
        .map(|(number, piece)| format!("{number}: {piece}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests;
