//! Everything that there is to verify in a SQLite database, from one state of it.

use mcpproxy_core::StatementCheck;
use rusqlite::Connection;

use super::row;
use crate::chain::Genesis;
use crate::checkpoint::{Checkpoint, State};
use crate::database::Fault;
use crate::verify::{Verified, Verifier};

/// Goes through the whole log.
pub(super) fn verify(
    connection: &Connection,
    trust: &dyn StatementCheck,
) -> Result<Verified, Fault> {
    let mut verifier = Verifier::new(writers(connection)?, checkpoints(connection)?, trust);
    let sql = format!("SELECT {} FROM activity ORDER BY seq", row::COLUMNS);
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        verifier.look(row::place(row)?, &row::read(row)?);
    }
    Ok(verifier.finish())
}

fn writers(connection: &Connection) -> Result<Vec<(i64, Genesis)>, Fault> {
    let sql = "SELECT writer, name, begun, after_name, after_number, after_hash \
               FROM writer ORDER BY writer";
    let mut statement = connection.prepare(sql)?;
    let writers = statement.query_map([], |row| {
        let genesis = Genesis {
            name: row.get(1)?,
            begun: row.get(2)?,
            after_name: row.get(3)?,
            after_number: row.get(4)?,
            after_hash: row.get(5)?,
        };
        Ok((row.get(0)?, genesis))
    })?;
    Ok(writers.collect::<Result<_, _>>()?)
}

fn checkpoints(connection: &Connection) -> Result<Vec<Checkpoint>, Fault> {
    let sql = "SELECT writer, pruned, number, hash, at, key, signature FROM checkpoint";
    let mut statement = connection.prepare(sql)?;
    let checkpoints = statement.query_map([], |row| {
        let pruned: bool = row.get(1)?;
        Ok(Checkpoint {
            writer: row.get(0)?,
            state: if pruned { State::Pruned } else { State::Kept },
            number: row.get(2)?,
            hash: row.get(3)?,
            at: row.get(4)?,
            key: row.get(5)?,
            signature: row.get(6)?,
        })
    })?;
    Ok(checkpoints.collect::<Result<_, _>>()?)
}
