//! Characters that nobody sees: between letters they hide a word, in a row they spell one.

use std::ops::Range;

use memchr::{memchr_iter, memchr3_iter};

use super::{Coding, Run};

/// Distance up to which two hidden characters belong to one run.
const GAP: usize = 64;
/// Characters in a row that can spell something.
const SPELLS: usize = 4;

/// What a character is for this purpose.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Seen,
    Hidden,
    Tag(u8),
    Selector(u8),
}

fn kind(char: char) -> Kind {
    match char {
        '\u{AD}'
        | '\u{34F}'
        | '\u{61C}'
        | '\u{180E}'
        | '\u{200B}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}'
        | '\u{FEFF}' => Kind::Hidden,
        '\u{FE00}'..='\u{FE0F}' => Kind::Selector(low(char, 0xFE00)),
        '\u{E0000}'..='\u{E007F}' => Kind::Tag(low(char, 0xE0000)),
        '\u{E0100}'..='\u{E01EF}' => Kind::Selector(low(char, 0xE0100).saturating_add(16)),
        _ => Kind::Seen,
    }
}

/// Tells whether nobody sees a character where it stands.
pub fn is_hidden(char: char) -> bool {
    kind(char) != Kind::Seen
}

fn low(char: char, base: u32) -> u8 {
    u8::try_from(u32::from(char).saturating_sub(base)).unwrap_or(0)
}

/// Adds the runs of `text` that hidden characters are part of; `text` is known not to be ASCII.
pub(super) fn find(text: &str, runs: &mut Vec<Run>) {
    if !may_hide(text.as_bytes()) {
        return;
    }
    let mut hidden: Option<Range<usize>> = None;
    let mut spelled: Option<(Coding, Range<usize>, usize)> = None;
    for (at, char) in text.char_indices().filter(|(_, char)| *char >= '\u{AD}') {
        let end = at + char.len_utf8();
        let coding = match kind(char) {
            Kind::Seen => continue,
            Kind::Hidden => {
                match &mut hidden {
                    Some(span) if at - span.end <= GAP => span.end = end,
                    _ => close(text, hidden.replace(at..end), runs),
                }
                continue;
            }
            Kind::Tag(_) => Coding::Tags,
            Kind::Selector(_) => Coding::VariationSelectors,
        };
        match &mut spelled {
            Some((same, span, count)) if *same == coding && span.end == at => {
                span.end = end;
                *count += 1;
            }
            _ => spell(spelled.replace((coding, at..end, 1)), runs),
        }
    }
    close(text, hidden, runs);
    spell(spelled, runs);
}

/// Tells whether the first two bytes of any hidden character are there at all, so that prose with
/// dashes and letters of any script is not read character by character.
fn may_hide(text: &[u8]) -> bool {
    let next = |at: usize, step: usize| text.get(at + step).copied().unwrap_or(0);
    let wide = |at: usize| match (next(at, 0), next(at, 1), next(at, 2)) {
        (0xE2, 0x80, third) => (0x8B..0x90).contains(&third) || (0xAA..0xAF).contains(&third),
        (0xE2, 0x81, third) => third >= 0xA0,
        (0xEF, 0xB8 | 0xBB, _) | (0xF3, 0xA0, _) => true,
        _ => false,
    };
    let narrow = |at: usize| {
        matches!(
            (next(at, 0), next(at, 1)),
            (0xC2, 0xAD) | (0xCD, 0x8F) | (0xD8, 0x9C)
        )
    };
    memchr3_iter(0xE2, 0xEF, 0xF3, text).any(wide)
        || memchr3_iter(0xC2, 0xCD, 0xD8, text).any(narrow)
        || memchr_iter(0xE1, text).any(|at| next(at, 1) == 0xA0)
}

fn spell(run: Option<(Coding, Range<usize>, usize)>, runs: &mut Vec<Run>) {
    if let Some((coding, span, SPELLS..)) = run {
        runs.push(Run { span, coding });
    }
}

/// Adds a run of hidden characters with the words that it is part of.
fn close(text: &str, span: Option<Range<usize>>, runs: &mut Vec<Run>) {
    let Some(span) = span else { return };
    let from = text.floor_char_boundary(span.start.saturating_sub(GAP));
    let to = text.ceil_char_boundary((span.end + GAP).min(text.len()));
    let before = text.get(from..span.start).unwrap_or_default();
    let start = before
        .rfind(char::is_whitespace)
        .map_or(from, |step| from + before.ceil_char_boundary(step + 1));
    let behind = text.get(span.end..to).unwrap_or_default();
    let end = behind
        .find(char::is_whitespace)
        .map_or(to, |step| span.end + step);
    // A mark at the very start or end of everything hides nothing.
    if end - start > span.len() {
        runs.push(Run {
            span: start..end,
            coding: Coding::Invisible,
        });
    }
}

/// Takes the hidden characters out.
pub(super) fn stripped(text: &str) -> Option<Vec<u8>> {
    let seen = text.chars().filter(|char| kind(*char) == Kind::Seen);
    let seen: String = seen.collect();
    (seen.len() < text.len()).then(|| seen.into_bytes())
}

/// Reads tag characters as the ASCII that they shadow.
pub(super) fn tags(text: &str) -> Vec<u8> {
    let spelled = text.chars().filter_map(|char| match kind(char) {
        Kind::Tag(byte @ 0x20..=0x7E) => Some(byte),
        _ => None,
    });
    spelled.collect()
}

/// Reads variation selectors as the bytes that they number.
pub(super) fn selectors(text: &str) -> Vec<u8> {
    let spelled = text.chars().filter_map(|char| match kind(char) {
        Kind::Selector(byte) => Some(byte),
        _ => None,
    });
    spelled.collect()
}
