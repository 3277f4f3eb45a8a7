//! What the writer does to a PostgreSQL database.

use std::collections::BTreeSet;

use mcpproxy_core::Wall;
use sha2::{Digest as _, Sha256};

use super::audit;
use super::connection::Connection;
use super::copy::{COPY, Pieces};
use super::row::{self, Lists};
use crate::block::Block;
use crate::chain::Genesis;
use crate::checkpoint::{Checkpoint, State, hex};
use crate::columns::signed;
use crate::database::{Fault, Log, Missing, Prune, Redact, Row, Sync};
use crate::gap::Gaps;
use crate::redaction::Redacting;

/// The time that a partition covers, in milliseconds: thirty days.
const PARTITION: i64 = 30 * 24 * 60 * 60 * 1000;
/// Records from which on a group is copied: each costs the database little more than half as much, but
/// is waited for twice.
const MANY: usize = 64;
/// Held while partitions are made or dropped.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7310868735422919780)";
/// Statements about dropped records only ever reach further.
const STATE: &str = "INSERT INTO checkpoint (writer, pruned, number, hash, at, key, signature) \
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (writer, pruned) DO UPDATE SET \
     number = excluded.number, hash = excluded.hash, at = excluded.at, key = excluded.key, \
     signature = excluded.signature WHERE excluded.number >= checkpoint.number";
/// Longest value that is kept as it is where records are found by it: an index has little room.
const LONGEST: usize = 256;

/// An open database.
#[derive(Debug)]
pub(crate) struct PostgresLog {
    connection: Connection,
    sync: Option<Sync>,
    /// The partitions that are known to be there.
    partitions: BTreeSet<i64>,
}

impl PostgresLog {
    /// Takes a connection that was just opened.
    pub(super) fn new(mut connection: Connection) -> Result<Self, Fault> {
        // The statement that adds a small group is planned once: whatever it is given, there is one
        // way to go, and finding it takes as long as going.
        connection.batch("SET plan_cache_mode = auto")?;
        Ok(Self {
            connection,
            sync: None,
            partitions: BTreeSet::new(),
        })
    }

    fn sync(&mut self, sync: Sync) -> Result<(), Fault> {
        if self.sync != Some(sync) {
            self.connection.batch(match sync {
                Sync::Normal => "SET synchronous_commit = off",
                Sync::Full => "SET synchronous_commit = on",
            })?;
            self.sync = Some(sync);
        }
        Ok(())
    }

    fn make_partition(&mut self, number: i64) -> Result<(), Fault> {
        let (from, to) = (number * PARTITION, (number + 1) * PARTITION);
        let name = format!("activity_{}", number.unsigned_abs());
        self.connection.change(|connection| {
            connection.batch(LOCK)?;
            connection.batch(&format!(
                "CREATE TABLE IF NOT EXISTS {name} PARTITION OF activity \
                 FOR VALUES FROM ({from}) TO ({to})"
            ))
        })?;
        self.partitions.insert(number);
        Ok(())
    }

    /// Adds a small group in one statement, for which is waited but once.
    fn insert<'a>(&mut self, rows: impl Iterator<Item = Row<'a>>) -> Result<i64, Fault> {
        let mut lists = Lists::default();
        for row in rows {
            lists.push(row)?;
        }
        let count = lists.len();
        let row = self.connection.first(row::INSERT, &lists.values(&count))?;
        let row = row.ok_or_else(|| Fault::new("no place is kept"))?;
        Ok(row.try_get(0)?)
    }

    /// Drops the partitions whose records all stand before a place: faster than row by row.
    fn drop_partitions(&mut self, until: i64) -> Result<(), Fault> {
        let sql = "SELECT child.relname::text FROM pg_inherits \
                   JOIN pg_class child ON child.oid = inhrelid \
                   WHERE inhparent = 'activity'::regclass ORDER BY child.oid";
        let mut names = Vec::new();
        for row in self.connection.query(sql, &[])? {
            names.push(row.try_get::<_, String>(0)?);
        }
        // The last is being filled.
        names.pop();
        for name in names {
            self.connection.batch(LOCK)?;
            self.connection.batch(&format!(
                "DO $$ BEGIN IF (SELECT coalesce(max(seq), 0) < {until} FROM {name}) \
                 THEN DROP TABLE {name}; END IF; END $$"
            ))?;
        }
        self.partitions.clear();
        Ok(())
    }
}

