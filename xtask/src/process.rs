//! Child processes that never outlive their owner, and waits that always end.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

const POLL: Duration = Duration::from_millis(5);
const GRACE: Duration = Duration::from_secs(3);

/// A child that is stopped when it goes out of scope: asked first, then killed.
#[derive(Debug)]
pub(crate) struct Guarded {
    name: String,
    child: Child,
}

impl Guarded {
    /// Starts `command`; its stdout and stderr go to the file `log`.
    ///
    /// The child's stdin is a pipe that closes when we die, however we die: our own hidden
    /// programs end when they see that.
    pub(crate) fn start(name: &str, command: &mut Command, log: &Path) -> Result<Self> {
        let file = File::create(log).with_context(|| format!("cannot create {}", log.display()))?;
        let errors = file.try_clone().context("cannot share the log file")?;
        let child = command
            .stdin(Stdio::piped())
            .stdout(file)
            .stderr(errors)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        Ok(Self {
            name: name.to_owned(),
            child,
        })
    }

    /// Returns the id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Fails if the process has ended by itself.
    pub(crate) fn check_alive(&mut self) -> Result<()> {
        match self
            .child
            .try_wait()
            .context("cannot ask for the state of a child")?
        {
            Some(status) => bail!("{} ended early: {status}", self.name),
            None => Ok(()),
        }
    }

    /// Kills the process at once, without asking it to stop.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.child
            .kill()
            .with_context(|| format!("cannot kill {}", self.name))?;
        self.child
            .wait()
            .with_context(|| format!("cannot reap {}", self.name))?;
        Ok(())
    }

    fn stop(&mut self) -> Result<()> {
        if self.child.try_wait()?.is_some() {
            return Ok(());
        }
        signal(self.child.id(), Signal::TERM)?;
        if wait_for(GRACE, || Ok(self.child.try_wait()?.is_some()))? {
            return Ok(());
        }
        self.kill()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            println!("warning: {} may still run: {error:#}", self.name);
        }
    }
}

/// Sends `signal` to the process `id`.
pub(crate) fn signal(id: u32, signal: Signal) -> Result<()> {
    let pid = i32::try_from(id)
        .ok()
        .and_then(Pid::from_raw)
        .context("not a process id")?;
    kill_process(pid, signal).with_context(|| format!("cannot signal process {id}"))
}

/// Returns the resident memory of a process in KiB.
pub(crate) fn resident_kb(id: u32) -> Result<u32> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))
        .with_context(|| format!("process {id} has ended"))?;
    parse_resident(&status).context("no VmRSS in the status of a process")
}

fn parse_resident(status: &str) -> Option<u32> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Asks `done` again and again until it says yes (`true`) or `limit` has passed (`false`).
pub(crate) fn wait_for(limit: Duration, mut done: impl FnMut() -> Result<bool>) -> Result<bool> {
    let deadline = Instant::now() + limit;
    loop {
        if done()? {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        thread::sleep(POLL);
    }
}

/// Runs `command` to its end, or kills it when `limit` has passed.
pub(crate) fn run_bounded(
    name: &str,
    command: &mut Command,
    limit: Duration,
) -> Result<ExitStatus> {
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start {name}"))?;
    let mut status = None;
    let ended = wait_for(limit, || {
        status = child.try_wait()?;
        Ok(status.is_some())
    });
    if let (Ok(true), Some(status)) = (&ended, status) {
        return Ok(status);
    }
    child
        .kill()
        .with_context(|| format!("cannot kill {name}"))?;
    child
        .wait()
        .with_context(|| format!("cannot reap {name}"))?;
    ended?;
    bail!("{name} did not end within {} s", limit.as_secs())
}

/// Finds a free port on loopback. Another process may take it before it is used; the start that
/// follows then fails with a message, it does not hang.
pub(crate) fn free_address() -> Result<SocketAddr> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on loopback")?;
    listener
        .local_addr()
        .context("cannot read the address of a listener")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_process_is_read() {
        let status = "VmHWM:\t 9 kB\nVmRSS:\t    1234 kB\n";
        assert_eq!(parse_resident(status), Some(1234));
        assert_eq!(parse_resident("Name: x"), None);
    }
}
