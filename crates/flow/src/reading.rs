//! The event of a reading: everything that is remembered of what a call read, fingerprinted
//! before any lock is taken. Folding it into the state is for `state`.

use mcpproxy_core::{Id128, Nature};
use mcpproxy_text::decode::views;

use crate::common;
use crate::content::{Content, Part, parts};
use crate::digest::digests;
use crate::fold::fold;
use crate::guarded::guarded;
use crate::secret::SecretPrint;
use crate::settings::FlowTracking;
use crate::stream::streams;
use crate::typed::{Kind, Token, tokens};
use crate::view::budget;
use crate::winnow::{RUN, Room, winnow};

/// Tokens of one content that are remembered.
pub(crate) const TOKENS: usize = 4096;

/// Bytes of a content up to which all of it is folded at once.
const LARGE: usize = 1 << 20;
/// Bytes of a larger one that are folded at a time.
const PIECE: usize = 1 << 17;
/// Windows that are kept of one content: a scope holds no more. The first ones stay.
pub(crate) const GRAMS: usize = 1 << 19;

/// Keeps the windows of folded text that are not common.
fn keep(symbols: &[u8], grams: &mut Vec<u64>) {
    // About one window in seven is kept.
    grams.reserve(symbols.len() / 6);
    winnow(symbols, &mut Room::default(), |gram| {
        if grams.len() < GRAMS && !common::has(gram.tag) {
            grams.push(gram.tag);
        }
    });
}

/// Keeps the windows of a large content in document order, in bounded memory: what was folded
/// overlaps by a run, so that none across the border is missed.
fn in_order(parts: &[Part<'_>], grams: &mut Vec<u64>) {
    let mut symbols = Vec::new();
    for part in parts {
        let mut rest = &*part.text;
        while !rest.is_empty() {
            let end = rest.ceil_char_boundary(PIECE);
            let (piece, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            rest = after;
            fold(piece, &mut symbols);
            if symbols.len() >= PIECE {
                keep(&symbols, grams);
                symbols.drain(..symbols.len() - RUN);
            }
        }
    }
    keep(&symbols, grams);
}

/// Keeps the windows of what stands encoded in a content: a file may come as base64.
fn decoded(parts: &[Part<'_>], bytes: usize, grams: &mut Vec<u64>) {
    let mut budget = budget(bytes);
    let mut symbols = Vec::new();
    for part in parts {
        for view in views(&part.text, &mut budget).views {
            symbols.clear();
            fold(&view.text, &mut symbols);
            keep(&symbols, grams);
        }
    }
}

/// Keeps what bridges fields of a large content, group by group; groups are not bridged.
fn across(parts: &[Part<'_>], grams: &mut Vec<u64>) {
    let mut rest = parts;
    while let [first, ..] = rest {
        let mut bytes = first.text.len();
        let more = rest.iter().skip(1).take_while(|part| {
            bytes += part.text.len();
            bytes <= PIECE
        });
        let (group, after) = rest.split_at(1 + more.count());
        rest = after;
        if group.len() > 2 {
            let bridges = streams(group, 0..group.len(), false).into_iter().skip(1);
            bridges.for_each(|stream| keep(&stream.symbols, grams));
        }
    }
}

/// What is remembered of a reading.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// Tags of the windows of text that are not common.
    pub(crate) grams: Vec<u64>,
    pub(crate) digests: Vec<Id128>,
    pub(crate) secrets: Vec<SecretPrint>,
    pub(crate) tokens: Vec<Token>,
}

impl Reading {
    /// Fingerprints what a call read.
    pub(crate) fn of(content: &Content<'_>, settings: &FlowTracking) -> Self {
        let parts = parts(content.json);
        let mut grams = Vec::new();
        if content.json.len() <= LARGE {
            for stream in streams(&parts, 0..parts.len(), false) {
                keep(&stream.symbols, &mut grams);
            }
        } else {
            in_order(&parts, &mut grams);
            across(&parts, &mut grams);
        }
        decoded(&parts, content.json.len(), &mut grams);
        let hashes = digests(
            content.json,
            &parts,
            settings.hash_min_length,
            settings.max_response_hash_bytes,
        );
        let guarded = guarded(&parts);
        let marked = content.marked.iter().chain(&guarded);
        let mut found = Vec::new();
        tokens(&parts, |token, _, _| {
            if found.len() < TOKENS && !token.first {
                found.push(token);
            }
        });
        Self {
            grams,
            digests: hashes.into_iter().map(|one| one.hash).collect(),
            secrets: marked.flat_map(SecretPrint::all).collect(),
            tokens: found,
        }
    }

    /// Takes what looks like a secret for what the place handed out that it was read from: what comes
    /// from outside is nobody's secret here, and may go back there.
    pub(crate) fn hand_out(&mut self) {
        let secrets = std::mem::take(&mut self.secrets).into_iter();
        let secrets = secrets.filter(|one| one.label.nature == Nature::Secret);
        self.tokens.extend(secrets.map(|one| Token {
            hash: one.whole,
            kind: Kind::Code,
            length: u32::try_from(one.length).unwrap_or(u32::MAX),
            first: false,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_content_shows_what_a_small_one_does() {
        let words = (0..60_000_u64).map(|number| {
            let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
            format!("w{mixed:x} ")
        });
        let text: String = words.collect();
        assert!(text.len() < LARGE);
        let folded = |text: &str| {
            let content = Content {
                json: text,
                marked: &[],
            };
            Reading::of(&content, &FlowTracking::default()).grams
        };
        let small = folded(&text);
        // The same text twice is large, and nothing of it is lost at any border.
        let large: std::collections::BTreeSet<_> = folded(&text.repeat(3)).into_iter().collect();
        let missing = small.iter().filter(|gram| !large.contains(gram)).count();
        assert_eq!(missing, 0, "of {}", small.len());
    }
}
