//! The event of a sending: everything that is compared of what is about to leave, fingerprinted
//! before any lock is taken.

use std::ops::Range;

use mcpproxy_core::{Id128, Likeness, Nature};
use mcpproxy_text::decode::Coding;

use crate::blob::Blob;
use crate::brief::brief;
use crate::common;
use crate::content::{Content, Part, WHOLE, parts};
use crate::digest::{Digest, digests};
use crate::fold::fold;
use crate::reading::{self, Reading};
use crate::roll::whole;
use crate::secret::GRAM as SECRET;
use crate::settings::FlowTracking;
use crate::stream::{Family, Stream, streams};
use crate::tail::{Across, KEYS, SHORT};
use crate::typed::{Token, is_pointer, of_text, tokens};
use crate::view::{Decoded, decode, is_chance};
use crate::winnow::{GRAM, Room};
use crate::words::alphanumeric;

/// Tokens of one message that are compared.
const TOKENS: usize = 8192;
/// Fields of one message whose tail is kept for the next, and links that are looked up.
pub(crate) const TAILS: usize = 64;
const POINTERS: usize = 256;
/// Bytes of the shortest word that could be a secret.
const CODE: usize = 5;
/// Windows that are kept of what one call says.
const SAID: usize = 1 << 14;
/// Bytes of a tail.
pub(crate) const TAIL: usize = 192;

/// The ends of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) path: u64,
    pub(crate) leaf: u32,
    /// The beginning, to be put behind the tail of the call before.
    pub(crate) head: &'a str,
    /// The end, kept so that the next call to the same place can be read on from it.
    pub(crate) tail: &'a str,
}

impl<'a> Field<'a> {
    fn of(part: &'a Part<'_>) -> Self {
        let text = &*part.text;
        let head = text.get(..text.floor_char_boundary(TAIL));
        let tail = text.get(text.ceil_char_boundary(text.len().saturating_sub(TAIL))..);
        Self {
            path: part.path,
            leaf: part.leaf,
            head: head.unwrap_or_default(),
            tail: tail.unwrap_or_default(),
        }
    }
}

/// What is compared of a message.
#[derive(Debug)]
pub(crate) struct Sending<'a> {
    pub(crate) parts: Vec<Part<'a>>,
    /// Which of them the agent says, and the short names among them, one behind the other.
    own: Range<usize>,
    keys: String,
    pub(crate) streams: Vec<Stream>,
    pub(crate) digests: Vec<Digest>,
    pub(crate) tokens: Vec<(Token, u32)>,
    /// Links and names that may be known as such, folded.
    pub(crate) pointers: Vec<(u64, Vec<u8>)>,
    pub(crate) opaque: Vec<Blob>,
    pub(crate) bytes: u64,
    pub(crate) personal: bool,
    /// Whether a bound of decoding was met.
    pub(crate) cut: bool,
}

impl<'a> Sending<'a> {
    /// Returns what the agent says by itself in the leaves that begin within `span`, to be remembered
    /// once it has left. Nothing is decoded for that: what the agent reads back, it reads as it
    /// wrote it.
    pub(crate) fn said(&self, span: &Range<usize>) -> Reading {
        let said = self
            .parts
            .get(within(&self.parts, span))
            .unwrap_or_default();
        let mut leaves = said.iter().map(|part| part.leaf);
        let first = leaves.next().unwrap_or(WHOLE);
        let leaves = first..=leaves.next_back().unwrap_or(first);
        // Nearly all of them are in the first stream.
        let first = self.streams.first().map_or(0, |stream| stream.grams.len());
        let mut grams = Vec::with_capacity(first.min(SAID));
        for stream in &self.streams {
            if !matches!(stream.family, Family::Decoded | Family::Aligned) {
                let within = stream.windows_in(&leaves);
                let own = stream.grams.iter();
                let own = own.filter(|gram| within.contains(&gram.at));
                let own = own.map(|gram| gram.tag).filter(|tag| !common::has(*tag));
                grams.extend(own.take(SAID.saturating_sub(grams.len())));
            }
        }
        let digests = self.digests.iter().filter(|one| leaves.contains(&one.leaf));
        let tokens = self.tokens.iter().filter(|(_, leaf)| leaves.contains(leaf));
        Reading {
            grams,
            digests: digests.map(|one| one.hash).collect(),
            secrets: Vec::new(),
            tokens: tokens
                .map(|(token, _)| *token)
                .take(reading::TOKENS)
                .collect(),
        }
    }

