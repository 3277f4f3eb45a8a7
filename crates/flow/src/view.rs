//! What is about to leave, with encodings undone: every view of every part, as streams of their
//! own.
//!
//! `text::decode` knows the codings that readers undo by themselves. Beside them stand those that
//! only somebody who wants to hide something uses, and pieces of encoded text that begin in the
//! middle; what they give is looked into again. All of it is taken off one budget.

mod cipher;
mod figures;
mod meter;
mod natural;
mod order;
mod piece;
mod radix;
mod scattered;
mod spoken;
mod strange;
mod structure;
mod usual;

use std::ops::Range;

use mcpproxy_text::decode::{Budget, Coding, View, find, views};

use self::natural::Look;
pub(crate) use self::natural::is_natural;
pub(crate) use self::strange::is_chance;
use crate::blob::Blob;
use crate::content::Part;
use crate::hash::KeyedSet;
use crate::stream::{Family, Stream};
use crate::words::split;

/// Encodings inside each other that are undone.
const DEPTH: usize = 4;
/// Views of a small message; a larger one may have more.
const VIEWS: usize = 32;
/// Decoded bytes of a small message; a larger one may have four times its own.
const BYTES: usize = 1 << 16;
/// Shortest run of bytes that is called opaque.
const OPAQUE: usize = 48;
/// Shortest text that is looked into.
pub(crate) const SHORTEST: usize = 8;
/// Longest text that is tried with codings nobody uses by accident.
const LONGEST: usize = 1 << 16;

/// What numbers that stand for characters are called.
const CODES: &str = "char_codes";

/// Shortest segment of an address that is looked into by itself, and how many are.
const SEGMENT: usize = 12;
const SEGMENTS: usize = 16;

/// A text that came out of another, and the codings that were undone.
pub(crate) struct Made {
    text: String,
    via: &'static str,
}

impl Made {
    fn new(via: &'static str, text: String) -> Self {
        Self { text, via }
    }
}

/// What decoding a message gave.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) streams: Vec<Stream>,
    /// The decoded texts, for tokens.
    pub(crate) texts: Vec<(String, u32)>,
    /// What nobody can read.
    pub(crate) opaque: Vec<Blob>,
    /// Whether a bound was met.
    pub(crate) cut: bool,
}

/// Returns the budget for a message of this size.
pub(crate) fn budget(bytes: usize) -> Budget {
    Budget {
        bytes: bytes.saturating_mul(4).max(BYTES),
        depth: DEPTH,
        views: VIEWS.max(bytes / 128),
    }
}

/// Undoes the encodings of all parts, and of those of `own` that only make sense together.
pub(crate) fn decode(parts: &[Part<'_>], own: &[Part<'_>], bytes: usize) -> Decoded {
    let mut decoded = Decoded::default();
    let mut budget = budget(bytes);
    for part in parts {
        let mut walk = Walk {
            leaf: part.leaf,
            family: Family::Decoded,
            judges: true,
            orders: true,
            budget: &mut budget,
            out: &mut decoded,
        };
        walk.text(&part.text, &[], 2);
        for segment in segments(&part.text) {
            let leaf = part.leaf;
            one(segment, leaf, Family::Decoded, &mut budget, &mut decoded);
        }
    }
    let opaque = std::mem::take(&mut decoded.opaque);
    for (joined, leaf) in piece::joined(own) {
        one(&joined, leaf, Family::Decoded, &mut budget, &mut decoded);
    }
    for (text, leaf) in piece::codes(own) {
        let mut walk = Walk {
            leaf,
            family: Family::Decoded,
            judges: false,
            orders: true,
            budget: &mut budget,
            out: &mut decoded,
        };
        walk.text(&text, &[CODES], 1);
        walk.keep(text, vec![CODES]);
    }
    for (text, leaf) in piece::numbered(own) {
        let mut walk = Walk {
            leaf,
            family: Family::Decoded,
            judges: false,
            orders: true,
            budget: &mut budget,
            out: &mut decoded,
        };
        walk.text(&text, &[order::NUMBERED], 1);
        walk.keep(text, vec![order::NUMBERED]);
    }
    // Columns are a guess, and any message with a few long words has many: what they take is taken
    // off nothing else, and they are in an order already.
    let mut guesses = self::budget(bytes);
    for (text, leaf) in piece::aligned(own) {
        if text.len() >= SHORTEST && !is_natural(&text) {
            let mut walk = Walk {
                leaf,
                family: Family::Decoded,
                judges: false,
                orders: false,
                budget: &mut guesses,
                out: &mut decoded,
            };
            walk.text(&text, &[], 2);
        }
        let stream = Stream::of(Family::Aligned, &text, leaf, Vec::new());
        decoded.streams.push(stream);
    }
    decoded.streams.extend(piece::backwards(own));
    // What was opaque by itself is not reported again for being part of something longer.
    decoded.opaque = opaque;
    // But pieces that are too short to be opaque have not been reported.
    for (text, leaf) in scattered::find(own) {
        let mut walk = Walk {
            leaf,
            family: Family::Decoded,
            judges: true,
            orders: false,
            budget: &mut budget,
            out: &mut decoded,
        };
        walk.text(&text, &[], 2);
    }
    decoded
}