impl Log for PostgresLog {
    fn begin(
        &mut self,
        name: [u8; 16],
        begun: Wall,
        missing: Option<Missing<'_>>,
        first: &dyn Fn(i64, &Genesis) -> Checkpoint,
    ) -> Result<(i64, Genesis), Fault> {
        self.sync(Sync::Full)?;
        let begun = signed(begun.0);
        self.connection.change(|connection| {
            // Notes that others are making stand before those that are covered, or after.
            connection.batch("LOCK TABLE gap IN SHARE ROW EXCLUSIVE MODE")?;
            if let Some(Missing { lost, why }) = missing {
                let sql = "INSERT INTO gap (after_seq, lost, why) SELECT last, $1, $2 FROM place";
                connection.execute(sql, &[&signed(lost), &why.replace('\0', "")])?;
            }
            let gaps = Gaps::of(&audit::gaps(connection)?);
            let (after_name, after_number, after_hash) = last(connection)?;
            let genesis = Genesis {
                name,
                begun,
                after_name,
                after_number,
                after_hash,
                gaps: Some(gaps.clone()),
            };
            let sql = "INSERT INTO writer (name, begun, after_name, after_number, after_hash, \
                       gaps, gap_hash) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING writer";
            let row = connection.first(
                sql,
                &[
                    &&name[..],
                    &begun,
                    &genesis.after_name,
                    &genesis.after_number,
                    &genesis.after_hash,
                    &gaps.number,
                    &&gaps.hash[..],
                ],
            )?;
            let row = row.ok_or_else(|| Fault::new("a writer was not added"))?;
            let writer = row.try_get(0)?;
            keep(connection, &first(writer, &genesis))?;
            Ok((writer, genesis))
        })
    }

    fn reached(&mut self, name: &[u8; 16]) -> Result<Option<i64>, Fault> {
        let sql = "SELECT number FROM checkpoint JOIN writer USING (writer) \
                   WHERE name = $1 AND NOT pruned";
        let row = self.connection.first(sql, &[&&name[..]])?;
        row.map(|row| Ok(row.try_get(0)?)).transpose()
    }

    fn make_room(&mut self, times: impl Iterator<Item = i64>) -> Result<(), Fault> {
        let mut last = None;
        for number in times.map(|at| at.div_euclid(PARTITION)) {
            // Times that come together are nearly always of one partition.
            if last.replace(number) != Some(number) && !self.partitions.contains(&number) {
                self.make_partition(number)?;
            }
        }
        Ok(())
    }

    fn append<'a>(
        &mut self,
        rows: impl ExactSizeIterator<Item = Row<'a>>,
        sync: Sync,
    ) -> Result<i64, Fault> {
        self.sync(sync)?;
        let count = signed(rows.len());
        if count == 0 {
            // An empty transaction would not wait for what was written before it.
            let sql = "UPDATE place SET last = last RETURNING last";
            let row = self.connection.first(sql, &[])?;
            return row.map_or(Ok(0), |row| Ok(row.try_get(0)?));
        }
        if rows.len() < MANY {
            return self.insert(rows);
        }
        // The row that holds the place is locked until the commit, so that records are seen in the
        // order of their places.
        let moved = format!("UPDATE place SET last = last + {count} RETURNING last");
        let pieces = |last: i64| Pieces::new(rows, last - count);
        self.connection.copy(&moved, COPY, pieces)
    }

    fn state(&mut self, checkpoint: &Checkpoint) -> Result<(), Fault> {
        self.sync(Sync::Normal)?;
        keep(&mut self.connection, checkpoint)
    }

    /// Another gateway may have done it; then it is the same.
    fn seal(&mut self, block: &Block) -> Result<(), Fault> {
        self.sync(Sync::Normal)?;
        self.connection.change(|connection| seal(connection, block))
    }

    fn forget(&mut self) -> Result<(), Fault> {
        self.sync(Sync::Normal)?;
        self.connection.change(|connection| {
            connection.batch("DELETE FROM posting; DELETE FROM digest; DELETE FROM block")
        })
    }

    fn prune(&mut self, prune: &Prune) -> Result<(), Fault> {
        self.sync(Sync::Normal)?;
        let until = prune.until;
        // After a fault the connection is given up.
        self.connection.batch("BEGIN")?;
        for checkpoint in &prune.checkpoints {
            keep(&mut self.connection, checkpoint)?;
            let sql = "DELETE FROM redaction WHERE writer = $1 AND last <= $2";
            let done = (&checkpoint.writer, &checkpoint.number);
            self.connection.execute(sql, &[done.0, done.1])?;
        }
        if let Some(block) = &prune.block {
            let number = block.number();
            let sql = "DELETE FROM posting WHERE block = $1";
            self.connection.execute(sql, &[&number])?;
            let sql = "DELETE FROM digest WHERE block = $1";
            self.connection.execute(sql, &[&number])?;
            let sql = "DELETE FROM block WHERE block = $1";
            self.connection.execute(sql, &[&number])?;
            self.drop_partitions(until)?;
        }
        let sql = "DELETE FROM activity WHERE seq < $1";
        self.connection.execute(sql, &[&until])?;
        if let Some(left) = &prune.left {
            seal(&mut self.connection, left)?;
        }
        self.connection.batch("COMMIT")
    }

    fn redact(&mut self, redact: &Redact) -> Result<(), Fault> {
        self.sync(Sync::Normal)?;
        let redactions = &redact.redactions;
        let places: Vec<_> = redactions.iter().map(|one| one.place).collect();
        let times: Vec<_> = redactions.iter().map(|one| one.at).collect();
        let salts: Vec<_> = redactions.iter().map(|one| &one.salts[..]).collect();
        let sql = "UPDATE activity SET words = NULL, salts = new.salts \
                   FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS new(seq, at, salts) \
                   WHERE activity.seq = new.seq AND activity.at = new.at AND words IS NOT NULL";
        self.connection.change(|connection| {
            connection.execute(sql, &[&places, &times, &salts])?;
            let mut statements = redact.statements.iter();
            statements.try_for_each(|one| account(connection, one))
        })
    }

    fn settle(&mut self) -> Result<(), Fault> {
        // The database does that by itself.
        Ok(())
    }
}

