//! Replaces a file in one step, through links, keeping its mode and owner.
//!
//! A reader sees the old file or the new one, never half of either. What the files say is not
//! known here.

use std::fs::{self, Metadata, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tempfile::{Builder, NamedTempFile};

use crate::error::Error;

/// Returns what a file says, or nothing where there is none.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    // A pipe in its place would be waited for without end.
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        let fault = io::Error::other("it is no regular file");
        return Err(Error::io("read", path)(fault));
    }
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// Returns the fingerprint by which a file is recognised later.
pub(crate) fn fingerprint(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let nibbles = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    nibbles
        .filter_map(|nibble| char::from_digit(u32::from(nibble), 16))
        .collect()
}

/// Replaces a file that says `expected`; nothing expected means that it must not exist.
pub(crate) fn replace(path: &Path, expected: Option<&[u8]>, bytes: &[u8]) -> Result<(), Error> {
    let target = resolve(path)?;
    let metadata = fs::metadata(&target).ok();
    if metadata
        .as_ref()
        .is_some_and(|metadata| metadata.permissions().readonly())
    {
        return Err(Error::ReadOnly {
            path: path.to_owned(),
        });
    }
    let folder = target.parent().unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(Error::MissingFolder {
            path: path.to_owned(),
        });
    }
    let temporary = prepare(folder, metadata.as_ref(), bytes).map_err(Error::io("write", path))?;
    // The last look before the rename: an agent that runs may have written in between.
    if read(&target)?.as_deref() != expected {
        return Err(Error::Changed {
            path: path.to_owned(),
        });
    }
    // CRASH: before the rename the old file stands and a temporary one is left beside it; after
    // it the new one stands whole.
    temporary
        .persist(&target)
        .map_err(|error| Error::io("replace", path)(error.error))?;
    sync_folder(folder).map_err(Error::io("write", folder))
}

/// Removes a file that says `expected`.
pub(crate) fn remove(path: &Path, expected: &[u8]) -> Result<(), Error> {
    if read(path)?.as_deref() != Some(expected) {
        return Err(Error::Changed {
            path: path.to_owned(),
        });
    }
    fs::remove_file(path).map_err(Error::io("remove", path))
}

/// Writes a file that only the user can read, for what may hold secrets.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = prepare(folder, None, bytes).and_then(|temporary| {
        temporary
            .persist_noclobber(path)
            .map_err(|error| error.error)?;
        sync_folder(folder)
    });
    written.map_err(Error::io("write", path))
}

/// Lets everybody who can read a file run it.
#[cfg(unix)]
pub(crate) fn make_executable(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;

    let mode = fs::metadata(path)
        .map_err(Error::io("read", path))?
        .permissions()
        .mode();
    let permissions = Permissions::from_mode(mode | ((mode & 0o444) >> 2));
    fs::set_permissions(path, permissions).map_err(Error::io("make executable", path))
}

/// Does nothing: here the name of a file tells whether it can be run.
#[cfg(not(unix))]
pub(crate) fn make_executable(_: &Path) -> Result<(), Error> {
    Ok(())
}

/// Says whether a file can be run.
#[cfg(unix)]
pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Says whether a file can be run.
#[cfg(not(unix))]
pub(crate) fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// Makes a folder that only the user can enter.
pub(crate) fn create_private_folder(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(Error::io("make", path))?;
    restrict(path).map_err(Error::io("protect", path))
}

/// Follows links to the file itself, so that the link is kept and its target is replaced.
fn resolve(path: &Path) -> Result<PathBuf, Error> {
    match fs::canonicalize(path) {
        Ok(target) => Ok(target),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            Ok(path.to_owned())
        }
        Err(error) => Err(Error::io("find", path)(error)),
    }
}

fn prepare(folder: &Path, like: Option<&Metadata>, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut temporary = Builder::new().prefix(".mcpproxy-").tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    if let Some(like) = like {
        keep_owner(&temporary, like)?;
        let permissions: Permissions = like.permissions();
        temporary.as_file().set_permissions(permissions)?;
    }
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

#[cfg(unix)]
fn keep_owner(temporary: &NamedTempFile, like: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};

    let made = temporary.as_file().metadata()?;
    if (made.uid(), made.gid()) == (like.uid(), like.gid()) {
        return Ok(());
    }
    fchown(temporary.as_file(), Some(like.uid()), Some(like.gid()))
}

#[cfg(not(unix))]
fn keep_owner(_: &NamedTempFile, _: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn restrict(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    fs::set_permissions(folder, Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn restrict(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
