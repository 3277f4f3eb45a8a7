//! A cheap answer to "did a file change", for whoever polls.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Length, time and identity of some files; equal as long as nobody touched them.
///
/// A file that is not there has a fingerprint too, so that its coming is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint(Vec<Option<Stamp>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: (i64, i64),
    // Set by the system alone, so it also shows a change that put the old time back.
    changed: (i64, i64),
    device: u64,
    inode: u64,
}

impl Fingerprint {
    /// Takes the fingerprint of these files, in this order.
    pub fn of(files: &[PathBuf]) -> Self {
        let stamp = |file: &PathBuf| {
            let metadata = std::fs::metadata(file).ok()?;
            Some(Stamp {
                length: metadata.len(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
                device: metadata.dev(),
                inode: metadata.ino(),
            })
        };
        Self(files.iter().map(stamp).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mcpproxy.yaml");
        let files = [file.clone()];
        let absent = Fingerprint::of(&files);
        std::fs::write(&file, "a: 1").unwrap();
        let first = Fingerprint::of(&files);
        assert_ne!(absent, first);
        assert_eq!(first, Fingerprint::of(&files));
        let other = folder.path().join("other");
        std::fs::write(&other, "a: 2").unwrap();
        std::fs::rename(&other, &file).unwrap();
        assert_ne!(first, Fingerprint::of(&files));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(absent, Fingerprint::of(&files));
    }
}
