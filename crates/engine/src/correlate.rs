//! Which session of the protocol belongs to which conversation of an agent's hook.
//!
//! A hook announces a call with its arguments; the session in which the same call then comes by is
//! that conversation's, for good. An announcement counts once and for a time. Where two
//! conversations announced the same, and nothing else tells them apart, nobody is linked, neither by
//! this call nor by another like it: less is seen then, and nothing is seen wrongly. A call may come
//! later than it is waited for; for a minute more its announcement still stands against others'.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_core::{FlowScope, Id128, SessionBasis, SessionKey, Tick};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Announcements that are waited for at once, of all and of one conversation; the oldest go first.
const MOST_PENDING: usize = 4096;
const MOST_EACH: usize = 256;
/// How long an announcement that links nobody any more stands against those of others: its call may
/// yet come.
const RIVALRY: Duration = Duration::from_mins(1);
/// Links that are remembered; the oldest go first.
const MOST_LINKS: usize = 16_384;

/// What a call is recognized by: its tool and its arguments, however they are spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// Takes the fingerprint of a call as the agent writes it.
    ///
    /// Members of objects count in any order, and a number by its value: agents read and write
    /// the arguments again between their hook and the wire.
    pub fn of(tool: &str, arguments: &Value) -> Self {
        let mut hash = Sha256::new();
        add_text(&mut hash, tool);
        add(&mut hash, arguments);
        let digest: [u8; 32] = hash.finalize().into();
        let (head, _) = digest.split_first_chunk().unwrap_or((&[0; 16], &[]));
        Self(*head)
    }

    /// Returns it as other gateways are told.
    pub fn id(self) -> Id128 {
        Id128::from_bytes(self.0)
    }

    /// Takes what another gateway told.
    pub fn from_id(id: Id128) -> Self {
        Self(id.0.to_be_bytes())
    }
}

fn add_text(hash: &mut Sha256, text: &str) {
    hash.update(text.len().to_be_bytes());
    hash.update(text);
}

fn add(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Null => hash.update(b"n"),
        Value::Bool(true) => hash.update(b"t"),
        Value::Bool(false) => hash.update(b"f"),
        Value::Number(number) => {
            hash.update(b"d");
            let number = number.as_f64().unwrap_or_default();
            // Nought has two signs.
            let number = if number == 0.0 { 0.0 } else { number };
            hash.update(number.to_bits().to_be_bytes());
        }
        Value::String(text) => {
            hash.update(b"s");
            add_text(hash, text);
        }
        Value::Array(list) => {
            hash.update(b"[");
            hash.update(list.len().to_be_bytes());
            for one in list {
                add(hash, one);
            }
        }
        Value::Object(members) => {
            hash.update(b"{");
            hash.update(members.len().to_be_bytes());
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| key.as_str());
            for (key, value) in members {
                add_text(hash, key);
                add(hash, value);
            }
        }
    }
}

/// A call that a hook announced.
#[derive(Debug)]
struct Pending {
    print: Fingerprint,
    hook: SessionKey,
    /// Where the conversation lives, if another gateway told of it.
    home: Option<FlowScope>,
    reach: Reach,
    tool_use: Option<Box<str>>,
    until: Tick,
    /// Whether it links the session in which its call comes by: not once its time is over, nor once
    /// such a call came that may have been another's.
    is_open: bool,
}

/// Whose sessions an announcement may be linked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Those of the owner, who speaks for the agents that have a token of theirs: an agent's hook
    /// has the owner's credential whatever the agent itself shows.
    Owner,
    /// Those of one principal.
    Only(FlowScope),
}

impl Reach {
    fn covers(self, arrival: Arrival<'_>) -> bool {
        match self {
            Self::Owner => arrival.is_owners,
            Self::Only(scope) => scope == arrival.scope,
        }
    }
}

/// Whose announcement it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announcer {
    /// The conversation of the hook.
    pub(crate) hook: SessionKey,
    /// Where it lives, if another gateway told of it.
    pub(crate) home: Option<FlowScope>,
    /// Whose sessions it may be linked with.
    pub(crate) reach: Reach,
}

/// A call as it comes by.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The session it comes in.
    pub session: SessionKey,
    /// The matching domain of whoever calls.
    pub scope: FlowScope,
    /// Whether that is the owner, or an agent for them.
    pub is_owners: bool,
    /// The connection, where the session is only what the caller says about itself.
    pub connection: Option<u64>,
    /// The use of the tool, as the agent calls it, if it says so.
    pub tool_use: Option<&'a str>,
}

