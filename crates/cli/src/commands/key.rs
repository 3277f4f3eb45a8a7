//! The API key, for what the socket alone does not allow: an agent that runs as the user must not be
//! able to answer for them.

use std::io::{self, BufRead as _, IsTerminal as _};

use anyhow::Result;

use crate::exit::{Exit, Failed};
use crate::output;

/// The variable that may hold the key.
const KEY: &str = "MCPPROXY_API_KEY";

/// Returns the key: from the environment, or typed. `what` needs it, as `answering for a person`.
pub(crate) fn key(what: &str) -> Result<String> {
    if let Some(key) = from_environment() {
        return Ok(key);
    }
    if !io::stdin().is_terminal() {
        return Err(Failed {
            exit: Exit::NeedsAuth,
            message: format!("{what} needs the API key"),
            hint: Some(format!("set {KEY}, or answer at a terminal")),
        }
        .into());
    }
    output::question("API key:");
    let mut key = String::new();
    io::stdin().lock().read_line(&mut key)?;
    Ok(key.trim().to_owned())
}

/// Returns the key that the environment holds.
pub(crate) fn from_environment() -> Option<String> {
    std::env::var(KEY).ok().filter(|key| !key.is_empty())
}
