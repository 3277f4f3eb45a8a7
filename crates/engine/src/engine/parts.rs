//! What the engine is made of, lent to those who ask, and what it learns of upstreams.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use mcpproxy_classify::{Class, Classification};
use mcpproxy_core::{
    ActivitySink, BaselineFault, FlowScope, Id128, Operation, SessionBasis, SessionKey, Taint,
    Tick, ToolRef, UpstreamId, Wall,
};
use mcpproxy_flow::{SessionView, Tracker, Whose};
use mcpproxy_hooks::Metrics;
use mcpproxy_hooks::guards::behaviour::Book;
use tokio::sync::broadcast;

use super::Engine;
use crate::access::Rules;
use crate::approvals::Approvals;
use crate::calls::Calls;
use crate::classes::{Classes, Described, Profile};
use crate::correlate::Correlator;
use crate::coverage::Hearing;
use crate::events::{Events, Numbered};
use crate::guarded::Guarded;
use crate::live::Live;
use crate::pipeline::{Looked, Told};
use crate::quarantine::Quarantine;
use crate::reads::Reads;
use crate::ready::{EngineSettings, Ready};
use crate::stops::Stops;

impl Engine {
    /// Listens to what is told whether anybody watches or not, for as long as the engine runs.
    pub fn overhear(&self) -> broadcast::Receiver<Arc<Numbered>> {
        self.overheard.fetch_add(1, Ordering::Relaxed);
        self.events.overhear()
    }

    /// Tells whether anybody watches here.
    pub fn is_watched(&self) -> bool {
        self.watchers() > 0
    }

    /// Counts those who watch here, beside what the gateway itself listens with.
    pub fn watchers(&self) -> usize {
        let own = self.overheard.load(Ordering::Relaxed);
        self.events.listeners().saturating_sub(own)
    }

    /// Returns the sessions that are linked with one that lasts, by the ids that records have.
    pub fn linked(&self, session: &str) -> Vec<String> {
        let id = u128::from_str_radix(session, 16).ok().map(Id128);
        let keys = id
            .into_iter()
            .flat_map(|id| SessionBasis::ALL.map(|basis| SessionKey { basis, id }));
        let mut linked = BTreeSet::new();
        for key in keys {
            let view = self.tracker.session(key);
            let others = view.map(|view| view.summary.linked).unwrap_or_default();
            linked.extend(others.iter().map(|key| key.id.to_string()));
            linked.extend(self.correlator.hook_of(key).map(|key| key.id.to_string()));
        }
        linked.remove(session);
        linked.into_iter().collect()
    }

    /// Returns what is counted about calls.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Returns what is counted about hooks and violations.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Returns the kill switch.
    pub fn stops(&self) -> &Stops {
        &self.stops
    }

    /// Returns what is told to those who watch.
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// Returns the calls that wait for a person.
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// Returns how long a person may take to answer, if there is a queue.
    pub fn patience(&self) -> Option<Duration> {
        self.ready.load().settings.approvals
    }

    pub(crate) fn live(&self) -> Option<&Live> {
        self.live.as_ref()
    }

    pub(crate) fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// Returns what a session has seen so far.
    pub fn taint(&self, scope: FlowScope, session: SessionKey) -> Taint {
        self.tracker.taint(Whose { scope, session })
    }

    /// Returns what a session read and where it went.
    pub fn session(&self, key: SessionKey) -> Option<SessionView> {
        self.tracker.session(key)
    }

    /// Returns what is known of a session and of those that are linked with it, as far as they last.
    pub fn views(&self, key: SessionKey) -> Vec<SessionView> {
        self.tracker.views(key)
    }

    /// Returns what an upstream is taken for.
    pub fn class(&self, upstream: &UpstreamId) -> Class {
        let ready = self.ready.load();
        self.classes
            .of_upstream(upstream, &ready.settings.classification)
    }

    /// Returns what a tool does, as calls of it are judged.
    pub fn operation(&self, tool: &ToolRef) -> Operation {
        let ready = self.ready.load();
        let class = self.classes.of(tool, &ready.settings.classification);
        class.does.assumed()
    }

    /// Returns the settings in force.
    pub fn settings(&self) -> EngineSettings {
        self.ready.load().settings.clone()
    }

    /// Takes over what another engine knows of upstreams and their tools.
    pub fn learn_from(&self, other: &Self) {
        let ready = self.ready.load();
        let known = other.classes.under(&ready.settings.classification);
        self.classes.take_over(known);
        self.quarantine.take_over(&other.quarantine);
        self.access.store(other.access.load_full());
    }

    pub(crate) fn ready(&self) -> Arc<Ready> {
        self.ready.load_full()
    }

    pub(crate) fn classes(&self) -> &Classes {
        &self.classes
    }

    pub(crate) fn correlator(&self) -> &Correlator {
        &self.correlator
    }

    pub(crate) fn hearing(&self) -> &Hearing {
        &self.hearing
    }

    pub(crate) fn reads(&self) -> &Reads {
        &self.reads
    }

    pub(crate) fn guarded(&self) -> arc_swap::Guard<Arc<Guarded>> {
        self.guarded.load()
    }

    pub(crate) fn habits(&self) -> &Book {
        &self.habits
    }

    pub(crate) fn access_rules(&self) -> &ArcSwapOption<Rules> {
        &self.access
    }

    /// Counts records that were lost.
    pub(crate) fn lost(&self) -> &AtomicU64 {
        &self.lost
    }

    pub(crate) fn told(&self) -> &Told {
        &self.told
    }

    pub(crate) fn looked(&self) -> &Looked {
        &self.looked
    }

    pub(crate) fn quarantine(&self) -> &Quarantine {
        &self.quarantine
    }

    /// Takes from the store what another gateway decided about what upstreams offer. It waits for the
    /// store.
    pub fn read_baselines(&self) -> Result<(), BaselineFault> {
        self.quarantine.read_again()
    }

    pub(crate) fn sink(&self) -> &dyn ActivitySink {
        &*self.sink
    }

    pub(crate) fn now(&self) -> (Tick, Wall) {
        (self.clock.tick(), self.clock.wall())
    }

    /// Returns since when data is followed: what was read before is not known.
    pub fn since(&self) -> Wall {
        let (_, wall) = self.since;
        wall
    }

    /// Returns what the other clock showed at a time since then, always the same for the same time.
    pub(crate) fn wall_at(&self, at: Tick) -> Wall {
        let (tick, wall) = self.since;
        let later = u64::try_from(tick.until(at).as_millis()).unwrap_or(u64::MAX);
        Wall(wall.0.saturating_add(later))
    }

    /// Takes a new listing of an upstream.
    pub fn learn(&self, upstream: &UpstreamId, profile: Profile, listed: Vec<Described>) {
        let ready = self.ready.load();
        let settings: &Classification = &ready.settings.classification;
        self.guarded.load().learn(upstream, &listed);
        self.classes.learn(upstream, profile, listed, settings);
    }

    /// Forgets an upstream that is gone.
    pub fn forget(&self, upstream: &UpstreamId) {
        self.classes.forget(upstream);
        self.quarantine.forget(upstream);
        self.guarded.load().forget(upstream);
        self.looked.forget(upstream);
    }
}
