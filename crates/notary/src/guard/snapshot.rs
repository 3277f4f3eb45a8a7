//! The copy of the active policy that is kept beside the receipts, named by its content.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::Policy;
use crate::file::{bounded, plain};
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
    match plain(&path) {
        Ok(found) => compare(found, &path, text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => fill(&path, text)?,
        Err(error) => return Err(error),
    }
    Ok((hash, path))
}

/// Puts the copy there, whole or not at all; what has its name by then is not written to.
fn fill(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|fault| fault.error)?;
    File::open(folder)?.sync_all()
}

fn compare(found: File, path: &Path, text: &str) -> io::Result<()> {
    let longest = u64::try_from(text.len()).unwrap_or(u64::MAX);
    match bounded(found, longest) {
        Ok(found) if found == text.as_bytes() => Ok(()),
        // An earlier version that was stopped while it wrote left a part of it.
        Ok(found) if text.as_bytes().starts_with(&found) => fill(path, text),
        Ok(_) | Err(_) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a policy snapshot has other content than its name says",
        )),
    }
}
