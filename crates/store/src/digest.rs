//! Which records of a block may have a value in a field where nearly every record has another: a few
//! bits of each value, in the order of the records.
//!
//! A bitmap for each value would be as large as an index, and cost as much. This is two bytes a record,
//! and of 65,536 records that have another value one is looked at for nothing.

use crate::block::Bits;

/// Says that a record has no value.
const NONE: u16 = 0;

/// Bits of the values of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest(Vec<u16>);

impl Digest {
    /// Takes the value of the record at a place in.
    pub(crate) fn add(&mut self, place: u16, value: &str) {
        let place = usize::from(place);
        if self.0.len() <= place {
            self.0.resize(place + 1, NONE);
        }
        if let Some(kept) = self.0.get_mut(place) {
            *kept = bits(value);
        }
    }

    /// Returns what is kept.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|one| one.to_le_bytes()).collect()
    }
}

/// Returns the records that may have one of some values, of what [`Digest::to_bytes`] gave.
pub(crate) fn find(bytes: &[u8], values: &[String]) -> Bits {
    let kept: &[[u8; 2]] = bytes.as_chunks().0;
    let mut found = Bits::NONE;
    for wanted in values.iter().map(|value| bits(value).to_le_bytes()) {
        // Hardly any block has it, and counting all is faster than looking for the first.
        if kept.iter().filter(|one| **one == wanted).count() == 0 {
            continue;
        }
        for (place, one) in (0_u16..).zip(kept) {
            if *one == wanted {
                found.set(place);
            }
        }
    }
    found
}

/// Tells whether two of what [`Digest::to_bytes`] gave say the same of some records.
pub(crate) fn is_same(one: &[u8], other: &[u8], among: &Bits) -> bool {
    let (one, other): (&[[u8; 2]], &[[u8; 2]]) = (one.as_chunks().0, other.as_chunks().0);
    let at = |kept: &[[u8; 2]], place: u16| {
        let kept = kept.get(usize::from(place));
        kept.copied().map_or(NONE, u16::from_le_bytes)
    };
    let longest = one.len().max(other.len());
    let mut places = (0_u16..).take(longest).filter(|place| among.has(*place));
    places.all(|place| at(one, place) == at(other, place))
}

/// Bits of a value: those of FNV-1a, which stays. Who makes values that have the same slows down
/// questions about them, and hides nothing.
fn bits(value: &str) -> u16 {
    const BASE: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    let [a, b, c, d, ..] = value.bytes().fold(BASE, step).to_be_bytes();
    let folded = u16::from_be_bytes([a, b]) ^ u16::from_be_bytes([c, d]);
    folded.max(NONE + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_in_is_found_and_little_else() {
        let mut digest = Digest::default();
        for place in (0..2048_u16).filter(|place| place % 2 == 0) {
            digest.add(place, &format!("request-{place}"));
        }
        let bytes = digest.to_bytes();
        for place in (0..2048_u16).filter(|place| place % 2 == 0) {
            let found = find(&bytes, &[format!("request-{place}")]);
            let found: Vec<_> = found.descending().collect();
            assert!(found.contains(&i64::from(place)), "{place}");
            assert!(found.len() < 5, "{place}: {found:?}");
        }
        let other = |number: u64| find(&bytes, &[format!("other-{number}")]);
        let many: usize = (0..1000).map(|one| other(one).descending().count()).sum();
        assert!(many < 50, "{many} of a million were found for nothing");
        assert!(find(&[], &["x".to_owned()]).is_empty());
        assert!(find(&bytes, &[]).is_empty());
    }
}
