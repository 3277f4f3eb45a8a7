//! One walk over a text that stops at every character a person does not see, and says whether it
//! is planted. `Hidden` reports what is planted, `sanitize` removes it: both see the same.

use std::cell::LazyCell;
use std::ops::Range;

use crate::hidden::escape::{self, Effect};
use crate::hidden::script;
use crate::hidden::smuggle;

/// One run of characters that a person does not see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unseen {
    /// Where it stands.
    pub(crate) span: Range<usize>,
    /// What it is.
    pub(crate) kind: Kind,
}

/// What kind of unseen character it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A terminal escape.
    Escape(Effect),
    /// Another control character.
    Control(char),
    /// A character without width, outside the scripts that need it.
    ZeroWidth,
    /// An override of the direction of text.
    Override,
    /// An embedding, isolate or mark; `true` if the text has letters that run right to left.
    Direction(bool),
    /// Tag characters and the ASCII they spell.
    Tags(String),
    /// Variation selectors that select nothing, and the bytes they spell as text.
    Selectors(String),
    /// A soft hyphen or another character that shows only sometimes.
    SoftHyphen,
    /// A letter that is blank.
    Filler,
    /// A byte order mark at the very beginning.
    Mark,
    /// A character without an agreed meaning.
    Private,
}

impl Kind {
    /// Whether it must not reach a model. A byte order mark and the marks of a text that really
    /// runs right to left are of use to its reader.
    pub(crate) fn is_planted(&self) -> bool {
        !matches!(
            self,
            Self::Direction(true) | Self::Mark | Self::Control('\u{c}')
        )
    }
}

/// Finds the unseen characters of `text`, in order; legitimate uses are not among them.
pub(crate) fn walk(text: &str) -> Vec<Unseen> {
    let mut found = Vec::new();
    let Some(mut at) = next_odd(text, 0) else {
        return found;
    };
    let right_to_left = LazyCell::new(|| text.chars().any(script::is_right_to_left));
    let mut before = text.get(..at).and_then(|head| head.chars().next_back());
    while let Some(rest) = text.get(at..) {
        let Some(letter) = rest.chars().next() else {
            break;
        };
        let (length, kind) = judge(rest, letter, before, at, || *right_to_left);
        // A flag may have its own selector before the tags that name the region.
        let of_flag = letter == '\u{fe0f}' && before == Some(smuggle::FLAG);
        if !of_flag && !kind.as_ref().is_some_and(Kind::is_planted) {
            before = Some(letter);
        }
        if let Some(kind) = kind {
            push(&mut found, at..at + length, kind);
        }
        at += length;
        match next_odd(text, at) {
            Some(next) if next > at => {
                before = text.get(..next).and_then(|head| head.chars().next_back());
                at = next;
            }
            Some(_) => {}
            None => break,
        }
    }
    found
}

/// Adds a run, or lengthens the one before if it is more of the same.
fn push(found: &mut Vec<Unseen>, span: Range<usize>, kind: Kind) {
    if let Some(last) = found.last_mut()
        && last.span.end == span.start
        && last.kind == kind
        && !matches!(kind, Kind::Tags(_) | Kind::Selectors(_) | Kind::Escape(_))
    {
        last.span.end = span.end;
        return;
    }
    found.push(Unseen { span, kind });
}

/// Judges the letter at the head of `rest` and says how much was read; no kind if a person sees
/// it or its use is honest.
fn judge(
    rest: &str,
    letter: char,
    before: Option<char>,
    at: usize,
    right_to_left: impl Fn() -> bool,
) -> (usize, Option<Kind>) {
    let length = letter.len_utf8();
    let after = || rest.get(length..).and_then(|tail| tail.chars().next());
    let kind = match letter {
        '\u{1b}' | '\u{80}'..='\u{9f}' => {
            let measured = escape::measure(rest);
            let (length, effect) = measured.unwrap_or((length, Effect::Lone));
            return (length, Some(Kind::Escape(effect)));
        }
        '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}' => Kind::Control(letter),
        '\u{ad}' | '\u{34f}' | '\u{180e}' => Kind::SoftHyphen,
        '\u{feff}' if at == 0 => Kind::Mark,
        '\u{200b}' if near(before, script::is_unspaced) || near(after(), script::is_unspaced) => {
            return (length, None);
        }
        '\u{200c}' if near(before, script::is_joining) => return (length, None),
        '\u{200d}' if joins(before, after()) => return (length, None),
        '\u{2060}' if holds_together(before, after()) => return (length, None),
        '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2064}'
        | '\u{206a}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' => Kind::ZeroWidth,
        '\u{202d}' | '\u{202e}' => Kind::Override,
        '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202c}' | '\u{2066}'..='\u{2069}' => {
            Kind::Direction(right_to_left())
        }
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' if !near(before, is_hangul) => {
            Kind::Filler
        }
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}' => Kind::Private,
        '\u{e0000}'..='\u{e007f}' => return smuggle::tags(rest, before),
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
            return smuggle::selectors(rest, before);
        }
        _ => return (length, None),
    };
    (length, Some(kind))
}

