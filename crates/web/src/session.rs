//! Who is logged in: sessions in memory, one-time links, and the count of failed attempts.
//!
//! A session lives on this side only; the browser holds a random id. It is looked up by its digest,
//! so that the time of a look-up says nothing about the ids there are.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcpproxy_core::{Clock, Secret, Tick};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::error::Error;

/// How long a session lasts at most.
pub(crate) const LONGEST: Duration = Duration::from_hours(12);
/// How long a session lasts without a page.
const IDLE: Duration = Duration::from_hours(2);
/// How long a link can be used.
pub(crate) const LINK: Duration = Duration::from_mins(2);
/// Sessions at once; past that the oldest ends.
const SESSIONS: usize = 64;
/// Links at once; past that the oldest ends.
const LINKS: usize = 16;
/// Wrong keys within [`WINDOW`]; past that no key is looked at.
const ATTEMPTS: usize = 10;
/// How long a wrong key counts.
const WINDOW: Duration = Duration::from_mins(1);

type Hash = [u8; 32];

/// Something to say on the next page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// It was done.
    Done(String),
    /// It was not.
    Failed(Error),
}

/// A login, as a request sees it.
#[derive(Clone)]
pub(crate) struct Viewer {
    key: Option<Secret>,
    token: Arc<str>,
    hash: Hash,
}

impl fmt::Debug for Viewer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Viewer(***)")
    }
}

impl Viewer {
    /// The API key, where it was shown at the login.
    pub(crate) fn key(&self) -> Option<&Secret> {
        self.key.as_ref()
    }

    /// What every form of this session must carry.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Tells whether a form carries the token, in a time that does not depend on where it differs.
    pub(crate) fn is_token(&self, presented: &str) -> bool {
        self.token.as_bytes().ct_eq(presented.as_bytes()).into()
    }
}

struct Session {
    viewer: Viewer,
    began: Tick,
    used: Tick,
    notice: Option<Notice>,
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
struct Table {
    sessions: HashMap<Hash, Session>,
    links: HashMap<Hash, Link>,
    failures: Vec<Tick>,
}

/// The sessions.
pub(crate) struct Sessions {
    table: Mutex<Table>,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sessions(***)")
    }
}

impl Sessions {
    /// Makes the table.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let table = Mutex::default();
        Self { table, clock }
    }

    /// Begins a session and returns the id that the browser is to hold.
    pub(crate) fn begin(&self, key: Option<Secret>) -> Result<Secret, Error> {
        let (id, token) = (random()?, random()?);
        let (now, hash) = (self.clock.tick(), digest(id.expose()));
        let mut table = self.swept();
        if table.sessions.len() >= SESSIONS {
            let oldest = table.sessions.iter().min_by_key(|(_, one)| one.began);
            let oldest = oldest.map(|(hash, _)| *hash);
            oldest.and_then(|hash| table.sessions.remove(&hash));
        }
        let viewer = Viewer {
            key,
            token: token.expose().into(),
            hash,
        };
        let session = Session {
            viewer,
            began: now,
            used: now,
            notice: None,
        };
        table.sessions.insert(hash, session);
        Ok(id)
    }

    /// Finds the session of an id and counts it as used.
    pub(crate) fn find(&self, id: &str) -> Option<Viewer> {
        let now = self.clock.tick();
        let mut table = self.swept();
        let session = table.sessions.get_mut(&digest(id))?;
        session.used = now;
        Some(session.viewer.clone())
    }

    /// Gives a session the key that its holder showed later.
    pub(crate) fn unlock(&self, viewer: &Viewer, key: Secret) {
        if let Some(session) = self.swept().sessions.get_mut(&viewer.hash) {
            session.viewer.key = Some(key);
        }
    }

    /// Ends a session.
    pub(crate) fn end(&self, viewer: &Viewer) {
        self.swept().sessions.remove(&viewer.hash);
    }

    /// Leaves word for the next page.
    pub(crate) fn tell(&self, viewer: &Viewer, notice: Notice) {
        if let Some(session) = self.swept().sessions.get_mut(&viewer.hash) {
            session.notice = Some(notice);
        }
    }

    /// Takes the word that was left.
    pub(crate) fn notice(&self, viewer: &Viewer) -> Option<Notice> {
        self.swept().sessions.get_mut(&viewer.hash)?.notice.take()
    }

    /// Makes a link that begins one session, soon.
    pub(crate) fn link(&self, key: Option<Secret>) -> Result<Secret, Error> {
        let id = random()?;
        let until = self.clock.tick().after(LINK);
        let mut table = self.swept();
        if table.links.len() >= LINKS {
            let oldest = table.links.iter().min_by_key(|(_, one)| one.until);
            let oldest = oldest.map(|(hash, _)| *hash);
            oldest.and_then(|hash| table.links.remove(&hash));
        }
        table.links.insert(digest(id.expose()), Link { key, until });
        Ok(id)
    }

    /// Uses a link up; nothing if it was used before or its time is over.
    pub(crate) fn follow(&self, id: &str) -> Option<Result<Secret, Error>> {
        let link = self.swept().links.remove(&digest(id))?;
        Some(self.begin(link.key))
    }

    /// Tells whether a key may be tried; counts every time that it may, until [`Self::forgive`].
    pub(crate) fn may_try(&self) -> bool {
        let now = self.clock.tick();
        let mut table = self.swept();
        let may = table.failures.len() < ATTEMPTS;
        if may {
            table.failures.push(now);
        }
        may
    }

    /// Takes the last attempt off the count: it was right.
    pub(crate) fn forgive(&self) {
        self.swept().failures.pop();
    }

    /// Locks the table and drops what is over.
    fn swept(&self) -> MutexGuard<'_, Table> {
        let now = self.clock.tick();
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.sessions.retain(|_, session| !session.is_over(now));
        table.links.retain(|_, link| now < link.until);
        table.failures.retain(|failed| now < failed.after(WINDOW));
        table
    }
}