#[derive(Debug, Default)]
struct Table {
    pending: VecDeque<Pending>,
    links: HashMap<SessionKey, SessionKey>,
    order: VecDeque<SessionKey>,
}

/// Announcements and links.
#[derive(Debug, Default)]
pub(crate) struct Correlator {
    table: Mutex<Table>,
    /// How many announcements that can link, and links, there are: most calls of most installations need no look.
    known: AtomicUsize,
}

/// What became of a call that came by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Came {
    /// The conversation it belongs to, if that is known.
    pub(crate) linked: Option<Linked>,
    /// The conversations whose announcements are good for nobody any more, since each of them may
    /// have made it.
    pub(crate) spoiled: Vec<SessionKey>,
}

/// The conversation that a call belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Linked {
    /// The session that its data is followed in.
    pub(crate) session: SessionKey,
    /// The conversation of the hook.
    pub(crate) hook: SessionKey,
    /// Whether that was found out just now.
    pub(crate) new: bool,
    /// Where the conversation lives, if another gateway told of it.
    pub(crate) home: Option<FlowScope>,
    /// The announcement that is used up.
    pub(crate) used: Option<Fingerprint>,
}

impl Correlator {
    /// Waits for a call that a hook announced.
    pub(crate) fn expect(
        &self,
        announcer: Announcer,
        print: Fingerprint,
        tool_use: Option<&str>,
        until: Tick,
        now: Tick,
    ) {
        let Announcer { hook, home, reach } = announcer;
        let mut table = self.table();
        table.sweep(now);
        let own = table.pending.iter().filter(|one| one.hook == hook).count();
        if own >= MOST_EACH {
            let oldest = table.pending.iter().position(|one| one.hook == hook);
            oldest.and_then(|oldest| table.pending.remove(oldest));
        }
        if table.pending.len() >= MOST_PENDING {
            table.pending.pop_front();
        }
        table.pending.push_back(Pending {
            print,
            hook,
            home,
            reach,
            tool_use: tool_use.map(Into::into),
            until,
            is_open: true,
        });
        self.count(&table);
    }

    /// Does not wait any more for a call that came by another gateway.
    pub(crate) fn withdraw(&self, hook: SessionKey, print: Fingerprint) {
        let mut table = self.table();
        let same = |one: &Pending| one.hook == hook && one.print == print;
        let at = table.pending.iter().position(same);
        at.and_then(|at| table.pending.remove(at));
        self.count(&table);
    }

    /// Links nobody by announcements that came to nothing at another gateway.
    pub(crate) fn spoil(&self, hooks: &[SessionKey], print: Fingerprint) {
        let mut table = self.table();
        let spoiled = |one: &&mut Pending| one.print == print && hooks.contains(&one.hook);
        for one in table.pending.iter_mut().filter(spoiled) {
            one.is_open = false;
        }
        self.count(&table);
    }

    /// Tells whether a call need be looked at.
    pub(crate) fn is_idle(&self) -> bool {
        self.known.load(Ordering::Acquire) == 0
    }

    /// Finds the conversation that a call belongs to; its announcement is used up.
    pub(crate) fn arrived(
        &self,
        arrival: Arrival<'_>,
        print: Option<Fingerprint>,
        now: Tick,
    ) -> Came {
        let mut table = self.table();
        table.sweep(now);
        let key = link_key(arrival);
        let known = table.links.get(&key).copied();
        let found = print.map(|print| table.matching(print, arrival, known));
        let (at, spoiled) = match found {
            Some(Ok(at)) => (Some(at), Vec::new()),
            Some(Err(spoiled)) => (None, spoiled),
            None => (None, Vec::new()),
        };
        let announced = at.and_then(|at| table.pending.remove(at));
        let (home, used) = match &announced {
            Some(one) => (one.home, Some(one.print)),
            None => (None, None),
        };
        let hook = known.or(announced.map(|one| one.hook));
        if let (Some(hook), None) = (hook, known) {
            table.link(key, hook);
        }
        let session = hook.map(|hook| followed_in(arrival.session, hook));
        if let (Some(hook), Some(session)) = (hook, session) {
            // Found by the session that data is followed in, as records are attributed.
            table.link(session, hook);
        }
        self.count(&table);
        let linked = session.zip(hook).map(|(session, hook)| Linked {
            session,
            hook,
            new: known.is_none(),
            home,
            used,
        });
        Came { linked, spoiled }
    }

