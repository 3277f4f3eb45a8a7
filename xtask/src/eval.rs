//! `cargo xtask eval`: how much is found, and how often for nothing.
//!
//! The detectors are asked through the door that everybody has, `mcpproxy detect`. Figures are
//! reported and do not fail the run unless `--strict` is given: they are for people to judge.

mod case;
mod corpus;
mod door;
mod flow;
mod generate;
mod machine;
mod random;
mod report;
mod score;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Subcommand;

use self::case::Set;
use self::score::Score;
use crate::Outcome;
use crate::workspace::{self, Profile};

/// Arguments of `cargo xtask eval`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    eval: Eval,
}

#[derive(Subcommand, Debug)]
enum Eval {
    /// Recall, precision and false alarms of every detector, beside the aims
    Detect(Detect),
    /// Leaks that are found in conversations, and conversations that are stopped for nothing
    Flow(flow::Arguments),
}

#[derive(clap::Args, Debug)]
struct Detect {
    /// A folder of labelled cases, one JSON object a line, beside those that are made here
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// Writes the figures as JSON, too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Most misses and false alarms that are listed of each detector
    #[arg(long, value_name = "N", default_value_t = 10)]
    misses: usize,
    /// Most pieces of each kind of ordinary file on this machine that are looked through
    #[arg(long, value_name = "N", default_value_t = 3000)]
    pieces: usize,
    /// Fails if an aim is missed
    #[arg(long)]
    strict: bool,
    /// A built `mcpproxy`, instead of building it
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// Runs the chosen evaluation.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    match &arguments.eval {
        Eval::Detect(arguments) => detect(arguments),
        Eval::Flow(arguments) => flow::run(arguments),
    }
}

fn detect(arguments: &Detect) -> Result<Outcome> {
    let program = match &arguments.program {
        Some(program) => program.clone(),
        None => build()?,
    };
    let mut cases = generate::cases();
    cases.extend(machine::cases(arguments.pieces));
    if let Some(folder) = &arguments.corpus {
        let corpus = corpus::read(folder)?;
        for (kind, count) in &corpus.left_out {
            println!(
                "left out: {count} of kind `{kind}`, which the door does not know or cannot see"
            );
        }
        cases.extend(corpus.cases);
    }
    println!("asking about {} cases ...", cases.len());
    let answers = door::ask(&program, &cases)?;
    let mut score = Score::default();
    for (case, answer) in cases.iter().zip(&answers) {
        score.add(case, answer);
    }
    let mut rows = score.rows(Set::Own);
    if arguments.corpus.is_some() {
        rows.extend(score.rows(Set::Corpus));
    }
    report::print(&score, &rows, arguments.misses);
    if let Some(file) = &arguments.json {
        let text = serde_json::to_string_pretty(&report::json(&score, &rows))?;
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let missed = rows.iter().filter(|row| row.is_met == Some(false)).count();
    println!(
        "\naims missed: {missed}; cases refused: {}",
        score.refused.len()
    );
    let failed = !score.refused.is_empty() || (arguments.strict && missed > 0);
    Ok(if failed {
        Outcome::Failed
    } else {
        Outcome::Clean
    })
}

fn build() -> Result<PathBuf> {
    let root = workspace::root()?;
    println!("building mcpproxy for release ...");
    let folder = workspace::build(&root, &["mcpproxy"], Profile::Release)?;
    Ok(folder.join("mcpproxy"))
}
