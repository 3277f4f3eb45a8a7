//! The Node set: the conformance suite, the inspector, three servers, and a Node that is new
//! enough for the suite whatever the system has.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{Set, step, version};

pub(super) const NAME: &str = "node";

const REMEDY: &str = "install Node.js 20 or later with npm";
const PACKAGES: &[&str] = &[
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "node@22.23.3",
];

pub(super) fn set(folder: &Path) -> Set {
    Set {
        name: NAME,
        contents: PACKAGES.join("\n"),
        proof: interpreter(folder),
    }
}

pub(super) fn interpreter(folder: &Path) -> PathBuf {
    folder.join("node_modules/node/bin/node")
}

/// Installs packages into a folder, without their install scripts.
pub(super) fn fetch(folder: &Path, packages: &[&str]) -> Result<()> {
    let mut npm = Command::new("npm");
    npm.current_dir(folder)
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund"])
        .args(["--save-exact", "--loglevel=error"]);
    step("npm install", npm.args(packages))
}

/// Installs the packages, then runs the one install script that is needed: the `node` package
/// fetches the binary for this machine with it.
pub(super) fn install(folder: &Path) -> Result<()> {
    version("node", &["--version"], REMEDY)?;
    version("npm", &["--version"], REMEDY)?;
    fetch(folder, PACKAGES)?;
    let package = folder.join("node_modules/node");
    let mut script = Command::new("node");
    step(
        "fetching node 22",
        script
            .current_dir(package)
            .arg("installArchSpecificPackage.js"),
    )?;
    let program = interpreter(folder);
    let program = program.to_str().context("the tools folder is not UTF-8")?;
    let found = version(program, &["--version"], REMEDY)?;
    if !found.starts_with("v22.") {
        bail!("expected node 22, found `{found}`");
    }
    Ok(())
}
