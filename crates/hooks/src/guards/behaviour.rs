//! Anomalies: what callers and upstreams usually do, and how far a call is from it, as a score with
//! its reasons in words.
//!
//! Habits are learned from calls that were allowed and are over, never from others, and only so much
//! in a day. Nothing is said of anybody before enough was seen of them. What follows from a score is
//! decided by policy, like everything else; by default no call is denied for it.

mod drift;
mod novelty;
mod profile;
mod shared;
#[cfg(test)]
mod tests;
mod usual;

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpproxy_core::{
    Action, Call, CallId, Finding, Habits, Masked, MessageKind, Outcome, Principal, PrincipalKind,
    Severity, Source, Span, Status, Threat, Tier, UpstreamId, Wall,
};
use mcpproxy_text::url::Host;
use serde::{Deserialize, Serialize};

use self::drift::Drift;
use self::profile::{About, Profile};
use self::shared::Outbox;

/// The id by which the configuration knows this guard.
pub const ID: &str = "anomaly-detector";
/// Callers that are followed, and upstreams. Past that, whoever rested longest is forgotten if that
/// is a week at least; if nobody did, whoever is new is not followed.
const MOST: usize = 1024;
const RESTED: u64 = 7;
/// Calls under way that name hosts.
const MOST_PENDING: usize = 4096;
/// Hosts of one call that are looked at.
const MOST_HOSTS: usize = 8;
const CALLER: &str = "for this caller";
const UPSTREAM: &str = "for this upstream";

/// What the guard is told. A score of 0 stands for never.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Calls that must have been seen of somebody before anything is unusual.
    pub learning_calls: u32,
    /// Time that must have passed since the first of them.
    pub learning_time: Span,
    /// Score from which a call is marked.
    pub tag_at: u8,
    /// Score from which somebody is asked about a call.
    pub alarm_at: u8,
    /// Score from which a call is denied.
    pub deny_at: u8,
    /// New tools, pairs of tools and destinations that become usual for somebody in one day.
    pub new_per_day: u16,
    /// Where habits are kept; in the data folder where it is not said.
    pub baseline_store: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            learning_calls: 200,
            learning_time: Span::from_secs(24 * 60 * 60),
            tag_at: 30,
            alarm_at: 70,
            deny_at: 0,
            new_per_day: 8,
            baseline_store: None,
        }
    }
}

/// The guard at work.
#[derive(Debug)]
pub struct Behaviour {
    settings: Settings,
    book: Arc<Book>,
}

/// The habits of everybody. They outlive the settings under which they were learned.
#[derive(Debug, Default)]
pub struct Book(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    callers: HashMap<Principal, Profile>,
    upstreams: HashMap<UpstreamId, Profile>,
    /// What calls under way name, until it is known that they were allowed.
    pending: HashMap<CallId, Vec<Box<str>>>,
    /// What other gateways are to be told.
    outbox: Outbox,
}

impl Behaviour {
    /// Judges by what is in a book, and writes there what it learns.
    pub fn new(settings: Settings, book: Arc<Book>) -> Self {
        Self { settings, book }
    }

    /// Counts a call that is about to be judged; a call is counted once.
    pub fn count(&self, call: &Call, now: Wall) {
        if named(call).is_none() {
            return;
        }
        let mut state = self.book.lock();
        let State {
            callers, upstreams, ..
        } = &mut *state;
        if let Some(profile) = found(callers, &call.who, now) {
            profile.count(now);
        }
        if let Some(profile) = found(upstreams, &call.tool.upstream, now) {
            profile.count(now);
        }
        state.outbox.counted(call);
    }

