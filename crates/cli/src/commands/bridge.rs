//! `stdio`: connects an agent that knows only stdio to the running gateway, or runs one of its own.
//!
//! To a running gateway, the bridge hands its standard streams over and only waits; where that
//! cannot be, it passes bytes on.

mod streams;

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

use anyhow::Result;
use mcpproxy_core::Principal;
use mcpproxy_gateway::settings::RoutingMode;
use mcpproxy_gateway::{handover, lines};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::args::{Global, Mode, Stdio};
use crate::commands::{client, serve};
use crate::daemon::{Daemon, configuration, flags};
use crate::exit::{Exit, failed};
use crate::{logging, output};

/// Bytes passed on in one go at most.
const PIECE: usize = 64 * 1024;
/// What is said when the gateway has gone before the agent.
const GATEWAY_ENDED: &str = "the gateway ended the connection";
/// What is said when the gateway does not let the agent in.
const HUNG_UP: &str = "the gateway hung up";
/// The longest head with which the gateway may answer.
const LONGEST_HEAD: usize = 16 * 1024;

/// Serves standard input and output.
pub(crate) fn run(global: &Global, stdio: &Stdio) -> Result<Exit> {
    if stdio.standalone {
        // One agent, one thread: more would hand its calls to each other.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let ended = runtime.block_on(standalone(global, stdio.mode));
        // A read of standard input cannot be given up; the process ends without waiting for it.
        runtime.shutdown_background();
        return ended;
    }
    bridge(global, stdio.mode)
}

async fn standalone(global: &Global, mode: Option<Mode>) -> Result<Exit> {
    let flags = flags(global, None);
    let loaded = configuration(&flags)?;
    let level = logging::start(&loaded.config.gateway.log);
    let daemon = Daemon::start(flags, loaded).await?;
    daemon.files.log_with(level);
    let settings = &daemon.loaded.config.gateway;
    let mode = match mode {
        Some(Mode::Call) => RoutingMode::Call,
        Some(Mode::All) => RoutingMode::All,
        None => settings.routing_mode,
    };
    let gateway = std::sync::Arc::clone(&daemon.gateway);
    let who = Principal::local();
    let served = lines::serve(gateway, who, mode, streams::input(), streams::output());
    tokio::pin!(served);
    tokio::select! {
        _ended = &mut served => {}
        () = serve::until_told()? => {
            daemon.gateway.stop();
            served.await;
        }
    }
    let grace = daemon.gateway.active().settings.limits.shutdown_grace;
    daemon.gateway.fleet.retire(grace.into()).await;
    daemon.finish().await;
    Ok(Exit::Fine)
}

fn bridge(global: &Global, mode: Option<Mode>) -> Result<Exit> {
    let path = match mode {
        None => "/mcp",
        Some(Mode::Call) => "/mcp/call",
        Some(Mode::All) => "/mcp/all",
    };
    let own = streams::own();
    let offer = if own.is_some() {
        Offer::Streams
    } else {
        Offer::Lines
    };
    let (mut stream, mut early, taken) = open(&client::socket(global), path, offer)?;
    if let (Some((input, output)), Offer::Streams) = (own, taken) {
        let hung_up = |_: io::Error| failed(HUNG_UP, None);
        let mut said = [0];
        // That it is ready may have come with the head.
        if early.is_empty() {
            stream.read_exact(&mut said).map_err(hung_up)?;
        }
        early.clear();
        handover::send(stream.as_fd(), &[input.as_fd(), output.as_fd()]).map_err(hung_up)?;
        stream.read_exact(&mut said).map_err(hung_up)?;
        if said == [handover::TAKEN] {
            return wait_for_end(stream);
        }
    }
    relay(&stream, &early)
}

