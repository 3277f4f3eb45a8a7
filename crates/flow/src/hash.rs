//! Hashes for tables. The quick one is for those that nobody can crowd from outside: their keys are
//! numbers that are given out here, or they were fixed before any text was read. The keyed one is for
//! short keys that others may choose: where they come in a table depends on numbers that were drawn by
//! chance, and it takes a tenth of what the one of the standard library does.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Builds the hash.
type Build = BuildHasherDefault<Quick>;

/// A map by numbers that are given out here.
pub(crate) type QuickMap<K, V> = HashMap<K, V, Build>;

/// A set that was fixed before any text was read.
pub(crate) type QuickSet<K> = HashSet<K, Build>;

/// A map by short keys that others may choose.
pub(crate) type KeyedMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// A set of short keys that others may choose.
pub(crate) type KeyedSet<K> = HashSet<K, foldhash::fast::RandomState>;

/// Multiplies and turns; keys are numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Quick(u64);

impl Quick {
    #[inline]
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517C_C1B7_2722_0A95);
    }
}

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.mix(u64::from(*byte));
        }
    }

    #[inline]
    fn write_u16(&mut self, number: u16) {
        self.mix(u64::from(number));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.mix(u64::from(number));
    }

    #[inline]
    fn write_u128(&mut self, number: u128) {
        let half = |bits: u128| u64::try_from(bits & u128::from(u64::MAX)).unwrap_or(0);
        self.mix(half(number >> 64));
        self.mix(half(number));
    }

    #[inline]
    fn finish(&self) -> u64 {
        // Tables take the bits at both ends.
        self.0 ^ self.0 >> 29
    }
}
