//! Habits that several gateways learn together: what one of them counted and learned is told to the
//! others, who learn it as if it had happened there. What comes late is learned as of now, so that
//! time never runs backwards.

use mcpproxy_core::{Call, Id128, SessionBasis, SessionKey, UpstreamId, Wall};
use serde::{Deserialize, Serialize};

use super::profile::About;
use super::{Behaviour, Book, CALLER, State, UPSTREAM, caller, found, subject};

/// Facts that wait to be told; past that the oldest go, and others learn less.
const MOST_FACTS: usize = 4096;

/// Something that was counted or learned.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Fact {
    /// Who called, as habits name them.
    who: String,
    upstream: String,
    /// Nothing for a call that was counted and is not over.
    learned: Option<Learned>,
}

/// What was learned of a call that is over.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Learned {
    tool: String,
    basis: usize,
    session: String,
    bytes: u64,
    hosts: Vec<Box<str>>,
    given: u64,
    failed: bool,
}

/// What waits to be told, where anybody is told.
#[derive(Debug, Default)]
pub(super) struct Outbox(Option<Vec<Fact>>);

impl Outbox {
    fn note(&mut self, fact: impl FnOnce() -> Fact) {
        if let Some(facts) = &mut self.0 {
            if facts.len() >= MOST_FACTS {
                facts.remove(0);
            }
            facts.push(fact());
        }
    }

    /// Notes that a call was counted.
    pub(super) fn counted(&mut self, call: &Call) {
        self.note(|| fact(call, None));
    }

    /// Notes what was learned of a call.
    pub(super) fn learned(&mut self, call: &Call, about: &About<'_>, given: u64, failed: bool) {
        self.note(|| {
            let stronger = SessionBasis::ALL.iter();
            let stronger = stronger.take_while(|one| **one != about.session.basis);
            let learned = Learned {
                tool: about.tool.to_owned(),
                basis: stronger.count(),
                session: about.session.id.to_string(),
                bytes: about.bytes,
                hosts: about.hosts.to_vec(),
                given,
                failed,
            };
            fact(call, Some(learned))
        });
    }
}

fn fact(call: &Call, learned: Option<Learned>) -> Fact {
    Fact {
        who: subject(&call.who),
        upstream: call.tool.upstream.to_string(),
        learned,
    }
}

impl Book {
    /// Has what is learned noted, to be told to other gateways.
    pub fn share(&self) {
        self.lock().outbox.0.get_or_insert_default();
    }

    /// Returns what was learned since the last time, as others read it; nothing where nothing was.
    pub fn untold(&self) -> Option<Vec<u8>> {
        let mut state = self.lock();
        let facts = state.outbox.0.as_mut().filter(|facts| !facts.is_empty())?;
        let facts = std::mem::take(facts);
        drop(state);
        serde_json::to_vec(&facts).ok()
    }
}

impl Behaviour {
    /// Learns what another gateway told; what is not understood was told by a later version.
    pub fn fold(&self, told: &[u8], now: Wall) {
        let facts: Vec<Fact> = serde_json::from_slice(told).unwrap_or_default();
        let mut state = self.book.lock();
        for fact in facts.into_iter().take(MOST_FACTS) {
            self.fold_one(&mut state, &fact, now);
        }
    }

    fn fold_one(&self, state: &mut State, fact: &Fact, now: Wall) {
        let Some(caller) = caller(&fact.who) else {
            return;
        };
        let upstream = UpstreamId::new(&*fact.upstream);
        let profiles = [
            (found(&mut state.callers, &caller, now), CALLER),
            (found(&mut state.upstreams, &upstream, now), UPSTREAM),
        ];
        for (profile, whose) in profiles {
            let Some(profile) = profile else { continue };
            let Some(learned) = &fact.learned else {
                profile.count(now);
                continue;
            };
            let Some(session) = learned.session() else {
                continue;
            };
            let about = About {
                upstream: &fact.upstream,
                tool: &learned.tool,
                session,
                bytes: learned.bytes,
                hosts: &learned.hosts,
                now,
            };
            let (given, failed) = (learned.given, learned.failed);
            // What there is to say of it was said where it happened.
            profile.learn(&about, given, failed, &self.settings, whose);
        }
    }
}

impl Learned {
    fn session(&self) -> Option<SessionKey> {
        Some(SessionKey {
            basis: *SessionBasis::ALL.get(self.basis)?,
            id: Id128(u128::from_str_radix(&self.session, 16).ok()?),
        })
    }
}
