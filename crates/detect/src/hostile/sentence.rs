//! Where a sentence begins and ends.

use std::ops::Range;

/// The most bytes that are read to either side of a cue.
const REACH: usize = 320;

/// The widest indent of a wrapped line.
const MARGIN: usize = 24;

/// The sentence around `at`, not before `from`.
pub(crate) fn around(text: &str, at: usize, from: usize) -> Range<usize> {
    within(text, at, from, REACH)
}

/// The same in a script that takes up to three bytes a letter.
pub(crate) fn around_wide(text: &str, at: usize, from: usize) -> Range<usize> {
    within(text, at, from, 2 * REACH)
}

fn within(text: &str, at: usize, from: usize, reach: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let lowest = floor(text, at.saturating_sub(reach)).max(from);
    let highest = floor(text, (at + reach).min(text.len()));
    let start = (lowest..at)
        .rev()
        .find(|&end| may_end(bytes, end) && ends(bytes, end))
        .map_or(lowest, |end| end + 1);
    let end = (at..highest)
        .find(|&end| may_end(bytes, end) && ends(bytes, end))
        .map_or(highest, |end| end + 1);
    floor(text, start)..ceil(text, end)
}

/// Whether the byte at `at` is one of those that can be the last of a sentence; few are.
fn may_end(bytes: &[u8], at: usize) -> bool {
    let byte = bytes.get(at).copied().map_or(0, usize::from);
    LAST.get(byte).copied().unwrap_or(false)
}

/// The bytes that `ends` looks closer at.
const LAST: [bool; 256] = last();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn last() -> [bool; 256] {
    const BYTES: [u8; 8] = [b'.', b'!', b'?', b'\n', 0x81, 0x82, 0x9f, 0xa4];
    let mut table = [false; 256];
    let mut at = 0;
    while at < BYTES.len() {
        table[BYTES[at] as usize] = true;
        at += 1;
    }
    table
}

/// Whether the byte at `at` is the last of a sentence. A line break ends one if what follows looks
/// like a new beginning, since texts are also wrapped.
fn ends(bytes: &[u8], at: usize) -> bool {
    let next = bytes.get(at + 1);
    match bytes.get(at) {
        // `e.g.` and `i.e.` stand within a sentence.
        Some(b'.') if at >= 3 && matches!(bytes.get(at - 3..at), Some(b"e.g" | b"i.e")) => false,
        Some(b'.' | b'!' | b'?') => {
            next.is_none_or(|next| next.is_ascii_whitespace() || matches!(next, b'<' | b'[' | b'*'))
        }
        Some(b'\n') => {
            let rest = bytes.get(at + 1..).unwrap_or_default();
            let indent = rest
                .iter()
                .take(MARGIN)
                .take_while(|byte| **byte == b' ')
                .count();
            let before = at.checked_sub(1).and_then(|before| bytes.get(before));
            let closed = matches!(before, Some(b';' | b'{' | b'}' | b'|' | b'\n'));
            closed || !rest.get(indent).is_some_and(|next| continues(*next))
        }
        // The last byte of a full stop, an exclamation or a question mark of Chinese and Japanese.
        Some(0x82) => at >= 2 && bytes.get(at - 2..at) == Some(&[0xe3, 0x80]),
        Some(0x81 | 0x9f) if at >= 2 && bytes.get(at - 2..at) == Some(&[0xef, 0xbc]) => true,
        // A question mark of Arabic, and the bar of Devanagari.
        Some(0x9f) => at >= 1 && bytes.get(at - 1) == Some(&0xd8),
        Some(0xa4) => at >= 2 && bytes.get(at - 2..at) == Some(&[0xe0, 0xa5]),
        _ => false,
    }
}

/// Whether a line that begins so goes on from the line before.
fn continues(next: u8) -> bool {
    next.is_ascii_lowercase()
        || next >= 0x80
        || matches!(next, b'(' | b'"' | b'\'' | b'`' | b'~' | b'.' | b'/')
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_a_sentence_is_looked_at() {
        for text in [
            "a. ",
            "a! ",
            "a? ",
            "a\n",
            "是。",
            "是！",
            "是？",
            "من؟",
            "तीन।",
        ] {
            let bytes = text.as_bytes();
            let last = (0..bytes.len()).filter(|&at| ends(bytes, at));
            let last: Vec<usize> = last.collect();
            assert!(!last.is_empty(), "{text}");
            assert!(last.iter().all(|&at| may_end(bytes, at)), "{text}");
        }
    }

    #[test]
    fn sentences_end_where_a_reader_ends_them() {
        let check = |text: &str, cue: &str, expect: &str| {
            let at = text.find(cue).unwrap();
            assert_eq!(text.get(around(text, at, 0)).unwrap().trim(), expect);
        };
        check("One. Two cue here. Three.", "cue", "Two cue here.");
        check(
            "see a.b.c cue\nwrapped on. Next",
            "cue",
            "see a.b.c cue\nwrapped on.",
        );
        check("- one cue\n- two", "cue", "- one cue");
        check(
            "One. Two, e.g. a cue here. Three.",
            "cue",
            "Two, e.g. a cue here.",
        );
        check("第一。第二cue。第三", "cue", "第二cue。");
        check("एक। दो cue। तीन", "cue", "दो cue।");
        check("من؟ هذا cue؟ لا", "cue", "هذا cue؟");
    }
}