    /// Returns the conversation of a hook that a session belongs to.
    pub(crate) fn hook_of(&self, session: SessionKey) -> Option<SessionKey> {
        if self.is_idle() {
            return None;
        }
        self.table().links.get(&session).copied()
    }

    /// Tells whether calls of a hook's conversation come by here.
    pub(crate) fn has_link(&self, hook: SessionKey) -> bool {
        self.table().links.values().any(|linked| *linked == hook)
    }

    /// Forgets a session that has ended.
    pub(crate) fn forget(&self, session: SessionKey) {
        let mut table = self.table();
        table.links.remove(&session);
        table.links.retain(|_, hook| *hook != session);
        let Table { links, order, .. } = &mut *table;
        order.retain(|key| links.contains_key(key));
        self.count(&table);
    }

    fn count(&self, table: &Table) {
        let open = table.pending.iter().filter(|one| one.is_open);
        let known = open.count() + table.links.len();
        self.known.store(known, Ordering::Release);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn sweep(&mut self, now: Tick) {
        self.pending.retain(|one| one.until.after(RIVALRY) >= now);
        for one in self.pending.iter_mut().filter(|one| one.until < now) {
            one.is_open = false;
        }
    }

    /// Finds the announcement of a call, if only one conversation can have made it. Where several
    /// can, none of theirs is good any more: whichever is left over when the others' calls have come
    /// would be taken for a stranger's. Then it is whose they were that is returned.
    fn matching(
        &mut self,
        print: Fingerprint,
        arrival: Arrival<'_>,
        known: Option<SessionKey>,
    ) -> Result<usize, Vec<SessionKey>> {
        let fits = |one: &Pending| match (arrival.tool_use, one.tool_use.as_deref()) {
            (Some(called), Some(announced)) => called == announced,
            (Some(_), None) | (None, _) => true,
        };
        let same = |one: &Pending| one.print == print && fits(one);
        if let Some(hook) = known {
            // Whose it is, is known: one that has lapsed is used up as well.
            let own = |one: &Pending| same(one) && one.hook == hook;
            return self.pending.iter().position(own).ok_or_else(Vec::new);
        }
        let candidate = |one: &Pending| same(one) && one.reach.covers(arrival);
        let mut hooks = Vec::new();
        for one in self.pending.iter().filter(|one| candidate(one)) {
            if !hooks.contains(&one.hook) {
                hooks.push(one.hook);
            }
        }
        if hooks.len() > 1 {
            for one in self.pending.iter_mut().filter(|one| candidate(one)) {
                one.is_open = false;
            }
            return Err(hooks);
        }
        let good = |one: &Pending| candidate(one) && one.is_open;
        self.pending.iter().position(good).ok_or_else(Vec::new)
    }

    fn link(&mut self, key: SessionKey, hook: SessionKey) {
        if self.links.insert(key, hook).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > MOST_LINKS {
            if let Some(oldest) = self.order.pop_front() {
                self.links.remove(&oldest);
            }
        }
    }
}

/// Returns what a link is kept under: callers that share a credential are told apart by their
/// connections.
fn link_key(arrival: Arrival<'_>) -> SessionKey {
    match (arrival.session.basis, arrival.connection) {
        (SessionBasis::Credential, Some(connection)) => SessionKey {
            basis: SessionBasis::Connection,
            id: joined(arrival.session.id, &connection.to_be_bytes()),
        },
        _ => arrival.session,
    }
}

/// Returns the session in which the data of a linked call is followed: a credential that several
/// agents share must not make one conversation of theirs.
fn followed_in(session: SessionKey, hook: SessionKey) -> SessionKey {
    match session.basis {
        SessionBasis::Credential => SessionKey {
            basis: SessionBasis::Credential,
            id: joined(session.id, &hook.id.0.to_be_bytes()),
        },
        SessionBasis::Hook | SessionBasis::McpSession | SessionBasis::Connection => session,
    }
}

fn joined(one: Id128, other: &[u8]) -> Id128 {
    let mut hash = Sha256::new();
    hash.update(one.0.to_be_bytes());
    hash.update(other);
    let digest: [u8; 32] = hash.finalize().into();
    let (head, _) = digest.split_first_chunk().unwrap_or((&[0; 16], &[]));
    Id128::from_bytes(*head)
}

/// Returns until when an announcement made now counts.
pub(crate) fn until(now: Tick, seconds: u32) -> Tick {
    now.after(Duration::from_secs(u64::from(seconds)))
}

#[cfg(test)]
mod tests;
