//! Baselines in a PostgreSQL database, which several gateways may share.

use mcpproxy_core::{Baseline, BaselineFault, BaselineStore, FirstRead, Habits, UpstreamId, Wall};
use tokio_postgres::Row;

use super::connection::Connection;
use super::worker::Workers;
use crate::Error;
use crate::columns::signed;
use crate::database::Fault;
use crate::names;

const SELECT: &str = "SELECT upstream, kind, name, state, approved, current, made_by, reason, since \
     FROM baseline WHERE kind NOT IN ('behaviour', 'read') \
     ORDER BY upstream COLLATE \"C\", kind COLLATE \"C\", name COLLATE \"C\"";
/// Habits stand in the same table, under a kind of their own and the name of whose they are.
const SELECT_HABITS: &str = "SELECT name, current, since FROM baseline WHERE kind = 'behaviour' \
     ORDER BY name COLLATE \"C\"";
/// So does what resources were when they were first read.
const SELECT_READS: &str = "SELECT upstream, name, current, since FROM baseline \
     WHERE kind = 'read' ORDER BY upstream COLLATE \"C\", name COLLATE \"C\"";
const ADD_READ: &str = "INSERT INTO baseline \
     (upstream, kind, name, state, approved, current, made_by, reason, since) \
     VALUES ($1, 'read', $2, 'approved', NULL, $3, 'context-integrity', '', $4) \
     ON CONFLICT (upstream, kind, name) DO NOTHING";
const FORGET_READS: &str = "DELETE FROM baseline WHERE kind = 'read'";
const REPLACE: &str = "INSERT INTO baseline \
     (upstream, kind, name, state, approved, current, made_by, reason, since) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
     ON CONFLICT (upstream, kind, name) DO UPDATE SET state = excluded.state, \
     approved = excluded.approved, current = excluded.current, made_by = excluded.made_by, \
     reason = excluded.reason, since = excluded.since";

/// Baselines in a PostgreSQL database.
#[derive(Debug)]
pub struct PostgresBaselines {
    workers: Workers,
}

impl PostgresBaselines {
    /// Connects to a database, which is brought to the present form.
    pub fn open(url: &str) -> Result<Self, Error> {
        let workers = Workers::start(url, 1)?;
        Ok(Self { workers })
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, BaselineFault> {
        let answer = self.workers.ask(question);
        answer.map_err(|fault| BaselineFault(fault.to_string()))
    }
}

impl BaselineStore for PostgresBaselines {
    fn load(&self) -> Result<Vec<Baseline>, BaselineFault> {
        self.ask(|connection| connection.query(SELECT, &[])?.iter().map(read).collect())
    }

    fn keep(&self, changed: &[Baseline]) -> Result<(), BaselineFault> {
        let changed = changed.to_vec();
        self.ask(move |connection| {
            connection.change(|connection| changed.iter().try_for_each(|one| keep(connection, one)))
        })
    }

    fn habits(&self) -> Result<Vec<Habits>, BaselineFault> {
        self.ask(|connection| {
            let rows = connection.query(SELECT_HABITS, &[])?;
            let read = |row: &Row| {
                Ok(Habits {
                    subject: row.try_get::<_, Box<str>>(0)?,
                    learned: row.try_get::<_, Box<str>>(1)?,
                    at: Wall(u64::try_from(row.try_get::<_, i64>(2)?).unwrap_or(0)),
                })
            };
            rows.iter().map(read).collect()
        })
    }

    fn keep_habits(&self, changed: &[Habits]) -> Result<(), BaselineFault> {
        let changed = changed.to_vec();
        self.ask(move |connection| {
            connection.change(|connection| {
                for one in &changed {
                    let values: super::connection::Values<'_> = &[
                        &"",
                        &"behaviour",
                        &storable(&one.subject),
                        &"approved",
                        &None::<String>,
                        &storable(&one.learned),
                        &"anomaly-detector",
                        &"",
                        &signed(one.at.0),
                    ];
                    connection.execute(REPLACE, values)?;
                }
                Ok(())
            })
        })
    }

    fn first_reads(&self) -> Result<Vec<FirstRead>, BaselineFault> {
        self.ask(|connection| {
            let rows = connection.query(SELECT_READS, &[])?;
            rows.iter().map(first_read).collect()
        })
    }

    fn keep_first_reads(&self, new: &[FirstRead]) -> Result<(), BaselineFault> {
        let new = new.to_vec();
        self.ask(move |connection| {
            connection.change(|connection| {
                new.iter().try_for_each(|one| {
                    let values: super::connection::Values<'_> = &[
                        &storable(one.upstream.as_str()),
                        &storable(&one.key),
                        &storable(&one.digest),
                        &signed(one.at.0),
                    ];
                    connection.execute(ADD_READ, values)
                })
            })
        })
    }

    fn forget_first_reads(&self) -> Result<(), BaselineFault> {
        self.ask(|connection| connection.change(|connection| connection.execute(FORGET_READS, &[])))
    }
}

/// Reads what a resource was at first.
fn first_read(row: &Row) -> Result<FirstRead, Fault> {
    Ok(FirstRead {
        upstream: UpstreamId::new(row.try_get::<_, String>(0)?),
        key: row.try_get(1)?,
        digest: row.try_get(2)?,
        at: Wall(u64::try_from(row.try_get::<_, i64>(3)?).unwrap_or(0)),
    })
}

fn keep(connection: &mut Connection, one: &Baseline) -> Result<(), Fault> {
    connection.execute(
        REPLACE,
        &[
            &storable(one.upstream.as_str()),
            &one.kind.name(),
            &storable(&one.name),
            &one.state.name(),
            &one.approved.as_deref().map(storable),
            &storable(&one.current),
            &storable(&one.by),
            &storable(&one.reason),
            &signed(one.since.0),
        ],
    )
}

/// PostgreSQL knows no character zero.
fn storable(text: &str) -> String {
    crate::columns::storable(text).into_owned()
}

fn read(row: &Row) -> Result<Baseline, Fault> {
    let (kind, state): (&str, &str) = (row.try_get(1)?, row.try_get(3)?);
    let (kind, state) = names::offer(kind, state).map_err(Fault::new)?;
    Ok(Baseline {
        upstream: UpstreamId::new(row.try_get::<_, String>(0)?),
        kind,
        name: row.try_get(2)?,
        state,
        approved: row.try_get(4)?,
        current: row.try_get(5)?,
        by: row.try_get(6)?,
        reason: row.try_get(7)?,
        since: Wall(u64::try_from(row.try_get::<_, i64>(8)?).unwrap_or(0)),
    })
}