/// Waits until the gateway is done with the agent's streams. They stay open here, too: should the
/// gateway die, this process says so before the agent finds them closed.
fn wait_for_end(mut stream: UnixStream) -> Result<Exit> {
    if stream.read_exact(&mut [0]).is_ok() {
        return Ok(Exit::Fine);
    }
    let stdout = io::stdout();
    let mut output = [PollFd::new(&stdout, PollFlags::empty())];
    let gone = PollFlags::ERR | PollFlags::HUP;
    poll(&mut output, Some(&Timespec::default()))?;
    if output
        .iter()
        .any(|output| output.revents().intersects(gone))
    {
        return Err(io::Error::from(io::ErrorKind::BrokenPipe).into());
    }
    output::note(GATEWAY_ENDED);
    Ok(Exit::Fine)
}

/// Copies bytes between the standard streams and the gateway's line door, one thread for each
/// direction: a call passes here twice, and a runtime would hand it to other threads each time.
fn relay(stream: &UnixStream, early: &[u8]) -> Result<Exit> {
    let to = stream.try_clone()?;
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    // It may wait for input for ever; the process ends without it.
    let sending = thread::spawn(move || {
        let passed = pass(input, &to);
        // The gateway answers what is in flight and closes; until then answers are passed on.
        drop(to.shutdown(Shutdown::Write));
        passed
    });
    output.write_all(early)?;
    match pass(stream, output) {
        // What the gateway had not read yet when it stopped resets the connection; everything that
        // it said was passed on by then.
        Err(fault) if fault.kind() == io::ErrorKind::ConnectionReset => {}
        passed => passed?,
    }
    // What the agent says while the gateway goes cannot be passed on: that is no end of its input.
    let input_ended = sending.is_finished() && matches!(sending.join(), Ok(Ok(())));
    if !input_ended {
        output::note(GATEWAY_ENDED);
    }
    Ok(Exit::Fine)
}

/// What the line door is asked to work with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Offer {
    /// The agent's own streams.
    Streams,
    /// Lines on the connection.
    Lines,
}

/// Connects to the line door. Returns the connection, what came with the answer's head, and what
/// the gateway chose.
fn open(socket: &Path, path: &str, offer: Offer) -> Result<(UnixStream, Vec<u8>, Offer)> {
    let mut stream =
        UnixStream::connect(socket).map_err(|fault| client::no_gateway(socket, &fault))?;
    let streams = match offer {
        // A gateway that knows only lines looks at the first upgrade and takes that.
        Offer::Streams => format!("upgrade: {}\r\n", handover::STREAMS),
        Offer::Lines => String::new(),
    };
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: {}\r\n{streams}\r\n",
        handover::LINES,
    );
    stream.write_all(head.as_bytes())?;
    let mut answer = Vec::new();
    let mut piece = [0; 1024];
    let end = loop {
        if let Some(at) = answer.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        let read = stream.read(&mut piece)?;
        answer.extend_from_slice(piece.get(..read).unwrap_or_default());
        if read == 0 || answer.len() > LONGEST_HEAD {
            return Err(failed(HUNG_UP, None));
        }
    };
    let early = answer.split_off(end);
    let head = String::from_utf8_lossy(&answer);
    let status = head.lines().next().unwrap_or_default();
    if !status.starts_with("HTTP/1.1 101") {
        let message = format!("the gateway answered `{status}`");
        return Err(failed(message, Some("is it of the same version?")));
    }
    let chosen = format!("upgrade: {}", handover::STREAMS);
    let taken = if head.lines().any(|line| line.eq_ignore_ascii_case(&chosen)) {
        Offer::Streams
    } else {
        Offer::Lines
    };
    Ok((stream, early, taken))
}

/// Passes bytes on as they come, until there are no more. Whoever started the bridge may have set
/// its streams not to wait.
fn pass(mut from: impl Read + AsFd, mut to: impl Write + AsFd) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let read = match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => continue,
            Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => {
                wait(&from, PollFlags::IN)?;
                continue;
            }
            Err(fault) => return Err(fault),
        };
        let mut rest = piece.get(..read).unwrap_or_default();
        while !rest.is_empty() {
            match to.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
                Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => {
                    wait(&to, PollFlags::OUT)?;
                }
                Err(fault) => return Err(fault),
            }
        }
    }
}

fn wait(stream: &impl AsFd, until: PollFlags) -> io::Result<()> {
    match poll(&mut [PollFd::new(stream, until)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(fault) => Err(fault.into()),
    }
}