    /// Says how a call departs from what is usual, if it does. `hosts` are those that it names.
    pub fn judge(&self, call: &Call, hosts: &[Box<str>], now: Wall) -> Option<Finding> {
        let tool = named(call)?;
        let hosts: Vec<_> = hosts.iter().take(MOST_HOSTS).map(|it| domain(it)).collect();
        let about = about(call, tool, &hosts, now);
        let mut drift = Drift::default();
        let mut state = self.book.lock();
        let settings = &self.settings;
        if let Some(profile) = state.callers.get(&call.who) {
            profile.judge(&about, settings, CALLER, &mut drift);
        }
        if let Some(profile) = state.upstreams.get(&call.tool.upstream) {
            profile.judge(&about, settings, UPSTREAM, &mut drift);
        }
        if !hosts.is_empty() && state.pending.len() < MOST_PENDING {
            state.pending.insert(call.id, hosts);
        }
        drop(state);
        self.finding(&drift, Action::Ask)
    }

    /// Learns from a call that was allowed and is over; says whether its answer is unusual.
    pub fn learn(&self, call: &Call, outcome: &Outcome, now: Wall) -> Option<Finding> {
        let tool = named(call)?;
        let mut state = self.book.lock();
        let hosts = state.pending.remove(&call.id).unwrap_or_default();
        let failed = match outcome.status {
            Status::Success => false,
            Status::Error => true,
            Status::Blocked | Status::Rejected | Status::Pending => return None,
        };
        let about = about(call, tool, &hosts, now);
        let given = u64::try_from(outcome.body.len()).unwrap_or(u64::MAX);
        state.outbox.learned(call, &about, given, failed);
        let settings = &self.settings;
        let mut drift = Drift::default();
        if let Some(profile) = state.callers.get_mut(&call.who) {
            drift = profile.learn(&about, given, failed, settings, CALLER);
        }
        if let Some(profile) = state.upstreams.get_mut(&call.tool.upstream) {
            let of_upstream = profile.learn(&about, given, failed, settings, UPSTREAM);
            if of_upstream.score() > drift.score() {
                drift = of_upstream;
            }
        }
        drop(state);
        // Nobody can be asked between an answer and its caller.
        self.finding(&drift, Action::Warn)
    }

    /// Takes note that a call was not allowed: nothing is learned from it.
    pub fn release(&self, call: CallId) {
        self.book.lock().pending.remove(&call);
    }

    fn finding(&self, drift: &Drift, alarm: Action) -> Option<Finding> {
        let score = drift.score();
        let reaches = |threshold: u8| threshold > 0 && score >= threshold;
        let Settings {
            tag_at,
            alarm_at,
            deny_at,
            ..
        } = self.settings;
        let wants = match () {
            () if reaches(deny_at) => Action::Deny,
            () if reaches(alarm_at) => alarm,
            () if reaches(tag_at) => Action::Allow,
            () => return None,
        };
        let severity = match score {
            70.. => Severity::High,
            50.. => Severity::Medium,
            _ => Severity::Low,
        };
        let words = drift.words();
        Some(Finding {
            source: Source::Behavioral,
            threat: Threat::AnomalousBehavior,
            severity,
            confidence: score,
            reason: Masked::from_safe(format!("Unlike before ({score} of 100): {words}.")),
            ..Finding::new(ID, Tier::Risk, wants)
        })
    }
}

impl Book {
    /// Takes up what was learned before; returns whose habits cannot be read, and are learned anew.
    pub fn take(&self, kept: Vec<Habits>) -> Vec<Box<str>> {
        let mut unread = Vec::new();
        let mut state = self.lock();
        for habits in kept {
            let profile = serde_json::from_str::<Profile>(&habits.learned).ok();
            let taken = profile.is_some_and(|profile| state.take(&habits.subject, profile));
            if !taken {
                unread.push(habits.subject);
            }
        }
        unread
    }

