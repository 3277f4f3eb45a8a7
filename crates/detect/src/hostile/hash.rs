//! A quick hash for looking up short words. The table is fixed before any text is read, so nobody
//! can crowd it from outside.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds the hash.
pub(crate) type Quick = BuildHasherDefault<Words>;

/// Multiplies and turns eight bytes at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Words(u64);

impl Hasher for Words {
    fn write(&mut self, bytes: &[u8]) {
        let (blocks, rest) = bytes.as_chunks::<8>();
        for block in blocks {
            self.mix(u64::from_le_bytes(*block));
        }
        let last = rest
            .iter()
            .fold(0, |last, &byte| last << 8 | u64::from(byte));
        self.mix(last);
    }

    fn write_u8(&mut self, byte: u8) {
        self.mix(u64::from(byte));
    }

    fn finish(&self) -> u64 {
        // The table takes the bits at both ends.
        self.0 ^ self.0 >> 29
    }
}

impl Words {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}
