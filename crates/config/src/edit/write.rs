//! All or nothing: a text is written beside its file and takes its place in one step.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Mode of a file that did not exist, since it may come to hold keys.
const PRIVATE: u32 = 0o600;
/// Mode of a folder that did not exist.
const PRIVATE_FOLDER: u32 = 0o700;

/// Writes `text`, if the file still holds what was read.
pub(super) fn write(path: &Path, read: Option<&str>, text: &str) -> Result<(), Error> {
    let failed = |source| Error::Write {
        path: path.to_owned(),
        source,
    };
    // A link stays a link: what it leads to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mode = match fs::metadata(&target) {
        Ok(metadata) => metadata.permissions().mode() & 0o7777,
        Err(_) => PRIVATE,
    };
    make_folder(&target).map_err(failed)?;
    let (beside, mut file) = open_beside(&target, mode).map_err(failed)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all());
    drop(file);
    let unchanged = fs::read_to_string(&target).ok().as_deref() == read;
    let done = match (written, unchanged) {
        (Err(source), _) => Err(failed(source)),
        (Ok(()), false) => Err(Error::Changed {
            path: path.to_owned(),
        }),
        // CRASH: before this the old file is whole and a file beside it is left over; after it the
        // new one is.
        (Ok(()), true) => fs::rename(&beside, &target).map_err(failed),
    };
    if done.is_err() {
        // Nothing can be done about a leftover, and the first failure is the one to report.
        drop(fs::remove_file(&beside));
        return done;
    }
    sync_folder(&target).map_err(failed)
}

/// Puts a text back in the place of whatever the file holds, or takes the file away.
pub(super) fn restore(path: &Path, before: Option<&str>) -> Result<(), Error> {
    let now = fs::read_to_string(path).ok();
    match before {
        Some(text) => write(path, now.as_deref(), text),
        None => fs::remove_file(path).map_err(|source| Error::Write {
            path: path.to_owned(),
            source,
        }),
    }
}

fn make_folder(target: &Path) -> io::Result<()> {
    match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.exists() => {
            use std::os::unix::fs::DirBuilderExt;
            fs::DirBuilder::new()
                .recursive(true)
                .mode(PRIVATE_FOLDER)
                .create(folder)
        }
        _ => Ok(()),
    }
}

/// Makes a new file beside `target` that nobody else could have put there.
fn open_beside(target: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    for attempt in 0..100 {
        let beside = target.with_file_name(format!(".{name}.{}.{attempt}", std::process::id()));
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(PRIVATE)
            .open(&beside)
        {
            Ok(file) => {
                file.set_permissions(fs::Permissions::from_mode(mode))?;
                return Ok((beside, file));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        "too many leftovers of earlier writes",
    ))
}

fn sync_folder(target: &Path) -> io::Result<()> {
    let folder = target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
