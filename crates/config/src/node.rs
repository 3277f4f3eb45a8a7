//! The tree that a file is read into: values that know where they stand.

use crate::origin::Origin;
use crate::path::{Path, Segment};
use crate::source::Texts;

/// Where a value stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a text, from byte to byte.
    Text {
        text: usize,
        start: usize,
        end: usize,
    },
    /// In a variable of the environment.
    Environment(&'static str),
    /// In an argument.
    Flag(&'static str),
    /// Nowhere: made here.
    Nowhere,
}

impl Place {
    /// Returns the byte at which it starts, where it is in a text.
    pub(crate) fn start(self) -> Option<usize> {
        match self {
            Self::Text { start, .. } => Some(start),
            Self::Environment(_) | Self::Flag(_) | Self::Nowhere => None,
        }
    }

    /// Returns the byte behind it, where it is in a text.
    pub(crate) fn end(self) -> Option<usize> {
        match self {
            Self::Text { end, .. } => Some(end),
            Self::Environment(_) | Self::Flag(_) | Self::Nowhere => None,
        }
    }

    pub(crate) fn origin(self, texts: &Texts) -> Origin {
        match self {
            Self::Text { text, start, .. } => texts
                .get(text)
                .map_or(Origin::Default, |source| source.origin(start)),
            Self::Environment(name) => Origin::Environment(name.to_owned()),
            Self::Flag(name) => Origin::Flag(name.to_owned()),
            Self::Nowhere => Origin::Default,
        }
    }
}

/// A value with its place.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) place: Place,
    /// Holds something read from the environment, so it is never printed.
    pub(crate) secret: bool,
    /// Stands for what an anchor elsewhere holds, so it cannot be edited here.
    pub(crate) aliased: bool,
    /// A list or map between brackets, as in JSON.
    pub(crate) flow: bool,
}

/// What a node holds.
#[derive(Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
    /// A value whose mistake is reported; readers pass over it, and its neighbours keep their
    /// index.
    Removed,
}

/// One key of a map and its value.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_place: Place,
    pub(crate) node: Node,
}

impl Node {
    pub(crate) fn new(value: Value, place: Place) -> Self {
        Self {
            value,
            place,
            secret: false,
            aliased: false,
            flow: false,
        }
    }

    pub(crate) fn text(text: impl Into<String>, place: Place) -> Self {
        Self::new(Value::Text(text.into()), place)
    }

    pub(crate) fn empty_map() -> Self {
        Self::new(Value::Map(Vec::new()), Place::Nowhere)
    }

    /// Returns the entries of a map; none for anything else.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.node)
    }

    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        self.at_mut(&[Segment::Key(key.to_owned())])
    }

    /// Takes the entry under `key` out of a map.
    pub(crate) fn take(&mut self, key: &str) -> Option<Entry> {
        let Value::Map(entries) = &mut self.value else {
            return None;
        };
        let at = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(at))
    }

    /// Puts an entry into a map, in place of one with the same key.
    pub(crate) fn put(&mut self, entry: Entry) {
        if let Value::Map(entries) = &mut self.value {
            entries.retain(|other| other.key != entry.key);
            entries.push(entry);
        }
    }

    /// Returns the value that `path` leads to, seen from here.
    pub(crate) fn at(&self, path: &[Segment]) -> Option<&Self> {
        path.iter()
            .try_fold(self, |node, segment| match (segment, &node.value) {
                (Segment::Key(key), _) => node.get(key),
                (Segment::Index(index), Value::List(items)) => items.get(*index),
                (Segment::Index(_), _) => None,
            })
    }

    /// Returns the value that `path` leads to, to be changed.
    pub(crate) fn at_mut(&mut self, path: &[Segment]) -> Option<&mut Self> {
        path.iter()
            .try_fold(self, |node, segment| match (segment, &mut node.value) {
                (Segment::Key(key), Value::Map(entries)) => entries
                    .iter_mut()
                    .find(|entry| entry.key == *key)
                    .map(|entry| &mut entry.node),
                (Segment::Index(index), Value::List(items)) => items.get_mut(*index),
                _ => None,
            })
    }

    /// Returns the place to point at for the value at `path`: a list or map begins with its key.
    pub(crate) fn place_of(&self, path: &[Segment]) -> Option<Place> {
        let node = self.at(path)?;
        match node.value {
            Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Text(_) => {
                Some(node.place)
            }
            Value::Null | Value::List(_) | Value::Map(_) | Value::Removed => self.key_place(path),
        }
    }

    /// Returns the place of the key that leads to the value at `path`, or else of the value.
    pub(crate) fn key_place(&self, path: &[Segment]) -> Option<Place> {
        match path.split_last() {
            Some((Segment::Key(key), parent)) => Some(self.at(parent)?.entry(key)?.key_place),
            _ => Some(self.at(path)?.place),
        }
    }

    /// Marks the value at `path` as removed; false where it is not there.
    pub(crate) fn remove(&mut self, path: &[Segment]) -> bool {
        let found = self.at_mut(path);
        found.map(|node| node.value = Value::Removed).is_some()
    }

    /// Calls `visit` for this value and every value inside it, with its path and the place of its
    /// key.
    pub(crate) fn walk(&self, path: &Path, key: Place, visit: &mut dyn FnMut(&Path, Place, &Self)) {
        visit(path, key, self);
        match &self.value {
            Value::Map(entries) => {
                for entry in entries {
                    entry
                        .node
                        .walk(&path.key(&entry.key), entry.key_place, visit);
                }
            }
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    item.walk(&path.index(index), item.place, visit);
                }
            }
            Value::Null
            | Value::Bool(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::Removed => {}
        }
    }

    /// Calls `change` for this value and every value inside it.
    pub(crate) fn each_mut(&mut self, change: &mut dyn FnMut(&mut Self)) {
        change(self);
        match &mut self.value {
            Value::Map(entries) => entries.iter_mut().for_each(|e| e.node.each_mut(change)),
            Value::List(items) => items.iter_mut().for_each(|item| item.each_mut(change)),
            _ => {}
        }
    }
}

/// Makes a tree of a JSON value that stands in no file.
impl From<&serde_json::Value> for Node {
    fn from(json: &serde_json::Value) -> Self {
        let value = match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(flag) => Value::Bool(*flag),
            serde_json::Value::Number(number) => crate::scalar::resolve(&number.to_string()),
            serde_json::Value::String(text) => Value::Text(text.clone()),
            serde_json::Value::Array(items) => Value::List(items.iter().map(Self::from).collect()),
            serde_json::Value::Object(map) => Value::Map(
                map.iter()
                    .map(|(key, value)| Entry {
                        key: key.clone(),
                        key_place: Place::Nowhere,
                        node: Self::from(value),
                    })
                    .collect(),
            ),
        };
        Self::new(value, Place::Nowhere)
    }
}
