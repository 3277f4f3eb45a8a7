//! Messages on their way to or from an address: short ones in memory, long ones in a nameless
//! file, so that memory does not grow with them.
//!
//! A message goes on when all of it is there, never in parts: its headers repeat what may stand at
//! its end, and an answer that breaks off must not become half a line. Reading and writing block;
//! the pieces are small, and the file is seldom further away than the page cache.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, Either, Full};
use mcpproxy_mcp::dial::Sent;
use mcpproxy_mcp::line::push_flat;
use mcpproxy_mcp::tap::{Part, Seen, Tap, Watch};
use mcpproxy_notary::spill::Spill;

/// Longest message that stays in memory.
const SHORT: usize = 256 << 10;
/// Bytes that the long messages of a session may have in files at one time.
const MOST: u64 = 1 << 30;
/// Bytes that are read and written at once.
const PIECE: usize = 64 << 10;
/// Messages of one long line that are looked at.
const MESSAGES: usize = 4096;

/// Where long messages of a session are set aside.
#[derive(Clone, Debug)]
pub(super) struct Room {
    folder: Arc<Path>,
    used: Arc<AtomicU64>,
    most: u64,
}

impl Room {
    /// Sets messages aside in `folder`.
    pub(super) fn new(folder: &Path) -> Self {
        Self::with(folder, MOST)
    }

    fn with(folder: &Path, most: u64) -> Self {
        Self {
            folder: folder.into(),
            used: Arc::default(),
            most,
        }
    }

    /// Begins a message.
    pub(super) fn spool(&self) -> Spool {
        Spool {
            room: self.clone(),
            memory: Vec::new(),
            aside: None,
        }
    }

    fn reserve(&self, bytes: u64) -> io::Result<()> {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        if before + bytes > self.most {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            return Err(io::Error::other("the message is too long"));
        }
        Ok(())
    }
}

/// A message that is being put together.
#[derive(Debug)]
pub(super) struct Spool {
    room: Room,
    /// All of it, or what was not yet written to the file.
    memory: Vec<u8>,
    aside: Option<Aside>,
}

impl Spool {
    /// Adds bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.memory.extend_from_slice(bytes);
        self.settle()
    }

    /// Adds bytes without their raw line ends.
    pub(super) fn push_flat(&mut self, bytes: &[u8]) -> io::Result<()> {
        push_flat(&mut self.memory, bytes);
        self.settle()
    }

    /// Ends the message.
    pub(super) fn finish(mut self) -> io::Result<Stored> {
        if self.aside.is_some() {
            self.write()?;
        }
        Ok(match self.aside {
            Some(aside) => Stored::Aside(Arc::new(aside)),
            None => Stored::Memory(self.memory.into()),
        })
    }

    fn settle(&mut self) -> io::Result<()> {
        let most = match self.aside {
            Some(_) => PIECE,
            None => SHORT,
        };
        if self.memory.len() > most {
            self.write()?;
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let aside = match self.aside.take() {
            Some(aside) => aside,
            None => Aside::create(&self.room)?,
        };
        let aside = self.aside.insert(aside);
        aside.append(&mut self.memory)?;
        self.memory.clear();
        self.memory.shrink_to(2 * PIECE);
        Ok(())
    }
}

/// A long message in its file.
#[derive(Debug)]
pub(super) struct Aside {
    spill: Mutex<Spill>,
    room: Room,
    length: u64,
}

impl Aside {
    fn create(room: &Room) -> io::Result<Self> {
        Ok(Self {
            spill: Mutex::new(Spill::create(&room.folder)?),
            room: room.clone(),
            length: 0,
        })
    }

    fn append(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        let more = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.room.reserve(more)?;
        // What was reserved is given back with the file, written or not.
        self.length += more;
        self.spill().append(bytes).map(drop)
    }

    fn spill(&self) -> MutexGuard<'_, Spill> {
        self.spill.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        self.room.used.fetch_sub(self.length, Ordering::Relaxed);
    }
}

/// A whole message.
#[derive(Clone, Debug)]
pub(super) enum Stored {
    /// A short one.
    Memory(Bytes),
    /// A long one.
    Aside(Arc<Aside>),
}

impl Stored {
    /// Keeps a message that is at hand, without its raw line ends.
    pub(super) fn flat(message: &[u8]) -> Self {
        let mut flat = Vec::with_capacity(message.len());
        push_flat(&mut flat, message);
        Self::Memory(flat.into())
    }

