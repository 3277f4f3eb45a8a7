//! The tracker: finds the state of a scope, holds its lock no longer than an event takes, and
//! keeps the memory of the whole process bounded. What it is to other processes is in `shared`.

mod sessions;
mod shared;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use mcpproxy_core::{
    CallId, DataOrigin, Destination, FlowEvidence, FlowScope, History, Nature, Recent, Reduced,
    RiskLevel, SessionKey, Side, Taint, Tick,
};

use crate::content::Content;
use crate::directory::Directory;
use crate::event::{Fate, Sent, What};
use crate::evidence::{Weighed, weigh};
use crate::hash::KeyedMap;
use crate::hits::{Hits, Reads, tails};
use crate::origins::Voice;
use crate::outbox::Outbox;
use crate::reading::Reading;
use crate::secret::SecretPrint;
use crate::sending::Sending;
use crate::session::{Edge, Session, direction, joined};
use crate::settings::{FlowTracking, Scope};
use crate::state::{Errand, State};
use crate::whose::Whose;

/// Locks over which the scopes are spread.
const SHARDS: usize = 16;
/// Bytes that all scopes together may take; beyond, the text of the one that rested longest goes.
const PROCESS: usize = 256 << 20;

type Shard = Mutex<KeyedMap<FlowScope, Arc<Mutex<State>>>>;

/// Follows data from where it was read to where it is about to be sent.
#[derive(Debug)]
pub struct Tracker {
    settings: RwLock<Arc<FlowTracking>>,
    shards: [Shard; SHARDS],
    directory: Mutex<Directory>,
    /// Whether any sessions were ever linked: most processes never ask the directory.
    linked: AtomicBool,
    /// What others are told.
    outbox: Outbox,
    /// What the ends of several calls made together lately.
    reads: Reads,
    bytes: AtomicUsize,
    most: usize,
}

/// What became of a reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Fingerprints of text that were taken.
    pub fingerprints: usize,
    /// Sensitive values that were remembered.
    pub sensitive: usize,
    /// Whether something could not be remembered, or something older had to go.
    pub reduced: Vec<Reduced>,
}

/// What is known of a call that is about to leave.
#[derive(Debug, Default)]
pub struct Checked {
    /// What of it was read before.
    pub evidence: FlowEvidence,
    /// What its conversation sent lately; what is on its way counts, and so does this call.
    pub recent: Recent,
    /// What happened in its conversation before, with respect to its destination.
    pub history: History,
    /// Which of the marked secrets its destination handed out itself.
    pub returned: BTreeSet<usize>,
}

/// What is about to leave, and where to.
#[derive(Clone, Copy, Debug)]
pub struct Leaving<'a> {
    /// The call, as the origin of what it says.
    pub by: &'a DataOrigin,
    /// Where it goes.
    pub to: &'a Destination,
    /// What it takes along.
    pub content: &'a Content<'a>,
    /// The part of that which the agent says; the rest is the protocol's.
    pub said: &'a Range<usize>,
}

impl Tracker {
    /// Makes a tracker that remembers nothing yet.
    pub fn new(settings: &FlowTracking) -> Self {
        Self::bounded(settings, PROCESS)
    }

    /// Makes a tracker that takes no more than `bytes` of memory for text.
    pub fn bounded(settings: &FlowTracking, bytes: usize) -> Self {
        Self {
            settings: RwLock::new(Arc::new(settings.clone())),
            shards: Default::default(),
            directory: Mutex::default(),
            linked: AtomicBool::new(false),
            outbox: Outbox::default(),
            reads: Reads::default(),
            bytes: AtomicUsize::new(0),
            most: bytes,
        }
    }

    /// Takes new settings for what comes; what is remembered stays.
    pub fn reload(&self, settings: &FlowTracking) {
        let mut current = self
            .settings
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(settings.clone());
    }

