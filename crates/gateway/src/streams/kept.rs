//! What was written to event streams and may still be asked for again: the events of all sessions
//! in one place, within a budget for each stream, each session and the process, and not for ever.
//!
//! The oldest go first, so that of a stream the answer, which comes last, goes last.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{Clock, Tick};
use mcpproxy_upstream::instance::ticket;

use crate::session::lock;

/// Bounds on what is kept.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Events of one stream.
    pub events: usize,
    /// Bytes of one stream; its latest event is kept whatever its size, within the others.
    pub stream: usize,
    /// Bytes of one session.
    pub session: usize,
    /// Bytes of all sessions.
    pub all: usize,
    /// How long an event is kept.
    pub time: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            events: 256,
            stream: 4 * 1024 * 1024,
            // As much as the largest answer of an upstream has by default.
            session: 64 * 1024 * 1024,
            all: 256 * 1024 * 1024,
            time: Duration::from_mins(5),
        }
    }
}

/// What keeping one event costs beside its bytes, counted so that many small ones are bounded too.
const OVERHEAD: usize = 128;

/// The events of all sessions.
#[derive(Debug)]
pub struct Kept {
    store: Mutex<Store>,
    budget: Budget,
    clock: Arc<dyn Clock>,
}

/// One session's part of what is kept; it goes when this is dropped.
#[derive(Debug)]
pub struct Share {
    kept: Arc<Kept>,
    session: u64,
}

/// A stream: its session and its number there.
type Name = (u64, u64);

#[derive(Debug, Default)]
struct Store {
    next: u64,
    bytes: usize,
    /// By age, oldest first.
    events: BTreeMap<u64, Event>,
    streams: HashMap<Name, Line>,
    sessions: HashMap<u64, Holding>,
}

#[derive(Debug)]
struct Event {
    stream: Name,
    sequence: u64,
    message: Bytes,
    since: Tick,
}

impl Event {
    fn cost(&self) -> usize {
        self.message.len() + OVERHEAD
    }
}

/// What is kept of one stream.
#[derive(Debug, Default)]
struct Line {
    bytes: usize,
    /// Oldest first.
    ages: VecDeque<u64>,
}

/// What is kept of one session.
#[derive(Debug, Default)]
struct Holding {
    bytes: usize,
    ages: BTreeSet<u64>,
}

impl Kept {
    /// Makes an empty place.
    pub fn new(budget: Budget, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            store: Mutex::default(),
            budget,
            clock,
        })
    }

    /// Opens a new session's part.
    pub fn share(self: &Arc<Self>) -> Share {
        Share {
            kept: Arc::clone(self),
            session: ticket(),
        }
    }

    /// Forgets what was kept for too long.
    pub fn sweep(&self) {
        let now = self.clock.tick();
        let mut store = lock(&self.store);
        while let Some((age, event)) = store.events.first_key_value() {
            if event.since.after(self.budget.time) > now {
                return;
            }
            let age = *age;
            store.drop_event(age);
        }
    }

    /// Returns how many bytes are kept.
    pub fn bytes(&self) -> usize {
        lock(&self.store).bytes
    }
}

impl Share {
    /// Keeps an event of a stream, in place of the oldest ones where there is no room.
    pub fn push(&self, number: u64, sequence: u64, message: Bytes) {
        let (budget, stream) = (&self.kept.budget, (self.session, number));
        let since = self.kept.clock.tick();
        let event = Event {
            stream,
            sequence,
            message,
            since,
        };
        let mut store = lock(&self.kept.store);
        store.add(event);
        while let Some(oldest) = store.excess(stream, budget) {
            store.drop_event(oldest);
        }
    }

    /// Returns what is kept of a stream, oldest first.
    pub fn events(&self, number: u64) -> Vec<(u64, Bytes)> {
        let store = lock(&self.kept.store);
        let line = store.streams.get(&(self.session, number));
        let ages = line.into_iter().flat_map(|line| &line.ages);
        let events = ages.filter_map(|age| store.events.get(age));
        events
            .map(|event| (event.sequence, event.message.clone()))
            .collect()
    }

    /// Tells whether nothing is kept of a stream.
    pub fn is_empty(&self, number: u64) -> bool {
        !lock(&self.kept.store)
            .streams
            .contains_key(&(self.session, number))
    }

