//! What upstreams offer and may not be used: baselines in memory and in their store, and what every
//! door asks of them.
//!
//! What a listing makes of a baseline is for the guards to say; judging one is in `judge`, what is
//! told about it in `news`.

mod alarms;
mod book;
mod judge;
mod news;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use bytes::Bytes;
use mcpproxy_core::{
    Action, Baseline, BaselineFault, BaselineStore, Call, Finding, Masked, MemoryBaselines,
    MessageKind, OfferKind, OfferState, Severity, Threat, Tier, UpstreamId, Wall,
};
use mcpproxy_hooks::guards::{Turn, fingerprint, quarantine, rug_pull, shadowing, spoofing};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use self::alarms::Alarms;
use self::book::Book;
pub use self::judge::Extent;
pub(crate) use self::judge::Listing;
pub(crate) use self::news::Told;
use crate::pipeline::HOOKED;

/// One thing as an upstream lists it.
#[derive(Clone, Debug)]
pub struct Offered {
    /// What it is.
    pub kind: OfferKind,
    /// Its name at the upstream; empty where there is only one.
    pub name: Box<str>,
    /// The raw descriptor.
    pub raw: Bytes,
}

/// Why something that an upstream offers cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The state that it is in, in a word.
    pub state: &'static str,
    /// Why.
    pub reason: String,
    rule: &'static str,
    threat: Threat,
    remedy: &'static str,
}

/// What lets a tool pass.
const APPROVE: &str = "mcpproxy tools approve";

/// The rule by which a call to what is withheld is denied.
pub const WITHHELD: &str = "quarantine";
/// The rule by which a call to a tool is denied that nobody listed.
pub const UNLISTED: &str = "unlisted_tool";

/// Why the state of something could not be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotSet {
    /// Nobody has listed it.
    Unknown(String),
    /// It is no longer what was meant.
    Changed(String),
    /// It could not be written down.
    Unkept(BaselineFault),
}

/// What is known about something that an upstream offers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Offer")]
pub struct Known {
    /// The upstream.
    pub server_name: String,
    /// What it is.
    pub kind: OfferKind,
    /// Its name.
    pub name: String,
    /// Whether it may be used.
    pub state: OfferState,
    /// Why.
    pub reason: String,
    /// Who put it in this state.
    pub by: String,
    /// Since when.
    pub since: String,
    /// The fingerprint of what is offered now.
    pub fingerprint: fingerprint::Fingerprint,
    /// The fingerprint of what was approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_hash: Option<String>,
}

/// Everything that is known about what upstreams offer.
#[derive(Debug)]
pub(crate) struct Quarantine {
    books: RwLock<HashMap<UpstreamId, Book>>,
    /// The upstreams that are configured: who was let in before the others were configured stands
    /// first, and of those that came together who stands first in the configuration.
    standing: RwLock<Arc<[UpstreamId]>>,
    store: Arc<dyn BaselineStore>,
    /// Held by whoever changes the books, from the first look to the last write.
    judging: Mutex<()>,
    alarms: Alarms,
}

impl Default for Quarantine {
    fn default() -> Self {
        Self {
            books: RwLock::default(),
            standing: RwLock::default(),
            store: Arc::new(MemoryBaselines::default()),
            judging: Mutex::default(),
            alarms: Alarms::default(),
        }
    }
}

impl Quarantine {
    /// Takes up where the store left off.
    pub(crate) fn open(store: Arc<dyn BaselineStore>) -> Result<Self, BaselineFault> {
        let mut books: HashMap<UpstreamId, Book> = HashMap::new();
        for baseline in store.load()? {
            let book = books.entry(baseline.upstream.clone()).or_default();
            book.take(baseline);
        }
        Ok(Self {
            books: RwLock::new(books),
            standing: RwLock::default(),
            store,
            judging: Mutex::default(),
            alarms: Alarms::default(),
        })
    }

    /// Takes what the store has now: another gateway may have written there.
    pub(crate) fn read_again(&self) -> Result<(), BaselineFault> {
        let _judging = self.judging();
        let kept = self.store.load()?;
        let mut books = self.books.write().unwrap_or_else(PoisonError::into_inner);
        for baseline in kept {
            let book = books.entry(baseline.upstream.clone()).or_default();
            book.take(baseline);
        }
        Ok(())
    }

    /// Takes over what another knows, without its store.
    pub(crate) fn take_over(&self, other: &Self) {
        let known = other.read().clone();
        *self.books.write().unwrap_or_else(PoisonError::into_inner) = known;
        self.stand(other.standing());
    }

