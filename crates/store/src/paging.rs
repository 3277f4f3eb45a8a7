//! An answer that is being put together, whichever way its records were found.

use mcpproxy_core::{ActivityPage, ActivityQuery, Cursor};

use crate::database::{Fault, Row};

/// Whether to look further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Further {
    Yes,
    No,
}

/// The answer to a question so far.
#[derive(Debug)]
pub(crate) struct Paging<'a> {
    query: &'a ActivityQuery,
    skipped: usize,
    last: Option<u64>,
    page: ActivityPage,
}

impl<'a> Paging<'a> {
    /// Begins an answer; so many records are known to have been lost.
    pub(crate) fn new(query: &'a ActivityQuery, lost: u64) -> Self {
        Self {
            query,
            skipped: 0,
            last: None,
            page: ActivityPage {
                lost,
                ..ActivityPage::default()
            },
        }
    }

    /// Takes the next record, newest first, if it is what the question is about.
    pub(crate) fn take(&mut self, place: i64, row: &Row<'_>) -> Result<Further, Fault> {
        if !row.columns.is_meant(self.query) {
            return Ok(Further::Yes);
        }
        if self.skipped < self.query.skip {
            self.skipped += 1;
            return Ok(Further::Yes);
        }
        if self.page.records.len() >= self.query.limit {
            // There is more: the next page begins after the last of this one.
            self.page.next = self.last.map(Cursor::from);
            return Ok(Further::No);
        }
        self.last = u64::try_from(place).ok();
        self.page.records.push(row.show()?);
        Ok(Further::Yes)
    }

    /// Ends the answer.
    pub(crate) fn finish(self) -> ActivityPage {
        self.page
    }
}
