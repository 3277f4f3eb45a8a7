//! The port of the quarantine and of the guard over behaviour: baselines in the database of the
//! activity log, on a connection of their own.
//!
//! They are few and seldom written, and never dropped when the log is full.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use mcpproxy_core::{Baseline, BaselineFault, BaselineStore, FirstRead, Habits, UpstreamId, Wall};
use rusqlite::{Connection, Row, TransactionBehavior};

use super::schema;
use crate::Error;
use crate::names;

const SELECT: &str = "SELECT upstream, kind, name, state, approved, current, made_by, reason, since \
     FROM baseline WHERE kind NOT IN ('behaviour', 'read') ORDER BY upstream, kind, name";
const REPLACE: &str = "INSERT OR REPLACE INTO baseline \
     (upstream, kind, name, state, approved, current, made_by, reason, since) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// Habits stand in the same table, under a kind of their own and the name of whose they are.
const SELECT_HABITS: &str =
    "SELECT name, current, since FROM baseline WHERE kind = 'behaviour' ORDER BY name";
const REPLACE_HABITS: &str = "INSERT OR REPLACE INTO baseline \
     (upstream, kind, name, state, approved, current, made_by, reason, since) \
     VALUES ('', 'behaviour', ?, 'approved', NULL, ?, 'anomaly-detector', '', ?)";

/// So does what resources were when they were first read.
const SELECT_READS: &str = "SELECT upstream, name, current, since FROM baseline \
     WHERE kind = 'read' ORDER BY upstream, name";
const ADD_READ: &str = "INSERT OR IGNORE INTO baseline \
     (upstream, kind, name, state, approved, current, made_by, reason, since) \
     VALUES (?, 'read', ?, 'approved', NULL, ?, 'context-integrity', '', ?)";
const FORGET_READS: &str = "DELETE FROM baseline WHERE kind = 'read'";

/// Baselines in a SQLite database.
#[derive(Debug)]
pub struct SqliteBaselines {
    path: PathBuf,
    connection: Mutex<Connection>,
}

impl SqliteBaselines {
    /// Opens the database, made with mode 0600 if it is new.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self {
            path: path.to_owned(),
            connection: Mutex::new(schema::open(path)?),
        })
    }

    fn fault(&self, fault: &impl ToString) -> BaselineFault {
        BaselineFault(format!("`{}`: {}", self.path.display(), fault.to_string()))
    }
}

impl BaselineStore for SqliteBaselines {
    fn load(&self) -> Result<Vec<Baseline>, BaselineFault> {
        let connection = self.connection.lock();
        let connection = connection.unwrap_or_else(PoisonError::into_inner);
        let mut select = connection.prepare(SELECT).map_err(|f| self.fault(&f))?;
        let rows = select.query_map([], read).map_err(|f| self.fault(&f))?;
        let mut found = Vec::new();
        for row in rows {
            let row = row.map_err(|fault| self.fault(&fault))?;
            found.push(row.map_err(|fault| self.fault(&fault))?);
        }
        Ok(found)
    }

    fn keep(&self, changed: &[Baseline]) -> Result<(), BaselineFault> {
        let connection = self.connection.lock();
        let mut connection = connection.unwrap_or_else(PoisonError::into_inner);
        write(&mut connection, changed).map_err(|fault| self.fault(&fault))
    }

