//! The other end of a connection, looked at without reading from it: whether anybody is there still.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use mcpproxy_core::Waiting;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A connection whose other end can be looked at. It holds the connection open, so that it must not
/// be kept for longer than an answer may take.
#[derive(Clone, Debug)]
pub(crate) struct Line(Arc<OwnedFd>);

impl Line {
    /// Takes a second hold of a connection; nothing where there are no descriptors left.
    pub(crate) fn of(stream: &impl AsFd) -> Option<Self> {
        let held = stream.as_fd().try_clone_to_owned().ok()?;
        Some(Self(Arc::new(held)))
    }
}

impl Waiting for Line {
    fn is_open(&self) -> bool {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // That the other end hung up is told without being asked for. One that only has no more to
        // say still hears.
        let mut one = [PollFd::new(&self.0, PollFlags::empty())];
        match poll(&mut one, Some(&now)) {
            Ok(_) => {
                let gone = PollFlags::HUP | PollFlags::ERR;
                !one.iter().any(|one| one.revents().intersects(gone))
            }
            // What cannot be looked at is taken to be there: then what is decided counts.
            Err(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_line_is_open_until_the_other_end_hangs_up() {
        let (own, mut other) = UnixStream::pair().unwrap();
        let line = Line::of(&own).unwrap();
        assert!(line.is_open());
        other.write_all(b"question").unwrap();
        assert!(line.is_open());
        other.shutdown(Shutdown::Write).unwrap();
        assert!(line.is_open(), "it still hears");
        drop(other);
        assert!(!line.is_open());
    }
}