    /// Forgets a stream.
    pub fn forget(&self, number: u64) {
        let mut store = lock(&self.kept.store);
        while let Some(age) = store.oldest_of((self.session, number)) {
            store.drop_event(age);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut store = lock(&self.kept.store);
        let holding = store.sessions.get(&self.session);
        let ages: Vec<_> = holding.map_or_else(Vec::new, |all| all.ages.iter().copied().collect());
        for age in ages {
            store.drop_event(age);
        }
    }
}

impl Store {
    fn add(&mut self, event: Event) {
        self.next += 1;
        let (age, cost) = (self.next, event.cost());
        self.bytes += cost;
        let line = self.streams.entry(event.stream).or_default();
        line.bytes += cost;
        line.ages.push_back(age);
        let holding = self.sessions.entry(event.stream.0).or_default();
        holding.bytes += cost;
        holding.ages.insert(age);
        self.events.insert(age, event);
    }

    /// Finds the event that has to go because of one that was just added, if one has to.
    fn excess(&self, stream: Name, budget: &Budget) -> Option<u64> {
        let Line { bytes, ages } = self.streams.get(&stream)?;
        if ages.len() > budget.events || (ages.len() > 1 && *bytes > budget.stream) {
            return ages.front().copied();
        }
        let holding = self.sessions.get(&stream.0)?;
        if holding.bytes > budget.session {
            return holding.ages.first().copied();
        }
        let oldest = self.events.first_key_value().map(|(age, _)| *age);
        oldest.filter(|_| self.bytes > budget.all)
    }

    fn oldest_of(&self, stream: Name) -> Option<u64> {
        self.streams.get(&stream)?.ages.front().copied()
    }

    fn drop_event(&mut self, age: u64) {
        let Some(event) = self.events.remove(&age) else {
            return;
        };
        self.bytes -= event.cost();
        if let Some(line) = self.streams.get_mut(&event.stream) {
            line.bytes -= event.cost();
            // Whatever goes is the oldest of its stream, but for a session that goes as a whole.
            match line.ages.front() {
                Some(first) if *first == age => drop(line.ages.pop_front()),
                _ => line.ages.retain(|one| *one != age),
            }
            if line.ages.is_empty() {
                self.streams.remove(&event.stream);
            }
        }
        if let Some(holding) = self.sessions.get_mut(&event.stream.0) {
            holding.bytes -= event.cost();
            holding.ages.remove(&age);
            if holding.ages.is_empty() {
                self.sessions.remove(&event.stream.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_testkit::FixedClock;

    use super::*;

    fn sequences(share: &Share, number: u64) -> Vec<u64> {
        let events = share.events(number);
        events.into_iter().map(|(sequence, _)| sequence).collect()
    }

    fn message(cost: usize) -> Bytes {
        vec![b'x'; cost - OVERHEAD].into()
    }

    #[test]
    fn the_oldest_go_first_at_every_bound() {
        let check = |budget: Budget, expect: [&[u64]; 3]| {
            let kept = Kept::new(budget, Arc::new(FixedClock::default()));
            let (one, other) = (kept.share(), kept.share());
            for sequence in 1..=3 {
                one.push(1, sequence, message(1000));
            }
            one.push(2, 1, message(1000));
            other.push(1, 1, message(1000));
            let found = [sequences(&one, 1), sequences(&one, 2), sequences(&other, 1)];
            assert_eq!(found, expect, "{budget:?}");
            drop((one, other));
            assert_eq!(kept.bytes(), 0);
        };
        let wide = Budget::default();
        check(wide, [&[1, 2, 3], &[1], &[1]]);
        check(Budget { events: 2, ..wide }, [&[2, 3], &[1], &[1]]);
        let narrow = |stream, session, all| Budget {
            stream,
            session,
            all,
            ..wide
        };
        // The latest event of a stream stays whatever its size.
        check(narrow(500, 9000, 9000), [&[3], &[1], &[1]]);
        check(narrow(9000, 2000, 9000), [&[3], &[1], &[1]]);
        check(narrow(9000, 9000, 2000), [&[], &[1], &[1]]);
        // But not past what a session may have.
        check(narrow(500, 500, 9000), [&[], &[], &[]]);
    }
}
