//! `cargo xtask bench`: the gateway beside what it can be compared with, in one run.
//!
//! Every contestant is a process of its own. Each cell (payload and concurrency) goes round all
//! contestants before the next, several rounds long, and medians are reported, since the machine
//! is never quiet. Times are shown, never asserted; a wrong answer fails the run.

pub(crate) mod bare;
mod component;
mod contestant;
pub(crate) mod echo;
mod hook;
pub(crate) mod load;
pub(crate) mod measure;
mod notary;
pub(crate) mod relay;
mod report;
mod stats;
mod stdio;
mod targets;
mod wire;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Subcommand;
use tempfile::TempDir;

use self::contestant::{Contestant, Programs, Running};
use self::load::FAULT_LIMIT;
use self::measure::Cell;
use self::report::Report;
use crate::Outcome;
use crate::workspace::{self, Profile};

const PAYLOADS: [usize; 3] = [256, 1024, 64 * 1024];
const CONNECTIONS: [u32; 3] = [1, 16, 64];
/// Enough calls for any percentile; the run never makes more than this in one cell.
const CELL_CALLS: u32 = 400_000;

/// Arguments of `cargo xtask bench`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Measures the programs in this folder, where `cargo xtask dist` left them, say
    #[arg(long, value_name = "DIR", global = true)]
    programs: Option<PathBuf>,
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand, Debug)]
enum Bench {
    /// Calls of an echo tool: direct, through bare proxies, through mcpproxy and through peers
    Gateway {
        /// One short round, to see that it works
        #[arg(long)]
        quick: bool,
        /// Writes the figures as JSON, too
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// Texts through every detector, clean ones and those made to slow them down
    Detect {
        /// Only the texts whose name contains this
        word: Option<String>,
    },
    /// The activity log in SQLite and PostgreSQL: appends relaxed and strict, beside a bare commit, and pages
    Store {
        /// Fewer records, to see that it works
        #[arg(long)]
        quick: bool,
    },
    /// Readings and sendings through the flow tracker, with few and many origins
    Flow {
        /// Only `record`, `check` or `memory`
        word: Option<String>,
    },
    /// An agent's hook from spawn to exit, beside programs that do less, and evaluations a second
    Hook {
        /// A few runs, to see that it works
        #[arg(long)]
        quick: bool,
        /// Writes the figures as JSON, too
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// What native guards add to a call, and one and ten hooks: in process, webhook, gRPC, wasm
    Hooks,
    /// Calls through `assay mcp-proxy` and its peer, with and without a history in the folder
    Notary {
        /// A few calls and a short history, to see that it works
        #[arg(long)]
        quick: bool,
        /// Writes the figures as JSON, too
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// Calls over standard input and output: direct, through a bare relay and `mcpproxy stdio`
    Stdio {
        /// A few calls, to see that it works
        #[arg(long)]
        quick: bool,
        /// Writes the figures as JSON, too
        #[arg(long)]
        json: Option<PathBuf>,
    },
}

/// How long the bench runs.
#[derive(Clone, Copy, Debug)]
struct Effort {
    rounds: usize,
    cell: Duration,
}

/// Runs the chosen bench.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let given = arguments.programs.as_deref();
    match &arguments.bench {
        Bench::Gateway { quick, json } => {
            let effort = if *quick {
                Effort {
                    rounds: 1,
                    cell: Duration::from_millis(300),
                }
            } else {
                Effort {
                    rounds: 3,
                    cell: Duration::from_millis(1500),
                }
            };
            gateway(&build(given)?, effort, json.as_deref())
        }
        Bench::Detect { word } => crate_bench("detect", word.as_deref()),
        Bench::Store { quick } => crate_bench("store", quick.then_some("--quick")),
        Bench::Flow { word } => crate_bench("flow", word.as_deref()),
        Bench::Hook { quick, json } => {
            let runs = if *quick { 100 } else { 1_000 };
            let front = match given {
                Some(_) => hook::Front::Given,
                None => hook::Front::Built,
            };
            hook::run(&build(given)?, front, runs, json.as_deref())
        }
        Bench::Hooks => {
            let folder = TempDir::new().context("cannot create a temporary folder")?;
            let component = component::built(&workspace::root()?, folder.path())?;
            crate_bench("hooks", component.to_str())
        }
        Bench::Notary { quick, json } => {
            let (calls, history) = if *quick { (100, 1_000) } else { (500, 100_000) };
            let root = workspace::root()?;
            println!("building assay and xtask for release ...");
            let folder = workspace::build(&root, &["assay", "xtask"], Profile::Release)?;
            let assay = given.unwrap_or(&folder);
            notary::run(assay, &folder, calls, history, json.as_deref())
        }
        Bench::Stdio { quick, json } => {
            let calls = if *quick { 2_000 } else { 20_000 };
            stdio::run(&build(given)?, calls, json.as_deref())
        }
    }
}

/// Runs the bench of a crate itself: what is measured there is no process.
fn crate_bench(name: &str, word: Option<&str>) -> Result<Outcome> {
    let root = workspace::root()?;
    let mut bench = workspace::cargo(&root);
    // With the features of the whole workspace, as `workspace::build` says.
    bench.args(["bench", "--quiet", "--workspace", "--bench", name, "--"]);
    bench.args(word);
    let status = bench.status().context("cannot run cargo bench")?;
    Ok(if status.success() {
        Outcome::Clean
    } else {
        Outcome::Failed
    })
}

/// Builds what is measured, unless it is given, and what it is measured with.
fn build(given: Option<&Path>) -> Result<Programs> {
    let root = workspace::root()?;
    let packages: &[&str] = match given {
        Some(_) => &["xtask"],
        None => &["mcpproxy", "xtask"],
    };
    println!("building {} for release ...", packages.join(" and "));
    let folder = workspace::build(&root, packages, Profile::Release)?;
    Programs::find(given.unwrap_or(&folder), &folder)
}

fn gateway(programs: &Programs, effort: Effort, json: Option<&Path>) -> Result<Outcome> {
    let contestants = contestant::field(programs);
    let mut report = Report::default();
    for round in 1..=effort.rounds {
        println!("round {round} of {}", effort.rounds);
        run_round(programs, &contestants, effort, &mut report)?;
    }
    let summary = report.summarize();
    summary.print();
    if let Some(file) = json {
        let text = serde_json::to_string_pretty(&summary)?;
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(if summary.is_sound() {
        Outcome::Clean
    } else {
        Outcome::Failed
    })
}

fn run_round(
    programs: &Programs,
    contestants: &[Contestant],
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    let folder = TempDir::new().context("cannot create a temporary folder")?;
    let echo = contestant::start_echo(programs, folder.path())?;
    let mut running: Vec<(Contestant, Running)> = Vec::new();
    for contestant in contestants {
        match contestant.start(programs, folder.path(), echo.address()) {
            Ok(started) => {
                report.add_start(*contestant, started.start());
                running.push((*contestant, started));
            }
            Err(error) => report.add_absence(*contestant, &format!("{error:#}")),
        }
    }
    for payload in PAYLOADS {
        for connections in CONNECTIONS {
            let calls = CELL_CALLS / connections;
            let cell = Cell {
                payload,
                connections,
                calls,
                time: effort.cell,
                faults: FAULT_LIMIT,
            };
            // One that has stopped answering would hold up every cell that is left.
            running.retain(|(contestant, process)| {
                let measured = measure::run(programs, process, cell);
                report.add_measured(*contestant, cell, measured)
            });
        }
    }
    Ok(())
}
