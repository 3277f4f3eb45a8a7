//! Canonical bytes that are not yet in their final order: short pieces in memory, long ones in a
//! nameless file.
//!
//! The file is encrypted under a key that lives in this process alone: what a caller asked to be
//! kept as a hash only must not be readable on the disk either.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};

/// From how many bytes on a piece goes to the file.
pub(super) const PIECE: usize = 64 << 10;

/// A run of canonical bytes.
#[derive(Debug, Default)]
pub(super) struct Rope {
    /// What is in the file, in order; it precedes `tail`.
    pieces: Vec<Piece>,
    tail: Vec<u8>,
}

#[derive(Debug)]
enum Piece {
    Memory(Vec<u8>),
    Spilled { at: u64, len: u64 },
}

impl Rope {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
    }

    /// Puts `other` after what is here, without copying what is long.
    pub(super) fn append(&mut self, mut other: Self) {
        if other.pieces.is_empty() {
            self.tail.append(&mut other.tail);
            return;
        }
        if !self.tail.is_empty() {
            self.pieces
                .push(Piece::Memory(std::mem::take(&mut self.tail)));
        }
        self.pieces.append(&mut other.pieces);
        self.tail = other.tail;
    }

    pub(super) fn is_long(&self) -> bool {
        self.tail.len() >= PIECE
    }

    /// Moves what is in memory at the end to the file; returns how many bytes that were.
    pub(super) fn spill(&mut self, spill: &mut Spill) -> io::Result<usize> {
        let len = self.tail.len();
        let at = spill.write(&mut self.tail)?;
        self.tail.clear();
        let len64 = u64::try_from(len).unwrap_or(u64::MAX);
        if let Some(Piece::Spilled {
            at: before,
            len: had,
        }) = self.pieces.last_mut()
            && *before + *had == at
        {
            *had += len64;
        } else {
            self.pieces.push(Piece::Spilled { at, len: len64 });
        }
        Ok(len)
    }

    /// Hands all bytes to `sink`, in order.
    pub(super) fn read(
        &self,
        spill: Option<&mut Spill>,
        sink: &mut dyn FnMut(&[u8]),
    ) -> io::Result<()> {
        let mut spill = spill;
        for piece in &self.pieces {
            match (piece, spill.as_deref_mut()) {
                (Piece::Memory(bytes), _) => sink(bytes),
                (Piece::Spilled { at, len }, Some(spill)) => spill.read(*at, *len, sink)?,
                (Piece::Spilled { .. }, None) => {}
            }
        }
        sink(&self.tail);
        Ok(())
    }
}

/// The file for long pieces.
pub(super) struct Spill {
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
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
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

    /// Encrypts `bytes` in place and appends them.
    fn write(&mut self, bytes: &mut [u8]) -> io::Result<u64> {
        let at = self.end;
        self.apply(at, bytes)?;
        self.file.seek(SeekFrom::Start(at))?;
        self.file.write_all(bytes)?;
        self.end += u64::try_from(bytes.len()).unwrap_or(0);
        Ok(at)
    }

    fn read(&mut self, at: u64, len: u64, sink: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut buffer = vec![0; PIECE];
        let (mut at, end) = (at, at + len);
        while at < end {
            let want = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE);
            let part = buffer.get_mut(..want).unwrap_or_default();
            self.file.seek(SeekFrom::Start(at))?;
            self.file.read_exact(part)?;
            self.apply(at, part)?;
            sink(part);
            at += u64::try_from(want).unwrap_or(0);
        }
        Ok(())
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
