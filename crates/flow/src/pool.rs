//! A bounded set of tags, each with the origin that was seen last and a small note.
//!
//! Slots of eight bytes in buckets of eight; a tag lives in one of two buckets, so that a look-up
//! reads two lines of memory however many tags there are. Which origins are alive is for the owner
//! to say: what belongs to a dead one is room, and nothing has to be swept.

/// Slots of a bucket: one line of memory.
const SLOTS: usize = 8;
/// One bit for each of them.
const BITS: [u64; SLOTS] = [1, 2, 4, 8, 16, 32, 64, 128];
/// Slots that are filled before a pool grows, or lets its oldest origin go: of every eight.
const FILL: usize = 7;
/// Bytes of a pool that stays in a cache beside a processor.
const NEAR: usize = 1 << 19;
/// Buckets of a pool that was just used for the first time.
const FIRST: usize = 32;

const SEQ_BITS: u32 = 24;
const NOTE_BITS: u32 = 2;
const TAG_SHIFT: u32 = SEQ_BITS + NOTE_BITS;
/// Numbers of origins wrap here.
pub(crate) const SEQ_MASK: u32 = (1 << SEQ_BITS) - 1;

/// A bounded set of tags.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    buckets: Vec<[u64; SLOTS]>,
    live: usize,
    most: usize,
}

/// What is remembered of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) seq: u32,
    pub(crate) note: u8,
}

/// What became of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// It is new.
    New,
    /// It belonged to another origin before.
    Renewed(u32),
    /// One of another origin had to go.
    Displaced(u32),
}

impl Pool {
    /// Makes a pool that never takes more than `bytes`.
    pub(crate) fn new(bytes: usize) -> Self {
        let most = bytes / (SLOTS * 8);
        Self {
            buckets: Vec::new(),
            live: 0,
            most: most.checked_next_power_of_two().map_or(FIRST, |up| {
                if up == most { most } else { up / 2 }.max(FIRST)
            }),
        }
    }

