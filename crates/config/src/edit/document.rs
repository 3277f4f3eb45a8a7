//! A file that is being edited: its text, its tree, and the steps that change both.

use std::path::{Path as FilePath, PathBuf};

use serde_json::Value as Json;

use super::splice::{self, Layout, Splice};
use super::write;
use crate::error::{Error, Problems};
use crate::load::text_of;
use crate::node::{Entry, Node, Place, Value};
use crate::path::Segment;
use crate::read;
use crate::report::Report;
use crate::source::{Source, Texts};

/// Key of the upstreams.
pub(super) const SECTION: &str = "mcpServers";

/// How a file gives its upstreams.
pub(super) enum Upstreams {
    /// It does not.
    Absent,
    /// There is a section with nothing in it.
    Empty,
    /// By name.
    Map,
    /// One after the other.
    List,
}

/// A file that is being edited.
pub(super) struct Document {
    path: PathBuf,
    /// The text as it was read; none where there was no file.
    original: Option<String>,
    text: String,
    root: Node,
}

impl Document {
    pub(super) fn open(path: &FilePath) -> Result<Self, Error> {
        let original = text_of(path).map_err(|problem| Problems::new(vec![problem]))?;
        let text = original.clone().unwrap_or_default();
        let root = parse(path, &text)?;
        let map = matches!(root.value, Value::Map(_) | Value::Null);
        let document = Self {
            path: path.to_owned(),
            original,
            text,
            root,
        };
        if map {
            Ok(document)
        } else {
            Err(document.unsuited("it is not a map of keys and values"))
        }
    }

    pub(super) fn upstreams(&self) -> Upstreams {
        match self.root.get(SECTION).map(|section| &section.value) {
            None => Upstreams::Absent,
            Some(Value::Map(entries)) if !entries.is_empty() => Upstreams::Map,
            Some(Value::List(items)) if !items.is_empty() => Upstreams::List,
            Some(_) => Upstreams::Empty,
        }
    }

    /// Returns the path of an upstream in this file.
    pub(super) fn find(&self, name: &str) -> Option<Vec<Segment>> {
        let section = self.root.get(SECTION)?;
        let inner = match &section.value {
            Value::List(items) => {
                let named = |item: &Node| match item.get("name").map(|node| &node.value) {
                    Some(Value::Text(text)) => text == name,
                    _ => false,
                };
                Segment::Index(items.iter().position(named)?)
            }
            _ => Segment::Key(section.entry(name)?.key.clone()),
        };
        Some(vec![Segment::Key(SECTION.to_owned()), inner])
    }

    pub(super) fn has(&self, map: &[Segment], key: &str) -> bool {
        self.root.at(map).is_some_and(|map| map.get(key).is_some())
    }

    /// Tells whether a map with something in it stands at `path`.
    pub(super) fn is_map(&self, path: &[Segment]) -> bool {
        let node = self.root.at(path);
        node.is_some_and(|node| matches!(&node.value, Value::Map(entries) if !entries.is_empty()))
    }

    /// Returns the text as it has become.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Adds a key to the map at `path`.
    pub(super) fn insert(
        &mut self,
        path: &[Segment],
        key: &str,
        value: &Json,
    ) -> Result<(), Error> {
        let map = self.editable(path)?;
        let splice = splice::insert(&self.text, map, key, value, &self.layout());
        let entry = Entry {
            key: key.to_owned(),
            key_place: Place::Nowhere,
            node: value.into(),
        };
        self.apply(splice, |root| {
            if let Some(map) = root.at_mut(path) {
                if !matches!(map.value, Value::Map(_)) {
                    map.value = Value::Map(Vec::new());
                }
                map.put(entry);
            }
        })
    }

    /// Adds an item to the list at `path`.
    pub(super) fn append(&mut self, path: &[Segment], value: &Json) -> Result<(), Error> {
        let list = self.editable(path)?;
        let splice = splice::append(&self.text, list, value, &self.layout());
        self.apply(splice, |root| {
            if let Some(Node {
                value: Value::List(items),
                ..
            }) = root.at_mut(path)
            {
                items.push(value.into());
            }
        })
    }

