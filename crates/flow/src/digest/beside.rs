//! SHA-256 of several texts, a block of each in turn. Every round of a hash waits for the one before it,
//! and a processor that waits for one text works on the next meanwhile.

use sha2::block_api::compress256;

/// Texts that are hashed beside each other: a processor does not look ahead any further.
pub(super) const LANES: usize = 4;

/// Bytes of a block, and of the length at the end of the last one.
const BLOCK: usize = 64;
const LENGTH: usize = 8;
/// What every hash begins with (FIPS 180-4, 5.3.3).
const START: [u32; 8] = [
    0x6A09_E667,
    0xBB67_AE85,
    0x3C6E_F372,
    0xA54F_F53A,
    0x510E_527F,
    0x9B05_688C,
    0x1F83_D9AB,
    0x5BE0_CD19,
];

/// One text, as far as it is hashed.
struct Lane<'t> {
    state: [u32; 8],
    blocks: std::slice::Iter<'t, [u8; BLOCK]>,
    /// What stands behind the last whole block, filled up to one block or two (FIPS 180-4, 5.1.1).
    rest: [[u8; BLOCK]; 2],
    /// Which blocks of the rest are left.
    left: std::ops::Range<usize>,
}

impl<'t> Lane<'t> {
    fn new(text: &'t str) -> Self {
        let (blocks, behind) = text.as_bytes().as_chunks();
        let mut rest = [[0; BLOCK]; 2];
        let room = rest.as_flattened_mut();
        for (to, from) in room.iter_mut().zip(behind.iter().chain(&[0x80])) {
            *to = *from;
        }
        let count = if behind.len() + LENGTH < BLOCK { 1 } else { 2 };
        let bits = u64::try_from(text.len())
            .unwrap_or(u64::MAX)
            .wrapping_mul(8);
        let length = room.get_mut(..count * BLOCK).unwrap_or_default();
        for (to, from) in length.iter_mut().rev().zip(bits.to_le_bytes()) {
            *to = from;
        }
        Self {
            state: START,
            blocks: blocks.iter(),
            rest,
            left: 0..count,
        }
    }

    /// Hashes the next block; tells whether there was one.
    #[inline]
    fn step(&mut self) -> bool {
        let rest = &self.rest;
        let left = &mut self.left;
        let next = self.blocks.next();
        let next = next.or_else(|| left.next().and_then(|at| rest.get(at)));
        next.is_some_and(|block| {
            compress256(&mut self.state, std::slice::from_ref(block));
            true
        })
    }

    /// Returns the first half of the hash.
    fn half(&self) -> [u8; 16] {
        let mut half = [0; 16];
        let bytes = self.state.iter().flat_map(|word| word.to_be_bytes());
        for (to, from) in half.iter_mut().zip(bytes) {
            *to = from;
        }
        half
    }
}

/// Returns the first half of the hash of each text.
pub(super) fn halves<'t>(texts: impl Iterator<Item = &'t str>) -> impl Iterator<Item = [u8; 16]> {
    let mut lanes: Vec<Lane<'t>> = texts.map(Lane::new).collect();
    while lanes.iter_mut().fold(false, |any, lane| lane.step() | any) {}
    lanes.into_iter().map(|lane| lane.half())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::digest::digest;

    fn check(texts: &[String]) {
        let found = halves(texts.iter().map(String::as_str));
        let found: Vec<_> = found.map(mcpproxy_core::Id128::from_bytes).collect();
        let alone: Vec<_> = texts.iter().map(|text| digest(text)).collect();
        assert_eq!(found, alone);
    }

    #[test]
    fn texts_of_all_lengths_around_a_block_hash_as_they_do_alone() {
        let texts: Vec<String> = (0..200).map(|length| "x".repeat(length)).collect();
        check(&texts);
        check(&[]);
    }

    proptest! {
        #[test]
        fn texts_hash_beside_each_other_as_they_do_alone(texts in proptest::collection::vec(".{0,300}", 0..6)) {
            check(&texts);
        }
    }
}