fn digest(id: &str) -> Hash {
    Sha256::digest(id.as_bytes()).into()
}

/// Makes 256 random bits.
fn random() -> Result<Secret, Error> {
    let bytes = mcpproxy_mcp::seal::random::<32>();
    let bytes = bytes.map_err(|fault| Error::Random(fault.to_string()))?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    use mcpproxy_testkit::FixedClock;

    use super::*;

    fn sessions() -> (Arc<FixedClock>, Sessions) {
        let clock = Arc::new(FixedClock::default());
        (Arc::clone(&clock), Sessions::new(clock))
    }

    #[test]
    fn a_session_ends_when_it_is_not_used_and_when_it_is_old() {
        let minutes = |minutes| Duration::from_mins(minutes);
        let check = |steps: &[Duration], expect: bool| {
            let (clock, sessions) = sessions();
            let id = sessions.begin(None).unwrap();
            let mut found = true;
            for step in steps {
                clock.advance(*step);
                found = sessions.find(id.expose()).is_some();
            }
            assert_eq!(found, expect, "{steps:?}");
        };
        check(&[minutes(119)], true);
        check(&[minutes(121)], false);
        check(&[minutes(119), minutes(119)], true);
        check(&[minutes(100); 7], true);
        check(&[minutes(100); 8], false);
    }

    #[test]
    fn a_link_begins_one_session_and_only_soon() {
        let (clock, sessions) = sessions();
        let key = Secret::new("k");
        let link = sessions.link(Some(key.clone())).unwrap();
        let id = sessions.follow(link.expose()).unwrap().unwrap();
        let viewer = sessions.find(id.expose()).unwrap();
        assert_eq!(viewer.key(), Some(&key));
        assert!(sessions.follow(link.expose()).is_none());
        let late = sessions.link(None).unwrap();
        clock.advance(LINK);
        assert!(sessions.follow(late.expose()).is_none());
        assert!(sessions.follow("made up").is_none());
    }

    #[test]
    fn wrong_keys_are_counted_and_forgotten() {
        let (clock, sessions) = sessions();
        for _ in 0..ATTEMPTS {
            assert!(sessions.may_try());
            sessions.forgive();
        }
        for _ in 0..ATTEMPTS {
            assert!(sessions.may_try());
        }
        assert!(!sessions.may_try());
        clock.advance(WINDOW);
        assert!(sessions.may_try());
    }

    #[test]
    fn what_is_held_is_bounded_and_the_oldest_goes() {
        let (clock, sessions) = sessions();
        let first = sessions.begin(None).unwrap();
        let link = sessions.link(None).unwrap();
        for _ in 0..SESSIONS {
            clock.advance(Duration::from_millis(1));
            sessions.begin(None).unwrap();
            sessions.link(None).unwrap();
        }
        assert!(sessions.find(first.expose()).is_none());
        assert!(sessions.follow(link.expose()).is_none());
        assert_eq!(sessions.swept().sessions.len(), SESSIONS);
        assert_eq!(sessions.swept().links.len(), LINKS);
    }

    #[test]
    fn a_token_is_of_its_session_alone() {
        let (_, sessions) = sessions();
        let [one, other] = [0, 1].map(|_| {
            let id = sessions.begin(None).unwrap();
            sessions.find(id.expose()).unwrap()
        });
        assert!(one.is_token(one.token()));
        assert!(!one.is_token(other.token()));
        assert!(!one.is_token(""));
    }
}
