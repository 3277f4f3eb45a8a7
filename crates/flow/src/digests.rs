//! The specification's hashes of what a scope read, each with its origin.
//!
//! They stand in a ring in the order they came, and a table of places in the ring leads to them: that
//! takes less than half the room of a map with a list of its keys beside it.

use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;
use mcpproxy_core::Id128;

/// Hashes that a scope holds; the oldest go first.
pub(crate) const MOST: usize = 1 << 14;
/// Slots of the table for each hash at least, and of the smallest table.
const SLOTS: usize = 2;
const FIRST: usize = 64;

/// A hash in four parts, which take less room beside a number than the whole.
type Key = [u32; 4];

fn key(hash: Id128, salt: u64) -> Key {
    let salted = hash.0 ^ u128::from(salt);
    [96, 64, 32, 0].map(|shift| u32::try_from(salted >> shift & 0xFFFF_FFFF).unwrap_or(0))
}

/// The hashes of a scope, each with its origin.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    /// INVARIANT: no longer than [`MOST`], so that its memory is not doubled for one more.
    ring: Vec<(Key, u32)>,
    /// The oldest, once the ring is full.
    oldest: usize,
    /// In open addressing: zero is empty, any other number is one more than a place in the ring.
    ///
    /// INVARIANT: its length is a power of two, or zero; half of it is empty.
    table: Vec<u16>,
    random: RandomState,
}

impl Digests {
    pub(crate) fn bytes(&self) -> usize {
        self.ring.capacity() * size_of::<(Key, u32)>() + self.table.capacity() * size_of::<u16>()
    }

    pub(crate) fn get(&self, hash: Id128, salt: u64) -> Option<u32> {
        self.seq(self.find(key(hash, salt)).ok()?)
    }

    /// Remembers a hash for an origin if `may` says so, which is told the origin that it is remembered
    /// for: it is looked for once. The oldest makes room.
    pub(crate) fn add_if(
        &mut self,
        hash: Id128,
        salt: u64,
        seq: u32,
        may: impl FnOnce(Option<u32>) -> bool,
    ) {
        let key = key(hash, salt);
        let found = self.find(key);
        if !may(found.ok().and_then(|place| self.seq(place))) {
            return;
        }
        match found {
            Ok(place) => self.put(place, (key, seq)),
            Err(slot) => self.add(slot, (key, seq)),
        }
    }

    /// Adds what is new; the table may lead to it from a slot.
    fn add(&mut self, slot: usize, new: (Key, u32)) {
        if self.ring.len() < MOST {
            self.ring.push(new);
            if self.ring.len() * SLOTS > self.table.len() {
                self.grow();
            } else {
                self.lead(slot, self.ring.len() - 1);
            }
            return;
        }
        let place = self.oldest;
        self.forget(place);
        self.put(place, new);
        self.lead_to(place);
        self.oldest = (place + 1) % MOST;
    }

    fn seq(&self, place: usize) -> Option<u32> {
        self.ring.get(place).map(|(_, seq)| *seq)
    }

