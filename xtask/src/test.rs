//! `cargo xtask test`: everything that must be green, in the order in which it fails fastest.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::tools::{self, Tools};
use crate::{Outcome, conformance, fuzz, reference, tidy, workspace};

/// What the hooks of `examples/wasm-hooks` are compiled for.
const GUESTS: &str = "wasm32-unknown-unknown";

/// Arguments of `cargo xtask test`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Runs only the tests whose name contains this, and none of the other stages
    filter: Option<String>,
}

/// Runs every stage until one fails.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let begun = Instant::now();
    let failed = match &arguments.filter {
        Some(filter) => run_filtered(filter)?,
        None => run_all()?,
    };
    let seconds = begun.elapsed().as_secs();
    match failed {
        None => {
            println!("\nxtask test: all stages passed in {seconds} s");
            Ok(Outcome::Clean)
        }
        Some(stage) => {
            println!("\nxtask test: failed at `{stage}` after {seconds} s");
            Ok(Outcome::Failed)
        }
    }
}

type Step<'a> = (&'static str, Box<dyn FnOnce() -> Result<Outcome> + 'a>);

/// Returns the name of the stage that failed, if one did.
fn run_all() -> Result<Option<&'static str>> {
    let tools = set_up()?;
    let steps: Vec<Step<'_>> = vec![
        ("format", Box::new(|| cargo(&["fmt", "--all", "--check"]))),
        ("clippy", Box::new(clippy)),
        ("tidy", Box::new(tidy::run)),
        ("dependencies", Box::new(deny)),
        ("fuzz targets", Box::new(fuzz::check)),
        ("tests", Box::new(|| tests(&tools, None))),
        (
            "conformance",
            Box::new(|| conformance::run(&conformance::Arguments::default())),
        ),
        (
            "reference",
            Box::new(|| reference::run(&reference::Arguments { check: true })),
        ),
    ];
    for (name, step) in steps {
        if stage(name, step)? == Outcome::Failed {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

fn run_filtered(filter: &str) -> Result<Option<&'static str>> {
    let tools = set_up()?;
    let outcome = stage("tests", || tests(&tools, Some(filter)))?;
    Ok((outcome == Outcome::Failed).then_some("tests"))
}

fn stage<T>(name: &str, step: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("\n== {name}");
    let begun = Instant::now();
    let result = step().with_context(|| format!("stage `{name}`"));
    println!("== {name}: {:.1} s", begun.elapsed().as_secs_f64());
    result
}

fn set_up() -> Result<Tools> {
    stage("set-up", || {
        for (part, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
            if !has_cargo(part) {
                bail!("`cargo {part}` is missing; run `rustup component add {component}`");
            }
        }
        if !has_target(GUESTS)? && !add_target(GUESTS) {
            bail!("the target {GUESTS} is missing; run `rustup target add {GUESTS}`");
        }
        let tools = tools::ready()?;
        println!("python {}", tools.python.display());
        println!("node {}", tools.node.display());
        Ok(tools)
    })
}

fn clippy() -> Result<Outcome> {
    cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ])
}

fn deny() -> Result<Outcome> {
    if !has_cargo("deny") {
        println!("cargo-deny is not installed, so licences and advisories are not checked here");
        return Ok(Outcome::Clean);
    }
    if cargo(&["deny", "check", "bans", "licenses", "sources"])? == Outcome::Failed {
        return Ok(Outcome::Failed);
    }
    let mut command = workspace::cargo(&workspace::root()?);
    let output = command.args(["deny", "check", "advisories"]).output();
    let output = output.context("cannot run cargo deny")?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && text.contains("failed to fetch advisory database") {
        println!("the advisory database is out of reach, so advisories are not checked here");
        return Ok(Outcome::Clean);
    }
    print!("{text}");
    Ok(if output.status.success() {
        Outcome::Clean
    } else {
        Outcome::Failed
    })
}

fn tests(tools: &Tools, filter: Option<&str>) -> Result<Outcome> {
    let mut command = workspace::cargo(&workspace::root()?);
    if has_cargo("nextest") {
        command.args(["nextest", "run", "--workspace"]);
    } else {
        println!("cargo-nextest is not installed, so `cargo test` runs the tests");
        command.args(["test", "--workspace", "--lib", "--bins", "--tests"]);
    }
    tools.export(&mut command);
    finish(command.args(filter))
}

fn cargo(arguments: &[&str]) -> Result<Outcome> {
    finish(workspace::cargo(&workspace::root()?).args(arguments))
}

/// Runs a command with its output passed through.
fn finish(command: &mut Command) -> Result<Outcome> {
    let status = command.status().context("cannot run cargo")?;
    Ok(if status.success() {
        Outcome::Clean
    } else {
        Outcome::Failed
    })
}

fn has_cargo(part: &str) -> bool {
    let mut command = Command::new("cargo");
    command
        .args([part, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn add_target(name: &str) -> bool {
    let added = Command::new("rustup")
        .args(["target", "add", name])
        .status();
    added.is_ok_and(|status| status.success())
}

fn has_target(target: &str) -> Result<bool> {
    let mut command = Command::new("rustc");
    command.args(["--print", "target-libdir", "--target", target]);
    let output = command.output().context("cannot run rustc")?;
    let folder = String::from_utf8_lossy(&output.stdout);
    Ok(Path::new(folder.trim()).exists())
}
