//! The record of what one `init` did to our own file, kept beside the agents' originals.
//!
//! It carries the label of the `agents` crate's record of the same run, by which the two are
//! paired. It holds entries as they were written, secrets included, and so is private.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::additions::Entry;
use super::own::{OwnFile, text_of};
use crate::exit::failed;

/// The folder of these records; its name has no number, so the agents' records do not see it.
const FOLDER: &str = "own";
const VERSION: u64 = 1;

/// What one `init` did to our own file.
#[derive(Debug)]
pub(super) struct Record {
    /// When, in letters that a file name may have.
    pub(super) label: String,
    /// The file.
    pub(super) file: PathBuf,
    /// What it said before; none where there was no file.
    pub(super) before: Option<String>,
    /// The entries that were added.
    pub(super) entries: Vec<(String, Entry)>,
    path: PathBuf,
}

impl Record {
    /// Writes down what is about to be done.
    pub(super) fn begin(
        backups: &Path,
        label: &str,
        own: &OwnFile,
        entries: &[(String, Entry)],
    ) -> Result<Self> {
        let folder = backups.join(FOLDER);
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder);
        made.with_context(|| format!("cannot make `{}`", folder.display()))?;
        let number = numbered(&folder)?
            .last()
            .map_or(1, |(number, _)| number.saturating_add(1));
        let path = folder.join(format!("{number:06}-{label}.json"));
        if let Some(before) = &own.before {
            write_private(&path.with_extension("before"), before)?;
        }
        let file = std::path::absolute(&own.path)?;
        // A list, since with the order of the entries the file's text can be told again.
        let upstreams: Vec<_> = entries
            .iter()
            .map(|(name, entry)| json!({ "name": name, "entry": entry }))
            .collect();
        let record = json!({
            "version": VERSION,
            "label": label,
            "file": file.to_str().context("the path of our own file is not UTF-8")?,
            "existed": own.before.is_some(),
            "upstreams": upstreams,
        });
        write_private(&path, &serde_json::to_string_pretty(&record)?)?;
        let (label, before) = (label.to_owned(), own.before.clone());
        Ok(Self {
            label,
            file,
            before,
            entries: entries.to_vec(),
            path,
        })
    }

    /// Finds the newest record of what was not taken back.
    pub(super) fn newest(backups: &Path) -> Result<Option<Self>> {
        let open = |(_, path): &(u64, PathBuf)| path.extension().is_some_and(|kind| kind == "json");
        let newest = numbered(&backups.join(FOLDER))?.into_iter().rfind(open);
        newest.map(|(_, path)| Self::open(&path)).transpose()
    }

    fn open(path: &Path) -> Result<Self> {
        let damaged = || {
            let message = format!("cannot understand the record `{}`", path.display());
            failed(
                message,
                Some("the agents' originals are in the folder above it"),
            )
        };
        let text = text_of(path)?.ok_or_else(damaged)?;
        let record: Value = serde_json::from_str(&text).map_err(|_| damaged())?;
        let member = |name: &str| record.get(name);
        if member("version").and_then(Value::as_u64) != Some(VERSION) {
            return Err(damaged());
        }
        let label = member("label")
            .and_then(Value::as_str)
            .ok_or_else(damaged)?;
        let file = member("file").and_then(Value::as_str).ok_or_else(damaged)?;
        let existed = member("existed")
            .and_then(Value::as_bool)
            .ok_or_else(damaged)?;
        let upstreams = member("upstreams")
            .and_then(Value::as_array)
            .ok_or_else(damaged)?;
        let before = if existed {
            Some(text_of(&path.with_extension("before"))?.ok_or_else(damaged)?)
        } else {
            None
        };
        let entry = |one: &Value| {
            let name = one.get("name")?.as_str()?.to_owned();
            Some((name, one.get("entry")?.as_object()?.clone()))
        };
        let entries: Option<Vec<_>> = upstreams.iter().map(entry).collect();
        Ok(Self {
            label: label.to_owned(),
            file: PathBuf::from(file),
            before,
            entries: entries.ok_or_else(damaged)?,
            path: path.to_owned(),
        })
    }

    /// Notes that it was taken back; what the file said before stays on record.
    pub(super) fn close(self) -> Result<()> {
        let context = || format!("cannot rename `{}`", self.path.display());
        fs::rename(&self.path, self.path.with_extension("undone")).with_context(context)
    }

    /// Forgets what was not done after all.
    pub(super) fn discard(self) -> Result<()> {
        let context = || format!("cannot remove `{}`", self.path.display());
        fs::remove_file(&self.path).with_context(context)?;
        if self.before.is_some() {
            fs::remove_file(self.path.with_extension("before")).with_context(context)?;
        }
        Ok(())
    }
}

/// Returns the label of the agents' newest record that was not taken back.
pub(super) fn newest_of_agents(backups: &Path) -> Result<Option<String>> {
    let mut found: Vec<(u64, String)> = Vec::new();
    for path in listing(backups)? {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let Some((number, label)) = name.split_once('-') else {
            continue;
        };
        if let (Ok(number), true) = (number.parse(), path.join("manifest.json").is_file()) {
            found.push((number, label.to_owned()));
        }
    }
    Ok(found.into_iter().max().map(|(_, label)| label))
}

/// Lists the records and what belongs to them, by number.
fn numbered(folder: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for path in listing(folder)? {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let number = name
            .split('-')
            .next()
            .and_then(|number| number.parse::<u64>().ok());
        found.extend(number.map(|number| (number, path.clone())));
    }
    found.sort();
    Ok(found)
}

fn listing(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(fault) => {
            return Err(fault).with_context(|| format!("cannot read `{}`", folder.display()));
        }
    };
    entries.map(|entry| Ok(entry?.path())).collect()
}

fn write_private(path: &Path, text: &str) -> Result<()> {
    let write = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    write().with_context(|| format!("cannot write `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(before: Option<&str>) -> OwnFile {
        OwnFile {
            path: "/nowhere/mcpproxy.yaml".into(),
            before: before.map(str::to_owned),
        }
    }

    #[test]
    fn the_newest_open_record_is_found_and_read_back() {
        let backups = tempfile::tempdir().unwrap();
        let newest = || Record::newest(backups.path()).unwrap();
        assert!(newest().is_none());
        let entry = json!({ "command": "npx" }).as_object().unwrap().clone();
        let entries = [("github".to_owned(), entry)];
        Record::begin(backups.path(), "first", &own(None), &entries).unwrap();
        Record::begin(backups.path(), "second", &own(Some("listen: x")), &[]).unwrap();
        let second = newest().unwrap();
        assert_eq!(
            (second.label.as_str(), second.before.as_deref()),
            ("second", Some("listen: x"))
        );
        second.close().unwrap();
        let first = newest().unwrap();
        assert_eq!((first.label.as_str(), &first.before), ("first", &None));
        assert_eq!(first.entries, entries);
        first.discard().unwrap();
        assert!(newest().is_none());
    }

    #[test]
    fn the_agents_newest_open_record_is_told_by_its_label() {
        let backups = tempfile::tempdir().unwrap();
        let label = || newest_of_agents(backups.path()).unwrap();
        let run = |name: &str, record: &str| {
            let folder = backups.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(record), "").unwrap();
        };
        assert_eq!(label(), None);
        run("000001-2026-01-01", "manifest.json");
        run("000010-2026-01-03", "manifest.undone.json");
        run("000002-2026-01-02", "manifest.json");
        run("own", "manifest.json");
        assert_eq!(label().as_deref(), Some("2026-01-02"));
    }
}
