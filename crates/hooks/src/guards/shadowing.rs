//! `tool-shadowing-detector`: a tool that stands in for one of another upstream, by a name that
//! reads like it, by a copy of it, by posing as part of the other upstream, or by orders about it.
//!
//! Two upstreams that both have a `search` are ordinary: names are told apart by the upstream in
//! front of them. Which of two that are alike is the copy never depends on who listed first: who is
//! fast to start is not thereby the original.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use mcpproxy_core::{Action, UpstreamId};
use mcpproxy_detect::confusable::skeleton;
use mcpproxy_detect::{Inspector, Level, Peer};
use mcpproxy_text::{self as text, LeafKind};
use serde_json::{Value, json};

use super::likeness::{Likeness, Name, distance, speaks_of};
use super::show;
use super::watch::Said;

/// The id of this guard.
pub const ID: &str = "tool-shadowing-detector";

/// The fewest tools that two upstreams share which are one program.
const SEVERAL: usize = 3;
/// The fewest words of a description of which a copy is no coincidence.
const WORDS: usize = 4;
/// The shortest name that a text mentions by more than chance.
const MENTIONED: usize = 5;
/// Texts of a tool that are looked at, and words of them as names of tools.
const MOST_TEXTS: usize = 512;
const MOST_MENTIONS: usize = 2000;
/// Neighbours beside which one tool is held, of those that could matter.
const MOST_PEERS: usize = 64;
/// What stands between an upstream's name and a tool's where the gateway puts them together.
const BETWEEN: [&str; 2] = ["__", ":"];
/// What agents put in front of both.
const AGENTS: &str = "mcp";
/// Names that may resemble a tool's with which it is compared letter by letter.
const MOST_COMPARED: usize = 10_000;

/// How origins end that are hosts of this machine.
const HERE: [&str; 3] = ["|127.0.0.1", "|localhost", "|[::1]"];

/// What the guard is told by the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Whether no two upstreams may have a tool of the same name that says much the same.
    pub namespace_isolation: bool,
}

/// What must be known of a tool to hold others beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    upstream: UpstreamId,
    /// What tells its upstream from others: two that start the same program are one.
    origin: Arc<str>,
    name: Box<str>,
    description: Box<str>,
    reads: Box<str>,
    plain: Box<str>,
    letters: Name,
    /// What others have in common that resemble its name.
    traces: Box<[u64]>,
    /// Its upstream's name and its own, without case and separators.
    full: Box<str>,
    says: Box<str>,
    mentions: BTreeSet<Box<str>>,
}

impl Card {
    /// Reads a descriptor.
    pub fn read(upstream: &UpstreamId, origin: &Arc<str>, tool: &Value) -> Self {
        let text = |field: &str| tool.get(field).and_then(Value::as_str).unwrap_or_default();
        let (name, description) = (text("name"), text("description"));
        let letters = Name::read(name);
        let own = plain(name);
        let owner = plain(upstream.as_str());
        Self {
            upstream: upstream.clone(),
            origin: Arc::clone(origin),
            name: name.into(),
            description: description.into(),
            reads: skeleton(name).into(),
            traces: letters.traces().into(),
            letters,
            full: format!("{owner}{own}").into(),
            plain: own.into(),
            says: normal(description).into(),
            mentions: mentions(tool),
        }
    }

