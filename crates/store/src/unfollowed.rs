//! Intents that nothing followed: of calls that are under way, or that a stop cut off.
//!
//! What follows an intent stands after it. The log is therefore gone through from its end, and of a record
//! only its place, its time, its call and its type are looked at. How a database gives these is its own.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use mcpproxy_core::count::INTENT;
use mcpproxy_core::{ActivityQuery, Wall};

use crate::columns::signed;
use crate::paging::Further;

/// Blocks that are gone through: a quarter of a million records, in a fraction of a second.
const MOST_BLOCKS: usize = 128;
/// Intents that are told of. There are as many as calls were under way at once.
const MOST: usize = 10_000;

/// The spans of time of finished blocks.
pub(crate) type Spans = BTreeMap<i64, (i64, i64)>;

/// What a record is known by here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Met<'a> {
    pub(crate) place: i64,
    pub(crate) at: i64,
    pub(crate) call: [u8; 16],
    pub(crate) kind: &'a str,
}

/// A search for intents that nothing followed.
#[derive(Debug)]
pub(crate) struct Unfollowed {
    /// The time that is asked for. Both records of a call have its own.
    from: i64,
    to: i64,
    most: usize,
    /// Calls of which something else than an intent was met.
    followed: HashSet<[u8; 16]>,
    places: Vec<i64>,
    since: Option<i64>,
}

impl Unfollowed {
    /// Begins a search; there is none where a question can be about no such intent.
    pub(crate) fn new(query: &ActivityQuery) -> Option<Self> {
        query.may_meet_intents().then(|| Self {
            from: query.from.map_or(i64::MIN, |from| signed(from.0)),
            to: query.to.map_or(i64::MAX, |to| signed(to.0)),
            most: MOST_BLOCKS,
            followed: HashSet::new(),
            places: Vec::new(),
            since: None,
        })
    }

    /// Returns the blocks to go through of those from the first to the last, in this order. Finished ones
    /// have a span of time, and some of them intents; what is not finished may have both.
    pub(crate) fn blocks(
        &mut self,
        (first, last): (i64, i64),
        spans: &Spans,
        with_intents: &BTreeSet<i64>,
    ) -> Vec<i64> {
        let in_time = |block: &i64| {
            let span = spans.get(block);
            span.is_none_or(|(early, late)| *late >= self.from && *early <= self.to)
        };
        let has_intents = |block: &i64| !spans.contains_key(block) || with_intents.contains(block);
        let mut meant = (first..=last).filter(in_time);
        let Some(oldest) = meant.find(has_intents) else {
            return Vec::new();
        };
        let mut blocks: Vec<i64> = (oldest..=last).rev().filter(in_time).collect();
        if blocks.len() > self.most {
            let left = blocks.split_off(self.most);
            let left = left.iter().filter(|block| has_intents(block));
            let times = left.filter_map(|block| spans.get(block));
            self.since = times.map(|(_, late)| late.saturating_add(1)).max();
        }
        blocks
    }

    /// Looks at a record; they come last first.
    pub(crate) fn meet(&mut self, met: Met<'_>) -> Further {
        if met.at < self.from || met.at > self.to {
            return Further::Yes;
        }
        if met.kind != INTENT {
            self.followed.insert(met.call);
        } else if !self.followed.contains(&met.call) {
            if self.places.len() >= MOST {
                self.since = self.since.max(Some(met.at.saturating_add(1)));
                return Further::No;
            }
            self.places.push(met.place);
        }
        Further::Yes
    }

    /// Ends the search: the places of the intents, last first, and from when on all are among them, where
    /// that is not the start.
    pub(crate) fn finish(self) -> (Vec<i64>, Option<Wall>) {
        let since = self.since.and_then(|since| u64::try_from(since).ok());
        (self.places, since.map(Wall))
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::Field;

    use super::*;

    fn search(most: usize) -> Unfollowed {
        let query = ActivityQuery {
            from: Some(Wall(10)),
            to: Some(Wall(90)),
            ..ActivityQuery::default()
        };
        Unfollowed {
            most,
            ..Unfollowed::new(&query).unwrap()
        }
    }

    #[test]
    fn an_intent_is_told_of_where_nothing_stands_after_it() {
        let mut search = search(1);
        let records = [
            (9, 60, [4; 16], INTENT),
            (8, 20, [1; 16], "tool_call"),
            (7, 50, [3; 16], INTENT),
            (6, 20, [1; 16], INTENT),
            // What is asked for begins later.
            (5, 5, [2; 16], INTENT),
        ];
        for (place, at, call, kind) in records {
            let met = Met {
                place,
                at,
                call,
                kind,
            };
            assert_eq!(search.meet(met), Further::Yes);
        }
        assert_eq!(search.finish(), (vec![9, 7], None));
    }

    #[test]
    fn only_blocks_in_time_down_to_the_oldest_with_intents_are_gone_through() {
        let spans: Spans = [(0, (0, 5)), (1, (10, 20)), (2, (20, 30)), (3, (95, 99))].into();
        let check = |most: usize, with: &[i64], expect: &[i64], since: Option<u64>| {
            let mut search = search(most);
            let with = with.iter().copied().collect();
            assert_eq!(search.blocks((0, 4), &spans, &with), expect, "{with:?}");
            assert_eq!(search.finish().1, since.map(Wall), "{with:?}");
        };
        // The last is not finished.
        check(8, &[], &[4], None);
        check(8, &[0, 3], &[4], None);
        check(8, &[1], &[4, 2, 1], None);
        check(2, &[1], &[4, 2], Some(21));
        check(1, &[1, 2], &[4], Some(31));
    }

    #[test]
    fn who_asks_for_a_type_or_for_what_ended_asks_for_none() {
        let check = |field: Field, value: &str, expect: bool| {
            let query = ActivityQuery {
                wanted: vec![(field, vec![value.to_owned()])],
                ..ActivityQuery::default()
            };
            assert_eq!(Unfollowed::new(&query).is_some(), expect, "{value}");
        };
        check(Field::Kind, INTENT, false);
        check(Field::Status, "success", false);
        check(Field::Status, "pending", true);
        check(Field::Tool, "echo", true);
    }
}
