//! The standard streams, in a form that the runtime can wait for.
//!
//! Tokio's own hand every read and every write to another thread, which takes longer than a call
//! does in the gateway; they serve here where nothing better fits, as for terminals and files.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Standard input.
pub(super) type Input = Box<dyn AsyncRead + Send + Unpin>;
/// Standard output.
pub(super) type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Returns standard input.
pub(super) fn input() -> Input {
    // A pipe that is opened anew does not wait, and who shares the old one notices nothing.
    if let Ok(pipe) = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0") {
        return Box::new(pipe);
    }
    match socket(io::stdin().as_fd()) {
        Ok(socket) => Box::new(socket),
        Err(_) => Box::new(tokio::io::stdin()),
    }
}

/// Returns standard output.
pub(super) fn output() -> Output {
    if let Ok(pipe) = pipe::OpenOptions::new().open_sender("/proc/self/fd/1") {
        return Box::new(pipe);
    }
    match socket(io::stdout().as_fd()) {
        Ok(socket) => Box::new(socket),
        Err(_) => Box::new(tokio::io::stdout()),
    }
}

/// Takes a stream as a socket, which is what agents written in Node give their children.
fn socket(stream: BorrowedFd<'_>) -> io::Result<UnixStream> {
    let (stream, meta) = looked_at(stream)?;
    let (_, errors) = looked_at(io::stderr().as_fd())?;
    // A socket cannot be opened anew: whoever shares it does not wait any more either, and the log
    // must be able to.
    if !meta.file_type().is_socket() || (meta.dev(), meta.ino()) == (errors.dev(), errors.ino()) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let socket = std::os::unix::net::UnixStream::from(stream);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

fn looked_at(stream: BorrowedFd<'_>) -> io::Result<(OwnedFd, std::fs::Metadata)> {
    let file = File::from(stream.try_clone_to_owned()?);
    let meta = file.metadata()?;
    Ok((file.into(), meta))
}