    /// Returns its upstream.
    pub fn upstream(&self) -> &UpstreamId {
        &self.upstream
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn place(&self) -> (&str, &str) {
        (self.upstream.as_str(), &self.name)
    }

    /// Tells whether its name is spelled to be taken for another.
    fn is_disguised(&self) -> bool {
        self.reads != self.plain
    }

    /// What its name begins with, where it is written as the gateway writes names.
    fn heads(&self) -> impl Iterator<Item = &str> {
        let bare = BETWEEN.iter().filter_map(|between| {
            let rest = self.name.strip_prefix(AGENTS)?;
            rest.strip_prefix(between)
        });
        let names = std::iter::once(&*self.name).chain(bare);
        let heads = names.flat_map(|name| {
            let heads = BETWEEN.iter();
            heads.filter_map(|between| name.split_once(between))
        });
        heads.map(|(head, _)| head)
    }

    /// Tells whether its name poses as that of a tool of an upstream.
    pub fn poses_as(&self, upstream: &str) -> bool {
        let other = self.upstream.as_str() != upstream;
        other && self.heads().any(|head| head == upstream)
    }
}

/// Tools, found by the names that they can be taken for.
#[derive(Debug, Default)]
struct Likes<'a> {
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
    fn like<'b>(&'b self, card: &'b Card) -> impl Iterator<Item = &'a Card> + use<'a, 'b> {
        let found = card.traces.iter();
        let found = found.flat_map(|trace| self.by_trace.get(trace).into_iter().flatten());
        let others = found.copied().filter(|other| other.name != card.name);
        others.take(MOST_COMPARED)
    }

