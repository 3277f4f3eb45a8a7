//! Takes the newest change back, file by file.
//!
//! A file that says what we wrote gets its original back, byte for byte. What happens to one that
//! somebody changed since is the caller's choice.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::files;
use crate::manifest::{Manifest, Record, damaged};
use crate::merge;

/// What to do with a file that somebody changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// Leave it and say where its original is.
    Report,
    /// Take back our own change and keep theirs; report it where that cannot be done.
    Merge,
    /// Put the original back all the same.
    Overwrite,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Undone {
    /// The files that say again what they said.
    pub restored: Vec<PathBuf>,
    /// The files that keep somebody else's change but lost ours.
    pub merged: Vec<PathBuf>,
    /// The files that were left alone, because somebody changed them since.
    pub conflicts: Vec<Conflict>,
}

/// A file that somebody changed since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The file.
    pub path: PathBuf,
    /// Its original; nothing where there was no file.
    pub backup: Option<PathBuf>,
}

/// Takes back the newest change recorded below `backup_dir`.
///
/// While conflicts remain the change stays on record, so that it can be taken back again.
pub fn undo(backup_dir: &Path, on_conflict: OnConflict) -> Result<Undone, Error> {
    let (run, manifest) = Manifest::newest(backup_dir)?;
    let mut undone = Undone::default();
    for record in &manifest.files {
        undone.take_back(&run, record, on_conflict)?;
    }
    if undone.conflicts.is_empty() {
        Manifest::close(&run)?;
    }
    Ok(undone)
}

impl Undone {
    fn take_back(
        &mut self,
        run: &Path,
        record: &Record,
        on_conflict: OnConflict,
    ) -> Result<(), Error> {
        let original = original(run, record)?;
        let now = files::read(&record.path)?;
        if now == original {
            // The change never reached this file, or it was taken back before.
            return Ok(());
        }
        let written = now.as_deref().map(files::fingerprint);
        if written.as_ref() == Some(&record.after) || on_conflict == OnConflict::Overwrite {
            restore(&record.path, now.as_deref(), original.as_deref())?;
            self.restored.push(record.path.clone());
            return Ok(());
        }
        let merged = (on_conflict == OnConflict::Merge)
            .then(|| merged(record, now.as_deref(), original.as_deref()))
            .flatten();
        let path = record.path.clone();
        if let Some(merged) = merged {
            files::replace(&path, now.as_deref(), merged.as_bytes())?;
            self.merged.push(path);
        } else {
            let backup = record.backup.as_ref().map(|backup| run.join(&backup.name));
            self.conflicts.push(Conflict { path, backup });
        }
        Ok(())
    }
}

fn merged(record: &Record, now: Option<&[u8]>, original: Option<&[u8]>) -> Option<String> {
    let now = std::str::from_utf8(now?).ok()?;
    let original = std::str::from_utf8(original.unwrap_or_default()).ok()?;
    merge::take_back(record, original, now).ok()
}

fn original(run: &Path, record: &Record) -> Result<Option<Vec<u8>>, Error> {
    let Some(backup) = &record.backup else {
        return Ok(None);
    };
    let path = run.join(&backup.name);
    let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
    if files::fingerprint(&bytes) != backup.sha256 {
        return Err(damaged(&path, &"the copy of the original was changed"));
    }
    Ok(Some(bytes))
}

fn restore(path: &Path, now: Option<&[u8]>, original: Option<&[u8]>) -> Result<(), Error> {
    match (now, original) {
        (now, Some(original)) => files::replace(path, now, original),
        (Some(now), None) => files::remove(path, now),
        (None, None) => Ok(()),
    }
}
