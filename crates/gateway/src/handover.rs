//! Streams that the bridge of `mcpproxy stdio` hands over: the gateway then reads and writes the
//! agent's pipes itself, and a call does not pass through the bridge's process.
//!
//! What is said on the Unix socket, after the upgrade, one byte each:
//!
//! 1. the gateway: [`READY`]. Only now are descriptors sent: a plain read, as the HTTP server that
//!    had the socket before makes them, would lose them.
//! 2. the bridge: any byte, with its standard input and output as [`SCM_RIGHTS`].
//! 3. the gateway: [`TAKEN`], or [`REFUSED`]; then the socket carries lines, as after the upgrade
//!    [`LINES`].
//! 4. the gateway, once the input has ended and everything is answered: [`ENDED`]. A socket that
//!    closes without it tells the bridge that the gateway has gone, and one that the bridge closes
//!    tells the gateway that the agent ended the bridge.
//!
//! [`SCM_RIGHTS`]: https://man7.org/linux/man-pages/man7/unix.7.html

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::Principal;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::UnixStream;

use crate::gateway::Gateway;
use crate::lines::{self, End};
use crate::patience::Patient;
use crate::settings::RoutingMode;
use crate::standard::{self, Input, Output};

/// The name under which a connection is turned into the line door.
pub const LINES: &str = "mcp-lines";
/// The name under which streams are handed over.
pub const STREAMS: &str = "mcp-streams";
/// Descriptors may be sent.
pub const READY: u8 = b'?';
/// The streams are the gateway's now.
pub const TAKEN: u8 = b'+';
/// The streams are of no use to the gateway.
pub const REFUSED: u8 = b'-';
/// The input has ended, and everything is answered.
pub const ENDED: u8 = b'.';

/// Without it, a child that is started at this moment would inherit the agent's streams.
#[cfg(target_os = "linux")]
const RECEIVE: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const RECEIVE: RecvFlags = RecvFlags::empty();

/// Sends standard input and output, in this order.
pub fn send(socket: BorrowedFd<'_>, streams: &[BorrowedFd<'_>; 2]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(streams)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let byte = [IoSlice::new(&[READY])];
    sendmsg(socket, &byte, &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Serves the streams that a bridge hands over, until their input ends or the bridge does.
pub(crate) async fn serve(
    gateway: Arc<Gateway>,
    who: Principal,
    mode: RoutingMode,
    mut socket: UnixStream,
) {
    let limits = gateway.active().settings.limits.clone();
    let patience: Duration = limits.write_timeout.into();
    let asking = tokio::time::timeout(limits.header_timeout.into(), ask(&mut socket));
    let streams = match asking
        .await
        .map_err(|_| io::ErrorKind::TimedOut.into())
        .flatten()
    {
        Ok(streams) => streams,
        Err(fault) => return tracing::debug!("no streams were handed over: {fault}"),
    };
    let Some((input, output)) = streams else {
        let (input, output) = tokio::io::split(Patient::new(socket, patience));
        lines::serve(gateway, who, mode, input, output).await;
        return;
    };
    let (mut bridge, mut told) = socket.into_split();
    let gone = async move {
        // It says nothing more: whatever comes is its end.
        drop(bridge.read(&mut [0]).await);
    };
    let output = Patient::new(output, patience);
    let end = lines::serve_until(gateway, who, mode, input, output, gone).await;
    if end == End::Input {
        drop(told.write_all(&[ENDED]).await);
    }
}

/// Asks for the streams and says whether they can be used; if not, returns nothing.
async fn ask(socket: &mut UnixStream) -> io::Result<Option<(Input, Output)>> {
    socket.write_all(&[READY]).await?;
    let received = socket
        .async_io(Interest::READABLE, || receive(socket))
        .await?;
    let taken = match received {
        [Some(input), Some(output)] => standard::input(input)
            .and_then(|input| Ok((input, standard::output(output)?)))
            .inspect_err(|fault| tracing::debug!("cannot use an agent's streams: {fault}"))
            .ok(),
        _ => None,
    };
    let said = if taken.is_some() { TAKEN } else { REFUSED };
    socket.write_all(&[said]).await?;
    Ok(taken)
}

/// Receives descriptors. What is more than two is closed by the system.
fn receive(socket: &UnixStream) -> io::Result<[Option<OwnedFd>; 2]> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let read = recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut byte)],
        &mut control,
        RECEIVE,
    )?;
    if read.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut streams = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(streams) => streams.collect(),
        _ => Vec::new(),
    });
    Ok([streams.next(), streams.next()])
}
