//! The port of the engine: records in, and word when they are on disk.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

use mcpproxy_core::{
    ActivitySink, Clock, Durability, Later, Record, SinkFault, StatementCheck, StatementSigner,
};
use tokio::sync::oneshot;

use crate::Error;
use crate::database::Database;
use crate::health::Health;
use crate::postgres::Postgres;
use crate::queue::{Entry, Queue};
use crate::reminder::Reminder;
use crate::retention::{InForce, Retention};
use crate::sqlite::Sqlite;
use crate::upkeep::{Bell, Marks, News, Upkeep};
use crate::writer::{Writer, start};

/// What a log is kept with.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long records are kept.
    pub retention: Retention,
    /// Who signs how far the log has got.
    pub signer: Arc<dyn StatementSigner>,
    /// Who judges what was signed before, when records are dropped.
    pub trust: Arc<dyn StatementCheck>,
    /// What tells how old records are.
    pub clock: Arc<dyn Clock>,
    /// A file apart from the log that says how far it had got, so that a log which lacks its last run is
    /// told from one that never had it.
    pub reminder: Option<PathBuf>,
}

/// An activity log that is written.
#[derive(Debug)]
pub struct Sink {
    queue: Arc<Queue>,
    health: Arc<Health>,
    retention: Arc<InForce>,
    bell: Bell,
}

impl Sink {
    /// Opens a log in a SQLite database, made with mode 0600 if it is new, and starts its writer.
    ///
    /// The file keeps the size it once had; its free space is used again.
    pub fn sqlite(path: &Path, options: Options) -> Result<Self, Error> {
        Self::open(Sqlite::at(path), options)
    }

    /// Opens a log in a PostgreSQL database, which is brought to the present form, and starts its
    /// writer.
    pub fn postgres(url: &str, options: Options) -> Result<Self, Error> {
        let database = Postgres::at(url)?;
        // Connecting waits, which a thread of a runtime must not.
        let opened = std::thread::spawn(move || Self::open(database, options)).join();
        let ended = || Error::Thread(std::io::Error::other("the thread that connects has ended"));
        opened.unwrap_or_else(|_| Err(ended()))
    }

    fn open<D: Database>(database: D, options: Options) -> Result<Self, Error> {
        let Options {
            retention,
            signer,
            trust,
            clock,
            reminder,
        } = options;
        let database = Arc::new(database);
        let (queue, health) = (Arc::new(Queue::default()), Arc::new(Health::default()));
        let retention = Arc::new(InForce::new(retention));
        let (bell, news) = mpsc::sync_channel(1);
        let bell = Bell(bell);
        let (log, house) = (database.log()?, database.house()?);
        let upkeep = Upkeep {
            database: Arc::clone(&database),
            queue: Arc::clone(&queue),
            retention: Arc::clone(&retention),
            signer: Arc::clone(&signer),
            trust,
            health: Arc::clone(&health),
            clock: Arc::clone(&clock),
            marks: Marks::default(),
        };
        start("activity-upkeep", move || upkeep.run(house, &news))?;
        let writer = Writer {
            database,
            queue: Arc::clone(&queue),
            health: Arc::clone(&health),
            signer,
            clock,
            reminder: Reminder::new(reminder),
            bell: bell.clone(),
        };
        start("activity-log", move || writer.run(log))?;
        Ok(Self {
            queue,
            health,
            retention,
            bell,
        })
    }

    /// Keeps records for another time from now on.
    pub fn retain(&self, retention: Retention) {
        self.retention.set(retention);
        self.bell.tell(&mut News {
            block: true,
            pages: false,
        });
    }

    fn send(&self, record: Option<Record>, how: Durability) -> Later<'_, Result<(), SinkFault>> {
        let (durable, done) = match how {
            Durability::Relaxed => (None, None),
            Durability::Strict => {
                let (sender, receiver) = oneshot::channel();
                (Some(sender), Some(receiver))
            }
        };
        let queued = self.queue.push(Entry { record, durable });
        Box::pin(async move {
            queued?;
            match done {
                None => Ok(()),
                Some(done) => {
                    let stopped = |_| SinkFault::Broken("the writer has stopped".into());
                    done.await.map_err(stopped)?
                }
            }
        })
    }
}

impl ActivitySink for Sink {
    fn append(&self, record: Record, how: Durability) -> Later<'_, Result<(), SinkFault>> {
        self.send(Some(record), how)
    }

    fn flush(&self) -> Later<'_, Result<(), SinkFault>> {
        self.send(None, Durability::Strict)
    }

    fn problem(&self) -> Option<String> {
        self.health.problem()
    }

    fn doubt(&self) -> Option<String> {
        self.health.doubted()
    }

    fn waiting(&self) -> usize {
        self.queue.waiting()
    }

    fn lost(&self) -> u64 {
        self.health.ever_lost()
    }
}

impl Drop for Sink {
    /// The writer goes on until the queue is empty; who needs to know waits for `flush` before.
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// The sink of a gateway whose activity log is switched off.
#[derive(Debug)]
pub struct NoSink;

impl ActivitySink for NoSink {
    fn append(&self, _: Record, _: Durability) -> Later<'_, Result<(), SinkFault>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
