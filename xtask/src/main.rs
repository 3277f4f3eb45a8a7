//! Repository chores: `cargo xtask <command>`, one file per command.
//!
//! Nothing here ships. The hidden commands are the small programs that benches and suites start as
//! processes of their own, so that their memory and processor time are not mixed with ours.

#![expect(clippy::print_stdout, reason = "a chore's product is what it prints")]

mod adversary;
mod bench;
mod capabilities;
mod conformance;
mod dist;
mod eval;
mod fuzz;
mod gateway;
mod probe;
mod process;
mod reference;
mod soak;
mod test;
mod tidy;
mod tools;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Whether a chore that ran to its end found everything in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Clean,
    Failed,
}

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "Repository chores",
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Checks the rules of the repository that the compiler does not know
    Tidy,
    /// Writes the table of capabilities in the README
    Capabilities,
    /// Writes the tables of incidents and standards, and the figures of the adversary
    Adversary(adversary::Arguments),
    /// Sets up what the tests need, then runs format, lints, tidy, all tests and the suites
    Test(test::Arguments),
    /// Runs the MCP conformance suite directly and through the gateway and compares the two
    Conformance(conformance::Arguments),
    /// Measures the gateway beside what it can be compared with
    Bench(bench::Arguments),
    /// Builds the programs for release, laid out by what calls really run through
    Dist,
    /// Measures what the detectors find, and what they flag for nothing
    Eval(eval::Arguments),
    /// Feeds every parser made-up input for a bounded time
    Fuzz(fuzz::Arguments),
    /// Writes the pages of the book that the program tells about itself
    Reference(reference::Arguments),
    /// Repeats a hard case many times
    Soak(soak::Arguments),
    #[command(hide = true)]
    ConformanceClientShim(conformance::shim::Arguments),
    #[command(hide = true)]
    EchoHttp(bench::echo::HttpArguments),
    #[command(hide = true)]
    EchoStdio(bench::echo::StdioArguments),
    #[command(hide = true)]
    BareProxy(bench::bare::Arguments),
    #[command(hide = true)]
    BareRelay,
    #[command(hide = true)]
    Load(bench::load::Arguments),
}

fn main() -> ExitCode {
    match run(Arguments::parse().chore) {
        Ok(Outcome::Clean) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(chore: Chore) -> Result<Outcome> {
    match chore {
        Chore::Tidy => tidy::run(),
        Chore::Capabilities => capabilities::run(),
        Chore::Adversary(arguments) => adversary::run(&arguments),
        Chore::Test(arguments) => test::run(&arguments),
        Chore::Conformance(arguments) => conformance::run(&arguments),
        Chore::Bench(arguments) => bench::run(&arguments),
        Chore::Dist => dist::run(),
        Chore::Eval(arguments) => eval::run(&arguments),
        Chore::Fuzz(arguments) => fuzz::run(&arguments),
        Chore::Reference(arguments) => reference::run(&arguments),
        Chore::Soak(arguments) => soak::run(&arguments),
        Chore::ConformanceClientShim(arguments) => conformance::shim::run(&arguments),
        Chore::EchoHttp(arguments) => bench::echo::run_http(&arguments),
        Chore::EchoStdio(arguments) => bench::echo::run_stdio(&arguments),
        Chore::BareProxy(arguments) => bench::bare::run(&arguments),
        Chore::BareRelay => bench::relay::run(),
        Chore::Load(arguments) => bench::load::run(&arguments),
    }
}
