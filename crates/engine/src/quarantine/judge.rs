//! A listing comes in: what is new or changed in it is judged, written down, and only then shown.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError};

use mcpproxy_core::{Baseline, OfferKind, OfferState, Trust, UpstreamId, Wall};
use mcpproxy_hooks::guards::quarantine::{Withheld, same_as, several};
use mcpproxy_hooks::guards::shadowing::{Arrivals, Card, Neighbours};
use mcpproxy_hooks::guards::spoofing::{Profile, is_retold};
use mcpproxy_hooks::guards::{Ground, Guards, Offer, Turn};

use super::book::{Book, Entry};
use super::{Offered, Quarantine};

/// Baselines of one upstream at most; what comes beyond is withheld and not kept.
const MOST: usize = 50_000;

/// How much of what an upstream offers is in a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Everything: what is not in it is gone.
    Whole,
    /// Some of it.
    Part,
    /// Some of it, in a caller's own conversation, where there may be more for a good reason: an
    /// upstream offers what a caller can make use of.
    Elsewhere,
}

/// A listing as it came.
#[derive(Debug)]
pub(crate) struct Listing<'a> {
    pub(crate) upstream: &'a UpstreamId,
    pub(crate) profile: Profile<'a>,
    pub(crate) trust: Trust,
    pub(crate) offers: Vec<Offered>,
    pub(crate) extent: Extent,
}

/// Something in a listing that was not judged in this form before.
struct Fresh {
    offered: Offered,
    offer: Option<Offer>,
    card: Option<Card>,
}

/// What came of a listing.
#[derive(Default)]
struct Outcome {
    turns: Vec<Turn>,
    /// What was judged, in the form in which it was.
    entries: Vec<(OfferKind, Box<str>, Entry)>,
}

impl Quarantine {
    /// Judges a listing and returns what changed. What could not be written down is withheld.
    pub(crate) fn learn(&self, guards: &Guards, listing: Listing<'_>, now: Wall) -> Vec<Turn> {
        let _judging = self.judging();
        let (upstream, extent) = (listing.upstream.clone(), listing.extent);
        let offered: HashSet<(OfferKind, Box<str>)> = match extent {
            Extent::Part | Extent::Elsewhere => HashSet::new(),
            Extent::Whole => {
                let names = listing.offers.iter();
                names.map(|one| (one.kind, one.name.clone())).collect()
            }
        };
        let mut outcome = {
            let (books, standing) = (self.read(), self.standing());
            let desk = Desk::new(guards, (&books, &standing), &listing, now);
            desk.judge(listing.offers)
        };
        if let Err(fault) = self.keep(&outcome.turns) {
            tracing::error!("what `{upstream}` offers is withheld: {fault}");
            outcome.withhold(&upstream);
        }
        self.alarms.keep(&outcome.turns);
        self.publish(&outcome.turns);
        let mut books = self.books.write().unwrap_or_else(PoisonError::into_inner);
        let book = books.entry(upstream).or_default();
        for (kind, name, entry) in outcome.entries {
            book.note(kind, name, entry);
        }
        if extent == Extent::Whole {
            for kind in OfferKind::ALL {
                // What an upstream says about itself is in no listing.
                if !matches!(kind, OfferKind::Server | OfferKind::Instructions) {
                    book.prune(kind, |name| offered.contains(&(kind, name.into())));
                }
            }
        }
        outcome.turns
    }
}

impl Outcome {
    /// Takes back what could not be written down.
    fn withhold(&mut self, upstream: &UpstreamId) {
        let turns = std::mem::take(&mut self.turns);
        let own = turns
            .iter()
            .filter(|turn| turn.baseline.upstream == *upstream);
        let lost: HashSet<_> = own
            .map(|turn| (turn.baseline.kind, &turn.baseline.name))
            .collect();
        for (kind, name, entry) in &mut self.entries {
            if lost.contains(&(*kind, &*name)) {
                entry.problem = Some("it could not be written down that it was judged");
                entry.raw = None;
            }
        }
    }
}

/// Where one listing is judged.
struct Desk<'a> {
    guards: &'a Guards,
    books: &'a HashMap<UpstreamId, Book>,
    standing: &'a [UpstreamId],
    book: &'a Book,
    upstream: &'a UpstreamId,
    profile: Profile<'a>,
    origin: Arc<str>,
    trust: Trust,
    extent: Extent,
    now: Wall,
}

