//! `tool-shadowing-detector`: a tool that stands in for one of another upstream, by a name that
//! reads like it, by a copy of it, by posing as part of the other upstream, or by orders about it.
//!
//! Two upstreams that both have a `search` are ordinary: names are told apart by the upstream in
//! front of them. Which of two that are alike is the copy never depends on who listed first: who is
//! fast to start is not thereby the original.

mod card;
mod neighbours;

use mcpproxy_core::Action;
use mcpproxy_detect::{Inspector, Level, Peer};
use serde_json::{Value, json};

pub use self::card::Card;
use self::card::{is_kin, is_stranger, normal, texts};
pub use self::neighbours::{Arrivals, Neighbours};
use super::likeness::{Likeness, distance, speaks_of};
use super::show;
use super::watch::Said;

/// The id of this guard.
pub const ID: &str = "tool-shadowing-detector";

/// The fewest words of a description of which a copy is no coincidence.
const WORDS: usize = 4;
/// The shortest name that a text mentions by more than chance.
const MENTIONED: usize = 5;
/// Neighbours beside which one tool is held, of those that could matter.
const MOST_PEERS: usize = 64;

/// What the guard is told by the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Whether no two upstreams may have a tool of the same name that says much the same.
    pub namespace_isolation: bool,
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
        .or_else(|| dresses_as(card, all))
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

/// Another tool's name with signs in the place of letters, or with something around or in it that
/// does not show: `cr3ate_issue`, or a space at the end.
fn dresses_as<'a>(card: &'a Card, all: &Neighbours<'a>) -> Option<String> {
    let same = |other: &'a Card| is_stranger(card, other) && !all.are_twins(card, other);
    let guised = || {
        let mut others = Neighbours::others(&all.by_reading, &card.guise, card);
        others.find(|other| !other.is_guised() && same(other))
    };
    let dressed = || {
        let mut others = Neighbours::others(&all.by_reading, &card.reads, card);
        others.find(|other| !other.is_dressed() && other.plain == card.plain && same(other))
    };
    let guised = card.is_guised().then(guised).flatten();
    let dressed = || card.is_dressed().then(dressed).flatten();
    let other = guised.or_else(dressed)?;
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

/// A text that gives orders about another's tool. Who has a tool of the same name may mean that one,
/// unless it is withheld or the text says whose is meant: a decoy would excuse every order.
fn orders(
    inspector: &Inspector,
    tool: &Value,
    card: &Card,
    all: &Neighbours<'_>,
) -> Option<String> {
    let is_own = |name: &str| {
        let mut named = all.by_name.get(name).into_iter().flatten();
        named.any(|one| one.upstream == card.upstream && !all.withheld.contains(&one.place()))
    };
    let texts = texts(tool);
    let is_meant = |text: &str, other: &Card| {
        text.contains(&*other.name) && (!is_own(&other.name) || names_upstream(text, card, other))
    };
    let foreign = card.mentions.iter();
    let others = foreign.flat_map(|word| Neighbours::others(&all.by_name, word, card));
    let others = others.filter(|other| !is_kin(card, other));
    let others = others.filter(|other| texts.iter().any(|text| is_meant(text, other)));
    let other = others.take(MOST_PEERS).find(|other| {
        let mut speaking = texts.iter().filter(|text| is_meant(text, other));
        speaking.any(|text| orders_about(inspector, &card.name, text, other))
    })?;
    Some(format!("it gives orders about {}", of(other)))
}

/// Tells whether a text names another tool's upstream, by its whole name or by a longer word of it.
fn names_upstream(text: &str, card: &Card, other: &Card) -> bool {
    let (text, name) = (normal(text), normal(other.upstream.as_str()));
    let own = normal(card.upstream.as_str());
    let is_word = |word: &str| {
        let told_apart = !own.split(' ').any(|own| own == word);
        told_apart && text.split(' ').any(|said| said == word)
    };
    let mut long = name.split(' ').filter(|word| word.len() >= MENTIONED);
    let whole = name != own && format!(" {text} ").contains(&format!(" {name} "));
    whole || long.any(is_word)
}

/// Tells whether one text of a tool gives orders about another.
fn orders_about(inspector: &Inspector, name: &str, text: &str, other: &Card) -> bool {
    let said = json!({ "name": name, "description": text });
    let found = inspector.beside(&said, &[peer(other)]);
    let mut placed = found.findings.iter();
    placed.any(|one| one.path == "description" && one.detection.level >= Level::Warn)
}

fn peer(card: &Card) -> Peer<'_> {
    Peer {
        upstream: card.upstream.as_str(),
        name: &card.name,
        description: &card.description,
    }
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
