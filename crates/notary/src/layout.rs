//! The folder that a proxy writes to: receipts, packs, policy snapshots, and marks of the sessions
//! that are open.
//!
//! A session holds a lock on its mark for as long as it lives. A mark whose lock can be taken is
//! of a session that died; nothing else needs to be looked at, however many there were.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use mcpproxy_core::Wall;

use crate::error::NotaryError;
use crate::file::{bounded, open_plain, plain};
use crate::receipt::random_id;

/// The audit folder.
#[derive(Clone, Debug)]
pub struct Layout(PathBuf);

impl Layout {
    /// Makes the folders that are missing.
    pub fn create(root: &Path) -> Result<Self, NotaryError> {
        let layout = Self(root.to_owned());
        for folder in [layout.open(), layout.packs()] {
            create_folder(&folder)?;
        }
        Ok(layout)
    }

    /// Takes a folder that is there already, to read it; nothing is made or changed.
    pub fn existing(root: &Path) -> Self {
        Self(root.to_owned())
    }

    /// Returns the audit folder itself.
    pub fn root(&self) -> &Path {
        &self.0
    }

    /// Returns where the sessions' receipts are.
    pub fn receipts(&self) -> PathBuf {
        self.0.join("receipts")
    }

    /// Returns where packs are.
    pub fn packs(&self) -> PathBuf {
        self.0.join("packs")
    }

    /// Returns where snapshots of policies are.
    pub fn policy(&self) -> PathBuf {
        self.0.join("policy")
    }

    fn open(&self) -> PathBuf {
        self.receipts().join(".open")
    }

    /// Returns the receipts of the session `name`.
    pub fn session(&self, name: &str) -> PathBuf {
        self.receipts().join(format!("session_{name}.jsonl"))
    }

    /// Returns the folder of a session's pack; a session has more than one if they roll.
    pub fn pack(&self, name: &str, index: u64) -> PathBuf {
        self.packs().join(pack_name(name, index))
    }

    fn last(&self) -> PathBuf {
        self.packs().join(".last")
    }

    /// Remembers the pack that was made last, for the next session to name.
    pub(crate) fn remember(&self, last: &Last) -> Result<(), NotaryError> {
        let path = self.last();
        let failed = NotaryError::file("write", &path);
        let mut file = tempfile::NamedTempFile::new_in(self.packs()).map_err(&failed)?;
        writeln!(file, "{}\n{}", last.pack, last.root).map_err(&failed)?;
        // CRASH: not synced; after a power loss the next session may name an older pack, or none.
        file.persist(&path)
            .map(drop)
            .map_err(|fault| failed(fault.error))
    }

    /// Returns the pack that was made last in this folder, as far as that is known.
    pub fn recall(&self) -> Option<Last> {
        let text = short(&self.last()).ok()?;
        let (pack, root) = text.trim_end().split_once('\n')?;
        let (pack, root) = (pack.to_owned(), root.to_owned());
        Some(Last { pack, root })
    }

    /// Begins a session that begins now: its name, its mark and its file.
    pub(crate) fn begin(&self, now: Wall) -> Result<(String, Claim, File), NotaryError> {
        loop {
            let unique: String = random_id("")?.chars().take(8).collect();
            let name = format!("{}_{unique}", stamp(now));
            let Some(claim) = self.claim(&name)? else {
                continue;
            };
            let path = self.session(&name);
            match create_file(&path) {
                Ok(file) => {
                    sync_folder(&self.receipts())?;
                    return Ok((name, claim, file));
                }
                Err(fault) if fault.kind() == ErrorKind::AlreadyExists => {}
                Err(fault) => {
                    claim.release()?;
                    return Err(NotaryError::file("create", &path)(fault));
                }
            }
        }
    }

    /// Marks a session as open; nothing if the name is taken.
    fn claim(&self, name: &str) -> Result<Option<Claim>, NotaryError> {
        let folder = self.open();
        let path = folder.join(format!("session_{name}"));
        let failed = NotaryError::file("create", &path);
        // The mark is locked before it has its name, so that nobody finds it without its lock.
        let mut mark = tempfile::NamedTempFile::new_in(&folder).map_err(&failed)?;
        // It has its length from the start, so that a full disk can be told of in it.
        mark.write_all(Tally::default().text().as_bytes())
            .map_err(&failed)?;
        mark.as_file().lock().map_err(&failed)?;
        match mark.persist_noclobber(&path) {
            Ok(file) => {
                sync_folder(&folder)?;
                Ok(Some(Claim {
                    path: path.clone(),
                    lock: file,
                }))
            }
            Err(fault) if fault.error.kind() == ErrorKind::AlreadyExists => Ok(None),
            Err(fault) => Err(failed(fault.error)),
        }
    }