    fn settings(&self) -> Arc<FlowTracking> {
        let current = self.settings.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    /// Remembers what a call read. Everything is fingerprinted before the lock is taken.
    pub fn record(
        &self,
        whose: Whose,
        origin: DataOrigin,
        content: &Content<'_>,
        now: Tick,
    ) -> Recorded {
        let settings = self.settings();
        if !settings.enabled {
            return Recorded::default();
        }
        let whose = narrowed(whose, &settings);
        let mut reading = Reading::of(content, &settings);
        if origin.side == Side::Outside {
            reading.hand_out();
        }
        let fingerprints = reading.grams.len();
        let sensitive = match origin.side {
            Side::Inside => reading.secrets.len(),
            Side::Outside => 0,
        };
        let evicted = self.with(whose, now, |state| {
            let most = settings.max_origins_per_session;
            if !self.outbox.is_open() {
                return state.read(whose.session, origin, &reading, most, now);
            }
            let before = state.session(whose.session, now).taint;
            let evicted = state.read(whose.session, origin.clone(), &reading, most, now);
            let legs = state.session(whose.session, now).taint;
            self.tell_read(whose, origin, std::mem::take(&mut reading), now);
            if legs != before {
                self.tell(whose.scope, whose.session, now, || What::Marked(legs));
            }
            evicted
        });
        self.limit(whose.scope);
        Recorded {
            fingerprints,
            sensitive,
            reduced: if evicted {
                vec![Reduced::Evicted]
            } else {
                Vec::new()
            },
        }
    }

    /// Remembers what an agent wrote, to an inside or an outside place, that no check will settle.
    pub fn said(&self, whose: Whose, origin: DataOrigin, content: &Content<'_>, now: Tick) {
        self.wrote(whose, origin, Voice::Agent(None), content, now);
    }

    /// Remembers what the user wrote.
    pub fn prompted(&self, whose: Whose, origin: DataOrigin, content: &Content<'_>, now: Tick) {
        self.wrote(whose, origin, Voice::User, content, now);
    }

    fn wrote(
        &self,
        whose: Whose,
        origin: DataOrigin,
        voice: Voice,
        content: &Content<'_>,
        now: Tick,
    ) {
        let settings = self.settings();
        if !settings.enabled {
            return;
        }
        let whose = narrowed(whose, &settings);
        let reading = Reading::of(content, &settings);
        self.with(whose, now, |state| {
            let most = settings.max_origins_per_session;
            let from = (origin.clone(), voice.clone());
            state.said(whose.session, from, &reading, most, now);
            self.tell(whose.scope, whose.session, now, || {
                What::Said(origin, voice, reading)
            });
        });
        self.limit(whose.scope);
    }

    /// Compares what is about to leave, and reserves it, so that parallel calls cannot race.
    ///
    /// Sums over what was sent lately reach back by `window`.
    pub fn check(
        &self,
        whose: Whose,
        leaving: Leaving<'_>,
        window: Duration,
        now: Tick,
    ) -> Checked {
        let settings = self.settings();
        if !settings.enabled {
            return Checked::default();
        }
        let whose = narrowed(whose, &settings);
        let Leaving {
            by,
            to,
            content,
            said,
        } = leaving;
        let outside = to.sink.is_outside();
        let reach = self.reach(whose);
        // Where nothing private was read, and where nothing leaves, nobody hides anything.
        let undo = !to.sink.is_trusted() && self.is_private(&reach);
        let sending = Sending::of(content, said, &settings, undo);
        let secrets = secrets_of(content);
        let mut said = Some(sending.said(said));
        let mut hits = Hits::default();
        let mut taint = Taint::default();
        let mut checked = Checked::default();
        let mut unread = false;
        // The own scope comes last: what the others know is counted there.
        for (scope, sessions) in reach.iter().rev() {
            let here = Whose {
                scope: *scope,
                session: *sessions.first().unwrap_or(&whose.session),
            };
            let errand = Errand {
                session: here.session,
                call: by.call,
                to: &to.name,
                sink: to.sink,
            };
            // Where nothing is undone, nothing is put together either, and one look at the state will do.
            let (before, mut across) = if undo {
                self.with(here, now, |state| state.queue(errand, &sending, now))
            } else {
                Default::default()
            };
            let fields = sending.fields_and(&across);
            let tails = tails(fields, &before, &self.reads);
            self.with(here, now, |state| {
                if !undo {
                    (_, across) = state.queue(errand, &sending, now);
                }
                let returned = secrets.iter();
                let returned = returned.filter(|(_, whole)| state.is_handed_out(&to.name, *whole));
                checked.returned.extend(returned.map(|(at, _)| *at));
                let found = state.send(errand, sessions, &sending, &tails);
                let reserved = self.outbox.is_open().then(|| state.named(&found));
                hits.join(found);
                let personal = sending.personal || hits.has_personal();
                let counted = (here == whose).then_some((sending.bytes, personal));
                if here == whose {
                    let session = state.session(whose.session, now);
                    if outside {
                        session.taint.outside = true;
                        session.send(by.call, now, sending.bytes, personal);
                    }
                    state.going.start(by, &to.name, said.take());
                }
                if let Some(secrets) = reserved.filter(|_| outside) {
                    let sent = || Sent {
                        call: by.call,
                        to: Arc::clone(&to.name),
                        secrets,
                        pieces: sending.pieces(&across),
                        counted,
                    };
                    self.tell(*scope, here.session, now, || What::Sent(sent()));
                }
                for session in sessions.iter().filter_map(|key| state.sessions.get(key)) {
                    taint = joined(taint, session.taint);
                    unread |= session.unread;
                    add(&mut checked, session, to, now, window);
                }
            });
        }
        taint.outside |= outside;
        if taint.private {
            let unknown = sending.opaque.iter().zip(&hits.known);
            let unknown = unknown.filter(|(_, known)| !**known);
            let opaque = unknown.map(|(blob, _)| (blob.leaf, blob.bytes));
            hits.opaque = opaque.collect();
        }
        let hash = |leaf| sending.hash_of(leaf);
        let mut weighed = weigh(
            (content.json, &sending.parts),
            hits,
            taint,
            sending.cut,
            hash,
        );
        if unread && outside && sending.has_code() {
            weighed.evidence.reduced.push(Reduced::Unscanned);
        }
        self.note_edges(whose, by, to, &weighed, now);
        checked.evidence = weighed.evidence;
        checked
    }

    /// Tells whether a conversation has read anything that it could give away.
    fn is_private(&self, reach: &[(FlowScope, Vec<SessionKey>)]) -> bool {
        reach.iter().any(|(scope, sessions)| {
            let mut private = false;
            self.peek(*scope, |state| {
                let mut own = sessions.iter().filter_map(|key| state.sessions.get(key));
                private = !state.vault.is_empty() || own.any(|one| one.taint.private);
            });
            private
        })
    }

    fn note_edges(
        &self,
        whose: Whose,
        by: &DataOrigin,
        to: &Destination,
        weighed: &Weighed,
        now: Tick,
    ) {
        let matches = &weighed.evidence.matches;
        if matches.is_empty() {
            return;
        }
        let outside = to.sink.is_outside();
        self.with(whose, now, |state| {
            let session = state.session(whose.session, now);
            for (one, hash) in matches.iter().zip(&weighed.hashes) {
                let edge = Edge {
                    call: by.call,
                    origin: one.origin.clone(),
                    to: Arc::clone(&to.name),
                    tool: by.tool.clone(),
                    how: one.how,
                    weight: one.weight,
                    shared: one.shared,
                    flow: direction(one.origin.side, outside),
                    risk: RiskLevel::None,
                    hash: *hash,
                };
                self.tell(whose.scope, whose.session, now, || {
                    What::Moved(edge.clone())
                });
                session.add_edge(edge);
            }
        });
    }

    /// Settles what a check reserved, by what became of the call.
    ///
    /// What an agent said by itself is remembered when it has left: until then nobody could read it
    /// back, and afterwards that makes no secret of it.
    pub fn settle(&self, whose: Whose, call: CallId, fate: Fate, now: Tick) {
        let settings = self.settings();
        let whose = narrowed(whose, &settings);
        for (scope, _) in self.reach(whose) {
            self.peek(scope, |state| {
                let most = settings.max_origins_per_session;
                let settled = state.settle(whose.session, call, fate, most, now);
                if settled.reserved {
                    self.tell(scope, whose.session, now, || What::Settled(call, fate));
                }
                if let Some((origin, voice, reading)) = settled.said {
                    let said = || What::Said(origin, voice, reading);
                    self.tell(scope, whose.session, now, said);
                }
                self.recount(state);
            });
        }
        self.limit(whose.scope);
    }

    fn directory(&self) -> MutexGuard<'_, Directory> {
        held(&self.directory)
    }

