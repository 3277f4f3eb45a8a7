//! What services for hooks are written with: gRPC, Envoy's published interface, and the library of
//! Standard Webhooks, in a virtual environment of their own.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::{Set, python, step};

pub(super) const NAME: &str = "services";

const PACKAGES: &[&str] = &[
    "grpcio==1.85.1",
    "grpcio-tools==1.85.1",
    "grpcio-health-checking==1.85.1",
    "standardwebhooks==1.1.0",
    "xds-protos==1.85.0",
];

pub(super) fn set(folder: &Path) -> Set {
    Set {
        name: NAME,
        contents: format!("{}\n", PACKAGES.join("\n")),
        proof: folder.join("complete"),
    }
}

/// Installs the packages and tries them.
pub(super) fn install(folder: &Path) -> Result<()> {
    python::environment(folder, PACKAGES)?;
    let check = [
        "-c",
        "import grpc_tools, grpc_health, standardwebhooks, envoy.service.auth.v3",
    ];
    step(
        "importing the packages",
        Command::new(python::interpreter(folder)).args(check),
    )?;
    std::fs::write(folder.join("complete"), "")?;
    Ok(())
}
