//! What upkeep asks of a SQLite database.

use std::time::Duration;

use mcpproxy_core::Wall;
use rusqlite::{Connection, OptionalExtension as _};

use super::audit::{self, GENESIS};
use super::{row, schema};
use crate::block::{Block, SIZE};
use crate::checkpoint::Head;
use crate::columns::signed;
use crate::database::{Due, Fault, House, Moved, Row};
use crate::proof::Statements;

/// Pages that the write-ahead log may have before the writer helps, so that it starts anew: 4 MiB. A
/// file that is written again need not grow, and its commits reach the disk sooner.
const MOST_PAGES: i64 = 1024;

/// An open database.
#[derive(Debug)]
pub(crate) struct SqliteHouse {
    connection: Connection,
}

impl SqliteHouse {
    /// Takes a connection.
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection }
    }

    fn size(&self, name: &str) -> rusqlite::Result<u64> {
        let sql = format!("PRAGMA {name}");
        let size: i64 = self.connection.query_row(&sql, [], |row| row.get(0))?;
        Ok(u64::try_from(size).unwrap_or(0))
    }
}

impl House for SqliteHouse {
    fn ends(&mut self) -> Result<(i64, i64), Fault> {
        Ok(schema::ends(&self.connection)?)
    }

    fn sealed(&mut self) -> Result<Option<i64>, Fault> {
        let sql = "SELECT max(block) FROM block";
        Ok(self.connection.query_row(sql, [], |row| row.get(0))?)
    }

    fn block(&mut self, number: i64, from: i64) -> Result<Option<Block>, Fault> {
        let columns = row::COLUMNS;
        let sql = format!("SELECT {columns} FROM activity WHERE seq >= ? AND seq < ?");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let [first, end] = Block::places(number);
        let mut rows = statement.query([first.max(from), end])?;
        let mut block = Block::new(number);
        while let Some(row) = rows.next()? {
            block.add(row::place(row)?, &row::read(row)?.columns);
        }
        Ok(block.span().is_some().then_some(block))
    }

    fn used(&mut self) -> Result<u64, Fault> {
        let free = self.size("freelist_count")?;
        Ok(self.size("page_count")?.saturating_sub(free) * self.size("page_size")?)
    }

    fn older(&mut self, from: i64, limit: Wall) -> Result<i64, Fault> {
        let limit = signed(limit.0);
        // Whole blocks first: all of a block is older if its last record is.
        let sql = "SELECT min(block) FROM block WHERE block >= ? AND last_at >= ?";
        let young = (from / SIZE, limit);
        let young: Option<i64> = self.connection.query_row(sql, young, |row| row.get(0))?;
        let sealed = self.sealed()?.map_or(0, |sealed| sealed + 1);
        let from = from.max(young.unwrap_or(sealed).saturating_mul(SIZE));
        let sql = "SELECT seq FROM activity WHERE seq >= ? AND at >= ? ORDER BY seq LIMIT 1";
        let first = self
            .connection
            .query_row(sql, (from, limit), |row| row.get(0));
        let (_, last) = self.ends()?;
        Ok(first.optional()?.unwrap_or(last.saturating_add(1)))
    }

    fn hold(&mut self) -> Result<(), Fault> {
        Ok(self.connection.execute_batch("BEGIN")?)
    }

    fn release(&mut self) -> Result<(), Fault> {
        Ok(self.connection.execute_batch("ROLLBACK")?)
    }

    fn statements(&mut self) -> Result<Statements, Fault> {
        let writers = audit::writers(&self.connection)?;
        Ok(Statements::new(
            writers,
            audit::checkpoints(&self.connection)?,
        ))
    }

    fn rows(
        &mut self,
        from: i64,
        until: i64,
        each: &mut dyn FnMut(i64, &Row<'_>) -> bool,
    ) -> Result<(), Fault> {
        let columns = row::COLUMNS;
        let sql = format!("SELECT {columns} FROM activity WHERE seq >= ? AND seq < ? ORDER BY seq");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([from, until])?;
        while let Some(row) = rows.next()? {
            if !each(row::place(row)?, &row::read(row)?) {
                break;
            }
        }
        Ok(())
    }

    fn next(&mut self, place: i64) -> Result<Option<i64>, Fault> {
        let sql = "SELECT min(seq) FROM activity WHERE seq >= ?";
        Ok(self.connection.query_row(sql, [place], |row| row.get(0))?)
    }

    /// The file also has what finds the records, and pages that are not full: by measure that is far less
    /// than half of what they take.
    fn at_most(&self, bytes: u64) -> u64 {
        bytes.saturating_add(bytes / 2)
    }

    fn due(&mut self, from: i64, limit: Wall) -> Result<Due, Fault> {
        let columns = row::COLUMNS;
        let sql = format!("SELECT {columns} FROM activity WHERE seq >= ? ORDER BY seq LIMIT ?");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([from, SIZE])?;
        let mut due = Due::default();
        while let Some(row) = rows.next()? {
            let (place, row) = (row::place(row)?, row::read(row)?);
            if !due.look(place, &row, limit) {
                break;
            }
        }
        Ok(due)
    }

    fn heads(&mut self, from: i64, until: i64) -> Result<Vec<Head>, Fault> {
        let sql = format!(
            "SELECT {GENESIS}, writer, number, hash FROM activity JOIN writer USING (writer) \
             WHERE seq IN (SELECT max(seq) FROM activity \
             WHERE seq >= ? AND seq < ? AND writer IS NOT NULL GROUP BY writer)"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let heads = statement.query_map([from, until], |row| {
            let genesis = audit::genesis(row)?;
            Ok(Head {
                writer: row.get(7)?,
                name: genesis.name,
                number: row::cell(row, 8)?,
                hash: row::cell(row, 9)?,
                begins: genesis.stated(),
            })
        })?;
        Ok(heads.collect::<Result<_, _>>()?)
    }

    /// While records keep coming this never gets to its end, so that past a size the writer
    /// finishes it between two groups.
    fn settle(&mut self) -> Result<Moved, Fault> {
        let sql = "PRAGMA wal_checkpoint(PASSIVE)";
        let pages: i64 = self.connection.query_row(sql, [], |row| row.get(1))?;
        Ok(if pages > MOST_PAGES {
            Moved::TooLittle
        } else {
            Moved::Enough
        })
    }

    /// What was moved stays in the write-ahead log until that is written over. To cut it off takes the
    /// lock that the writer needs: nearly all is moved before, and who reads or writes just then is not
    /// waited for.
    fn scrub(&mut self) -> Result<bool, Fault> {
        self.settle()?;
        self.connection.busy_timeout(Duration::ZERO)?;
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let is_busy = self.connection.query_row(sql, [], |row| row.get(0));
        self.connection.busy_timeout(schema::BUSY)?;
        Ok(!is_busy?)
    }
}
