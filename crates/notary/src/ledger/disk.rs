//! The file behind a session, as far as the writer needs it: what can fail, and how.
//!
//! Apart, so that tests can stand in for a disk that is full, that fails, or that loses power.

use std::fs::File;
use std::io::{self, Write as _};

/// Where lines are appended.
pub(super) trait Disk: Send {
    /// Appends bytes; on an error any part of them may have been written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes what was appended durable.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts the file back.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Disk for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}
