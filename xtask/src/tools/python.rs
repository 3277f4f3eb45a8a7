//! The Python set: the SDK with its everything-server and conformance client, two small servers, a
//! fuzzer and a reader of encrypted files, in a virtual environment.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::{Set, step, version};

pub(super) const NAME: &str = "python";

const REMEDY: &str = "install Python 3.10 or later with its venv module";
const SDK: &str = "mcp==2.3.0";
const SDK_FOLDER: &str = "mcp-2.3.0";
const PACKAGES: &[&str] = &[
    SDK,
    "mcp-server-git==2026.10.19",
    "mcp-server-time==2026.10.19",
    // A fuzzer of the REST interface, and a reader of encrypted exports.
    "schemathesis==4.32.5",
    "pyrage==1.4.0",
];

pub(super) fn set(folder: &Path) -> Set {
    let contents = format!("{}\neverything-server\n", PACKAGES.join("\n"));
    Set {
        name: NAME,
        contents,
        proof: folder.join("complete"),
    }
}

pub(super) fn interpreter(folder: &Path) -> PathBuf {
    folder.join("bin/python")
}

pub(super) fn conformance_client(folder: &Path) -> PathBuf {
    source(folder).join(".github/actions/conformance/client.py")
}

/// Installs the packages, then what only the SDK's source distribution carries.
pub(super) fn install(folder: &Path) -> Result<()> {
    environment(folder, PACKAGES)?;

    let download = folder.join("download");
    let mut fetch = pip(folder);
    fetch
        .args(["download", "--no-deps", "--no-binary", ":all:", "--dest"])
        .arg(&download)
        .arg(SDK);
    step("pip download", &mut fetch)?;
    let archive = download.join(format!("{SDK_FOLDER}.tar.gz"));
    let mut unpack = Command::new(interpreter(folder));
    unpack
        .args(["-m", "tarfile", "--extract"])
        .arg(archive)
        .arg(&download);
    step("unpacking the SDK", &mut unpack)?;

    let everything = source(folder).join("examples/servers/everything-server");
    step(
        "installing the everything-server",
        pip(folder).arg("install").arg(everything),
    )?;
    let check = [
        "-c",
        "import mcp, mcp_everything_server, mcp_server_git, mcp_server_time, schemathesis, pyrage",
    ];
    step(
        "importing the packages",
        Command::new(interpreter(folder)).args(check),
    )?;
    std::fs::write(folder.join("complete"), "")?;
    Ok(())
}

/// Makes a virtual environment with these packages.
pub(super) fn environment(folder: &Path, packages: &[&str]) -> Result<()> {
    version(
        "python3",
        &["-c", "import venv, sys; assert sys.version_info >= (3, 10)"],
        REMEDY,
    )?;
    step(
        "python3 -m venv",
        Command::new("python3").args(["-m", "venv"]).arg(folder),
    )?;
    step("pip install", pip(folder).arg("install").args(packages))
}

fn source(folder: &Path) -> PathBuf {
    folder.join("download").join(SDK_FOLDER)
}

fn pip(folder: &Path) -> Command {
    let mut command = Command::new(interpreter(folder));
    command.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
    command
}
