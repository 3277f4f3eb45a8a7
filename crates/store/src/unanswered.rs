//! Questions to a person that nothing answered.
//!
//! An answer stands after its question and is part of the same call, with a time of its own. So the records
//! of questions and answers, which are few, are looked at from the end of the log back to the time that is
//! asked about. How a database gives these is its own.

use std::collections::HashSet;

use mcpproxy_core::count::QUESTION;
use mcpproxy_core::{ActivityQuery, Field, Wall};

use crate::columns::{Columns, signed};
use crate::paging::Further;

/// Records of questions and answers that are looked at.
const MOST: usize = 100_000;

/// A search for questions that nothing answered.
#[derive(Debug)]
pub(crate) struct Unanswered {
    to: i64,
    /// The calls that were asked about and of which the answer was met.
    answered: HashSet<String>,
    looked: usize,
    most: usize,
    since: Option<i64>,
}

impl Unanswered {
    /// Begins a search; there is none where a question to the log can be about nothing that is open.
    pub(crate) fn new(query: &ActivityQuery) -> Option<Self> {
        query.may_meet_open().then(|| Self {
            to: query.to.map_or(i64::MAX, |to| signed(to.0)),
            answered: HashSet::new(),
            looked: 0,
            most: MOST,
            since: None,
        })
    }

    /// The question to the log that finds all records to be met.
    pub(crate) fn query(asked: &ActivityQuery) -> ActivityQuery {
        ActivityQuery {
            wanted: vec![(Field::Kind, vec![QUESTION.to_owned()])],
            from: asked.from,
            limit: MOST,
            ..ActivityQuery::default()
        }
    }

    /// Looks at a record, which come last first; hands it on if it is a question that nothing answered.
    pub(crate) fn meet(&mut self, met: &Columns<'_>, open: impl FnOnce(&Columns<'_>)) -> Further {
        if met.kind != QUESTION {
            return Further::Yes;
        }
        if self.looked >= self.most {
            self.since = Some(met.at.saturating_add(1));
            return Further::No;
        }
        self.looked += 1;
        let mut about = String::new();
        met.values(Field::Parent, |call| call.clone_into(&mut about));
        if !met.is_open_question() {
            self.answered.insert(about);
        } else if met.at <= self.to && !self.answered.contains(&about) {
            open(met);
        }
        Further::Yes
    }

    /// Ends the search: from when on all were met, where that is not the start.
    pub(crate) fn finish(self) -> Option<Wall> {
        let since = self.since.and_then(|since| u64::try_from(since).ok());
        since.map(Wall)
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::{CallId, Door, Record, Status};

    use super::*;

    /// Goes through records, last first; returns the times of those that are open, and since when.
    fn open(most: usize, to: u64, records: &[(u64, u64, Status)]) -> (Vec<i64>, Option<Wall>) {
        let query = ActivityQuery {
            to: Some(Wall(to)),
            ..ActivityQuery::default()
        };
        let mut search = Unanswered {
            most,
            ..Unanswered::new(&query).unwrap()
        };
        let mut found = Vec::new();
        for (at, about, status) in records {
            let record = Record {
                timestamp: Wall(*at).rfc3339(),
                status: *status,
                parent_id: Some(CallId::new(*about, 1)),
                ..Record::new(CallId::new(*at, 2), QUESTION, Door::Internal)
            };
            let further = search.meet(&Columns::of(&record), |met| found.push(met.at));
            if further == Further::No {
                break;
            }
        }
        (found, search.finish())
    }

    #[test]
    fn a_question_is_told_of_where_no_answer_stands_after_it() {
        let records = [
            (90, 4, Status::Pending),
            (80, 1, Status::Success),
            (70, 2, Status::Blocked),
            (60, 3, Status::Pending),
            (50, 2, Status::Pending),
            (40, 1, Status::Pending),
        ];
        assert_eq!(open(9, 99, &records), (vec![90, 60], None));
        // What was asked by then, whenever it was answered.
        assert_eq!(open(9, 65, &records), (vec![60], None));
        assert_eq!(open(9, 45, &records), (vec![], None));
        assert_eq!(open(4, 99, &records), (vec![90, 60], Some(Wall(51))));
    }
}
