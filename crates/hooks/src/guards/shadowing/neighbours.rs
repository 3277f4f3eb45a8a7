//! The tools of all upstreams, found by what others could take from them.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};

use mcpproxy_core::UpstreamId;

use super::card::{Card, takes_name_of};
use super::{MOST_PEERS, is_misspelled, is_mistaken, poses};

/// The fewest tools that two upstreams share which are one program.
const SEVERAL: usize = 3;
/// Names that may resemble a tool's with which it is compared letter by letter.
const MOST_COMPARED: usize = 10_000;

/// Tools, found by the names that they can be taken for.
#[derive(Debug, Default)]
pub(super) struct Likes<'a> {
    /// One tool of each name, by what those have in common that resemble it.
    by_trace: HashMap<u64, Vec<&'a Card>>,
    /// Tools by their upstream's name and their own.
    by_full: HashMap<&'a str, Vec<&'a Card>>,
}

impl<'a> Likes<'a> {
    /// Takes a tool, and whether it is the first of its name.
    fn insert(&mut self, card: &'a Card, first: bool) {
        if first {
            for trace in &card.traces {
                self.by_trace.entry(*trace).or_default().push(card);
            }
        }
        self.by_full.entry(&card.full).or_default().push(card);
    }

    /// Walks tools of other names that may resemble a tool's, one of each name, some more than once.
    pub(super) fn like<'b>(
        &'b self,
        card: &'b Card,
    ) -> impl Iterator<Item = &'a Card> + use<'a, 'b> {
        let found = card.traces.iter();
        let found = found.flat_map(|trace| self.by_trace.get(trace).into_iter().flatten());
        let others = found.copied().filter(|other| other.name != card.name);
        others.take(MOST_COMPARED)
    }

    /// Walks tools whose name, with their upstream's in front of it, is that of a tool.
    pub(super) fn named<'b>(
        &'b self,
        card: &'b Card,
    ) -> impl Iterator<Item = &'a Card> + use<'a, 'b> {
        let found =
            (card.full_names()).flat_map(|full| self.by_full.get(full).into_iter().flatten());
        let found = found.copied().filter(|other| takes_name_of(card, other));
        found.take(MOST_COMPARED)
    }
}

/// What is new at an upstream, for which tools of others are looked at again.
#[derive(Debug, Default)]
pub struct Arrivals<'a> {
    likes: Likes<'a>,
    names: HashSet<&'a str>,
    readings: HashSet<&'a str>,
    words: HashSet<&'a str>,
    upstream: Option<&'a str>,
}

impl<'a> Arrivals<'a> {
    /// Takes the tools that are new, and the upstream where it is new itself.
    pub fn new(cards: impl Iterator<Item = &'a Card>, upstream: Option<&'a UpstreamId>) -> Self {
        let mut all = Self {
            upstream: upstream.map(UpstreamId::as_str),
            ..Self::default()
        };
        for card in cards {
            let first = all.names.insert(&card.name);
            all.likes.insert(card, first);
            all.readings.insert(&card.reads);
            all.words.insert(&card.says);
        }
        all
    }

    /// Tells whether there is nothing new.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.upstream.is_none()
    }

    /// Tells whether a tool of another upstream may be seen with other eyes beside them.
    pub fn concern(&self, card: &Card) -> bool {
        let spoken_of = || {
            card.mentions
                .iter()
                .any(|word| self.names.contains(&**word))
        };
        self.upstream
            .is_some_and(|upstream| card.poses_as(upstream))
            || (!self.names.is_empty() && card.is_disguised())
            || self.readings.contains(&*card.guise)
            || self.readings.contains(&*card.reads)
            || self.words.contains(&*card.says)
            || spoken_of()
            || self.likes.named(card).next().is_some()
            || (self.likes.like(card)).any(|new| card.letters.likeness(&new.letters).is_some())
    }
}

/// The tools of all upstreams, by what others could take from them.
#[derive(Debug, Default)]
pub struct Neighbours<'a> {
    pub(super) likes: Likes<'a>,
    pub(super) by_name: HashMap<&'a str, Vec<&'a Card>>,
    pub(super) by_reading: HashMap<&'a str, Vec<&'a Card>>,
    pub(super) by_words: HashMap<&'a str, Vec<&'a Card>>,
    pub(super) by_upstream: HashMap<&'a str, BTreeSet<&'a str>>,
    /// The names of all upstreams, and how many stand before each.
    pub(super) upstreams: HashMap<&'a str, usize>,
    /// The upstream that lists, and whether what is new there came after what all others have.
    pub(super) listing: Option<(&'a str, bool)>,
    /// Tools that are withheld, by upstream and name.
    pub(super) withheld: HashSet<(&'a str, &'a str)>,
    /// Pairs of upstreams, and whether they offer the same all in all.
    pub(super) twins: RefCell<HashMap<(&'a str, &'a str), bool>>,
}

