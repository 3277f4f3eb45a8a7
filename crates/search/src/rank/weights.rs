//! How much a word counts: by its field, by the length of that field, by how many tools have it.

use crate::document::{Field, PerField};
use crate::index::{Index, Stored};
use crate::vocabulary::Posting;

/// Frequency at which a word has half of its effect.
const SATURATION: f64 = 1.5;

/// How much a word counts in a field of a given length.
#[derive(Debug)]
pub(super) struct Weights {
    by_length: PerField<Vec<f64>>,
}

impl Weights {
    pub(super) fn of(index: &Index) -> Self {
        let documents = number(index.len()).max(1.0);
        let by_length = Field::ALL.map(|field| {
            let words = u32::try_from(index.words_in(field)).unwrap_or(u32::MAX);
            let average = (f64::from(words) / documents).max(1.0);
            let penalty = field.length_penalty();
            let weigh = |length: u8| {
                field.weight() / (1.0 - penalty + penalty * f64::from(length) / average)
            };
            (0..=u8::MAX).map(weigh).collect()
        });
        Self { by_length }
    }

    /// Weighs the counts of a posting together and names the field that counts most.
    pub(super) fn weigh(&self, posting: &Posting, stored: &Stored) -> (f64, Field) {
        let mut all = 0.0;
        let mut best = (0.0, Field::Name);
        let fields = Field::ALL.iter().zip(&self.by_length);
        for ((field, weights), (count, length)) in
            fields.zip(posting.counts.iter().zip(stored.lengths))
        {
            if *count > 0 {
                let weight = weights
                    .get(usize::from(length))
                    .copied()
                    .unwrap_or_default();
                let points = weight * f64::from(*count);
                all += points;
                if points > best.0 {
                    best = (points, *field);
                }
            }
        }
        (all, best.1)
    }
}

/// Says how much a meaning tells tools apart if so many of all have it.
pub(super) fn rarity(having: usize, all: usize) -> f64 {
    let (having, all) = (number(having), number(all));
    (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
}

/// Brings a frequency between 0 and 1.
pub(super) fn saturate(frequency: f64) -> f64 {
    frequency / (SATURATION + frequency)
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
