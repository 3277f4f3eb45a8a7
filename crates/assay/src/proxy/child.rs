//! The upstream's process: a group of its own, ended with everything it started, and a watcher
//! that ends it should the proxy be killed.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::args::PEPPER;

/// How long a group has after SIGTERM.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// A started upstream.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) group: Group,
    child: Child,
    watcher: Option<Child>,
}

/// The process group of an upstream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group(Pid);

impl Group {
    /// Sends a signal to every process of the group.
    pub(super) fn signal(self, signal: Signal) {
        // A group that is gone already is what we want; there is nobody to tell of anything else.
        let _gone: Result<(), Errno> = kill_process_group(self.0, signal);
    }
}

/// How an upstream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With code zero.
    Well,
    /// With another code, or by a signal.
    Badly,
}

/// Starts the upstream. Its standard error is the proxy's own, byte for byte.
pub(super) fn start(command: &[OsString]) -> io::Result<Upstream> {
    let (program, args) = command.split_first().ok_or(ErrorKind::InvalidInput)?;
    let mut child = Command::new(program)
        .args(args)
        // Whoever has it can check guesses at the values behind the hashes.
        .env_remove(PEPPER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let group = Group(Pid::from_child(&child));
    let pipes = child.stdin.take().zip(child.stdout.take());
    let (stdin, stdout) = pipes.ok_or(ErrorKind::BrokenPipe)?;
    let watcher = watcher(group).ok();
    Ok(Upstream {
        stdin,
        stdout,
        group,
        child,
        watcher,
    })
}

/// Starts a process that outlives a killed proxy and ends the group for it.
fn watcher(group: Group) -> io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .arg("watch")
        .arg(group.0.as_raw_nonzero().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

/// Waits for the upstream, in a thread of the caller's: sweeps its group, then reaps it.
///
/// The sweep comes before the reaping: until then the group's number cannot be given to another.
pub(super) fn wait(mut child: Child, group: Group, watcher: Option<Child>) -> Ended {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(Errno::INTR) = waitid(WaitId::Pid(group.0), options) {}
    group.signal(Signal::KILL);
    if let Some(mut watcher) = watcher {
        // It has nothing to watch any more, and must not end a group that gets the same number.
        drop(watcher.kill());
        drop(watcher.wait());
    }
    let status = child.wait();
    match status {
        Ok(status) if well(status) => Ended::Well,
        Ok(_) | Err(_) => Ended::Badly,
    }
}

fn well(status: ExitStatus) -> bool {
    status.success() && status.signal().is_none()
}

impl Upstream {
    /// Takes the upstream apart: its pipes, its group, and what [`wait`] needs.
    pub(super) fn split(self) -> (ChildStdin, ChildStdout, Group, Child, Option<Child>) {
        (
            self.stdin,
            self.stdout,
            self.group,
            self.child,
            self.watcher,
        )
    }
}

/// Ends a group once the last writer to standard input is gone; the command `watch`.
pub(crate) fn watch(group: i32) -> ExitCode {
    let Some(group) = Pid::from_raw(group).filter(|pid| pid.as_raw_nonzero().get() > 1) else {
        return ExitCode::FAILURE;
    };
    let input = io::stdin();
    loop {
        let mut watched = [PollFd::new(&input, PollFlags::empty())];
        match poll(&mut watched, None) {
            Ok(_) if watched.iter().any(|one| !one.revents().is_empty()) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    Group(group).signal(Signal::TERM);
    thread::sleep(GRACE);
    Group(group).signal(Signal::KILL);
    ExitCode::SUCCESS
}
