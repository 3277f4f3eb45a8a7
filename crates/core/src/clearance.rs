//! The proof that a value was judged: upstream writers accept nothing else.

use std::sync::Arc;

use crate::clock::Tick;
use crate::verdict::Verdict;

/// A value that the engine let pass.
///
/// It is neither `Clone` nor deserializable, and `issue` has one call site, in `engine`, which
/// `cargo xtask tidy` checks.
#[derive(Debug)]
pub struct Cleared<T> {
    value: T,
    verdict: Arc<Verdict>,
    until: Tick,
}

impl<T> Cleared<T> {
    /// Issues the proof. Only the engine may call this.
    pub fn issue(value: T, verdict: Arc<Verdict>, until: Tick) -> Self {
        Self {
            value,
            verdict,
            until,
        }
    }

    /// Returns what was cleared.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// Returns the verdict under which it was cleared.
    pub fn verdict(&self) -> &Arc<Verdict> {
        &self.verdict
    }

    /// Returns when the clearance lapses: the caller's deadline.
    pub fn until(&self) -> Tick {
        self.until
    }
}
