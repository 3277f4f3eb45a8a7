//! The copy of the active policy that is kept beside the receipts, named by its content.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::Policy;
use crate::hash::{hex, sha256};

impl Policy {
    /// Keeps a copy of the file in `folder`; see [`snapshot`].
    pub fn snapshot(&self, folder: &Path) -> io::Result<PathBuf> {
        snapshot(folder, self.text()).map(|(_, path)| path)
    }
}

/// Keeps a copy of a policy in `folder` under a name made of its hash; returns hash and place.
///
/// A copy that is there already is kept if it is the same, and is an error if it is not.
pub fn snapshot(folder: &Path, text: &str) -> io::Result<(String, PathBuf)> {
    fs::create_dir_all(folder)?;
    let hash = hex(&sha256(text.as_bytes()));
    let path = folder.join(format!("policy_sha256_{hash}.yaml"));
    match OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(file) => fill(file, folder, text)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => compare(&path, text)?,
        Err(error) => return Err(error),
    }
    Ok((hash, path))
}

/// CRASH: a stop here leaves a shorter copy, which the next start replaces.
fn fill(mut file: File, folder: &Path, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    File::open(folder)?.sync_all()
}

fn compare(path: &Path, text: &str) -> io::Result<()> {
    let found = fs::read(path)?;
    if found == text.as_bytes() {
        return Ok(());
    }
    if text.as_bytes().starts_with(&found) {
        return fs::write(path, text);
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidData,
        "a policy snapshot has other content than its name says",
    ))
}
