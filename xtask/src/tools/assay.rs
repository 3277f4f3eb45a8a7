//! The peer whose packs the notary reads and which reads the notary's, in an environment of its
//! own: its dependencies are not those of the servers.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::{Set, step, version};

pub(super) const NAME: &str = "assay";

const REMEDY: &str = "install Python 3.10 or later with its venv module";
const PACKAGES: &[&str] = &["assay-ai==1.23.0"];

pub(super) fn set(folder: &Path) -> Set {
    Set {
        name: NAME,
        contents: PACKAGES.join("\n"),
        proof: program(folder),
    }
}

/// Returns the peer's program.
pub(super) fn program(folder: &Path) -> PathBuf {
    folder.join("bin/assay")
}

pub(super) fn install(folder: &Path) -> Result<()> {
    version(
        "python3",
        &["-c", "import venv, sys; assert sys.version_info >= (3, 10)"],
        REMEDY,
    )?;
    step(
        "python3 -m venv",
        Command::new("python3").args(["-m", "venv"]).arg(folder),
    )?;
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
    step("pip install", pip.arg("install").args(PACKAGES))
}
