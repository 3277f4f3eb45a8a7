//! The agent's payload, read from standard input within the time there is.

use std::io::{self, Read as _};
use std::time::Instant;

use mcpproxy_agents::hook::MAX_PAYLOAD;
use rustix::event::PollFlags;

use super::wait::until_ready;

/// What is read at a time.
const PIECE: usize = 64 * 1024;

/// Reads until the input ends; what is past the largest payload is left.
pub(super) fn read(deadline: Instant) -> io::Result<Vec<u8>> {
    let stdin = io::stdin();
    let mut lock = stdin.lock();
    let mut payload = Vec::new();
    let mut piece = vec![0; PIECE];
    while payload.len() <= MAX_PAYLOAD {
        until_ready(&stdin, PollFlags::IN, deadline)?;
        match lock.read(&mut piece) {
            Ok(0) => break,
            Ok(some) => payload.extend_from_slice(piece.get(..some).unwrap_or_default()),
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(payload)
}
