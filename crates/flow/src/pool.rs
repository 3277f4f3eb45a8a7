//! A bounded set of tags, each with the origin that was seen last and a small note.
//!
//! Slots of eight bytes in buckets of eight; a tag lives in one of two buckets, so that a look-up
//! reads two lines of memory however many tags there are. Which origins are alive is for the owner
//! to say: what belongs to a dead one is room, and nothing has to be swept.

/// Slots of a bucket: one line of memory.
const SLOTS: usize = 8;
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

/// Eight slots, the upper half of each and the lower half, in one line of memory. Halves of one kind
/// stand side by side, so that one of all slots is compared at once.
///
/// INVARIANT: what is empty comes last.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Bucket {
    upper: [u32; SLOTS],
    lower: [u32; SLOTS],
}

impl Bucket {
    const EMPTY: Self = Self {
        upper: [0; SLOTS],
        lower: [0; SLOTS],
    };

    /// Adds up the `numbers` of the slots with this upper half. All of them are looked at, which is
    /// faster than to stop where nobody can guess.
    #[inline]
    fn sum(&self, wanted: u32, numbers: [u32; SLOTS]) -> u32 {
        let slots = self.upper.iter().zip(numbers);
        slots.fold(0, |sum, (upper, number)| {
            sum.wrapping_add(if *upper == wanted { number } else { 0 })
        })
    }

    /// Counts the slots that nothing is in.
    #[inline]
    fn empty(&self) -> usize {
        let slots = self.upper.iter().zip(&self.lower);
        let empty = slots.map(|(upper, lower)| u32::from(upper | lower == 0));
        // There are few; checked sums are slow here.
        usize::try_from(empty.fold(0, u32::wrapping_add)).unwrap_or(0)
    }

    fn slots(&self) -> impl Iterator<Item = u64> {
        let halves = self.upper.iter().zip(&self.lower);
        halves.map(|(upper, lower)| joined(*upper, *lower))
    }

    #[inline]
    fn slot(&self, index: usize) -> Option<u64> {
        Some(joined(*self.upper.get(index)?, *self.lower.get(index)?))
    }

    /// Puts something into a slot; returns what was there.
    #[inline]
    fn replace(&mut self, index: usize, slot: u64) -> Option<u64> {
        let (upper, lower) = (self.upper.get_mut(index)?, self.lower.get_mut(index)?);
        let old = joined(*upper, *lower);
        (*upper, *lower) = halves(slot);
        Some(old)
    }
}

/// Numbers for the slots of two buckets: no two of them add up to another.
const NUMBERS: [[u32; SLOTS]; 2] = [
    [16, 17, 18, 19, 20, 21, 22, 23],
    [24, 25, 26, 27, 28, 29, 30, 31],
];
const LEAST: u32 = 16;

/// Where a slot is: which bucket, and which of its slots.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: usize,
    index: usize,
}

#[inline]
fn joined(upper: u32, lower: u32) -> u64 {
    u64::from(upper) << 32 | u64::from(lower)
}

/// Returns the upper and the lower half of a slot.
#[inline]
fn halves(slot: u64) -> (u32, u32) {
    let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0);
    (half(slot >> 32), half(slot))
}

/// A bounded set of tags.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    buckets: Vec<Bucket>,
    live: usize,
    /// Buckets, and tags of living origins, that there are at most.
    most: usize,
    room: usize,
    /// Tags of living origins with which it grows before another comes, if it still may.
    ///
    /// INVARIANT: changes where the buckets do.
    filled: usize,
}

/// What is remembered of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) seq: u32,
    pub(crate) note: u8,
}

/// A tag as every pool looks for it: who asks several pools, or asks twice, spreads it once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Key(u64);

