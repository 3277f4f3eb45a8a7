//! `cargo xtask soak`: one hard case, many times.
//!
//! `kill` kills the gateway with SIGKILL, which it cannot see coming, and looks for upstream
//! processes that it left behind. `crowd` fills it with idle sessions and tools. `notary` kills the
//! recording proxy and looks for what is missing. `steady` keeps it busy and looks for what grows,
//! then asks twice of it what it takes.

mod crowd;
mod notary;
mod steady;

use std::env;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::Outcome;
use crate::gateway::{Gateway, Routing, Upstream};
use crate::probe::Probe;
use crate::process::{signal, wait_for};
use crate::workspace::{self, Profile};

/// How long an upstream process may outlive a killed gateway.
const LINGER_LIMIT: Duration = Duration::from_secs(15);
const START_LIMIT: Duration = Duration::from_mins(1);
const UPSTREAMS: usize = 2;
/// Every so many kills one comes while the gateway is still starting its upstreams.
const EARLY_EVERY: usize = 4;
const PROGRESS_EVERY: usize = 50;

/// Arguments of `cargo xtask soak`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    case: Case,
}

#[derive(Subcommand, Debug)]
enum Case {
    /// Kills the gateway again and again and counts the upstream processes left behind
    Kill {
        /// How often to kill
        #[arg(long, default_value_t = 1000)]
        count: usize,
        /// How many gateways are killed at the same time
        #[arg(long, default_value_t = 16)]
        at_once: usize,
    },
    /// Kills the recording proxy under load and looks for receipts and packs that are missing
    Notary {
        /// How often to kill
        #[arg(long, default_value_t = 1000)]
        count: u64,
    },
    /// Keeps the gateway busy for a while, watches memory and descriptors, then overloads it
    Steady {
        /// How many minutes
        #[arg(long, default_value_t = 10)]
        minutes: u32,
    },
    /// Opens many idle sessions before many tools and says how much memory that takes
    Crowd {
        /// How many sessions
        #[arg(long, default_value_t = 10_000)]
        sessions: u32,
        /// How many tools
        #[arg(long, default_value_t = 10_000)]
        tools: u32,
    },
}

/// Runs the chosen case.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    match arguments.case {
        Case::Kill { count, at_once } => kill_many(count, at_once),
        Case::Notary { count } => notary::run(count),
        Case::Steady { minutes } => steady::run(minutes),
        Case::Crowd { sessions, tools } => crowd::run(sessions, tools),
    }
}

fn kill_many(count: usize, at_once: usize) -> Result<Outcome> {
    let programs = workspace::build(&workspace::root()?, &["mcpproxy"], Profile::Debug)?;
    let program = programs.join("mcpproxy");
    let tally = Tally::default();
    let begun = Instant::now();
    // A kill is mostly waiting for a stubborn upstream's time to run out, so many share the wait.
    thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once.max(1))
            .map(|_| scope.spawn(|| tally.work(&program, count, begun)))
            .collect();
        let join = |worker: thread::ScopedJoinHandle<'_, Result<()>>| {
            worker.join().unwrap_or_else(|_| bail!("a worker panicked"))
        };
        workers.into_iter().try_for_each(join)
    })?;
    Ok(if tally.orphans.load(Relaxed) == 0 {
        Outcome::Clean
    } else {
        Outcome::Failed
    })
}

/// What all workers have done together.
#[derive(Default)]
struct Tally {
    begun: AtomicUsize,
    done: AtomicUsize,
    seen: AtomicUsize,
    orphans: AtomicUsize,
}

impl Tally {
    /// Kills until `count` kills are begun.
    fn work(&self, program: &Path, count: usize, begun: Instant) -> Result<()> {
        loop {
            let round = self.begun.fetch_add(1, Relaxed) + 1;
            if round > count {
                return Ok(());
            }
            let early = round.is_multiple_of(EARLY_EVERY);
            let marker = format!("soak-{}-{round}-", std::process::id());
            let seen =
                kill_once(program, &marker, early).with_context(|| format!("kill {round}"))?;
            let seen = self.seen.fetch_add(seen, Relaxed) + seen;
            let orphans = sweep(&marker)?;
            let orphans = self.orphans.fetch_add(orphans, Relaxed) + orphans;
            let done = self.done.fetch_add(1, Relaxed) + 1;
            if done.is_multiple_of(PROGRESS_EVERY) || done == count {
                let seconds = begun.elapsed().as_secs();
                println!(
                    "{done}/{count} kills, {seen} upstream processes seen, {orphans} orphans, {seconds} s"
                );
            }
        }
    }
}

/// Starts a gateway, kills it, and returns how many upstream processes it had by then.
fn kill_once(program: &Path, marker: &str, early: bool) -> Result<usize> {
    let folder = TempDir::new().context("cannot create a temporary folder")?;
    let upstreams = [
        ("obedient", upstream(marker, &[])?),
        // It stays when its stdin closes, so only the gateway's own care can end it.
        ("stubborn", upstream(marker, &["--stubborn"])?),
    ];
    let mut gateway = Gateway::spawn(program, folder.path(), Routing::All, &upstreams)?;
    if early {
        wait_for(START_LIMIT, || {
            gateway.process().check_alive()?;
            Ok(!marked(marker)?.is_empty())
        })?;
    } else {
        gateway.wait_healthy()?;
        list_tools(&gateway);
        if !wait_for(START_LIMIT, || Ok(marked(marker)?.len() >= UPSTREAMS))? {
            bail!("the gateway did not start its {UPSTREAMS} upstreams in time");
        }
    }
    let seen = marked(marker)?.len();
    gateway.process().kill()?;
    Ok(seen)
}

fn upstream(marker: &str, extra: &[&str]) -> Result<Upstream> {
    let program = env::current_exe().context("cannot find the program itself")?;
    let mut arguments = vec![
        "echo-stdio".to_owned(),
        "--marker".to_owned(),
        marker.to_owned(),
    ];
    arguments.extend(extra.iter().map(|argument| (*argument).to_owned()));
    Ok(Upstream::Stdio { program, arguments })
}

/// Asks for the tools once, so that upstreams that start at first use are started.
fn list_tools(gateway: &Gateway) {
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    // Whether the upstreams run is seen in the process table, not in this answer.
    if let Some(probe) = Probe::open(gateway.address(), "/mcp") {
        drop(probe.request(list, "tools"));
    }
}

/// Waits until no marked process is left; ends and counts those that stay.
fn sweep(marker: &str) -> Result<usize> {
    if wait_for(LINGER_LIMIT, || Ok(marked(marker)?.is_empty()))? {
        return Ok(0);
    }
    let left = marked(marker)?;
    for id in &left {
        println!("orphan: process {id}");
        signal(*id, Signal::KILL)?;
    }
    Ok(left.len())
}

/// Finds the processes whose command line has the marker in it.
fn marked(marker: &str) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").context("cannot list the processes")? {
        let path = entry?.path();
        let id = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.parse().ok());
        // A process may end between the listing and the reading; a dead one has no command line.
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        if let Some(id) = id
            && memchr::memmem::find(&line, marker.as_bytes()).is_some()
        {
            found.push(id);
        }
    }
    Ok(found)
}
