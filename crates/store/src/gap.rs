//! Notes of how many records were lost, where and why: each is covered by a hash together with all before
//! it, and every writer says over which of them it began.

use sha2::{Digest as _, Sha256};

use crate::chain::{Hash, put};

/// Tells the hashes of notes from all others.
const GAP: &[u8] = b"mcpproxy activity gap 1\n";

/// A note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The place of the last record before.
    pub(crate) after: i64,
    pub(crate) lost: i64,
    pub(crate) why: String,
}

/// The first notes of a log: how many, and the hash over them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gaps {
    pub(crate) number: i64,
    pub(crate) hash: Hash,
}

impl Gaps {
    /// Takes all notes in.
    pub(crate) fn of(gaps: &[Gap]) -> Self {
        gaps.iter().fold(Self::default(), |gaps, gap| gaps.and(gap))
    }

    /// Takes the next note in.
    #[must_use]
    pub(crate) fn and(&self, gap: &Gap) -> Self {
        let number = self.number.saturating_add(1);
        let mut bytes = Vec::new();
        for number in [number, gap.after, gap.lost] {
            bytes.extend(number.to_be_bytes());
        }
        put(&mut bytes, gap.why.as_bytes());
        let mut hash = Sha256::new();
        hash.update(GAP);
        hash.update(self.hash);
        hash.update(&bytes);
        Self {
            number,
            hash: hash.finalize().into(),
        }
    }
}
