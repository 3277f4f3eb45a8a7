//! A field that is known as a whole but too short to be told by its windows: whether it says
//! something that not everybody writes, that is no link or number, and that nobody outside said.

use std::ops::Range;

use crate::common;
use crate::evidence::{NOTABLE, RARE};
use crate::fold::fold;
use crate::plain::{Room, rare};
use crate::roll::{SPARE, roll};
use crate::state::State;
use crate::typed::{Kind, of_text};
use crate::winnow::{GRAM, WINDOW};

/// Words that make a sentence; fewer are a name or a label.
const WORDS: usize = 3;
/// Symbols of a word that counts: shorter ones are abbreviations.
const WORD: usize = 4;
/// Symbols that are a word where no blanks are written.
const SOLID: usize = 3;
/// Bytes of text that are looked at: what is longer has windows.
const MOST: usize = 4096;

/// Tells whether a short text is worth a question by itself.
pub(super) fn is_rare<'t>(
    state: &State,
    salts: &[u64],
    texts: impl Iterator<Item = &'t str>,
    room: &mut Room,
) -> bool {
    let most = usize::try_from(NOTABLE).unwrap_or(0);
    let mut symbols = Vec::new();
    let mut words = Vec::new();
    let (mut bytes, mut count) = (0_usize, 0);
    for text in texts {
        bytes = bytes.saturating_add(text.len());
        if bytes > MOST {
            return false;
        }
        for word in text.split_whitespace() {
            let start = symbols.len();
            fold(word, &mut symbols);
            if symbols.len() >= most {
                return false;
            }
            let length = symbols.len() - start;
            let solid = word.chars().filter(|char| is_solid(*char)).count();
            if !is_value(word) {
                count += usize::from(length > 0) + solid / SOLID;
                words.extend((length >= WORD || solid > 0).then_some(start..symbols.len()));
            }
        }
    }
    if count < WORDS {
        return false;
    }
    let known = known(state, salts, &symbols);
    let mut sum = 0_u32;
    for word in words {
        let mut rest = word;
        while let Some(open) = rest.clone().find(|at| !is_known(&known, *at)) {
            let end = (open..rest.end).find(|at| is_known(&known, *at));
            let end = end.unwrap_or(rest.end);
            sum = sum.saturating_add(rare(&symbols, open..end, room));
            rest.start = end;
        }
    }
    sum >= RARE
}

/// Tells whether a character is of a script that sets no blanks between words.
fn is_solid(char: char) -> bool {
    matches!(char, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{9fff}')
}

/// Tells whether a word is compared as a value: a link, a number, a code.
fn is_value(word: &str) -> bool {
    let mut found = !word.chars().any(char::is_alphabetic);
    of_text(word, false, |token, _| found |= token.kind != Kind::Name);
    found
}

/// Tells which symbols are common, or were read outside or said here before.
fn known(state: &State, salts: &[u64], symbols: &[u8]) -> Vec<bool> {
    let alive = |seq| state.origins.is_alive(seq);
    let mut known = vec![false; symbols.len()];
    let mut at = 0_usize;
    roll::<GRAM>(symbols, |hash| {
        let tag = hash >> SPARE;
        let public = || {
            let has = |salt: &u64| state.outside.get(tag ^ salt, alive).is_some();
            salts.iter().any(has)
        };
        let mut mark = |span: Range<usize>| {
            let end = span.end.min(symbols.len());
            let known = known.get_mut(span.start..end).into_iter().flatten();
            known.for_each(|known| *known = true);
        };
        if common::has(tag) {
            mark(at..at + GRAM);
        } else if public() {
            // Of what was read there few windows are kept; what lies between them is known, too.
            mark(at.saturating_sub(WINDOW)..at + GRAM + WINDOW);
        }
        at += 1;
    });
    known
}

fn is_known(known: &[bool], at: usize) -> bool {
    known.get(at).copied().unwrap_or(false)
}
