//! Everything that there is to verify in a SQLite database, from one state of it.

use std::collections::BTreeMap;

use mcpproxy_core::StatementCheck;
use rusqlite::{Connection, OptionalExtension as _, Row, Rows, Statement};

use super::row;
use crate::chain::{Genesis, Hash};
use crate::checkpoint::{Checkpoint, State};
use crate::database::Fault;
use crate::gap::{Gap, Gaps};
use crate::index::{Comparison, Kept};
use crate::redaction::Redacting;
use crate::reminder::Reminded;
use crate::verify::{Verified, Verifier};

/// The columns of a writer that [`genesis`] reads, by their places.
pub(super) const GENESIS: &str =
    "name, begun, after_name, after_number, after_hash, gaps, gap_hash";

/// Goes through the whole log.
pub(super) fn verify(
    connection: &Connection,
    trust: &dyn StatementCheck,
    reminded: &[Reminded],
) -> Result<Verified, Fault> {
    let (writers, checkpoints) = (writers(connection)?, checkpoints(connection)?);
    let mut verifier = Verifier::new(writers, checkpoints, &gaps(connection)?, trust);
    verifier.recollect(reminded);
    redactions(connection, |one| verifier.excuse(&one))?;
    let sql = format!("SELECT {} FROM activity ORDER BY seq", row::COLUMNS);
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    // Postings have no index by block, and are sorted once: SQLite does that in files where they are many.
    let postings = "SELECT block, field, value, records FROM posting ORDER BY block";
    let mut postings = connection.prepare(postings)?;
    let mut indexes = Indexes::new(connection, postings.query([])?)?;
    let last = connection.query_row("SELECT max(block) FROM block", [], |row| row::cell(row, 0))?;
    let mut comparison = Comparison::new(last, str::to_owned);
    while let Some(row) = rows.next()? {
        let (place, row) = (row::place(row)?, row::read(row)?);
        let misfiled = comparison.look(place, &row, |block| indexes.find(block))?;
        if let Some(misfiled) = misfiled {
            verifier.misfiled(misfiled);
        }
        verifier.look(place, &row);
    }
    verifier.compared(comparison);
    Ok(verifier.finish())
}

/// The indexes of blocks, in the order of blocks.
struct Indexes<'a> {
    spans: Statement<'a>,
    postings: Rows<'a>,
    next: Option<Posting>,
}

/// A row by which records are found.
struct Posting {
    block: i64,
    key: (i64, String),
    records: Vec<u8>,
}

impl<'a> Indexes<'a> {
    fn new(connection: &'a Connection, postings: Rows<'a>) -> Result<Self, Fault> {
        let sql = "SELECT first_at, last_at FROM block WHERE block = ?";
        let mut indexes = Self {
            spans: connection.prepare(sql)?,
            postings,
            next: None,
        };
        indexes.step()?;
        Ok(indexes)
    }

    /// Finds the index of a block; of each only once, and of none before.
    fn find(&mut self, block: i64) -> Result<Option<Kept>, Fault> {
        let span = |row: &Row<'_>| Ok((row::cell(row, 0)?, row::cell(row, 1)?));
        let span = self.spans.query_row([block], span).optional()?;
        let mut found = BTreeMap::new();
        while let Some(posting) = self.next.take_if(|next| next.block <= block) {
            if posting.block == block {
                found.insert(posting.key, posting.records);
            }
            self.step()?;
        }
        Ok(span.map(|span| Kept {
            span,
            bytes: None,
            found,
        }))
    }

    /// What is of another type than was written reads as nothing: nobody finds anything by it.
    fn step(&mut self) -> Result<(), Fault> {
        self.next = match self.postings.next()? {
            None => None,
            Some(row) => Some(Posting {
                block: row::cell(row, 0)?,
                key: (row::cell(row, 1)?, row::cell(row, 2)?),
                records: row::cell(row, 3)?,
            }),
        };
        Ok(())
    }
}

/// Reads everybody who wrote.
pub(super) fn writers(connection: &Connection) -> Result<Vec<(i64, Genesis)>, Fault> {
    let sql = format!("SELECT {GENESIS}, writer FROM writer ORDER BY writer");
    let mut statement = connection.prepare(&sql)?;
    let writers = statement.query_map([], |row| Ok((row::cell(row, 7)?, genesis(row)?)))?;
    Ok(writers.collect::<Result<_, _>>()?)
}

/// Reads a row that begins with [`GENESIS`].
pub(super) fn genesis(row: &Row<'_>) -> rusqlite::Result<Genesis> {
    let gaps: (Option<i64>, Option<Hash>) = (row::cell(row, 5)?, row::cell(row, 6)?);
    Ok(Genesis {
        name: row::cell(row, 0)?,
        begun: row::cell(row, 1)?,
        after_name: row::cell(row, 2)?,
        after_number: row::cell(row, 3)?,
        after_hash: row::cell(row, 4)?,
        gaps: gaps
            .0
            .zip(gaps.1)
            .map(|(number, hash)| Gaps { number, hash }),
    })
}

/// Reads all notes of lost records.
pub(super) fn gaps(connection: &Connection) -> rusqlite::Result<Vec<Gap>> {
    let mut statement =
        connection.prepare("SELECT after_seq, lost, why FROM gap ORDER BY rowid")?;
    let gaps = statement.query_map([], |row| {
        Ok(Gap {
            after: row::cell(row, 0)?,
            lost: row::cell(row, 1)?,
            why: row::cell(row, 2)?,
        })
    })?;
    gaps.collect()
}

/// Reads all that is signed of them.
pub(super) fn checkpoints(connection: &Connection) -> Result<Vec<Checkpoint>, Fault> {
    let sql = "SELECT writer, pruned, number, hash, at, key, signature FROM checkpoint";
    let mut statement = connection.prepare(sql)?;
    let checkpoints = statement.query_map([], |row| {
        let pruned: bool = row::cell(row, 1)?;
        Ok(Checkpoint {
            writer: row::cell(row, 0)?,
            state: if pruned { State::Pruned } else { State::Kept },
            number: row::cell(row, 2)?,
            hash: row::cell(row, 3)?,
            at: row::cell(row, 4)?,
            key: row::cell(row, 5)?,
            signature: row::cell(row, 6)?,
        })
    })?;
    Ok(checkpoints.collect::<Result<_, _>>()?)
}

fn redactions(connection: &Connection, mut each: impl FnMut(Redacting)) -> Result<(), Fault> {
    // A log that nobody wrote to since an earlier version has none.
    if !connection.table_exists(None, "redaction")? {
        return Ok(());
    }
    let sql = "SELECT writer, records, at, key, signature FROM redaction";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        each(Redacting {
            writer: row::cell(row, 0)?,
            records: row::cell(row, 1)?,
            at: row::cell(row, 2)?,
            key: row::cell(row, 3)?,
            signature: row::cell(row, 4)?,
        });
    }
    Ok(())
}
