//! A nameless file for what is too long to be held in memory.
//!
//! It is encrypted under a key that lives in this process alone: what a caller asked to be kept as
//! a hash only must not be readable on the disk either. It is gone with the process.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};

/// The file.
pub struct Spill {
    file: File,
    cipher: ChaCha20,
    end: u64,
}

impl std::fmt::Debug for Spill {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Spill")
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

impl Spill {
    /// Makes a file in `folder` that has no name there.
    pub fn create(folder: &Path) -> io::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        let cipher = ChaCha20::new(&key.into(), &[0; 12].into());
        let file = tempfile::tempfile_in(folder)?;
        Ok(Self {
            file,
            cipher,
            end: 0,
        })
    }

    /// Returns how many bytes the file holds.
    pub fn len(&self) -> u64 {
        self.end
    }

    /// Tells whether the file holds nothing.
    pub fn is_empty(&self) -> bool {
        self.end == 0
    }

    /// Encrypts `bytes` in place and appends them; returns where they start.
    pub fn append(&mut self, bytes: &mut [u8]) -> io::Result<u64> {
        let at = self.end;
        self.apply(at, bytes)?;
        self.file.seek(SeekFrom::Start(at))?;
        self.file.write_all(bytes)?;
        self.end += u64::try_from(bytes.len()).unwrap_or(0);
        Ok(at)
    }

    /// Fills `part` with what stands at `at`.
    pub fn read(&mut self, at: u64, part: &mut [u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(at))?;
        self.file.read_exact(part)?;
        self.apply(at, part)
    }

    fn apply(&mut self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.cipher.try_seek(at).map_err(|_| exhausted())?;
        self.cipher
            .try_apply_keystream(bytes)
            .map_err(|_| exhausted())
    }
}

fn exhausted() -> io::Error {
    io::Error::other("the value is too long to set aside")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_aside_is_read_back_and_not_readable_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let mut spill = Spill::create(folder.path()).unwrap();
        assert!(spill.is_empty());
        assert_eq!(spill.append(&mut b"a secret".to_vec()).unwrap(), 0);
        assert_eq!(spill.append(&mut b" and more".to_vec()).unwrap(), 8);
        assert_eq!(spill.len(), 17);
        let mut back = [0; 6];
        spill.read(5, &mut back).unwrap();
        assert_eq!(&back, b"ret an");
        assert!(spill.read(15, &mut back).is_err());
        // It has no name, and its bytes are not those that were given.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut raw = Vec::new();
        spill.file.seek(SeekFrom::Start(0)).unwrap();
        spill.file.read_to_end(&mut raw).unwrap();
        assert_eq!(raw.len(), 17);
        assert!(!String::from_utf8_lossy(&raw).contains("sec"));
    }
}
