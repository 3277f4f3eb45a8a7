//! `cargo xtask conformance`: the official suite, directly and through the gateway.
//!
//! What counts is the difference: a check that passes without the gateway and not with it. The
//! suite's own verdict on the Python SDK is not ours to judge.

mod compare;
pub(crate) mod shim;
mod suite;

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::ValueEnum;
use tempfile::TempDir;

use self::compare::{Comparison, Counting, Results};
use self::suite::Suite;
use crate::workspace::{self, Profile};
use crate::{Outcome, tools};

/// Scenarios of the suite's client side that test OAuth between a client and its server.
const AUTH: &str = "auth/";

/// Arguments of `cargo xtask conformance`.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct Arguments {
    /// Which era of the protocol to run
    #[arg(long, value_enum, default_value_t)]
    era: EraChoice,
    /// Runs the suite without the gateway only, to see the figures to compare with
    #[arg(long)]
    direct_only: bool,
    /// Uses a release build of the gateway
    #[arg(long)]
    release: bool,
}

#[derive(ValueEnum, Clone, Copy, Default, Debug)]
enum EraChoice {
    Legacy,
    Modern,
    #[default]
    Both,
}

/// An era by the protocol version that stands for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Era {
    Legacy,
    Modern,
}

impl Era {
    fn version(self) -> &'static str {
        match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        }
    }
}

/// Runs the suite for the chosen eras; fails on any new failure.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let gateway = build_gateway(arguments)?;
    let tools = tools::ready()?;
    let folder = TempDir::new().context("cannot create a temporary folder")?;
    let suite = Suite {
        tools: &tools,
        folder: folder.path(),
    };
    let eras: &[Era] = match arguments.era {
        EraChoice::Legacy => &[Era::Legacy],
        EraChoice::Modern => &[Era::Modern],
        EraChoice::Both => &[Era::Legacy, Era::Modern],
    };
    let mut new_failures = 0;
    for era in eras {
        new_failures += upstream_side(&suite, *era, gateway.as_deref())?;
        new_failures += downstream_side(&suite, *era, gateway.as_deref())?;
    }
    if new_failures == 0 {
        return Ok(Outcome::Clean);
    }
    println!(
        "conformance: {new_failures} new failures; logs in {}",
        folder.keep().display()
    );
    Ok(Outcome::Failed)
}

fn build_gateway(arguments: &Arguments) -> Result<Option<PathBuf>> {
    if arguments.direct_only {
        return Ok(None);
    }
    let profile = if arguments.release {
        Profile::Release
    } else {
        Profile::Debug
    };
    let programs = workspace::build(&workspace::root()?, &["mcpproxy"], profile)?;
    Ok(Some(programs.join("mcpproxy")))
}

/// The suite plays the agent; the SDK's everything-server is the upstream.
fn upstream_side(suite: &Suite<'_>, era: Era, gateway: Option<&Path>) -> Result<usize> {
    let title = format!("{} suite -> everything-server", era.version());
    let direct = suite.judge_upstream(era, None)?;
    let through = gateway
        .map(|program| suite.judge_upstream(era, Some(program)))
        .transpose()?;
    Ok(report(&title, &direct, through.as_ref(), Counting::Exact))
}

/// The suite plays the upstream; the SDK's conformance client is the agent.
fn downstream_side(suite: &Suite<'_>, era: Era, gateway: Option<&Path>) -> Result<usize> {
    let title = format!("{} SDK client -> suite", era.version());
    let client = &suite.tools.conformance_client;
    let command = format!("{} {}", suite.tools.python.display(), client.display());
    let (auth, direct) = suite.judge_downstream(era, "direct", &command)?.split(AUTH);
    let through = match gateway {
        Some(program) => {
            let own = env::current_exe().context("cannot find the program itself")?;
            let shim = format!("{} {} {}", own.display(), shim::COMMAND, program.display());
            let results = suite.judge_downstream(era, "through", &format!("{shim} {command}"))?;
            Some(results.split(AUTH).1)
        }
        None => None,
    };
    let new_failures = report(&title, &direct, through.as_ref(), Counting::AtLeastOne);
    let tally = auth.tally();
    println!(
        "  not counted: {} auth/* scenarios, {} passed and {} failed direct; they test OAuth \
         between a client and its server,\n  which a gateway must not pass on, and are not run \
         through it",
        auth.scenarios(),
        tally.passed,
        tally.failed
    );
    Ok(new_failures)
}

/// Prints the figures and every new failure; returns how many there are.
fn report(title: &str, direct: &Results, through: Option<&Results>, counting: Counting) -> usize {
    println!("\n{title:<44}passed  failed");
    println!(
        "  {:<42}{:>6}  {:>6}",
        "direct",
        direct.tally().passed,
        direct.tally().failed
    );
    let Some(through) = through else { return 0 };
    let tally = through.tally();
    println!(
        "  {:<42}{:>6}  {:>6}",
        "through mcpproxy", tally.passed, tally.failed
    );
    let comparison = Comparison::of(direct, through, counting);
    if comparison.lost.is_empty() {
        println!("  new failures: none");
    }
    for lost in &comparison.lost {
        println!("  new failure: {lost}");
    }
    comparison.lost.len()
}
