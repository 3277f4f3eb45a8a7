//! The words around a candidate that say what it is: labels, keys and nouns in several languages.
//!
//! Only looked at when a candidate's shape already fits. The words themselves are data, in
//! `context/words.rs`.

mod words;

use std::collections::VecDeque;

use super::view::View;

pub(super) use words::Topic;

/// How far before a candidate its label may stand, in bytes.
const BEFORE: usize = 64;
/// How far after a candidate its label may stand, in bytes.
const AFTER: usize = 32;
/// What is at least this near stands in the same sentence.
pub(super) const CLOSE: u8 = 160;
/// The slots of the table; a power of two, at least twice the number of phrases.
const SLOTS: usize = 2048;

/// How many words of 64 bits the endings have: so many that few words pass by chance.
const ENDINGS: usize = 256;

/// All phrases by their hash.
#[derive(Debug)]
pub(super) struct Vocabulary {
    slots: Vec<(u64, Topic)>,
    /// One bit for each hash of a word that ends a phrase: most words stop here.
    endings: [u64; ENDINGS],
}

/// The topics that stand near one candidate, with how near each of them is.
#[derive(Clone, Debug)]
pub(super) struct Near {
    places: [u8; Topic::COUNT],
    any: bool,
}

/// Reads the words between candidates once, from left to right, and only where somebody asks for
/// them: most candidates are turned away by their shape.
#[derive(Debug)]
pub(super) struct Cursor {
    at: usize,
    /// Where the candidates begin that were passed since. A word ends where a candidate begins, and
    /// no phrase reaches over a stretch without any, so that the words are read in the same pieces
    /// whether they are asked for now or later.
    passed: Vec<usize>,
    last: [u64; 2],
    marks: VecDeque<(usize, Topic)>,
    /// Whether there can be no script in the text that does not separate words.
    ascii: bool,
}

impl Near {
    pub(super) fn none() -> Self {
        Self {
            places: [0; Topic::COUNT],
            any: false,
        }
    }

    /// Whether there is any topic at all.
    pub(super) fn any(&self) -> bool {
        self.any
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
        self.any = true;
        if let Some(slot) = self.places.get_mut(topic as usize) {
            *slot = place.max(*slot);
        }
    }
}

impl Cursor {
    pub(super) fn new(view: View<'_>) -> Self {
        Self {
            at: 0,
            passed: Vec::new(),
            last: [0; 2],
            marks: VecDeque::new(),
            ascii: view.bytes().is_ascii(),
        }
    }

    /// Goes on to the candidate at `start`. Calls must go from left to right.
    pub(super) fn pass(&mut self, start: usize) {
        let from = start.saturating_sub(BEFORE);
        if self.passed.last().is_some_and(|last| *last < from) {
            self.passed.clear();
        }
        self.passed.push(start);
    }

    /// What stands before the candidate that was passed last.
    pub(super) fn near(&mut self, words: &Vocabulary, view: View<'_>) -> Near {
        let mut near = Near::none();
        let mut passed = std::mem::take(&mut self.passed);
        for start in &passed {
            self.read(words, view, *start);
        }
        let Some(start) = passed.pop() else {
            return near;
        };
        passed.clear();
        self.passed = passed;
        let from = start.saturating_sub(BEFORE);
        for (end, topic) in self.marks.iter().filter(|(end, _)| *end <= start) {
            near.mark(*topic, closeness(start - end));
        }
        if !self.ascii {
            read_unspaced(view.slice(from..start), &mut near);
        }
        near
    }

    /// Reads the words up to `start`, as far as one may be a label of what begins there.
    fn read(&mut self, words: &Vocabulary, view: View<'_>, start: usize) {
        let from = start.saturating_sub(BEFORE);
        if self.at < from {
            self.at = from;
            self.last = [0; 2];
        }
        let bytes = view.slice(self.at..start);
        let (at, marks) = (self.at, &mut self.marks);
        words.read(bytes, &mut self.last, |topic, end| {
            marks.push_back((at + end, topic));
        });
        self.at = self.at.max(start);
        while self.marks.front().is_some_and(|(end, _)| *end < from) {
            self.marks.pop_front();
        }
    }
}

/// How near a word is that ends `distance` bytes before a candidate.
fn closeness(distance: usize) -> u8 {
    200 - u8::try_from(distance.min(BEFORE)).unwrap_or(0)
}

