//! A small private file that is replaced as a whole, by one writer at a time over all processes.
//!
//! What the file says is not known here.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::Error;
use crate::folder::check_file;

/// Mode of every file that we make.
const PRIVATE: u32 = 0o600;
/// The file that whoever writes in the folder locks. It stays, since removing it would let two
/// writers lock two files of one name.
const LOCK: &str = "control.lock";
/// How often a lock that is taken is tried again, and how long each time is apart: five seconds,
/// which is far more than any writer needs.
const ATTEMPTS: u32 = 500;
const PAUSE: Duration = Duration::from_millis(10);

/// Time, length and identity of a file; equal as long as nobody touched it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    modified: (i64, i64),
    // Set by the system alone, so it also shows a change that put the old time back.
    changed: (i64, i64),
    length: u64,
    inode: u64,
}

impl Stamp {
    fn of(found: &Metadata) -> Self {
        Self {
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
            length: found.len(),
            inode: found.ino(),
        }
    }
}

/// What a file said, and its stamp at that time.
#[derive(Debug, Default)]
pub(crate) struct Content {
    /// Nothing where there is no file.
    pub(crate) bytes: Option<Vec<u8>>,
    /// Nothing where there is no file.
    pub(crate) stamp: Option<Stamp>,
}

/// A small private file in the data folder.
#[derive(Debug)]
pub(crate) struct PrivateFile {
    path: PathBuf,
    limit: usize,
    /// Lets the threads of this process queue up instead of polling against each other.
    queue: Mutex<()>,
}

impl PrivateFile {
    /// Names a file that never grows beyond `limit` bytes.
    pub(crate) fn new(data_dir: &Path, name: &str, limit: usize) -> Self {
        Self {
            path: data_dir.join(name),
            limit,
            queue: Mutex::new(()),
        }
    }

    /// Says that the file does not say what it should.
    pub(crate) fn broken(&self, reason: impl Into<String>) -> Error {
        Error::Broken {
            path: self.path.clone(),
            reason: reason.into(),
        }
    }

    /// Reads the file, and refuses one that is not private.
    pub(crate) fn read(&self) -> Result<Content, Error> {
        let failed = Error::io("read", &self.path);
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Content::default()),
            Err(error) => return Err(failed(error)),
        };
        // The open file is judged, not its name, which could lead elsewhere a moment later.
        let found = file.metadata().map_err(&failed)?;
        check_file(&self.path, &found)?;
        let mut bytes = Vec::new();
        let most = u64::try_from(self.limit)
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        file.take(most).read_to_end(&mut bytes).map_err(&failed)?;
        self.check_size(&bytes)?;
        Ok(Content {
            bytes: Some(bytes),
            stamp: Some(Stamp::of(&found)),
        })
    }

    /// Returns the file's stamp without reading it; nothing where there is no file.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        fs::metadata(&self.path).ok().map(|found| Stamp::of(&found))
    }

    /// Waits until nobody else writes in the folder, for a bounded time.
    pub(crate) fn lock(&self) -> Result<Writing<'_>, Error> {
        self.lock_within(ATTEMPTS)
    }

    fn lock_within(&self, attempts: u32) -> Result<Writing<'_>, Error> {
        let turn = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.path.with_file_name(LOCK);
        let failed = Error::io("lock", &path);
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create(true)
            .truncate(false)
            .mode(PRIVATE);
        let lock = options.open(&path).map_err(&failed)?;
        for attempt in 0..attempts {
            match lock.try_lock() {
                Ok(()) => {
                    return Ok(Writing {
                        file: self,
                        _lock: lock,
                        _turn: turn,
                    });
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if attempt + 1 < attempts => {
                    std::thread::sleep(PAUSE);
                }
                Err(TryLockError::WouldBlock) => {}
            }
        }
        Err(Error::Busy { path: path.clone() })
    }

    fn check_size(&self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.len() <= self.limit {
            Ok(())
        } else {
            Err(Error::TooLarge {
                path: self.path.clone(),
                limit: self.limit,
            })
        }
    }
}

