//! Reading ahead: what is kept of blocks, of many of them with one question.

use std::collections::BTreeMap;

use crate::database::Fault;

/// Blocks that are asked about at once, at most.
const MOST: i64 = 64;

/// What is kept of some blocks that follow each other. A page often ends in the newest of them, so that
/// the first question is about one; who goes on to the next one back is told of ever more.
#[derive(Debug)]
pub(super) struct Ahead<T> {
    first: i64,
    last: i64,
    found: BTreeMap<i64, T>,
}

impl<T> Default for Ahead<T> {
    fn default() -> Self {
        Self {
            first: 0,
            last: -1,
            found: BTreeMap::new(),
        }
    }
}

impl<T> Ahead<T> {
    /// Returns what is kept of a block. `read` is asked for all between two blocks, both included.
    pub(super) fn find(
        &mut self,
        block: i64,
        read: impl FnOnce([i64; 2]) -> Result<BTreeMap<i64, T>, Fault>,
    ) -> Result<Option<&T>, Fault> {
        if !(self.first..=self.last).contains(&block) {
            let goes_on = block + 1 == self.first && self.first <= self.last;
            let many = if goes_on {
                ((self.last - self.first + 1) * 4).min(MOST)
            } else {
                1
            };
            let first = (block - many + 1).max(0);
            self.found = read([first, block])?;
            (self.first, self.last) = (first, block);
        }
        Ok(self.found.get(&block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_goes_on_asks_ever_less_often_and_is_told_the_same() {
        let check = |blocks: &[i64], expect: &[[i64; 2]]| {
            let (mut ahead, mut asked) = (Ahead::default(), Vec::new());
            for block in blocks {
                let kept = |[first, last]: [i64; 2]| {
                    asked.push([first, last]);
                    let even = (first..=last).filter(|block| block % 2 == 0);
                    Ok(even.map(|block| (block, block * 10)).collect())
                };
                let found = ahead.find(*block, kept).unwrap().copied();
                assert_eq!(found, (block % 2 == 0).then_some(block * 10), "{block}");
            }
            assert_eq!(asked, expect);
        };
        let down: Vec<_> = (0..=100).rev().collect();
        check(&down, &[[100, 100], [96, 99], [80, 95], [16, 79], [0, 15]]);
        check(&[7, 7, 6, 3, 2], &[[7, 7], [3, 6], [0, 2]]);
        // Elsewhere it begins anew.
        check(
            &[9, 8, 40, 39, 0],
            &[[9, 9], [5, 8], [40, 40], [36, 39], [0, 0]],
        );
        check(&[1, 2, 3], &[[1, 1], [2, 2], [3, 3]]);
    }
}
