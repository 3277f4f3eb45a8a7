//! The small process that stands between the gateway and a child, so that no child outlives the
//! gateway, not even one that is killed with SIGKILL.
//!
//! Supervisor and child share the read end of one pipe, whose only write end the gateway holds.
//! When that end closes, for whatever reason, the kernel tells the supervisor, which ends the
//! child's whole process group. No signal handler, no extra descriptor and no unsafe code.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// The exit code of a program that could not be started, as shells have it.
const NOT_STARTED: u8 = 127;

/// Runs `program` in a process group of its own and ends that group once standard input is closed
/// by its last writer: `grace` to end by itself, `grace` after SIGTERM, then SIGKILL.
///
/// Returns the program's own exit code.
pub fn supervise(program: &OsString, args: &[OsString], grace: Duration) -> ExitCode {
    let child = match Command::new(program).args(args).process_group(0).spawn() {
        Ok(child) => child,
        Err(fault) => {
            // Standard error is the ring that `upstream logs` shows.
            let line = format!("cannot start `{}`: {fault}\n", program.to_string_lossy());
            drop(std::io::stderr().write_all(line.as_bytes()));
            return ExitCode::from(NOT_STARTED);
        }
    };
    let group = Pid::from_child(&child);
    thread::spawn(move || {
        wait_for_hang_up();
        thread::sleep(grace);
        end(group, Signal::TERM);
        thread::sleep(grace);
        end(group, Signal::KILL);
    });
    finish(child, group)
}

fn end(group: Pid, signal: Signal) {
    // A group that is gone already is what we want; there is nobody to tell of anything else.
    let _gone: Result<(), Errno> = kill_process_group(group, signal);
}

/// Waits until nobody can write to standard input any more, whether or not it was read to its end.
fn wait_for_hang_up() {
    let input = std::io::stdin();
    loop {
        let mut watched = [PollFd::new(&input, PollFlags::empty())];
        match poll(&mut watched, None) {
            Ok(_) if watched.iter().any(|one| !one.revents().is_empty()) => return,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Waits for the child, sweeps what it left in its group, then reaps it.
///
/// The sweep comes before the reaping: until then the group's number cannot be given to another.
fn finish(mut child: std::process::Child, group: Pid) -> ExitCode {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(Errno::INTR) = waitid(WaitId::Pid(group), options) {}
    end(group, Signal::KILL);
    let code = child.wait().ok().and_then(|status| status.code());
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
