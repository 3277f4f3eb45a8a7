//! The requests in flight, by id. Two calls with one id are two calls: the first answer is taken
//! for the first of them.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use mcpproxy_core::Tick;
use mcpproxy_mcp::tap;
use mcpproxy_notary::ledger::Ticket;

/// Requests in flight that are followed. Past it the oldest is taken for lost.
const MOST: usize = 65_536;

/// A call whose answer is awaited.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) ticket: Ticket,
    pub(super) since: Tick,
    /// When it was cancelled.
    pub(super) cancelled: Option<Tick>,
    /// Whether the upstream answered with what is no message.
    pub(super) refused: bool,
}

#[derive(Debug)]
enum Entry {
    /// A request of another kind, whose answer must not be taken for a call's.
    Other,
    Call(Box<Open>),
}

/// The requests in flight.
#[derive(Debug, Default)]
pub(super) struct Calls {
    next: u64,
    entries: BTreeMap<u64, (String, Entry)>,
    by_id: BTreeMap<String, VecDeque<u64>>,
    waiting: usize,
}

impl Calls {
    /// Returns how many calls are open.
    pub(super) fn open(&self) -> usize {
        self.waiting
    }

    /// Tells whether a request with this id is in flight.
    pub(super) fn has(&self, id: &[u8]) -> bool {
        self.by_id.contains_key(&key(id))
    }

    /// Follows a request that is no call.
    pub(super) fn add_other(&mut self, id: &[u8]) -> Option<Open> {
        self.add(id, Entry::Other)
    }

    /// Follows a call; returns the one that had to make room.
    pub(super) fn add_call(&mut self, id: &[u8], open: Open) -> Option<Open> {
        self.waiting += 1;
        self.add(id, Entry::Call(Box::new(open)))
    }

    fn add(&mut self, id: &[u8], entry: Entry) -> Option<Open> {
        let key = key(id);
        self.by_id
            .entry(key.clone())
            .or_default()
            .push_back(self.next);
        self.entries.insert(self.next, (key, entry));
        self.next += 1;
        let oldest = *self
            .entries
            .keys()
            .next()
            .filter(|_| self.entries.len() > MOST)?;
        self.remove(oldest)
    }

    /// Takes the request that an answer with this id is for, if it is a call.
    pub(super) fn answered(&mut self, id: &[u8]) -> Option<Open> {
        let first = *self.by_id.get(&key(id))?.front()?;
        self.remove(first)
    }

    /// Notes that the request with this id was cancelled: the last one, which the caller means.
    pub(super) fn cancel(&mut self, id: &[u8], now: Tick) {
        let serial = self.by_id.get(&key(id)).and_then(|queue| queue.back());
        let entry = serial.and_then(|serial| self.entries.get_mut(serial));
        if let Some((_, Entry::Call(open))) = entry
            && open.cancelled.is_none()
        {
            open.cancelled = Some(now);
        }
    }

    /// Notes that the request with this id was answered with what is no message.
    pub(super) fn refuse(&mut self, id: &[u8]) {
        let serial = self.by_id.get(&key(id)).and_then(|queue| queue.front());
        let entry = serial.and_then(|serial| self.entries.get_mut(serial));
        if let Some((_, Entry::Call(open))) = entry {
            open.refused = true;
        }
    }

    /// Takes the calls that have waited too long: `patience` for an answer, or `grace` after they
    /// were cancelled.
    pub(super) fn overdue(&mut self, now: Tick, patience: Duration, grace: Duration) -> Vec<Open> {
        let late = |open: &Open| {
            let cancelled = open.cancelled.is_some_and(|at| now >= at.after(grace));
            cancelled || now >= open.since.after(patience)
        };
        let found = self
            .entries
            .iter()
            .filter_map(|(serial, (_, entry))| match entry {
                Entry::Call(open) if late(open) => Some(*serial),
                _ => None,
            });
        let found: Vec<u64> = found.collect();
        found
            .into_iter()
            .filter_map(|serial| self.remove(serial))
            .collect()
    }

    /// Takes all calls.
    pub(super) fn drain(&mut self) -> Vec<Open> {
        let all: Vec<u64> = self.entries.keys().copied().collect();
        all.into_iter()
            .filter_map(|serial| self.remove(serial))
            .collect()
    }

    fn remove(&mut self, serial: u64) -> Option<Open> {
        let (key, entry) = self.entries.remove(&serial)?;
        if let Some(queue) = self.by_id.get_mut(&key) {
            if queue.front() == Some(&serial) {
                queue.pop_front();
            } else {
                queue.retain(|other| *other != serial);
            }
            if queue.is_empty() {
                self.by_id.remove(&key);
            }
        }
        match entry {
            Entry::Other => None,
            Entry::Call(open) => {
                self.waiting -= 1;
                Some(*open)
            }
        }
    }
}

/// Brings an id to one spelling: an upstream may escape or print it otherwise.
pub(super) fn key(id: &[u8]) -> String {
    if let Some(text) = tap::text(id) {
        return format!("s{text}");
    }
    let raw = String::from_utf8_lossy(id);
    match raw.trim().parse::<f64>() {
        Ok(number) if raw.contains(['.', 'e', 'E']) => format!("n{number}"),
        _ => format!("n{}", raw.trim()),
    }
}
