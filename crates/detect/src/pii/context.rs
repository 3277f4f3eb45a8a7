//! The words around a candidate that say what it is: labels, keys and nouns in several languages.
//!
//! Only looked at when a candidate's shape already fits. The words themselves are data, in
//! `context/words.rs`.

mod words;

use super::view::View;

pub(super) use words::Topic;

/// How far before a candidate its label may stand, in bytes.
const BEFORE: usize = 64;
/// How far after a candidate its label may stand, in bytes.
const AFTER: usize = 32;
/// The slots of the table; a power of two, at least twice the number of phrases.
const SLOTS: usize = 2048;

/// All phrases by their hash.
#[derive(Debug)]
pub(super) struct Vocabulary {
    slots: Vec<(u64, Topic)>,
}

/// The topics that stand near one candidate, with how near each of them is.
#[derive(Debug)]
pub(super) struct Near {
    places: [u8; Topic::COUNT],
}

impl Near {
    fn none() -> Self {
        Self {
            places: [0; Topic::COUNT],
        }
    }

    /// How near `topic` stands: zero for not at all, the greater the nearer.
    pub(super) fn to(&self, topic: Topic) -> u8 {
        self.places.get(topic as usize).copied().unwrap_or(0)
    }

    /// Whether `topic` is near at all.
    pub(super) fn has(&self, topic: Topic) -> bool {
        self.to(topic) > 0
    }

    fn mark(&mut self, topic: Topic, place: u8) {
        if let Some(slot) = self.places.get_mut(topic as usize) {
            *slot = place.max(*slot);
        }
    }
}

impl Vocabulary {
    pub(super) fn new() -> Self {
        let mut slots = vec![(0, Topic::Phone); SLOTS];
        for (topic, phrases) in words::PHRASES {
            for phrase in *phrases {
                insert(&mut slots, phrase_hash(phrase), *topic);
            }
        }
        Self { slots }
    }

    /// What stands around `start..end`, its label before it or after it.
    pub(super) fn around(&self, view: View<'_>, start: usize, end: usize) -> Near {
        let mut near = Near::none();
        self.read(view.head(end, AFTER), &mut near, |_| 1);
        self.read(view.tail(start, BEFORE), &mut near, |place| place + 1);
        near
    }

    /// What a key says about its value.
    pub(super) fn of_key(&self, key: &str) -> Near {
        let mut near = Near::none();
        let from = key.len().saturating_sub(BEFORE);
        let tail = key.as_bytes().get(from..).unwrap_or_default();
        self.read(tail, &mut near, |_| u8::MAX);
        near
    }

    /// Marks the topic of every phrase of up to three words in `bytes`.
    fn read(&self, bytes: &[u8], near: &mut Near, place: impl Fn(u8) -> u8) {
        let mut last = [0_u64; 2];
        let mut words = 0_u8;
        for word in Words::new(bytes) {
            words = words.saturating_add(1);
            let pair = join(last[1], word);
            let triple = join(join(last[0], last[1]), word);
            for hash in [word, pair, triple] {
                self.find(hash, |topic| near.mark(topic, place(words)));
            }
            last = [last[1], word];
        }
        if bytes.iter().any(|byte| *byte >= 0xE3) {
            for (topic, term) in words::UNSPACED {
                if let Some(at) = memchr::memmem::rfind(bytes, term.as_bytes()) {
                    let at = u8::try_from(at).unwrap_or(u8::MAX - 1);
                    near.mark(*topic, place(at.min(u8::MAX - 1)));
                }
            }
        }
    }

    /// Hands over every topic that the phrase belongs to.
    fn find(&self, hash: u64, mut found: impl FnMut(Topic)) {
        let mut slot = slot_of(hash);
        while let Some((held, topic)) = self.slots.get(slot).filter(|(held, _)| *held != 0) {
            if *held == hash {
                found(*topic);
            }
            slot = (slot + 1) % SLOTS;
        }
    }
}

/// Puts a phrase into its slot or the next free one; the table is never more than half full.
fn insert(slots: &mut [(u64, Topic)], hash: u64, topic: Topic) {
    let mut slot = slot_of(hash);
    while let Some(entry) = slots.get_mut(slot) {
        if entry.0 == 0 {
            *entry = (hash, topic);
            return;
        }
        slot = (slot + 1) % SLOTS;
    }
}

fn slot_of(hash: u64) -> usize {
    usize::try_from(hash >> 40).unwrap_or(0) % SLOTS
}

fn phrase_hash(phrase: &str) -> u64 {
    Words::new(phrase.as_bytes())
        .reduce(join)
        .unwrap_or_default()
}

/// The hash of a phrase and the word after it.
fn join(left: u64, right: u64) -> u64 {
    (left.rotate_left(23) ^ right).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The hashes of the words of a text: runs of letters, cut where `camelCase` changes its case.
struct Words<'a> {
    bytes: std::slice::Iter<'a, u8>,
    pending: Option<u8>,
}

impl<'a> Words<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes: bytes.iter(),
            pending: None,
        }
    }
}

impl Iterator for Words<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let mut hash = 0_u64;
        let mut lower = false;
        while let Some(byte) = self.pending.take().or_else(|| self.bytes.next().copied()) {
            if !byte.is_ascii_alphabetic() && byte.is_ascii() {
                if hash != 0 {
                    return Some(hash);
                }
                continue;
            }
            if lower && byte.is_ascii_uppercase() {
                self.pending = Some(byte);
                return Some(hash);
            }
            lower = byte.is_ascii_lowercase();
            let folded = u64::from(byte.to_ascii_lowercase());
            hash = (hash ^ folded ^ 0x51).wrapping_mul(0x0100_0000_01B3) | 1;
        }
        (hash != 0).then_some(hash)
    }
}
