//! Events that wait to be told to other processes, by scope, in the order in which they were folded.
//!
//! Where nobody is told, nothing is made and nothing waits.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcpproxy_core::{FlowScope, Tick};

use crate::event::{Event, Lane};

/// Bytes that may wait: beyond the first, text is not told; beyond the second, nothing is.
const TEXT: usize = 24 << 20;
const ALL: usize = 32 << 20;

/// What waits.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    on: AtomicBool,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    scopes: HashMap<FlowScope, VecDeque<(Tick, Event)>>,
    bytes: usize,
    dropped: u64,
}

impl Outbox {
    /// Begins to keep what happens.
    pub(crate) fn open(&self) {
        self.on.store(true, Ordering::Release);
    }

    pub(crate) fn is_open(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    /// Keeps an event, if anybody is told.
    pub(crate) fn put(&self, scope: FlowScope, now: Tick, make: impl FnOnce() -> Event) {
        if !self.is_open() {
            return;
        }
        let event = make();
        let most = match event.lane() {
            Lane::Text => TEXT,
            Lane::Kept => ALL,
        };
        let mut waiting = self.waiting();
        let bytes = waiting.bytes + event.bytes();
        if bytes > most {
            waiting.dropped += 1;
            return;
        }
        waiting.bytes = bytes;
        let queue = waiting.scopes.entry(scope).or_default();
        queue.push_back((now, event));
    }

    /// Takes what waits for a scope.
    pub(crate) fn take(&self, scope: FlowScope) -> VecDeque<(Tick, Event)> {
        let mut waiting = self.waiting();
        let taken = waiting.scopes.remove(&scope).unwrap_or_default();
        let bytes: usize = taken.iter().map(|(_, event)| event.bytes()).sum();
        waiting.bytes = waiting.bytes.saturating_sub(bytes);
        taken
    }

    /// Returns the scopes for which something waits.
    pub(crate) fn scopes(&self) -> Vec<FlowScope> {
        self.waiting().scopes.keys().copied().collect()
    }

    /// Returns how many events could not wait.
    pub(crate) fn dropped(&self) -> u64 {
        self.waiting().dropped
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