    /// Returns the bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.buckets.len() * SLOTS * 8
    }

    /// Returns the tags of living origins.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// Reads the memory of some tags, which is faster for many at once than for one after the other,
    /// unless all of it is near.
    pub(crate) fn warm(&self, tags: impl Iterator<Item = u64>) {
        if self.bytes() <= NEAR {
            return;
        }
        let mut seen = 0;
        for tag in tags {
            for at in self.places(key(tag)) {
                let [first, ..] = self.buckets.get(at).copied().unwrap_or_default();
                seen ^= first;
            }
        }
        std::hint::black_box(seen);
    }

    /// Returns how many tags fit at most.
    pub(crate) fn room(&self) -> usize {
        self.most * FILL
    }

    /// Tells whether an origin has to go before another tag comes.
    pub(crate) fn is_full(&self) -> bool {
        self.live >= self.room()
    }

    /// Takes note that an origin with so many tags has died.
    pub(crate) fn forget(&mut self, tags: usize) {
        self.live = self.live.saturating_sub(tags);
    }

    /// Drops every tag, and the memory.
    pub(crate) fn clear(&mut self) {
        self.buckets = Vec::new();
        self.live = 0;
    }

    /// Returns what is remembered of a tag.
    #[inline]
    pub(crate) fn get(&self, tag: u64, alive: impl Fn(u32) -> bool) -> Option<Seen> {
        if self.buckets.is_empty() {
            return None;
        }
        let key = key(tag);
        let places = self.places(key);
        let mut buckets = places.iter().filter_map(|at| self.buckets.get(*at));
        if buckets.any(|bucket| may_hold(bucket, key)) {
            return self.living(key, places, alive);
        }
        None
    }

    /// Returns what is remembered of a key that is likely in one of its two buckets.
    fn living(&self, key: u64, places: [usize; 2], alive: impl Fn(u32) -> bool) -> Option<Seen> {
        let buckets = places.iter().filter_map(|at| self.buckets.get(*at));
        let mut slots = buckets.flatten();
        let slot = slots.find(|slot| **slot >> TAG_SHIFT == key && alive(seen_seq(**slot)));
        slot.map(|slot| seen(*slot))
    }

    /// Remembers a tag for an origin.
    pub(crate) fn add(&mut self, tag: u64, seen: Seen, alive: &impl Fn(u32) -> bool) -> Added {
        if self.live >= self.buckets.len() * FILL && self.buckets.len() < self.most {
            self.grow(alive);
        }
        let key = key(tag);
        let places = self.places(key);
        let slot = pack(key, seen);
        let (known, empty) = match places.map(|at| self.buckets.get(at)) {
            [Some(one), Some(other)] => (
                both(one, other, |slot| slot >> TAG_SHIFT == key),
                both(one, other, |slot| slot == 0),
            ),
            [_, _] => (0, 0),
        };
        if known != 0 {
            let old = self.replace(places, first(known), slot);
            let old = old.map_or(0, self::seen_seq);
            if alive(old) {
                return Added::Renewed(old);
            }
            self.live += 1;
            return Added::New;
        }
        let index = if empty == 0 {
            self.vacant(key, alive)
        } else {
            emptier(empty).0
        };
        let old = self.replace(places, index, slot).unwrap_or(0);
        if old == 0 || !alive(seen_seq(old)) {
            self.live += 1;
            return Added::New;
        }
        Added::Displaced(seen_seq(old))
    }

    /// Returns a slot among the sixteen of a key where none is empty.
    fn vacant(&mut self, key: u64, alive: &impl Fn(u32) -> bool) -> usize {
        let (index, free) = self.emptier(key, alive);
        if free == 0 {
            self.make_room(key, alive).unwrap_or(index)
        } else {
            index
        }
    }

    /// Returns a slot among the sixteen of a key, in the emptier bucket, and how many are free there.
    ///
    /// What belongs to the dead is looked at only where nothing is empty.
    fn emptier(&self, key: u64, alive: &impl Fn(u32) -> bool) -> (usize, u32) {
        let [one, other] = self.places(key).map(|at| self.buckets.get(at));
        let (Some(one), Some(other)) = (one, other) else {
            return (0, 0);
        };
        let found = emptier(both(one, other, |slot| slot == 0));
        if found.1 > 0 {
            return found;
        }
        emptier(both(one, other, |slot| !alive(seen_seq(slot))))
    }

    /// Moves one tag out of the full buckets of a key to its other bucket; returns its old slot.
    fn make_room(&mut self, key: u64, alive: &impl Fn(u32) -> bool) -> Option<usize> {
        let slots = self.slots(key);
        let moves = slots.iter().enumerate().find_map(|(index, &slot)| {
            let other = slot >> TAG_SHIFT;
            let (to, free) = self.emptier(other, alive);
            (free > 0).then_some((index, other, to, slot))
        });
        let (index, other, to, slot) = moves?;
        self.replace(self.places(other), to, slot);
        self.replace(self.places(key), index, 0);
        Some(index)
    }

    fn slots(&self, key: u64) -> Vec<u64> {
        let buckets = self.places(key).map(|at| self.buckets.get(at));
        buckets.into_iter().flatten().flatten().copied().collect()
    }

    /// Replaces the slot with this index among the sixteen of two buckets; returns the old one.
    fn replace(&mut self, places: [usize; 2], index: usize, slot: u64) -> Option<u64> {
        let at = *places.get(index / SLOTS)?;
        let place = self.buckets.get_mut(at)?.get_mut(index % SLOTS)?;
        Some(std::mem::replace(place, slot))
    }

    /// Returns the two buckets of a key.
    fn places(&self, key: u64) -> [usize; 2] {
        let mask = self.buckets.len().saturating_sub(1);
        let spread = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let place = |bits: u64| usize::try_from(bits & 0xFFFF_FFFF).unwrap_or(0) & mask;
        [place(key), place(spread)]
    }

    fn grow(&mut self, alive: &impl Fn(u32) -> bool) {
        let size = (self.buckets.len() * 2).clamp(FIRST, self.most);
        let old = std::mem::replace(&mut self.buckets, vec![[0; SLOTS]; size]);
        for slot in old.into_iter().flatten().filter(|&slot| slot != 0) {
            if alive(seen_seq(slot)) {
                let key = slot >> TAG_SHIFT;
                let (index, _) = self.emptier(key, &|_| true);
                self.replace(self.places(key), index, slot);
            }
        }
    }
}

