//! Follows a file that we changed back to what it said before, by the copies that were made.

use std::path::Path;

use super::plan::read;
use super::{merge, spot};
use crate::error::Error;
use crate::files;
use crate::manifest::Manifest;

/// The most changes of one file that are followed back.
const MAX_HISTORY: usize = 64;

/// What a file said before we first wrote it.
pub(super) enum Original {
    /// It cannot be told: somebody else has changed the file since.
    Unknown,
    /// There was no file.
    None,
    Text(String),
}

/// Follows a file that says what we wrote back to what it said before we first wrote it.
pub(super) fn original(path: &Path, text: &str, backups: &Path) -> Result<Original, Error> {
    let history = Manifest::all(backups)?;
    let mut written = files::fingerprint(text.as_bytes());
    for _ in 0..MAX_HISTORY {
        let record = history.iter().find_map(|(run, manifest)| {
            let mut files = manifest.files.iter();
            let record = files.find(|file| file.path == path && file.after == written)?;
            Some((run, record))
        });
        let Some((run, record)) = record else {
            return Ok(Original::Unknown);
        };
        let Some(backup) = &record.backup else {
            return Ok(Original::None);
        };
        let copy = read(&run.join(&backup.name))?.unwrap_or_default();
        if files::fingerprint(copy.as_bytes()) != backup.sha256 {
            return Ok(Original::Unknown);
        }
        if merge::parse(&copy).is_ok_and(|root| spot::find(&root).is_empty()) {
            return Ok(Original::Text(copy));
        }
        written.clone_from(&backup.sha256);
    }
    Ok(Original::Unknown)
}