/// Whether a joiner between these two spells something: an emoji or a conjunct.
fn joins(before: Option<char>, after: Option<char>) -> bool {
    let emoji = |letter| script::is_emoji(letter) || letter == '\u{fe0f}';
    (near(before, emoji) && near(after, script::is_emoji)) || near(before, script::is_joining)
}

/// Whether a word joiner keeps a line from breaking beside a dash or another sign: within a word or a
/// number no line breaks anyway, and several of them in a row keep nothing more.
fn holds_together(before: Option<char>, after: Option<char>) -> bool {
    let seen = |letter: char| letter.is_alphanumeric() || is_sign(letter);
    near(before, seen) && near(after, seen) && (near(before, is_sign) || near(after, is_sign))
}

fn is_sign(letter: char) -> bool {
    letter.is_ascii_punctuation()
        || matches!(letter, '\u{2010}'..='\u{2015}' | '\u{2026}' | '\u{20a0}'..='\u{20bf}' | '°')
}

fn near(letter: Option<char>, is: impl Fn(char) -> bool) -> bool {
    letter.is_some_and(is)
}

fn is_hangul(letter: char) -> bool {
    matches!(letter, '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7ff}')
}

/// The place of the next byte that is not plain text: a control or the head of a character that
/// can be invisible. Plain letters of other scripts are passed over.
fn next_odd(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes().get(from..)?;
    let (blocks, _) = bytes.as_chunks::<64>();
    let plain = |block: &&[u8; 64]| !any(block, may_be_odd) || !any(block, is_odd);
    let skipped = blocks.iter().take_while(plain).count() * 64;
    let rest = bytes.get(skipped..)?;
    // What is left of a short text is looked at byte by byte, for which a table is quicker.
    let odd = |byte: &u8| ODD.get(usize::from(*byte)).copied().unwrap_or(true);
    let found = rest.iter().position(odd);
    found.map(|found| from + skipped + found)
}

/// Whether a test is one for some byte of a block; without an early exit, which the compiler turns
/// into vector code.
fn any(block: &[u8; 64], test: impl Fn(u8) -> u8) -> bool {
    block.iter().fold(0, |any, &byte| any | test(byte)) != 0
}

/// One for what is odd and for whatever else is neither printable ASCII nor a line break: fewer steps
/// than `is_odd` takes, and enough for most blocks.
fn may_be_odd(byte: u8) -> u8 {
    u8::from(byte.wrapping_sub(b' ') > b'~' - b' ') & u8::from(byte != b'\n')
}

/// The bytes that `is_odd` tells.
const ODD: [bool; 256] = odd();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn odd() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = matches!(
            byte,
            0x00..=0x08 | 0x0b | 0x0c | 0x0e..=0x1f | 0x7f | 0xc2 | 0xcd | 0xd8 | 0xe1..=0xe3 | 0xee
                | 0xef | 0xf3..=0xff
        );
        byte += 1;
    }
    table
}

/// One if a byte is a control or begins a character that may be unseen: the lead bytes of U+0080,
/// U+0340, U+0600, U+1000 to U+1FFF, U+2000 to U+2FFF, U+3000, U+E000, U+F000 and of the planes above.
fn is_odd(byte: u8) -> u8 {
    const LEADS: [u8; 8] = [0x7f, 0xc2, 0xcd, 0xd8, 0xe1, 0xe2, 0xe3, 0xee];
    let control = u8::from(byte < 0x20)
        & u8::from(byte != b'\n')
        & u8::from(byte != b'\t')
        & u8::from(byte != b'\r');
    let lead = LEADS
        .iter()
        .fold(0, |odd, &lead| odd | u8::from(byte == lead));
    control | lead | u8::from(byte == 0xef) | u8::from(byte >= 0xf3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_what_comparing_says() {
        for byte in 0..=u8::MAX {
            assert_eq!(ODD[usize::from(byte)], is_odd(byte) != 0, "{byte:#x}");
            assert!(is_odd(byte) <= may_be_odd(byte), "{byte:#x}");
        }
    }
}
