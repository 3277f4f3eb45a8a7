//! Changes to the upstreams in a file, made in its text so that comments and layout stay.
//!
//! The text is spliced at the places of its nodes, read again and compared with what was meant;
//! only then is it written, all or nothing. What cannot be done this way is refused rather than
//! rewritten.

mod document;
mod lines;
mod print;
mod splice;
mod write;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use mcpproxy_upstream::settings::check_name;

use self::document::{Document, Upstreams};
use crate::error::Error;
use crate::path::Segment;
use crate::shape::SAME;

/// Members that a patch may have outside of maps that are new. For each, the text is read again.
const MOST_CHANGES: usize = 256;

/// Adds an upstream to a file, which is made where it is not there.
///
/// The entry is written as it is, so a `${VAR}` in it stays a reference. Whether it can be used is
/// for [`crate::check_upstream`] to say beforehand.
pub fn add_upstream(file: &Path, name: &str, entry: &Map<String, Value>) -> Result<(), Error> {
    check_name(name).map_err(Error::Name)?;
    let mut document = Document::open(file)?;
    if document.find(name).is_some() {
        return Err(Error::Exists {
            path: file.to_owned(),
            name: name.to_owned(),
        });
    }
    let mut entry = entry.clone();
    let section = Segment::Key(document::SECTION.to_owned());
    match document.upstreams() {
        Upstreams::Absent => document.insert(&[], document::SECTION, &only(name, entry))?,
        Upstreams::Empty => document.replace(&[], document::SECTION, &only(name, entry))?,
        Upstreams::Map => document.insert(&[section], name, &Value::Object(entry))?,
        Upstreams::List => {
            entry.insert("name".to_owned(), Value::String(name.to_owned()));
            document.append(&[section], &Value::Object(entry))?;
        }
    }
    document.save()
}

/// Removes an upstream from a file.
pub fn remove_upstream(file: &Path, name: &str) -> Result<(), Error> {
    let mut document = Document::open(file)?;
    let path = document.find(name).ok_or_else(|| absent(file, name))?;
    document.remove(&path)?;
    document.save()
}

/// Changes keys of an upstream in a file; `null` takes a key out, and other keys stay as they are.
pub fn patch_upstream(file: &Path, name: &str, changes: &Map<String, Value>) -> Result<(), Error> {
    let mut document = Document::open(file)?;
    let path = document.find(name).ok_or_else(|| absent(file, name))?;
    for (key, value) in changes {
        let (key, value) = spelled(&document, &path, key, value);
        let there = document.has(&path, key);
        if value.is_null() && there {
            let key = Segment::Key(key.to_owned());
            document.remove(&[path.as_slice(), &[key]].concat())?;
        } else if there {
            document.replace(&path, key, &value)?;
        } else if !value.is_null() {
            document.insert(&path, key, &value)?;
        }
    }
    document.save()
}

/// Switches an upstream of a file on or off.
pub fn set_enabled(file: &Path, name: &str, enabled: bool) -> Result<(), Error> {
    patch_upstream(
        file,
        name,
        &Map::from_iter([("enabled".to_owned(), Value::Bool(enabled))]),
    )
}

/// Returns the text that a file would have with a patch laid over it (RFC 7396): maps are merged key
/// by key, `null` takes a key out, anything else replaces what was there. Nothing is written.
pub fn patched(file: &Path, patch: &Map<String, Value>) -> Result<String, Error> {
    let mut document = Document::open(file)?;
    let mut left = MOST_CHANGES;
    lay_over(&mut document, &[], patch, &mut left)?;
    Ok(document.into_text())
}

fn lay_over(
    document: &mut Document,
    path: &[Segment],
    over: &Map<String, Value>,
    left: &mut usize,
) -> Result<(), Error> {
    for (key, value) in over {
        *left = left.checked_sub(1).ok_or(Error::TooManyChanges {
            limit: MOST_CHANGES,
        })?;
        let inner = [path, &[Segment::Key(key.clone())]].concat();
        match (value, document.has(path, key)) {
            (Value::Null, true) => document.remove(&inner)?,
            (Value::Null, false) => {}
            (Value::Object(over), true) if document.is_map(&inner) => {
                lay_over(document, &inner, over, left)?;
            }
            (value, true) => document.replace(path, key, &laid(value))?,
            (value, false) => document.insert(path, key, &laid(value))?,
        }
    }
    Ok(())
}

/// Returns what a patch comes to where nothing was: `null` takes out what is not there.
fn laid(value: &Value) -> Value {
    let Value::Object(members) = value else {
        return value.clone();
    };
    let given = members.iter().filter(|(_, value)| !value.is_null());
    Value::Object(
        given
            .map(|(key, value)| (key.clone(), laid(value)))
            .collect(),
    )
}

/// Gives a file another text, all or nothing, and keeps the one before beside it: returns where.
pub fn put(file: &Path, text: &str) -> Result<Option<PathBuf>, Error> {
    let before = std::fs::read_to_string(file).ok();
    let mut kept = None;
    if let Some(before) = &before {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(".bak");
        let backup = file.with_file_name(name);
        let older = std::fs::read_to_string(&backup).ok();
        // CRASH: a stop after this leaves the file as it was, and a backup that is the same.
        write::write(&backup, older.as_deref(), before)?;
        kept = Some(backup);
    }
    write::write(file, before.as_deref(), text)?;
    Ok(kept)
}

/// Makes a change that holds only if `check` finds the configuration good afterwards: otherwise the
/// file is as it was, so that a mistake does not keep the next start from succeeding.
pub fn tried<E: From<Error>>(
    file: &Path,
    change: impl FnOnce(&Path) -> Result<(), Error>,
    check: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let before = std::fs::read_to_string(file).ok();
    change(file)?;
    let checked = check();
    if checked.is_err() {
        write::restore(file, before.as_deref())?;
    }
    checked
}

fn only(name: &str, entry: Map<String, Value>) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), Value::Object(entry))]))
}

fn absent(file: &Path, name: &str) -> Error {
    Error::Absent {
        path: file.to_owned(),
        name: name.to_owned(),
    }
}

/// Returns the key under which the file gives a value already, which may be another spelling, and
/// the value for it.
fn spelled<'a>(
    document: &Document,
    upstream: &[Segment],
    key: &'a str,
    value: &Value,
) -> (&'a str, Value) {
    let other = SAME
        .iter()
        .find(|(other, same)| *same == key && document.has(upstream, other));
    match (other, value) {
        (Some((other @ "disabled", _)), Value::Bool(flag)) => (other, Value::Bool(!flag)),
        (Some((other, _)), value) => (other, value.clone()),
        (None, value) => (key, value.clone()),
    }
}

#[cfg(test)]
mod tests;
