//! Legacy sessions: conversations that are found again by their id.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::answer::{Channel, Words};
use crate::lock;
use crate::sample::{Conversation, Outlet, Service};

/// One legacy session.
#[derive(Clone)]
pub(super) struct Session {
    pub(super) conversation: Arc<Conversation>,
    home: Arc<Home>,
}

/// All legacy sessions.
#[derive(Default)]
pub(super) struct Sessions(Mutex<BTreeMap<String, Session>>);

impl Sessions {
    /// Opens a session and returns its id. An id is never used again.
    pub(super) fn open(&self, service: &Arc<Service>) -> (String, Session) {
        let home = Arc::new(Home::default());
        let outlet: Arc<dyn Outlet> = Arc::clone(&home) as Arc<dyn Outlet>;
        let conversation = Conversation::open(service, outlet);
        let id = format!("session-{}", conversation.number);
        let session = Session { conversation, home };
        lock(&self.0).insert(id.clone(), session.clone());
        (id, session)
    }

    /// Finds a session.
    pub(super) fn get(&self, id: &str) -> Option<Session> {
        lock(&self.0).get(id).cloned()
    }

    /// Ends a session; one that is not there is nothing.
    pub(super) fn end(&self, id: &str) {
        let session = lock(&self.0).remove(id);
        if let Some(session) = session {
            session.end();
        }
    }

    /// Ends all sessions.
    pub(super) fn forget(&self) {
        let sessions = std::mem::take(&mut *lock(&self.0));
        for session in sessions.into_values() {
            session.end();
        }
    }

    /// Returns how many there are.
    pub(super) fn count(&self) -> usize {
        lock(&self.0).len()
    }
}

impl Session {
    /// Opens the stream for what belongs to no request; an earlier one ends.
    pub(super) fn listen(&self) -> Words {
        let (outlet, words) = Channel::open();
        *lock(&self.home.0) = Some(outlet);
        words
    }

    fn end(&self) {
        self.conversation.close();
        *lock(&self.home.0) = None;
    }
}

/// Where a session's messages go that belong to no request: its stream, if it has opened one.
#[derive(Default)]
struct Home(Mutex<Option<Arc<dyn Outlet>>>);

impl Outlet for Home {
    fn put(&self, message: Bytes) {
        if let Some(stream) = &*lock(&self.0) {
            stream.put(message);
        }
    }

    /// A session without a stream may open one later.
    fn is_open(&self) -> bool {
        true
    }
}
