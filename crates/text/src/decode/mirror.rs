//! ROT13 and text written backwards, known by frequent words that look odd in any language.
//!
//! A single long word, or two short ones close together, is enough: what comes out is only a view,
//! and a view of plain text holds nothing that a scanner would report.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::packed::{Config, MatchKind, Searcher};

use super::{Coding, Run};

/// Words that need company, and words that do not.
const WEAK: [&str; 6] = [" the ", " and ", " you ", " this ", " with ", " your "];
const STRONG: [&str; 14] = [
    "ignore",
    "previous",
    "instruction",
    "system",
    "password",
    "secret",
    "prompt",
    "execute",
    "assistant",
    "before",
    "always",
    "https",
    "private",
    "token",
];
/// How far a run reaches to either side of a word where no line ends.
const REACH: usize = 1024;

/// Shortest text that is looked at.
const SHORTEST: usize = 16;

/// A word turned round or moved, with its coding and weight.
struct Words {
    searcher: Option<Searcher>,
    meaning: Vec<(Coding, u32)>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let mut builder = Config::new().match_kind(MatchKind::LeftmostFirst).builder();
    let mut meaning = Vec::new();
    let weighted = WEAK.iter().map(|word| (*word, 1));
    let weighted = weighted.chain(STRONG.iter().map(|word| (*word, 2)));
    for (word, weight) in weighted {
        // The first letter may be a capital, so a long word is known by the others.
        let kept = if weight == 2 {
            word.get(1..).unwrap_or(word)
        } else {
            word
        };
        builder.add(rot13(kept.as_bytes()));
        builder.add(reversed(kept));
        meaning.extend([(Coding::Rot13, weight), (Coding::Reversed, weight)]);
    }
    Words {
        searcher: builder.build(),
        meaning,
    }
});

/// Adds the lines of `text` that seem to be moved or turned round.
pub(super) fn find(text: &str, runs: &mut Vec<Run>) {
    if text.len() < SHORTEST {
        return;
    }
    let words = &*WORDS;
    let Some(searcher) = &words.searcher else {
        return;
    };
    // The open run of either coding: its span and the weight of its words.
    let mut open: [Option<(Range<usize>, u32)>; 2] = [None, None];
    for hit in searcher.find_iter(text.as_bytes()) {
        let Some(&(coding, weight)) = words.meaning.get(hit.pattern().as_usize()) else {
            continue;
        };
        let [moved, turned] = &mut open;
        let slot = if coding == Coding::Rot13 {
            moved
        } else {
            turned
        };
        match slot {
            Some((span, sum)) if hit.start() < span.end => *sum += weight,
            _ => {
                let span = around(
                    text,
                    hit.start(),
                    slot.as_ref().map_or(0, |(span, _)| span.end),
                );
                close(slot.replace((span, weight)), coding, runs);
            }
        }
    }
    let [moved, turned] = open;
    close(moved, Coding::Rot13, runs);
    close(turned, Coding::Reversed, runs);
}

fn close(run: Option<(Range<usize>, u32)>, coding: Coding, runs: &mut Vec<Run>) {
    if let Some((span, 2..)) = run {
        runs.push(Run { span, coding });
    }
}

/// Returns the line around a place, from `least` on and no longer than twice the reach.
fn around(text: &str, at: usize, least: usize) -> Range<usize> {
    let from = text.floor_char_boundary(at.saturating_sub(REACH).max(least));
    let to = text.ceil_char_boundary((at + REACH).min(text.len()));
    let line = |range: Range<usize>| text.as_bytes().get(range).unwrap_or_default();
    let start = memchr::memrchr(b'\n', line(from..at)).map_or(from, |step| from + step + 1);
    let end = memchr::memchr(b'\n', line(at..to)).map_or(to, |step| at + step);
    start..end
}

/// Moves letters by thirteen places.
pub(super) fn rot13(bytes: &[u8]) -> Vec<u8> {
    let moved = bytes.iter().map(|&byte| match byte {
        b'a'..=b'm' | b'A'..=b'M' => byte + 13,
        b'n'..=b'z' | b'N'..=b'Z' => byte - 13,
        _ => byte,
    });
    moved.collect()
}

/// Turns text round, character by character.
pub(super) fn reversed(text: &str) -> Vec<u8> {
    text.chars().rev().collect::<String>().into_bytes()
}