    /// Returns what was learned since the last time, to be written down.
    pub fn changed(&self, now: Wall) -> Vec<Habits> {
        let changed = self.lock().changed();
        let habits = changed.into_iter().filter_map(|(subject, profile)| {
            let learned = serde_json::to_string(&profile).ok()?.into();
            Some(Habits {
                subject,
                learned,
                at: now,
            })
        });
        habits.collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes the profile of somebody, if the name is one.
    fn take(&mut self, subject: &str, profile: Profile) -> bool {
        let upstream = subject.strip_prefix("upstream/").map(UpstreamId::new);
        match (caller(subject), upstream) {
            (Some(caller), _) if self.callers.len() < MOST => {
                self.callers.insert(caller, profile);
            }
            (None, Some(upstream)) if self.upstreams.len() < MOST => {
                self.upstreams.insert(upstream, profile);
            }
            _ => return false,
        }
        true
    }

    fn changed(&mut self) -> Vec<(Box<str>, Profile)> {
        let callers = self
            .callers
            .iter_mut()
            .map(|(caller, profile)| (subject(caller), profile));
        let upstreams = self.upstreams.iter_mut();
        let upstreams =
            upstreams.map(|(name, profile)| (["upstream/", name.as_str()].concat(), profile));
        let changed = callers.chain(upstreams).filter(|(_, one)| one.dirty);
        let changed = changed.map(|(subject, profile)| {
            profile.dirty = false;
            (subject.into(), profile.clone())
        });
        changed.collect()
    }
}

const KINDS: [PrincipalKind; 5] = [
    PrincipalKind::Owner,
    PrincipalKind::Agent,
    PrincipalKind::User,
    PrincipalKind::Certificate,
    PrincipalKind::Local,
];

/// How callers of each kind are named where habits are kept.
const fn prefix(kind: PrincipalKind) -> &'static str {
    match kind {
        PrincipalKind::Owner => "owner/",
        PrincipalKind::Agent => "agent/",
        PrincipalKind::User => "user/",
        PrincipalKind::Certificate => "certificate/",
        PrincipalKind::Local => "local/",
    }
}

/// Names a caller where habits are kept.
fn subject(caller: &Principal) -> String {
    [prefix(caller.kind), &*caller.name].concat()
}

/// Reads such a name.
fn caller(subject: &str) -> Option<Principal> {
    KINDS.into_iter().find_map(|kind| {
        let name = subject.strip_prefix(prefix(kind))?;
        Some(Principal {
            kind,
            name: name.into(),
            claims: None,
        })
    })
}

/// Finds the profile of somebody, or begins one while there is room.
fn found<'a, K: Clone + Eq + Hash>(
    all: &'a mut HashMap<K, Profile>,
    whose: &K,
    now: Wall,
) -> Option<&'a mut Profile> {
    if !all.contains_key(whose) {
        if all.len() >= MOST {
            let day = now.0 / (24 * 60 * 60 * 1000);
            let longest = all.iter().min_by_key(|(_, profile)| profile.last_day());
            let rested = longest.filter(|(_, one)| one.last_day() + RESTED < day);
            let rested = rested.map(|(whose, _)| whose.clone());
            all.remove(&rested?);
        }
        all.insert(whose.clone(), Profile::default());
    }
    all.get_mut(whose)
}

/// Returns the name under which a message counts, if it does: only tools are told apart, since
/// everything else is named by whoever asks for it.
fn named(call: &Call) -> Option<&str> {
    let MessageKind::Request(method) = &call.kind else {
        return None;
    };
    match &**method {
        "tools/call" => Some(call.tool.tool.as_str()),
        "resources/read" | "prompts/get" | "completion/complete" => Some(method),
        _ => None,
    }
}

fn about<'a>(call: &'a Call, tool: &'a str, hosts: &'a [Box<str>], now: Wall) -> About<'a> {
    About {
        upstream: call.tool.upstream.as_str(),
        tool,
        session: call.session,
        bytes: u64::try_from(call.wire.raw.len()).unwrap_or(u64::MAX),
        hosts,
        now,
    }
}

/// The domain under which a host is registered. What stands before it is chosen by whoever writes
/// the address, and may be what is to be taken out.
fn domain(host: &str) -> Box<str> {
    let read = Host::read(host);
    let registered = read.as_ref().and_then(Host::registrable);
    registered.unwrap_or(host).into()
}
