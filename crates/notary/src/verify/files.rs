//! The files of a pack: each where it should be, inside the pack, and with its digest.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path};

use sha2::{Digest as _, Sha256};

use super::manifest::{Listed, Manifest};
use super::report::{Code, Report};
use crate::error::NotaryError;
use crate::file::{bounded, plain};
use crate::hash::hex;
use crate::pack::{MANIFEST, RECEIPTS, REPORT, SIGNATURE, TRANSCRIPT};

/// The longest manifest that is read.
const LONGEST: u64 = 8 << 20;

/// The folder for what the peer's builder leaves unsigned.
const UNSIGNED_FOLDER: &str = "_unsigned";

/// The longest of the small files that is read.
const SMALL: u64 = 1 << 20;

/// Opens a file of a pack; what is none, such as a pipe that nobody writes to, is not opened.
pub(crate) fn open(folder: &Path, name: &str) -> io::Result<File> {
    let path = folder.join(name);
    if !inside(folder, name) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a file"));
    }
    plain(&path)
}

/// Reads a file that is small in every pack.
pub(crate) fn small(folder: &Path, name: &str) -> io::Result<Vec<u8>> {
    bounded(open(folder, name)?, SMALL)
}

/// Reads the manifest of a pack. An error means that there is no pack here.
pub(crate) fn manifest(folder: &Path) -> Result<Vec<u8>, NotaryError> {
    let path = folder.join(MANIFEST);
    let file = open(folder, MANIFEST);
    let read = file.and_then(|file| bounded(file, LONGEST));
    read.map_err(NotaryError::file("read", &path))
}

/// Checks every file that the manifest lists, and that it lists what every pack has.
pub(super) fn check(folder: &Path, manifest: &Manifest<'_>, report: &mut Report) {
    for listed in &manifest.files {
        // The receipts are digested while they are read.
        if listed.path != RECEIPTS {
            one(folder, listed, report);
        }
    }
    for name in [RECEIPTS, REPORT, TRANSCRIPT] {
        let count = manifest
            .files
            .iter()
            .filter(|file| file.path == name)
            .count();
        if count != 1 {
            report.add(
                Code::ManifestTamper,
                format!("the manifest lists `{name}` {count} times"),
            );
        }
    }
    for name in [RECEIPTS, REPORT, TRANSCRIPT, MANIFEST, SIGNATURE] {
        if !manifest.expected.iter().any(|expected| expected == name) {
            report.add(
                Code::ManifestTamper,
                format!("the manifest does not expect `{name}`"),
            );
        }
    }
    for name in &manifest.expected {
        if !inside(folder, name) {
            report.add(
                Code::PathEscape,
                format!("`{name}` is not a file of the pack"),
            );
        } else if !folder.join(name).is_file() {
            report.add(Code::ManifestTamper, format!("file `{name}` is missing"));
        }
    }
    for name in manifest.files.iter().map(|file| &file.path) {
        if !manifest.expected.contains(name) {
            report.add(
                Code::ManifestTamper,
                format!("file `{name}` is listed and not expected"),
            );
        }
    }
    unlisted(folder, manifest, report);
}

fn one(folder: &Path, listed: &Listed, report: &mut Report) {
    let name = &listed.path;
    if !inside(folder, name) {
        return report.add(
            Code::PathEscape,
            format!("`{name}` is not a file of the pack"),
        );
    }
    match open(folder, name).and_then(digest) {
        Ok(found) => compare(listed, found, report),
        Err(fault) => report.add(
            Code::ManifestTamper,
            format!("cannot read `{name}`: {fault}"),
        ),
    }
}

/// Holds what a file is against what the manifest says.
pub(super) fn compare(listed: &Listed, (sha256, bytes): ([u8; 32], u64), report: &mut Report) {
    if listed.sha256 != sha256 || listed.bytes != bytes {
        let message = format!(
            "file `{}` has {bytes} bytes with digest {}, not the {} bytes with digest {} that were signed",
            listed.path,
            hex(&sha256),
            listed.bytes,
            hex(&listed.sha256)
        );
        report.add(Code::ManifestTamper, message);
    }
}

pub(crate) fn digest(mut file: File) -> io::Result<([u8; 32], u64)> {
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((hash.finalize().into(), bytes));
        }
        hash.update(buffer.get(..read).unwrap_or_default());
        bytes += u64::try_from(read).unwrap_or(0);
    }
}

/// Tells whether a name stays in the pack: plain steps downward, and no links on the way.
pub(super) fn inside(folder: &Path, name: &str) -> bool {
    let path = Path::new(name);
    let plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if name.is_empty() || !plain || name.contains('\\') || name.contains('\0') {
        return false;
    }
    let mut at = folder.to_owned();
    path.components().all(|part| {
        at.push(part);
        fs::symlink_metadata(&at).map_or(true, |meta| !meta.is_symlink())
    })
}

/// Warns of what lies in the folder and is not part of the pack.
fn unlisted(folder: &Path, manifest: &Manifest<'_>, report: &mut Report) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    for name in names {
        if !manifest.expected.contains(&name) && name != UNSIGNED_FOLDER {
            report.warn(format!(
                "`{name}` is not part of the pack and was not looked at"
            ));
        }
    }
}
