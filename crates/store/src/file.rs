//! The activity log as a file of JSON lines, kept within a size by rotating once.
//!
//! A write that fails is never retried as success: its records are lost, and whoever waited for
//! them was told. But the log is tried again, and says in a line of its own what is missing.

mod lines;

use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcpproxy_core::{ActivitySink, Durability, Later, Record, SinkFault};
use tokio::sync::oneshot;

use self::lines::Lines;
use crate::Error;

/// Records that may wait for the writer; past that an append says that the queue is full.
const QUEUE: usize = 16_384;
/// Records written in one go at most.
const GROUP: usize = 4096;
/// How long relaxed records are gathered before they are written.
const GATHER: Duration = Duration::from_millis(5);
/// How long a log that cannot be written is left alone before it is tried again.
const REST: Duration = Duration::from_secs(1);

/// A record to be written, or nothing but the wish to know that all before is written.
struct Entry {
    record: Option<Record>,
    durable: Option<oneshot::Sender<Result<(), SinkFault>>>,
}

/// Why records are being lost, while they are.
type Problem = Arc<Mutex<Option<String>>>;

/// An activity log in a file.
#[derive(Debug)]
pub struct FileSink {
    queue: SyncSender<Entry>,
    problem: Problem,
}

impl FileSink {
    /// Opens the log for appending, made with mode 0600 if new, and starts its writer.
    ///
    /// Once the file has grown past `max_bytes` it is moved to `<name>.1`, replacing what was
    /// there, and a new one is begun: the log takes at most about twice that size.
    pub fn open(path: &Path, max_bytes: u64) -> Result<Self, Error> {
        let lines = Lines::open(path, max_bytes).map_err(|source| Error::Open {
            path: path.to_owned(),
            source,
        })?;
        let (queue, entries) = mpsc::sync_channel(QUEUE);
        let problem = Problem::default();
        let writer = Writer {
            lines,
            trouble: None,
            problem: Arc::clone(&problem),
        };
        std::thread::Builder::new()
            .name("activity-log".into())
            .spawn(move || writer.run(&entries))
            .map_err(Error::Thread)?;
        Ok(Self { queue, problem })
    }
}

impl FileSink {
    fn send(&self, record: Option<Record>, how: Durability) -> Later<'_, Result<(), SinkFault>> {
        let (durable, done) = match how {
            Durability::Relaxed => (None, None),
            Durability::Strict => {
                let (sender, receiver) = oneshot::channel();
                (Some(sender), Some(receiver))
            }
        };
        let stopped = || SinkFault::Broken("the writer has stopped".into());
        let queued = self.queue.try_send(Entry { record, durable });
        let queued = queued.map_err(|fault| match fault {
            TrySendError::Full(_) => SinkFault::Full,
            TrySendError::Disconnected(_) => stopped(),
        });
        Box::pin(async move {
            queued?;
            match done {
                None => Ok(()),
                Some(done) => done.await.map_err(|_| stopped())?,
            }
        })
    }
}

impl ActivitySink for FileSink {
    fn append(&self, record: Record, how: Durability) -> Later<'_, Result<(), SinkFault>> {
        self.send(Some(record), how)
    }

    fn flush(&self) -> Later<'_, Result<(), SinkFault>> {
        self.send(None, Durability::Strict)
    }

    fn problem(&self) -> Option<String> {
        lock(&self.problem).clone()
    }
}

struct Writer {
    lines: Lines,
    trouble: Option<Trouble>,
    /// INVARIANT: says something if and only if there is trouble.
    problem: Problem,
}

/// A log that could not be written.
struct Trouble {
    why: String,
    /// Records that were lost since it began.
    lost: usize,
    /// When it is tried again.
    again: Instant,
}

impl Writer {
    fn run(mut self, entries: &Receiver<Entry>) {
        while let Some(first) = self.next(entries) {
            // Nobody waits for a relaxed record, so that more of them share one write and the
            // threads that answer calls need not wake this one for each.
            if first.durable.is_none() {
                std::thread::sleep(GATHER);
            }
            let mut group = vec![first];
            group.extend(entries.try_iter().take(GROUP - 1));
            let result = self.write(&group);
            for durable in group.into_iter().filter_map(|entry| entry.durable) {
                // The caller may have gone away; then nobody waits for the news.
                drop(durable.send(result.clone().map_err(SinkFault::Broken)));
            }
        }
    }

    /// Waits for an entry. A log in trouble is tried meanwhile: where calls are refused because of
    /// it, no entry would come to try it with.
    fn next(&mut self, entries: &Receiver<Entry>) -> Option<Entry> {
        while let Some(trouble) = &self.trouble {
            let rest = trouble.again.saturating_duration_since(Instant::now());
            match entries.recv_timeout(rest) {
                Ok(entry) => return Some(entry),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    // What came of it is kept in `trouble`; nobody else waits for it.
                    drop(self.write(&[]));
                }
            }
        }
        entries.recv().ok()
    }

    fn write(&mut self, group: &[Entry]) -> Result<(), String> {
        let records = group.iter().filter_map(|entry| entry.record.as_ref());
        let count = records.clone().count();
        if let Some(trouble) = &mut self.trouble
            && Instant::now() < trouble.again
        {
            trouble.lost += count;
            return Err(trouble.why.clone());
        }
        let sync = group.iter().any(|entry| entry.durable.is_some());
        let written = match &self.trouble {
            None => self.lines.append(records, sync),
            Some(trouble) => self.lines.resume(&trouble.why, trouble.lost, records),
        };
        let written = written.map_err(|fault| fault.to_string());
        match &written {
            Ok(()) => self.well(),
            Err(why) => self.ill(why, count),
        }
        written
    }

    fn well(&mut self) {
        if let Some(Trouble { lost, .. }) = self.trouble.take() {
            *lock(&self.problem) = None;
            let path = self.lines.path().display();
            tracing::warn!("activity log `{path}` is written again; {lost} records were lost");
        }
    }

    fn ill(&mut self, why: &str, count: usize) {
        let lost = self.trouble.take().map_or_else(
            || {
                let path = self.lines.path().display();
                tracing::error!("activity log `{path}` is broken: {why}");
                0
            },
            |trouble| trouble.lost,
        );
        *lock(&self.problem) = Some(why.to_owned());
        self.trouble = Some(Trouble {
            why: why.to_owned(),
            lost: lost + count,
            again: Instant::now() + REST,
        });
    }
}

/// A lock that a panic left behind guards plain data that is whole between statements.
fn lock(problem: &Mutex<Option<String>>) -> std::sync::MutexGuard<'_, Option<String>> {
    problem.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sink of a gateway whose activity log is switched off.
#[derive(Debug)]
pub struct NoSink;

impl ActivitySink for NoSink {
    fn append(&self, _: Record, _: Durability) -> Later<'_, Result<(), SinkFault>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[cfg(test)]
mod tests;