/// Returns the segments of addresses that could hold something encoded: a slash divides them, and
/// is a digit of base64 as well.
fn segments(text: &str) -> impl Iterator<Item = &str> {
    let address = Some(text).filter(|text| text.len() <= LONGEST && text.contains("://"));
    let divides = |byte: u8| {
        matches!(
            byte,
            b'/' | b'?' | b'&' | b'=' | b'#' | b'"' | b'(' | b')' | b'<' | b'>' | b' ' | b'\n'
        )
    };
    let fits = move |(at, segment): &(usize, &str)| {
        let long = (SEGMENT..LONGEST).contains(&segment.len());
        long && !usual::is_public(text, *at..*at + segment.len())
    };
    let parts = address
        .into_iter()
        .flat_map(move |text| split(text, divides));
    parts
        .filter(fits)
        .map(|(_, segment)| segment)
        .take(SEGMENTS)
}

/// Undoes the encodings of one text.
pub(crate) fn one(text: &str, leaf: u32, family: Family, budget: &mut Budget, out: &mut Decoded) {
    let mut walk = Walk {
        leaf,
        family,
        judges: false,
        orders: true,
        budget,
        out,
    };
    walk.text(text, &[], 2);
}

/// Tells whether a coding spells text in another alphabet, so that it looks strange as it stands.
fn is_spelled(coding: Coding) -> bool {
    match coding {
        Coding::Base64
        | Coding::Base32
        | Coding::Hex
        | Coding::CharCodes
        | Coding::Percent
        | Coding::Html
        | Coding::Escapes
        | Coding::QuotedPrintable
        | Coding::Utf16
        | Coding::Gzip
        | Coding::Zlib
        | Coding::Deflate
        | Coding::Zip => true,
        Coding::Separated
        | Coding::Invisible
        | Coding::Tags
        | Coding::VariationSelectors
        | Coding::Rot13
        | Coding::Reversed => false,
    }
}

struct Walk<'a> {
    leaf: u32,
    family: Family,
    /// Whether it is told what looks like nothing that anybody writes.
    judges: bool,
    /// Whether other orders of its characters are tried.
    orders: bool,
    budget: &'a mut Budget,
    out: &'a mut Decoded,
}

