//! What nobody can read on its way out, and whether it is known as it stands: what was read or said
//! before hides nothing, however it looks.

use std::ops::Range;

use crate::fold::fold;
use crate::hits::is_supplied;
use crate::state::{Errand, State};
use crate::typed::of_text;
use crate::winnow::winnow;

/// Bytes of a run that are compared.
const MOST: usize = 1 << 12;

/// A run that nobody can read.
#[derive(Clone, Debug)]
pub(crate) struct Blob {
    pub(crate) leaf: u32,
    pub(crate) bytes: u32,
    symbols: Vec<u8>,
    /// Its tokens, and how long they are.
    tokens: Vec<(u64, usize)>,
}

impl Blob {
    /// Takes a run of a text, with the words at its ends.
    pub(crate) fn of(text: &str, run: Range<usize>, bytes: usize, leaf: u32) -> Self {
        let (start, end) = (run.start, run.end.min(run.start.saturating_add(MOST)));
        let head = text.get(..text.floor_char_boundary(start));
        let start = head.and_then(|head| head.rfind(char::is_whitespace));
        let tail = text.get(text.ceil_char_boundary(end)..).unwrap_or_default();
        let more = tail.find(char::is_whitespace).unwrap_or(tail.len());
        let end = text.floor_char_boundary(text.len() - tail.len() + more.min(MOST));
        let run = text.get(start.unwrap_or(0)..end).unwrap_or_default();
        let mut symbols = Vec::new();
        fold(run, &mut symbols);
        let mut tokens = Vec::new();
        of_text(run, true, |token, symbols| {
            tokens.push((token.hash, symbols.len()));
        });
        Self {
            leaf,
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            symbols,
            tokens,
        }
    }

    /// Tells whether at least half of it was read or said before.
    pub(crate) fn is_known(&self, state: &State, errand: Errand<'_>, salts: &[u64]) -> bool {
        let alive = |seq| state.origins.is_alive(seq);
        let (mut windows, mut seen) = (0, 0);
        winnow(&self.symbols, |gram| {
            let has = |salt: &u64| {
                let tag = gram.tag ^ salt;
                state.outside.get(tag, alive).is_some() || state.text.get(tag, alive).is_some()
            };
            windows += 1;
            seen += usize::from(salts.iter().any(has));
        });
        let known = |hash: u64| {
            let narrow = |salt: &u64| {
                let has = |tag| state.typed.get(tag, alive).is_some();
                has(hash ^ salt) || state.supplied.get(hash ^ salt, alive).is_some()
            };
            state.typed.get(hash, alive).is_some()
                || salts.iter().any(narrow)
                || is_supplied(state, errand, salts, hash)
        };
        let tokens = self.tokens.iter().filter(|(hash, _)| known(*hash));
        let length: usize = tokens.map(|(_, length)| length).sum();
        windows > 0 && seen * 2 >= windows || length > 0 && length * 2 >= self.symbols.len()
    }
}