impl Vocabulary {
    pub(super) fn new() -> Self {
        let mut slots = vec![(0, Topic::Phone); SLOTS];
        let mut endings = [0; ENDINGS];
        for (topic, phrases) in words::PHRASES {
            for phrase in *phrases {
                let words = Words::new(phrase.as_bytes()).map(|(word, _)| word);
                let last = words.clone().last().unwrap_or_default();
                let (slot, bit) = ending(last);
                if let Some(bits) = endings.get_mut(slot) {
                    *bits |= bit;
                }
                insert(&mut slots, words.reduce(join).unwrap_or_default(), *topic);
            }
        }
        Self { slots, endings }
    }

    /// What stands behind `end` on the same line, added to what is known.
    pub(super) fn after(&self, view: View<'_>, end: usize, near: &mut Near) {
        let length = view.run(end, AFTER, |byte| byte != b'\n');
        let bytes = view.head(end, length);
        self.read(bytes, &mut [0; 2], |topic, _| near.mark(topic, 1));
        read_unspaced(bytes, near);
    }

    /// What a key says about its value.
    pub(super) fn of_key(&self, key: &str) -> Near {
        let mut near = Near::none();
        let from = key.len().saturating_sub(BEFORE);
        let tail = key.as_bytes().get(from..).unwrap_or_default();
        self.read(tail, &mut [0; 2], |topic, _| near.mark(topic, u8::MAX));
        read_unspaced(tail, &mut near);
        near
    }

    /// Reports the topic and the end of every phrase of up to three words in `bytes`.
    fn read(&self, bytes: &[u8], last: &mut [u64; 2], mut found: impl FnMut(Topic, usize)) {
        for (word, end) in Words::new(bytes) {
            let (slot, bit) = ending(word);
            if self.endings.get(slot).is_some_and(|bits| bits & bit != 0) {
                let pair = join(last[1], word);
                let triple = join(join(last[0], last[1]), word);
                for hash in [word, pair, triple] {
                    self.find(hash, |topic| found(topic, end));
                }
            }
            *last = [last[1], word];
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

/// Marks the terms of scripts that do not separate words.
fn read_unspaced(bytes: &[u8], near: &mut Near) {
    if !bytes.iter().any(|byte| *byte >= 0xE0) {
        return;
    }
    for (topic, term) in words::UNSPACED {
        if memchr::memmem::rfind(bytes, term.as_bytes()).is_some() {
            near.mark(*topic, closeness(BEFORE));
        }
    }
}

/// The first phrase of a topic.
#[cfg(test)]
pub(super) fn phrase_of(topic: Topic) -> &'static str {
    let mut topics = words::PHRASES.iter();
    let phrases = topics.find(|(known, _)| *known == topic).unwrap().1;
    phrases.first().unwrap()
}

/// The place of a word's bit among the endings. Hashes of short words differ in few bits, so they are
/// mixed once more.
fn ending(word: u64) -> (usize, u64) {
    let mixed = word.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let slot = usize::try_from(mixed >> 56).unwrap_or(0) % ENDINGS;
    (slot, 1 << (mixed >> 50 & 63))
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

/// The hash of a phrase and the word after it.
fn join(left: u64, right: u64) -> u64 {
    (left.rotate_left(23) ^ right).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The words of a text by hash and end: runs of letters, cut where `camelCase` changes its case.
#[derive(Clone)]
struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Words<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl Iterator for Words<'_> {
    type Item = (u64, usize);

    fn next(&mut self) -> Option<(u64, usize)> {
        let folded = |byte: &u8| FOLDED.get(usize::from(*byte)).copied().unwrap_or(0);
        let rest = self.bytes.get(self.at..)?;
        let gap = rest.iter().position(|byte| folded(byte) != 0)?;
        let word = rest.get(gap..)?;
        let (mut hash, mut length) = (0_u64, 0);
        let mut lower = false;
        for byte in word {
            let letter = folded(byte);
            let capital = letter != *byte;
            if letter == 0 || lower && capital {
                break;
            }
            lower = !capital && byte.is_ascii();
            hash = (hash ^ u64::from(letter) ^ 0x51).wrapping_mul(0x0100_0000_01B3) | 1;
            length += 1;
        }
        self.at += gap + length;
        Some((hash, self.at))
    }
}

/// Letters in lower case, bytes beyond ASCII as they are, and zero for what is part of no word. A
/// table, since every candidate has the words around it read.
const FOLDED: [u8; 256] = folded();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn folded() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = u8::MAX;
    // No word has a byte of zero, which is left as it is.
    while byte > 0 {
        if byte.is_ascii_alphabetic() || !byte.is_ascii() {
            table[byte as usize] = byte.to_ascii_lowercase();
        }
        byte -= 1;
    }
    table
}
