//! Sets of ideas, one bit each.

use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

/// A set of ideas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ideas([u128; 2]);

impl Ideas {
    /// No idea at all.
    pub(crate) const NONE: Self = Self([0; 2]);

    /// How many ideas there can be.
    pub(crate) const MOST: usize = 256;

    /// The set of the one idea with this number.
    pub(crate) fn one(number: usize) -> Self {
        if number < 128 {
            Self([1 << number, 0])
        } else {
            Self([0, 1 << (number % 128)])
        }
    }

    /// The numbers of the ideas, in order.
    pub(crate) fn numbers(self) -> impl Iterator<Item = usize> {
        let Self([low, high]) = self;
        [(low, 0), (high, 128)]
            .into_iter()
            .flat_map(|(mut half, base)| {
                std::iter::from_fn(move || {
                    let number = (half != 0).then(|| base + half.trailing_zeros() as usize)?;
                    half &= half - 1;
                    Some(number)
                })
            })
    }
}

impl BitAnd for Ideas {
    type Output = Self;

    fn bitand(self, Self([c, d]): Self) -> Self {
        let Self([a, b]) = self;
        Self([a & c, b & d])
    }
}

impl BitOr for Ideas {
    type Output = Self;

    fn bitor(self, Self([c, d]): Self) -> Self {
        let Self([a, b]) = self;
        Self([a | c, b | d])
    }
}

impl BitOrAssign for Ideas {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl Not for Ideas {
    type Output = Self;

    fn not(self) -> Self {
        let Self([a, b]) = self;
        Self([!a, !b])
    }
}
