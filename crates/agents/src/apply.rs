//! Carries out changes of files: originals and record first, then the files, all or none.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::files;
use crate::manifest::{self, Backup, Manifest, Record};
use crate::plan::{Plan, PlannedFile};
use crate::tree::KeyPath;

/// What to do when a new file has no folder to stand in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingFolder {
    /// Fail, since the agent is perhaps not installed.
    Refuse,
    /// Make the folder.
    Create,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The files that were written.
    pub written: Vec<PathBuf>,
    /// The record of the change, where anything changed.
    pub manifest: Option<PathBuf>,
}

/// What happens to one file.
pub(crate) struct Change<'a> {
    /// Whose file it is, by slug.
    pub(crate) agent: &'a str,
    pub(crate) path: &'a Path,
    /// What it says now; nothing where there is none.
    pub(crate) before: Option<&'a str>,
    /// What it will say; nothing where it goes.
    pub(crate) after: Option<&'a str>,
    pub(crate) is_executable: bool,
    pub(crate) taken: &'a [KeyPath],
    pub(crate) put: Option<&'a KeyPath>,
}

impl<'a> From<&'a PlannedFile> for Change<'a> {
    fn from(file: &'a PlannedFile) -> Self {
        Self {
            agent: file.agent.slug(),
            path: &file.path,
            before: file.before.as_deref(),
            after: Some(&file.after),
            is_executable: false,
            taken: &file.taken,
            put: file.put.as_ref(),
        }
    }
}

/// Writes the files of a plan, after copies of the originals and a record have been made below
/// `backup_dir`. `now` labels the record.
///
/// When a file cannot be written, those written before are restored.
pub fn apply(
    plan: &Plan,
    backup_dir: &Path,
    now: &str,
    folders: MissingFolder,
) -> Result<Applied, Error> {
    let changes: Vec<Change<'_>> = plan.changes().map(Change::from).collect();
    carry_out(&changes, backup_dir, now, folders)
}

/// Makes changes, or none of them.
pub(crate) fn carry_out(
    changes: &[Change<'_>],
    backup_dir: &Path,
    now: &str,
    folders: MissingFolder,
) -> Result<Applied, Error> {
    if changes.is_empty() {
        return Ok(Applied {
            written: Vec::new(),
            manifest: None,
        });
    }
    for change in changes {
        change.check(folders)?;
    }
    let run = manifest::new_run(backup_dir, now)?;
    let manifest = record(changes, &run, now)?;
    let mut written: Vec<&Change<'_>> = Vec::new();
    for change in changes {
        // CRASH: files up to here are changed, the rest are not; the record lists all of them and
        // `undo` tells them apart by their fingerprints.
        match change.make() {
            Ok(()) => written.push(change),
            Err(cause) => return Err(roll_back(&written, cause, &run)),
        }
    }
    let written = written.into_iter().map(|change| change.path.to_owned());
    Ok(Applied {
        written: written.collect(),
        manifest: Some(manifest),
    })
}

impl Change<'_> {
    /// Finds what would fail before anything is written.
    fn check(&self, folders: MissingFolder) -> Result<(), Error> {
        let path = || self.path.to_owned();
        let metadata = fs::metadata(self.path).ok();
        if metadata.is_some_and(|metadata| metadata.permissions().readonly()) {
            return Err(Error::ReadOnly { path: path() });
        }
        if files::read(self.path)?.as_deref() != self.before.map(str::as_bytes) {
            return Err(Error::Changed { path: path() });
        }
        let folder = self.path.parent().unwrap_or(Path::new("."));
        match folders {
            _ if folder.is_dir() => Ok(()),
            MissingFolder::Refuse => Err(Error::MissingFolder { path: path() }),
            MissingFolder::Create => fs::create_dir_all(folder).map_err(Error::io("make", folder)),
        }
    }

    fn make(&self) -> Result<(), Error> {
        match (self.before, self.after) {
            (before, Some(after)) => {
                files::replace(self.path, before.map(str::as_bytes), after.as_bytes())?;
                if self.is_executable {
                    files::make_executable(self.path)?;
                }
                Ok(())
            }
            (Some(before), None) => files::remove(self.path, before.as_bytes()),
            (None, None) => Ok(()),
        }
    }

    fn take_back(&self) -> Result<(), Error> {
        let after = self.after.map(str::as_bytes);
        match (self.before, after) {
            (Some(before), after) => files::replace(self.path, after, before.as_bytes()),
            (None, Some(after)) => files::remove(self.path, after),
            (None, None) => Ok(()),
        }
    }
}

fn record(changes: &[Change<'_>], run: &Path, now: &str) -> Result<PathBuf, Error> {
    let mut manifest = Manifest::new(now);
    for (number, change) in changes.iter().enumerate() {
        let name = format!("{number:02}-{}", change.agent);
        let backup = match change.before {
            Some(before) => {
                files::write_private(&run.join(&name), before.as_bytes())?;
                Some(Backup {
                    name,
                    sha256: files::fingerprint(before.as_bytes()),
                })
            }
            None => None,
        };
        // A file that goes has no fingerprint.
        let after = change
            .after
            .map(|after| files::fingerprint(after.as_bytes()));
        manifest.files.push(Record {
            agent: change.agent.to_owned(),
            path: change.path.to_owned(),
            backup,
            after: after.unwrap_or_default(),
            taken: change.taken.to_vec(),
            put: change.put.cloned(),
        });
    }
    manifest.save(run)
}

fn roll_back(written: &[&Change<'_>], cause: Error, run: &Path) -> Error {
    let stuck: Vec<PathBuf> = written
        .iter()
        .filter(|change| change.take_back().is_err())
        .map(|change| change.path.to_owned())
        .collect();
    if !stuck.is_empty() {
        return Error::Stuck {
            cause: Box::new(cause),
            stuck,
            backups: run.to_owned(),
        };
    }
    // Nothing is changed any more, so that there is nothing to take back.
    match fs::remove_dir_all(run) {
        Ok(()) => cause,
        Err(error) => Error::io("remove", run)(error),
    }
}