/// Tells whether a bucket may have a key, by the upper halves of its slots: most keys are in none.
#[inline]
fn may_hold(bucket: &[u64; SLOTS], key: u64) -> bool {
    let half = |slot: u64| u32::try_from(slot >> 32).unwrap_or(0);
    let wanted = half(key << TAG_SHIFT);
    bucket.iter().any(|slot| half(*slot) == wanted)
}

/// One bit for each of the sixteen slots of two buckets that `is` something. All of them are looked at,
/// which is faster than to stop where nobody can guess.
#[inline]
fn both(one: &[u64; SLOTS], other: &[u64; SLOTS], is: impl Fn(u64) -> bool) -> u64 {
    let bits = |bucket: &[u64; SLOTS]| {
        let slots = bucket.iter().zip(BITS);
        slots.fold(0, |bits, (slot, bit)| {
            bits | if is(*slot) { bit } else { 0 }
        })
    };
    bits(other) << SLOTS | bits(one)
}

/// Returns the first of the slots in the bucket that has more of them, and how many it has.
#[inline]
fn emptier(slots: u64) -> (usize, u32) {
    let (one, other) = (slots & ((1 << SLOTS) - 1), slots >> SLOTS);
    if one.count_ones() >= other.count_ones() {
        (first(one), one.count_ones())
    } else {
        (first(other) + SLOTS, other.count_ones())
    }
}

/// Returns the first of some slots, or else the first of all.
fn first(slots: u64) -> usize {
    if slots == 0 {
        0
    } else {
        slots.trailing_zeros() as usize
    }
}

/// Spreads a tag; zero is kept for empty slots.
fn key(tag: u64) -> u64 {
    (crate::roll::scramble(tag) >> TAG_SHIFT).max(1)
}

fn pack(key: u64, seen: Seen) -> u64 {
    key << TAG_SHIFT | u64::from(seen.note & 3) << SEQ_BITS | u64::from(seen.seq & SEQ_MASK)
}

fn seen(slot: u64) -> Seen {
    Seen {
        seq: seen_seq(slot),
        note: u8::try_from(slot >> SEQ_BITS & 3).unwrap_or(0),
    }
}

fn seen_seq(slot: u64) -> u32 {
    u32::try_from(slot & u64::from(SEQ_MASK)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEN: Seen = Seen { seq: 7, note: 2 };

    #[test]
    fn tags_are_found_while_their_origin_lives() {
        let mut pool = Pool::new(1 << 16);
        assert_eq!(pool.get(1, |_| true), None);
        assert_eq!(pool.add(1, SEEN, &|_| true), Added::New);
        assert_eq!(pool.get(1, |_| true), Some(SEEN));
        assert_eq!(pool.get(1, |_| false), None);
        let later = Seen { seq: 8, note: 0 };
        assert_eq!(pool.add(1, later, &|_| true), Added::Renewed(7));
        assert_eq!(pool.get(1, |_| true), Some(later));
        assert_eq!(pool.live(), 1);
    }

    #[test]
    fn nothing_is_lost_until_a_pool_is_full() {
        let mut pool = Pool::new(1 << 20);
        let room = u64::try_from(pool.room()).unwrap();
        for tag in 0..room {
            assert!(!pool.is_full());
            assert_eq!(pool.add(tag, SEEN, &|_| true), Added::New, "{tag}");
        }
        assert!(pool.is_full());
        assert_eq!(pool.bytes(), 1 << 20);
        assert!((0..room).all(|tag| pool.get(tag, |_| true) == Some(SEEN)));
    }

    #[test]
    fn what_is_dead_makes_room() {
        let mut pool = Pool::new(1 << 16);
        let room = u64::try_from(pool.room()).unwrap();
        for round in 0..50_u32 {
            let alive = |seq: u32| seq == round;
            for tag in 0..room {
                let seen = Seen {
                    seq: round,
                    note: 0,
                };
                assert_eq!(
                    pool.add(tag + u64::from(round) * room, seen, &alive),
                    Added::New
                );
            }
            pool.forget(pool.live());
        }
        assert_eq!(pool.bytes(), 1 << 16);
    }
}