/// The book of an upstream that was never seen.
static BLANK: std::sync::LazyLock<Book> = std::sync::LazyLock::new(Book::default);

impl<'a> Desk<'a> {
    fn new(
        guards: &'a Guards,
        (books, standing): (&'a HashMap<UpstreamId, Book>, &'a [UpstreamId]),
        listing: &Listing<'a>,
        now: Wall,
    ) -> Self {
        Self {
            guards,
            books,
            standing,
            book: books.get(listing.upstream).unwrap_or(&BLANK),
            upstream: listing.upstream,
            profile: listing.profile,
            origin: listing.profile.origin().into(),
            trust: listing.trust,
            extent: listing.extent,
            now,
        }
    }

    fn ground(&self, first: bool) -> Ground<'a> {
        Ground {
            upstream: self.upstream,
            trust: self.trust,
            standing: self.standing,
            first,
            now: self.now,
        }
    }

    fn judge(&self, offers: Vec<Offered>) -> Outcome {
        let mut outcome = Outcome::default();
        let server = self
            .guards
            .server(self.ground(true), self.book.server(), &self.profile);
        // What its owner told it anew may have other tools for a good reason.
        let told = server.as_ref().is_some_and(|turn| self.is_told_anew(turn));
        outcome.turns.extend(server);
        let fresh: Vec<Fresh> = offers
            .into_iter()
            .filter_map(|one| self.fresh(one))
            .collect();
        let first = told || !self.book.has_tools() || self.extent == Extent::Elsewhere;
        let neighbours = self.neighbours(&fresh);
        let withheld = Withheld::new(self.book.baselines());
        let mut room = MOST.saturating_sub(self.book.len());
        for one in &fresh {
            let known = self.book.baseline(one.offered.kind, &one.offered.name);
            let turn = self.turn(self.ground(first), known, one, &neighbours, &withheld);
            let turn = turn.or_else(|| self.posing(known, one, &neighbours));
            let kept = known.is_some() || turn.is_none() || room > 0;
            room = room.saturating_sub(usize::from(known.is_none() && turn.is_some()));
            outcome.entries.push(one.entry(kept));
            outcome.turns.extend(turn.filter(|_| kept));
        }
        self.pulled(&mut outcome);
        outcome.turns.extend(self.again(&fresh, &neighbours));
        outcome
    }

    /// Tells whether an upstream goes on and was told something else: an upgrade of what it is made
    /// of is nobody's word.
    fn is_told_anew(&self, server: &Turn) -> bool {
        let read = |identity: &str| serde_json::from_str(identity).unwrap_or_default();
        let known = self.book.server().map(|known| read(&known.current));
        server.notice.is_some()
            && known.is_some_and(|known| is_retold(&known, &read(&server.baseline.current)))
    }

    /// Takes what was not judged before in this very form.
    fn fresh(&self, offered: Offered) -> Option<Fresh> {
        let entry = self.book.entry(offered.kind, &offered.name);
        if entry.is_some_and(|entry| entry.raw.as_ref() == Some(&offered.raw)) {
            return None;
        }
        let offer = Offer::read(offered.kind, &offered.name, &offered.raw);
        let tool = offer.as_ref().filter(|_| offered.kind == OfferKind::Tool);
        let card = tool.map(|tool| Card::read(self.upstream, &self.origin, &tool.descriptor));
        Some(Fresh {
            offered,
            offer,
            card,
        })
    }

    /// The tools of all upstreams as they are now.
    fn neighbours<'b>(&'b self, fresh: &'b [Fresh]) -> Neighbours<'b> {
        let new: Vec<&Card> = fresh.iter().filter_map(|one| one.card.as_ref()).collect();
        if new.is_empty() && self.book.is_listed() {
            return Neighbours::default();
        }
        let names: HashSet<&str> = new.iter().map(|card| card.name()).collect();
        let known = self.books.values().flat_map(Book::cards);
        let known = known.map(|(card, _)| card);
        let own = move |card: &&Card| card.upstream() == self.upstream;
        let stale = move |card: &&Card| own(card) && names.contains(card.name());
        let cards = known.filter(move |card| !stale(card)).chain(new);
        let live = self.books.iter().filter(|(_, book)| book.is_listed());
        let mut live: Vec<&UpstreamId> = live.map(|(name, _)| name).collect();
        live.sort();
        // What comes to an upstream that was seen before came later than what others have.
        let late = self.book.has_tools();
        let withheld = self.books.values().flat_map(Book::cards);
        let withheld =
            withheld.filter(|(_, known)| known.is_some_and(|known| !known.is_approved()));
        Neighbours::new(cards, self.standing.iter().chain(live))
            .while_listing((self.upstream, late), withheld.map(|(card, _)| card))
    }

    /// Judges a tool again that is as it was approved, and whose name begins with that of an upstream
    /// which may have come since.
    fn posing<'b>(
        &self,
        known: Option<&Baseline>,
        one: &'b Fresh,
        neighbours: &Neighbours<'b>,
    ) -> Option<Turn> {
        let card = one.card.as_ref()?;
        let mut others = self.standing.iter();
        if !others.any(|other| card.poses_as(other.as_str())) {
            return None;
        }
        self.guards.again(self.now, known?, card, neighbours)
    }

    fn turn<'b>(
        &self,
        ground: Ground<'_>,
        known: Option<&Baseline>,
        one: &'b Fresh,
        neighbours: &Neighbours<'b>,
        withheld: &Withheld<'_>,
    ) -> Option<Turn> {
        let offer = one.offer.as_ref()?;
        let Some(card) = &one.card else {
            return self.guards.other(ground, known, offer);
        };
        let turn = self.guards.tool(ground, known, (offer, card), neighbours)?;
        let new = known.is_none() && turn.baseline.is_approved();
        match withheld.twin(offer).filter(|_| new) {
            Some(twin) => Some(same_as(self.now, turn, twin)),
            None => Some(turn),
        }
    }

    /// Withholds the whole upstream where too many of its tools have turned.
    fn pulled(&self, outcome: &mut Outcome) {
        let newly = |turn: &&Turn| {
            turn.baseline.state == OfferState::RugPull && turn.before == Some(OfferState::Approved)
        };
        let now = outcome.turns.iter().filter(newly).count();
        let before = self.book.baselines();
        let before = before
            .filter(|one| one.state == OfferState::RugPull)
            .count();
        let at = outcome
            .turns
            .iter()
            .position(|turn| turn.baseline.kind == OfferKind::Server);
        let turned = at
            .and_then(|at| outcome.turns.get(at))
            .map(|turn| &turn.baseline);
        let Some(server) = turned.or(self.book.server()).filter(|_| now > 0) else {
            return;
        };
        if let Some(turn) = several(self.now, server, before + now) {
            outcome
                .turns
                .retain(|turn| turn.baseline.kind != OfferKind::Server);
            outcome.turns.push(turn);
        }
    }

    /// Looks at the tools of others again that speak of what is new here, are spelled like it or are
    /// much the same, or pose as this upstream where it was not there before.
    fn again<'b>(&'b self, fresh: &[Fresh], neighbours: &Neighbours<'b>) -> Vec<Turn> {
        let new = fresh.iter().filter_map(|one| one.card.as_ref());
        let new = new.filter(|card| self.book.baseline(OfferKind::Tool, card.name()).is_none());
        let came = (!self.book.is_listed()).then_some(self.upstream);
        let arrivals = Arrivals::new(new, came);
        if arrivals.is_empty() {
            return Vec::new();
        }
        let others = self.books.values().flat_map(Book::cards);
        let others = others.filter(|(card, _)| card.upstream() != self.upstream);
        let concerned = others.filter(|(card, _)| arrivals.concern(card));
        let turns = concerned.filter_map(|(card, baseline)| {
            self.guards.again(self.now, baseline?, card, neighbours)
        });
        turns.collect()
    }
}

impl Fresh {
    fn entry(&self, kept: bool) -> (OfferKind, Box<str>, Entry) {
        let problem = match (&self.offer, kept) {
            (None, _) => Some("its descriptor is too large or cannot be read"),
            (Some(_), false) => Some("its upstream has listed more than can be kept"),
            (Some(_), true) => None,
        };
        let entry = Entry {
            baseline: None,
            raw: Some(self.offered.raw.clone()),
            card: self.card.clone(),
            problem,
        };
        (self.offered.kind, self.offered.name.clone(), entry)
    }
}
