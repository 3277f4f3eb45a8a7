//! All sessions: opening them within a bound and fairly, finding them, and ending those that were
//! left alone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{Clock, Id128, Principal, Room, SessionBasis, SessionKey, Shares, Wall};
use mcpproxy_engine::Engine;
use mcpproxy_upstream::Greeting;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::{Question, Session, lock};
use crate::news::News;
use crate::settings::RoutingMode;
use crate::streams::{Budget, Kept, Streams};

/// Requests of upstreams that may wait to be put to one client.
const UNASKED: usize = 16;

/// What opening a session needs to know.
#[derive(Debug)]
pub struct NewSession {
    /// Who opens it.
    pub who: Principal,
    /// What the client says about itself.
    pub greeting: Arc<Greeting>,
    /// The version in force.
    pub version: String,
    /// What the endpoint shows.
    pub mode: RoutingMode,
    /// Has hooks look at what upstreams say to it.
    pub engine: Option<Arc<Engine>>,
    /// When it was opened, if not now.
    pub opened: Option<Wall>,
}

/// A session that was opened.
#[derive(Debug)]
pub struct Opened {
    /// The session.
    pub session: Arc<Session>,
    /// The questions of upstreams that belong to no call.
    pub questions: mpsc::Receiver<Box<Question>>,
    /// The session that was ended to make room.
    pub evicted: Option<Arc<Session>>,
}

/// All sessions.
#[derive(Debug)]
pub struct Sessions {
    table: Mutex<Table>,
    kept: Arc<Kept>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Default)]
struct Table {
    open: HashMap<String, Arc<Session>>,
    shares: Shares,
}

impl Table {
    fn remove(&mut self, id: &str) -> Option<Arc<Session>> {
        let session = self.open.remove(id)?;
        self.shares.remove(&session.who.name);
        Some(session)
    }

    /// Takes the session of a principal that was idle for longest.
    fn take_idle(&mut self, who: &str) -> Option<Arc<Session>> {
        let own = self.open.values().filter(|one| &*one.who.name == who);
        let idle = own.filter(|one| one.is_idle());
        let oldest = idle.min_by_key(|one| one.used.load(Ordering::Relaxed))?;
        let id = oldest.id.clone();
        self.remove(&id)
    }
}

