//! Recall and mean reciprocal rank of a list of answers.

use std::fmt;

use crate::Case;

/// Where the first right answer stood for each query, counted from 0.
#[derive(Debug)]
pub(crate) struct Measure {
    ranks: Vec<Option<usize>>,
}

impl Measure {
    pub(crate) fn of(cases: &[&Case], mut search: impl FnMut(&str) -> Vec<String>) -> Self {
        let mut rank = |case: &Case| {
            search(&case.query)
                .iter()
                .position(|answer| case.expected.contains(answer))
        };
        Self {
            ranks: cases.iter().map(|case| rank(case)).collect(),
        }
    }

    pub(crate) fn recall_at_1(&self) -> f64 {
        self.mean(|rank| if rank < 1 { 1.0 } else { 0.0 })
    }

    pub(crate) fn recall_at_5(&self) -> f64 {
        self.mean(|rank| if rank < 5 { 1.0 } else { 0.0 })
    }

    pub(crate) fn mean_reciprocal_rank(&self) -> f64 {
        self.mean(|rank| 1.0 / (number(rank) + 1.0))
    }

    pub(crate) fn is_better_than(&self, other: &Self) -> bool {
        self.recall_at_1() > other.recall_at_1()
            && self.recall_at_5() > other.recall_at_5()
            && self.mean_reciprocal_rank() > other.mean_reciprocal_rank()
    }

    /// Averages over all queries; one without a right answer counts as 0.
    fn mean(&self, value: impl Fn(usize) -> f64) -> f64 {
        let sum: f64 = self.ranks.iter().flatten().map(|rank| value(*rank)).sum();
        sum / number(self.ranks.len())
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, fifth) = (self.recall_at_1(), self.recall_at_5());
        write!(
            out,
            "{first:.3} {fifth:.3} {:.3}",
            self.mean_reciprocal_rank()
        )?;
        write!(out, " ({} queries)", self.ranks.len())
    }
}

pub(crate) fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
