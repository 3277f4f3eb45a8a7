//! What a configuration file says and where it says it: one tree for JSON, TOML and YAML.
//!
//! Spans are byte ranges of the text the tree was parsed from. Nothing here reads or writes text;
//! the formats do that. Agent rules do not live here either.

use std::ops::Range;

/// A value and the bytes it was written with.
#[derive(Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) value: Value,
}

/// What a node holds. Numbers keep their spelling, since nothing here calculates with them.
#[derive(Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Member>),
}

/// One key of a map. A key may occur twice; the last one counts, as in the agents' own readers.
#[derive(Clone, PartialEq)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) value: Node,
}

/// The keys that lead from the root to a map.
pub(crate) type KeyPath = Vec<String>;

/// One change to a file: entries that go, and at most one that comes.
pub(crate) struct Edit {
    /// Paths of the entries to take out.
    pub(crate) remove: Vec<KeyPath>,
    /// The entry to put in, at the place of the first one taken out of the same map.
    pub(crate) put: Option<Put>,
}

/// An entry to write into the map at `list`, which is made when it is missing.
pub(crate) struct Put {
    pub(crate) list: KeyPath,
    pub(crate) name: String,
    pub(crate) entry: Node,
}

impl Put {
    /// Returns the path the entry will have.
    pub(crate) fn path(&self) -> KeyPath {
        let mut path = self.list.clone();
        path.push(self.name.clone());
        path
    }
}

impl Node {
    /// Makes a node that was never in a file.
    pub(crate) fn new(value: Value) -> Self {
        Self { span: 0..0, value }
    }

    /// Makes a text node that was never in a file.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::new(Value::Text(text.into()))
    }

    /// Makes a list of texts that was never in a file.
    pub(crate) fn texts(texts: &[String]) -> Self {
        Self::new(Value::List(texts.iter().map(Self::text).collect()))
    }

    /// Makes a map that was never in a file, in the given order.
    pub(crate) fn map<'a>(members: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        let members = members.into_iter();
        Self::new(Value::Map(
            members
                .map(|(key, value)| Member::new(key, value))
                .collect(),
        ))
    }

    /// Returns the members of a map.
    pub(crate) fn members(&self) -> Option<&[Member]> {
        match &self.value {
            Value::Map(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the items of a list.
    pub(crate) fn items(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the text of a text node.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value of a whole number that is not negative.
    pub(crate) fn as_number(&self) -> Option<u64> {
        match &self.value {
            Value::Number(spelling) => spelling.parse().ok(),
            _ => None,
        }
    }

    /// Returns the texts of the list under `key`.
    pub(crate) fn names(&self, key: &str) -> Vec<String> {
        let items = self.get(key).and_then(Self::items).unwrap_or_default();
        items
            .iter()
            .filter_map(Self::as_text)
            .map(str::to_owned)
            .collect()
    }

    /// Returns the value under `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let last = self
            .members()?
            .iter()
            .rev()
            .find(|member| member.key == key);
        last.map(|member| &member.value)
    }

    /// Returns the value under a path of keys.
    pub(crate) fn at(&self, path: &[String]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Says whether two nodes mean the same, whatever their order, spans and spelling of keys.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::List(left), Value::List(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(a, b)| a.same(b))
            }
            (Value::Map(left), Value::Map(right)) => {
                let within = |keys: &[Member], map: &Self, of: &Self| {
                    keys.iter().all(|member| {
                        let pair = (of.get(&member.key), map.get(&member.key));
                        matches!(pair, (Some(a), Some(b)) if a.same(b))
                    })
                };
                within(left, other, self) && within(right, self, other)
            }
            (left, right) => left == right,
        }
    }

    /// Returns what the tree must mean after `edit`, to compare with what was really written.
    pub(crate) fn after(&self, edit: &Edit) -> Self {
        let mut root = self.clone();
        if matches!(root.value, Value::Null) {
            root.value = Value::Map(Vec::new());
        }
        for path in &edit.remove {
            root.take(path);
        }
        if let Some(put) = &edit.put {
            root.place(&put.list, put);
        }
        root
    }

    fn take(&mut self, path: &[String]) {
        let (Value::Map(members), Some((key, rest))) = (&mut self.value, path.split_first()) else {
            return;
        };
        if rest.is_empty() {
            members.retain(|member| member.key != *key);
        } else if let Some(member) = members.iter_mut().rfind(|member| member.key == *key) {
            member.value.take(rest);
        }
    }

    fn place(&mut self, path: &[String], put: &Put) {
        if matches!(self.value, Value::Null) {
            self.value = Value::Map(Vec::new());
        }
        let Value::Map(members) = &mut self.value else {
            return;
        };
        let Some((key, rest)) = path.split_first() else {
            members.retain(|member| member.key != put.name);
            members.push(Member::new(&put.name, put.entry.clone()));
            return;
        };
        if let Some(member) = members.iter_mut().rfind(|member| member.key == *key) {
            return member.value.place(rest, put);
        }
        let mut made = Self::new(Value::Null);
        made.place(rest, put);
        members.push(Member::new(key, made));
    }
}

impl Member {
    fn new(key: &str, value: Node) -> Self {
        Self {
            key: key.to_owned(),
            key_span: 0..0,
            value,
        }
    }
}

/// Nests deeper than any agent's file does; what is beyond is refused, so that a hostile project
/// file cannot exhaust the stack.
pub(crate) const MAX_DEPTH: usize = 128;

/// Where and why a text could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Syntax {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) message: String,
}

impl Syntax {
    /// Makes an error at a byte of `text`; line and column count from one, columns in characters.
    pub(crate) fn at(text: &str, byte: usize, message: impl Into<String>) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count();
        Self {
            line: before.matches('\n').count() + 1,
            column: column + 1,
            message: message.into(),
        }
    }
}
