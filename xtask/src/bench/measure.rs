//! Runs the load generator against one contestant and watches the contestant meanwhile.

use std::fs;
use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::contestant::{Programs, Running};
use super::load::Measured;
use crate::process::resident_kb;

const WATCH_EVERY: Duration = Duration::from_millis(20);
/// What the generator may take beyond its time: connecting, warming up, calls that hang.
const ALLOWANCE: Duration = Duration::from_secs(30);

/// One combination of payload and concurrency.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) payload: usize,
    pub(crate) connections: u32,
    pub(crate) calls: u32,
    pub(crate) time: Duration,
    /// After how many failed calls a connection gives up.
    pub(crate) faults: u32,
}

/// One cell of one contestant in one round.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) load: Measured,
    pub(super) cpu_us: f64,
    pub(super) resident_kb: u32,
}

/// Measures one cell.
pub(super) fn run(programs: &Programs, running: &Running, cell: Cell) -> Result<Sample> {
    let before = cpu_ticks(running.id())?;
    let mut child = generator(&programs.xtask, running.address(), cell)
        .args(["--path", running.path(), "--tool", running.tool()])
        .spawn()
        .context("cannot start the load generator")?;
    let deadline = Instant::now() + cell.time + ALLOWANCE;
    let mut peak = 0;
    // The generator prints less than a pipe holds, so it never waits for this loop to read.
    while child.try_wait()?.is_none() {
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            bail!("the load generator did not end in time");
        }
        peak = peak.max(resident_kb(running.id())?);
        thread::sleep(WATCH_EVERY);
    }
    let ticks = cpu_ticks(running.id())? - before;
    let mut text = String::new();
    child
        .stdout
        .take()
        .context("no output")?
        .read_to_string(&mut text)?;
    let load: Measured = serde_json::from_str(&text).context("the load generator failed")?;
    let cpu_us = micros_per_call(ticks, load.all_calls);
    Ok(Sample {
        load,
        cpu_us,
        resident_kb: peak,
    })
}

/// Returns the load generator as a command; what it saw is printed as JSON.
pub(crate) fn generator(xtask: &Path, address: SocketAddr, cell: Cell) -> Command {
    let mut command = Command::new(xtask);
    command
        .arg("load")
        .arg(address.to_string())
        .args(["--connections", &cell.connections.to_string()])
        .args(["--payload", &cell.payload.to_string()])
        .args(["--milliseconds", &cell.time.as_millis().to_string()])
        .args(["--calls", &cell.calls.to_string()])
        .args(["--faults", &cell.faults.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

fn cpu_ticks(id: u32) -> Result<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat"))
        .with_context(|| format!("process {id} has ended"))?;
    parse_ticks(&stat).context("cannot read the times of a process")
}

/// Sums user and system time. The name of the program may hold blanks and brackets, so fields are
/// counted from its closing bracket.
fn parse_ticks(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some(user + system)
}

fn micros_per_call(ticks: u32, calls: u32) -> f64 {
    let per_second = u32::try_from(rustix::param::clock_ticks_per_second()).unwrap_or(100);
    f64::from(ticks) / f64::from(per_second) * 1e6 / f64::from(calls.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_tables_are_read() {
        let stat = "42 (a b) c) S 1 42 42 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 3 0 1 2";
        assert_eq!(parse_ticks(stat), Some(300));
        assert_eq!(parse_ticks("42 (a) S 1"), None);
    }
}
