//! What a call reads or sends, as its parts: keys, strings and numbers in document order, also
//! those of JSON that stands inside a string.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::ControlFlow;

use mcpproxy_core::Label;
use mcpproxy_text::{LeafKind, Limits, Segment, Trail, check, unescape, visit};

use crate::fold::plain_forms;
use crate::number;
use crate::roll::{scramble, whole};
use crate::view::is_chance;

/// What a call reads or is about to send.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    /// A JSON value or message, or plain text.
    pub json: &'a str,
    /// The sensitive values in it, as they were detected.
    pub marked: &'a [Marked<'a>],
}

/// A sensitive value in plain.
#[derive(Clone)]
pub struct Marked<'a> {
    /// The value itself, encodings undone.
    pub value: Cow<'a, str>,
    /// What it is.
    pub label: Label,
    /// Where it stands, as a path.
    pub place: Cow<'a, str>,
}

/// Shows what it is and where, never the value.
impl fmt::Debug for Marked<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Marked")
            .field("label", &self.label)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// Stands for no leaf but the content itself.
pub(crate) const WHOLE: u32 = u32::MAX;

/// How deep JSON inside strings of JSON is read.
const NESTED: u32 = 3;

/// Parts for which there is room at once.
const USUAL: usize = 16;

/// One key, string or number.
#[derive(Clone, Debug)]
pub(crate) struct Part<'a> {
    /// The number of the leaf of the outermost text, from which its path can be spelled.
    pub(crate) leaf: u32,
    pub(crate) kind: LeafKind,
    pub(crate) text: Cow<'a, str>,
    /// Where the leaf begins in the outermost text.
    pub(crate) at: usize,
    /// Stands for the path.
    pub(crate) path: u64,
    /// Stands for the name of the field; elements of an array go by the name of the array.
    pub(crate) name: u64,
}

impl Part<'_> {
    pub(crate) fn is_key(&self) -> bool {
        self.kind == LeafKind::Key
    }
}

/// Returns the parts of a content.
pub(crate) fn parts(text: &str) -> Vec<Part<'_>> {
    if !is_json(text) {
        return vec![Part {
            leaf: 0,
            kind: LeafKind::Text,
            text: Cow::Borrowed(text),
            at: 0,
            path: 0,
            name: 0,
        }];
    }
    // A call has about as many; they would move each time the list grows.
    let mut found = Vec::with_capacity(USUAL);
    let mut leaf = 0;
    // Where the last leaf ends, and the place that it has. If no more than a colon follows, it is a key,
    // and its value goes by the same place.
    let mut last = (0, (0, 0));
    visit(text, |one| {
        let between = text.get(last.0..one.span.start).unwrap_or_default();
        let (path, name) = if between.trim_ascii() == ":" {
            last.1
        } else {
            place_of(&one.path)
        };
        last = (one.span.end, (path, name));
        let part = Part {
            leaf,
            kind: one.kind,
            at: one.span.start,
            path,
            name,
            text: compared(one.kind, one.text),
        };
        leaf += 1;
        push(part, NESTED, &mut found);
        ControlFlow::Continue(())
    });
    found
}

/// Longest text that may be no more than a number.
const NUMBER: usize = 32;

