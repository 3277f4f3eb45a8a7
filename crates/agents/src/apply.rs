//! Carries out a plan: originals and record first, then the files, all or none.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::files;
use crate::manifest::{self, Backup, Manifest, Record};
use crate::plan::{Plan, PlannedFile};

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
    let changes: Vec<&PlannedFile> = plan.changes().collect();
    if changes.is_empty() {
        return Ok(Applied {
            written: Vec::new(),
            manifest: None,
        });
    }
    for file in &changes {
        check(file, folders)?;
    }
    let run = manifest::new_run(backup_dir, now)?;
    let manifest = record(&changes, &run, now)?;
    let mut written: Vec<&PlannedFile> = Vec::new();
    for file in changes {
        // CRASH: files up to here are changed, the rest are not; the record lists all of them and
        // `undo` tells them apart by their fingerprints.
        match write(file) {
            Ok(()) => written.push(file),
            Err(cause) => return Err(roll_back(&written, cause, &run)),
        }
    }
    let written = written.into_iter().map(|file| file.path.clone()).collect();
    Ok(Applied {
        written,
        manifest: Some(manifest),
    })
}

/// Finds what would fail before anything is written.
fn check(file: &PlannedFile, folders: MissingFolder) -> Result<(), Error> {
    let metadata = fs::metadata(&file.path).ok();
    if metadata.is_some_and(|metadata| metadata.permissions().readonly()) {
        return Err(Error::ReadOnly {
            path: file.path.clone(),
        });
    }
    let now = files::read(&file.path)?;
    if now.as_deref() != file.before.as_deref().map(str::as_bytes) {
        return Err(Error::Changed {
            path: file.path.clone(),
        });
    }
    let folder = file.path.parent().unwrap_or(Path::new("."));
    match folders {
        _ if folder.is_dir() => Ok(()),
        MissingFolder::Refuse => Err(Error::MissingFolder {
            path: file.path.clone(),
        }),
        MissingFolder::Create => fs::create_dir_all(folder).map_err(Error::io("make", folder)),
    }
}

fn record(changes: &[&PlannedFile], run: &Path, now: &str) -> Result<PathBuf, Error> {
    let mut manifest = Manifest::new(now);
    for (number, file) in changes.iter().enumerate() {
        let name = format!("{number:02}-{}", file.agent.slug());
        let backup = match &file.before {
            Some(before) => {
                files::write_private(&run.join(&name), before.as_bytes())?;
                Some(Backup {
                    name,
                    sha256: files::fingerprint(before.as_bytes()),
                })
            }
            None => None,
        };
        let after = files::fingerprint(file.after.as_bytes());
        manifest.files.push(Record {
            agent: file.agent.slug().to_owned(),
            path: file.path.clone(),
            backup,
            after,
            taken: file.taken.clone(),
            put: file.put.clone(),
        });
    }
    manifest.save(run)
}

fn write(file: &PlannedFile) -> Result<(), Error> {
    let before = file.before.as_deref().map(str::as_bytes);
    files::replace(&file.path, before, file.after.as_bytes())
}

fn roll_back(written: &[&PlannedFile], cause: Error, run: &Path) -> Error {
    let restore = |file: &&&PlannedFile| {
        let after = file.after.as_bytes();
        match &file.before {
            Some(before) => files::replace(&file.path, Some(after), before.as_bytes()),
            None => files::remove(&file.path, after),
        }
        .is_err()
    };
    let stuck: Vec<PathBuf> = written
        .iter()
        .filter(restore)
        .map(|file| file.path.clone())
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
