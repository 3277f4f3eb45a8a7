//! One question to the gateway over its socket: a request by hand, since a client library starts
//! slower than the whole exchange takes.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use mcpproxy_core::GapCause;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

/// The largest answer that is read.
const MOST: usize = 64 * 1024;
/// How long to wait where the gateway has more callers than it takes at once.
const BUSY: Duration = Duration::from_millis(5);

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// Asks, within the time there is.
pub(super) fn ask(
    socket: &Path,
    query: &str,
    payload: &[u8],
    deadline: Instant,
) -> Result<Answer, GapCause> {
    let mut stream = connected(socket, deadline)?;
    let left = || {
        let left = deadline.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left).ok_or(GapCause::Slow)
    };
    let head = format!(
        "POST /api/v1/hooks/evaluate?{query} HTTP/1.1\r\nhost: localhost\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        payload.len()
    );
    let mut request = head.into_bytes();
    request.extend_from_slice(payload);
    let sent = stream
        .set_write_timeout(Some(left()?))
        .and_then(|()| stream.write_all(&request));
    sent.map_err(|fault| cause(&fault))?;
    let mut answer = Vec::with_capacity(1024);
    let mut piece = [0; 4096];
    while !is_whole(&answer) {
        let read = stream
            .set_read_timeout(Some(left()?))
            .and_then(|()| stream.read(&mut piece));
        match read {
            Ok(0) => break,
            Ok(some) => answer.extend_from_slice(piece.get(..some).unwrap_or_default()),
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
            Err(fault) => return Err(cause(&fault)),
        }
        if answer.len() > MOST {
            return Err(GapCause::Garbled);
        }
    }
    parsed(&answer).ok_or(GapCause::Garbled)
}

/// Connects without being held by a gateway that does not accept.
fn connected(socket: &Path, deadline: Instant) -> Result<UnixStream, GapCause> {
    let address = SocketAddrUnix::new(socket).map_err(|_| GapCause::Unreachable)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    loop {
        let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let fd = fd.map_err(|_| GapCause::Unreachable)?;
        match connect(&fd, &address) {
            Ok(()) => {
                let stream = UnixStream::from(fd);
                let blocking = stream.set_nonblocking(false);
                return blocking.map(|()| stream).map_err(|fault| cause(&fault));
            }
            Err(rustix::io::Errno::AGAIN) if Instant::now() + BUSY < deadline => {
                std::thread::sleep(BUSY);
            }
            Err(rustix::io::Errno::AGAIN) => return Err(GapCause::Slow),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Err(GapCause::Unreachable),
        }
    }
}

fn cause(fault: &io::Error) -> GapCause {
    match fault.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => GapCause::Slow,
        _ => GapCause::Unreachable,
    }
}

/// Finds where the head of an answer ends.
fn body_at(answer: &[u8]) -> Option<usize> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some(end + 4)
}

fn head(answer: &[u8]) -> Option<&str> {
    std::str::from_utf8(answer.get(..body_at(answer)?)?).ok()
}

fn is_whole(answer: &[u8]) -> bool {
    let length = head(answer).and_then(length);
    let have = body_at(answer).map_or(0, |at| answer.len() - at);
    length.is_some_and(|length| have >= length)
}

fn length(head: &str) -> Option<usize> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(name, _)| name.eq_ignore_ascii_case("content-length"))?;
    value.trim().parse().ok()
}

fn parsed(answer: &[u8]) -> Option<Answer> {
    let head = head(answer)?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let body = answer.get(body_at(answer)?..)?.to_vec();
    let whole = length(head).is_none_or(|length| body.len() == length);
    whole.then_some(Answer { status, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_taken_apart() {
        let check = |raw: &str, whole: bool, expect: Option<(u16, &str)>| {
            assert_eq!(is_whole(raw.as_bytes()), whole, "{raw}");
            let found = parsed(raw.as_bytes());
            let found = found.map(|one| (one.status, String::from_utf8(one.body).unwrap()));
            let expect = expect.map(|(status, body)| (status, body.to_owned()));
            assert_eq!(found, expect, "{raw}");
        };
        let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        check(ok, true, Some((200, "{}")));
        check(
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n{}",
            false,
            None,
        );
        check("HTTP/1.1 400 No\r\n\r\nx", false, Some((400, "x")));
        check("HTTP/1.1 200 OK\r\n", false, None);
        check("nonsense", false, None);
    }
}
