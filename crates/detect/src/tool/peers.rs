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
];

/// Words that say of a tool, close behind its name, that it is not to be used.
const GONE: &[&str] = &[
    "deprecated",
    "discontinued",
    "obsolete",
    "retired",
    "superseded",
    "unmaintained",
    "no longer",
];
/// Words before a tool's name by which another puts itself in its place.
const INSTEAD: &[&str] = &["replacement for", "successor of", "successor to"];
/// How many words behind a name are close.
const CLOSE: usize = 5;
/// Words of a sentence that wants something of what a neighbour gives or is given.
const WANTS: &[&str] = &[
    "all",
    "argument",
    "bod",
    "content",
    "cop",
    "everything",
    "forward",
    "input",
    "output",
    "pass",
    "post",
    "result",
    "return",
    "send",
    "text",
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
        let ordered = ORDERS.iter().any(|order| match order.split_once(' ') {
            None => words
                .iter()
                .any(|word| word.trim_matches([',', ':', '!', '"']) == *order),
            Some(_) => sentence.contains(order),
        });
        let name = peer.name.to_lowercase();
        ordered || discards(&sentence, &name) || follows(&sentence, &name)
    });
    ordered.then(|| {
        let reason = format!("gives orders about a tool of `{}`", peer.upstream);
        structural("shadow", Level::Warn, 55, reason, TAGS)
    })
}

/// Whether a sentence says of a tool that another is to be used.
fn discards(sentence: &str, name: &str) -> bool {
    sentence.match_indices(name).any(|(at, _)| {
        let (head, tail) = sentence.split_at(at);
        let tail = tail.get(name.len()..).unwrap_or_default();
        let close: Vec<_> = tail.split_whitespace().take(CLOSE).collect();
        let close = close.join(" ");
        GONE.iter().any(|word| close.contains(word))
            || INSTEAD.iter().any(|words| head.contains(words))
    })
}

/// Whether a sentence orders something for after a neighbour's call. Who only says when its own tool is
/// called, as in "Call it after `create_issue` to notify people", orders nothing.
fn follows(sentence: &str, name: &str) -> bool {
    let trim = |word: &'_ str| -> String {
        let word = word.trim_matches([',', ':', '!', '"', '`', '\'', '(', ')']);
        word.to_owned()
    };
    let words: Vec<String> = sentence.split_whitespace().map(trim).collect();
    let Some(after) = words.iter().position(|word| word == "after") else {
        return false;
    };
    let named = words.iter().position(|word| word.contains(name));
    let ends = named.and_then(|named| words.get(named + 1));
    let when = named.is_some_and(|named| named > after)
        && (1..=3).contains(&after)
        && ends.is_none_or(|word| word == "to");
    let wants = |word: &String| WANTS.iter().any(|want| word.starts_with(want));
    let mut others = words.iter().filter(|word| !word.contains(name));
    !when || others.any(wants)
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
