//! `status`: how the running gateway is doing.

use anyhow::Result;
use http::Method;

use crate::args::Global;
use crate::commands::client::request;
use crate::exit::Exit;
use crate::output;

/// Shows the gateway's status.
pub(crate) fn run(global: &Global) -> Result<Exit> {
    let status = request(global, Method::GET, "/status", None)?;
    output::value(global.format(), &status)?;
    Ok(Exit::Fine)
}
