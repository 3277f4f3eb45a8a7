//! Blocks of records, and which of a block's records have a value: what stands in for indexes.

use std::collections::BTreeMap;

use mcpproxy_core::Field;

use crate::columns::{Columns, signed};
use crate::digest::Digest;

/// Records of a block. A place in the log is a block and a place within it.
pub(crate) const SIZE: i64 = 2048;
/// Where the records stand that are calls: beside those of fields, which are asked for by name.
pub(crate) const CALLS: i64 = 18;
const WORDS: usize = 32;
/// The length of a bitmap on disk; what is shorter is a list.
const WHOLE: usize = WORDS * 8;

/// Some records of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bits([u64; WORDS]);

impl Bits {
    /// None.
    pub(crate) const NONE: Self = Self([0; WORDS]);
    /// All.
    pub(crate) const ALL: Self = Self([u64::MAX; WORDS]);

    /// Takes a place in.
    pub(crate) fn set(&mut self, place: u16) {
        if let Some(word) = self.0.get_mut(usize::from(place >> 6)) {
            *word |= 1 << (place & 63);
        }
    }

    /// Tells whether a place is among them.
    pub(crate) fn has(&self, place: u16) -> bool {
        let word = self.0.get(usize::from(place >> 6));
        word.is_some_and(|word| word >> (place & 63) & 1 == 1)
    }

    /// Takes in what another has.
    pub(crate) fn or(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word |= other;
        }
    }

    /// Leaves out what another has not.
    pub(crate) fn and(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word &= other;
        }
    }

    /// Leaves out what another has.
    pub(crate) fn minus(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word &= !other;
        }
    }

    /// Returns how many there are.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Tells whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Returns the places, last first.
    pub(crate) fn descending(&self) -> impl Iterator<Item = i64> {
        let has = |place: &i64| u16::try_from(*place).is_ok_and(|place| self.has(place));
        (0..SIZE).rev().filter(has)
    }

    /// Returns the places as a list if there are few, else as a bitmap.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        if usize::try_from(self.count()).is_ok_and(|count| count * 2 < WHOLE) {
            let mut places: Vec<_> = self.descending().collect();
            places.reverse();
            let places = places
                .into_iter()
                .filter_map(|place| u16::try_from(place).ok());
            return places.flat_map(u16::to_le_bytes).collect();
        }
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Reads what [`Bits::to_bytes`] wrote.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let mut bits = Self::NONE;
        if bytes.len() == WHOLE {
            for (word, bytes) in bits.0.iter_mut().zip(bytes.as_chunks().0) {
                *word = u64::from_le_bytes(*bytes);
            }
        } else {
            for place in bytes.as_chunks().0 {
                bits.set(u16::from_le_bytes(*place));
            }
        }
        bits
    }
}

/// A finished block: the time it covers, and which of its records have which value.
#[derive(Debug)]
pub(crate) struct Block {
    number: i64,
    first_at: i64,
    last_at: i64,
    bytes: usize,
    postings: Vec<(Field, Values)>,
    calls: Box<Bits>,
}

/// What a field has in a block.
#[derive(Debug)]
enum Values {
    /// A few values, each in many records.
    Few(BTreeMap<String, Bits>),
    /// Nearly as many values as records.
    Many(Digest),
}

impl Values {
    fn add(&mut self, place: u16, value: &str) {
        let values = match self {
            Self::Many(digest) => return digest.add(place, value),
            Self::Few(values) => values,
        };
        if let Some(bits) = values.get_mut(value) {
            bits.set(place);
        } else {
            let mut bits = Bits::NONE;
            bits.set(place);
            values.insert(value.to_owned(), bits);
        }
    }
}

impl Block {
    /// Begins a block without records.
    pub(crate) fn new(number: i64) -> Self {
        Self {
            number,
            first_at: i64::MAX,
            last_at: i64::MIN,
            bytes: 0,
            postings: Field::ALL
                .map(|field| match how(field) {
                    How::Bitmaps => (field, Values::Few(BTreeMap::new())),
                    How::Digest => (field, Values::Many(Digest::default())),
                })
                .into(),
            calls: Box::new(Bits::NONE),
        }
    }

    /// Returns its number.
    pub(crate) fn number(&self) -> i64 {
        self.number
    }

    /// Returns the places of its records: from the first until before the second.
    pub(crate) fn places(number: i64) -> [i64; 2] {
        let first = number.saturating_mul(SIZE);
        [first, first.saturating_add(SIZE)]
    }

    /// Returns the span of time that it covers; nothing where it has no records.
    pub(crate) fn span(&self) -> Option<(i64, i64)> {
        (self.first_at <= self.last_at).then_some((self.first_at, self.last_at))
    }

