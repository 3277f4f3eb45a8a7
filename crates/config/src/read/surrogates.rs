//! JSON writes characters beyond the basic plane as two escapes, `\ud83d\ude00`, which YAML does
//! not know.
//!
//! Each pair is put in as the character it means, and the table of offsets leads back to the text
//! as it stands.

use std::borrow::Cow;

/// The way from the number of a character in the prepared text to its byte in the file.
pub(super) struct Offsets {
    /// `None` where both are the same.
    bytes: Option<Vec<usize>>,
    end: usize,
}

impl Offsets {
    /// Returns the byte at which the character of this number stands; the end for numbers beyond
    /// it.
    pub(super) fn byte(&self, character: usize) -> usize {
        match &self.bytes {
            Some(bytes) => bytes.get(character).copied().unwrap_or(self.end),
            None => character.min(self.end),
        }
    }
}

/// Returns the text for the parser, with the offsets that lead back.
pub(super) fn prepare(text: &str, json: bool) -> (Cow<'_, str>, Offsets) {
    if json && text.contains("\\u") {
        return join(text);
    }
    let bytes = (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).collect());
    (
        Cow::Borrowed(text),
        Offsets {
            bytes,
            end: text.len(),
        },
    )
}

fn join(text: &str) -> (Cow<'_, str>, Offsets) {
    let mut joined = String::with_capacity(text.len());
    let mut bytes = Vec::with_capacity(text.len());
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        bytes.push(at);
        if character != '\\' {
            joined.push(character);
            continue;
        }
        if let Some(meant) = text.get(at..at + 12).and_then(pair) {
            joined.push(meant);
            // Eleven more characters of the pair, all ASCII.
            characters.nth(10);
            continue;
        }
        joined.push('\\');
        // The escaped character goes along, so that `\\u` is not taken for an escape.
        if let Some((at, escaped)) = characters.next() {
            bytes.push(at);
            joined.push(escaped);
        }
    }
    (
        Cow::Owned(joined),
        Offsets {
            bytes: Some(bytes),
            end: text.len(),
        },
    )
}

/// Reads `\uD83D\uDE00`.
fn pair(text: &str) -> Option<char> {
    let (high, low) = text.split_at_checked(6)?;
    let unit = |escape: &str| {
        let digits = escape
            .strip_prefix("\\u")
            .filter(|digits| digits.len() == 4)?;
        let plain = digits.bytes().all(|b| b.is_ascii_hexdigit());
        plain
            .then(|| u16::from_str_radix(digits, 16).ok())
            .flatten()
    };
    char::decode_utf16([unit(high)?, unit(low)?])
        .next()?
        .ok()
        .filter(|c| !is_basic(*c))
}

/// Two escapes of two characters are not a pair.
fn is_basic(c: char) -> bool {
    u32::from(c) < 0x1_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str, offsets: &[usize]) {
        let (joined, found) = prepare(text, true);
        assert_eq!(joined, expect);
        let found: Vec<_> = (0..=joined.chars().count())
            .map(|at| found.byte(at))
            .collect();
        assert_eq!(found, offsets, "{text}");
    }

    #[test]
    fn pairs_are_joined() {
        check("ab", "ab", &[0, 1, 2]);
        check("é!", "é!", &[0, 2, 3]);
        check("\\ud83d\\ude00!", "😀!", &[0, 12, 13]);
        check(
            "\\u0041\\u0042",
            "\\u0041\\u0042",
            &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
        );
        check("\\\\ud83d", "\\\\ud83d", &[0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