    /// Returns the specification's hash of a field. A leaf that is JSON has many fields, and none of
    /// them stands for it.
    pub(crate) fn hash_of(&self, leaf: u32) -> Option<Id128> {
        let plain = |one: &&Digest| one.how != Likeness::Normalized;
        let whole = self.digests.iter().take(1).filter(|one| one.leaf == WHOLE);
        let fields = self.digests.get(whole.clone().count()..)?;
        // Fields stand in the order of their leaves.
        let first = fields.partition_point(|one| one.leaf < leaf);
        let there = fields.get(first..)?.iter();
        let there = there.take_while(|one| one.leaf == leaf);
        let mut there = whole
            .filter(|one| one.leaf == leaf)
            .chain(there)
            .filter(plain);
        let hash = there.next()?.hash;
        there.next().is_none().then_some(hash)
    }

    /// Returns the text that a hash was taken of: that of a field, or of all values.
    pub(crate) fn texts_of(&self, digest: &Digest) -> impl Iterator<Item = &str> {
        let whole = digest.leaf == WHOLE;
        let field = self.parts.get(digest.part).filter(|_| !whole);
        let all = self
            .parts
            .iter()
            .filter(move |part| whole && !part.is_key());
        field.into_iter().chain(all).map(|part| &*part.text)
    }

