//! What the writer does to a SQLite database.

use mcpproxy_core::Wall;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{audit, row};
use crate::block::Block;
use crate::chain::{Genesis, Hash};
use crate::checkpoint::{Checkpoint, State};
use crate::columns::signed;
use crate::database::{Fault, Log, Missing, Prune, Redact, Row, Sync};
use crate::gap::Gaps;
use crate::redaction::Redacting;

const BEGIN: &str = "BEGIN IMMEDIATE";
const COMMIT: &str = "COMMIT";
/// Statements about dropped records only ever reach further.
const STATE: &str = "INSERT INTO checkpoint (writer, pruned, number, hash, at, key, signature) \
     VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET number = excluded.number, \
     hash = excluded.hash, at = excluded.at, key = excluded.key, signature = excluded.signature \
     WHERE excluded.number >= checkpoint.number";

/// An open database.
#[derive(Debug)]
pub(crate) struct SqliteLog {
    connection: Connection,
    sync: Sync,
}

impl SqliteLog {
    /// Takes a connection that was just opened.
    pub(super) fn new(connection: Connection) -> Self {
        Self {
            connection,
            sync: Sync::Full,
        }
    }

    fn run(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(drop)
    }

    fn sync(&mut self, sync: Sync) -> rusqlite::Result<()> {
        if self.sync != sync {
            self.connection.execute_batch(match sync {
                Sync::Normal => "PRAGMA synchronous = NORMAL",
                Sync::Full => "PRAGMA synchronous = FULL",
            })?;
            self.sync = sync;
        }
        Ok(())
    }

    /// Changes something in one transaction.
    fn change(
        &mut self,
        sync: Sync,
        change: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), Fault> {
        self.sync(sync)?;
        self.run(BEGIN)?;
        change(&self.connection)?;
        // CRASH: a stop before the end of this leaves nothing of it, and nobody was told.
        Ok(self.run(COMMIT)?)
    }

    /// Drops something in one transaction. What is dropped must not stay in the free space of the file:
    /// for a block of records that is some milliseconds more.
    fn erase(
        &mut self,
        erase: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), Fault> {
        self.connection.execute_batch("PRAGMA secure_delete = ON")?;
        let erased = self.change(Sync::Normal, erase);
        self.connection
            .execute_batch("PRAGMA secure_delete = OFF")?;
        erased
    }
}

impl Log for SqliteLog {
    fn begin(
        &mut self,
        name: [u8; 16],
        begun: Wall,
        missing: Option<Missing<'_>>,
        first: &dyn Fn(i64, &Genesis) -> Checkpoint,
    ) -> Result<(i64, Genesis), Fault> {
        let begun = signed(begun.0);
        let mut begins = None;
        self.change(Sync::Full, |connection| {
            if let Some(Missing { lost, why }) = missing {
                let sql = "INSERT INTO gap SELECT coalesce(max(seq), 0), ?, ? FROM activity";
                connection.execute(sql, (signed(lost), why))?;
            }
            let gaps = Gaps::of(&audit::gaps(connection)?);
            let (after_name, after_number, after_hash) = last(connection)?.unwrap_or_default();
            let genesis = Genesis {
                name,
                begun,
                after_name,
                after_number,
                after_hash,
                gaps: Some(gaps.clone()),
            };
            let sql = "INSERT INTO writer (name, begun, after_name, after_number, after_hash, \
                       gaps, gap_hash) VALUES (?, ?, ?, ?, ?, ?, ?)";
            connection.execute(
                sql,
                params![
                    name,
                    begun,
                    genesis.after_name,
                    genesis.after_number,
                    genesis.after_hash,
                    gaps.number,
                    gaps.hash
                ],
            )?;
            let writer = connection.last_insert_rowid();
            keep(connection, &first(writer, &genesis))?;
            begins = Some((writer, genesis));
            Ok(())
        })?;
        begins.ok_or_else(|| Fault::new("a writer was not added"))
    }

    fn reached(&mut self, name: &[u8; 16]) -> Result<Option<i64>, Fault> {
        let sql = "SELECT number FROM checkpoint JOIN writer USING (writer) \
                   WHERE name = ? AND NOT pruned";
        let reached = self
            .connection
            .query_row(sql, [name], |row| row::cell(row, 0));
        Ok(reached.optional()?)
    }

    fn make_room(&mut self, _: impl Iterator<Item = i64>) -> Result<(), Fault> {
        // One table has all times.
        Ok(())
    }