impl Walk<'_> {
    /// Looks into a text, and `rounds` more times into what only a few codings give.
    fn text(&mut self, text: &str, via: &[&'static str], rounds: u32) {
        if text.len() < SHORTEST {
            return;
        }
        let found = views(text, self.budget);
        self.out.cut |= !found.stops.is_empty();
        if self.judges && via.is_empty() {
            // Media is not meant to be read, and what is large enough is opaque anyway.
            let told = found.opaque.iter();
            let told = told.filter(|one| one.media.is_some() || one.bytes >= OPAQUE);
            let is_media = |view: &&View| {
                let mut media = found.opaque.iter().filter(|one| one.media.is_some());
                media.any(|one| one.span == view.span)
            };
            let views = found.views.iter().filter(|view| !is_media(view));
            self.judge(text, views, told.map(|one| one.span.clone()));
        }
        let spelled =
            |coding| matches!(coding, Some(Coding::Base64 | Coding::Base32 | Coding::Hex));
        let read = found
            .views
            .iter()
            .filter(|view| spelled(view.via.first().copied()));
        let read: Vec<_> = read.map(|view| view.span.clone()).collect();
        for view in found.views {
            let codings = view.via.iter().copied().map(Coding::name);
            let via: Vec<&'static str> = via.iter().copied().chain(codings).collect();
            if rounds > 0 {
                self.odd(&view.text, &[], &via, rounds - 1);
            }
            self.keep(view.text, via);
        }
        if via.is_empty() || rounds > 0 {
            self.odd(text, &read, via, rounds.saturating_sub(1));
        }
        for opaque in found.opaque {
            let public = || usual::is_public(text, opaque.span.clone());
            if opaque.bytes >= OPAQUE && opaque.media.is_none() && via.is_empty() && !public() {
                let blob = Blob::of(text, opaque.span, opaque.bytes, self.leaf);
                self.out.opaque.push(blob);
            }
        }
    }

    /// Looks for runs that nobody can read, in a text and in what its codings hid.
    fn judge<'v>(
        &mut self,
        text: &str,
        views: impl Iterator<Item = &'v View>,
        told: impl Iterator<Item = Range<usize>>,
    ) {
        let spelled = |view: &&View| view.via.iter().copied().all(is_spelled);
        let views: Vec<&View> = views.filter(spelled).collect();
        let spans = views.iter().map(|view| view.span.clone());
        self.strange(text, &mut spans.chain(told).collect::<Vec<_>>());
        let within = views.iter().filter_map(|view| {
            let (_, outer) = view.via.split_last()?;
            Some((view.span.start, outer))
        });
        let within: KeyedSet<(usize, &[Coding])> = within.collect();
        for view in views {
            // What was read further is judged as it was read.
            let further = within.contains(&(view.span.start, view.via.as_slice()));
            let runs = if further {
                find(&view.text).runs
            } else {
                Vec::new()
            };
            let spans = runs.into_iter().filter(|run| is_spelled(run.coding));
            self.strange(
                &view.text,
                &mut spans.map(|run| run.span).collect::<Vec<_>>(),
            );
        }
    }

    fn strange(&mut self, text: &str, read: &mut [Range<usize>]) {
        read.sort_unstable_by_key(|span| span.start);
        let runs = strange::find(text, read).into_iter();
        let runs = runs.chain(figures::find(text, read));
        for run in runs.filter(|run| !usual::is_public(text, run.clone())) {
            let bytes = run.len();
            let blob = Blob::of(text, run, bytes, self.leaf);
            self.out.opaque.push(blob);
        }
    }

    /// Tries the codings that nobody uses by accident; what `read` spans was decoded already.
    fn odd(
        &mut self,
        text: &str,
        read: &[std::ops::Range<usize>],
        via: &[&'static str],
        rounds: u32,
    ) {
        if text.len() > LONGEST {
            return;
        }
        let look = Look::at(text);
        let mut made = Vec::new();
        if !look.is_natural() {
            cipher::find(text, look, &mut made);
        }
        if self.orders && !look.is_natural() {
            order::apart(text, &mut made);
        }
        spoken::find(text, look, &mut made);
        radix::find(text, look, read, &mut made);
        // What is long enough to be seen that way round is seen in each call by itself.
        if self.orders && self.family != Family::Tail {
            order::turned(text, look, &mut made);
        }
        if self.orders {
            order::numbered(text, look, &mut made);
        }
        for one in made {
            if self.budget.views == 0 || self.budget.bytes < one.text.len() {
                self.out.cut = true;
                return;
            }
            self.budget.views -= 1;
            self.budget.bytes -= one.text.len();
            let via: Vec<&'static str> = via.iter().copied().chain([one.via]).collect();
            // The same characters in another order hold no coding that was not there before.
            if order::is_order(one.via) {
                let stream = Stream::of(self.family, &one.text, self.leaf, via);
                self.out.streams.push(stream);
                continue;
            }
            if rounds > 0 {
                self.text(&one.text, &via, rounds - 1);
            }
            self.keep(one.text, via);
        }
    }

    fn keep(&mut self, text: String, via: Vec<&'static str>) {
        let stream = Stream::of(self.family, &text, self.leaf, via);
        self.out.streams.push(stream);
        self.out.texts.push((text, self.leaf));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::parts;

    #[test]
    fn a_few_long_words_meet_no_bound() {
        let hash = "VfKbzMt0u0tbvSc19ISezubUJ9F589dRr5F3gIjb+IociGS7xH5e5TgxNK1I5eiWITyll/g5uFm6ClvCJq8Jkw==";
        let entry = format!(
            "The lock file should say:\n```json\n\"node_modules/left-pad\": {{\n  \"version\": \"0.9.22\",\n  \"resolved\": \"https://registry.npmjs.org/left-pad/-/left-pad-0.9.22.tgz\",\n  \"integrity\": \"sha512-{hash}\"\n}}\n```"
        );
        let args = serde_json::json!({ "channel": "#releases", "text": entry }).to_string();
        let parts = parts(&args);
        let decoded = decode(&parts, &parts, args.len());
        assert!(!decoded.cut && decoded.opaque.is_empty());
    }
}