/// Returns a leaf as it is compared: a number is the same however it is written.
fn compared(kind: LeafKind, text: Cow<'_, str>) -> Cow<'_, str> {
    match kind {
        LeafKind::Number => match number::plain(&text) {
            Some(plain) => Cow::Owned(plain),
            None => text,
        },
        LeafKind::Text if text.len() <= NUMBER => match number::whole(&text, |_| false).len() {
            length if length < text.len() => Cow::Owned(text.chars().take(length).collect()),
            _ => plain_forms(text),
        },
        LeafKind::Text | LeafKind::Key => plain_forms(text),
    }
}

/// Returns the numbers that stand for a path and for the name at its end.
fn place_of(path: &Trail<'_, '_>) -> (u64, u64) {
    let name = path.name().map_or(0, |name| whole(name.as_bytes()));
    (path.segments().fold(0, onward), name)
}

/// Adds a part, or the parts of the JSON that it is.
fn push<'a>(part: Part<'a>, depth: u32, found: &mut Vec<Part<'a>>) {
    let inner = depth > 0 && part.kind == LeafKind::Text && is_json(&part.text);
    if !inner {
        found.push(part);
        return;
    }
    visit(&part.text, |one| {
        let inner = Part {
            leaf: part.leaf,
            kind: one.kind,
            at: part.at,
            path: part.path,
            name: one.path.name().map_or(0, |name| whole(name.as_bytes())),
            text: Cow::Owned(compared(one.kind, one.text).into_owned()),
        };
        push(inner, depth - 1, found);
        ControlFlow::Continue(())
    });
}

/// Tells whether a content is its only part. No leaf of JSON is as long as all of it.
fn is_plain(text: &str, parts: &[Part<'_>]) -> bool {
    matches!(parts, [part] if part.text.len() == text.len())
}

fn is_json(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(['{', '[', '"']) && check(text.as_bytes(), Limits::default()).is_ok()
}

/// Stands for a key that is not told.
pub const SECRET_KEY: &str = "[a key that is a secret]";
/// Longest word of a key that is told, and the shortest that can be a secret.
const LONGEST_WORD: usize = 48;
const SHORTEST_SECRET: usize = 8;
/// Digits from which on a long word is no name of a field.
const DIGITS: usize = 3;

/// Spells the paths of the leaves with these numbers. An agent writes the keys of its objects: one that
/// is among `found` and as long as that says, or that nobody would call a field, is not told.
pub(crate) fn places(
    text: &str,
    parts: &[Part<'_>],
    leaves: &BTreeSet<u32>,
    found: &BTreeMap<u32, usize>,
) -> BTreeMap<u32, Box<str>> {
    let mut places = BTreeMap::new();
    let last = leaves.iter().rfind(|leaf| **leaf != WHOLE);
    if let Some(&last) = last.filter(|_| !is_plain(text, parts)) {
        let mut count = 0;
        let mut hidden = BTreeSet::new();
        visit(text, |one| {
            let long = |least: &usize| one.text.len() >= *least;
            if one.kind == LeafKind::Key && found.get(&count).is_some_and(long) {
                hidden.insert(one.text.to_string());
            }
            if leaves.contains(&count) {
                let told = |key: &str| !hidden.contains(key) && is_name(key);
                places.insert(count, spelled(one.path.segments(), told).into());
            }
            count += 1;
            if count > last {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
    }
    places
}

/// Spells a path, but for the keys that are not `told`.
fn spelled<'a>(steps: impl Iterator<Item = Segment<'a>>, told: impl Fn(&str) -> bool) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Segment::Index(index) => path.extend(["[", &index.to_string(), "]"]),
            Segment::Key(key) => {
                let key = unescape(key);
                path.push_str(if path.is_empty() { "" } else { "." });
                path.push_str(if told(&key) { &key } else { SECRET_KEY });
            }
        }
    }
    path
}

/// Tells whether a key can be the name of a field: none of its words looks like chance.
fn is_name(key: &str) -> bool {
    let mut words = key.split(|char: char| !char.is_alphanumeric());
    words.all(|word| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let chance = || digits >= DIGITS || is_chance(word);
        word.len() < SHORTEST_SECRET || word.len() <= LONGEST_WORD && !chance()
    })
}

/// Adds a step to the number that stands for a path.
fn onward(path: u64, step: Segment<'_>) -> u64 {
    let step = match step {
        Segment::Key(key) => whole(key.as_bytes()),
        Segment::Index(index) => u64::try_from(index).unwrap_or(u64::MAX).wrapping_add(1),
    };
    scramble(path.rotate_left(1) ^ step)
}
