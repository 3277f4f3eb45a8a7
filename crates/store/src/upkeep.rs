//! Keeping house beside the writer: finished blocks are made easy to find, the write-ahead log is
//! moved into the database, and the oldest blocks go at the bound.
//!
//! Only the writer changes tables, so that nothing here makes it wait for a lock: what is
//! prepared here is handed to it as a chore.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};

use rusqlite::Connection;

use crate::Error;
use crate::block::{self, Block};
use crate::queue::{Chore, Queue};
use crate::schema;

/// Pages that the write-ahead log may have before the writer has to help: 64 MiB.
const MOST_PAGES: i64 = 16_384;
/// Rings after which the write-ahead log is moved.
const RINGS: u32 = 8;
/// Chores that may wait for the writer before more are prepared.
const MOST_CHORES: usize = 64;
/// Blocks at the end of the log that are never dropped.
const KEPT: i64 = 2;

/// What the writer rings when there may be something to do.
#[derive(Debug)]
pub(crate) struct Bell(SyncSender<()>);

impl Bell {
    /// Rings; who is at it already will look again.
    pub(crate) fn ring(&self) {
        self.0.try_send(()).unwrap_or_default();
    }
}

/// The thread that keeps house.
pub(crate) struct Upkeep {
    connection: Connection,
    queue: Arc<Queue>,
    max_bytes: u64,
    /// The block that is sealed next.
    next: Option<i64>,
    /// The oldest block that was not asked to be dropped.
    oldest: Option<i64>,
}

impl Upkeep {
    /// Opens the database and starts the thread, which ends with the bell.
    pub(crate) fn start(path: &Path, max_bytes: u64, queue: Arc<Queue>) -> Result<Bell, Error> {
        let upkeep = Self {
            connection: schema::open(path)?,
            queue,
            max_bytes,
            next: None,
            oldest: None,
        };
        let (bell, rings) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name("activity-upkeep".into());
        let run = move || upkeep.run(&rings);
        thread.spawn(run).map_err(Error::Thread)?;
        Ok(Bell(bell))
    }

    fn run(mut self, rings: &Receiver<()>) {
        let mut count = 0_u32;
        while rings.recv().is_ok() {
            count = count.wrapping_add(1);
            if let Err(fault) = self.attend(count.is_multiple_of(RINGS)) {
                // Nothing is lost by it; what was not done is done at a later ring.
                tracing::warn!("upkeep of the activity log failed: {fault}");
                (self.next, self.oldest) = (None, None);
            }
        }
    }

    fn attend(&mut self, checkpoint: bool) -> rusqlite::Result<()> {
        let sql = "SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) FROM activity";
        let ends = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        let (first, last) = self.connection.query_row(sql, [], ends)?;
        self.seal(first / block::SIZE, last / block::SIZE)?;
        self.prune(first / block::SIZE, last / block::SIZE)?;
        if checkpoint {
            self.checkpoint()?;
        }
        Ok(())
    }

    fn seal(&mut self, first: i64, open: i64) -> rusqlite::Result<()> {
        let next = if let Some(next) = self.next {
            next
        } else {
            let sql = "SELECT max(block) FROM block";
            let sealed: Option<i64> = self.connection.query_row(sql, [], |row| row.get(0))?;
            sealed.map_or(first, |sealed| sealed + 1)
        };
        let mut number = next.max(first);
        while number < open && self.queue.chores() < MOST_CHORES {
            if let Some(block) = Block::read(&self.connection, number)? {
                self.queue.ask(Chore::Seal(block));
            }
            number += 1;
        }
        self.next = Some(number);
        Ok(())
    }

    /// Drops as many of the oldest blocks as the log has too many, if all are about as large.
    fn prune(&mut self, first: i64, open: i64) -> rusqlite::Result<()> {
        let size = |name: &str| {
            let sql = format!("PRAGMA {name}");
            let size = self
                .connection
                .query_row(&sql, [], |row| row.get::<_, i64>(0))?;
            Ok::<_, rusqlite::Error>(u64::try_from(size).unwrap_or(0))
        };
        let used = size("page_count")?.saturating_sub(size("freelist_count")?) * size("page_size")?;
        let excess = used.saturating_sub(self.max_bytes);
        if excess == 0 {
            return Ok(());
        }
        let blocks = u64::try_from(open - first + 1).unwrap_or(1).max(1);
        let many = excess.div_ceil((used / blocks).max(1));
        let until = first.saturating_add(i64::try_from(many).unwrap_or(i64::MAX));
        // What was asked for already may still be there.
        let mut number = self.oldest.unwrap_or(first).max(first);
        while number < until.min(open - KEPT) && self.queue.chores() < MOST_CHORES {
            if let Some(block) = Block::read(&self.connection, number)? {
                self.queue.ask(Chore::Drop(block));
            }
            number += 1;
        }
        self.oldest = Some(number);
        Ok(())
    }

    /// Moves the write-ahead log beside the writer. While records keep coming this never gets to
    /// its end, so that past a size the writer finishes it between two groups.
    fn checkpoint(&self) -> rusqlite::Result<()> {
        let sql = "PRAGMA wal_checkpoint(PASSIVE)";
        let pages: i64 = self.connection.query_row(sql, [], |row| row.get(1))?;
        if pages > MOST_PAGES {
            self.queue.ask(Chore::Checkpoint);
        }
        Ok(())
    }
}
