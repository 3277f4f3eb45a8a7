//! The newest checkpoint of a session that is open, kept in the folder of the keys: whoever can write
//! the audit folder alone cannot take it back, as he can its line among the receipts.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::PathBuf;

use crate::file::{bounded, plain};
use crate::keys::Signer;
use crate::layout::create_folder;
use crate::note::Checkpoint;

/// The longest note that is read.
const LONGEST: u64 = 4 << 10;

/// Where the checkpoint of one session is kept; nowhere, if the key is not in a folder.
#[derive(Debug)]
pub(crate) struct Kept(Option<PathBuf>);

impl Kept {
    /// Returns the place for the session `name`.
    pub(crate) fn of(signer: &Signer, name: &str) -> Self {
        let folder = signer.folder().map(|folder| folder.join("open"));
        Self(folder.map(|folder| folder.join(format!("session_{name}.note"))))
    }

    /// Keeps a note, whose lines must be on disk by now, in place of the one before.
    pub(crate) fn write(&self, note: &str) -> io::Result<()> {
        let Some(path) = &self.0 else { return Ok(()) };
        let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
        create_folder(folder).map_err(io::Error::other)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(note.as_bytes())?;
        // CRASH: not synced; after a power loss an older note is there, or none.
        file.persist(path).map(drop).map_err(|fault| fault.error)
    }

    /// Returns what is kept.
    pub(crate) fn read(&self) -> Option<Checkpoint> {
        let bytes = bounded(plain(self.0.as_ref()?).ok()?, LONGEST).ok()?;
        Checkpoint::read(std::str::from_utf8(&bytes).ok()?).ok()
    }

    /// Forgets what is kept of that log, which is closed. That of another one, whose name somebody
    /// gave to a mark, stays.
    pub(crate) fn forget(&self, origin: &str) {
        let own = self.read().is_some_and(|kept| kept.origin == origin);
        if let Some(path) = self.0.as_ref().filter(|_| own) {
            // One that stays is read again only if a session of its name is recovered.
            fs::remove_file(path).unwrap_or_default();
        }
    }
}
