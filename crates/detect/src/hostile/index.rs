//! Which patterns a sentence can match at all, by the ideas it has: a pattern is filed under the
//! element that the fewest ideas fill, so that most patterns are not looked at for most sentences.

use crate::hostile::ideas::Ideas;
use crate::hostile::rule::Rule;

/// The patterns by idea, one bit for each pattern.
#[derive(Debug)]
pub(crate) struct Index {
    /// For each idea its patterns; all are of the same length.
    patterns: Vec<Vec<u64>>,
}

impl Index {
    /// Files patterns by their place in `rules`.
    pub(crate) fn new(rules: &[Rule]) -> Self {
        let words = rules.len().div_ceil(64);
        let mut patterns = vec![vec![0; words]; Ideas::MOST];
        for (place, rule) in rules.iter().enumerate() {
            let rarest = rule.elements().min_by_key(|ideas| ideas.numbers().count());
            for number in rarest.into_iter().flat_map(Ideas::numbers) {
                let word = patterns
                    .get_mut(number)
                    .and_then(|bits| bits.get_mut(place / 64));
                if let Some(word) = word {
                    *word |= 1 << (place % 64);
                }
            }
        }
        Self { patterns }
    }

    /// The places of the patterns that a sentence with these ideas may match, in order.
    pub(crate) fn candidates(&self, all: Ideas) -> impl Iterator<Item = usize> {
        let words = self.patterns.first().map_or(0, Vec::len);
        let mut there = vec![0_u64; words];
        for bits in all.numbers().filter_map(|number| self.patterns.get(number)) {
            for (sum, word) in there.iter_mut().zip(bits) {
                *sum |= word;
            }
        }
        there.into_iter().enumerate().flat_map(|(at, mut word)| {
            std::iter::from_fn(move || {
                let place = (word != 0).then(|| at * 64 + word.trailing_zeros() as usize)?;
                word &= word - 1;
                Some(place)
            })
        })
    }
}
