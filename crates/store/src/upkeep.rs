//! Keeping house beside the writer: finished blocks are made easy to find, the write-ahead log is
//! moved into the database, and the oldest blocks go at the bound.
//!
//! Only the writer changes tables, so that nothing here makes it wait for a lock: what is
//! prepared here is handed to it as a chore.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use rusqlite::Connection;

use crate::Error;
use crate::block::{self, Block};
use crate::queue::{Chore, Queue};
use crate::schema;

/// Pages that the write-ahead log may have before the writer has to help: 64 MiB.
const MOST_PAGES: i64 = 16_384;
/// Chores that may wait for the writer before more are prepared.
const MOST_CHORES: usize = 64;
/// How long the writer is given for them.
const SOON: Duration = Duration::from_millis(20);
/// Blocks at the end of the log that are never dropped.
const KEPT: i64 = 2;

/// What there may be to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// A block was finished.
    pub(crate) block: bool,
    /// The write-ahead log has grown.
    pub(crate) pages: bool,
}

/// What the writer rings when there may be something to do.
#[derive(Debug)]
pub(crate) struct Bell(SyncSender<News>);

impl Bell {
    /// Tells the news, if there are any; who is too busy to listen is told the next time.
    pub(crate) fn tell(&self, news: &mut News) {
        if *news != News::default() && self.0.try_send(*news).is_ok() {
            *news = News::default();
        }
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
    /// More is to be done once the writer has done what it was asked.
    is_behind: bool,
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
            is_behind: false,
        };
        let (bell, news) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name("activity-upkeep".into());
        let run = move || upkeep.run(&news);
        thread.spawn(run).map_err(Error::Thread)?;
        Ok(Bell(bell))
    }

    fn run(mut self, news: &Receiver<News>) {
        loop {
            let news = match news.recv_timeout(if self.is_behind { SOON } else { Duration::MAX }) {
                Ok(news) => news,
                Err(RecvTimeoutError::Timeout) => News::default(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            self.is_behind = false;
            if let Err(fault) = self.attend(news) {
                // Nothing is lost by it; what was not done is done at a later ring.
                tracing::warn!("upkeep of the activity log failed: {fault}");
                (self.next, self.oldest) = (None, None);
            }
        }
    }

    fn attend(&mut self, news: News) -> rusqlite::Result<()> {
        let (first, last) = schema::ends(&self.connection)?;
        self.seal(first / block::SIZE, last / block::SIZE)?;
        self.prune(first / block::SIZE, last / block::SIZE)?;
        if news.pages {
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
        while number < open && self.has_room() {
            if let Some(block) = Block::read(&self.connection, number)? {
                self.queue.ask(Chore::Seal(block));
            }
            number += 1;
        }
        self.next = Some(number);
        Ok(())
    }

    fn has_room(&mut self) -> bool {
        self.is_behind = self.queue.chores() >= MOST_CHORES;
        !self.is_behind
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
        while number < until.min(open - KEPT) && self.has_room() {
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
