//! Standard streams that a runtime can wait for, whoever else shares them.
//!
//! Whether a descriptor waits is a property of what was opened, not of the descriptor: to change it
//! for ourselves would change it for the shell, the log or the agent that holds the same opening. A
//! pipe is therefore opened anew, and a socket, which cannot be, is asked each time not to wait.
//! Terminals and files are not for this: they have no end that could be waited for.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::fs::{Mode, OFlags};
use rustix::net::{RecvFlags, SendFlags, SocketType, sockopt};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::unix::pipe;

/// A standard input.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;
/// A standard output.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// How much is read from a socket in one go at most.
const PIECE: usize = 16 * 1024;

/// Which way a stream goes.
#[derive(Clone, Copy, Debug)]
pub enum Flow {
    /// It is read.
    In,
    /// It is written.
    Out,
}

/// Returns a descriptor for the same stream which may be used without disturbing who shares it.
///
/// Fails for whatever is neither a pipe nor a connected socket, and for pipes where the system has
/// no way to open one anew.
pub fn fresh(stream: BorrowedFd<'_>, flow: Flow) -> io::Result<OwnedFd> {
    match Kind::of(stream)? {
        Kind::Pipe => {
            let access = match flow {
                Flow::In => OFlags::RDONLY,
                Flow::Out => OFlags::WRONLY,
            };
            let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
            let path = format!("/proc/self/fd/{}", stream.as_raw_fd());
            Ok(rustix::fs::open(path, flags, Mode::empty())?)
        }
        Kind::Socket => stream.try_clone_to_owned(),
    }
}

/// Takes a descriptor from [`fresh`] for reading.
pub fn input(stream: OwnedFd) -> io::Result<Input> {
    Ok(match Kind::of(stream.as_fd())? {
        Kind::Pipe => Box::new(pipe::Receiver::from_owned_fd(stream)?),
        Kind::Socket => Box::new(Socket::new(stream, Interest::READABLE)?),
    })
}

/// Takes a descriptor from [`fresh`] for writing.
pub fn output(stream: OwnedFd) -> io::Result<Output> {
    Ok(match Kind::of(stream.as_fd())? {
        Kind::Pipe => Box::new(pipe::Sender::from_owned_fd(stream)?),
        Kind::Socket => Box::new(Socket::new(stream, Interest::WRITABLE)?),
    })
}

enum Kind {
    Pipe,
    /// What agents written in Node give their children.
    Socket,
}

impl Kind {
    fn of(stream: BorrowedFd<'_>) -> io::Result<Self> {
        let kind = File::from(stream.try_clone_to_owned()?)
            .metadata()?
            .file_type();
        if kind.is_fifo() {
            return Ok(Self::Pipe);
        }
        if kind.is_socket() && sockopt::socket_type(stream)? == SocketType::STREAM {
            return Ok(Self::Socket);
        }
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A socket whose own setting, to wait or not, stays as it is.
#[derive(Debug)]
struct Socket(AsyncFd<OwnedFd>);

impl Socket {
    #[expect(
        deprecated,
        reason = "what replaces it is unsafe code; an owned descriptor stays open as it must"
    )]
    fn new(socket: OwnedFd, interest: Interest) -> io::Result<Self> {
        Ok(Self(AsyncFd::with_interest(socket, interest)?))
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.0.poll_read_ready(context))?;
            let piece = buffer.initialize_unfilled_to(buffer.remaining().min(PIECE));
            let read = ready.try_io(|socket| {
                let (read, _) = rustix::net::recv(socket, &mut *piece, RecvFlags::DONTWAIT)?;
                Ok(read)
            });
            match read {
                Ok(Err(fault)) if fault.kind() == io::ErrorKind::Interrupted => {}
                Ok(read) => {
                    buffer.advance(read?);
                    return Poll::Ready(Ok(()));
                }
                Err(_would_wait) => {}
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        loop {
            let mut ready = ready!(self.0.poll_write_ready(context))?;
            match ready.try_io(|socket| Ok(rustix::net::send(socket, bytes, flags)?)) {
                Ok(Err(fault)) if fault.kind() == io::ErrorKind::Interrupted => {}
                Ok(written) => return Poll::Ready(written),
                Err(_would_wait) => {}
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Does nothing: who shares the socket may have more to say.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, socketpair};
    use rustix::pipe::pipe;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn pair() -> (OwnedFd, OwnedFd) {
        let flags = SocketFlags::CLOEXEC;
        socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap()
    }

    fn waits(stream: &OwnedFd) -> bool {
        let flags = rustix::fs::fcntl_getfl(stream).unwrap();
        !flags.contains(OFlags::NONBLOCK)
    }

    #[tokio::test]
    async fn bytes_pass_and_who_shares_a_stream_goes_on_waiting() {
        for (from, to) in [pipe().unwrap(), pair()] {
            let mut reader = input(fresh(from.as_fd(), Flow::In).unwrap()).unwrap();
            let mut writer = output(fresh(to.as_fd(), Flow::Out).unwrap()).unwrap();
            // More than either holds: both have to wait.
            let sent: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
            let copy = sent.clone();
            let writing = tokio::spawn(async move { writer.write_all(&copy).await });
            let mut read = vec![0; sent.len()];
            reader.read_exact(&mut read).await.unwrap();
            assert!(read == sent);
            writing.await.unwrap().unwrap();
            assert!(waits(&from) && waits(&to));
            drop(to);
            assert_eq!(reader.read(&mut read).await.unwrap(), 0);
        }
    }

    #[tokio::test]
    async fn a_stream_whose_other_end_is_gone_takes_nothing() {
        for (from, to) in [pipe().unwrap(), pair()] {
            let mut writer = output(fresh(to.as_fd(), Flow::Out).unwrap()).unwrap();
            drop(from);
            let wrote = writer.write_all(b"{}").await;
            assert_eq!(wrote.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        }
    }

    #[test]
    fn what_has_no_end_to_wait_for_is_left_alone() {
        let file = File::open("/dev/null").unwrap();
        let datagram = std::os::unix::net::UnixDatagram::unbound().unwrap();
        for stream in [file.as_fd(), datagram.as_fd()] {
            let taken = fresh(stream, Flow::In);
            assert_eq!(taken.unwrap_err().kind(), io::ErrorKind::Unsupported);
        }
    }
}
