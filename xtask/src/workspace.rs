//! Where the repository is and what cargo says about it. Judging what cargo says is tidy's work.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The parts of `cargo metadata` that chores read.
#[derive(Deserialize, Debug)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) target_directory: PathBuf,
}

/// One member of the workspace.
#[derive(Deserialize, Debug)]
pub(crate) struct Package {
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
}

/// One line of a member's dependencies.
#[derive(Deserialize, Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Option<String>,
    pub(crate) path: Option<PathBuf>,
}

/// How a program is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Profile {
    Debug,
    Release,
}

/// Returns the root of the repository.
pub(crate) fn root() -> Result<PathBuf> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = manifest
        .parent()
        .context("the xtask package has no parent folder")?;
    Ok(root.to_path_buf())
}

/// Returns a cargo command that runs in the root of the repository.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_of_this_package) {
            command.env_remove(name);
        }
    }
    command
}

/// Tells whether cargo set a variable because it runs this package. Build scripts of dependencies
/// look at some of them and would be run again, and all that needs them compiled again, whenever a
/// build that was started here follows one that was not, or one of another clone.
fn is_of_this_package(variable: &str) -> bool {
    let mut prefixes = ["CARGO_MANIFEST_", "CARGO_PKG_"].into_iter();
    prefixes.any(|prefix| variable.starts_with(prefix))
}

/// Asks cargo for the members of the workspace.
pub(crate) fn metadata(root: &Path) -> Result<Metadata> {
    let output = cargo(root)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .context("cannot run cargo metadata")?;
    if !output.status.success() {
        bail!(
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    serde_json::from_slice(&output.stdout).context("cannot read what cargo metadata printed")
}

/// Compiles the programs of `packages` and returns the folder that holds them.
///
/// A package by itself asks less of its dependencies than the workspace does, so that all of them
/// would be compiled once more: the features are those of the whole.
pub(crate) fn build(root: &Path, packages: &[&str], profile: Profile) -> Result<PathBuf> {
    let mut command = cargo(root);
    command.args(["build", "--quiet", "--workspace"]);
    for package in packages {
        command.args(["--bin", package]);
        if *package == "mcpproxy" {
            command.args(["--bin", "mcpproxy-rest"]);
        }
    }
    let folder = match profile {
        Profile::Debug => "debug",
        Profile::Release => {
            command.arg("--release");
            "release"
        }
    };
    if !command
        .status()
        .context("cannot run cargo build")?
        .success()
    {
        bail!("cannot build {}", packages.join(" and "));
    }
    Ok(metadata(root)?.target_directory.join(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_sets_for_this_package_is_not_handed_on() {
        let check =
            |name: &str, expect: bool| assert_eq!(is_of_this_package(name), expect, "{name}");
        check("CARGO_MANIFEST_DIR", true);
        check("CARGO_MANIFEST_PATH", true);
        check("CARGO_PKG_VERSION", true);
        check("CARGO_TARGET_DIR", false);
        check("CARGO_INCREMENTAL", false);
        check("CARGO_HOME", false);
    }
}
