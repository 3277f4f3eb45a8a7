//! What one gateway has in memory of who is logged in, by its own clock and within bounds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpproxy_core::{Clock, Secret, Tick, Wall};

use super::{ATTEMPTS, Followed, Hash, IDLE, LINK, LONGEST, Notice, Viewer, WINDOW};

/// Sessions at once; past that the oldest ends.
pub(super) const SESSIONS: usize = 64;
/// Links at once; past that the oldest ends.
pub(super) const LINKS: usize = 16;
/// Sessions that ended and that others could not be told of; past that the oldest is not refused
/// any more.
const ENDED: usize = 1024;

struct Session {
    viewer: Viewer,
    began: Tick,
    used: Tick,
    notice: Option<Notice>,
    /// When it began, for other gateways.
    at: Wall,
    told: Told,
}

/// Whether the store that gateways share was told of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// It does not know of it.
    Not,
    /// It has it.
    Known,
    /// It had it, and word that it ended elsewhere may have been missed: the store has to be asked.
    Doubted,
}

impl Session {
    fn is_over(&self, now: Tick) -> bool {
        now >= self.began.after(LONGEST) || now >= self.used.after(IDLE)
    }
}

struct Link {
    key: Option<Secret>,
    until: Tick,
}

#[derive(Default)]
struct Known {
    sessions: HashMap<Hash, Session>,
    links: HashMap<Hash, Link>,
    failures: Vec<Tick>,
    /// Sessions that ended although the store may still have them, and until when it may.
    ended: HashMap<Hash, Tick>,
}

/// What is in memory.
pub(super) struct Table {
    known: Mutex<Known>,
    clock: Arc<dyn Clock>,
}

impl Table {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let known = Mutex::default();
        Self { known, clock }
    }

    /// Begins a session; returns the one that had to make room, if any.
    pub(super) fn begin(&self, viewer: &Viewer) -> Option<Hash> {
        let (now, at) = (self.clock.tick(), self.clock.wall());
        let mut known = self.swept();
        let full = known.sessions.len() >= SESSIONS;
        let oldest = known.sessions.iter().min_by_key(|(_, one)| one.began);
        let oldest = oldest.map(|(hash, _)| *hash).filter(|_| full);
        oldest.and_then(|hash| known.sessions.remove(&hash));
        let session = Session {
            viewer: viewer.clone(),
            began: now,
            used: now,
            notice: None,
            at,
            told: Told::Not,
        };
        known.sessions.insert(viewer.hash, session);
        oldest
    }

    /// Finds a session of which nobody doubts that it goes on, and counts it as used.
    pub(super) fn find(&self, hash: &Hash) -> Option<Viewer> {
        let now = self.clock.tick();
        let mut known = self.swept();
        let session = known.sessions.get_mut(hash);
        let session = session.filter(|session| session.told != Told::Doubted)?;
        session.used = now;
        Some(session.viewer.clone())
    }

    /// Returns when a session began that is known here.
    pub(super) fn began(&self, hash: &Hash) -> Option<Wall> {
        self.swept().sessions.get(hash).map(|session| session.at)
    }

    /// Notes that the store knows of a session.
    pub(super) fn told(&self, hash: &Hash) {
        if let Some(session) = self.swept().sessions.get_mut(hash) {
            session.told = Told::Known;
        }
    }

    /// Tells whether the store knew of a session.
    pub(super) fn is_told(&self, hash: &Hash) -> bool {
        let known = self.swept();
        let session = known.sessions.get(hash);
        session.is_some_and(|session| session.told != Told::Not)
    }

    /// Gives a session the key; tells whether it is known here.
    pub(super) fn unlock(&self, hash: &Hash, key: Secret) -> bool {
        let mut known = self.swept();
        let session = known.sessions.get_mut(hash);
        session
            .map(|session| session.viewer.key = Some(key))
            .is_some()
    }

    /// Ends a session.
    pub(super) fn end(&self, hash: &Hash) {
        self.swept().sessions.remove(hash);
    }

    /// Doubts every session that the store knew of: some may have ended. The store says which.
    pub(super) fn doubt_told(&self) {
        let mut known = self.swept();
        let told = known.sessions.values_mut();
        let told = told.filter(|session| session.told == Told::Known);
        told.for_each(|session| session.told = Told::Doubted);
    }

    /// Notes that a session ended which the store may still have.
    pub(super) fn note_ended(&self, hash: Hash) {
        let until = self.clock.tick().after(LONGEST);
        let mut known = self.swept();
        if known.ended.len() >= ENDED {
            let oldest = known.ended.iter().min_by_key(|(_, until)| **until);
            let oldest = oldest.map(|(hash, _)| *hash);
            oldest.and_then(|hash| known.ended.remove(&hash));
        }
        known.ended.insert(hash, until);
    }

    /// Tells whether a session ended here, whatever the store says.
    pub(super) fn has_ended(&self, hash: &Hash) -> bool {
        self.swept().ended.contains_key(hash)
    }

    /// Leaves word for the next page.
    pub(super) fn tell(&self, hash: &Hash, notice: Notice) {
        if let Some(session) = self.swept().sessions.get_mut(hash) {
            session.notice = Some(notice);
        }
    }

    /// Takes the word that was left.
    pub(super) fn notice(&self, hash: &Hash) -> Option<Notice> {
        self.swept().sessions.get_mut(hash)?.notice.take()
    }

    /// Keeps a link.
    pub(super) fn link(&self, hash: Hash, key: Option<Secret>) {
        let until = self.clock.tick().after(LINK);
        let mut known = self.swept();
        if known.links.len() >= LINKS {
            let oldest = known.links.iter().min_by_key(|(_, one)| one.until);
            let oldest = oldest.map(|(hash, _)| *hash);
            oldest.and_then(|hash| known.links.remove(&hash));
        }
        known.links.insert(hash, Link { key, until });
    }

    /// Uses a link up, where there is such a link.
    pub(super) fn follow(&self, hash: &Hash) -> Option<Followed> {
        let Link { key, .. } = self.swept().links.remove(hash)?;
        Some(Followed { key })
    }

    /// Tells whether a key may be tried; counts every time that it may.
    pub(super) fn may_try(&self) -> bool {
        let now = self.clock.tick();
        let mut known = self.swept();
        let may = known.failures.len() < usize::try_from(ATTEMPTS).unwrap_or(usize::MAX);
        if may {
            known.failures.push(now);
        }
        may
    }

    /// Takes the last attempt off the count.
    pub(super) fn forgive(&self) {
        self.swept().failures.pop();
    }

    /// Returns how many sessions and links there are.
    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize) {
        let known = self.swept();
        (known.sessions.len(), known.links.len())
    }

    /// Locks what is known and drops what is over.
    fn swept(&self) -> MutexGuard<'_, Known> {
        let now = self.clock.tick();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.sessions.retain(|_, session| !session.is_over(now));
        known.links.retain(|_, link| now < link.until);
        known.failures.retain(|failed| now < failed.after(WINDOW));
        known.ended.retain(|_, until| now < *until);
        known
    }
}
