//! Canonical bytes that are not yet in their final order: short pieces in memory, long ones in a
//! nameless file.

use std::io;

use crate::spill::Spill;

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
        let at = spill.append(&mut self.tail)?;
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
                (Piece::Spilled { at, len }, Some(spill)) => copy(spill, *at, *len, sink)?,
                (Piece::Spilled { .. }, None) => {}
            }
        }
        sink(&self.tail);
        Ok(())
    }
}

/// Hands a run of the file to `sink`, piece by piece.
fn copy(spill: &mut Spill, at: u64, len: u64, sink: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; PIECE];
    let (mut at, end) = (at, at + len);
    while at < end {
        let want = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE);
        let part = buffer.get_mut(..want).unwrap_or_default();
        spill.read(at, part)?;
        sink(part);
        at += u64::try_from(want).unwrap_or(0);
    }
    Ok(())
}
