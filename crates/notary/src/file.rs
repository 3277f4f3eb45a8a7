//! Files that somebody else may have made: read as far as such a file can be long.
//!
//! In a pack and in an audit folder only plain files are opened; a path that a person gives may also
//! be a pipe.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// The longest key, proof or answer of an authority that is read.
const LONGEST: u64 = 64 << 20;

/// Reads a file that a person names.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    bounded(File::open(path)?, LONGEST)
}

/// Opens a file of an audit folder to read it; see [`open_plain`].
pub(crate) fn plain(path: &Path) -> io::Result<File> {
    open_plain(path, File::options().read(true))
}

/// Opens a file of an audit folder. A link or a pipe in its place was put there by somebody else:
/// what it leads to must not be changed, and it must not hold us.
pub(crate) fn open_plain(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let opened = options.custom_flags(flags).open(path);
    match opened {
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        Err(fault) if !is_other(path) => Err(fault),
        Ok(_) | Err(_) => Err(io::Error::new(ErrorKind::InvalidInput, "it is not a file")),
    }
}

/// Tells whether something other than a plain file has that name.
fn is_other(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| !about.is_file())
}

/// Reads to the end, which comes within `longest` bytes.
pub(crate) fn bounded(from: impl Read, longest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(longest.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > longest {
        return Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it is longer than {longest} bytes"),
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_links_nor_pipes_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "x").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        crate::sample::pipe(&at("pipe"));
        assert!(plain(&at("file")).is_ok());
        for name in ["link", "pipe", "."] {
            for options in [File::options().read(true), File::options().append(true)] {
                let fault = open_plain(&at(name), options).unwrap_err();
                assert_eq!(fault.to_string(), "it is not a file", "{name}");
            }
        }
        assert_eq!(plain(&at("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn what_is_too_long_is_an_error() {
        let check = |length: usize, expect: bool| {
            let bytes = vec![b'x'; length];
            assert_eq!(bounded(bytes.as_slice(), 16).is_ok(), expect, "{length}");
        };
        check(0, true);
        check(16, true);
        check(17, false);
        assert!(bounded(io::repeat(b'x'), 16).is_err());
    }
}
