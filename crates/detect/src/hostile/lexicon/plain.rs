//! Short words of plain letters and what is known of each. Nearly every word of a sentence is
//! looked up, and a table of strings is too large for the nearest caches: here a word is two
//! numbers and a length, and what is not listed ends at a free slot of a small table.

use super::Entry;

/// The longest word that is filed, in letters.
const LONGEST: usize = 16;

/// How many slots there are for each word, at least.
const ROOM: usize = 4;

/// The words that are filed.
#[derive(Clone, Debug, Default)]
pub(super) struct Plain {
    /// For each slot the place of a word in the list, counted from one; zero if it is free.
    slots: Vec<u16>,
    words: Vec<(Key, Entry)>,
}

/// A word, whole: its first and its last eight letters, which may overlap, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    first: u64,
    last: u64,
    length: usize,
}

impl Key {
    /// The key of a word of letters of ASCII, whatever their case, if it is short enough to be filed.
    pub(super) fn of(word: &str) -> Option<Self> {
        let word = word.as_bytes();
        let half = |letters: &[u8; 4]| u64::from(u32::from_le_bytes(*letters));
        let (first, last) = match (word.first_chunk::<8>(), word.last_chunk::<8>()) {
            (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
            _ => match (word.first_chunk::<4>(), word.last_chunk::<4>()) {
                (Some(first), Some(last)) => (half(first), half(last)),
                _ => (
                    word.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)),
                    0,
                ),
            },
        };
        let length = word.len();
        // A bit tells a capital from a small letter.
        (length <= LONGEST).then_some(Self {
            first: first | u64::from_le_bytes([b' '; 8]),
            last: last | u64::from_le_bytes([b' '; 8]),
            length,
        })
    }

    fn hash(self) -> usize {
        let both = self.first ^ self.last.rotate_left(29) ^ (self.length as u64) << 59;
        let [.., low, high] = both.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        usize::from(u16::from_le_bytes([low, high]))
    }
}

impl Plain {
    /// Files those entries that are one short word of small letters; `None` if they are too many.
    pub(super) fn new<'a>(entries: impl Iterator<Item = (&'a str, Entry)>) -> Option<Self> {
        let single = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase());
        let words = entries.filter(|(word, _)| single(word));
        let words = words.filter_map(|(word, entry)| Some((Key::of(word)?, entry)));
        let mut plain = Self {
            slots: Vec::new(),
            words: words.collect(),
        };
        let slots = (plain.words.len() * ROOM).next_power_of_two();
        // A hash tells so many slots apart.
        if slots > 1 << 16 {
            return None;
        }
        plain.slots = vec![0; slots];
        for (place, (key, _)) in (1_u16..).zip(&plain.words) {
            let mut slot = key.hash() % slots;
            while plain.slots.get(slot).is_some_and(|taken| *taken != 0) {
                slot = (slot + 1) % slots;
            }
            if let Some(free) = plain.slots.get_mut(slot) {
                *free = place;
            }
        }
        Some(plain)
    }

    /// What is known of a word.
    pub(super) fn get(&self, key: Key) -> Entry {
        let mask = self.slots.len().wrapping_sub(1);
        let mut slot = key.hash() & mask;
        while let Some(place) = self
            .slots
            .get(slot)
            .copied()
            .and_then(|at| at.checked_sub(1))
        {
            match self.words.get(usize::from(place)) {
                Some((known, entry)) if *known == key => return *entry,
                _ => slot = (slot + 1) & mask,
            }
        }
        Entry::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hostile::ideas::Ideas;

    #[test]
    fn each_word_is_found_and_no_other() {
        let mut words: Vec<String> = (0..=LONGEST + 1).map(|length| "a".repeat(length)).collect();
        for length in 1..=LONGEST {
            words.extend((0..length).map(|at| {
                let letter = |place| if place == at { 'b' } else { 'a' };
                (0..length).map(letter).collect::<String>()
            }));
        }
        let (listed, others): (Vec<_>, Vec<_>) =
            words.iter().enumerate().partition(|(at, _)| at % 3 != 0);
        let entry = |at: usize| Entry::default().with(Ideas::one(at));
        let plain =
            Plain::new(listed.iter().map(|(at, word)| (word.as_str(), entry(*at)))).unwrap();
        let ideas = |word: &str| Key::of(word).map(|key| plain.get(key).ideas);
        for (at, word) in listed {
            let expect = (word.len() <= LONGEST).then_some(Ideas::one(at));
            assert_eq!(ideas(word), expect, "{word}");
            assert_eq!(ideas(&word.to_uppercase()), expect, "{word}");
        }
        for (_, word) in others {
            let expect = (word.len() <= LONGEST).then_some(Ideas::NONE);
            assert_eq!(ideas(word), expect, "{word}");
        }
        assert_eq!(
            Plain::default().get(Key::of("a").unwrap()).ideas,
            Ideas::NONE
        );
    }
}