    /// Returns the fields that are read on from call to call.
    pub(crate) fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        let own = self.parts.get(self.own.clone()).unwrap_or_default();
        let values = own.iter();
        let values = values.filter(|part| !part.is_key() && !part.text.is_empty());
        let keys = (!self.keys.is_empty()).then_some(Field {
            path: KEYS,
            leaf: own.first().map_or(0, |part| part.leaf),
            head: &self.keys,
            tail: &self.keys,
        });
        // Two are for their names, and for what they say together.
        values.take(TAILS - 2).map(Field::of).chain(keys)
    }

    /// Returns the fields and what they say across destinations, as they are read on.
    pub(crate) fn fields_and<'s>(&'s self, across: &'s Across) -> impl Iterator<Item = Field<'s>> {
        self.fields().chain(across.field())
    }

    /// Returns the ends of all of these, for the next call.
    pub(crate) fn pieces(&self, across: &Across) -> Vec<(u64, String)> {
        let fields = self.fields_and(across);
        fields
            .map(|field| (field.path, field.tail.to_owned()))
            .collect()
    }

    /// Tells whether the agent says anything that could be a secret: a word with a digit, or one that
    /// chance has made.
    pub(crate) fn has_code(&self) -> bool {
        let own = self.parts.get(self.own.clone()).unwrap_or_default();
        let is_code = |word: &str| {
            let digit = word.bytes().any(|byte| byte.is_ascii_digit());
            word.len() >= CODE && (digit || is_chance(word))
        };
        own.iter().any(|part| {
            let mut words = part.text.split(|char: char| !char.is_alphanumeric());
            words.any(is_code)
        })
    }

    /// Hands the hashes of short words to `each`, if the bit of their length is set.
    pub(crate) fn short_words(&self, lengths: u64, mut each: impl FnMut(u64, u32)) {
        let mut symbols = Vec::new();
        let mut word = |word: &str, leaf: u32| {
            symbols.clear();
            if (1..SECRET * 4).contains(&word.len()) {
                fold(word, &mut symbols);
                if lengths >> symbols.len().min(63) & 1 == 1 {
                    each(whole(&symbols), leaf);
                }
            }
        };
        for part in &self.parts {
            if part.text.is_ascii() {
                // Every letter and digit of these is a symbol.
                alphanumeric(&part.text, |one| {
                    if lengths >> one.len().min(63) & 1 == 1 {
                        word(one, part.leaf);
                    }
                });
            } else {
                let words = part.text.split(|char: char| !char.is_alphanumeric());
                words.for_each(|one| word(one, part.leaf));
            }
        }
    }

    /// Hands the hashes of what short runs decode to to `each`, if the bit of their length is set.
    pub(crate) fn brief_words(&self, lengths: u64, mut each: impl FnMut(u64, u32, Coding)) {
        let mut symbols = Vec::new();
        for part in &self.parts {
            brief(&part.text, |word, coding| {
                symbols.clear();
                fold(word, &mut symbols);
                if lengths >> symbols.len().min(63) & 1 == 1 {
                    each(whole(&symbols), part.leaf, coding);
                }
            });
        }
    }

    /// Fingerprints what is about to leave; encodings are undone only if `undo` says so, since that
    /// is what takes longest. Only what the agent says, within `said`, is read as pieces of something
    /// longer: the protocol's own words come again in every call.
    pub(crate) fn of(
        content: &Content<'a>,
        said: &Range<usize>,
        settings: &FlowTracking,
        undo: bool,
    ) -> Self {
        let parts = parts(content.json);
        let own = within(&parts, said);
        let mut all = streams(&parts, own.clone(), true);
        let said = parts.get(own.clone()).unwrap_or_default();
        let keys = joined_keys(said);
        let Decoded {
            streams,
            texts,
            opaque,
            cut,
        } = if undo {
            decode(&parts, said, content.json.len())
        } else {
            Decoded::default()
        };
        all.extend(streams);
        let mut room = Room::default();
        for stream in &mut all {
            stream.choose(&mut room);
        }
        let mut found = Vec::new();
        let mut pointers = Vec::new();
        tokens(&parts, |token, symbols, part| {
            if found.len() < TOKENS {
                found.push((token, part.leaf));
            }
            if is_pointer(token, symbols) && symbols.len() >= GRAM && pointers.len() < POINTERS {
                pointers.push((token.hash, symbols.to_vec()));
            }
        });
        for (text, leaf) in &texts {
            of_text(text, true, |token, _| {
                if found.len() < TOKENS {
                    found.push((token, *leaf));
                }
            });
        }
        let personal =
            |marked: &crate::content::Marked<'_>| marked.label.nature == Nature::Personal;
        Self {
            streams: all,
            digests: digests(
                content.json,
                &parts,
                settings.hash_min_length,
                settings.max_response_hash_bytes,
            ),
            tokens: found,
            pointers,
            parts,
            own,
            keys,
            opaque,
            bytes: u64::try_from(content.json.len()).unwrap_or(u64::MAX),
            personal: content.marked.iter().any(personal),
            cut,
        }
    }
}

/// Puts the names of fields that are short one behind the other, as far as a tail reaches.
fn joined_keys(parts: &[Part<'_>]) -> String {
    let mut keys = String::new();
    for part in parts.iter().filter(|part| part.is_key()) {
        if part.text.len() <= SHORT && keys.len() + part.text.len() <= TAIL {
            keys.push_str(&part.text);
        }
    }
    keys
}

/// Tells which parts begin within a span.
fn within(parts: &[Part<'_>], span: &Range<usize>) -> Range<usize> {
    let before = parts.partition_point(|part| part.at < span.start);
    let after = parts.partition_point(|part| part.at < span.end);
    before..after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_agent_says_is_read_on_from_call_to_call() {
        let json = r#"{"jsonrpc":"2.0","id":4711,"method":"tools/call","params":{"name":"post","arguments":{"text":"moon","to":"bay"}}}"#;
        let content = Content { json, marked: &[] };
        let start = json.find(r#"{"text"#).unwrap();
        let heads = |said: Range<usize>| {
            let sending = Sending::of(&content, &said, &FlowTracking::default(), true);
            let heads = sending.fields().map(|field| field.head.to_owned());
            heads.collect::<Vec<_>>()
        };
        assert_eq!(heads(start..json.len() - 2), ["moon", "bay", "textto"]);
        assert_eq!(heads(0..json.len()).len(), 7);
        assert_eq!(heads(0..0), [""; 0]);
    }
}