impl From<u64> for Key {
    /// Spreads a tag; zero is kept for empty slots.
    #[inline]
    fn from(tag: u64) -> Self {
        Self((crate::roll::scramble(tag) >> TAG_SHIFT).max(1))
    }
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
        let most = most.checked_next_power_of_two().map_or(FIRST, |up| {
            if up == most { most } else { up / 2 }.max(FIRST)
        });
        Self {
            buckets: Vec::new(),
            live: 0,
            most,
            room: most * FILL,
            filled: 0,
        }
    }

    /// Tells whether no tag ever came.
    pub(crate) fn is_empty(&self) -> bool {
        self.buckets.is_empty()
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
    #[inline]
    pub(crate) fn warm(&self, keys: impl Iterator<Item = Key>) {
        if self.bytes() <= NEAR {
            return;
        }
        let mut seen = 0;
        for Key(key) in keys {
            for at in self.places(key) {
                if let Some(Bucket { upper, .. }) = self.buckets.get(at) {
                    let [first, ..] = upper;
                    seen ^= first;
                }
            }
        }
        std::hint::black_box(seen);
    }

    /// Returns how many tags fit at most.
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    /// Tells whether an origin has to go before another tag comes.
    pub(crate) fn is_full(&self) -> bool {
        self.live >= self.room
    }

    /// Takes note that an origin with so many tags has died.
    pub(crate) fn forget(&mut self, tags: usize) {
        self.live = self.live.saturating_sub(tags);
    }

    /// Drops every tag, and the memory.
    pub(crate) fn clear(&mut self) {
        self.buckets = Vec::new();
        self.live = 0;
        self.filled = 0;
    }

    /// Returns what is remembered of a tag.
    #[inline]
    pub(crate) fn get(&self, key: impl Into<Key>, alive: impl Fn(u32) -> bool) -> Option<Seen> {
        let Key(key) = key.into();
        let (_, slot) = self.find(key, self.places(key))?;
        alive(seen_seq(slot)).then(|| seen(slot))
    }

    /// Remembers a tag for an origin.
    #[inline]
    pub(crate) fn add(
        &mut self,
        key: impl Into<Key>,
        seen: Seen,
        alive: &impl Fn(u32) -> bool,
    ) -> Added {
        if self.has_to_grow() {
            self.grow(alive);
        }
        let Key(key) = key.into();
        let places = self.places(key);
        let known = self.find(key, places);
        self.put((key, places), known, seen, alive)
    }

    /// Remembers a tag for an origin if `may` says so, which is told what is remembered of it: that is
    /// looked for once.
    #[inline]
    pub(crate) fn add_if(
        &mut self,
        key: Key,
        seen: Seen,
        alive: &impl Fn(u32) -> bool,
        may: impl FnOnce(Option<Seen>) -> bool,
    ) {
        let Key(own) = key;
        let places = self.places(own);
        let known = self.find(own, places);
        let living = known.filter(|(_, slot)| alive(seen_seq(*slot)));
        if !may(living.map(|(_, slot)| self::seen(slot))) {
            return;
        }
        if self.has_to_grow() {
            self.add(key, seen, alive);
        } else {
            self.put((own, places), known, seen, alive);
        }
    }

    fn has_to_grow(&self) -> bool {
        self.live >= self.filled
    }

    /// Puts a key where it was found in its buckets, or else where there is room.
    #[inline]
    fn put(
        &mut self,
        (key, places): (u64, [usize; 2]),
        known: Option<(Place, u64)>,
        seen: Seen,
        alive: &impl Fn(u32) -> bool,
    ) -> Added {
        let slot = pack(key, seen);
        if let Some((place, old)) = known {
            self.replace(place, slot);
            let old = seen_seq(old);
            if alive(old) {
                return Added::Renewed(old);
            }
            self.live += 1;
            return Added::New;
        }
        let place = self.empty(places);
        let place = place.unwrap_or_else(|| self.vacant(key, seen.seq, alive));
        let old = self.replace(place, slot).unwrap_or(0);
        if old == 0 || !alive(seen_seq(old)) {
            self.live += 1;
            return Added::New;
        }
        Added::Displaced(seen_seq(old))
    }

    /// Finds a key in one of its two buckets, and what is there. Most are in none, which the upper halves
    /// of all slots tell together.
    #[inline]
    fn find(&self, key: u64, places: [usize; 2]) -> Option<(Place, u64)> {
        let [Some(one), Some(other)] = places.map(|at| self.buckets.get(at)) else {
            return None;
        };
        let (wanted, _) = halves(key << TAG_SHIFT);
        let [here, there] = NUMBERS;
        let sum = one.sum(wanted, here) + other.sum(wanted, there);
        let index = usize::try_from(sum.checked_sub(LEAST)?).unwrap_or(usize::MAX);
        let [first, second] = places;
        let (at, bucket) = if index < SLOTS {
            (first, one)
        } else {
            (second, other)
        };
        // Two may look alike, or be one.
        let index = if index < 2 * SLOTS {
            index % SLOTS
        } else {
            return self.search(key, places);
        };
        let slot = bucket.slot(index).filter(|slot| slot >> TAG_SHIFT == key)?;
        Some((Place { at, index }, slot))
    }

    /// Finds a key by looking at one slot after the other.
    #[cold]
    fn search(&self, key: u64, places: [usize; 2]) -> Option<(Place, u64)> {
        places.into_iter().find_map(|at| {
            let mut slots = self.buckets.get(at)?.slots().enumerate();
            let (index, slot) = slots.find(|(_, slot)| slot >> TAG_SHIFT == key)?;
            Some((Place { at, index }, slot))
        })
    }

    /// Returns the first empty slot in the one of two buckets that has more of them.
    #[inline]
    fn empty(&self, [first, second]: [usize; 2]) -> Option<Place> {
        let empty = |at: usize| self.buckets.get(at).map_or(0, Bucket::empty);
        let (here, there) = (empty(first), empty(second));
        let (at, most) = if here >= there {
            (first, here)
        } else {
            (second, there)
        };
        let index = SLOTS - most;
        (most > 0).then_some(Place { at, index })
    }

    /// Returns a slot for a key where none is empty: one of the dead, or else one that makes room, or the
    /// oldest. In a pool that is full another bucket has hardly ever room, and is not asked.
    #[cold]
    fn vacant(&mut self, key: u64, seq: u32, alive: &impl Fn(u32) -> bool) -> Place {
        let free = self.free(key, alive);
        let free = free.or_else(|| {
            let moved = !self.is_full();
            moved.then(|| self.make_room(key, alive)).flatten()
        });
        free.unwrap_or_else(|| self.oldest(key, seq))
    }

    /// Returns the slot in the two buckets of a key whose origin came longest before this one.
    fn oldest(&self, key: u64, seq: u32) -> Place {
        let [first, second] = self.places(key);
        let slots = [first, second].into_iter().flat_map(|at| {
            let slots = self.buckets.get(at).into_iter().flat_map(Bucket::slots);
            let slots = slots.enumerate();
            slots.map(move |(index, slot)| (Place { at, index }, slot))
        });
        let age = |slot: u64| seq.wrapping_sub(seen_seq(slot)) & SEQ_MASK;
        let oldest = slots.max_by_key(|(_, slot)| age(*slot));
        oldest.map_or(
            Place {
                at: first,
                index: 0,
            },
            |(place, _)| place,
        )
    }

    /// Returns a slot for a key that is empty or else belongs to the dead, in the bucket with more of
    /// them.
    fn free(&self, key: u64, alive: &impl Fn(u32) -> bool) -> Option<Place> {
        let places = self.places(key);
        self.empty(places).or_else(|| {
            let dead = places.map(|at| {
                let slots = self.buckets.get(at).into_iter().flat_map(Bucket::slots);
                let dead = slots
                    .enumerate()
                    .filter(|(_, slot)| !alive(seen_seq(*slot)));
                let mut dead = dead.map(|(index, _)| Place { at, index });
                (dead.next(), dead.count())
            });
            let [(one, more), (other, others)] = dead;
            one.filter(|_| more >= others).or(other)
        })
    }

    /// Moves one tag out of the full buckets of a key to its other bucket; returns its old slot.
    fn make_room(&mut self, key: u64, alive: &impl Fn(u32) -> bool) -> Option<Place> {
        let moves = self.places(key).into_iter().find_map(|at| {
            let mut slots = self.buckets.get(at)?.slots().enumerate();
            slots.find_map(|(index, slot)| {
                let to = self.aside(slot >> TAG_SHIFT, at, alive)?;
                Some((Place { at, index }, to, slot))
            })
        });
        let (from, to, slot) = moves?;
        self.replace(to, slot);
        self.replace(from, 0);
        Some(from)
    }

    /// Returns the first slot that is empty, or else that belongs to the dead, in the bucket of a key that
    /// is not `full`. Most have none, in a pool that is.
    #[inline]
    fn aside(&self, key: u64, full: usize, alive: &impl Fn(u32) -> bool) -> Option<Place> {
        let at = self.places(key).into_iter().find(|at| *at != full)?;
        let bucket = self.buckets.get(at)?;
        let dead = || {
            bucket
                .lower
                .iter()
                .position(|lower| !alive(lower & SEQ_MASK))
        };
        // What is empty comes last.
        let index = match bucket.slot(SLOTS - 1)? {
            0 => Some(SLOTS - bucket.empty()),
            _ => dead(),
        };
        index.map(|index| Place { at, index })
    }

    /// Puts something into a slot; returns what was there.
    #[inline]
    fn replace(&mut self, place: Place, slot: u64) -> Option<u64> {
        self.buckets.get_mut(place.at)?.replace(place.index, slot)
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
        let old = std::mem::replace(&mut self.buckets, vec![Bucket::EMPTY; size]);
        self.filled = if size < self.most {
            size * FILL
        } else {
            usize::MAX
        };
        let slots = old.iter().flat_map(Bucket::slots);
        for slot in slots.filter(|&slot| slot != 0) {
            if alive(seen_seq(slot)) {
                let key = slot >> TAG_SHIFT;
                let [at, _] = self.places(key);
                let place = self.free(key, &|_| true);
                self.replace(place.unwrap_or(Place { at, index: 0 }), slot);
            }
        }
    }
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
        assert_eq!(pool.get(1_u64, |_| true), None);
        assert_eq!(pool.add(1_u64, SEEN, &|_| true), Added::New);
        assert_eq!(pool.get(1_u64, |_| true), Some(SEEN));
        assert_eq!(pool.get(1_u64, |_| false), None);
        let later = Seen { seq: 8, note: 0 };
        assert_eq!(pool.add(1_u64, later, &|_| true), Added::Renewed(7));
        assert_eq!(pool.get(1_u64, |_| true), Some(later));
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
    fn the_newest_stay_in_a_pool_that_is_full() {
        let mut pool = Pool::new(1 << 14);
        let room = u32::try_from(pool.room()).unwrap();
        let all = 20 * room;
        for tag in 0..all {
            // Ten of each origin; numbers of origins wrap meanwhile.
            let seq = (SEQ_MASK - room + tag / 10) & SEQ_MASK;
            pool.add(u64::from(tag), Seen { seq, note: 0 }, &|_| true);
        }
        let found = |tags: std::ops::Range<u32>| {
            let found = tags.filter(|&tag| pool.get(u64::from(tag), |_| true).is_some());
            u32::try_from(found.count()).unwrap()
        };
        assert!(found(all - room / 2..all) > room / 2 * 99 / 100);
        assert_eq!(found(0..all / 2), 0);
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
