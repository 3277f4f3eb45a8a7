//! An answer in the order in which calls began. Records stand in the order in which they ended, so
//! that a block can hold what belongs between records of another.
//!
//! Blocks are looked through by the latest time that each holds, latest first. Once there are enough
//! records and no block that is left reaches up to the earliest of them, the rest cannot change the
//! answer: a page costs the blocks that its own times touch, however much there is.

use std::borrow::Cow;
use std::collections::BTreeSet;

use mcpproxy_core::{ActivityQuery, Cursor, Wall};

use crate::columns::{Columns, signed};

/// The answer so far: the times and places of its records.
#[derive(Debug)]
pub(crate) struct Timeline<'a> {
    query: &'a ActivityQuery,
    /// How many are of use: those that are left out, those that are given, and one that says that
    /// there is more.
    most: usize,
    /// The newest of those that were looked at.
    newest: BTreeSet<(i64, i64)>,
}

/// The places of the records of a page, in their order, and where the next goes on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Timed {
    pub(crate) places: Vec<i64>,
    pub(crate) next: Option<Cursor>,
}

/// Returns a question that also says what follows for times from the place where it goes on.
pub(crate) fn bounded(query: &ActivityQuery) -> Cow<'_, ActivityQuery> {
    let Some(at) = query.before.and_then(|before| before.at) else {
        return Cow::Borrowed(query);
    };
    let to = query.to.map_or(at, |to| Wall(to.0.min(at.0)));
    Cow::Owned(ActivityQuery {
        to: Some(to),
        ..query.clone()
    })
}

impl<'a> Timeline<'a> {
    /// Begins an answer.
    pub(crate) fn new(query: &'a ActivityQuery) -> Self {
        Self {
            query,
            most: query.skip.saturating_add(query.limit).saturating_add(1),
            newest: BTreeSet::new(),
        }
    }

    /// Puts blocks, each with the latest time that it holds, into the order in which they are looked
    /// through. A block that is not finished can hold any time.
    pub(crate) fn order(blocks: &mut [(i64, i64)]) {
        blocks.sort_unstable_by(|one, other| other.cmp(one));
    }

    /// Tells whether a block with this latest time can still change the answer.
    pub(crate) fn can_change(&self, latest: i64) -> bool {
        let earliest = self.newest.first();
        self.newest.len() < self.most || earliest.is_some_and(|(at, _)| latest >= *at)
    }

    /// Takes a record, if it is what the question is about.
    pub(crate) fn take(&mut self, place: i64, columns: &Columns<'_>) {
        let key = (columns.at, place);
        let is_next = self.query.before.is_none_or(|before| match before.at {
            Some(at) => key < (signed(at.0), signed(before.place)),
            None => place < signed(before.place),
        });
        if !is_next || !columns.is_meant(self.query) {
            return;
        }
        self.newest.insert(key);
        if self.newest.len() > self.most {
            self.newest.pop_first();
        }
    }

    /// Ends the answer.
    pub(crate) fn finish(self) -> Timed {
        let (skip, limit) = (self.query.skip, self.query.limit);
        let more = self.newest.len() > skip.saturating_add(limit);
        let given = self.newest.iter().rev().skip(skip).take(limit);
        let last = given.clone().next_back().filter(|_| more);
        Timed {
            next: last.map(|(at, place)| Cursor {
                at: Some(Wall(u64::try_from(*at).unwrap_or(0))),
                place: u64::try_from(*place).unwrap_or(0),
            }),
            places: given.map(|(_, place)| *place).collect(),
        }
    }
}
