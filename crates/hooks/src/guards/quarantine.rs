//! What becomes of a baseline when a listing comes in: the states of the quarantine and the ways
//! between them.
//!
//! Only a person approves what a guard has withheld: no listing, however it looks, and no new
//! conversation with the upstream ever does.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use mcpproxy_core::{Baseline, OfferKind, OfferState, Trust, UpstreamId, Wall};
use serde_json::Value;

use super::rug_pull::{Change, Difference};
use super::shadowing::{Card, Neighbours, Shadow};
use super::spoofing::{Moved, Profile};
use super::watch::On;
use super::{Guards, fingerprint, poisoning, rug_pull, shadowing, show, spoofing};

/// Who approved what nobody had to be asked about.
pub const UNASKED: &str = "scan";

/// The number of tools that changed hostilely from which the whole upstream waits.
const SEVERAL: usize = 3;

/// For how long a harmless change is not told again, in milliseconds.
const QUIET: u64 = 60 * 60 * 1000;

/// One thing that an upstream offers.
#[derive(Clone, Debug)]
pub struct Offer {
    /// What it is.
    pub kind: OfferKind,
    /// Its name at the upstream; empty where there is only one.
    pub name: Box<str>,
    /// The descriptor.
    pub descriptor: Value,
    /// Its canonical form.
    pub canonical: Box<str>,
}

impl Offer {
    /// Reads a descriptor; one that cannot be read or is too large is nothing that can be judged.
    pub fn read(kind: OfferKind, name: &str, raw: &[u8]) -> Option<Self> {
        if raw.len() > fingerprint::LARGEST {
            return None;
        }
        let descriptor: Value = serde_json::from_slice(raw).ok()?;
        Some(Self {
            kind,
            name: name.into(),
            canonical: fingerprint::canonical(&descriptor).into(),
            descriptor,
        })
    }
}

/// Where something is offered, and when.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// The upstream.
    pub upstream: &'a UpstreamId,
    /// How much is taken on trust from it.
    pub trust: Trust,
    /// All upstreams that are configured: the name of an earlier one is not for a later one to take.
    pub standing: &'a [UpstreamId],
    /// Whether what it offers is seen for the first time.
    pub first: bool,
    /// The present.
    pub now: Wall,
}

/// A baseline that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The baseline as it is now.
    pub baseline: Baseline,
    /// The state before; nothing where there was none.
    pub before: Option<OfferState>,
    /// What is worth telling although the state is the same.
    pub notice: Option<String>,
}

impl Turn {
    /// Tells whether there is anything to tell. That something new is fine is not.
    pub fn is_news(&self) -> bool {
        let before = self.before.unwrap_or(OfferState::Approved);
        self.notice.is_some() || before != self.baseline.state
    }
}

/// A reason to withhold something, and the guard that has it.
struct Doubt {
    by: &'static str,
    reason: String,
}

impl Guards {
    /// Judges a tool of a listing; nothing where its baseline stays as it is.
    pub fn tool<'a>(
        &self,
        ground: Ground<'_>,
        known: Option<&Baseline>,
        (offer, card): (&Offer, &'a Card),
        neighbours: &Neighbours<'a>,
    ) -> Option<Turn> {
        let Some(known) = known else {
            let (doubt, told) = self.doubt(ground.trust, offer, card, neighbours);
            let mut turn = first_seen(ground, offer, doubt);
            turn.notice = told.filter(|_| turn.baseline.is_approved());
            return Some(turn);
        };
        if *known.current == *offer.canonical {
            return None;
        }
        if !known.is_approved() || known.approved.as_deref() == Some(&*offer.canonical) {
            return Some(seen(known, offer));
        }
        let strict = ground.trust == Trust::Manual && self.settings.rug_pull.is_some();
        let mut turn = seen(known, offer);
        match self.change(known, offer, card, neighbours) {
            Change::Notice(reason) if !strict => turn.tell(reason, ground.now),
            Change::Notice(reason) | Change::Alarm(reason) => {
                let reason = format!("it changed after it was approved: {reason}");
                turn.withhold(OfferState::RugPull, rug_pull::ID, reason, ground.now);
            }
        }
        Some(turn)
    }

