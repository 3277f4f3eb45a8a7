//! Reads that an agent has begun and whose result its hook has not told yet.
//!
//! Agents tell what a tool gave without waiting for us, so it may come after the next call. A call
//! that goes outside waits for it, briefly and once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_core::{SessionKey, Tick};
use tokio::sync::Notify;

use crate::correlate::Fingerprint;

/// How long a call waits for what was read before it.
const PATIENCE: Duration = Duration::from_millis(150);
/// How long a read may be under way; then it failed, or nobody tells of it.
const LONGEST: Duration = Duration::from_secs(30);
/// Reads under way that are remembered, of one conversation and of all.
const MOST_EACH: usize = 64;
const MOST: usize = 4096;

#[derive(Debug)]
struct Read {
    which: Fingerprint,
    begun: Tick,
}

/// The reads under way.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    open: Mutex<HashMap<SessionKey, Vec<Read>>>,
    count: AtomicUsize,
    told: Notify,
}

impl Reads {
    /// Notes that a read has begun.
    pub(crate) fn begin(&self, session: SessionKey, which: Fingerprint, now: Tick) {
        let mut open = self.open();
        open.retain(|_, reads| {
            reads.retain(|read| now.0.saturating_sub(read.begun.0) < LONGEST);
            !reads.is_empty()
        });
        let all: usize = open.values().map(Vec::len).sum();
        let reads = open.entry(session).or_default();
        if reads.len() < MOST_EACH && all < MOST {
            reads.push(Read { which, begun: now });
        }
        self.recount(&open);
    }

    /// Notes that the result of a read is known.
    pub(crate) fn end(&self, session: SessionKey, which: Fingerprint) {
        let mut open = self.open();
        if let Some(reads) = open.get_mut(&session) {
            reads.retain(|read| read.which != which);
            if reads.is_empty() {
                open.remove(&session);
            }
        }
        self.recount(&open);
        drop(open);
        self.told.notify_waiters();
    }

    /// Tells whether nothing is under way at all.
    pub(crate) fn is_idle(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Waits until everything that a conversation has begun to read is known; returns false if it
    /// did not become known in time. It is not waited for again.
    pub(crate) async fn known(&self, session: SessionKey) -> bool {
        let known = async {
            loop {
                let told = self.told.notified();
                tokio::pin!(told);
                told.as_mut().enable();
                if !self.open().contains_key(&session) {
                    return;
                }
                told.await;
            }
        };
        if tokio::time::timeout(PATIENCE, known).await.is_ok() {
            return true;
        }
        let mut open = self.open();
        open.remove(&session);
        self.recount(&open);
        false
    }

    fn recount(&self, open: &HashMap<SessionKey, Vec<Read>>) {
        let all = open.values().map(Vec::len).sum();
        self.count.store(all, Ordering::Release);
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionKey, Vec<Read>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::{Id128, SessionBasis};
    use serde_json::json;

    use super::*;

    const SESSION: SessionKey = SessionKey {
        basis: SessionBasis::Hook,
        id: Id128(1),
    };

    #[tokio::test(start_paused = true)]
    async fn a_read_is_waited_for_briefly_and_once() {
        let reads = Reads::default();
        let which = Fingerprint::of("Read", &json!({}));
        assert!(reads.is_idle() && reads.known(SESSION).await);
        reads.begin(SESSION, which, Tick(Duration::ZERO));
        let begun = tokio::time::Instant::now();
        assert!(!reads.known(SESSION).await);
        assert_eq!(begun.elapsed(), PATIENCE);
        assert!(reads.known(SESSION).await);
        reads.begin(SESSION, which, Tick(Duration::ZERO));
        let both =
            async { tokio::join!(reads.known(SESSION), async { reads.end(SESSION, which) }) };
        assert!(both.await.0);
        assert!(reads.is_idle());
    }
}
