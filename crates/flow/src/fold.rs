//! The fold under which text is compared: lower-case letters and digits, one byte each, nothing
//! between them.
//!
//! Compatibility forms, accents, case, width, look-alikes of other scripts, separators and
//! characters that nobody sees all vanish. Letters beyond ASCII become one of 128 symbols: enough
//! for runs of them to be rare, and one byte for every character whatever the language.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Letters of other scripts that a common font draws as Latin ones, sorted.
const TWINS: &[(char, u8)] = &[
    ('\u{131}', b'i'),
    ('\u{237}', b'j'),
    ('\u{251}', b'a'),
    ('\u{261}', b'g'),
    ('\u{26A}', b'i'),
    ('\u{391}', b'a'),
    ('\u{392}', b'b'),
    ('\u{395}', b'e'),
    ('\u{396}', b'z'),
    ('\u{397}', b'h'),
    ('\u{399}', b'i'),
    ('\u{39A}', b'k'),
    ('\u{39C}', b'm'),
    ('\u{39D}', b'n'),
    ('\u{39F}', b'o'),
    ('\u{3A1}', b'p'),
    ('\u{3A4}', b't'),
    ('\u{3A5}', b'y'),
    ('\u{3A7}', b'x'),
    ('\u{3B1}', b'a'),
    ('\u{3B5}', b'e'),
    ('\u{3B9}', b'i'),
    ('\u{3BA}', b'k'),
    ('\u{3BD}', b'v'),
    ('\u{3BF}', b'o'),
    ('\u{3C1}', b'p'),
    ('\u{3C4}', b't'),
    ('\u{3C5}', b'u'),
    ('\u{3C7}', b'x'),
    ('\u{3F2}', b'c'),
    ('\u{3F3}', b'j'),
    ('\u{405}', b's'),
    ('\u{406}', b'i'),
    ('\u{408}', b'j'),
    ('\u{410}', b'a'),
    ('\u{412}', b'b'),
    ('\u{415}', b'e'),
    ('\u{41A}', b'k'),
    ('\u{41C}', b'm'),
    ('\u{41D}', b'h'),
    ('\u{41E}', b'o'),
    ('\u{420}', b'p'),
    ('\u{421}', b'c'),
    ('\u{422}', b't'),
    ('\u{423}', b'y'),
    ('\u{425}', b'x'),
    ('\u{430}', b'a'),
    ('\u{433}', b'r'),
    ('\u{435}', b'e'),
    ('\u{43A}', b'k'),
    ('\u{43C}', b'm'),
    ('\u{43E}', b'o'),
    ('\u{440}', b'p'),
    ('\u{441}', b'c'),
    ('\u{442}', b't'),
    ('\u{443}', b'y'),
    ('\u{445}', b'x'),
    ('\u{455}', b's'),
    ('\u{456}', b'i'),
    ('\u{458}', b'j'),
    ('\u{475}', b'v'),
    ('\u{49B}', b'k'),
    ('\u{4AF}', b'y'),
    ('\u{4BB}', b'h'),
    ('\u{4C0}', b'i'),
    ('\u{4CF}', b'l'),
    ('\u{501}', b'd'),
    ('\u{51B}', b'q'),
    ('\u{51D}', b'w'),
    ('\u{561}', b'w'),
    ('\u{566}', b'q'),
    ('\u{570}', b'h'),
    ('\u{578}', b'n'),
    ('\u{57D}', b'u'),
    ('\u{581}', b'g'),
    ('\u{585}', b'o'),
    ('\u{1D04}', b'c'),
    ('\u{1D0F}', b'o'),
    ('\u{1D1C}', b'u'),
    ('\u{1D20}', b'v'),
    ('\u{1D21}', b'w'),
    ('\u{1D22}', b'z'),
    ('\u{2C9F}', b'o'),
    ('\u{A731}', b's'),
];

/// Returns a text with the wide, circled, raised and mathematical forms of ASCII as ASCII: encodings are
/// looked for in that, and are the same in any of them.
pub(crate) fn plain_forms(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.is_ascii() || !text.chars().any(is_form) {
        return text;
    }
    let plain = |char: char| {
        let mut forms = std::iter::once(char).nfkc();
        let form = forms
            .next()
            .filter(char::is_ascii)
            .filter(|_| is_form(char));
        form.filter(|_| forms.next().is_none()).unwrap_or(char)
    };
    Cow::Owned(text.chars().map(plain).collect())
}

/// Tells whether a character stands where the forms of ASCII are.
fn is_form(char: char) -> bool {
    matches!(
        char,
        '\u{FF01}'..='\u{FF5E}'
            | '\u{2460}'..='\u{2473}'
            | '\u{24B6}'..='\u{24EA}'
            | '\u{2070}'..='\u{209C}'
            | '\u{2100}'..='\u{214F}'
            | '\u{1D400}'..='\u{1D7FF}'
            | '\u{1F130}'..='\u{1F149}'
    )
}