    /// Takes the upstreams that are configured, in the order of the configuration. When each of them
    /// lists something depends on how fast it starts, and says nothing about who it is.
    pub(crate) fn configure(&self, upstreams: &[UpstreamId]) {
        let _judging = self.judging();
        let before = self.standing();
        let standing = {
            let books = self.read();
            let place = |name: &UpstreamId| {
                let before = before.iter().position(|one| one == name);
                let is_open = books.get(name).is_some_and(Book::is_open);
                (before.unwrap_or(usize::MAX), !is_open)
            };
            let mut standing = upstreams.to_vec();
            standing.sort_by_cached_key(place);
            standing
        };
        let mut books = self.books.write().unwrap_or_else(PoisonError::into_inner);
        for name in &standing {
            // Who lists before them is held beside what they had when they were last here.
            if let Some(book) = books.get_mut(name) {
                book.recall(name);
            }
        }
        drop(books);
        self.stand(standing.into());
    }

    fn stand(&self, standing: Arc<[UpstreamId]>) {
        *self
            .standing
            .write()
            .unwrap_or_else(PoisonError::into_inner) = standing;
    }

    fn standing(&self) -> Arc<[UpstreamId]> {
        let standing = self.standing.read();
        Arc::clone(&standing.unwrap_or_else(PoisonError::into_inner))
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, HashMap<UpstreamId, Book>> {
        self.books.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn judging(&self) -> std::sync::MutexGuard<'_, ()> {
        self.judging.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whether something may be shown as it is: it was judged in exactly this form.
    pub(crate) fn shows(&self, offered: (&UpstreamId, OfferKind, &str), raw: &[u8]) -> bool {
        let (upstream, kind, name) = offered;
        let books = self.read();
        let book = books.get(upstream);
        book.is_some_and(|book| book.is_open() && book.shows(kind, name, raw))
    }

    /// Says why something may not be used, if it may not.
    pub(crate) fn held(&self, upstream: &UpstreamId, kind: OfferKind, name: &str) -> Option<Held> {
        let books = self.read();
        let book = books.get(upstream)?;
        if let Some(server) = book.server().filter(|server| !server.is_approved()) {
            return Some(Held {
                state: server.state.name(),
                reason: format!("its server is {}: {}", server.state.name(), server.reason),
                rule: WITHHELD,
                threat: threat(server),
                remedy: "mcpproxy upstream unquarantine",
            });
        }
        book.held(kind, name)
    }

    /// Returns a finding if a call is for something that may not be used.
    pub(crate) fn judge(&self, call: &Call) -> Option<Finding> {
        let MessageKind::Request(method) = &call.kind else {
            return None;
        };
        let kind = match &**method {
            "tools/call" => OfferKind::Tool,
            "prompts/get" => OfferKind::Prompt,
            "resources/read" | "resources/subscribe" => OfferKind::Resource,
            _ => return None,
        };
        let (upstream, name) = (&call.tool.upstream, call.tool.tool.as_str());
        let held = self.held(upstream, kind, name)?;
        Some(Finding {
            severity: Severity::High,
            threat: held.threat,
            reason: Masked::from_safe(held.sentence(upstream, kind, name)),
            ..Finding::new(held.rule, Tier::Quarantine, Action::Deny)
        })
    }

    /// Puts things of an upstream into a state, on a person's or an agent's word: those that are
    /// named, or all that could be meant.
    pub(crate) fn set(
        &self,
        upstream: &UpstreamId,
        which: &Which<'_>,
        state: OfferState,
        by: &str,
        now: Wall,
    ) -> Result<Vec<Turn>, NotSet> {
        let _judging = self.judging();
        let turns = {
            let books = self.read();
            let unknown = || NotSet::Unknown(upstream.to_string());
            let book = books.get(upstream).ok_or_else(unknown)?;
            let chosen = book.chosen(which, state)?;
            let turns = chosen.into_iter().map(|known| word(known, state, by, now));
            turns.collect::<Vec<_>>()
        };
        self.keep(&turns).map_err(NotSet::Unkept)?;
        self.publish(&turns);
        Ok(turns)
    }

    /// Withholds an upstream that is caught in a lie about one of its tools.
    pub(crate) fn catch(&self, upstream: &UpstreamId, tool: &str, now: Wall) -> Option<Turn> {
        let _judging = self.judging();
        let turn = {
            let books = self.read();
            quarantine::caught(now, books.get(upstream)?.server()?, tool)?
        };
        if let Err(fault) = self.keep(std::slice::from_ref(&turn)) {
            // It is withheld all the same, for as long as the process lives.
            tracing::error!("that `{upstream}` is withheld is not kept: {fault}");
        }
        self.publish(std::slice::from_ref(&turn));
        Some(turn)
    }

    /// Returns what is known about what an upstream offers; of all upstreams if none is named.
    pub(crate) fn known(&self, upstream: Option<&UpstreamId>) -> Vec<Known> {
        let books = self.read();
        let mut names: Vec<&UpstreamId> = books.keys().collect();
        names.retain(|name| upstream.is_none_or(|wanted| wanted == *name));
        names.sort();
        let chosen = names.into_iter().filter_map(|name| books.get(name));
        chosen
            .flat_map(|book| book.baselines().map(known))
            .collect()
    }

    /// Returns the baseline of something.
    pub(crate) fn baseline(
        &self,
        upstream: &UpstreamId,
        kind: OfferKind,
        name: &str,
    ) -> Option<Baseline> {
        let books = self.read();
        books.get(upstream)?.baseline(kind, name).cloned()
    }

    /// Returns what something was when it turned, where it is again what was approved.
    pub(crate) fn turned(&self, now: &Baseline) -> Option<Box<str>> {
        self.alarms.of(now)
    }

    /// Forgets what an upstream that is gone listed; what is known about it stays.
    pub(crate) fn forget(&self, upstream: &UpstreamId) {
        let _judging = self.judging();
        let mut books = self.books.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(book) = books.get_mut(upstream) {
            book.close();
        }
    }

    fn keep(&self, turns: &[Turn]) -> Result<(), BaselineFault> {
        if turns.is_empty() {
            return Ok(());
        }
        let changed: Vec<Baseline> = turns.iter().map(|turn| turn.baseline.clone()).collect();
        // CRASH: a stop here leaves the old baselines, under which nothing new is shown.
        self.store.keep(&changed)
    }

    fn publish(&self, turns: &[Turn]) {
        let mut books = self.books.write().unwrap_or_else(PoisonError::into_inner);
        for turn in turns {
            let book = books.entry(turn.baseline.upstream.clone()).or_default();
            book.take(turn.baseline.clone());
        }
    }
}

/// Which things of an upstream are meant.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    /// The upstream itself.
    Server,
    /// Tools, prompts, resources and the rest by their names.
    Named(&'a [String]),
    /// One of them, in the form that has this hash.
    Exactly {
        /// Its name.
        name: &'a str,
        /// The hash that whoever means it has seen.
        hash: &'a str,
    },
    /// Everything that waits, or everything that is in use, whichever the new state is not.
    All,
}

impl Held {
    fn new(baseline: &Baseline) -> Self {
        Self {
            state: baseline.state.name(),
            reason: baseline.reason.to_string(),
            rule: WITHHELD,
            threat: threat(baseline),
            remedy: APPROVE,
        }
    }

    fn unjudged(reason: &str) -> Self {
        Self {
            state: OfferState::Quarantined.name(),
            reason: reason.to_owned(),
            rule: WITHHELD,
            threat: Threat::ToolPoisoning,
            remedy: APPROVE,
        }
    }

    /// A tool that was never listed, so that nobody could judge it.
    fn unlisted() -> Self {
        Self {
            rule: UNLISTED,
            ..Self::unjudged("it was never listed")
        }
    }

    /// Tells whether nobody listed it.
    pub fn is_unlisted(&self) -> bool {
        self.rule == UNLISTED
    }

    /// Something that a hook withholds.
    pub(crate) fn by_hook(reason: String) -> Self {
        Self {
            rule: HOOKED,
            state: "withheld",
            reason,
            remedy: "",
            threat: Threat::ToolPoisoning,
        }
    }

    /// Says what is held, why, and what a person can do about it.
    pub fn sentence(&self, upstream: &UpstreamId, kind: OfferKind, name: &str) -> String {
        let name: String = name.escape_debug().take(80).collect();
        let (state, reason, kind) = (self.state, &self.reason, kind.name());
        let remedy = self.remedy;
        if self.rule == HOOKED {
            return format!("{kind} `{name}` of `{upstream}` is withheld: {reason}");
        }
        format!(
            "{kind} `{name}` of `{upstream}` is withheld ({state}): {reason}; a person can look at \
             it with `mcpproxy tools diff` and let it pass with `{remedy}`"
        )
    }
}

/// The threat that a withheld thing stands for, by the guard that withheld it.
fn threat(baseline: &Baseline) -> Threat {
    match &*baseline.by {
        rug_pull::ID => Threat::RugPull,
        shadowing::ID => Threat::ToolShadowing,
        spoofing::ID => Threat::ServerSpoofing,
        _ if baseline.kind == OfferKind::Server => Threat::ServerSpoofing,
        _ => Threat::ToolPoisoning,
    }
}

/// Changes a state because somebody said so.
fn word(known: &Baseline, state: OfferState, by: &str, now: Wall) -> Turn {
    let approved = match state {
        OfferState::Approved => Some(known.current.clone()),
        OfferState::Quarantined | OfferState::RugPull | OfferState::Blocked => {
            known.approved.clone()
        }
    };
    Turn {
        before: Some(known.state),
        notice: None,
        baseline: Baseline {
            state,
            approved,
            by: by.into(),
            reason: format!("{} by {by}", state.name()).into(),
            since: now,
            ..known.clone()
        },
    }
}

fn known(baseline: &Baseline) -> Known {
    let current: Value = serde_json::from_str(&baseline.current).unwrap_or_default();
    Known {
        server_name: baseline.upstream.to_string(),
        kind: baseline.kind,
        name: baseline.name.to_string(),
        state: baseline.state,
        reason: baseline.reason.to_string(),
        by: baseline.by.to_string(),
        since: baseline.since.rfc3339(),
        fingerprint: fingerprint::of(&current),
        approved_hash: baseline.approved.as_deref().map(fingerprint::digest),
    }
}
