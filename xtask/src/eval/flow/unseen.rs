//! More ways of writing a text otherwise, used with the held-out table alone: once a gateway undoes
//! a code of the other list, that list no longer says what it makes of codes that it does not know.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::known::{chunks, hex};
use crate::eval::random::Random;

/// Hexadecimal in the shape of identifiers.
pub(super) fn identifiers(_: &mut Random, text: &str) -> String {
    shaped(text, 32, '-', &[8, 12, 16, 20])
}

/// Hexadecimal in the shape of network addresses.
pub(super) fn addresses(_: &mut Random, text: &str) -> String {
    shaped(text, 32, ':', &[4, 8, 12, 16, 20, 24, 28])
}

/// Hexadecimal in the shape of colours.
pub(super) fn colours(_: &mut Random, text: &str) -> String {
    let colours = shaped(text, 6, '#', &[0]);
    colours.replace('\n', ", ")
}

/// Groups of so many hexadecimal digits, filled up, with a sign at some places.
fn shaped(text: &str, width: usize, sign: char, at: &[usize]) -> String {
    let groups = chunks(&hex(text.as_bytes()), width)
        .into_iter()
        .map(|group| {
            let mut out = String::new();
            for (place, digit) in format!("{group:0<width$}").chars().enumerate() {
                out.extend(at.contains(&place).then_some(sign));
                out.push(digit);
            }
            out
        });
    groups.collect::<Vec<_>>().join("\n")
}

/// The patterns of touch reading.
pub(super) fn braille(_: &mut Random, text: &str) -> String {
    let pattern = |byte: u8| char::from_u32(0x2800 + u32::from(byte));
    text.bytes().filter_map(pattern).collect()
}

/// Row and column in a square of letters and digits.
pub(super) fn square(_: &mut Random, text: &str) -> String {
    let pair = |char: char| {
        let value = char.to_digit(36)?;
        Some(format!("{}{}", 1 + value / 6, 1 + value % 6))
    };
    text.chars().filter_map(pair).collect::<Vec<_>>().join(" ")
}

/// The rows of a keyboard.
pub(super) const KEYS: [&str; 4] = ["1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm"];

/// The key to the right, round at the end of the row.
pub(super) fn neighbours(_: &mut Random, text: &str) -> String {
    let next = |char: char| {
        let low = char.to_ascii_lowercase();
        let row = KEYS.iter().find(|row| row.contains(low))?;
        let right = row.chars().cycle().skip_while(|key| *key != low).nth(1)?;
        Some(if char == low {
            right
        } else {
            right.to_ascii_uppercase()
        })
    };
    text.chars()
        .map(|char| next(char).unwrap_or(char))
        .collect()
}

/// Written in rows of seven and read in columns.
pub(super) fn columns(_: &mut Random, text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let column = |first: usize| chars.iter().skip(first).step_by(7);
    (0..7).flat_map(column).collect()
}

/// Hexadecimal with the two digits of each byte exchanged.
pub(super) fn nibbles(_: &mut Random, text: &str) -> String {
    hex(&text
        .bytes()
        .map(|byte| byte.rotate_left(4))
        .collect::<Vec<u8>>())
}

/// Every byte turned by three bits, then base64.
pub(super) fn rotated(_: &mut Random, text: &str) -> String {
    STANDARD_NO_PAD.encode(
        text.bytes()
            .map(|byte| byte.rotate_left(3))
            .collect::<Vec<u8>>(),
    )
}

/// Words that can be spoken, one for two bytes.
pub(super) fn syllables(_: &mut Random, text: &str) -> String {
    let pick = |letters: &[u8], value: u16| {
        let letter = letters.get(usize::from(value) % letters.len().max(1));
        letter.copied().map_or('?', char::from)
    };
    let word = |pair: &[u8]| -> String {
        let word = pair
            .iter()
            .fold(0_u16, |word, byte| word << 8 | u16::from(*byte));
        let (hard, soft) = (b"bdfghjklmnprstvz", b"aiou");
        [
            (hard.as_slice(), 12),
            (soft, 10),
            (hard, 6),
            (soft, 4),
            (hard, 0),
        ]
        .into_iter()
        .map(|(letters, shift)| pick(letters, word >> shift))
        .collect()
    };
    text.as_bytes()
        .chunks(2)
        .map(word)
        .collect::<Vec<_>>()
        .join("-")
}

/// From each character to the next, the difference.
pub(super) fn differences(_: &mut Random, text: &str) -> String {
    let before = [0].into_iter().chain(text.bytes());
    let steps = text
        .bytes()
        .zip(before)
        .map(|(now, before)| i16::from(now) - i16::from(before));
    steps
        .map(|step| step.to_string())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Degrees of places on a map.
pub(super) fn places(_: &mut Random, text: &str) -> String {
    let place = |pair: &[u8]| {
        let degree = |at: usize| pair.get(at).map_or(0.0, |byte| f64::from(*byte) / 4.0);
        format!("{:.2},{:.2}", degree(0), degree(1))
    };
    text.as_bytes()
        .chunks(2)
        .map(place)
        .collect::<Vec<_>>()
        .join("; ")
}

/// Sixteen words that can stand in a shopping list.
pub(super) const GOODS: [&str; 16] = [
    "milk", "bread", "eggs", "rice", "salt", "tea", "corn", "beans", "pears", "honey", "oats",
    "cheese", "plums", "flour", "leeks", "soap",
];

/// Two things to buy for each byte.
pub(super) fn shopping(_: &mut Random, text: &str) -> String {
    let good = |value: u8| GOODS.get(usize::from(value)).copied().unwrap_or_default();
    let goods = text
        .bytes()
        .flat_map(|byte| [good(byte >> 4), good(byte & 15)]);
    goods.collect::<Vec<_>>().join(", ")
}

/// The first letter of each word goes to its end.
pub(super) fn pig_latin(_: &mut Random, text: &str) -> String {
    let turned = |word: &str| {
        let mut chars = word.chars();
        let first = chars.next().map(String::from).unwrap_or_default();
        format!("{}{first}ay", chars.as_str())
    };
    text.split_whitespace()
        .map(turned)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests;
