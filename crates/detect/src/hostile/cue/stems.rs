//! Beginnings of words that are cues, for languages that bend the end.

use std::collections::HashMap;

use crate::hostile::hash::Quick;

/// How many bytes of a word are looked at first.
const HEAD: usize = 4;

/// How many words of 64 bits the sieve has; it stays in the nearest cache.
const SIEVE: usize = 256;

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
        let (slot, bit) = place(head);
        if let Some(slot) = self.sieve.get_mut(slot) {
            *slot |= bit;
        }
        self.stems.entry(head).or_default().push(stem.to_owned());
    }

    /// Tells whether some stem begins a word.
    pub(super) fn begin(&self, word: &[u8]) -> bool {
        let Some(head) = head(word) else {
            return false;
        };
        let (slot, bit) = place(head);
        if self.sieve.get(slot).is_none_or(|bits| bits & bit == 0) {
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

fn place(head: [u8; HEAD]) -> (usize, u64) {
    let hash = u32::from_le_bytes(head).wrapping_mul(0x9e37_79b9) >> 18;
    (hash as usize >> 6, 1 << (hash & 63))
}
