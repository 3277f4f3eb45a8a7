//! The activity log as a file of JSON lines, kept within a size by rotating once.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcpproxy_core::{ActivitySink, Durability, Later, Record, SinkFault};
use tokio::sync::oneshot;

use crate::Error;

/// Records that may wait for the writer; past that an append says that the queue is full.
const QUEUE: usize = 16_384;
/// Records written in one go at most.
const GROUP: usize = 4096;
/// How long relaxed records are gathered before they are written.
const GATHER: Duration = Duration::from_millis(5);

/// A record to be written, or nothing but the wish to know that all before is written.
struct Entry {
    record: Option<Record>,
    durable: Option<oneshot::Sender<Result<(), SinkFault>>>,
}

/// Why the log cannot be trusted any more. A failed write or sync is never retried as success.
type Broken = Arc<OnceLock<String>>;

/// An activity log in a file.
#[derive(Debug)]
pub struct FileSink {
    queue: SyncSender<Entry>,
    broken: Broken,
}

impl FileSink {
    /// Opens the log for appending, made with mode 0600 if new, and starts its writer.
    ///
    /// Once the file has grown past `max_bytes` it is moved to `<name>.1`, replacing what was
    /// there, and a new one is begun: the log takes at most about twice that size.
    pub fn open(path: &Path, max_bytes: u64) -> Result<Self, Error> {
        let file = append_to(path).map_err(|source| Error::Open {
            path: path.to_owned(),
            source,
        })?;
        let written = file.metadata().map_or(0, |meta| meta.len());
        let (queue, entries) = mpsc::sync_channel(QUEUE);
        let broken = Broken::default();
        let writer = Writer {
            file,
            path: path.to_owned(),
            written,
            max_bytes,
            broken: Arc::clone(&broken),
        };
        std::thread::Builder::new()
            .name("activity-log".into())
            .spawn(move || writer.run(&entries))
            .map_err(Error::Thread)?;
        Ok(Self { queue, broken })
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
        self.broken.get().cloned()
    }
}

struct Writer {
    file: File,
    path: PathBuf,
    written: u64,
    max_bytes: u64,
    broken: Broken,
}

impl Writer {
    fn run(mut self, entries: &Receiver<Entry>) {
        while let Ok(first) = entries.recv() {
            // Nobody waits for a relaxed record, so that more of them share one write and the
            // threads that answer calls need not wake this one for each.
            if first.durable.is_none() {
                std::thread::sleep(GATHER);
            }
            let mut group = vec![first];
            group.extend(entries.try_iter().take(GROUP - 1));
            let result = self.write(&group);
            if let Err(fault) = &result
                && self.broken.set(fault.clone()).is_ok()
            {
                tracing::error!("activity log `{}` is broken: {fault}", self.path.display());
            }
            for durable in group.into_iter().filter_map(|entry| entry.durable) {
                // The caller may have gone away; then nobody waits for the news.
                drop(durable.send(result.clone().map_err(SinkFault::Broken)));
            }
        }
    }

    fn write(&mut self, group: &[Entry]) -> Result<(), String> {
        if let Some(why) = self.broken.get() {
            return Err(why.clone());
        }
        let mut lines = Vec::with_capacity(group.len() * 512);
        for record in group.iter().filter_map(|entry| entry.record.as_ref()) {
            serde_json::to_writer(&mut lines, record).map_err(|fault| fault.to_string())?;
            lines.push(b'\n');
        }
        // CRASH: a stop within this write leaves a torn last line; readers skip a line that does
        // not parse, and strict callers were not told that it is durable.
        self.file
            .write_all(&lines)
            .map_err(|fault| fault.to_string())?;
        if group.iter().any(|entry| entry.durable.is_some()) {
            self.file.sync_data().map_err(|fault| fault.to_string())?;
        }
        self.written += u64::try_from(lines.len()).unwrap_or(u64::MAX);
        if self.written > self.max_bytes {
            self.rotate().map_err(|fault| fault.to_string())?;
        }
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        let mut old = self.path.clone().into_os_string();
        old.push(".1");
        // CRASH: a stop after the rename leaves no current file; the next start makes one.
        std::fs::rename(&self.path, old)?;
        self.file = append_to(&self.path)?;
        self.written = 0;
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The sink of a gateway whose activity log is switched off.
#[derive(Debug)]
pub struct NoSink;

impl ActivitySink for NoSink {
    fn append(&self, _: Record, _: Durability) -> Later<'_, Result<(), SinkFault>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
