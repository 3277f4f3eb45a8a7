//! A digest over the contents of files, within bounds.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// The most files of a package.
const MOST_FILES: usize = 10_000;
/// The most bytes of all of them.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// The deepest folder.
const DEEPEST: usize = 32;

/// Returns the digest of one file; nothing where it cannot be read or is too large.
pub(super) fn of_file(file: &Path) -> Option<String> {
    let mut room = MOST_BYTES;
    contents(file, &mut room).map(|digest| hexadecimal(&digest))
}

/// Returns the digest of all files below a folder but those in folders of these names; nothing
/// where one cannot be read, or there are too many or too large ones.
pub(super) fn of_folder(folder: &Path, without: &[&str]) -> Option<String> {
    let mut files = Vec::new();
    collect(folder, without, DEEPEST, &mut files)?;
    of_files(folder, files)
}

/// Returns the digest of these files, whose names count as they are below `base`.
pub(super) fn of_files(base: &Path, mut files: Vec<PathBuf>) -> Option<String> {
    files.sort_unstable();
    let (mut whole, mut room) = (Sha256::new(), MOST_BYTES);
    for file in files {
        let name = file.strip_prefix(base).unwrap_or(&file);
        let name = name.as_os_str().as_encoded_bytes();
        // With its length, so that no name and content can be read as others.
        whole.update(u64::try_from(name.len()).ok()?.to_be_bytes());
        whole.update(name);
        whole.update(contents(&file, &mut room)?);
    }
    Some(hexadecimal(&whole.finalize()))
}

/// Gathers the files below a folder. Links are not followed: what they lead to is not of the
/// package.
fn collect(folder: &Path, without: &[&str], depth: usize, files: &mut Vec<PathBuf>) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    for entry in std::fs::read_dir(folder).ok()? {
        let entry = entry.ok()?;
        let kind = entry.file_type().ok()?;
        let left_out = || without.iter().any(|name| entry.file_name() == *name);
        if kind.is_dir() && !left_out() {
            collect(&entry.path(), without, depth, files)?;
        } else if kind.is_file() {
            files.push(entry.path());
            (files.len() <= MOST_FILES).then_some(())?;
        }
    }
    Some(())
}

fn contents(file: &Path, room: &mut u64) -> Option<[u8; 32]> {
    // A pipe in a package would be waited for.
    let known = std::fs::metadata(file)
        .ok()
        .filter(std::fs::Metadata::is_file)?;
    // What is too large anyway is not read at all.
    (known.len() <= *room).then_some(())?;
    let mut file = File::open(file).ok()?;
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; 64 * 1024]);
    loop {
        let read = file.read(&mut buffer).ok()?;
        let Some(read) = buffer.get(..read).filter(|read| !read.is_empty()) else {
            return Some(digest.finalize().into());
        };
        *room = room.checked_sub(u64::try_from(read.len()).ok()?)?;
        digest.update(read);
    }
}

fn hexadecimal(digest: &[u8]) -> String {
    let nibbles = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = nibbles.filter_map(|nibble| char::from_digit(u32::from(nibble), 16));
    digits.collect()
}