    /// Walks tools whose name, with their upstream's in front of it, is that of a tool.
    fn named<'b>(&'b self, card: &'b Card) -> impl Iterator<Item = &'a Card> + use<'a, 'b> {
        let bare = card.plain.strip_prefix(AGENTS);
        let fulls = std::iter::once(&*card.plain).chain(bare);
        let found = fulls.flat_map(|full| self.by_full.get(full).into_iter().flatten());
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
    likes: Likes<'a>,
    by_name: HashMap<&'a str, Vec<&'a Card>>,
    by_reading: HashMap<&'a str, Vec<&'a Card>>,
    by_words: HashMap<&'a str, Vec<&'a Card>>,
    by_upstream: HashMap<&'a str, BTreeSet<&'a str>>,
    /// The names of all upstreams, and how many stand before each.
    upstreams: HashMap<&'a str, usize>,
    /// The upstream that lists, and whether what is new there came after what all others have.
    listing: Option<(&'a str, bool)>,
    /// Tools that are withheld, by upstream and name.
    withheld: HashSet<(&'a str, &'a str)>,
    /// Pairs of upstreams, and whether they offer the same all in all.
    twins: RefCell<HashMap<(&'a str, &'a str), bool>>,
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
    fn is_original(&self, other: &Card, card: &Card) -> bool {
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
    fn are_twins(&self, one: &'a Card, other: &'a Card) -> bool {
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
    fn mistaken<'b>(&'b self, card: &'b Card) -> impl Iterator<Item = &'a Card> + use<'a, 'b> {
        let like = self.likes.like(card);
        let like = like.filter(|other| is_mistaken(card, other));
        like.flat_map(|other| Self::others(&self.by_name, &other.name, card))
    }

    fn others<'b>(
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

/// What is said of a tool beside those of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shadow {
    /// It stands in for another: why it is withheld.
    Withheld(String),
    /// It can be confused with another that it has nothing to do with.
    Told(String),
}

impl Shadow {
    /// Returns why it is withheld, if it is.
    pub(super) fn withheld(self) -> Option<String> {
        match self {
            Self::Withheld(reason) => Some(reason),
            Self::Told(_) => None,
        }
    }
}

impl Said for Option<Shadow> {
    fn said(&self) -> (Action, bool) {
        let wants = match self {
            None => Action::Allow,
            Some(Shadow::Told(_)) => Action::Warn,
            Some(Shadow::Withheld(_)) => Action::Deny,
        };
        (wants, false)
    }
}

/// Says whose tool this one stands in for or is named after, if it does.
pub(super) fn judge<'a>(
    inspector: &Inspector,
    settings: Settings,
    (tool, card): (&Value, &'a Card),
    all: &Neighbours<'a>,
) -> Option<Shadow> {
    let withheld = stands_in(inspector, settings, (tool, card), all);
    let told = || namesake(card, all).map(Shadow::Told);
    withheld.map(Shadow::Withheld).or_else(told)
}

fn stands_in<'a>(
    inspector: &Inspector,
    settings: Settings,
    (tool, card): (&Value, &'a Card),
    all: &Neighbours<'a>,
) -> Option<String> {
    reads_like(card, all)
        .or_else(|| poses(card, all))
        .or_else(|| goes_by(card, all))
        .or_else(|| resembles(card, all))
        .or_else(|| copies(card, all))
        .or_else(|| (settings.namespace_isolation).then(|| same(inspector, tool, card, all))?)
        .or_else(|| orders(inspector, tool, card, all))
}

fn of(other: &Card) -> String {
    format!("`{}` of `{}`", show::name(&other.name), other.upstream)
}

/// A name that is spelled otherwise and reads the same.
fn reads_like(card: &Card, all: &Neighbours<'_>) -> Option<String> {
    if !card.is_disguised() {
        return None;
    }
    let mut others = Neighbours::others(&all.by_reading, &card.reads, card);
    let other = others.find(|other| other.plain != card.plain)?;
    Some(format!("its name reads like {}", of(other)))
}

/// A name that begins with another upstream's, as the gateway shows names.
fn poses(card: &Card, all: &Neighbours<'_>) -> Option<String> {
    let own = card.upstream.as_str();
    let mut heads = card.heads();
    let other = heads.find(|head| *head != own && all.upstreams.contains_key(head))?;
    Some(format!(
        "its name poses as a tool of `{}`",
        show::name(other)
    ))
}

/// Tells whether a name is another tool's with that tool's upstream in front of it, however the two
/// are put together.
fn takes_name_of(card: &Card, other: &Card) -> bool {
    let rest = card.plain.strip_suffix(&*other.plain);
    rest.is_some_and(|rest| {
        let upstream = plain(other.upstream.as_str());
        let bare = rest.strip_prefix(AGENTS);
        !upstream.is_empty() && (rest == upstream || bare == Some(&*upstream))
    })
}

/// Another tool's name with that tool's upstream in front of it.
fn goes_by<'a>(card: &'a Card, all: &Neighbours<'a>) -> Option<String> {
    let mut others = all.likes.named(card);
    let other = others.find(|other| is_stranger(card, other) && !all.are_twins(card, other))?;
    Some(format!("its name is that of {}", of(other)))
}

/// A name that is taken for another at a glance.
fn resembles<'a>(card: &'a Card, all: &Neighbours<'a>) -> Option<String> {
    let mut others = all.mistaken(card);
    let other = others.find(|other| {
        is_stranger(card, other) && !all.are_twins(card, other) && all.is_original(other, card)
    })?;
    Some(format!("its name can be taken for {}", of(other)))
}

/// Tells whether a name can be taken for another. Who speaks of a word did not slip.
fn is_mistaken(card: &Card, other: &Card) -> bool {
    match card.letters.likeness(&other.letters) {
        None => false,
        Some(Likeness::Look(_)) => true,
        Some(Likeness::Slip(odd)) => !speaks_of(&card.says, odd.own),
    }
}

/// Tells whether of two names that are taken for one another this is the misspelled one: the other
/// tool speaks of its word, and this one does not.
fn is_misspelled(card: &Card, other: &Card) -> bool {
    match card.letters.likeness(&other.letters) {
        None | Some(Likeness::Look(None)) => false,
        Some(Likeness::Look(Some(odd)) | Likeness::Slip(odd)) => {
            speaks_of(&other.says, odd.other) && !speaks_of(&card.says, odd.own)
        }
    }
}

/// The very name of another tool, for something else: servers that have nothing to do with each other
/// have a `search` each.
fn namesake<'a>(card: &'a Card, all: &Neighbours<'a>) -> Option<String> {
    let mut others = Neighbours::others(&all.by_name, &card.name, card);
    let other = others.find(|other| other.origin != card.origin && !all.are_twins(card, other))?;
    Some(format!("it has the name of {}", of(other)))
}

/// The words of another tool, under its name or one that is nearly it, from somebody else.
fn copies<'a>(card: &'a Card, all: &Neighbours<'a>) -> Option<String> {
    if card.says.split(' ').count() < WORDS {
        return None;
    }
    let mut others = Neighbours::others(&all.by_words, &card.says, card);
    let other = others.find(|other| {
        other.origin != card.origin
            && is_near(&other.plain, &card.plain)
            && !all.are_twins(card, other)
            && all.is_original(other, card)
    })?;
    Some(format!("it is a copy of {}", of(other)))
}

