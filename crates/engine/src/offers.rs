//! What the engine does for doors and operators about what upstreams offer: judge a listing, say
//! what may be shown, change states, and put every change on record.

use futures_util::future::join_all;
use mcpproxy_core::{Call, Door, OfferKind, OfferState, SinkFault, UpstreamId, Verdict};
use mcpproxy_hooks::guards::Turn;
use mcpproxy_hooks::guards::rug_pull::Difference;
use mcpproxy_hooks::guards::spoofing::Profile as Started;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::classes::Profile;
use crate::engine::Engine;
use crate::engine::keeping::LEAST;
use crate::quarantine::{Extent, Held, Known, Listing, NotSet, Offered, Told, Which};
use crate::ready::Ready;

/// What changed in something since it was approved.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "OfferDiff")]
pub struct Diff {
    /// What is known about it.
    #[serde(flatten)]
    pub known: Known,
    /// What differs; everything, where nothing was approved.
    pub changes: Vec<Difference>,
}

/// What stands in front of differences that are no more.
const TAKEN_BACK: &str = "… it was taken back; this is what it was when it was withheld";

/// Changes that were made and have yet to be told.
#[derive(Debug, Default)]
#[must_use = "changes are told by `Engine::tell`"]
pub struct News(Vec<Turn>);

impl News {
    /// Tells whether nothing changed that is worth telling.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns how many changes there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl Engine {
    /// Judges what an upstream offers. It is shown once this returns, where it may be.
    pub fn judge_offers(
        &self,
        upstream: &UpstreamId,
        profile: &Profile,
        offers: Vec<Offered>,
        extent: Extent,
    ) -> News {
        let ready = self.ready();
        if !ready.judges() {
            return News::default();
        }
        let started = Started {
            command: profile.command.as_deref(),
            args: &profile.args,
            working_dir: profile.working_dir.as_deref(),
            url: profile.url.as_deref(),
            pins: &profile.pins,
            installed: profile.installed.as_deref(),
        };
        let listing = Listing {
            upstream,
            profile: started,
            trust: profile.trust.unwrap_or(ready.settings.guards.trust),
            offers,
            extent,
        };
        let (_, now) = self.now();
        let turns = self.quarantine().learn(&ready.guards, listing, now);
        News(turns.into_iter().filter(Turn::is_news).collect())
    }

    /// Withholds an upstream that a call caught in a lie about its tool, if it did.
    pub(crate) async fn catch(&self, call: &Call, verdict: &Verdict, ready: &Ready) {
        let mut said = verdict.findings.iter();
        let mut said = said.by_ref().filter_map(|one| one.contradiction.as_ref());
        if !ready.withholds() || !said.any(|one| one.quarantines) {
            return;
        }
        let (_, now) = self.now();
        let (upstream, tool) = (&call.tool.upstream, call.tool.tool.as_str());
        let turn = self.quarantine().catch(upstream, tool, now);
        self.tell(News(turn.into_iter().collect()), call.door).await;
    }

    /// Tells those who watch about changes, and puts them on record. Where records are to be durable
    /// this returns once they are, so that nobody is shown a listing whose judgement a kill could lose;
    /// a disk that hangs holds nobody for longer than a record is given at least.
    pub async fn tell(&self, news: News, door: Door) {
        if news.is_empty() {
            return;
        }
        let (_, now) = self.now();
        let ready = self.ready();
        let how = ready.settings.durability;
        let told = news.0.iter().map(|turn| Told::new(&ready.detector, turn));
        let told: Vec<_> = told.collect();
        for one in &told {
            one.log();
            self.events().tell(one.event(now));
        }
        // CRASH: the states are on disk already. A stop here leaves them without their records, but
        // what they are about has not been shown to anybody yet.
        let records = told.iter().map(|one| one.record(door, now));
        // Handed over together, in order: a long list waits for the disk once, not for each of its tools.
        let kept = join_all(records.map(|record| self.sink().append(record, how)));
        let kept = tokio::time::timeout(LEAST, kept).await;
        let kept = kept.unwrap_or_else(|_| vec![Err(SinkFault::Late)]);
        for fault in kept.into_iter().filter_map(Result::err) {
            tracing::error!("a change of the quarantine is not on record: {fault}");
        }
    }

    /// Tells whether something may be shown to agents, in exactly this form.
    pub fn shows(&self, upstream: &UpstreamId, kind: OfferKind, name: &str, raw: &[u8]) -> bool {
        let approved =
            !self.ready().withholds() || self.quarantine().shows((upstream, kind, name), raw);
        approved && self.is_let_through(upstream, kind, name, raw)
    }

    /// Says why something may not be used, if it may not.
    pub fn held(&self, upstream: &UpstreamId, kind: OfferKind, name: &str) -> Option<Held> {
        let withholds = self.ready().withholds();
        let held = withholds.then(|| self.quarantine().held(upstream, kind, name));
        held.flatten()
            .or_else(|| self.held_by_hooks(upstream, kind, name))
    }

    /// Says why nothing of an upstream may be used, if the upstream itself is withheld.
    pub fn held_upstream(&self, upstream: &UpstreamId) -> Option<Held> {
        let withholds = self.ready().withholds();
        let held = || self.quarantine().held(upstream, OfferKind::Server, "");
        withholds.then(held).flatten()
    }

    /// Tells whether a tool is unknown although its upstream has listed what it has.
    pub fn is_unlisted(&self, upstream: &UpstreamId, tool: &str) -> bool {
        let held = self.held(upstream, OfferKind::Tool, tool);
        held.is_some_and(|held| held.is_unlisted())
    }

    /// Returns what is known about what upstreams offer; of all if none is named.
    pub fn offers(&self, upstream: Option<&UpstreamId>) -> Vec<Known> {
        self.quarantine().known(upstream)
    }

    /// Returns what changed in something since it was approved.
    pub fn diff(&self, upstream: &UpstreamId, name: &str) -> Option<Diff> {
        let kinds = OfferKind::ALL
            .into_iter()
            .filter(|kind| *kind != OfferKind::Server);
        let mut found = kinds.filter_map(|kind| self.quarantine().baseline(upstream, kind, name));
        let baseline = found.next()?;
        let ready = self.ready();
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let approved = baseline.approved.as_deref().map(read).unwrap_or_default();
        let mut known = self.quarantine().known(Some(upstream)).into_iter();
        let known = known.find(|one| one.kind == baseline.kind && one.name == *baseline.name)?;
        // Who takes back what was withheld does not take away that it can be looked at.
        let turned = self.quarantine().turned(&baseline);
        let shown = turned.as_ref().unwrap_or(&baseline.current);
        let taken_back = turned.is_some().then(|| Difference {
            path: TAKEN_BACK.to_owned(),
            before: None,
            after: None,
        });
        let differences = ready.guards.differences(&approved, &read(shown));
        Some(Diff {
            known,
            changes: taken_back.into_iter().chain(differences).collect(),
        })
    }

    /// Puts things of an upstream into a state because somebody said so.
    pub fn set_state(
        &self,
        upstream: &UpstreamId,
        which: &Which<'_>,
        state: OfferState,
        by: &str,
    ) -> Result<News, NotSet> {
        let (_, now) = self.now();
        let turns = self.quarantine().set(upstream, which, state, by, now)?;
        Ok(News(turns.into_iter().filter(Turn::is_news).collect()))
    }
}
