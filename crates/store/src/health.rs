//! Whether records are being lost, and how many were.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How the writer is doing, for everybody who wants to know.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// Asked before every call, so that nobody waits for the lock while all is well.
    broken: AtomicBool,
    why: Mutex<Option<String>>,
    lost: AtomicU64,
}

impl Health {
    /// Notes that records were lost, and why.
    pub(crate) fn fail(&self, why: &str, lost: usize) {
        let lost = u64::try_from(lost).unwrap_or(u64::MAX);
        self.lost.fetch_add(lost, Ordering::Relaxed);
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.to_owned());
        self.broken.store(true, Ordering::Release);
    }

    /// Notes that records are written again.
    pub(crate) fn mend(&self) {
        self.lost.store(0, Ordering::Relaxed);
        self.broken.store(false, Ordering::Release);
    }

    /// Returns how many records were lost since all was well.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Says why records are being lost, while they are.
    pub(crate) fn problem(&self) -> Option<String> {
        if !self.broken.load(Ordering::Acquire) {
            return None;
        }
        let why = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        let why = why.as_deref().unwrap_or("the writer has stopped");
        Some(match self.lost() {
            0 => why.to_owned(),
            lost => format!("{why}; {lost} records were lost since"),
        })
    }
}