/// The same name and much the same description.
fn same(inspector: &Inspector, tool: &Value, card: &Card, all: &Neighbours<'_>) -> Option<String> {
    let others = Neighbours::others(&all.by_reading, &card.reads, card);
    let others = others.filter(|other| other.origin != card.origin);
    let mut others = others.filter(|other| all.is_original(other, card));
    let other = others.find(|other| {
        let found = inspector.beside(tool, &[peer(other)]);
        found.level >= Level::Warn
    })?;
    Some(format!("it has the name and the task of {}", of(other)))
}

/// A text that gives orders about another's tool, unless that is the name of an own one.
fn orders(
    inspector: &Inspector,
    tool: &Value,
    card: &Card,
    all: &Neighbours<'_>,
) -> Option<String> {
    let is_own = |name: &str| {
        let named = all.by_name.get(name).into_iter().flatten();
        named.into_iter().any(|one| one.upstream == card.upstream)
    };
    let foreign = card.mentions.iter().filter(|word| !is_own(word));
    let others = foreign.flat_map(|word| Neighbours::others(&all.by_name, word, card));
    let mut others = others.filter(|other| !is_kin(card, other)).take(MOST_PEERS);
    let texts = texts(tool);
    let other = others.find(|other| {
        let mut speaking = texts.iter().filter(|text| text.contains(&*other.name));
        speaking.any(|text| orders_about(inspector, &card.name, text, other))
    })?;
    Some(format!("it gives orders about {}", of(other)))
}

/// Tells whether two tools are of upstreams that are two programs.
fn is_stranger(one: &Card, other: &Card) -> bool {
    one.upstream != other.upstream && !is_kin(one, other)
}

/// Tells whether two upstreams are one maker's. What they share on this machine is the machine.
fn is_kin(one: &Card, other: &Card) -> bool {
    let here = HERE.iter().any(|host| one.origin.ends_with(host));
    one.origin == other.origin && !here
}

/// Tells whether one text of a tool gives orders about another.
fn orders_about(inspector: &Inspector, name: &str, text: &str, other: &Card) -> bool {
    let said = json!({ "name": name, "description": text });
    let found = inspector.beside(&said, &[peer(other)]);
    let mut placed = found.findings.iter();
    placed.any(|one| one.path == "description" && one.detection.level >= Level::Warn)
}

/// The texts of a descriptor in which something can be said, wherever they stand: what a parameter
/// is for is read by the model as well.
fn texts(tool: &Value) -> Vec<String> {
    let raw = tool.to_string();
    let mut found = Vec::new();
    text::visit(&raw, |leaf| {
        let is_text = matches!(leaf.kind, LeafKind::Key | LeafKind::Text);
        if is_text && leaf.text.contains(char::is_whitespace) && found.len() < MOST_TEXTS {
            found.push(leaf.text.clone().into_owned());
        }
        ControlFlow::Continue(())
    });
    found
}

fn peer(card: &Card) -> Peer<'_> {
    Peer {
        upstream: card.upstream.as_str(),
        name: &card.name,
        description: &card.description,
    }
}

/// A name without case and separators.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// A text without case, punctuation and the length of its spaces.
fn normal(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join(" ")
}

/// The words of a tool's texts that could be names of tools.
fn mentions(tool: &Value) -> BTreeSet<Box<str>> {
    let part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    let texts = texts(tool);
    let words = texts
        .iter()
        .flat_map(|text| text.split(|letter: char| !part(letter)));
    let words = words.filter(|word| word.len() >= MENTIONED);
    words.take(MOST_MENTIONS).map(Box::from).collect()
}

/// Whether two names differ by at most two letters, or one begins or ends with the other.
fn is_near(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() {
        (one, other)
    } else {
        (other, one)
    };
    let within = short.len() >= MENTIONED && (long.starts_with(short) || long.ends_with(short));
    one == other || within || (short.len() >= MENTIONED && distance(short, long) <= 2)
}

#[cfg(test)]
mod tests;