    /// Gives a key of the map at `path` another value.
    pub(super) fn replace(
        &mut self,
        path: &[Segment],
        key: &str,
        value: &Json,
    ) -> Result<(), Error> {
        let map = self.editable(path)?;
        let splice = splice::replace(&self.text, map, key, value, &self.layout());
        self.apply(splice, |root| {
            if let Some(node) = root.at_mut(path).and_then(|map| map.get_mut(key)) {
                *node = value.into();
            }
        })
    }

    /// Takes out the value at `path`.
    pub(super) fn remove(&mut self, path: &[Segment]) -> Result<(), Error> {
        let Some((last, outer)) = path.split_last() else {
            return Ok(());
        };
        let splice = splice::remove(&self.text, self.editable(outer)?, last);
        self.apply(splice, |root| match (root.at_mut(outer), last) {
            (Some(map), Segment::Key(key)) => drop(map.take(key)),
            (
                Some(Node {
                    value: Value::List(items),
                    ..
                }),
                Segment::Index(index),
            ) => {
                drop(items.remove(*index));
            }
            _ => {}
        })
    }

    /// Writes the text back, unless somebody else wrote the file meanwhile.
    pub(super) fn save(self) -> Result<(), Error> {
        if self.original.as_deref() == Some(self.text.as_str()) {
            return Ok(());
        }
        write::write(&self.path, self.original.as_deref(), &self.text)
    }

    /// Returns the map or list at `path`; what an anchor elsewhere holds cannot be changed here.
    fn editable(&self, path: &[Segment]) -> Result<&Node, Error> {
        match self.root.at(path) {
            Some(node) if node.aliased => Err(self.unsuited("it uses an alias at this place")),
            Some(node) => Ok(node),
            None => Err(self.unsuited("the place is not there")),
        }
    }

    /// Makes the change in the text, and goes on only if the tree then is what was `meant`.
    fn apply(
        &mut self,
        splice: Option<Splice>,
        meant: impl FnOnce(&mut Node),
    ) -> Result<(), Error> {
        let text = splice.and_then(|splice| splice.apply(&self.text));
        let Some(text) = text else {
            return Err(self.unsuited("its layout is unusual at this place"));
        };
        let mut expected = self.root.clone();
        meant(&mut expected);
        match parse(&self.path, &text) {
            Ok(root) if same(&root, &expected) => {
                self.text = text;
                self.root = root;
                Ok(())
            }
            _ => Err(self.unsuited("its layout is unusual at this place")),
        }
    }

    fn layout(&self) -> Layout {
        Layout::of(&self.text, &self.root, &self.path)
    }

    fn unsuited(&self, reason: &str) -> Error {
        Error::Unsuited {
            path: self.path.clone(),
            reason: reason.to_owned(),
        }
    }
}

/// Reads a text without looking at what its keys mean.
fn parse(path: &FilePath, text: &str) -> Result<Node, Problems> {
    let mut report = Report::default();
    let mut texts = Texts::default();
    let number = texts.add(Source::new(path.to_owned(), text.to_owned()));
    let root = read::read(&texts, number, &mut report);
    report.finish()?;
    Ok(root.unwrap_or_else(Node::empty_map))
}

/// Compares values wherever they stand; an emptied section may be left without brackets.
fn same(a: &Node, b: &Node) -> bool {
    match (&a.value, &b.value) {
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Integer(a), Value::Integer(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::List(a), Value::List(b)) if !a.is_empty() => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Map(a), Value::Map(b)) if !a.is_empty() => {
            let pair = |(a, b): (&Entry, &Entry)| a.key == b.key && same(&a.node, &b.node);
            a.len() == b.len() && sorted(a).into_iter().zip(sorted(b)).all(pair)
        }
        (a, b) => is_empty(a) && is_empty(b),
    }
}

fn sorted(entries: &[Entry]) -> Vec<&Entry> {
    let mut entries: Vec<_> = entries.iter().collect();
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    entries
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Text(_) | Value::Removed => {
            false
        }
    }
}
