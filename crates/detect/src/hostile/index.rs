//! Which patterns a sentence can match at all, by the ideas it has: a pattern is filed under the
//! element that the fewest ideas fill, so that most patterns are not looked at for most sentences.

use crate::hostile::ideas::Ideas;
use crate::hostile::rule::Rule;

/// One bit for each pattern; the longest list has not half as many as there is room for.
type Patterns = [u64; 6];

/// The patterns by idea.
#[derive(Debug)]
pub(crate) struct Index {
    /// For each idea its patterns.
    patterns: Vec<Patterns>,
}

impl Index {
    /// Files patterns by their place in `rules`; `None` if they are too many.
    pub(crate) fn new(rules: &[Rule]) -> Option<Self> {
        let mut patterns = vec![Patterns::default(); Ideas::MOST];
        for (place, rule) in rules.iter().enumerate() {
            let rarest = rule.elements().min_by_key(|ideas| ideas.numbers().count());
            for number in rarest.into_iter().flat_map(Ideas::numbers) {
                *patterns.get_mut(number)?.get_mut(place / 64)? |= 1 << (place % 64);
            }
        }
        Some(Self { patterns })
    }

    /// The places of the patterns that a sentence with these ideas may match, in order.
    pub(crate) fn candidates(&self, all: Ideas) -> impl Iterator<Item = usize> {
        let mut there = Patterns::default();
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