impl Sessions {
    /// Makes an empty table.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            table: Mutex::default(),
            kept: Kept::new(Budget::default(), Arc::clone(&clock)),
            clock,
        }
    }

    /// Opens a session. Where there are too many, the one that was idle for longest of whoever has
    /// more than an equal share of `limit` ends; where none is idle, nothing is returned.
    pub fn open(&self, new: NewSession, limit: usize) -> Option<Opened> {
        let random: [u8; 16] = mcpproxy_mcp::seal::random().ok()?;
        self.open_as(Id128::from_bytes(random).to_string(), new, limit)
            .ok()?
    }

    /// Opens a session under an id that was given to it elsewhere, or returns the one that has it.
    pub fn adopt(
        &self,
        id: &str,
        new: NewSession,
        limit: usize,
    ) -> Result<Option<Opened>, Arc<Session>> {
        self.open_as(id.to_owned(), new, limit)
    }

    fn open_as(
        &self,
        id: String,
        new: NewSession,
        limit: usize,
    ) -> Result<Option<Opened>, Arc<Session>> {
        let (unasked, questions) = mpsc::channel(UNASKED);
        let session = Arc::new(self.made(id, new, unasked));
        session.touch(self.clock.tick());
        let mut table = lock(&self.table);
        if let Some(known) = table.open.get(&session.id) {
            return Err(Arc::clone(known));
        }
        let evicted = match table.shares.room(&session.who.name, limit) {
            Room::Free => None,
            Room::Of(who) => match table.take_idle(&who) {
                Some(idle) => Some(idle),
                None => return Ok(None),
            },
        };
        table.shares.add(&session.who.name);
        table.open.insert(session.id.clone(), Arc::clone(&session));
        drop(table);
        if let Some(evicted) = &evicted {
            evicted.end();
        }
        Ok(Some(Opened {
            session,
            questions,
            evicted,
        }))
    }

    fn made(&self, id: String, new: NewSession, unasked: mpsc::Sender<Box<Question>>) -> Session {
        let key = Self::key_for(&id);
        Session {
            id,
            key,
            holder: Mutex::new(new.who.clone()),
            who: new.who,
            greeting: new.greeting,
            version: new.version,
            mode: new.mode,
            opened: new.opened.unwrap_or_else(|| self.clock.wall()),
            engine: new.engine,
            streams: Mutex::new(Streams::new(self.kept.share())),
            log_level: Mutex::default(),
            telling: Mutex::default(),
            subscriptions: Mutex::default(),
            in_flight: Mutex::default(),
            asked: Mutex::default(),
            news: News::default(),
            unasked,
            used: AtomicU64::new(0),
            published: Mutex::default(),
            ended: AtomicBool::new(false),
        }
    }

    /// Finds a session of `who`. Another principal's session does not exist for the caller.
    pub fn find(&self, id: &str, who: &Principal) -> Option<Arc<Session>> {
        let session = lock(&self.table).open.get(id).cloned()?;
        if session.who != *who {
            return None;
        }
        session.touch(self.clock.tick());
        session.renew(who);
        Some(session)
    }

    /// Returns the key of the open session that a client knows under this id.
    pub fn key_of(&self, id: &str) -> Option<SessionKey> {
        lock(&self.table).open.get(id).map(|session| session.key)
    }

    /// Returns the key that a session with this id has or had, here or at another gateway. What is
    /// written down names the session without opening it.
    pub fn key_for(id: &str) -> SessionKey {
        let digest: [u8; 32] = Sha256::digest(id).into();
        let (head, _) = digest.split_at(16);
        SessionKey {
            basis: SessionBasis::McpSession,
            id: Id128::from_bytes(head.try_into().unwrap_or_default()),
        }
    }

    /// Ends a session.
    pub fn end(&self, id: &str) -> Option<Arc<Session>> {
        let session = lock(&self.table).remove(id)?;
        session.end();
        Some(session)
    }

    /// Ends the sessions that were not used for `idle` and returns them, and forgets what was kept
    /// of their streams for too long.
    pub fn sweep(&self, idle: Duration) -> Vec<Arc<Session>> {
        self.kept.sweep();
        let now = self.clock.tick();
        let idle = u64::try_from(idle.as_millis()).unwrap_or(u64::MAX);
        let now = u64::try_from(now.0.as_millis()).unwrap_or(u64::MAX);
        let stale: Vec<_> = lock(&self.table)
            .open
            .values()
            .filter(|session| {
                let quiet = now.saturating_sub(session.used.load(Ordering::Relaxed)) > idle;
                quiet && session.is_idle()
            })
            .map(|session| session.id.clone())
            .collect();
        stale.iter().filter_map(|id| self.end(id)).collect()
    }

    /// Returns all open sessions.
    pub fn all(&self) -> Vec<Arc<Session>> {
        let mut all: Vec<_> = lock(&self.table).open.values().cloned().collect();
        all.sort_by(|one, other| one.id.cmp(&other.id));
        all
    }

    /// Notes that what other gateways were told of sessions is lost.
    pub(crate) fn unpublished(&self) {
        for session in self.all() {
            session.unpublished();
        }
    }

    /// Returns the sessions that other gateways are still to be told of, in no order.
    pub(crate) fn owed(&self) -> Vec<Arc<Session>> {
        let table = lock(&self.table);
        let owed = table.open.values().filter(|session| session.is_owed());
        owed.cloned().collect()
    }

    /// Returns how many sessions are open.
    pub fn len(&self) -> usize {
        lock(&self.table).open.len()
    }

    /// Tells whether no session is open.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes a notification to every session.
    pub fn broadcast(&self, message: &Bytes) {
        for session in self.all() {
            session.push(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_testkit::FixedClock;
    use tokio::sync::watch;

    use super::*;
    use crate::downstream::Way;

    const MOST: usize = 4;

    struct Rig {
        clock: Arc<FixedClock>,
        sessions: Sessions,
    }

    impl Rig {
        fn new() -> Self {
            let clock = Arc::new(FixedClock::default());
            let sessions = Sessions::new(Arc::clone(&clock) as _);
            Self { clock, sessions }
        }

        /// Opens a session a second after the one before.
        fn open(&self, name: &str) -> Option<Opened> {
            self.clock.advance(Duration::from_secs(1));
            let new = NewSession {
                who: Principal::agent(name),
                greeting: Arc::default(),
                version: String::new(),
                mode: RoutingMode::All,
                engine: None,
                opened: None,
            };
            self.sessions.open(new, MOST)
        }
    }

    #[test]
    fn a_token_with_many_sessions_makes_room_for_others_and_for_itself() {
        let rig = Rig::new();
        let greedy: Vec<_> = (0..MOST).filter_map(|_| rig.open("greedy")).collect();
        assert_eq!(greedy.len(), MOST, "alone it may have all");
        let ids: Vec<_> = greedy.iter().map(|one| one.session.id.clone()).collect();
        let check = |who: &str, expect: usize| {
            let evicted = rig.open(who).unwrap().evicted.unwrap();
            assert_eq!(Some(&evicted.id), ids.get(expect), "{who}");
            assert!(evicted.is_ended());
            assert_eq!(rig.sessions.len(), MOST);
        };
        check("greedy", 0);
        check("modest", 1);
        check("modest", 2);
        // Both have their share now: each makes room for itself.
        let evicted = rig.open("modest").unwrap().evicted.unwrap();
        assert_eq!(&*evicted.who.name, "modest");
    }

    #[test]
    fn a_session_with_a_request_in_flight_is_not_ended_to_make_room() {
        let rig = Rig::new();
        let busy: Vec<_> = (0..MOST).filter_map(|_| rig.open("busy")).collect();
        let requests: Vec<_> = busy
            .iter()
            .map(|one| {
                let (cancel, _) = watch::channel(None);
                one.session.begin("1", cancel, Way::new().0).unwrap()
            })
            .collect();
        assert!(rig.open("modest").is_none());
        drop(requests);
        assert!(rig.open("modest").is_some());
    }
}
