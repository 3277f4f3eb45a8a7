//! What must be known of a tool to hold others beside it, and how two of them stand to each other by
//! that alone.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use mcpproxy_core::UpstreamId;
use mcpproxy_detect::confusable::skeleton;
use mcpproxy_text::{self as text, LeafKind};
use serde_json::Value;

use super::super::likeness::{Name, guise, is_dressed};
use super::MENTIONED;

/// Texts of a tool that are looked at, and words of them as names of tools.
const MOST_TEXTS: usize = 512;
const MOST_MENTIONS: usize = 2000;
/// What stands between an upstream's name and a tool's where the gateway puts them together.
const BETWEEN: [&str; 2] = ["__", ":"];
/// What agents put in front of both.
const AGENTS: &str = "mcp";
/// How origins end that are hosts of this machine.
const HERE: [&str; 3] = ["|127.0.0.1", "|localhost", "|[::1]"];

/// What must be known of a tool to hold others beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    pub(super) upstream: UpstreamId,
    /// What tells its upstream from others: two that start the same program are one.
    pub(super) origin: Arc<str>,
    pub(super) name: Box<str>,
    pub(super) description: Box<str>,
    pub(super) reads: Box<str>,
    /// What it is read as by who takes signs for letters.
    pub(super) guise: Box<str>,
    pub(super) plain: Box<str>,
    pub(super) letters: Name,
    /// What others have in common that resemble its name.
    pub(super) traces: Box<[u64]>,
    /// Its upstream's name and its own, without case and separators.
    pub(super) full: Box<str>,
    pub(super) says: Box<str>,
    pub(super) mentions: BTreeSet<Box<str>>,
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
            guise: guise(name).into(),
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

    pub(super) fn place(&self) -> (&str, &str) {
        (self.upstream.as_str(), &self.name)
    }

    /// Tells whether its name is spelled to be taken for another.
    pub(super) fn is_disguised(&self) -> bool {
        self.reads != self.plain
    }

    /// Tells whether its name has signs in the place of letters.
    pub(super) fn is_guised(&self) -> bool {
        self.guise != self.reads
    }

    /// Tells whether its name has something about it that is no part of a name.
    pub(super) fn is_dressed(&self) -> bool {
        is_dressed(&self.name)
    }

    /// What its name begins with, where it is written as the gateway writes names.
    pub(super) fn heads(&self) -> impl Iterator<Item = &str> {
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

    /// What its name is as that of an upstream and one of its tools, if it is that of another.
    pub(super) fn full_names(&self) -> impl Iterator<Item = &str> {
        let bare = self.plain.strip_prefix(AGENTS);
        std::iter::once(&*self.plain).chain(bare)
    }

    /// Tells whether its name poses as that of a tool of an upstream.
    pub fn poses_as(&self, upstream: &str) -> bool {
        let other = self.upstream.as_str() != upstream;
        other && self.heads().any(|head| head == upstream)
    }
}

/// Tells whether a name is another tool's with that tool's upstream in front of it, however the two
/// are put together.
pub(super) fn takes_name_of(card: &Card, other: &Card) -> bool {
    let named = other.full.len() > other.plain.len();
    named && card.full_names().any(|name| name == &*other.full)
}

/// Tells whether two tools are of upstreams that are two programs.
pub(super) fn is_stranger(one: &Card, other: &Card) -> bool {
    one.upstream != other.upstream && !is_kin(one, other)
}

/// Tells whether two upstreams are one maker's. What they share on this machine is the machine.
pub(super) fn is_kin(one: &Card, other: &Card) -> bool {
    let here = HERE.iter().any(|host| one.origin.ends_with(host));
    one.origin == other.origin && !here
}

/// The texts of a descriptor in which something can be said, wherever they stand: what a parameter
/// is for is read by the model as well.
pub(super) fn texts(tool: &Value) -> Vec<String> {
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

/// A name without case and separators.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// A text without case, punctuation and the length of its spaces.
pub(super) fn normal(text: &str) -> String {
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
