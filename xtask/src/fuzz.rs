//! `cargo xtask fuzz`: every fuzz target for a bounded time.
//!
//! The targets are built by the compiler that builds the product: what counts coverage is asked for
//! by the options of code generation that `cargo-fuzz` uses too. Without a sanitizer, since there is
//! no unsafe code of ours; panics, failed assertions, time-outs and memory beyond a bound are found.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::Outcome;
use crate::workspace;

/// What makes a program count what it reaches, so that inputs can be steered by it.
const COVERAGE: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks";
/// What one input may take: seconds, mebibytes, and bytes of its own.
const BOUNDS: [&str; 3] = ["-timeout=10", "-rss_limit_mb=2048", "-max_len=65536"];

/// Folders with inputs to begin with, beside what earlier runs found: whatever tests and examples have
/// that is read by the same parser.
const SEEDS: [(&str, &[&str]); 3] = [
    (
        "config",
        &[
            "crates/config/tests/fixtures",
            "deploy/compose",
            "examples/mcp_proxy_demo",
        ],
    ),
    (
        "policy",
        &["crates/cli/tests/scenarios", "tests/capabilities"],
    ),
    ("json", &["crates/agents/tests/fixtures"]),
];

/// Arguments of `cargo xtask fuzz`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Which targets, of those in `fuzz/fuzz_targets`; all unless told
    targets: Vec<String>,
    /// How long each target runs
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

/// Builds the targets and runs them one after the other.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let root = workspace::root()?;
    let targets = chosen(&root.join("fuzz/fuzz_targets"), &arguments.targets)?;
    let programs = build(&root, &targets)?;
    let mut broken = 0;
    for target in &targets {
        let executions = fuzz(&root, &programs.join(target), target, arguments.seconds)?;
        if let Some(executions) = executions {
            println!("{target}: {executions} inputs, nothing found");
        } else {
            println!("{target}: FOUND; the input is in fuzz/artifacts/{target}");
            broken += 1;
        }
    }
    println!("{} targets, {broken} with a finding", targets.len());
    Ok(if broken == 0 {
        Outcome::Clean
    } else {
        Outcome::Failed
    })
}

/// Returns the targets that were asked for, or all that there are.
fn chosen(folder: &Path, asked: &[String]) -> Result<Vec<String>> {
    let mut known = Vec::new();
    for entry in fs::read_dir(folder).context("cannot read fuzz/fuzz_targets")? {
        let name = entry?.path().file_stem().map(ToOwned::to_owned);
        known.extend(name.and_then(|name| name.into_string().ok()));
    }
    known.sort();
    if let Some(unknown) = asked.iter().find(|name| !known.contains(name)) {
        bail!("no target `{unknown}`; there are {}", known.join(", "));
    }
    Ok(if asked.is_empty() {
        known
    } else {
        asked.to_vec()
    })
}

/// Compiles the targets and returns the folder of their programs.
fn build(root: &Path, targets: &[String]) -> Result<PathBuf> {
    let triple = host()?;
    let folder = workspace::metadata(root)?.target_directory.join("fuzz");
    let mut command = cargo(root, &["build", "--release", "--features", "run"])?;
    command
        // With a triple of their own, build scripts and macros are compiled without the counters.
        .args(["--target", &triple, "--target-dir"])
        .arg(&folder)
        .env("RUSTFLAGS", COVERAGE);
    for target in targets {
        command.args(["--bin", target]);
    }
    if !command
        .status()
        .context("cannot run cargo build")?
        .success()
    {
        bail!("cannot build the fuzz targets; a C++ compiler is needed for libfuzzer");
    }
    Ok(folder.join(triple).join("release"))
}

/// Checks that the targets compile, which nobody else would notice.
pub(crate) fn check() -> Result<Outcome> {
    let root = workspace::root()?;
    let folder = workspace::metadata(&root)?.target_directory.join("fuzz");
    let mut command = cargo(&root, &["check", "--quiet"])?;
    let status = command.arg("--target-dir").arg(folder).status();
    let status = status.context("cannot run cargo check")?;
    Ok(if status.success() {
        Outcome::Clean
    } else {
        Outcome::Failed
    })
}

/// Returns a cargo command on the targets, with the versions that the product is built from.
fn cargo(root: &Path, arguments: &[&str]) -> Result<Command> {
    let lock = |folder: &Path| folder.join("Cargo.lock");
    fs::copy(lock(root), lock(&root.join("fuzz"))).context("cannot copy Cargo.lock")?;
    let mut command = workspace::cargo(root);
    command.args(arguments);
    command.args(["--manifest-path", "fuzz/Cargo.toml"]);
    Ok(command)
}

fn host() -> Result<String> {
    let rustc = Command::new("rustc").arg("-vV").output();
    let said = rustc.context("cannot run rustc")?.stdout;
    let said = String::from_utf8_lossy(&said);
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(ToOwned::to_owned)
        .context("rustc does not say for which machine it compiles")
}

/// Runs one target; returns how many inputs it took, or nothing if one of them broke it.
fn fuzz(root: &Path, program: &Path, target: &str, seconds: u32) -> Result<Option<u64>> {
    let corpus = root.join("fuzz/corpus").join(target);
    let artifacts = root.join("fuzz/artifacts").join(target);
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&artifacts)?;
    let output = Command::new(program)
        .arg(&corpus)
        .args(seeds(target).map(|folder| root.join(folder)))
        .args(BOUNDS)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args(["-print_final_stats=1", "-verbosity=0"])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run the target `{target}`"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let from = said.len().saturating_sub(4096);
        println!(
            "{}",
            said.get(said.ceil_char_boundary(from)..)
                .unwrap_or_default()
        );
        return Ok(None);
    }
    let executed = said.lines().find_map(|line| {
        let number = line.strip_prefix("stat::number_of_executed_units:")?;
        number.trim().parse().ok()
    });
    executed
        .map(Some)
        .with_context(|| format!("target `{target}` does not say how many inputs it took"))
}

/// Returns the folders with inputs for a target to begin with.
fn seeds(target: &str) -> impl Iterator<Item = &'static str> {
    let own = SEEDS.iter().find(|(name, _)| *name == target);
    own.into_iter()
        .flat_map(|(_, folders)| folders.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_there_for_targets_that_are_there() {
        let root = workspace::root().unwrap();
        for (target, folders) in SEEDS {
            let file = root.join(format!("fuzz/fuzz_targets/{target}.rs"));
            assert!(file.exists(), "{target}");
            assert_eq!(seeds(target).count(), folders.len());
            for folder in folders {
                let files = fs::read_dir(root.join(folder)).unwrap();
                assert!(files.count() > 0, "{folder}");
            }
        }
        assert_eq!(seeds("sse").count(), 0);
    }
}
