//! The set of agents that tests drive. Large, and apart, so that another version of anything else
//! does not fetch it again.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Set, node};

pub(super) const NAME: &str = "agents";

const PACKAGES: &[&str] = &["@openai/codex@0.166.0"];

pub(super) fn set(folder: &Path) -> Set {
    Set {
        name: NAME,
        contents: PACKAGES.join("\n"),
        proof: codex(folder),
    }
}

/// Returns the agent's entry point, a script for `node`.
pub(super) fn codex(folder: &Path) -> PathBuf {
    folder.join("node_modules/@openai/codex/bin/codex.js")
}

/// Installs the packages without their install scripts.
pub(super) fn install(folder: &Path) -> Result<()> {
    node::fetch(folder, PACKAGES)
}
