//! `approvals`: what waits for a person, and the person's answer.
//!
//! An answer takes the API key from the environment or from the terminal, never from the data
//! folder: an agent that runs this command must not answer for its user by that alone.

use anyhow::Result;
use http::Method;
use serde_json::{Value, json};

use crate::args::{Approvals, Global};
use crate::commands::client::{request, request_with_key};
use crate::commands::key::key;
use crate::exit::Exit;
use crate::output;

/// Runs one of the commands.
pub(crate) fn run(global: &Global, command: Approvals) -> Result<Exit> {
    match command {
        Approvals::List => list(global),
        Approvals::Approve { id } => answer(global, &id, "approve"),
        Approvals::Deny { id } => answer(global, &id, "deny"),
    }
}

fn list(global: &Global) -> Result<Exit> {
    let data = request(global, Method::GET, "/approvals", None)?;
    let waiting = data.get("approvals").and_then(Value::as_array);
    let waiting = waiting.map_or(&[][..], Vec::as_slice);
    let columns = [
        "id",
        "server_name",
        "tool_name",
        "risk_level",
        "expires_at",
        "reason",
    ];
    output::rows(global.format(), &columns, waiting)?;
    Ok(Exit::Fine)
}

fn answer(global: &Global, id: &str, decision: &str) -> Result<Exit> {
    let key = key("answering for a person")?;
    let body = json!({ "decision": decision });
    let path = format!("/approvals/{id}");
    let done = request_with_key(global, Method::POST, &path, &body, &key)?;
    let outcome = done.get("outcome").and_then(Value::as_str);
    output::note(&format!("{}: {id}", outcome.unwrap_or(decision)));
    Ok(Exit::Fine)
}