    fn reach(&self, whose: Whose) -> Vec<(FlowScope, Vec<SessionKey>)> {
        if self.linked.load(Ordering::Acquire) {
            self.directory().reach(whose)
        } else {
            vec![(whose.scope, vec![whose.session])]
        }
    }

    fn shard(&self, scope: FlowScope) -> &Shard {
        let [first, ..] = &self.shards;
        let index = usize::try_from(scope.0.0 & 15).unwrap_or(0);
        self.shards.get(index).unwrap_or(first)
    }

    /// Runs `act` on the state of a scope, which is made if there is none.
    fn with<T>(&self, whose: Whose, now: Tick, act: impl FnOnce(&mut State) -> T) -> T {
        let state = {
            let mut scopes = held(self.shard(whose.scope));
            let new = || Arc::new(Mutex::new(State::new(now)));
            Arc::clone(scopes.entry(whose.scope).or_insert_with(new))
        };
        let mut state = held(&state);
        if !state.sessions.contains_key(&whose.session) {
            self.settle_in(whose, now);
        }
        let done = act(&mut state);
        self.recount(&mut state);
        done
    }

    /// Takes note of where a session lives, which may be linked already.
    fn settle_in(&self, whose: Whose, now: Tick) {
        self.directory().settle_in(whose);
        if self.outbox.is_open() && self.linked.load(Ordering::Acquire) {
            self.tell_links(whose.session, now);
        }
    }

