//! Everything that there is to verify in a PostgreSQL database, from one state of it.

use mcpproxy_core::StatementCheck;
use tokio_postgres::Row;

use super::connection::Connection;
use super::log::key;
use super::row;
use crate::chain::Genesis;
use crate::checkpoint::{Checkpoint, State};
use crate::database::Fault;
use crate::gap::{Gap, Gaps};
use crate::index::{Comparison, Kept};
use crate::redaction::Redacting;
use crate::reminder::Reminded;
use crate::verify::{Verified, Verifier};

/// Records that are fetched at once.
const MANY: i64 = 4096;

/// The columns of a writer that [`genesis`] reads, by their places.
macro_rules! genesis_columns {
    () => {
        "name, begun, after_name, after_number, after_hash, gaps, gap_hash"
    };
}
pub(super) use genesis_columns;

/// Goes through the whole log.
pub(super) fn verify(
    connection: &mut Connection,
    trust: &dyn StatementCheck,
    reminded: &[Reminded],
) -> Result<Verified, Fault> {
    let (writers, checkpoints) = (writers(connection)?, checkpoints(connection)?);
    let mut verifier = Verifier::new(writers, checkpoints, &gaps(connection)?, trust);
    verifier.recollect(reminded);
    redactions(connection, |one| verifier.excuse(&one))?;
    let sql = concat!(
        "SELECT ",
        row::columns!(),
        " FROM activity WHERE seq > $1 ORDER BY seq LIMIT $2"
    );
    let last = connection.first("SELECT max(block) FROM block", &[])?;
    let last = last.map_or(Ok(None), |row| row.try_get(0))?;
    let mut comparison = Comparison::new(last, key);
    let mut after = i64::MIN;
    loop {
        let rows = connection.query(sql, &[&after, &MANY])?;
        let Some(last) = rows.last() else {
            // Where no record is left the place of the last is not known.
            let place = connection.first("SELECT last FROM place", &[])?;
            let place: Option<i64> = place.map(|row| row.try_get(0)).transpose()?;
            if after != i64::MIN && place != Some(after) {
                verifier.misplaced();
            }
            verifier.compared(comparison);
            return Ok(verifier.finish());
        };
        after = row::place(last)?;
        for row in &rows {
            let (place, row) = (row::place(row)?, row::read(row)?);
            let misfiled = comparison.look(place, &row, |block| index(connection, block))?;
            if let Some(misfiled) = misfiled {
                verifier.misfiled(misfiled);
            }
            verifier.look(place, &row);
        }
    }
}

/// Reads the index of a block.
fn index(connection: &mut Connection, block: i64) -> Result<Option<Kept>, Fault> {
    let span = "SELECT first_at, last_at, bytes FROM block WHERE block = $1";
    let Some(span) = connection.first(span, &[&block])? else {
        return Ok(None);
    };
    let mut kept = Kept {
        span: (span.try_get(0)?, span.try_get(1)?),
        bytes: span.try_get(2)?,
        ..Kept::default()
    };
    let postings = "SELECT field, value, records FROM posting WHERE block = $1";
    let digests = "SELECT field, '', records FROM digest WHERE block = $1";
    for sql in [postings, digests] {
        for row in connection.query(sql, &[&block])? {
            let key = (row.try_get(0)?, row.try_get(1)?);
            kept.found.insert(key, row.try_get(2)?);
        }
    }
    Ok(Some(kept))
}

/// Reads everybody who wrote.
pub(super) fn writers(connection: &mut Connection) -> Result<Vec<(i64, Genesis)>, Fault> {
    let sql = concat!(
        "SELECT ",
        genesis_columns!(),
        ", writer FROM writer ORDER BY writer"
    );
    let rows = connection.query(sql, &[])?;
    let read = |row: &Row| Ok((row.try_get(7)?, genesis(row)?));
    rows.iter().map(read).collect()
}

/// Reads a row that begins with [`genesis_columns`].
pub(super) fn genesis(row: &Row) -> Result<Genesis, Fault> {
    let gaps: (Option<i64>, Option<&[u8]>) = (row.try_get(5)?, row.try_get(6)?);
    let gaps = match gaps {
        (Some(number), Some(hash)) => Some(Gaps {
            number,
            hash: row::fixed(hash)?,
        }),
        (_, _) => None,
    };
    Ok(Genesis {
        name: row::fixed(row.try_get(0)?)?,
        begun: row.try_get(1)?,
        after_name: row.try_get(2)?,
        after_number: row.try_get(3)?,
        after_hash: row.try_get(4)?,
        gaps,
    })
}

/// Reads all notes of lost records.
pub(super) fn gaps(connection: &mut Connection) -> Result<Vec<Gap>, Fault> {
    let sql = "SELECT after_seq, lost, why FROM gap ORDER BY gap";
    let rows = connection.query(sql, &[])?;
    let read = |row: &Row| {
        Ok(Gap {
            after: row.try_get(0)?,
            lost: row.try_get(1)?,
            why: row.try_get(2)?,
        })
    };
    rows.iter().map(read).collect()
}

/// Reads all that is signed of them.
pub(super) fn checkpoints(connection: &mut Connection) -> Result<Vec<Checkpoint>, Fault> {
    let sql = "SELECT writer, pruned, number, hash, at, key, signature FROM checkpoint";
    let rows = connection.query(sql, &[])?;
    let read = |row: &Row| {
        let pruned: bool = row.try_get(1)?;
        Ok(Checkpoint {
            writer: row.try_get(0)?,
            state: if pruned { State::Pruned } else { State::Kept },
            number: row.try_get(2)?,
            hash: row.try_get(3)?,
            at: row.try_get(4)?,
            key: row.try_get(5)?,
            signature: row.try_get(6)?,
        })
    };
    rows.iter().map(read).collect()
}

fn redactions(connection: &mut Connection, mut each: impl FnMut(Redacting)) -> Result<(), Fault> {
    let sql = "SELECT writer, records, at, key, signature FROM redaction";
    for row in connection.query(sql, &[])? {
        each(Redacting {
            writer: row.try_get(0)?,
            records: row.try_get(1)?,
            at: row.try_get(2)?,
            key: row.try_get(3)?,
            signature: row.try_get(4)?,
        });
    }
    Ok(())
}
