//! What is known about one upstream: baselines, and what it listed last in the form in which it was
//! judged.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_core::{Baseline, OfferKind, OfferState, UpstreamId};
use mcpproxy_hooks::guards::fingerprint;
use mcpproxy_hooks::guards::shadowing::Card;
use mcpproxy_hooks::guards::spoofing::origin_of;
use serde_json::Value;

use super::{Held, NotSet, Which};

/// Everything about one upstream.
#[derive(Clone, Debug, Default)]
pub(super) struct Book {
    entries: BTreeMap<OfferKind, HashMap<Box<str>, Entry>>,
    /// Whether its tools were listed since the process was started.
    listed: bool,
}

/// Everything about one thing.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    /// What is kept; what was clean from the first and need not be kept has none.
    pub(super) baseline: Option<Baseline>,
    /// The raw descriptor that was judged last; nothing if none was.
    pub(super) raw: Option<Bytes>,
    /// How it looks beside other tools.
    pub(super) card: Option<Card>,
    /// Why it could not be judged.
    pub(super) problem: Option<&'static str>,
}

impl Entry {
    fn held(&self) -> Option<Held> {
        if let Some(problem) = self.problem {
            return Some(Held::unjudged(problem));
        }
        let withheld = self.baseline.as_ref().filter(|one| !one.is_approved());
        withheld.map(Held::new)
    }
}

impl Book {
    /// Replaces a baseline.
    pub(super) fn take(&mut self, baseline: Baseline) {
        let of_kind = self.entries.entry(baseline.kind).or_default();
        let entry = of_kind.entry(baseline.name.clone()).or_default();
        entry.baseline = Some(baseline);
    }

    /// Replaces what is known of the latest listing of something.
    pub(super) fn note(&mut self, kind: OfferKind, name: Box<str>, entry: Entry) {
        self.listed = true;
        let of_kind = self.entries.entry(kind).or_default();
        let kept = of_kind.entry(name).or_default();
        let baseline = entry.baseline.or_else(|| kept.baseline.take());
        *kept = Entry { baseline, ..entry };
    }

    /// Leaves out what has no baseline and is no longer offered.
    pub(super) fn prune(&mut self, kind: OfferKind, offered: impl Fn(&str) -> bool) {
        self.listed = true;
        if let Some(of_kind) = self.entries.get_mut(&kind) {
            of_kind.retain(|name, entry| entry.baseline.is_some() || offered(name));
        }
    }

    /// Forgets what was listed.
    pub(super) fn close(&mut self) {
        self.listed = false;
        for of_kind in self.entries.values_mut() {
            of_kind.retain(|_, entry| {
                (entry.raw, entry.card, entry.problem) = (None, None, None);
                entry.baseline.is_some()
            });
        }
    }

    /// Takes approved tools as others see them from their baselines, for as long as nothing is listed.
    pub(super) fn recall(&mut self, upstream: &UpstreamId) {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let Some(server) = self.server().filter(|_| !self.listed) else {
            return;
        };
        let origin: Arc<str> = origin_of(&read(&server.current)).into();
        let tools = self.entries.get_mut(&OfferKind::Tool).into_iter().flatten();
        for (_, entry) in tools {
            let approved = entry.baseline.as_ref().filter(|one| one.is_approved());
            if let Some(known) = approved {
                entry.card = Some(Card::read(upstream, &origin, &read(&known.current)));
            }
        }
    }

    /// Tells whether its tools were listed since the process was started.
    pub(super) fn is_listed(&self) -> bool {
        self.listed
    }

    /// Tells whether any of its tools was ever judged.
    pub(super) fn has_tools(&self) -> bool {
        let tools = self.entries.get(&OfferKind::Tool).into_iter().flatten();
        tools.into_iter().any(|(_, entry)| entry.baseline.is_some())
    }

    /// Returns how much is known.
    pub(super) fn len(&self) -> usize {
        self.entries.values().map(HashMap::len).sum()
    }

    pub(super) fn entry(&self, kind: OfferKind, name: &str) -> Option<&Entry> {
        self.entries.get(&kind)?.get(name)
    }

    pub(super) fn baseline(&self, kind: OfferKind, name: &str) -> Option<&Baseline> {
        self.entry(kind, name)?.baseline.as_ref()
    }

    /// The baseline of the upstream itself.
    pub(super) fn server(&self) -> Option<&Baseline> {
        self.baseline(OfferKind::Server, "")
    }

    /// Tells whether the upstream itself may be used.
    pub(super) fn is_open(&self) -> bool {
        self.server().is_some_and(Baseline::is_approved)
    }

    pub(super) fn shows(&self, kind: OfferKind, name: &str, raw: &[u8]) -> bool {
        let entry = self.entry(kind, name);
        entry.is_some_and(|entry| entry.raw.as_deref() == Some(raw) && entry.held().is_none())
    }

    /// Says why something may not be used. A tool must have been judged; of the rest only what was
    /// found wanting is held.
    pub(super) fn held(&self, kind: OfferKind, name: &str) -> Option<Held> {
        match self.entry(kind, name) {
            Some(entry) => entry.held(),
            None if kind == OfferKind::Tool && self.listed => Some(Held::unlisted()),
            None => None,
        }
    }

    /// Everything that has a baseline, in order.
    pub(super) fn baselines(&self) -> impl Iterator<Item = &Baseline> {
        self.entries.values().flat_map(|of_kind| {
            let mut all: Vec<&Baseline> = of_kind
                .values()
                .filter_map(|entry| entry.baseline.as_ref())
                .collect();
            all.sort_by(|one, other| one.name.cmp(&other.name));
            all
        })
    }

    /// Every tool as others see it, with its baseline.
    pub(super) fn cards(&self) -> impl Iterator<Item = (&Card, Option<&Baseline>)> {
        let tools = self.entries.get(&OfferKind::Tool).into_iter().flatten();
        tools.filter_map(|(_, entry)| Some((entry.card.as_ref()?, entry.baseline.as_ref())))
    }

    /// Finds what is to be put into a state.
    pub(super) fn chosen(
        &self,
        which: &Which<'_>,
        state: OfferState,
    ) -> Result<Vec<&Baseline>, NotSet> {
        let is_item = |one: &&Baseline| one.kind != OfferKind::Server;
        match which {
            Which::Server => Ok(self.server().into_iter().collect()),
            // What a person blocked is let pass by its name alone.
            Which::All => Ok(self
                .baselines()
                .filter(is_item)
                .filter(|one| one.state != state && one.state != OfferState::Blocked)
                .collect()),
            Which::Exactly { name, hash } => {
                let mut named = self
                    .baselines()
                    .filter(is_item)
                    .filter(|one| *one.name == **name);
                let first = named.next();
                let first = first.ok_or_else(|| NotSet::Unknown((*name).to_owned()))?;
                if fingerprint::digest(&first.current) != **hash {
                    return Err(NotSet::Changed((*name).to_owned()));
                }
                Ok(vec![first])
            }
            Which::Named(names) => {
                let mut chosen = Vec::with_capacity(names.len());
                for name in *names {
                    let known: Vec<_> = self
                        .baselines()
                        .filter(is_item)
                        .filter(|one| *one.name == **name)
                        .collect();
                    if known.is_empty() {
                        return Err(NotSet::Unknown(name.clone()));
                    }
                    chosen.extend(known);
                }
                Ok(chosen)
            }
        }
    }
}