    fn put(&mut self, place: usize, new: (Key, u32)) {
        if let Some(slot) = self.ring.get_mut(place) {
            *slot = new;
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns where the table begins to lead to a hash: whoever writes what is hashed cannot know.
    fn home(&self, key: Key) -> usize {
        usize::try_from(self.random.hash_one(key)).unwrap_or(0) & self.mask()
    }

    fn mask(&self) -> usize {
        self.table.len().saturating_sub(1)
    }

    /// Returns the place in the ring that a slot of the table leads to.
    fn place(&self, slot: usize) -> Option<usize> {
        let number = self.table.get(slot).copied().unwrap_or(0);
        usize::from(number).checked_sub(1)
    }

    /// Returns where in the ring a hash is, or else the slot of the table that would lead to it.
    fn find(&self, key: Key) -> Result<usize, usize> {
        let mut slot = self.home(key);
        loop {
            let place = self.place(slot).ok_or(slot)?;
            if self.ring.get(place).is_some_and(|(known, _)| *known == key) {
                return Ok(place);
            }
            slot = (slot + 1) & self.mask();
        }
    }

    /// Lets the table lead to a place in the ring.
    fn lead_to(&mut self, place: usize) {
        let Some((key, _)) = self.ring.get(place) else {
            return;
        };
        let mut slot = self.home(*key);
        while self.place(slot).is_some() {
            slot = (slot + 1) & self.mask();
        }
        self.lead(slot, place);
    }

    /// Lets a slot of the table lead to a place in the ring.
    fn lead(&mut self, slot: usize, place: usize) {
        if let (Some(slot), Ok(number)) = (self.table.get_mut(slot), u16::try_from(place + 1)) {
            *slot = number;
        }
    }

    /// Lets the table lead to a place in the ring no more. What comes behind moves up, so that nothing
    /// empty is on the way to any hash.
    fn forget(&mut self, place: usize) {
        let Some((key, _)) = self.ring.get(place) else {
            return;
        };
        let mut gap = self.home(*key);
        while self.place(gap).is_some_and(|other| other != place) {
            gap = (gap + 1) & self.mask();
        }
        let mut slot = gap;
        loop {
            slot = (slot + 1) & self.mask();
            let Some((key, _)) = self.place(slot).and_then(|place| self.ring.get(place)) else {
                break;
            };
            let behind = |start: usize| slot.wrapping_sub(start) & self.mask();
            if behind(self.home(*key)) >= behind(gap) {
                self.move_up(slot, gap);
                gap = slot;
            }
        }
        if let Some(slot) = self.table.get_mut(gap) {
            *slot = 0;
        }
    }

    fn move_up(&mut self, from: usize, to: usize) {
        let number = self.table.get(from).copied().unwrap_or(0);
        if let Some(slot) = self.table.get_mut(to) {
            *slot = number;
        }
    }

    /// Makes the table twice as large.
    fn grow(&mut self) {
        self.table = vec![0; (self.table.len() * 2).max(FIRST)];
        for place in 0..self.ring.len() {
            self.lead_to(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, VecDeque};

    use super::*;

    #[test]
    fn the_oldest_hashes_make_room() {
        let mut digests = Digests::default();
        let most = u128::try_from(MOST).unwrap();
        for number in 0..most + 3 {
            digests.add_if(Id128(number << 64 | number), 7, 1, |_| true);
            digests.add_if(Id128(number << 64 | number), 7, 2, |_| true);
            digests.add_if(Id128(number << 64 | number), 7, 3, |known| known != Some(2));
        }
        let get = |number: u128, salt| digests.get(Id128(number << 64 | number), salt);
        assert_eq!(get(2, 7), None);
        assert!((3..most + 3).all(|number| get(number, 7) == Some(2)));
        assert_eq!(get(3, 8), None);
        assert_eq!(digests.get(Id128(3), 7), None);
        assert_eq!(digests.ring.capacity(), MOST);
        assert_eq!(digests.table.len(), MOST * SLOTS);
    }

    #[test]
    fn a_map_with_a_list_of_its_keys_holds_the_same() {
        let mut digests = Digests::default();
        let (mut map, mut order) = (HashMap::new(), VecDeque::new());
        let mut state = 1_u64;
        for seq in 0..4 * u32::try_from(MOST).unwrap() {
            state = crate::roll::scramble(state);
            // Some come again while they are known, and some later.
            let hash = Id128(u128::from(state % 30_000) << 100 | u128::from(state % 30_000));
            digests.add_if(hash, 5, seq, |_| true);
            if map.insert(hash, seq).is_none() {
                order.push_back(hash);
            }
            if order.len() > MOST {
                map.remove(&order.pop_front().unwrap());
            }
        }
        assert_eq!(order.len(), MOST);
        for number in 0..30_000_u128 {
            let hash = Id128(number << 100 | number);
            assert_eq!(digests.get(hash, 5), map.get(&hash).copied(), "{number}");
        }
    }
}
