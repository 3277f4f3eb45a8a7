//! What upkeep asks of a PostgreSQL database.

use mcpproxy_core::Wall;

use super::audit::{self, genesis_columns};
use super::connection::{Connection, SNAPSHOT};
use super::row;
use crate::block::{Block, SIZE};
use crate::checkpoint::Head;
use crate::columns::signed;
use crate::database::{Due, Fault, House, Moved, Row};
use crate::proof::Statements;

/// An open database.
#[derive(Debug)]
pub(crate) struct PostgresHouse {
    connection: Connection,
}

impl PostgresHouse {
    /// Takes a connection.
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection }
    }
}

/// Returns the first and the last place; the last is before the first where there are none.
pub(super) fn ends(connection: &mut Connection) -> Result<(i64, i64), Fault> {
    let sql = "SELECT (SELECT min(seq) FROM activity), (SELECT last FROM place)";
    let Some(row) = connection.first(sql, &[])? else {
        return Ok((0, -1));
    };
    Ok(match row.try_get(0)? {
        Some(first) => (first, row.try_get(1)?),
        None => (0, -1),
    })
}

impl House for PostgresHouse {
    fn ends(&mut self) -> Result<(i64, i64), Fault> {
        ends(&mut self.connection)
    }

    fn sealed(&mut self) -> Result<Option<i64>, Fault> {
        let row = self.connection.first("SELECT max(block) FROM block", &[])?;
        row.map_or(Ok(None), |row| Ok(row.try_get(0)?))
    }

    fn block(&mut self, number: i64, from: i64) -> Result<Option<Block>, Fault> {
        let sql = concat!(
            "SELECT ",
            row::columns!(),
            " FROM activity WHERE seq >= $1 AND seq < $2"
        );
        let [first, until] = Block::places(number);
        let from = first.max(from);
        let mut block = Block::new(number);
        for row in self.connection.query(sql, &[&from, &until])? {
            block.add(row::place(&row)?, &row::read(&row)?.columns);
        }
        Ok(block.span().is_some().then_some(block))
    }

    /// What records take up, by a rough count: what the database has taken for itself says little,
    /// since it does not shrink when they go.
    fn used(&mut self) -> Result<u64, Fault> {
        let sql = "SELECT coalesce(sum(bytes), 0)::bigint FROM block";
        let row = self.connection.first(sql, &[])?;
        let used: i64 = row.map_or(Ok(0), |row| row.try_get(0))?;
        Ok(u64::try_from(used).unwrap_or(0))
    }

    fn older(&mut self, from: i64, limit: Wall) -> Result<i64, Fault> {
        let limit = signed(limit.0);
        // Whole blocks first: all of a block is older if its last record is.
        let sql = "SELECT min(block) FROM block WHERE block >= $1 AND last_at >= $2";
        let young = self.connection.first(sql, &[&(from / SIZE), &limit])?;
        let young: Option<i64> = young.map_or(Ok(None), |row| row.try_get(0))?;
        let sealed = self.sealed()?.map_or(0, |sealed| sealed + 1);
        let from = from.max(young.unwrap_or(sealed).saturating_mul(SIZE));
        let sql = "SELECT seq FROM activity WHERE seq >= $1 AND at >= $2 ORDER BY seq LIMIT 1";
        let first = self.connection.first(sql, &[&from, &limit])?;
        match first {
            Some(row) => Ok(row.try_get(0)?),
            None => Ok(self.ends()?.1.saturating_add(1)),
        }
    }

    fn hold(&mut self) -> Result<(), Fault> {
        self.connection.batch(SNAPSHOT)
    }

    fn release(&mut self) -> Result<(), Fault> {
        self.connection.batch("ROLLBACK")
    }

    fn statements(&mut self) -> Result<Statements, Fault> {
        let writers = audit::writers(&mut self.connection)?;
        let checkpoints = audit::checkpoints(&mut self.connection)?;
        Ok(Statements::new(writers, checkpoints))
    }

    fn rows(
        &mut self,
        from: i64,
        until: i64,
        each: &mut dyn FnMut(i64, &Row<'_>) -> bool,
    ) -> Result<(), Fault> {
        let sql = concat!(
            "SELECT ",
            row::columns!(),
            " FROM activity WHERE seq >= $1 AND seq < $2 ORDER BY seq"
        );
        for row in self.connection.query(sql, &[&from, &until])? {
            if !each(row::place(&row)?, &row::read(&row)?) {
                break;
            }
        }
        Ok(())
    }

    fn next(&mut self, place: i64) -> Result<Option<i64>, Fault> {
        let sql = "SELECT min(seq) FROM activity WHERE seq >= $1";
        let row = self.connection.first(sql, &[&place])?;
        row.map_or(Ok(None), |row| Ok(row.try_get(0)?))
    }

    fn at_most(&self, bytes: u64) -> u64 {
        bytes
    }

    fn due(&mut self, from: i64, limit: Wall) -> Result<Due, Fault> {
        let sql = concat!(
            "SELECT ",
            row::columns!(),
            " FROM activity WHERE seq >= $1 ORDER BY seq LIMIT $2"
        );
        let mut due = Due::default();
        for row in self.connection.query(sql, &[&from, &SIZE])? {
            if !due.look(row::place(&row)?, &row::read(&row)?, limit) {
                break;
            }
        }
        Ok(due)
    }

    fn heads(&mut self, from: i64, until: i64) -> Result<Vec<Head>, Fault> {
        let sql = concat!(
            "SELECT DISTINCT ON (writer) ",
            genesis_columns!(),
            ", writer, number, hash FROM activity JOIN writer USING (writer) \
             WHERE seq >= $1 AND seq < $2 ORDER BY writer, seq DESC"
        );
        let mut heads = Vec::new();
        for row in self.connection.query(sql, &[&from, &until])? {
            let genesis = audit::genesis(&row)?;
            heads.push(Head {
                writer: row.try_get(7)?,
                name: genesis.name,
                number: row.try_get(8)?,
                hash: row::fixed(row.try_get(9)?)?,
                begins: genesis.stated(),
            });
        }
        Ok(heads)
    }

    fn settle(&mut self) -> Result<Moved, Fault> {
        // The database does that by itself.
        Ok(Moved::Enough)
    }

    fn scrub(&mut self) -> Result<bool, Fault> {
        // So it does here, in its own time.
        Ok(true)
    }
}
