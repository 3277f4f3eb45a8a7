//! Two channels that the pumps take for pipes.

use std::io::{self, ErrorKind, Read, Write};

use bytes::{Buf as _, Bytes};
use tokio::sync::mpsc::{Receiver, Sender};

/// Takes lines; each write is one.
pub(super) struct Target(Sender<Bytes>);

impl Target {
    /// Hands lines to `lines`.
    pub(super) fn new(lines: Sender<Bytes>) -> Self {
        Self(lines)
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = Bytes::copy_from_slice(bytes);
        self.0
            .blocking_send(line)
            .map_err(|_| ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Gives lines, until nobody sends any more.
pub(super) struct Source {
    lines: Receiver<Bytes>,
    rest: Bytes,
}

impl Source {
    /// Reads from `lines`.
    pub(super) fn new(lines: Receiver<Bytes>) -> Self {
        let rest = Bytes::new();
        Self { lines, rest }
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.lines.blocking_recv() {
                Some(line) => self.rest = line,
                None => return Ok(0),
            }
        }
        let count = self.rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), self.rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.rest.advance(count);
        Ok(count)
    }
}
