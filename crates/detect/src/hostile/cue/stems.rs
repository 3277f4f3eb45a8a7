//! Beginnings of words that are cues, for languages that bend the end.

use std::collections::HashMap;

use crate::hostile::hash::Quick;

/// How many bytes of a word are looked at first.
const HEAD: usize = 4;

/// How many words of 64 bits the sieve has; it stays in the nearest cache.
pub(super) const SIEVE: usize = 1024;

/// All stems.
#[derive(Debug, Default)]
pub(super) struct Stems {
    /// One bit for each head that some stem has; nothing at all if there are no stems.
    sieve: Vec<u64>,
    /// The stems by their head in lower case.
    stems: HashMap<[u8; HEAD], Vec<String>, Quick>,
}

impl Stems {
    /// Adds a stem in lower case; one that is shorter than a head would be found everywhere.
    pub(super) fn enter(&mut self, stem: &str) {
        let Some(head) = head(stem.as_bytes()) else {
            return;
        };
        self.sieve.resize(SIEVE, 0);
        let (slot, bit) = place(u32::from_le_bytes(head));
        if let Some(slot) = self.sieve.get_mut(slot) {
            *slot |= bit;
        }
        self.stems.entry(head).or_default().push(stem.to_owned());
    }

    /// One bit for each head that some stem has.
    pub(super) fn sieve(&self) -> &[u64] {
        &self.sieve
    }

    /// Tells whether some stem begins a word.
    pub(super) fn begin(&self, word: &[u8]) -> bool {
        let Some(head) = head(word) else {
            return false;
        };
        if !may_begin(&self.sieve, u32::from_le_bytes(head)) {
            return false;
        }
        let begins = |stem: &String| {
            let start = word.get(..stem.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(stem.as_bytes()))
        };
        let stems = self.stems.get(&head);
        stems.is_some_and(|stems| stems.iter().any(begins))
    }
}

/// The first bytes of a word, in lower case as far as they are ASCII.
fn head(word: &[u8]) -> Option<[u8; HEAD]> {
    let mut head = *word.first_chunk::<HEAD>()?;
    head.make_ascii_lowercase();
    Some(head)
}

/// Tells whether some stem of a sieve may begin a word with these first letters.
pub(super) fn may_begin(sieve: &[u64], head: u32) -> bool {
    let (slot, bit) = place(head);
    sieve.get(slot).is_some_and(|bits| bits & bit != 0)
}

/// Where in the sieve first letters belong, whatever their case.
fn place(head: u32) -> (usize, u64) {
    let hash = (head | 0x2020_2020).wrapping_mul(0x9e37_79b9) >> 16;
    (hash as usize >> 6, 1 << (hash & 63))
}
