//! Answers in the order in which calls began. Which blocks have to be looked through for one is for
//! `timeline`.

use std::collections::BTreeMap;

use mcpproxy_core::ActivityPage;

use super::Search;
use super::{Further, SIZE};
use crate::database::{Fault, Row};
use crate::timeline::{Timed, Timeline};

/// Blocks that are looked through at once, at most.
const MOST: usize = 64;

impl Search<'_> {
    /// Answers in the order in which calls began.
    pub(super) fn begun(mut self) -> Result<ActivityPage, Fault> {
        let mut blocks = self.latest()?;
        Timeline::order(&mut blocks);
        let mut timeline = Timeline::new(self.query);
        // The answer is usually in the first block or in none for long: few are asked for at first.
        let (mut from, mut many) = (0, 1);
        while let Some(some) = blocks.get(from..blocks.len().min(from + many))
            && some
                .first()
                .is_some_and(|(latest, _)| timeline.can_change(*latest))
        {
            let mut take = |place, row: &Row<'_>| {
                timeline.take(place, &row.columns);
                Ok(Further::Yes)
            };
            for (first, last) in ranges(some.iter().map(|(_, block)| *block).collect()) {
                self.fetch(first, last, &mut take)?;
            }
            (from, many) = (from + some.len(), (many * 2).min(MOST));
        }
        self.shown(&timeline.finish())
    }

    /// Returns all blocks, each with the latest time that it holds.
    fn latest(&mut self) -> Result<Vec<(i64, i64)>, Fault> {
        let (first, last) = self.places;
        let all = (first / SIZE..=last / SIZE).map(|block| (block, i64::MAX));
        let mut blocks: BTreeMap<i64, i64> = all.collect();
        let sql = "SELECT block, last_at FROM block";
        for row in self.connection.query(sql, &[])? {
            if let Some(latest) = blocks.get_mut(&row.try_get(0)?) {
                *latest = row.try_get(1)?;
            }
        }
        let turned = |(block, latest)| (latest, block);
        Ok(blocks.into_iter().map(turned).collect())
    }

    /// Returns the page of records whose places were found.
    fn shown(&mut self, timed: &Timed) -> Result<ActivityPage, Fault> {
        let mut records: BTreeMap<i64, String> = BTreeMap::new();
        let mut take = |place, row: &Row<'_>| {
            records.insert(place, row.show()?);
            Ok(Further::Yes)
        };
        self.fetch_places(&timed.places, (i64::MIN, i64::MAX), &mut take)?;
        let in_order = timed.places.iter();
        Ok(ActivityPage {
            records: in_order.filter_map(|place| records.remove(place)).collect(),
            next: timed.next,
            lost: self.lost,
        })
    }
}

/// Puts neighbouring blocks together.
fn ranges(mut blocks: Vec<i64>) -> Vec<(i64, i64)> {
    blocks.sort_unstable();
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for block in blocks {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == block => *last = block,
            Some(_) | None => ranges.push((block, block)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_asked_for_together() {
        assert_eq!(ranges(vec![7, 3, 4, 9, 8]), [(3, 4), (7, 9)]);
        assert_eq!(ranges(Vec::new()), []);
    }
}
