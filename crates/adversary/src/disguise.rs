//! Ways to write a text so that a model reads it and a person, or a filter, may not.
//!
//! Only the writing. Undoing it is for the product, which shares none of this code.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

/// A way to write a text.
type Disguise = fn(&str) -> String;

/// Every disguise by its name.
const DISGUISES: &[(&str, Disguise)] = &[
    ("base64", |text| STANDARD.encode(text)),
    ("base64url", |text| URL_SAFE_NO_PAD.encode(text)),
    ("hex", hex),
    ("url", percent),
    ("reverse", |text| text.chars().rev().collect()),
    ("rot13", rot13),
    ("upper", str::to_uppercase),
    ("spaced", |text| joined(text, " ")),
    ("dashed", |text| joined(text, "-")),
    ("dotted", |text| joined(text, ".")),
    ("zero_width", |text| joined(text, "\u{200b}")),
    ("joiner", |text| joined(text, "\u{2060}")),
    ("tags", tags),
    ("variation", variation),
    ("bidi", bidi),
    ("homoglyph", homoglyph),
    ("fullwidth", fullwidth),
    ("entities", entities),
    ("escapes", escapes),
    ("ansi_white", |text| {
        format!("\u{1b}[38;5;231;48;5;231m{text}\u{1b}[0m")
    }),
    ("ansi_conceal", |text| format!("\u{1b}[8m{text}\u{1b}[28m")),
    ("ansi_erase", |text| format!("{text}\u{1b}[2K\u{1b}[1G")),
    ("comment", |text| format!("<!-- {text} -->")),
    ("below", |text| format!("{}{text}", "\n".repeat(80))),
    ("first_half", |text| half(text).0),
    ("second_half", |text| half(text).1),
    ("json", |text| serde_json::Value::from(text).to_string()),
    ("bared", bared),
];

/// Writes a text in a disguise; nothing where there is none of this name.
pub(crate) fn disguised(text: &str, name: &str) -> Option<String> {
    let (_, disguise) = DISGUISES.iter().find(|(known, _)| *known == name)?;
    Some(disguise(text))
}

fn joined(text: &str, between: &str) -> String {
    let letters: Vec<String> = text.chars().map(String::from).collect();
    letters.join(between)
}

fn hex(text: &str) -> String {
    spelled(text.bytes(), |byte| format!("{byte:02x}"))
}

fn percent(text: &str) -> String {
    spelled(text.bytes(), |byte| format!("%{byte:02X}"))
}

fn entities(text: &str) -> String {
    spelled(text.chars(), |letter| format!("&#{};", u32::from(letter)))
}

fn escapes(text: &str) -> String {
    spelled(text.encode_utf16(), |unit| format!("\\u{unit:04x}"))
}

/// Spells each part out.
fn spelled<T>(parts: impl Iterator<Item = T>, spell: impl Fn(T) -> String) -> String {
    let parts: Vec<String> = parts.map(spell).collect();
    parts.concat()
}

fn rot13(text: &str) -> String {
    let turned = |letter: char, first: u8| {
        let at = u8::try_from(letter).unwrap_or(first).wrapping_sub(first);
        char::from(first + (at + 13) % 26)
    };
    let letters = text.chars().map(|letter| match letter {
        'a'..='z' => turned(letter, b'a'),
        'A'..='Z' => turned(letter, b'A'),
        other => other,
    });
    letters.collect()
}

/// Characters of the tag block, which no font shows.
fn tags(text: &str) -> String {
    let letters = text.chars().filter(char::is_ascii);
    letters
        .filter_map(|letter| char::from_u32(0xE_0000 + u32::from(letter)))
        .collect()
}

/// One variation selector for each byte, behind a letter that is seen.
fn variation(text: &str) -> String {
    let marks = text.bytes().filter_map(|byte| {
        let byte = u32::from(byte);
        char::from_u32(if byte < 16 {
            0xFE00 + byte
        } else {
            0xE_0100 + byte - 16
        })
    });
    std::iter::once('.').chain(marks).collect()
}

/// What is left of a text when everything is taken out that is not seen: a gateway that does so must not
/// leave an order behind that a model still reads.
fn bared(text: &str) -> String {
    let mut left = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' && letters.next_if_eq(&'[').is_some() {
            // A sequence ends with its first letter.
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else if !is_unseen(letter) {
            left.push(letter);
        }
    }
    left
}

fn is_unseen(letter: char) -> bool {
    matches!(letter,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e01ef}')
}

/// Written backwards and shown forwards.
fn bidi(text: &str) -> String {
    let turned: String = text.chars().rev().collect();
    format!("\u{202e}{turned}\u{202c}")
}

fn homoglyph(text: &str) -> String {
    let letters = text.chars().map(|letter| match letter {
        'a' => 'а',
        'c' => 'с',
        'e' => 'е',
        'i' => 'і',
        'o' => 'о',
        'p' => 'р',
        's' => 'ѕ',
        'x' => 'х',
        'y' => 'у',
        other => other,
    });
    letters.collect()
}

fn fullwidth(text: &str) -> String {
    let letters = text.chars().map(|letter| match letter {
        '!'..='~' => char::from_u32(u32::from(letter) + 0xFEE0).unwrap_or(letter),
        other => other,
    });
    letters.collect()
}

fn half(text: &str) -> (String, String) {
    let middle = text.chars().count() / 2;
    let first = text.chars().take(middle).collect();
    (first, text.chars().skip(middle).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disguises_are_written_as_their_names_say() {
        let check = |name: &str, expect: &str| {
            assert_eq!(disguised("go up", name).as_deref(), Some(expect), "{name}");
        };
        check("base64", "Z28gdXA=");
        check("hex", "676f207570");
        check("url", "%67%6F%20%75%70");
        check("rot13", "tb hc");
        check("reverse", "pu og");
        check("tags", "\u{e0067}\u{e006f}\u{e0020}\u{e0075}\u{e0070}");
        check("fullwidth", "ｇｏ ｕｐ");
        check("first_half", "go");
        check("second_half", " up");
        check("escapes", "\\u0067\\u006f\\u0020\\u0075\\u0070");
        let left = |name: &str| disguised(&disguised("go up", name)?, "bared");
        for name in [
            "zero_width",
            "joiner",
            "ansi_white",
            "ansi_conceal",
            "ansi_erase",
        ] {
            assert_eq!(left(name).as_deref(), Some("go up"), "{name}");
        }
        assert_eq!(left("bidi").as_deref(), Some("pu og"));
        assert_eq!(left("tags").as_deref(), Some(""));
        assert_eq!(left("variation").as_deref(), Some("."));
        assert_eq!(disguised("go up", "no such"), None);
    }
}
