//! What waits for the writer: records in a bounded number, and chores of upkeep.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mcpproxy_core::{Record, SinkFault};
use tokio::sync::oneshot;

use crate::block::Block;
use crate::database::{Prune, Redact};

/// Records that may wait for the writer; past that an append says that the queue is full.
const QUEUE: usize = 16_384;
/// Records that are not gathered any longer.
const PLENTY: usize = QUEUE / 2;
/// How long relaxed records are gathered before they are written: more of them share one commit,
/// and the threads that answer calls need not wake the writer for each.
const GATHER: Duration = Duration::from_millis(20);

/// A record to be written, or nothing but the wish to know that all before is written.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) record: Option<Record>,
    pub(crate) durable: Option<oneshot::Sender<Result<(), SinkFault>>>,
}

/// What upkeep has prepared and only the writer may do.
#[derive(Debug)]
pub(crate) enum Chore {
    /// Keeps how the records of a finished block are found.
    Seal(Block),
    /// Drops records.
    Drop(Prune),
    /// Drops what records say in words.
    Redact(Redact),
    /// Moves all that was written to where it belongs.
    Settle,
    /// Signs how far the chain has got.
    Sign,
}

/// What the writer does next.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) entries: Vec<Entry>,
    pub(crate) chore: Option<Chore>,
}

/// The queue.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<Entry>,
    chores: VecDeque<Chore>,
    /// The writer does one at the moment.
    busy: bool,
    /// Somebody waits for an entry to be durable.
    urgent: bool,
    closed: bool,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an entry, unless there are too many.
    pub(crate) fn push(&self, entry: Entry) -> Result<(), SinkFault> {
        let mut state = self.state();
        if state.closed {
            return Err(SinkFault::Broken("the writer has stopped".into()));
        }
        if state.entries.len() >= QUEUE {
            return Err(SinkFault::Full);
        }
        let hurry = entry.durable.is_some() && !state.urgent;
        state.urgent |= entry.durable.is_some();
        state.entries.push(entry);
        // The writer sleeps through what can wait.
        let wake = hurry || matches!(state.entries.len(), 1 | PLENTY);
        drop(state);
        if wake {
            self.news.notify_one();
        }
        Ok(())
    }

    /// Takes a chore.
    pub(crate) fn ask(&self, chore: Chore) {
        self.state().chores.push_back(chore);
        self.news.notify_one();
    }

    /// Takes a chore back that could not be done.
    pub(crate) fn put_back(&self, chore: Chore) {
        self.state().chores.push_front(chore);
    }

    /// Returns how many entries wait.
    pub(crate) fn waiting(&self) -> usize {
        self.state().entries.len()
    }

    /// Returns how many chores are not done.
    pub(crate) fn chores(&self) -> usize {
        let state = self.state();
        state.chores.len() + usize::from(state.busy)
    }

    /// Lets the writer end once everything is written; nothing more is taken.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.news.notify_one();
    }

    /// Waits for something to do; returns nothing at the end.
    pub(crate) fn take(&self) -> Option<Batch> {
        self.state().busy = false;
        let nothing = |state: &mut State| {
            state.entries.is_empty() && state.chores.is_empty() && !state.closed
        };
        let mut state = self
            .news
            .wait_while(self.state(), nothing)
            .unwrap_or_else(PoisonError::into_inner);
        let can_wait = |state: &mut State| {
            let few = state.entries.len() < PLENTY;
            few && !state.urgent && !state.closed && state.chores.is_empty()
        };
        if can_wait(&mut state) {
            let waited = self.news.wait_timeout_while(state, GATHER, can_wait);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.closed && state.entries.is_empty() {
            return None;
        }
        state.urgent = false;
        let chore = state.chores.pop_front();
        state.busy = chore.is_some();
        Some(Batch {
            entries: std::mem::take(&mut state.entries),
            chore,
        })
    }

    /// Waits while nothing can be written, and hands out what cannot wait so long.
    ///
    /// Returns false once the queue is closed.
    pub(crate) fn wait(&self, pause: Duration, mut refuse: impl FnMut(Entry)) -> bool {
        let until = Instant::now() + pause;
        let mut state = self.state();
        loop {
            state.urgent = false;
            for entry in state
                .entries
                .extract_if(.., |entry| entry.durable.is_some())
            {
                refuse(entry);
            }
            let left = until.saturating_duration_since(Instant::now());
            if state.closed || left.is_zero() {
                return !state.closed;
            }
            let calm = |state: &mut State| !state.urgent && !state.closed;
            let waited = self.news.wait_timeout_while(state, left, calm);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