    /// Runs `act` on the state of a scope, if there is one.
    fn peek(&self, scope: FlowScope, act: impl FnOnce(&mut State)) {
        let state = held(self.shard(scope)).get(&scope).map(Arc::clone);
        if let Some(state) = state {
            act(&mut held(&state));
        }
    }

    fn recount(&self, state: &mut State) {
        let bytes = state.bytes();
        if bytes >= state.counted {
            self.bytes
                .fetch_add(bytes - state.counted, Ordering::Relaxed);
        } else {
            self.bytes
                .fetch_sub(state.counted - bytes, Ordering::Relaxed);
        }
        state.counted = bytes;
    }

    /// Lets the text of the scopes that rested longest go until all fit the bound.
    fn limit(&self, current: FlowScope) {
        while self.bytes.load(Ordering::Relaxed) > self.most {
            let mut oldest: Option<(Tick, Arc<Mutex<State>>)> = None;
            for shard in &self.shards {
                let states: Vec<_> = held(shard)
                    .iter()
                    .filter(|(scope, _)| **scope != current)
                    .map(|(_, state)| Arc::clone(state))
                    .collect();
                for state in states {
                    let (last, holds) = {
                        let state = held(&state);
                        (state.last, state.text.bytes() > 0)
                    };
                    if holds && oldest.as_ref().is_none_or(|(least, _)| last < *least) {
                        oldest = Some((last, state));
                    }
                }
            }
            let Some((_, state)) = oldest else {
                return;
            };
            let mut state = held(&state);
            state.shed();
            self.recount(&mut state);
        }
    }
}

/// Takes a lock; what a thread that panicked left behind is whole, since folding cannot panic.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the marked secrets of a content, by their places and by what they are known as a whole.
fn secrets_of(content: &Content<'_>) -> Vec<(usize, u64)> {
    let marked = content.marked.iter().enumerate();
    let secrets = marked.filter(|(_, marked)| marked.label.nature == Nature::Secret);
    secrets
        .map(|(at, marked)| (at, SecretPrint::whole_of(marked)))
        .collect()
}

/// Returns whose data it is under the configured scope.
fn narrowed(whose: Whose, settings: &FlowTracking) -> Whose {
    match settings.scope {
        Scope::Principal => whose,
        Scope::Session => Whose {
            scope: FlowScope(whose.session.id),
            ..whose
        },
    }
}

/// Adds what one session of a conversation sent lately, and what happened in it.
fn add(checked: &mut Checked, session: &Session, to: &Destination, now: Tick, window: Duration) {
    let (sum, one) = (&mut checked.recent, session.recent(now, window));
    sum.outside_calls = sum.outside_calls.saturating_add(one.outside_calls);
    sum.personal_sends = sum.personal_sends.saturating_add(one.personal_sends);
    sum.outside_bytes = sum.outside_bytes.saturating_add(one.outside_bytes);
    let (all, one) = (&mut checked.history, session.history(&to.name));
    all.denials = all.denials.saturating_add(one.denials);
    all.unjustified |= one.unjustified;
    all.ordered |= one.ordered;
}

fn taint_of(state: &State, sessions: &[SessionKey], taint: Taint) -> Taint {
    let of = |key: &SessionKey| state.sessions.get(key).map(|session| session.taint);
    sessions.iter().filter_map(of).fold(taint, joined)
}

#[cfg(test)]
mod tests;
