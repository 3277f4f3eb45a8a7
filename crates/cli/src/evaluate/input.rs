//! The agent's payload, read from standard input within the time there is.

use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use mcpproxy_agents::hook::MAX_PAYLOAD;
use rustix::event::{PollFd, PollFlags, poll};

/// What is read at a time.
const PIECE: usize = 64 * 1024;

/// Reads until the input ends; what is past the largest payload is left.
pub(super) fn read(deadline: Instant) -> io::Result<Vec<u8>> {
    let stdin = io::stdin();
    let mut lock = stdin.lock();
    let mut payload = Vec::new();
    let mut piece = vec![0; PIECE];
    while payload.len() <= MAX_PAYLOAD {
        until_readable(&stdin, deadline)?;
        match lock.read(&mut piece) {
            Ok(0) => break,
            Ok(some) => payload.extend_from_slice(piece.get(..some).unwrap_or_default()),
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(payload)
}

/// Waits for the next piece: an agent that does not close the pipe must not hold us.
fn until_readable(stdin: &io::Stdin, deadline: Instant) -> io::Result<()> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let left = left.max(Duration::from_millis(1)).try_into().ok();
        let mut one = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
        match poll(&mut one, left.as_ref()) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(fault) => return Err(fault.into()),
        }
    }
}