impl<'a> Neighbours<'a> {
    /// Takes the tools of all upstreams, and the names of all upstreams in the order in which they
    /// stand: of two tools that are alike, the one of the later upstream is the copy.
    pub fn new(
        cards: impl Iterator<Item = &'a Card>,
        upstreams: impl Iterator<Item = &'a UpstreamId>,
    ) -> Self {
        let mut all = Self::default();
        for upstream in upstreams {
            let place = all.upstreams.len();
            all.upstreams.entry(upstream.as_str()).or_insert(place);
        }
        for card in cards {
            let named = all.by_name.entry(&card.name).or_default();
            all.likes.insert(card, named.is_empty());
            named.push(card);
            all.by_reading.entry(&card.reads).or_default().push(card);
            all.by_words.entry(&card.says).or_default().push(card);
            let own = all.by_upstream.entry(card.upstream.as_str()).or_default();
            own.insert(&card.plain);
        }
        all
    }

    /// Says who lists, whether what is new there came later than what others have, wherever it
    /// stands, and which tools are withheld.
    #[must_use]
    pub fn while_listing(
        self,
        (upstream, late): (&'a UpstreamId, bool),
        withheld: impl Iterator<Item = &'a Card>,
    ) -> Self {
        Self {
            listing: Some((upstream.as_str(), late)),
            withheld: withheld.map(Card::place).collect(),
            ..self
        }
    }

    /// Tells whether of two tools that are alike the other is the original.
    pub(super) fn is_original(&self, other: &Card, card: &Card) -> bool {
        // Nobody is held to the copy that somebody made of them.
        if poses(other, self).is_some() {
            return false;
        }
        let looks_same = other.letters.strokes() == card.letters.strokes();
        if looks_same && other.is_disguised() != card.is_disguised() {
            return card.is_disguised();
        }
        if takes_name_of(card, other) || takes_name_of(other, card) {
            return takes_name_of(card, other);
        }
        if is_misspelled(card, other) || is_misspelled(other, card) {
            return is_misspelled(card, other);
        }
        let lists = |one: &Card| {
            let listing = self
                .listing
                .filter(|(name, _)| *name == one.upstream.as_str());
            listing.map(|(_, late)| late)
        };
        match (lists(card), lists(other)) {
            (Some(true), _) => return true,
            (None, Some(true)) => return false,
            // Who was let in is not withheld for the sake of what never was.
            (None, _) if self.withheld.contains(&other.place()) => return false,
            _ => {}
        }
        self.standing(other) < self.standing(card)
    }

    fn standing<'b>(&self, card: &'b Card) -> (usize, &'b str) {
        let name = card.upstream.as_str();
        let place = self.upstreams.get(name).copied();
        (place.unwrap_or(usize::MAX), name)
    }

    /// Tells whether two upstreams offer the same all in all: one program that is reached in two
    /// ways, and not one tool that slips in beside another.
    pub(super) fn are_twins(&self, one: &'a Card, other: &'a Card) -> bool {
        let pair = (one.upstream.as_str(), other.upstream.as_str());
        let known = self.twins.borrow().get(&pair).copied();
        known.unwrap_or_else(|| {
            let of = |name: &str| self.by_upstream.get(name);
            let twins = match (of(pair.0), of(pair.1)) {
                (Some(one), Some(other)) => {
                    let shared = one.intersection(other).count();
                    shared >= SEVERAL && shared * 5 >= one.len().max(other.len()) * 4
                }
                _ => false,
            };
            self.twins.borrow_mut().insert(pair, twins);
            twins
        })
    }

    /// The tools of other names that a tool can be mistaken for.
    pub(super) fn mistaken<'b>(
        &'b self,
        card: &'b Card,
    ) -> impl Iterator<Item = &'a Card> + use<'a, 'b> {
        let like = self.likes.like(card);
        let like = like.filter(|other| is_mistaken(card, other));
        like.flat_map(|other| Self::others(&self.by_name, &other.name, card))
    }

    pub(super) fn others<'b>(
        index: &'b HashMap<&'a str, Vec<&'a Card>>,
        key: &str,
        card: &'b Card,
    ) -> impl Iterator<Item = &'a Card> + use<'a, 'b> {
        let found = index.get(key).map(Vec::as_slice).unwrap_or_default();
        let own = &card.upstream;
        let others = found
            .iter()
            .copied()
            .filter(move |other| other.upstream != *own);
        others.take(MOST_PEERS)
    }
}
