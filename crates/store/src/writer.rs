//! The one thread that writes: a group of records is one transaction, and everybody in it is
//! told what came of it.
//!
//! After a fault the group counts as lost, the database is opened again, and writing goes on;
//! how many records are missing is then written down where they are missing.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::SinkFault;
use rusqlite::{Connection, Statement};

use crate::Error;
use crate::block;
use crate::health::Health;
use crate::queue::{Chore, Entry, Queue};
use crate::row;
use crate::schema;
use crate::upkeep::{Bell, News};

/// The first and the longest pause before the database is opened again.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(5)];
/// Pages of the write-ahead log, by a rough count, after which it is to be moved: 2 MiB, so that no
/// commit waits long for a disk that is busy with it.
const MANY_PAGES: usize = 512;

/// The writer's state between two databases.
pub(crate) struct Writer {
    path: PathBuf,
    queue: Arc<Queue>,
    health: Arc<Health>,
    bell: Bell,
}

impl Writer {
    /// Opens the database and starts the thread.
    pub(crate) fn start(
        path: &Path,
        queue: Arc<Queue>,
        health: Arc<Health>,
        bell: Bell,
    ) -> Result<(), Error> {
        let connection = schema::open(path)?;
        let writer = Self {
            path: path.to_owned(),
            queue,
            health,
            bell,
        };
        let thread = std::thread::Builder::new().name("activity-log".into());
        let run = move || writer.run(connection);
        thread.spawn(run).map(drop).map_err(Error::Thread)
    }

    fn run(self, mut connection: Connection) {
        while let Err(fault) = self.write_all(&connection) {
            let fault = fault.to_string();
            tracing::error!("activity log `{}` is broken: {fault}", self.path.display());
            // Whatever SQLite knows about the file may be wrong after a fault.
            drop(connection);
            match self.reopen(&fault) {
                Some(opened) => connection = opened,
                None => return,
            }
        }
    }

    /// Writes until the queue is closed, or until a fault, which everybody concerned was told.
    fn write_all(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut log = Log::new(connection)?;
        while let Some(batch) = self.queue.take() {
            let result = log.write(&batch.entries);
            self.tell(batch.entries, result.as_ref().err());
            result?;
            self.bell.tell(&mut log.news);
            if let Some(chore) = batch.chore
                && let Err(fault) = log.attend(&chore)
            {
                self.queue.put_back(chore);
                self.health.fail(&fault.to_string(), 0);
                return Err(fault);
            }
        }
        Ok(())
    }

    fn tell(&self, entries: Vec<Entry>, fault: Option<&rusqlite::Error>) {
        let fault = fault.map(ToString::to_string);
        if let Some(fault) = &fault {
            let lost = entries.iter().filter(|entry| entry.record.is_some());
            self.health.fail(fault, lost.count());
        }
        for durable in entries.into_iter().filter_map(|entry| entry.durable) {
            let result = fault
                .clone()
                .map_or(Ok(()), |why| Err(SinkFault::Broken(why)));
            // The caller may have gone away; then nobody waits for the news.
            drop(durable.send(result));
        }
    }

    /// Opens the database again, with longer and longer pauses; whoever cannot wait so long is
    /// refused meanwhile. Returns nothing once the queue is closed.
    fn reopen(&self, why: &str) -> Option<Connection> {
        let [mut pause, longest] = PAUSES;
        loop {
            let refuse = |entry: Entry| {
                self.health.fail(why, usize::from(entry.record.is_some()));
                if let Some(durable) = entry.durable {
                    drop(durable.send(Err(SinkFault::Broken(why.to_owned()))));
                }
            };
            if !self.queue.wait(pause, refuse) {
                return None;
            }
            pause = (pause * 2).min(longest);
            let opened = schema::open(&self.path).map_err(|fault| fault.to_string());
            let lost = self.health.lost();
            let opened = opened.and_then(|connection| {
                let kept = note_gap(&connection, lost, why);
                kept.map_err(|fault| fault.to_string()).map(|()| connection)
            });
            if let Ok(connection) = opened {
                tracing::warn!("the activity log is written again; {lost} records were lost");
                self.health.mend();
                return Some(connection);
            }
        }
    }
}

/// Writes down that records are missing here. It is durable, so it shows that writing works.
fn note_gap(connection: &Connection, lost: u64, why: &str) -> rusqlite::Result<()> {
    let sql = "INSERT INTO gap SELECT coalesce(max(seq), 0), ?, ? FROM activity";
    let lost = i64::try_from(lost).unwrap_or(i64::MAX);
    connection.execute(sql, (lost, why)).map(drop)
}

/// How far a commit goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sync {
    /// Into the write-ahead log; the system writes it when it likes.
    Normal,
    /// Onto the disk.
    Full,
}

/// An open database with its statements.
struct Log<'a> {
    connection: &'a Connection,
    insert: Statement<'a>,
    begin: Statement<'a>,
    commit: Statement<'a>,
    sync: Sync,
    /// The block that is being filled.
    block: i64,
    /// Pages of the write-ahead log since it was last told to be moved, by a rough count.
    pages: usize,
    news: News,
}

impl<'a> Log<'a> {
    fn new(connection: &'a Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            insert: connection.prepare(row::INSERT)?,
            begin: connection.prepare("BEGIN IMMEDIATE")?,
            commit: connection.prepare("COMMIT")?,
            sync: Sync::Full,
            block: 0,
            pages: 0,
            // What an earlier process left is looked at, too.
            news: News {
                block: true,
                pages: true,
            },
        })
    }

    /// Writes a group in one transaction, durably if anybody waits for it.
    fn write(&mut self, entries: &[Entry]) -> rusqlite::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let awaited = entries.iter().any(|entry| entry.durable.is_some());
        self.sync(if awaited { Sync::Full } else { Sync::Normal })?;
        self.begin.execute([])?;
        let mut records = entries.iter().filter_map(|entry| entry.record.as_ref());
        if let Some(first) = records.next() {
            row::insert(&mut self.insert, first)?;
            records.try_for_each(|record| row::insert(&mut self.insert, record))?;
        } else {
            // An empty transaction would not wait for what was written before it.
            touch(self.connection)?;
        }
        // CRASH: a stop before the end of this leaves nothing of the group, and nobody was told
        // that it is there.
        self.commit.execute([])?;
        self.count(entries.len());
        Ok(())
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

    fn count(&mut self, records: usize) {
        let block = self.connection.last_insert_rowid() / block::SIZE;
        self.news.block |= block != self.block;
        self.block = block;
        // A commit writes a page or two, however little it has to say.
        self.pages += 2 + records / 4;
        if self.pages >= MANY_PAGES {
            (self.pages, self.news.pages) = (0, true);
        }
    }

    /// Does a chore. None of them has to be durable: what a stop undoes is done again.
    fn attend(&mut self, chore: &Chore) -> rusqlite::Result<()> {
        self.sync(Sync::Normal)?;
        match chore {
            Chore::Checkpoint => {
                return self
                    .connection
                    .execute_batch("PRAGMA wal_checkpoint(PASSIVE)");
            }
            Chore::Seal(block) => {
                self.begin.execute([])?;
                block.seal(self.connection)?;
            }
            Chore::Drop(block) => {
                self.begin.execute([])?;
                block.drop_from(self.connection)?;
            }
        }
        self.commit.execute([]).map(drop)
    }
}

/// Changes nothing, but in a way that is written.
fn touch(connection: &Connection) -> rusqlite::Result<()> {
    let form: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    connection.execute_batch(&format!("PRAGMA user_version = {form}"))
}
