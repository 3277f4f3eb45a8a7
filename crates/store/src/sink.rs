//! The port of the engine: records in, and word when they are on disk.

use std::path::Path;
use std::sync::Arc;

use mcpproxy_core::{ActivitySink, Durability, Later, Record, SinkFault};
use tokio::sync::oneshot;

use crate::Error;
use crate::health::Health;
use crate::queue::{Entry, Queue};
use crate::upkeep::Upkeep;
use crate::writer::Writer;

/// An activity log in a SQLite database.
#[derive(Debug)]
pub struct SqliteSink {
    queue: Arc<Queue>,
    health: Arc<Health>,
}

impl SqliteSink {
    /// Opens the log, made with mode 0600 if it is new, and starts its writer.
    ///
    /// Past `max_bytes` the oldest records are dropped. The file keeps the size it once had; its
    /// free space is used again.
    pub fn open(path: &Path, max_bytes: u64) -> Result<Self, Error> {
        let (queue, health) = (Arc::new(Queue::default()), Arc::new(Health::default()));
        let bell = Upkeep::start(path, max_bytes, Arc::clone(&queue))?;
        Writer::start(path, Arc::clone(&queue), Arc::clone(&health), bell)?;
        Ok(Self { queue, health })
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

impl ActivitySink for SqliteSink {
    fn append(&self, record: Record, how: Durability) -> Later<'_, Result<(), SinkFault>> {
        self.send(Some(record), how)
    }

    fn flush(&self) -> Later<'_, Result<(), SinkFault>> {
        self.send(None, Durability::Strict)
    }

    fn problem(&self) -> Option<String> {
        self.health.problem()
    }
}

impl Drop for SqliteSink {
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