    /// Judges a prompt, a resource, a template or instructions; nothing where its baseline stays as
    /// it is. What is clean has none: such lists change all the time.
    pub fn other(
        &self,
        ground: Ground<'_>,
        known: Option<&Baseline>,
        offer: &Offer,
    ) -> Option<Turn> {
        if known.is_some_and(|known| *known.current == *offer.canonical) {
            return None;
        }
        let poisoned = || {
            let settings = self.settings.poisoning?;
            self.poisoned(settings, offer)
        };
        let Some(known) = known else {
            let reason = poisoned()?;
            let by = poisoning::ID;
            return Some(first_seen(ground, offer, Some(Doubt { by, reason })));
        };
        let mut turn = seen(known, offer);
        let approved = known.approved.as_deref() == Some(&*offer.canonical);
        if known.is_approved()
            && !approved
            && let Some(reason) = poisoned()
        {
            let reason = format!("it changed after it was approved: {reason}");
            turn.withhold(OfferState::RugPull, rug_pull::ID, reason, ground.now);
        }
        Some(turn)
    }

    /// Judges who an upstream is; nothing where its baseline stays as it is.
    pub fn server(
        &self,
        ground: Ground<'_>,
        known: Option<&Baseline>,
        profile: &Profile<'_>,
    ) -> Option<Turn> {
        let mut identity = profile.identity();
        if let Some(approved) = known.and_then(|known| known.approved.as_deref()) {
            identity = spoofing::remembered(identity, &parsed(approved));
        }
        let offer = Offer {
            kind: OfferKind::Server,
            name: "".into(),
            canonical: fingerprint::canonical(&identity).into(),
            descriptor: identity,
        };
        let settings = self.settings.spoofing.as_ref();
        let name = ground.upstream.as_str();
        let stranger = settings.and_then(|settings| {
            self.doubted(spoofing::ID, || {
                // Who let it in knows what it is called.
                let is_let_in =
                    known.is_some_and(|known| known.is_approved() && &*known.by != UNASKED);
                let alike = || spoofing::alike(settings, name, ground.standing);
                spoofing::judge(settings, name, profile)
                    .or_else(|| (!is_let_in).then(alike).flatten())
            })
        });
        let Some(known) = known else {
            let doubt = stranger.map(|reason| Doubt {
                by: spoofing::ID,
                reason,
            });
            // Under manual trust its tools wait; there is nothing to see of the upstream itself.
            let trust = Trust::Auto;
            return Some(first_seen(Ground { trust, ..ground }, &offer, doubt));
        };
        if *known.current == *offer.canonical {
            let named = settings.is_some_and(|settings| spoofing::is_listed(settings, name));
            return listed(ground, known, stranger, named);
        }
        let mut turn = seen(known, &offer);
        if !known.is_approved() {
            return Some(turn);
        }
        let before = parsed(known.approved.as_deref().unwrap_or("null"));
        let moved = spoofing::compare(&before, &offer.descriptor);
        let waits = settings.is_some() && spoofing::waits(&moved, ground.trust);
        let reason = match moved {
            Moved::Known => None,
            Moved::Upgraded(reason) | Moved::Reconfigured(reason) | Moved::Other(reason) => {
                Some(reason)
            }
        };
        match stranger {
            Some(stranger) => {
                turn.withhold(OfferState::Quarantined, spoofing::ID, stranger, ground.now);
            }
            None if waits => {
                let reason = reason.unwrap_or_default();
                let reason = format!("it is not the upstream that was approved: {reason}");
                turn.withhold(OfferState::Quarantined, spoofing::ID, reason, ground.now);
            }
            None => {
                // The owner told it something else, or it was upgraded; from now on that is what it
                // is.
                turn.baseline.approved = Some(turn.baseline.current.clone());
                turn.notice = reason;
            }
        }
        Some(turn)
    }

    /// Lists what differs between what was approved of something and what is offered now, with what is
    /// alarming about it first.
    pub fn differences(&self, approved: &Value, now: &Value) -> Vec<Difference> {
        rug_pull::alarming(&self.inspector, approved, now)
    }