/// Returns who wrote the last record, how far its chain had got, and the hash there; where there
/// are no records, whose were dropped last.
fn last(connection: &mut Connection) -> Result<(Vec<u8>, i64, Vec<u8>), Fault> {
    let sql = "SELECT name, number, hash FROM activity JOIN writer USING (writer) \
               ORDER BY seq DESC LIMIT 1";
    let mut found = connection.first(sql, &[])?;
    if found.is_none() {
        let sql = "SELECT name, number, hash FROM checkpoint JOIN writer USING (writer) \
                   WHERE pruned ORDER BY writer DESC LIMIT 1";
        found = connection.first(sql, &[])?;
    }
    match found {
        Some(row) => Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?)),
        None => Ok((Vec::new(), 0, Vec::new())),
    }
}

fn seal(connection: &mut Connection, block: &Block) -> Result<(), Fault> {
    let Some((first_at, last_at)) = block.span() else {
        return Ok(());
    };
    let (mut fields, mut values, mut records) = (Vec::new(), Vec::new(), Vec::new());
    for (field, value, bytes) in block.postings() {
        fields.push(field);
        values.push(key(value));
        records.push(bytes);
    }
    let (number, bytes) = (block.number(), signed(block.bytes()));
    let sql = "INSERT INTO posting SELECT field, value, $1, records \
               FROM unnest($2::bigint[], $3::text[], $4::bytea[]) \
               AS new(field, value, records) ON CONFLICT DO NOTHING";
    connection.execute(sql, &[&number, &fields, &values, &records])?;
    let (fields, digests): (Vec<_>, Vec<_>) = block.digests().unzip();
    let sql = "INSERT INTO digest SELECT field, $1, records \
               FROM unnest($2::bigint[], $3::bytea[]) AS new(field, records) \
               ON CONFLICT DO NOTHING";
    connection.execute(sql, &[&number, &fields, &digests])?;
    let sql = "INSERT INTO block VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    connection.execute(sql, &[&number, &first_at, &last_at, &bytes])
}

fn keep(connection: &mut Connection, checkpoint: &Checkpoint) -> Result<(), Fault> {
    let pruned = checkpoint.state == State::Pruned;
    connection.execute(
        STATE,
        &[
            &checkpoint.writer,
            &pruned,
            &checkpoint.number,
            &checkpoint.hash,
            &checkpoint.at,
            &checkpoint.key,
            &checkpoint.signature,
        ],
    )
}

fn account(connection: &mut Connection, redacting: &Redacting) -> Result<(), Fault> {
    let sql = "INSERT INTO redaction (writer, last, records, at, key, signature) \
               VALUES ($1, $2, $3, $4, $5, $6)";
    connection.execute(
        sql,
        &[
            &redacting.writer,
            &redacting.last(),
            &redacting.records,
            &redacting.at,
            &redacting.key,
            &redacting.signature,
        ],
    )
}

/// Returns under what records are found that have a value.
pub(super) fn key(value: &str) -> String {
    if value.len() <= LONGEST {
        return value.to_owned();
    }
    format!("sha256:{}", hex(&Sha256::digest(value)))
}
