//! A tracker among others: what it did is told to them, and what they did is folded.

use std::sync::atomic::Ordering;

use mcpproxy_core::{DataOrigin, FlowScope, SessionKey, Side, Tick};

use super::{Tracker, narrowed};
use crate::event::{Event, What};
use crate::reading::Reading;
use crate::whose::Whose;

impl Tracker {
    /// Begins to keep what happens here, to be told to others.
    pub fn share(&self) {
        self.outbox.open();
    }

    /// Takes what happened in a scope since the last time, oldest first.
    pub fn take(&self, scope: FlowScope) -> impl Iterator<Item = (Tick, Event)> {
        self.outbox.take(scope).into_iter()
    }

    /// Returns the scopes in which something happened that nobody was told yet.
    pub fn untold(&self) -> Vec<FlowScope> {
        self.outbox.scopes()
    }

    /// Returns how many events were not kept, since too many waited.
    pub fn dropped(&self) -> u64 {
        self.outbox.dropped()
    }

    /// Folds what another process did in a scope.
    pub fn fold(&self, scope: FlowScope, event: Event, at: Tick) {
        let settings = self.settings();
        let session = event.session;
        if let What::Linked(with, home) = &event.what {
            let mut directory = self.directory();
            directory.settle_in(Whose { scope, session });
            if let Some(scope) = *home {
                let session = *with;
                directory.settle_in(Whose { scope, session });
            }
            directory.link(session, *with);
            drop(directory);
            self.linked.store(true, Ordering::Release);
            return;
        }
        let most = settings.max_origins_per_session;
        self.with(Whose { scope, session }, at, |state| {
            state.fold(event, most, at);
        });
        self.limit(scope);
    }

    /// Takes note of where a session lives that only others have seen.
    pub fn lives(&self, whose: Whose) {
        let whose = narrowed(whose, &self.settings());
        self.directory().settle_in(whose);
    }

    /// Returns the scopes in which something may be known that concerns a conversation.
    pub fn scopes(&self, whose: Whose) -> Vec<FlowScope> {
        let reach = self.reach(narrowed(whose, &self.settings()));
        reach.into_iter().map(|(scope, _)| scope).collect()
    }

    /// Returns the scopes of sessions that would end at `now`: others may know that they go on.
    pub fn resting(&self, now: Tick) -> Vec<FlowScope> {
        let longest = self.longest();
        let mut resting = Vec::new();
        self.each(|scope, state| {
            let mut sessions = state.sessions.values();
            if sessions.any(|session| now.0.saturating_sub(session.last.0) >= longest) {
                resting.push(scope);
            }
        });
        resting
    }

    /// Tells whether anything is known in a scope.
    pub fn knows(&self, scope: FlowScope) -> bool {
        super::held(self.shard(scope)).contains_key(&scope)
    }

    /// Keeps an event for others.
    pub(super) fn tell(
        &self,
        scope: FlowScope,
        session: SessionKey,
        now: Tick,
        what: impl FnOnce() -> What,
    ) {
        self.outbox.put(scope, now, || Event {
            session,
            what: what(),
        });
    }

    /// Tells others what was read, its secrets apart: they are kept for longer.
    pub(super) fn tell_read(
        &self,
        whose: Whose,
        origin: DataOrigin,
        mut reading: Reading,
        now: Tick,
    ) {
        let secrets = std::mem::take(&mut reading.secrets);
        let (scope, session) = (whose.scope, whose.session);
        if !secrets.is_empty() && origin.side == Side::Inside {
            let from = origin.clone();
            self.tell(scope, session, now, || What::Secrets(from, secrets));
        }
        self.tell(scope, session, now, || What::Read(origin, reading));
    }

    /// Tells which sessions are one conversation with this one, in the scope of each of them as far as
    /// it is known.
    pub(super) fn tell_links(&self, session: SessionKey, now: Tick) {
        if !self.outbox.is_open() {
            return;
        }
        let members: Vec<(SessionKey, Option<FlowScope>)> = {
            let directory = self.directory();
            let linked = directory.linked(session).iter().copied();
            let all = std::iter::once(session).chain(linked);
            all.map(|key| (key, directory.home(key))).collect()
        };
        for (at, &(one, home)) in members.iter().enumerate() {
            let Some(home) = home else { continue };
            for (place, &(other, lives)) in members.iter().enumerate() {
                // In one scope it is enough that either tells.
                if place > at || lives != Some(home) && place != at {
                    self.tell(home, one, now, || What::Linked(other, lives));
                }
            }
        }
    }
}