    /// Judges an approved tool anew beside a neighbour that was not there before. What a person
    /// approved stays approved.
    pub fn again<'a>(
        &self,
        now: Wall,
        known: &Baseline,
        card: &'a Card,
        neighbours: &Neighbours<'a>,
    ) -> Option<Turn> {
        if !known.is_approved() || &*known.by != UNASKED {
            return None;
        }
        let shadow = self.shadow(&parsed(&known.current), card, neighbours)?;
        let reason = shadow.withheld()?;
        let mut turn = same(known);
        turn.withhold(OfferState::Quarantined, shadowing::ID, reason, now);
        Some(turn)
    }

    /// Says why a tool that was never seen is withheld, if a guard wants that, or what is to be told of
    /// it.
    fn doubt<'a>(
        &self,
        trust: Trust,
        offer: &Offer,
        card: &'a Card,
        neighbours: &Neighbours<'a>,
    ) -> (Option<Doubt>, Option<String>) {
        let poisoned = self.settings.poisoning.and_then(|settings| {
            // Who trusts an upstream wants to hear of attacks, not of oddities.
            let strict_mode = settings.strict_mode && trust != Trust::Auto;
            let settings = poisoning::Settings {
                strict_mode,
                ..poisoning::Settings::default()
            };
            self.poisoned(settings, offer)
        });
        if let Some(reason) = poisoned {
            let by = poisoning::ID;
            return (Some(Doubt { by, reason }), None);
        }
        let by = shadowing::ID;
        match self.shadow(&offer.descriptor, card, neighbours) {
            None => (None, None),
            Some(Shadow::Withheld(reason)) => (Some(Doubt { by, reason }), None),
            Some(Shadow::Told(told)) => (None, Some(told)),
        }
    }

    fn shadow<'a>(
        &self,
        tool: &Value,
        card: &'a Card,
        neighbours: &Neighbours<'a>,
    ) -> Option<Shadow> {
        let settings = self.settings.shadowing?;
        let judge = || shadowing::judge(&self.inspector, settings, (tool, card), neighbours);
        let closed = || Some(Shadow::Withheld(unjudged(shadowing::ID)));
        let watch = self.watches().of(shadowing::ID)?;
        watch.run(On::Listing, judge, || None, closed)
    }

    fn poisoned(&self, settings: poisoning::Settings, offer: &Offer) -> Option<String> {
        self.doubted(poisoning::ID, || {
            poisoning::judge(&self.inspector, settings, offer.kind, &offer.descriptor)
        })
    }

    fn turned(&self, approved: &Value, now: &Value) -> Change {
        let unjudged = || "changed, and nobody judged how".to_owned();
        let judge = || rug_pull::judge(&self.inspector, approved, now);
        let (open, closed) = (|| Change::Notice(unjudged()), || Change::Alarm(unjudged()));
        match self.watches().of(rug_pull::ID) {
            Some(watch) => watch.run(On::Listing, judge, open, closed),
            None => closed(),
        }
    }

    /// Runs a guard that may give a reason to withhold something.
    fn doubted(&self, id: &str, guard: impl FnOnce() -> Option<String>) -> Option<String> {
        let watch = self.watches().of(id)?;
        watch.run(On::Listing, guard, || None, || Some(unjudged(id)))
    }

    fn change<'a>(
        &self,
        known: &Baseline,
        offer: &Offer,
        card: &'a Card,
        neighbours: &Neighbours<'a>,
    ) -> Change {
        let approved = parsed(known.approved.as_deref().unwrap_or("null"));
        let change = self.turned(&approved, &offer.descriptor);
        if self.settings.rug_pull.is_none() {
            let (Change::Alarm(reason) | Change::Notice(reason)) = change;
            return Change::Notice(reason);
        }
        let shadow = self.shadow(&offer.descriptor, card, neighbours);
        match (change, shadow.and_then(Shadow::withheld)) {
            (Change::Notice(_), Some(reason)) if said_anew(known, offer) => Change::Alarm(reason),
            (change, _) => change,
        }
    }
}

/// Why something is withheld that a guard should have judged.
fn unjudged(id: &str) -> String {
    format!("the guard `{id}` broke down and could not judge it")
}

/// Whether the description changed, and not only something else.
fn said_anew(known: &Baseline, offer: &Offer) -> bool {
    let approved = parsed(known.approved.as_deref().unwrap_or("null"));
    approved.get("description") != offer.descriptor.get("description")
}

impl Turn {
    /// Tells of a harmless change, but not of the same one again and again: some upstreams put the
    /// time of day into what they offer.
    fn tell(&mut self, reason: String, now: Wall) {
        let since = now.0.saturating_sub(self.baseline.since.0);
        if *self.baseline.reason == *reason && since < QUIET {
            return;
        }
        self.baseline.reason = reason.clone().into();
        self.baseline.since = now;
        self.notice = Some(reason);
    }

    fn withhold(&mut self, state: OfferState, by: &str, reason: String, now: Wall) {
        self.baseline = Baseline {
            state,
            by: by.into(),
            reason: reason.into(),
            since: now,
            ..self.baseline.clone()
        };
    }
}

