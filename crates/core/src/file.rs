//! Opening files that a configuration names. Whoever may change or try one chooses the path, and what
//! stands there may change while the gateway runs: nothing there may hold up who reads it.

use std::fs::File;
use std::io::{Error, Result};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

/// Opens a file to be read. What is no regular file is refused, as a pipe at whose end nobody writes,
/// and one that the system makes up does not wait for more.
pub fn open_regular(path: &Path) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(open(path, flags, Mode::empty())?);
    // Looked at once it is open: by its name, another could stand there by then.
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(Error::other("it is no regular file"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::path::Path;

    use super::open_regular;

    #[test]
    fn files_are_opened_and_nothing_else_is() {
        let mut text = String::new();
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        open_regular(&own)
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert!(text.contains("mcpproxy-core"));
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        for odd in [folder, Path::new("/dev/null"), Path::new("/dev/zero")] {
            let fault = open_regular(odd).unwrap_err();
            assert!(fault.to_string().contains("no regular file"), "{fault}");
        }
        assert!(open_regular(Path::new("/nowhere")).is_err());
    }
}
