//! Everything that there is to verify in a PostgreSQL database, from one state of it.

use mcpproxy_core::StatementCheck;

use super::connection::Connection;
use super::row;
use crate::chain::Genesis;
use crate::checkpoint::{Checkpoint, State};
use crate::database::Fault;
use crate::verify::{Verified, Verifier};

/// Records that are fetched at once.
const MANY: i64 = 4096;

/// Goes through the whole log.
pub(super) fn verify(
    connection: &mut Connection,
    trust: &dyn StatementCheck,
) -> Result<Verified, Fault> {
    let mut verifier = Verifier::new(writers(connection)?, checkpoints(connection)?, trust);
    let sql = concat!(
        "SELECT ",
        row::columns!(),
        " FROM activity WHERE seq > $1 ORDER BY seq LIMIT $2"
    );
    let mut after = i64::MIN;
    loop {
        let rows = connection.query(sql, &[&after, &MANY])?;
        let Some(last) = rows.last() else {
            return Ok(verifier.finish());
        };
        after = row::place(last)?;
        for row in &rows {
            verifier.look(row::place(row)?, &row::read(row)?);
        }
    }
}

fn writers(connection: &mut Connection) -> Result<Vec<(i64, Genesis)>, Fault> {
    let sql = "SELECT writer, name, begun, after_name, after_number, after_hash \
               FROM writer ORDER BY writer";
    let rows = connection.query(sql, &[])?;
    let read = |row: &tokio_postgres::Row| {
        let genesis = Genesis {
            name: row::fixed(row.try_get(1)?)?,
            begun: row.try_get(2)?,
            after_name: row.try_get(3)?,
            after_number: row.try_get(4)?,
            after_hash: row.try_get(5)?,
        };
        Ok((row.try_get(0)?, genesis))
    };
    rows.iter().map(read).collect()
}

fn checkpoints(connection: &mut Connection) -> Result<Vec<Checkpoint>, Fault> {
    let sql = "SELECT writer, pruned, number, hash, at, key, signature FROM checkpoint";
    let rows = connection.query(sql, &[])?;
    let read = |row: &tokio_postgres::Row| {
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
