//! The agent's payload, read from standard input within the time there is.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Instant;

use mcpproxy_agents::hook::MAX_PAYLOAD;
use rustix::event::PollFlags;

use super::wait::until_ready;

/// What is read at a time.
const PIECE: usize = 64 * 1024;

/// Reads until the input ends; what is past the largest payload is left.
pub(super) fn read(deadline: Instant) -> io::Result<Vec<u8>> {
    read_from(&mut io::stdin().lock(), deadline)
}

fn read_from(input: &mut (impl Read + AsFd), deadline: Instant) -> io::Result<Vec<u8>> {
    let mut payload = Vec::new();
    let mut piece = vec![0; PIECE];
    while payload.len() <= MAX_PAYLOAD {
        until_ready(input, PollFlags::IN, deadline)?;
        match input.read(&mut piece) {
            Ok(0) => break,
            Ok(some) => payload.extend_from_slice(piece.get(..some).unwrap_or_default()),
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(payload)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use super::*;

    /// The best of several, since others use the machine too.
    #[test]
    fn reading_a_payload_takes_less_than_a_millisecond() {
        let words = "cargo test ".repeat(90);
        let payload = format!(
            r#"{{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{{"command":"{words}"}}}}"#
        );
        let deadline = Instant::now() + Duration::from_secs(30);
        let took = (0..20).map(|_| {
            let (mut input, mut agent) = io::pipe().unwrap();
            agent.write_all(payload.as_bytes()).unwrap();
            drop(agent);
            let begun = Instant::now();
            let read = read_from(&mut input, deadline).unwrap();
            let asked = mcpproxy_agents::hook::read(&read, None, None);
            let took = begun.elapsed();
            assert_eq!(asked.unwrap().tool.spelled(), "Bash");
            took
        });
        let best = took.min().unwrap();
        assert!(best < Duration::from_millis(1), "{best:?}");
    }
}
