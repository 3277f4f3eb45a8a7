//! Waits for a pipe or a socket, never longer than the time there is.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

/// Waits until something can be read or written: whoever is at the other end must not hold us.
pub(super) fn until_ready(fd: &impl AsFd, what: PollFlags, deadline: Instant) -> io::Result<()> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let left = left.max(Duration::from_millis(1)).try_into().ok();
        let mut one = [PollFd::from_borrowed_fd(fd.as_fd(), what)];
        match poll(&mut one, left.as_ref()) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(fault) => return Err(fault.into()),
        }
    }
}