    /// Returns how many bytes it has.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            Self::Aside(aside) => aside.length,
        }
    }

    /// Reads from `at` on; returns how many bytes were read, which is nothing at the end.
    pub(super) fn read(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.len().saturating_sub(at);
        let count = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let part = buffer.get_mut(..count).unwrap_or_default();
        match self {
            Self::Memory(bytes) => {
                let from = usize::try_from(at).unwrap_or(usize::MAX);
                let bytes = bytes.get(from..).unwrap_or_default();
                part.copy_from_slice(bytes.get(..count).unwrap_or_default());
            }
            Self::Aside(aside) => aside.spill().read(at, part)?,
        }
        Ok(count)
    }

    /// Reads a range of it into memory.
    pub(super) fn range(&self, from: usize, to: usize) -> io::Result<Vec<u8>> {
        let mut part = vec![0; to.saturating_sub(from)];
        let from = u64::try_from(from).unwrap_or(u64::MAX);
        let count = self.read(from, &mut part)?;
        part.truncate(count);
        Ok(part)
    }

    /// Reads along with its messages; tells also whether all of it could be read.
    pub(super) fn seen(&self) -> io::Result<(Vec<Seen>, bool)> {
        let (mut tap, mut found) = (Tap::default(), Found::default());
        let mut buffer = vec![0; PIECE];
        let mut at = 0;
        loop {
            let count = self.read(at, &mut buffer)?;
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else {
                return Ok((found.0, tap.finish().is_ok()));
            };
            tap.push(bytes, &mut found);
            at += u64::try_from(count).unwrap_or(0);
        }
    }

    /// Makes it the body of a request.
    pub(super) fn body(&self) -> Sent {
        match self {
            Self::Memory(bytes) => Either::Left(Full::new(bytes.clone())),
            Self::Aside(_) => {
                let stored = self.clone();
                Either::Right(Reading { stored, at: 0 }.boxed())
            }
        }
    }
}

/// Collects what a line holds.
#[derive(Default)]
struct Found(Vec<Seen>);

impl Watch for Found {
    fn part(&mut self, _: Part, _: &[u8]) {}

    fn message(&mut self, seen: Seen) {
        if self.0.len() < MESSAGES {
            self.0.push(seen);
        }
    }
}

/// A long message that is being sent.
#[derive(Debug)]
struct Reading {
    stored: Stored,
    at: u64,
}

impl Body for Reading {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let mut piece = vec![0; PIECE];
        let read = self.stored.read(self.at, &mut piece);
        Poll::Ready(match read {
            Ok(0) => None,
            Ok(count) => {
                piece.truncate(count);
                self.at += u64::try_from(count).unwrap_or(0);
                Some(Ok(Frame::data(piece.into())))
            }
            Err(fault) => Some(Err(fault)),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.at >= self.stored.len()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.stored.len() - self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(length: usize) -> Vec<u8> {
        (0_u8..=250).cycle().take(length).collect()
    }

    #[test]
    fn a_message_is_the_same_in_memory_and_aside() {
        let folder = tempfile::tempdir().unwrap();
        let room = Room::new(folder.path());
        for length in [0, 1, SHORT, SHORT + 1, SHORT + PIECE + 7, 3 * SHORT] {
            let message = message(length);
            let mut spool = room.spool();
            for chunk in message.chunks(10_000) {
                spool.push(chunk).unwrap();
            }
            let stored = spool.finish().unwrap();
            let aside = matches!(stored, Stored::Aside(_));
            assert_eq!(aside, length > SHORT, "{length}");
            assert!(stored.range(0, length + 5).unwrap() == message, "{length}");
            let middle = length / 2;
            let part = stored.range(middle, middle + 3).unwrap();
            assert_eq!(part, message[middle..length.min(middle + 3)], "{length}");
            drop(stored);
            assert_eq!(room.used.load(Ordering::Relaxed), 0);
        }
    }

    #[test]
    fn all_long_messages_share_one_bound() {
        let folder = tempfile::tempdir().unwrap();
        let most = 1 << 20;
        let room = Room::with(folder.path(), most);
        let fill = |length: usize| {
            let mut spool = room.spool();
            for chunk in message(length).chunks(PIECE) {
                spool.push(chunk)?;
            }
            spool.finish()
        };
        let first = fill(700_000).unwrap();
        let fault = fill(700_000).unwrap_err();
        assert_eq!(fault.to_string(), "the message is too long");
        // What is short needs no room, and what has gone leaves its own.
        fill(SHORT).unwrap();
        drop(first);
        fill(700_000).unwrap();
    }
}
