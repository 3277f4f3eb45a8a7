//! Whether records are being lost, how many were, and whether old ones cannot be dropped.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How the writer is doing, for everybody who wants to know.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// Asked before every call, so that nobody waits for the lock while all is well.
    broken: AtomicBool,
    why: Mutex<Option<String>>,
    /// Since all was well, and since the start.
    lost: AtomicU64,
    ever_lost: AtomicU64,
    doubt: Mutex<Option<String>>,
}

impl Health {
    /// Notes that records were lost, and why.
    pub(crate) fn fail(&self, why: &str, lost: usize) {
        let lost = u64::try_from(lost).unwrap_or(u64::MAX);
        self.lost.fetch_add(lost, Ordering::Relaxed);
        self.ever_lost.fetch_add(lost, Ordering::Relaxed);
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

    /// Returns how many records were lost since the start.
    pub(crate) fn ever_lost(&self) -> u64 {
        self.ever_lost.load(Ordering::Relaxed)
    }

    /// Notes why old records are not dropped; tells whether that is news.
    pub(crate) fn doubt(&self, why: &str) -> bool {
        let mut doubt = self.doubt.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = doubt.as_deref() != Some(why);
        *doubt = Some(why.to_owned());
        is_news
    }

    /// Notes that they are, or need not be.
    pub(crate) fn trust(&self) {
        *self.doubt.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Says why old records are not dropped, while they are not.
    pub(crate) fn doubted(&self) -> Option<String> {
        let doubt = self.doubt.lock().unwrap_or_else(PoisonError::into_inner);
        doubt.clone()
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
