//! Alerts that were not taken, and when each is tried again. What is posted, and how, is not known here.
//!
//! Each has pauses of its own, so that one that is never taken is asked about less and less. A sign that the
//! webhook is well brings all of them one try at once, oldest first, which costs none of their pauses. They
//! go one by one at first, more with every one that is taken, and one by one with time between after one
//! that is not: a webhook that takes a few at a time gets all of them.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// Alerts that are posted at once for the first time, and again.
pub(super) const AT_ONCE: usize = 16;
/// The first pause, and the longest; each is four times the one before.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(30)];
/// How long nothing is tried again after one that was not taken once more.
const APART: Duration = Duration::from_secs(1);

/// What waits.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    pub(super) what: T,
    /// Its place: they stand in the order in which they came.
    number: u64,
    /// When it is given up.
    until: Instant,
    /// Since when it may be tried.
    ready: Instant,
    /// When its own pause ends, and how long the next is.
    due: Instant,
    pause: Duration,
    /// Whether it had a try in this pause already.
    woken: bool,
}

impl<T> Waiting<T> {
    /// Begins its next pause, or goes on with the one in which it was woken.
    fn rest(&mut self, now: Instant) {
        if self.woken && self.due > now {
            self.ready = self.due;
            return;
        }
        let [_, longest] = PAUSES;
        self.due = now + self.pause;
        self.ready = self.due;
        self.pause = (self.pause * 4).min(longest);
        self.woken = false;
    }
}

/// All that wait.
#[derive(Debug)]
pub(super) struct Line<T> {
    waiting: BTreeMap<u64, Waiting<T>>,
    came: u64,
    /// How many are being tried again, and how many may be.
    out: usize,
    width: usize,
    /// Until when none is.
    held: Option<Instant>,
    /// When one was last taken.
    taken: Option<Instant>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            came: 0,
            out: 0,
            width: 1,
            held: None,
            taken: None,
        }
    }
}

impl<T> Line<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns how many there are, with those that are being tried again.
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.out
    }

    /// Takes in one that was not taken at its first try; tells whether there is still time for another.
    pub(super) fn push(&mut self, what: T, until: Instant, now: Instant) -> bool {
        self.width = 1;
        self.came += 1;
        self.insert(
            Waiting {
                what,
                number: self.came,
                until,
                ready: now,
                due: now,
                pause: PAUSES[0],
                woken: false,
            },
            now,
        )
    }

    /// Takes one back that was not taken once more.
    pub(super) fn put_back(&mut self, waiting: Waiting<T>, now: Instant) -> bool {
        self.width = 1;
        self.held = Some(now + APART);
        self.insert(waiting, now)
    }

    fn insert(&mut self, mut waiting: Waiting<T>, now: Instant) -> bool {
        waiting.rest(now);
        let is_time = waiting.until > now;
        if is_time {
            self.waiting.insert(waiting.number, waiting);
        }
        is_time
    }

    /// Notes that one that was tried again is no longer under way.
    pub(super) fn came_back(&mut self) {
        self.out = self.out.saturating_sub(1);
    }

    /// Notes that one was taken, a new one or one of these: the webhook is well.
    pub(super) fn taken(&mut self, now: Instant) {
        let [_, longest] = PAUSES;
        self.width = (self.width * 2).min(AT_ONCE);
        // After so long a time it was away, and what waited for its turn meanwhile has nothing ahead.
        let was_away = self.taken.is_none_or(|taken| taken + longest < now);
        self.taken = Some(now);
        for waiting in self.waiting.values_mut() {
            if waiting.ready > now && !waiting.woken {
                waiting.woken = true;
                waiting.ready = now;
            } else if was_away {
                waiting.ready = waiting.ready.max(now);
            }
        }
    }

    /// Takes out the next that is to be tried by now: of those that wait for it longest, the oldest.
    pub(super) fn pop(&mut self, now: Instant) -> Option<Waiting<T>> {
        if self.out >= self.width || self.held.is_some_and(|held| held > now) {
            return None;
        }
        let ready = self.waiting.values().filter(|one| one.ready <= now);
        let number = ready.min_by_key(|one| (one.ready, one.number))?.number;
        self.out += 1;
        self.waiting.remove(&number)
    }

    /// Takes out those whose time is over.
    pub(super) fn expired(&mut self, now: Instant) -> Vec<Waiting<T>> {
        let over = self.waiting.extract_if(.., |_, one| one.until <= now);
        over.map(|(_, one)| one).collect()
    }

    /// Returns when there is something to be done next, unless one comes back before; nothing where
    /// nothing waits.
    pub(super) fn next(&self) -> Option<Instant> {
        let over = self.waiting.values().map(|one| one.until).min()?;
        let ready = self.waiting.values().map(|one| one.ready).min()?;
        if self.out >= self.width {
            return Some(over);
        }
        Some(over.min(self.held.map_or(ready, |held| held.max(ready))))
    }
}