/// Longest text that is folded symbol by symbol, and bytes that are folded at once.
const SHORT: usize = 8;
const GROUP: usize = 8;

/// What each byte of ASCII folds to; zero is dropped.
const ASCII: [u8; 256] = ascii();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn ascii() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            table[byte as usize] = byte.to_ascii_lowercase();
        }
        byte += 1;
    }
    table
}

/// Adds the folded symbols of `text` to `out`.
pub(crate) fn fold(text: &str, out: &mut Vec<u8>) {
    if text.is_ascii() {
        return fold_ascii(text.as_bytes(), out);
    }
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.bytes().position(|byte| !byte.is_ascii());
        let (ascii, behind) = rest.split_at(plain.unwrap_or(rest.len()));
        fold_ascii(ascii.as_bytes(), out);
        let other = behind.bytes().position(|byte| byte.is_ascii());
        let (odd, behind) = behind.split_at(other.unwrap_or(behind.len()));
        fold_odd(odd, out);
        rest = behind;
    }
}

/// Folds ASCII without a branch: every byte writes, and only symbols move on.
fn fold_ascii(bytes: &[u8], out: &mut Vec<u8>) {
    // Keys, and most of what stands between characters of other scripts, are done before there is room.
    if bytes.len() <= SHORT {
        let symbols = bytes.iter().map(|&byte| ascii_symbol(byte));
        return out.extend(symbols.filter(|&symbol| symbol != 0));
    }
    let start = out.len();
    out.resize(start + bytes.len(), 0);
    let room = out.get_mut(start..).unwrap_or_default();
    let mut end = 0;
    let mut put = |byte: u8| {
        let symbol = ascii_symbol(byte);
        if let Some(slot) = room.get_mut(end) {
            *slot = symbol;
        }
        // INVARIANT: no more than all of them are counted; checked sums are slow here.
        end = usize::wrapping_add(end, usize::from(symbol != 0));
    };
    let (groups, rest) = bytes.as_chunks::<GROUP>();
    for group in groups {
        for &byte in group {
            put(byte);
        }
    }
    for &byte in rest {
        put(byte);
    }
    out.truncate(start + end);
}

fn ascii_symbol(byte: u8) -> u8 {
    ASCII.get(usize::from(byte)).copied().unwrap_or(0)
}

/// Returns the folded symbols of `text`.
pub fn folded(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    fold(text, &mut out);
    out
}

/// Folds characters beyond ASCII.
fn fold_odd(text: &str, out: &mut Vec<u8>) {
    for letter in text.nfkd().filter(|&letter| !is_combining_mark(letter)) {
        if let Some(latin) = twin(letter) {
            out.push(latin);
            continue;
        }
        for lower in letter.to_lowercase() {
            if lower.is_ascii_alphanumeric() {
                out.extend(u8::try_from(lower));
            } else if lower.is_alphanumeric() && !is_filler(lower) {
                out.push(symbol(lower));
            }
        }
    }
}

/// Letters by their class that nobody sees.
fn is_filler(letter: char) -> bool {
    matches!(letter, '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}')
}

fn twin(letter: char) -> Option<u8> {
    let at = TWINS
        .binary_search_by_key(&letter, |&(twin, _)| twin)
        .ok()?;
    TWINS.get(at).map(|&(_, latin)| latin)
}

fn symbol(letter: char) -> u8 {
    let [.., spread] = u32::from(letter).wrapping_mul(0x9E37_79B1).to_le_bytes();
    0x80 | spread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_text_fold_alike() {
        let check = |one: &str, other: &str, same: bool| {
            assert_eq!(folded(one) == folded(other), same, "{one} {other}");
        };
        check("Sk-Proj_ABC 123", "skprojabc123", true);
        check("s.k\u{200b}p r-o\u{ad}j", "skproj", true);
        check("ｓｋｐｒｏｊ", "skproj", true);
        check("\u{455}\u{43a}pr\u{43e}j", "skproj", true);
        check("Müller", "mu\u{308}ller", true);
        check("Müller", "MULLER", true);
        check("密码是甲乙丙", "密碼是甲乙丙", false);
        check("Пароль", "ПАРОЛЬ", true);
        check("a\u{3164}b", "ab", true);
        check("", "-- \u{2014} --", true);
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(TWINS.is_sorted_by_key(|&(twin, _)| twin));
    }

    #[test]
    fn every_letter_is_one_symbol() {
        assert_eq!(folded("дверь").len(), 5);
        assert_eq!(folded("你好吗").len(), 3);
        assert_eq!(folded("a1 b2"), b"a1b2");
    }
}