    fn habits(&self) -> Result<Vec<Habits>, BaselineFault> {
        let connection = self.connection.lock();
        let connection = connection.unwrap_or_else(PoisonError::into_inner);
        let select = connection.prepare(SELECT_HABITS);
        let mut select = select.map_err(|fault| self.fault(&fault))?;
        let rows = select.query_map([], |row| {
            Ok(Habits {
                subject: row.get(0)?,
                learned: row.get(1)?,
                at: Wall(u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0)),
            })
        });
        let rows = rows.map_err(|fault| self.fault(&fault))?;
        rows.collect::<Result<_, _>>()
            .map_err(|fault| self.fault(&fault))
    }

    fn keep_habits(&self, changed: &[Habits]) -> Result<(), BaselineFault> {
        let connection = self.connection.lock();
        let mut connection = connection.unwrap_or_else(PoisonError::into_inner);
        write_habits(&mut connection, changed).map_err(|fault| self.fault(&fault))
    }

    fn first_reads(&self) -> Result<Vec<FirstRead>, BaselineFault> {
        let connection = self.connection.lock();
        let connection = connection.unwrap_or_else(PoisonError::into_inner);
        let select = connection.prepare(SELECT_READS);
        let mut select = select.map_err(|fault| self.fault(&fault))?;
        let rows = select.query_map([], |row| {
            Ok(FirstRead {
                upstream: UpstreamId::new(row.get::<_, String>(0)?),
                key: row.get(1)?,
                digest: row.get(2)?,
                at: Wall(u64::try_from(row.get::<_, i64>(3)?).unwrap_or(0)),
            })
        });
        let rows = rows.map_err(|fault| self.fault(&fault))?;
        rows.collect::<Result<_, _>>()
            .map_err(|fault| self.fault(&fault))
    }

    fn keep_first_reads(&self, new: &[FirstRead]) -> Result<(), BaselineFault> {
        let connection = self.connection.lock();
        let mut connection = connection.unwrap_or_else(PoisonError::into_inner);
        add_reads(&mut connection, new).map_err(|fault| self.fault(&fault))
    }

    fn forget_first_reads(&self) -> Result<(), BaselineFault> {
        let connection = self.connection.lock();
        let connection = connection.unwrap_or_else(PoisonError::into_inner);
        let forgotten = connection.execute(FORGET_READS, []);
        forgotten.map(drop).map_err(|fault| self.fault(&fault))
    }
}

fn write_habits(connection: &mut Connection, changed: &[Habits]) -> rusqlite::Result<()> {
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut replace = step.prepare(REPLACE_HABITS)?;
    for one in changed {
        let at = i64::try_from(one.at.0).unwrap_or(i64::MAX);
        replace.execute((&*one.subject, &*one.learned, at))?;
    }
    drop(replace);
    // CRASH: a stop before the end of this loses what was learned since the last time.
    step.commit()
}

fn add_reads(connection: &mut Connection, new: &[FirstRead]) -> rusqlite::Result<()> {
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut add = step.prepare(ADD_READ)?;
    for one in new {
        let at = i64::try_from(one.at.0).unwrap_or(i64::MAX);
        add.execute((one.upstream.as_str(), &*one.key, &*one.digest, at))?;
    }
    drop(add);
    // CRASH: a stop before the end of this forgets what was read and not yet answered.
    step.commit()
}

fn write(connection: &mut Connection, changed: &[Baseline]) -> rusqlite::Result<()> {
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut replace = step.prepare(REPLACE)?;
    for one in changed {
        let since = i64::try_from(one.since.0).unwrap_or(i64::MAX);
        replace.execute((
            one.upstream.as_str(),
            one.kind.name(),
            &*one.name,
            one.state.name(),
            one.approved.as_deref(),
            &*one.current,
            &*one.by,
            &*one.reason,
            since,
        ))?;
    }
    drop(replace);
    // CRASH: a stop before the end of this leaves what was known before, and nothing of what is
    // written here was shown to anybody.
    step.commit()
}

/// Reads a row.
fn read(row: &Row<'_>) -> rusqlite::Result<Result<Baseline, String>> {
    let (kind, state): (String, String) = (row.get(1)?, row.get(3)?);
    let (kind, state) = match names::offer(&kind, &state) {
        Ok(known) => known,
        Err(unknown) => return Ok(Err(unknown)),
    };
    let since: i64 = row.get(8)?;
    Ok(Ok(Baseline {
        upstream: UpstreamId::new(row.get::<_, String>(0)?),
        kind,
        name: row.get(2)?,
        state,
        approved: row.get(4)?,
        current: row.get(5)?,
        by: row.get(6)?,
        reason: row.get(7)?,
        since: Wall(u64::try_from(since).unwrap_or(0)),
    }))
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::OfferState;
    use mcpproxy_testkit::suite::baselines as suite;

    use super::*;

    #[test]
    fn baselines_and_habits_outlive_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(crate::FILE);
        let open = || SqliteBaselines::open(&path).unwrap();
        suite::keeps_the_latest(open);
        suite::keeps_habits_apart(open);
        suite::keeps_what_was_read_first(open);
    }

    #[test]
    fn what_a_later_version_wrote_is_refused_and_not_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(crate::FILE);
        let store = SqliteBaselines::open(&path).unwrap();
        store
            .keep(&[suite::baseline("read", OfferState::Approved, "{}")])
            .unwrap();
        let connection = schema::open(&path).unwrap();
        let odd = "UPDATE baseline SET state = 'adored'";
        connection.execute_batch(odd).unwrap();
        let refused = store.load().unwrap_err().to_string();
        assert!(refused.contains("adored"), "{refused}");
    }
}
