//! Text carried by characters that have no glyph: tags spell ASCII, variation selectors spell bytes.

use crate::hidden::script;
use crate::hidden::walk::Kind;

/// The flag that tags after it turn into a region's.
pub(crate) const FLAG: char = '\u{1f3f4}';

/// The regions whose flags exist. Others would let flags spell words.
const REGIONS: &[&str] = &["gbeng", "gbsct", "gbwls", "ustx", "usca"];

/// Reads the run of tag characters at the head of `rest`. The flag of a region is honest: the black
/// flag, the region and the cancel tag.
pub(crate) fn tags(rest: &str, before: Option<char>) -> (usize, Option<Kind>) {
    let mut spelled = String::new();
    let mut length = 0;
    let mut cancelled = false;
    for letter in rest.chars().take_while(|letter| is_tag(*letter)) {
        length += letter.len_utf8();
        cancelled = letter == '\u{e007f}';
        if !cancelled {
            spelled.extend(ascii_of(letter));
        }
        if cancelled {
            break;
        }
    }
    let flag = before == Some(FLAG) && cancelled && REGIONS.contains(&spelled.as_str());
    (length, (!flag).then_some(Kind::Tags(spelled)))
}

/// Reads the run of variation selectors at the head of `rest`. One after a character that has
/// variants is honest; more than one selects nothing.
pub(crate) fn selectors(rest: &str, before: Option<char>) -> (usize, Option<Kind>) {
    let mut bytes = Vec::new();
    let mut length = 0;
    for letter in rest.chars() {
        let Some(byte) = byte_of(letter) else {
            break;
        };
        bytes.push(byte);
        length += letter.len_utf8();
    }
    let honest = match bytes.as_slice() {
        [0..=15] => before.is_some_and(script::takes_variation),
        [_] => before.is_some_and(script::is_ideograph),
        _ => false,
    };
    let spelled = String::from_utf8_lossy(&bytes).into_owned();
    (length, (!honest).then_some(Kind::Selectors(spelled)))
}

fn is_tag(letter: char) -> bool {
    ('\u{e0000}'..='\u{e007f}').contains(&letter)
}

fn ascii_of(letter: char) -> Option<char> {
    let code = u32::from(letter).checked_sub(0xe_0000)?;
    char::from_u32(code).filter(|plain| (' '..='~').contains(plain))
}

fn byte_of(letter: char) -> Option<u8> {
    let code = u32::from(letter);
    let byte = match letter {
        '\u{fe00}'..='\u{fe0f}' => code - 0xfe00,
        '\u{e0100}'..='\u{e01ef}' => code - 0xe_0100 + 16,
        _ => return None,
    };
    u8::try_from(byte).ok()
}
