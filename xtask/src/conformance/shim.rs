//! Stands in for the SDK's conformance client: puts a gateway between it and the suite.
//!
//! The suite starts this with the URL of its own endpoint as the last argument. What the suite
//! says in environment variables reaches the client, since a child inherits them.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::AUTH;
use crate::Outcome;
use crate::gateway::{Gateway, Routing, Upstream};
use crate::process::run_bounded;

/// The name of the hidden command.
pub(super) const COMMAND: &str = "conformance-client-shim";

/// Ends before the suite's own limit, which would kill this process and leave the gateway.
const CLIENT_LIMIT: Duration = Duration::from_secs(50);

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    gateway: PathBuf,
    python: PathBuf,
    client: PathBuf,
    url: String,
}

/// Runs the client against the gateway and reports how it ended.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    if scenario.starts_with(AUTH) {
        println!("`{scenario}` is not run through the gateway");
        return Ok(Outcome::Failed);
    }
    let folder = TempDir::new().context("cannot create a temporary folder")?;
    let upstream = (
        "suite",
        Upstream::Http {
            url: arguments.url.clone(),
        },
    );
    let gateway = Gateway::start(
        &arguments.gateway,
        folder.path(),
        Routing::Single,
        &[upstream],
    )?;
    let mut client = Command::new(&arguments.python);
    client.arg(&arguments.client).arg(gateway.url());
    let status = run_bounded("the conformance client", &mut client, CLIENT_LIMIT)?;
    Ok(if status.success() {
        Outcome::Clean
    } else {
        Outcome::Failed
    })
}
