//! The agent's payload, read from standard input within the time there is.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Instant;

use mcpproxy_agents::hook::MAX_PAYLOAD;
use rustix::event::PollFlags;
use serde::de::IgnoredAny;

use super::wait::until_ready;

/// What is read at a time.
const PIECE: usize = 64 * 1024;

/// What some programs put before a text in UTF-8.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Reads until the input ends, or holds a whole payload: not every agent closes the pipe. What is past
/// the largest payload is left.
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
            Ok(some) => {
                payload.extend_from_slice(piece.get(..some).unwrap_or_default());
                // Of a longer one every part would be looked at again and again.
                if payload.len() < PIECE && is_whole(&payload) {
                    break;
                }
            }
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
            Err(fault) => return Err(fault),
        }
    }
    if payload.starts_with(MARK) {
        payload.drain(..MARK.len());
    }
    Ok(payload)
}

fn is_whole(payload: &[u8]) -> bool {
    let text = payload.strip_prefix(MARK).unwrap_or(payload);
    text.trim_ascii_end().ends_with(b"}") && serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_payload_ends_with_the_input_or_where_it_is_whole() {
        let check = |sent: &[&str], closed: bool, expect: Option<&str>| {
            let (mut input, mut agent) = io::pipe().unwrap();
            for part in sent {
                agent.write_all(part.as_bytes()).unwrap();
            }
            let kept = (!closed).then_some(agent);
            let deadline = Instant::now() + Duration::from_millis(if closed { 30_000 } else { 50 });
            let read = read_from(&mut input, deadline).ok();
            assert_eq!(read.as_deref(), expect.map(str::as_bytes), "{sent:?}");
            drop(kept);
        };
        check(&["{\"a\":", "{}}"], true, Some("{\"a\":{}}"));
        check(&["{\"a\":{}}\n"], false, Some("{\"a\":{}}\n"));
        check(&["{\"a\":{}"], false, None);
        check(&["{\"a\":{}"], true, Some("{\"a\":{}"));
        check(&["\u{FEFF}{\"a\":1}"], true, Some("{\"a\":1}"));
        check(&["\u{FEFF}{\"a\":1}"], false, Some("{\"a\":1}"));
        check(&[""], true, Some(""));
    }

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
