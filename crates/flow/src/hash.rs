//! Hashes for tables. The quick one is for those that nobody can crowd from outside: their keys are
//! numbers that are given out here, or they were fixed before any text was read. The keyed one is for
//! short keys that others may choose: where they come in a table depends on numbers that this process
//! drew by chance and tells nobody, and it takes a tenth of what the one of the standard library does.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, Hasher, RandomState};
use std::sync::LazyLock;

/// Builds the hash.
type Build = BuildHasherDefault<Quick>;

/// A map by numbers that are given out here.
pub(crate) type QuickMap<K, V> = HashMap<K, V, Build>;

/// A set that was fixed before any text was read.
pub(crate) type QuickSet<K> = HashSet<K, Build>;

/// A map by short keys that others may choose.
pub(crate) type KeyedMap<K, V> = HashMap<K, V, BuildHasherDefault<Keyed>>;

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
        self.mix(lower(number >> 64));
        self.mix(lower(number));
    }

    #[inline]
    fn finish(&self) -> u64 {
        // Tables take the bits at both ends.
        self.0 ^ self.0 >> 29
    }
}

/// What this process drew by chance.
static DRAWN: LazyLock<[u64; 2]> = LazyLock::new(|| {
    let random = RandomState::new();
    // Nothing vanishes in a product with an odd number.
    [random.hash_one(0), random.hash_one(1) | 1]
});

/// Multiplies by a number that nobody knows, and folds the product.
#[derive(Clone, Copy)]
pub(crate) struct Keyed {
    state: u64,
    factor: u64,
}

impl Default for Keyed {
    #[inline]
    fn default() -> Self {
        let [state, factor] = *DRAWN;
        Self { state, factor }
    }
}

impl Hasher for Keyed {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(chunk) {
                *to = *from;
            }
            self.write_u64(u64::from_le_bytes(word));
        }
        // What ends in zeros is not what ends before them.
        self.write_usize(bytes.len());
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.state ^ number) * u128::from(self.factor);
        self.state = lower(product) ^ lower(product >> 64);
    }

    #[inline]
    fn write_u128(&mut self, number: u128) {
        self.write_u64(lower(number >> 64));
        self.write_u64(lower(number));
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.write_u64(u64::try_from(number).unwrap_or(u64::MAX));
    }

    #[inline]
    fn write_isize(&mut self, number: isize) {
        self.write_usize(number.cast_unsigned());
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }
}

fn lower(number: u128) -> u64 {
    u64::try_from(number & u128::from(u64::MAX)).unwrap_or(0)
}
