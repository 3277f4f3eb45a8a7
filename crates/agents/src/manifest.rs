//! The record of one change: which files, where their originals are, and what was written.
//!
//! Each change has a folder of its own, numbered, so that the newest is known without a clock. The
//! record itself holds no secrets; the originals beside it do.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files;
use crate::tree::KeyPath;

const FILE: &str = "manifest.json";
const UNDONE: &str = "manifest.undone.json";
const VERSION: u32 = 1;

/// The record of one change.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    version: u32,
    /// When the change was made, as the caller put it.
    made: String,
    pub(crate) files: Vec<Record>,
}

/// One file of a change.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Whose file it is, by slug.
    pub(crate) agent: String,
    /// The file, as the agent names it.
    pub(crate) path: PathBuf,
    /// The original, where there was one.
    pub(crate) backup: Option<Backup>,
    /// The SHA-256 of what was written.
    pub(crate) after: String,
    /// The entries that were taken out.
    pub(crate) taken: Vec<KeyPath>,
    /// The entry that was put in.
    pub(crate) put: Option<KeyPath>,
}

/// The original of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Backup {
    /// Its name in the folder of the change.
    pub(crate) name: String,
    /// Its SHA-256.
    pub(crate) sha256: String,
}

impl Manifest {
    /// Starts a record.
    pub(crate) fn new(made: &str) -> Self {
        Self {
            version: VERSION,
            made: made.to_owned(),
            files: Vec::new(),
        }
    }

    /// Writes the record into the folder of its change.
    pub(crate) fn save(&self, run: &Path) -> Result<PathBuf, Error> {
        let path = run.join(FILE);
        let text = serde_json::to_vec_pretty(self).map_err(|error| damaged(&path, &error))?;
        files::write_private(&path, &text)?;
        Ok(path)
    }

    /// Finds the newest change that was not taken back.
    pub(crate) fn newest(dir: &Path) -> Result<(PathBuf, Self), Error> {
        let runs = runs(dir)?.into_iter().rev();
        let mut open = runs
            .map(|(_, run)| run)
            .filter(|run| run.join(FILE).is_file());
        let run = open.next().ok_or_else(|| Error::NothingToUndo {
            dir: dir.to_owned(),
        })?;
        let manifest = Self::load(&run)?;
        Ok((run, manifest))
    }

    /// Lists the changes that can be understood, newest first.
    pub(crate) fn all(dir: &Path) -> Result<Vec<(PathBuf, Self)>, Error> {
        let runs = runs(dir)?.into_iter().rev();
        let load = |(_, run): (u64, PathBuf)| Some((run.clone(), Self::load(&run).ok()?));
        Ok(runs.filter_map(load).collect())
    }

    fn load(run: &Path) -> Result<Self, Error> {
        let path = run.join(FILE);
        let text = fs::read(&path).map_err(Error::io("read", &path))?;
        let manifest: Self =
            serde_json::from_slice(&text).map_err(|error| damaged(&path, &error))?;
        if manifest.version != VERSION {
            return Err(damaged(
                &path,
                &format!("version {} is not known", manifest.version),
            ));
        }
        Ok(manifest)
    }

    /// Notes that the change was taken back; the originals stay.
    pub(crate) fn close(run: &Path) -> Result<(), Error> {
        fs::rename(run.join(FILE), run.join(UNDONE)).map_err(Error::io("rename", &run.join(FILE)))
    }
}

/// Makes the folder for a new change.
pub(crate) fn new_run(dir: &Path, made: &str) -> Result<PathBuf, Error> {
    files::create_private_folder(dir)?;
    let last = runs(dir)?.last().map_or(0, |(number, _)| *number);
    let safe = |found: char| found.is_ascii_alphanumeric() || matches!(found, '-' | '.');
    let label: String = made
        .chars()
        .map(|c| if safe(c) { c } else { '-' })
        .take(40)
        .collect();
    let run = dir.join(format!("{:06}-{label}", last + 1));
    files::create_private_folder(&run)?;
    Ok(run)
}

/// Lists the folders of all changes by number.
fn runs(dir: &Path) -> Result<Vec<(u64, PathBuf)>, Error> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", dir)(error)),
    };
    let mut runs = Vec::new();
    for entry in entries {
        let path = entry.map_err(Error::io("read", dir))?.path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let number = name
            .split('-')
            .next()
            .and_then(|number| number.parse().ok());
        runs.extend(
            number
                .filter(|_| path.is_dir())
                .map(|number| (number, path.clone())),
        );
    }
    runs.sort();
    Ok(runs)
}

pub(crate) fn damaged(path: &Path, reason: &impl ToString) -> Error {
    Error::Manifest {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}