    /// Takes over the sessions whose proxies died; of one whose mark is no file it says so.
    pub(crate) fn orphans(&self) -> Result<Vec<Orphan>, NotaryError> {
        let folder = self.open();
        let mut found = Vec::new();
        let entries = fs::read_dir(&folder).map_err(NotaryError::file("read", &folder))?;
        for entry in entries.flatten() {
            let file_name = entry.file_name();
            let Some(name) = file_name
                .to_str()
                .and_then(|name| name.strip_prefix("session_"))
            else {
                continue;
            };
            let path = entry.path();
            match open_plain(&path, File::options().read(true).write(true)) {
                // Between the listing and the lock its owner may have ended it in good order.
                Ok(lock) if lock.try_lock().is_ok() && path.exists() => {
                    found.push((name.to_owned(), Ok(Claim { path, lock })));
                }
                Err(fault) if fault.kind() == ErrorKind::InvalidInput => {
                    found.push((
                        name.to_owned(),
                        Err(NotaryError::file("read", &path)(fault)),
                    ));
                }
                // It lives, it has ended, or it is somebody else's.
                Ok(_) | Err(_) => {}
            }
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(found)
    }
}

/// The name of a session whose proxy died, and its lock.
pub(crate) type Orphan = (String, Result<Claim, NotaryError>);

/// The longest mark, or name of a pack, that is read.
const SHORT: u64 = 4 << 10;

/// Reads a mark, or the name of a pack.
fn short(path: &Path) -> io::Result<String> {
    let bytes = bounded(plain(path)?, SHORT)?;
    String::from_utf8(bytes).map_err(|_| ErrorKind::InvalidData.into())
}

/// A pack, as the next session names it, so that one that vanished is missed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Last {
    /// The name of its folder.
    pub pack: String,
    /// Its `pack_root_sha256`.
    pub root: String,
}

/// The lock of an open session.
#[derive(Debug)]
pub(crate) struct Claim {
    path: PathBuf,
    lock: File,
}

/// What is missing of a session, as its mark tells a successor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// How many receipts are lost.
    pub(crate) lost: u64,
    /// How many bytes of its file a start cut off to close it.
    pub(crate) dropped: u64,
}

impl Tally {
    /// Prints it, always as long.
    pub(crate) fn text(self) -> String {
        format!("{:020}\n{:020}\n", self.lost, self.dropped)
    }
}

impl Claim {
    /// Notes what is missing of the session.
    pub(crate) fn note(&self, tally: Tally) -> io::Result<()> {
        let mut mark = &self.lock;
        mark.rewind()?;
        mark.write_all(tally.text().as_bytes())
    }

    /// Makes what was noted durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.lock.sync_data()
    }

    /// Returns what is missing of the session, as far as that was noted.
    pub(crate) fn tally(&self) -> Tally {
        let text = short(&self.path).unwrap_or_default();
        let mut numbers = text.lines().map(|line| line.parse().unwrap_or_default());
        let mut next = || numbers.next().unwrap_or_default();
        Tally {
            lost: next(),
            dropped: next(),
        }
    }

    /// Returns where it stands.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Says that the session is over and nothing is left to do for it.
    pub(crate) fn release(self) -> Result<(), NotaryError> {
        fs::remove_file(&self.path).map_err(NotaryError::file("remove", &self.path))
    }
}

/// Returns the name of a pack's folder.
pub(crate) fn pack_name(session: &str, index: u64) -> String {
    match index {
        0 => format!("proof_pack_{session}"),
        _ => format!("proof_pack_{session}_{}", index + 1),
    }
}

/// Prints a time as it stands in file names.
pub(crate) fn stamp(at: Wall) -> String {
    let text = at.rfc3339();
    let seconds = text.split('.').next().unwrap_or_default();
    format!("{}Z", seconds.replace(['-', ':'], ""))
}

/// Makes a file that nobody else can read: receipts may hold what was said.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create_new(true).append(true).read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a folder and those above it, for nobody else.
pub(crate) fn create_folder(path: &Path) -> Result<(), NotaryError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(path)
        .map_err(NotaryError::file("create", path))
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), NotaryError> {
    let synced = File::open(folder).and_then(|file| file.sync_all());
    synced
        .or_else(unsupported)
        .map_err(NotaryError::file("sync", folder))
}

/// Some systems cannot sync a folder; there is nothing to be gained by failing there.
fn unsupported(fault: io::Error) -> io::Result<()> {
    match fault.kind() {
        ErrorKind::Unsupported | ErrorKind::InvalidInput => Ok(()),
        _ => Err(fault),
    }
}