    /// Returns about how many bytes its records need.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes a record in. An audit makes the same of the same record later: whoever changes what is made of it
    /// has finished blocks finished again, with a step of the schema.
    pub(crate) fn add(&mut self, place: i64, columns: &Columns<'_>) {
        let place = u16::try_from(place - self.number * SIZE).unwrap_or(u16::MAX);
        self.bytes += columns.bytes();
        if columns.is_call() {
            self.calls.set(place);
        }
        // A call is looked for by the time in its id, which was read apart.
        for at in [columns.at, signed(columns.call().millis())] {
            self.first_at = self.first_at.min(at);
            self.last_at = self.last_at.max(at);
        }
        for (field, values) in &mut self.postings {
            columns.values(*field, |value| values.add(place, value));
        }
    }

    /// Returns which records have which value, as bitmaps: fields by their numbers. Which of them are calls
    /// is there also where none is: without it nothing is known.
    pub(crate) fn bitmaps(&self) -> impl Iterator<Item = (i64, &str, &Bits)> {
        let calls = std::iter::once((CALLS, "", &*self.calls));
        let values = self.postings.iter().flat_map(|(field, values)| {
            let values = match values {
                Values::Few(values) => Some(values),
                Values::Many(_) => None,
            };
            let values = values.into_iter().flatten();
            values.map(|(value, bits)| (code(*field), value.as_str(), bits))
        });
        values.chain(calls)
    }

    /// Returns the same as it is kept.
    pub(crate) fn postings(&self) -> impl Iterator<Item = (i64, &str, Vec<u8>)> {
        let bitmaps = self.bitmaps();
        bitmaps.map(|(field, value, bits)| (field, value, bits.to_bytes()))
    }

    /// Returns the digests, also those that are empty: without one nothing is known.
    pub(crate) fn digests(&self) -> impl Iterator<Item = (i64, Vec<u8>)> {
        let digests = self.postings.iter();
        digests.filter_map(|(field, values)| match values {
            Values::Few(_) => None,
            Values::Many(digest) => Some((code(*field), digest.to_bytes())),
        })
    }
}

/// How records are found by a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// By a bitmap for each value.
    Bitmaps,
    /// By one digest of all values.
    Digest,
}

/// Returns how records are found by a field.
pub(crate) fn how(field: Field) -> How {
    match field {
        Field::McpSession | Field::Request | Field::Parent | Field::Agent => How::Digest,
        Field::Kind
        | Field::Source
        | Field::Upstream
        | Field::Tool
        | Field::Session
        | Field::Principal
        | Field::Status
        | Field::Decision
        | Field::FlowType
        | Field::RiskLevel
        | Field::Operation
        | Field::Sensitive
        | Field::Severity
        | Field::Detection => How::Bitmaps,
    }
}

/// Tells whether a number is that of a field with bitmaps.
pub(crate) fn is_bitmap(number: i64) -> bool {
    let mut fields = Field::ALL.into_iter();
    fields.any(|field| code(field) == number && how(field) == How::Bitmaps)
}

/// The number of a field in the database; it stays.
pub(crate) fn code(field: Field) -> i64 {
    match field {
        Field::Kind => 1,
        Field::Source => 2,
        Field::Upstream => 3,
        Field::Tool => 4,
        Field::Session => 5,
        Field::Principal => 6,
        Field::Status => 7,
        Field::Decision => 8,
        Field::FlowType => 9,
        Field::RiskLevel => 10,
        Field::Operation => 11,
        Field::Sensitive => 12,
        Field::Severity => 13,
        Field::Detection => 14,
        Field::Request => 15,
        Field::Parent => 16,
        Field::Agent => 17,
        Field::McpSession => 19,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_places_are_read_as_they_were_written() {
        for count in [0_u16, 1, 2, 127, 128, 129, 2048] {
            let mut bits = Bits::NONE;
            for place in 0..count {
                bits.set(place.wrapping_mul(977) % 2048);
            }
            let bytes = bits.to_bytes();
            assert!(bytes.len() <= WHOLE, "{count}");
            assert_eq!(Bits::from_bytes(&bytes), bits, "{count}");
            assert_eq!(bits.descending().count(), usize::from(count));
            assert!(bits.descending().is_sorted_by(|a, b| a > b));
        }
        assert_eq!(Bits::from_bytes(&[0xFF, 0xFF, 1]), Bits::NONE);
    }

    #[test]
    fn sets_are_joined_and_cut() {
        let (mut one, two) = (
            Bits::from_bytes(&[1, 0, 7, 0]),
            Bits::from_bytes(&[7, 0, 0, 4]),
        );
        let mut both = one.clone();
        both.or(&two);
        assert_eq!(both.descending().collect::<Vec<_>>(), [1024, 7, 1]);
        one.and(&two);
        assert_eq!(one.descending().collect::<Vec<_>>(), [7]);
        both.minus(&one);
        assert_eq!((both.count(), both.has(7), both.has(1)), (2, false, true));
        one.and(&Bits::NONE);
        assert!(one.is_empty());
    }
}