    fn append<'a>(
        &mut self,
        rows: impl ExactSizeIterator<Item = Row<'a>>,
        sync: Sync,
    ) -> Result<i64, Fault> {
        self.change(sync, |connection| {
            if rows.len() == 0 {
                // An empty transaction would not wait for what was written before it.
                return touch(connection);
            }
            let mut insert = connection.prepare_cached(row::INSERT)?;
            for row in rows {
                row::insert(&mut insert, &row)?;
            }
            Ok(())
        })?;
        Ok(self.connection.last_insert_rowid())
    }

    fn state(&mut self, checkpoint: &Checkpoint) -> Result<(), Fault> {
        self.change(Sync::Normal, |connection| keep(connection, checkpoint))
    }

    /// Another process may have done it; then it is the same.
    fn seal(&mut self, block: &Block) -> Result<(), Fault> {
        self.change(Sync::Normal, |connection| seal(connection, block))
    }

    fn forget(&mut self) -> Result<(), Fault> {
        self.change(Sync::Normal, |connection| {
            connection.execute_batch("DELETE FROM posting; DELETE FROM block")
        })
    }

    fn prune(&mut self, prune: &Prune) -> Result<(), Fault> {
        self.erase(|connection| {
            for checkpoint in &prune.checkpoints {
                keep(connection, checkpoint)?;
                let sql = "DELETE FROM redaction WHERE writer = ? AND last <= ?";
                connection.execute(sql, (checkpoint.writer, checkpoint.number))?;
            }
            if let Some(block) = &prune.block {
                let sql = "DELETE FROM posting WHERE field = ? AND value = ? AND block = ?";
                let mut forget = connection.prepare_cached(sql)?;
                for (field, value, _) in found_by(block) {
                    forget.execute((field, value, block.number()))?;
                }
                connection.execute("DELETE FROM block WHERE block = ?", [block.number()])?;
            }
            connection.execute("DELETE FROM activity WHERE seq < ?", [prune.until])?;
            let left = prune.left.as_ref();
            left.map_or(Ok(()), |left| seal(connection, left))
        })
    }

    fn redact(&mut self, redact: &Redact) -> Result<(), Fault> {
        self.erase(|connection| {
            let words = "UPDATE activity SET words = NULL, salts = ?1 \
                         WHERE seq = ?2 AND words IS NOT NULL";
            let rest = "UPDATE activity SET rest = NULL WHERE seq = ? AND writer IS NULL";
            let mut words = connection.prepare_cached(words)?;
            let mut rest = connection.prepare_cached(rest)?;
            for one in &redact.redactions {
                if one.salts.is_empty() {
                    rest.execute([one.place])?;
                } else {
                    words.execute((&one.salts, one.place))?;
                }
            }
            let mut statements = redact.statements.iter();
            statements.try_for_each(|one| account(connection, one))
        })
    }

    fn settle(&mut self) -> Result<(), Fault> {
        let sql = "PRAGMA wal_checkpoint(PASSIVE)";
        Ok(self.connection.execute_batch(sql)?)
    }
}

/// The name of a writer, how far its chain had got, and the hash there.
type Followed = (Vec<u8>, i64, Vec<u8>);

/// Returns who wrote the last record; where there is none, whose records were dropped last.
fn last(connection: &Connection) -> rusqlite::Result<Option<Followed>> {
    let read = |row: &rusqlite::Row<'_>| {
        // One that is damaged is followed all the same: what is wrong with it is for an audit to say.
        let hash: Hash = row::cell(row, 2)?;
        Ok((row::cell(row, 0)?, row::cell(row, 1)?, hash.to_vec()))
    };
    let sql = "SELECT name, number, hash FROM activity JOIN writer USING (writer) \
               ORDER BY seq DESC LIMIT 1";
    if let Some(last) = connection.query_row(sql, [], read).optional()? {
        return Ok(Some(last));
    }
    let sql = "SELECT name, number, hash FROM checkpoint JOIN writer USING (writer) \
               WHERE pruned ORDER BY writer DESC LIMIT 1";
    connection.query_row(sql, [], read).optional()
}

/// The rows by which the records of a block are found. Digests stand under no value.
fn found_by(block: &Block) -> impl Iterator<Item = (i64, &str, Vec<u8>)> {
    let digests = block.digests().map(|(field, bytes)| (field, "", bytes));
    block.postings().chain(digests)
}

fn seal(connection: &Connection, block: &Block) -> rusqlite::Result<()> {
    let mut keep =
        connection.prepare_cached("INSERT OR REPLACE INTO posting VALUES (?, ?, ?, ?)")?;
    for (field, value, bytes) in found_by(block) {
        keep.execute((field, value, block.number(), bytes))?;
    }
    if let Some((first_at, last_at)) = block.span() {
        let span = (block.number(), first_at, last_at);
        connection.execute("INSERT OR REPLACE INTO block VALUES (?, ?, ?)", span)?;
    }
    Ok(())
}

fn keep(connection: &Connection, checkpoint: &Checkpoint) -> rusqlite::Result<()> {
    connection.prepare_cached(STATE)?.execute((
        checkpoint.writer,
        checkpoint.state == State::Pruned,
        checkpoint.number,
        &checkpoint.hash,
        checkpoint.at,
        &checkpoint.key,
        &checkpoint.signature,
    ))?;
    Ok(())
}

fn account(connection: &Connection, redacting: &Redacting) -> rusqlite::Result<()> {
    let sql = "INSERT INTO redaction (writer, last, records, at, key, signature) \
               VALUES (?, ?, ?, ?, ?, ?)";
    connection.prepare_cached(sql)?.execute((
        redacting.writer,
        redacting.last(),
        &redacting.records,
        redacting.at,
        &redacting.key,
        &redacting.signature,
    ))?;
    Ok(())
}

/// Changes nothing, but in a way that is written.
fn touch(connection: &Connection) -> rusqlite::Result<()> {
    let form: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    connection.execute_batch(&format!("PRAGMA user_version = {form}"))
}
