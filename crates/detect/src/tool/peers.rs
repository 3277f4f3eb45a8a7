//! A tool beside the tools of other upstreams: the same name twice, or a description that gives
//! orders about a neighbour.

use serde_json::Value;

use crate::confusable::skeleton;
use crate::detection::{Detection, Level};
use crate::tool::{Sheet, structural};

/// A tool of another upstream.
#[derive(Clone, Copy, Debug)]
pub struct Peer<'a> {
    /// The upstream it belongs to.
    pub upstream: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its description.
    pub description: &'a str,
}

/// Tags of what stands in for another tool.
const TAGS: &[&str] = &["MCP03", "MCP09", "ASI02", "AML.T0110"];

/// Words that turn the mention of a neighbour into an order about it.
const ORDERS: &[&str] = &[
    "must",
    "always",
    "never",
    "instead",
    "before",
    "whenever",
    "replace",
    "replaces",
    "should",
    "ignore",
    "do not",
    "don't",
    "rather than",
    "supersedes",
    "override",
    "first",
    "after",
];

/// Judges a descriptor beside its peers.
pub(crate) fn judge(tool: &Value, peers: &[Peer<'_>], sheet: &mut Sheet) {
    let text = |field: &str| tool.get(field).and_then(Value::as_str).unwrap_or_default();
    let (name, description) = (text("name"), text("description"));
    let own = skeleton(name);
    for peer in peers {
        if let Some(found) = same_name(name, &own, description, peer) {
            sheet.add("name", 0, vec![found]);
        } else if let Some(found) = order_about(description, peer) {
            sheet.add("description", 0, vec![found]);
        }
    }
}

/// A name that is taken. Two upstreams that both call a tool `search` are ordinary; the same
/// description or a look-alike name is not.
fn same_name(name: &str, own: &str, description: &str, peer: &Peer<'_>) -> Option<Detection> {
    if name.is_empty() || own != skeleton(peer.name) {
        return None;
    }
    let upstream = peer.upstream;
    if plain(name) != plain(peer.name) {
        let reason = format!("the name reads like a tool of `{upstream}`");
        return Some(structural("shadow", Level::Warn, 60, reason, TAGS));
    }
    let reason = format!("a tool of `{upstream}` has the same name");
    let copied = !description.is_empty() && similar(description, peer.description);
    if copied {
        return Some(structural("shadow", Level::Warn, 50, reason, TAGS));
    }
    Some(structural("shadow", Level::Note, 30, reason, TAGS))
}

/// A name without case and separators: `readFile` and `read_file` are one habit each, not a disguise.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Whether half of the words of the shorter description are in the other one.
fn similar(one: &str, other: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let mut words: Vec<_> = text.split_whitespace().map(str::to_lowercase).collect();
        words.sort_unstable();
        words.dedup();
        words
    };
    let (one, other) = (words(one), words(other));
    let shared = one
        .iter()
        .filter(|word| other.binary_search(word).is_ok())
        .count();
    shared >= 3 && shared * 2 >= one.len().min(other.len())
}

/// A sentence that names a neighbour's tool and gives an order.
fn order_about(description: &str, peer: &Peer<'_>) -> Option<Detection> {
    if peer.name.len() < 5 || !description.contains(peer.name) {
        return None;
    }
    let named = description
        .split(['.', '\n', ';'])
        .filter(|sentence| names(sentence, peer.name));
    let ordered = named.map(str::to_lowercase).any(|sentence| {
        let words: Vec<&str> = sentence.split_whitespace().collect();
        ORDERS.iter().any(|order| match order.split_once(' ') {
            None => words
                .iter()
                .any(|word| word.trim_matches([',', ':', '!', '"']) == *order),
            Some(_) => sentence.contains(order),
        })
    });
    ordered.then(|| {
        let reason = format!("gives orders about a tool of `{}`", peer.upstream);
        structural("shadow", Level::Warn, 55, reason, TAGS)
    })
}

/// Whether a sentence has `name` as a word of its own, written as an identifier is.
fn names(sentence: &str, name: &str) -> bool {
    let part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    let identifier = name.contains(['_', '-']) || name.chars().any(char::is_uppercase);
    sentence.match_indices(name).any(|(at, _)| {
        let before = sentence.get(..at).and_then(|head| head.chars().next_back());
        let after = sentence
            .get(at + name.len()..)
            .and_then(|tail| tail.chars().next());
        let quoted = before.is_some_and(|letter| matches!(letter, '`' | '"' | '\''));
        let whole = !before.is_some_and(part) && !after.is_some_and(part);
        whole && (identifier || quoted)
    })
}
