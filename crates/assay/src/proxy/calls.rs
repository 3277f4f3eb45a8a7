//! The requests in flight, by id. Two calls with one id are two calls. Where each message has an
//! exchange of its own, an answer belongs to what that exchange asked. Elsewhere the first answer is
//! taken for the first call, and every call that it may have been for says so.

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
    /// Whether an answer came that may have been for this call or for another request.
    pub(super) ambiguous: bool,
}

/// The number of a line that the client sent.
pub(super) type Number = u64;

#[derive(Debug)]
enum Kind {
    /// A request of another kind, whose answer must not be taken for a call's.
    Other,
    Call(Box<Open>),
    /// A call that is on record as not answered. Its answer may still come.
    Gone,
}

#[derive(Debug)]
struct Entry {
    key: String,
    /// The line that it came in.
    line: Number,
    kind: Kind,
}

impl Entry {
    fn call(&mut self) -> Option<&mut Open> {
        match &mut self.kind {
            Kind::Call(open) => Some(open),
            Kind::Other | Kind::Gone => None,
        }
    }

    fn is_gone(&self) -> bool {
        matches!(self.kind, Kind::Gone)
    }
}

/// The requests in flight.
#[derive(Debug, Default)]
pub(super) struct Calls {
    next: u64,
    entries: BTreeMap<u64, Entry>,
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
        let queue = self.by_id.get(&key(id));
        let mut entries = queue.into_iter().flatten();
        entries.any(|serial| self.entries.get(serial).is_some_and(|one| !one.is_gone()))
    }

    /// Follows a request that is no call.
    pub(super) fn add_other(&mut self, id: &[u8], line: Number) -> Option<Open> {
        self.add(id, line, Kind::Other)
    }

    /// Follows a call; returns the one that had to make room.
    pub(super) fn add_call(&mut self, id: &[u8], line: Number, open: Open) -> Option<Open> {
        self.waiting += 1;
        self.add(id, line, Kind::Call(Box::new(open)))
    }

    fn add(&mut self, id: &[u8], line: Number, kind: Kind) -> Option<Open> {
        let key = key(id);
        self.by_id
            .entry(key.clone())
            .or_default()
            .push_back(self.next);
        self.entries.insert(self.next, Entry { key, line, kind });
        self.next += 1;
        let oldest = *self
            .entries
            .keys()
            .next()
            .filter(|_| self.entries.len() > MOST)?;
        self.remove(oldest)
    }

    /// Takes the request that an answer with this id is for, if it is a call. `line` is the one
    /// whose exchange brought the answer, where that is known.
    pub(super) fn answered(&mut self, id: &[u8], line: Option<Number>) -> Option<Open> {
        let asked = self.asked(id, line);
        if asked.len() > 1 {
            for serial in &asked {
                let open = self.entries.get_mut(serial).and_then(Entry::call);
                if let Some(open) = open {
                    open.ambiguous = true;
                }
            }
        }
        // A call that is waited for is likelier to be answered than one that was given up.
        let gone = |serial: &u64| self.entries.get(serial).is_none_or(Entry::is_gone);
        let waited = asked.iter().find(|serial| !gone(serial));
        let taken = *waited.or_else(|| asked.first())?;
        self.remove(taken)
    }

    /// Returns the requests that an answer with this id may be for, the oldest first.
    fn asked(&self, id: &[u8], line: Option<Number>) -> Vec<u64> {
        let own = |serial: &u64| {
            let entry = self.entries.get(serial);
            line.is_none() || line == entry.map(|entry| entry.line)
        };
        let queue = self.by_id.get(&key(id)).into_iter().flatten();
        queue.copied().filter(own).collect()
    }

    /// Notes that the request with this id was cancelled: the last one, which the caller means.
    pub(super) fn cancel(&mut self, id: &[u8], now: Tick) {
        let queue = self.by_id.get(&key(id)).into_iter().flatten();
        let gone = |serial: &&u64| self.entries.get(*serial).is_none_or(Entry::is_gone);
        let last = queue.rev().find(|serial| !gone(serial)).copied();
        let entry = last.and_then(|serial| self.entries.get_mut(&serial));
        if let Some(open) = entry.and_then(Entry::call)
            && open.cancelled.is_none()
        {
            open.cancelled = Some(now);
        }
    }

    /// Notes that the request with this id, of this line, was answered with what is no message.
    pub(super) fn refuse(&mut self, id: &[u8], line: Number) {
        let asked = self.asked(id, Some(line));
        let entry = asked
            .first()
            .and_then(|serial| self.entries.get_mut(serial));
        if let Some(open) = entry.and_then(Entry::call) {
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
        let mut found = Vec::new();
        for entry in self.entries.values_mut() {
            if entry.call().is_some_and(|open| late(open)) {
                found.push(std::mem::replace(&mut entry.kind, Kind::Gone));
            }
        }
        self.waiting -= found.len();
        let found = found.into_iter();
        found
            .filter_map(|kind| match kind {
                Kind::Call(open) => Some(*open),
                Kind::Other | Kind::Gone => None,
            })
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
        let Entry { key, kind, .. } = self.entries.remove(&serial)?;
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
        match kind {
            Kind::Other | Kind::Gone => None,
            Kind::Call(open) => {
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
