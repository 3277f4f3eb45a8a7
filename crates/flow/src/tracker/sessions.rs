//! Conversations as the tracker knows them: what is noted of one, what is shown of it, and how it ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcpproxy_core::{
    CallId, DataOrigin, Destination, FlowScope, FlowType, Label, RiskLevel, SessionKey, Taint,
    Tick, ToolName,
};

use super::{Tracker, held, narrowed, taint_of};
use crate::event::What;
use crate::known::{WITHHELD, known};
use crate::origins::Voice;
use crate::secret::Vault;
use crate::session::{Edge, Session};
use crate::state::State;
use crate::summary::{SessionView, Summary, Usage};
use crate::whose::Whose;

/// Origins of a session that are shown.
const SHOWN: usize = 256;

impl Tracker {
    /// Notes that a conversation read something that was not looked through to its end.
    pub fn note_unread(&self, whose: Whose, now: Tick) {
        self.with_session(whose, now, || What::Unread, |session| session.unread = true);
    }

    /// Notes that something which a conversation read gave orders to the model.
    pub fn note_ordered(&self, whose: Whose, now: Tick) {
        self.with_session(
            whose,
            now,
            || What::Ordered,
            |session| session.ordered = true,
        );
    }

    /// Returns the legs of the lethal trifecta that a conversation stands on.
    pub fn taint(&self, whose: Whose) -> Taint {
        let whose = narrowed(whose, &self.settings());
        let mut taint = Taint::default();
        for (scope, sessions) in self.reach(whose) {
            self.peek(scope, |state| taint = taint_of(state, &sessions, taint));
        }
        taint
    }

    /// Says what stands in a text that a conversation read as a secret or as personal data, if anything
    /// does: whoever writes the text down leaves it out.
    pub fn known(&self, whose: Whose, text: &str) -> Option<Label> {
        let settings = self.settings();
        if !settings.enabled || text.is_empty() {
            return None;
        }
        let mut found: Option<Label> = None;
        for (scope, _) in self.reach(narrowed(whose, &settings)) {
            self.peek(scope, |state| {
                let label = known(&state.vault, text);
                if label.map(|one| one.severity) > found.as_ref().map(|one| one.severity) {
                    found = label.cloned();
                }
            });
        }
        found
    }

    /// Returns when something of a session was first followed.
    pub fn since(&self, whose: Whose) -> Option<Tick> {
        let whose = narrowed(whose, &self.settings());
        let mut since = None;
        self.peek(whose.scope, |state| {
            since = state
                .sessions
                .get(&whose.session)
                .map(|session| session.first);
        });
        since
    }

    /// Puts a session on further legs, as when it can reach something outside.
    pub fn mark(&self, whose: Whose, legs: Taint, now: Tick) {
        self.with_session(
            whose,
            now,
            || What::Marked(legs),
            |session| session.mark(legs),
        );
    }

    /// Notes that a flow was denied.
    pub fn note_denied(&self, whose: Whose, now: Tick) {
        self.with_session(whose, now, || What::Denied, Session::deny);
    }

    /// Notes that a justification was asked for at a destination, and none came.
    pub fn note_unjustified(&self, whose: Whose, to: &Destination, now: Tick) {
        let told = || What::Justified(Arc::clone(&to.name), false);
        self.with_session(whose, now, told, |session| session.unjustify(&to.name));
    }

    /// Notes that a justification came.
    pub fn note_justified(&self, whose: Whose, to: &Destination, now: Tick) {
        let told = || What::Justified(Arc::clone(&to.name), true);
        self.with_session(whose, now, told, |session| session.justify(&to.name));
    }

    /// Notes what a call's flow was found to be, for the summary and for what the call took along.
    pub fn note_flow(
        &self,
        whose: Whose,
        call: CallId,
        flow: FlowType,
        risk: RiskLevel,
        now: Tick,
    ) {
        let told = || What::Flow(call, flow, risk);
        self.with_session(whose, now, told, |session| session.judge(call, flow, risk));
    }

    /// Makes two sessions one conversation.
    pub fn link(&self, a: SessionKey, b: SessionKey) {
        self.directory().link(a, b);
        self.linked.store(true, Ordering::Release);
        self.tell_links(a, Tick::default());
    }

    /// Ends the sessions that have rested too long.
    pub fn expire(&self, now: Tick) -> Vec<Summary> {
        let longest = self.longest();
        self.end(|session| now.0.saturating_sub(session.last.0) >= longest)
    }

    /// Returns how long a session may rest.
    pub fn longest(&self) -> Duration {
        let minutes = u64::from(self.settings().session_timeout_minutes);
        Duration::from_secs(minutes * 60)
    }

    /// Ends every session.
    pub fn finish(&self) -> Vec<Summary> {
        self.end(|_| true)
    }

