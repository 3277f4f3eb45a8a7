//! Texts that were put together from several calls, with their encodings undone.
//!
//! A field that says the same in every call makes the same text again and again, and undoing encodings
//! takes longest of all that is done for a call: what the last texts held is kept. They are no longer
//! than two ends of what was sent.

use std::sync::{Arc, Mutex, PoisonError};

use mcpproxy_text::decode::{Coding, Run, decode};

use crate::roll::whole;
use crate::stream::{Family, Stream};
use crate::view::{Decoded, SHORTEST, budget, is_natural, one};
use crate::winnow::Room;

/// Texts that are kept, a power of two, and the symbols that one of them may hold.
const KEPT: usize = 256;
const SYMBOLS: usize = 2048;

/// What a text holds, as it is and with its encodings undone.
#[derive(Debug)]
pub(crate) struct Read {
    pub(super) streams: Vec<Stream>,
    /// Whether a bound was met.
    pub(super) cut: bool,
}

impl Read {
    /// Reads a text that stands in this leaf.
    pub(super) fn of(text: &str, leaf: u32) -> Self {
        let mut decoded = Decoded::default();
        let stream = Stream::of(Family::Tail, text, leaf, Vec::new());
        decoded.streams.push(stream);
        if let Some(text) = padded(text) {
            let stream = Stream::of(Family::Tail, &text, leaf, vec!["base64"]);
            decoded.streams.push(stream);
        }
        let mut budget = budget(0);
        one(text, leaf, Family::Tail, &mut budget, &mut decoded);
        Self {
            streams: decoded.streams,
            cut: decoded.cut,
        }
    }

    fn is_small(&self) -> bool {
        let symbols = self.streams.iter().map(|stream| stream.symbols.len());
        symbols.sum::<usize>() <= SYMBOLS
    }
}

/// Decodes pieces of base64 that were put together, each of which ends by itself.
fn padded(text: &str) -> Option<String> {
    if !text.contains('=') {
        return None;
    }
    let mut plain = String::new();
    let pieces = text.split('=').map(str::trim);
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        let run = Run {
            coding: Coding::Base64,
            span: 0..piece.len(),
        };
        let bytes = decode(piece, &run)?;
        if !bytes.iter().all(u8::is_ascii_graphic) {
            return None;
        }
        plain.extend(bytes.into_iter().map(char::from));
    }
    (!plain.is_empty()).then_some(plain)
}

/// What a text was found to hold.
#[derive(Debug)]
pub(super) enum Found {
    /// All of it, which may be kept for the next.
    Kept(Arc<Read>),
    /// Nothing but the text itself.
    Plain(Stream),
}

impl Found {
    pub(super) fn streams(&self) -> &[Stream] {
        match self {
            Self::Kept(read) => &read.streams,
            Self::Plain(stream) => std::slice::from_ref(stream),
        }
    }

    /// Tells whether a bound was met.
    pub(super) fn is_cut(&self) -> bool {
        match self {
            Self::Kept(read) => read.cut,
            Self::Plain(_) => false,
        }
    }
}

/// A text with its leaf, and what it holds.
type Kept = (Box<str>, u32, Arc<Read>);

/// The texts that were read last, each where its hash says; the next with such a hash takes its place.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    kept: Mutex<Vec<Option<Kept>>>,
}

impl Reads {
    /// Reads a text that stands in this leaf, or recalls what it held. Nothing but these two says what
    /// that is.
    pub(super) fn read(&self, text: &str, leaf: u32) -> Arc<Read> {
        let hash = whole(text.as_bytes()) ^ u64::from(leaf);
        let place = usize::try_from(hash).unwrap_or(0) & (KEPT - 1);
        if let Some(known) = self.known(place, text, leaf) {
            return known;
        }
        let mut read = Read::of(text, leaf);
        let mut room = Room::default();
        for stream in &mut read.streams {
            stream.choose(&mut room);
        }
        let read = Arc::new(read);
        if read.is_small() {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.resize(KEPT, None);
            if let Some(slot) = kept.get_mut(place) {
                *slot = Some((text.into(), leaf, Arc::clone(&read)));
            }
        }
        read
    }

    /// Reads a text that stands in this leaf; encodings are undone only where it does not read like a
    /// language as it is.
    pub(super) fn read_if_strange(&self, text: &str, leaf: u32) -> Found {
        if text.len() >= SHORTEST && !is_natural(text) {
            return Found::Kept(self.read(text, leaf));
        }
        Found::Plain(Stream::of(Family::Tail, text, leaf, Vec::new()))
    }

    fn known(&self, place: usize, text: &str, leaf: u32) -> Option<Arc<Read>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, at, read) = kept.get(place)?.as_ref()?;
        (**known == *text && *at == leaf).then(|| Arc::clone(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_recalled_for_the_same_text_and_leaf_alone() {
        let reads = Reads::default();
        let first = reads.read("the moon over the bay", 3);
        assert!(Arc::ptr_eq(&first, &reads.read("the moon over the bay", 3)));
        for (text, leaf) in [("the moon over the bay", 4), ("the moon over the boy", 3)] {
            let other = reads.read(text, leaf);
            assert!(!Arc::ptr_eq(&first, &other), "{text}");
            let fresh = Read::of(text, leaf);
            let mut pairs = other.streams.iter().zip(&fresh.streams);
            assert!(pairs.all(|(one, two)| one.symbols == two.symbols));
            assert_eq!(other.streams.len(), fresh.streams.len());
        }
    }

    #[test]
    fn what_holds_much_is_not_kept() {
        let reads = Reads::default();
        let long = "abcd efgh ".repeat(SYMBOLS / 8 + 1);
        let first = reads.read(&long, 0);
        assert!(!Arc::ptr_eq(&first, &reads.read(&long, 0)));
    }
}
