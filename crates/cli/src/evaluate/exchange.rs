//! One question to the gateway over its socket: a request by hand, since a client library starts
//! slower than the whole exchange takes.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use mcpproxy_core::GapCause;
use rustix::event::PollFlags;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::wait::until_ready;

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
    let head = format!(
        "POST /api/v1/hooks/evaluate?{query} HTTP/1.1\r\nhost: localhost\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        payload.len()
    );
    let mut request = head.into_bytes();
    request.extend_from_slice(payload);
    send(&mut stream, &request, deadline)?;
    let answer = receive(&mut stream, deadline)?;
    parsed(&answer).ok_or(GapCause::Garbled)
}

/// Sends a request. The time is looked at before each piece that the gateway takes: one that takes
/// them slowly must not hold us longer than one that takes none.
fn send(stream: &mut UnixStream, request: &[u8], deadline: Instant) -> Result<(), GapCause> {
    let mut rest = request;
    while !rest.is_empty() {
        let sent = until_ready(stream, PollFlags::OUT, deadline).and_then(|()| stream.write(rest));
        match sent {
            Ok(some) => rest = rest.get(some..).unwrap_or_default(),
            Err(fault) if is_passing(&fault) => {}
            Err(fault) => return Err(cause(&fault)),
        }
    }
    Ok(())
}

/// Reads until the answer is whole or the gateway has no more to say.
fn receive(stream: &mut UnixStream, deadline: Instant) -> Result<Vec<u8>, GapCause> {
    let mut answer = Vec::with_capacity(1024);
    let mut piece = [0; 4096];
    while !is_whole(&answer) {
        let read =
            until_ready(stream, PollFlags::IN, deadline).and_then(|()| stream.read(&mut piece));
        match read {
            Ok(0) => break,
            Ok(some) => answer.extend_from_slice(piece.get(..some).unwrap_or_default()),
            Err(fault) if is_passing(&fault) => {}
            Err(fault) => return Err(cause(&fault)),
        }
        if answer.len() > MOST {
            return Err(GapCause::Garbled);
        }
    }
    Ok(answer)
}

/// Tells whether to try again: what was ready may not be so any more.
fn is_passing(fault: &io::Error) -> bool {
    matches!(
        fault.kind(),
        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
    )
}

/// Connects without being held by a gateway that does not accept.
fn connected(socket: &Path, deadline: Instant) -> Result<UnixStream, GapCause> {
    let address = SocketAddrUnix::new(socket).map_err(|_| GapCause::Unreachable)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    loop {
        let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let fd = fd.map_err(|_| GapCause::Unreachable)?;
        match connect(&fd, &address) {
            // It stays so: the time given to a socket that blocks counts anew with each piece.
            Ok(()) => return Ok(UnixStream::from(fd)),
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
        io::ErrorKind::TimedOut => GapCause::Slow,
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
    use std::os::unix::net::UnixListener;

    use super::*;

    /// What does not fit into the buffers of a socket.
    const LARGE: usize = 4 * 1024 * 1024;

    /// Asks a gateway that treats its caller like this; returns what it came to, and after how long.
    fn asked_of(
        gateway: impl FnOnce(UnixStream) + Send + 'static,
        within: Duration,
    ) -> (Result<Answer, GapCause>, Duration) {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        let gateway = std::thread::spawn(move || gateway(listener.accept().unwrap().0));
        let begun = Instant::now();
        let found = ask(&socket, "", &vec![b' '; LARGE], begun + within);
        let took = begun.elapsed();
        gateway.join().unwrap();
        (found, took)
    }

    #[test]
    fn a_gateway_that_takes_the_question_slowly_or_not_at_all_is_given_up_in_time() {
        let (within, patience) = (Duration::from_secs(1), Duration::from_secs(8));
        let check = |pause: Option<Duration>| {
            let gateway = move |mut stream: UnixStream| {
                let (begun, mut piece) = (Instant::now(), [0; 16 * 1024]);
                while begun.elapsed() < patience {
                    std::thread::sleep(pause.unwrap_or(within * 2));
                    if stream.read(&mut piece).unwrap_or(0) == 0 {
                        break;
                    }
                }
            };
            let (found, took) = asked_of(gateway, within);
            assert_eq!(found.unwrap_err(), GapCause::Slow, "{pause:?}");
            // On a busy machine the client itself may be late, but not as late as the gateway.
            assert!(
                (within..patience * 3 / 4).contains(&took),
                "{pause:?}: {took:?}"
            );
        };
        check(None);
        check(Some(Duration::from_millis(40)));
    }

    /// The best of several, since others use the machine too.
    #[test]
    fn connecting_takes_less_than_a_millisecond() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        let took = (0..20).map(|_| {
            let begun = Instant::now();
            let connected = connected(&socket, deadline).unwrap();
            let took = begun.elapsed();
            drop((connected, listener.accept().unwrap()));
            took
        });
        let best = took.min().unwrap();
        assert!(best < Duration::from_millis(1), "{best:?}");
    }

    #[test]
    fn a_large_question_arrives_whole() {
        let gateway = |mut stream: UnixStream| {
            let (mut have, mut piece) = (Vec::new(), vec![0; 64 * 1024]);
            while have.len() < LARGE + body_at(&have).unwrap_or(MOST) {
                let read = stream.read(&mut piece).unwrap();
                have.extend_from_slice(&piece[..read]);
            }
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
            stream.write_all(answer).unwrap();
        };
        let (found, _) = asked_of(gateway, Duration::from_secs(30));
        assert_eq!(found.unwrap().status, 200);
    }

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