/// The right to write, as long as it is held.
///
/// INVARIANT: only [`PrivateFile::lock`] makes one, after it got the lock.
#[derive(Debug)]
pub(crate) struct Writing<'a> {
    file: &'a PrivateFile,
    // Fields fall in this order: the other processes come first, then our own threads.
    _lock: File,
    _turn: MutexGuard<'a, ()>,
}

impl Writing<'_> {
    /// Replaces the file as a whole, and returns when that is on disk.
    pub(crate) fn replace(&self, bytes: &[u8]) -> Result<(), Error> {
        self.file.check_size(bytes)?;
        let path = &self.file.path;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = path.with_file_name(format!(".{name}.new"));
        let done = write_beside(&beside, bytes)
            // CRASH: before this the old file is whole, and one beside it is left over, which the
            // next writer removes; after it the new file is whole.
            .and_then(|()| fs::rename(&beside, path))
            .and_then(|()| sync_folder(path));
        done.map_err(Error::io("write", path))
    }
}

fn write_beside(beside: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::remove_file(beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(PRIVATE)
        .open(beside)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_private_whole_and_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let file = PrivateFile::new(folder.path(), "state", 8);
        assert!(file.read().unwrap().bytes.is_none());
        file.lock().unwrap().replace(b"12345678").unwrap();
        let content = file.read().unwrap();
        assert_eq!(content.bytes.unwrap(), b"12345678");
        assert_eq!(content.stamp, file.stamp());
        for name in ["state", LOCK] {
            let mode = fs::metadata(folder.path().join(name)).unwrap().mode();
            assert_eq!(mode & 0o7777, 0o600, "{name}");
        }
        let error = file.lock().unwrap().replace(b"123456789").unwrap_err();
        assert!(matches!(error, Error::TooLarge { limit: 8, .. }), "{error}");
        assert_eq!(file.read().unwrap().bytes.unwrap(), b"12345678");
        fs::write(&file.path, "123456789").unwrap();
        assert!(matches!(file.read(), Err(Error::TooLarge { limit: 8, .. })));
    }

    #[test]
    fn every_mode_that_others_could_use_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = PrivateFile::new(folder.path(), "state", 8);
        file.lock().unwrap().replace(b"x").unwrap();
        let check = |mode: u32, expect: bool| {
            fs::set_permissions(&file.path, Permissions::from_mode(mode)).unwrap();
            let result = file.read();
            assert_eq!(result.is_ok(), expect, "{mode:o}");
            if let Err(error) = result {
                let path = file.path.display();
                let message = format!("`{path}` is open to other users (mode {mode:04o})");
                assert_eq!(error.to_string(), message);
                assert!(
                    error
                        .remedy()
                        .unwrap()
                        .starts_with(&format!("run `chmod 600 {path}`"))
                );
            }
        };
        check(0o600, true);
        check(0o400, true);
        for mode in [0o640, 0o604, 0o620, 0o602, 0o644, 0o666, 0o610] {
            check(mode, false);
        }
    }

    #[test]
    fn what_a_crash_left_over_does_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        let file = PrivateFile::new(folder.path(), "state", 8);
        fs::write(folder.path().join(".state.new"), "half of wh").unwrap();
        assert!(file.read().unwrap().bytes.is_none());
        file.lock().unwrap().replace(b"whole").unwrap();
        assert_eq!(file.read().unwrap().bytes.unwrap(), b"whole");
        assert!(!folder.path().join(".state.new").exists());
    }

    #[test]
    fn a_lock_is_waited_for_and_then_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| PrivateFile::new(folder.path(), name, 8));
        let held = one.lock().unwrap();
        let error = two.lock_within(2).unwrap_err();
        assert!(matches!(error, Error::Busy { .. }), "{error}");
        drop(held);
        two.lock_within(1).unwrap();
    }

    #[test]
    fn a_folder_in_its_place_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = PrivateFile::new(folder.path(), "state", 8);
        fs::create_dir(&file.path).unwrap();
        assert!(matches!(
            file.read(),
            Err(Error::Misplaced {
                expected: "file",
                ..
            })
        ));
    }
}