/// Follows a change of the list of allowed upstreams, both ways: the list is the owner's. Who has
/// the look of another is let in by being named.
fn listed(
    ground: Ground<'_>,
    known: &Baseline,
    stranger: Option<String>,
    named: bool,
) -> Option<Turn> {
    let mut turn = same(known);
    let ours = &*known.by == spoofing::ID && (named || !spoofing::is_likeness(&known.reason));
    match (known.state, stranger) {
        (OfferState::Approved, Some(reason)) if &*known.by == UNASKED => {
            turn.withhold(OfferState::Quarantined, spoofing::ID, reason, ground.now);
        }
        (OfferState::Quarantined, None) if ours && known.approved.is_none() => {
            turn.baseline = Baseline {
                state: OfferState::Approved,
                approved: Some(known.current.clone()),
                by: UNASKED.into(),
                reason: "it is on the list of allowed servers".into(),
                since: ground.now,
                ..turn.baseline
            };
        }
        _ => return None,
    }
    Some(turn)
}

/// Makes the first baseline of something.
fn first_seen(ground: Ground<'_>, offer: &Offer, doubt: Option<Doubt>) -> Turn {
    let (state, by, reason) = match (doubt, ground.trust) {
        (Some(doubt), _) => (OfferState::Quarantined, doubt.by, doubt.reason),
        (None, Trust::Manual) => {
            let reason = "it is new, and everything of this upstream waits for a person";
            (OfferState::Quarantined, "trust", reason.to_owned())
        }
        (None, Trust::Scan) if !ground.first => {
            let reason = "it came after the upstream was first seen";
            (OfferState::Quarantined, "trust", reason.to_owned())
        }
        (None, Trust::Scan | Trust::Auto) => (
            OfferState::Approved,
            UNASKED,
            "nothing was found".to_owned(),
        ),
    };
    let approved = (state == OfferState::Approved).then(|| offer.canonical.clone());
    Turn {
        baseline: Baseline {
            upstream: ground.upstream.clone(),
            kind: offer.kind,
            name: offer.name.clone(),
            state,
            approved,
            current: offer.canonical.clone(),
            by: by.into(),
            reason: reason.into(),
            since: ground.now,
        },
        before: None,
        notice: None,
    }
}

/// The same state, with what is offered now.
fn seen(known: &Baseline, offer: &Offer) -> Turn {
    let mut turn = same(known);
    turn.baseline.current = offer.canonical.clone();
    turn
}

fn same(known: &Baseline) -> Turn {
    Turn {
        baseline: known.clone(),
        before: Some(known.state),
        notice: None,
    }
}

fn parsed(canonical: &str) -> Value {
    serde_json::from_str(canonical).unwrap_or_default()
}

/// Withheld tools by what they are whatever their name: one that was renamed is not forgotten.
#[derive(Debug, Default)]
pub struct Withheld<'a>(HashMap<String, &'a Baseline>);

impl<'a> Withheld<'a> {
    /// Takes the baselines of one upstream.
    pub fn new(known: impl Iterator<Item = &'a Baseline>) -> Self {
        let tools = known.filter(|one| one.kind == OfferKind::Tool && !one.is_approved());
        let bodies = tools.map(|one| (fingerprint::nameless(&parsed(&one.current)), one));
        Self(bodies.collect())
    }

    /// Finds the withheld tool that a new one is under another name. One that says nothing of
    /// itself cannot be recognized.
    pub fn twin(&self, offer: &Offer) -> Option<&'a Baseline> {
        let says = offer.descriptor.get("description").and_then(Value::as_str);
        says.filter(|says| !says.is_empty())?;
        self.0
            .get(&fingerprint::nameless(&offer.descriptor))
            .copied()
    }
}

/// Withholds a tool that is a withheld one under a new name, whatever the trust.
pub fn same_as(now: Wall, mut turn: Turn, withheld: &Baseline) -> Turn {
    let (name, state) = (show::name(&withheld.name), withheld.state.name());
    let reason = format!("it is the tool `{name}` under another name, which is {state}");
    turn.baseline.approved = None;
    turn.withhold(OfferState::Quarantined, rug_pull::ID, reason, now);
    turn
}

/// Puts an upstream into quarantine that is caught in a lie about one of its tools.
pub fn caught(now: Wall, server: &Baseline, tool: &str) -> Option<Turn> {
    if !server.is_approved() {
        return None;
    }
    let mut turn = same(server);
    let tool = show::name(tool);
    let reason = format!("it says that `{tool}` only reads, but the tool destroys");
    turn.withhold(OfferState::Quarantined, "contradiction", reason, now);
    Some(turn)
}

/// Puts the upstream itself into quarantine once several of its tools have changed hostilely.
pub fn several(now: Wall, server: &Baseline, pulled: usize) -> Option<Turn> {
    if pulled < SEVERAL || !server.is_approved() {
        return None;
    }
    let mut turn = same(server);
    let reason = format!("{pulled} of its tools changed after they were approved");
    turn.withhold(OfferState::Quarantined, rug_pull::ID, reason, now);
    Some(turn)
}
