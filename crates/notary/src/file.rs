//! Files that somebody else may have made: read as far as such a file can be long.
//!
//! In a pack only plain files are opened; a path that a person gives may also be a pipe.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The longest key, proof or answer of an authority that is read.
const LONGEST: u64 = 64 << 20;

/// Reads a file that a person names.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    bounded(File::open(path)?, LONGEST)
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