    fn end(&self, over: impl Fn(&Session) -> bool) -> Vec<Summary> {
        let mut summaries = Vec::new();
        for shard in &self.shards {
            let scopes: Vec<_> = held(shard)
                .iter()
                .map(|(scope, state)| (*scope, Arc::clone(state)))
                .collect();
            for (scope, state) in scopes {
                let before = summaries.len();
                let mut state = held(&state);
                let keys = state.sessions.iter().filter(|(_, session)| over(session));
                let keys: Vec<SessionKey> = keys.map(|(key, _)| *key).collect();
                let mut ended = std::mem::take(&mut state.ended);
                ended.extend(
                    keys.into_iter()
                        .filter_map(|key| Some((key, state.end(key)?))),
                );
                for (key, session) in ended {
                    let whose = Whose {
                        scope,
                        session: key,
                    };
                    let linked = self.directory().linked(key).to_vec();
                    summaries.push(Summary::of(whose, &session, linked, &state.vault));
                }
                if state.sessions.is_empty() && summaries.len() > before {
                    // INVARIANT: whoever still holds this state finds it empty, and adds to a dead
                    // copy at worst what nobody will ask for again.
                    held(shard).remove(&scope);
                    self.bytes.fetch_sub(state.counted, Ordering::Relaxed);
                }
            }
        }
        let mut directory = self.directory();
        for summary in &summaries {
            directory.leave(summary.whose.session);
        }
        summaries.sort_by_key(|summary| (summary.whose.scope.0, summary.whose.session.id));
        summaries
    }

    /// Returns what is known of a session that lasts.
    pub fn session(&self, key: SessionKey) -> Option<SessionView> {
        let (scope, linked) = {
            let directory = self.directory();
            (directory.home(key)?, directory.linked(key).to_vec())
        };
        let whose = Whose {
            scope,
            session: key,
        };
        let mut view = None;
        self.peek(scope, |state| {
            view = state.sessions.get(&key).map(|session| {
                let latest = session.origins.iter().rev();
                let latest = latest.filter_map(|&seq| state.origins.get(seq));
                // What somebody said here was read nowhere, and is not counted.
                let read = latest.filter(|origin| origin.voice == Voice::Read);
                let read = read.take(SHOWN).map(|one| shown(&one.data, &state.vault));
                let mut origins: Vec<_> = read.collect();
                origins.reverse();
                SessionView {
                    whose,
                    summary: Summary::of(whose, session, linked.clone(), &state.vault),
                    origins,
                    edges: session
                        .edges
                        .iter()
                        .map(|edge| Edge {
                            origin: shown(&edge.origin, &state.vault),
                            tool: named(&edge.tool, &state.vault),
                            ..edge.clone()
                        })
                        .collect(),
                }
            });
        });
        view
    }

    /// Returns what is known of a session and of all that are one conversation with it, that one first,
    /// as far as they last.
    pub fn views(&self, key: SessionKey) -> Vec<SessionView> {
        let linked = self.directory().linked(key).to_vec();
        let all = std::iter::once(key).chain(linked);
        all.filter_map(|key| self.session(key)).collect()
    }

    /// Returns how much is remembered.
    pub fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        self.each(|_, state| {
            usage.bytes += state.bytes();
            usage.fingerprints += state.text.live();
            usage.origins += state.origins.len();
            usage.sessions += state.sessions.len();
            usage.scopes += 1;
        });
        usage
    }

    /// Looks at every state, one after the other.
    pub(super) fn each(&self, mut look: impl FnMut(FlowScope, &State)) {
        for shard in &self.shards {
            let states: Vec<_> = held(shard)
                .iter()
                .map(|(scope, state)| (*scope, Arc::clone(state)))
                .collect();
            for (scope, state) in states {
                look(scope, &held(&state));
            }
        }
    }

    /// Changes a session, and tells others what they have to do the same.
    pub(super) fn with_session(
        &self,
        whose: Whose,
        now: Tick,
        told: impl FnOnce() -> What,
        act: impl FnOnce(&mut Session),
    ) {
        let whose = narrowed(whose, &self.settings());
        self.with(whose, now, |state| {
            act(state.session(whose.session, now));
            self.tell(whose.scope, whose.session, now, told);
        });
    }
}

/// Returns an origin as it may be shown: an agent names its tools.
fn shown(origin: &DataOrigin, vault: &Vault) -> DataOrigin {
    DataOrigin {
        tool: named(&origin.tool, vault),
        ..origin.clone()
    }
}

fn named(tool: &ToolName, vault: &Vault) -> ToolName {
    match known(vault, tool.as_str()) {
        Some(_) => ToolName::new(WITHHELD),
        None => tool.clone(),
    }
}
