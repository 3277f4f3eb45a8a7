//! `approvals`: what waits for a person, and the person's answer.
//!
//! An answer takes the API key from the environment or from the terminal, never from the data
//! folder: an agent that runs this command must not answer for its user by that alone.

use anyhow::Result;
use http::Method;
use serde_json::{Value, json};

use crate::args::{Approvals, Format, Global};
use crate::commands::activity::readable;
use crate::commands::client::{request, request_with_key};
use crate::commands::key::key;
use crate::exit::{Exit, bad_input};
use crate::output;

/// Runs one of the commands.
pub(crate) fn run(global: &Global, command: Approvals) -> Result<Exit> {
    match command {
        Approvals::List => list(global),
        Approvals::Show { id } => show(global, &id),
        Approvals::Approve { id } => answer(global, &id, "approve"),
        Approvals::Deny { id } => answer(global, &id, "deny"),
    }
}

fn waiting(global: &Global) -> Result<Vec<Value>> {
    let mut data = request(global, Method::GET, "/approvals", None)?;
    let waiting = data.get_mut("approvals").map(Value::take);
    Ok(match waiting {
        Some(Value::Array(waiting)) => waiting,
        _ => Vec::new(),
    })
}

fn list(global: &Global) -> Result<Exit> {
    let columns = [
        "id",
        "server_name",
        "tool_name",
        "risk_level",
        "expires_at",
        "reason",
    ];
    output::rows(global.format(), &columns, &waiting(global)?)?;
    Ok(Exit::Fine)
}

/// Shows all that is known of one question: what would leave, and where to.
fn show(global: &Global, id: &str) -> Result<Exit> {
    let mut waiting = waiting(global)?.into_iter();
    let Some(mut found) = waiting.find(|one| one.get("id").is_some_and(|one| one == id)) else {
        let hint = "`mcpproxy approvals list` shows what waits";
        return Err(bad_input(format!("no question `{id}` waits"), Some(hint)));
    };
    if global.format() != Format::Table {
        output::value(global.format(), &found)?;
        return Ok(Exit::Fine);
    }
    readable(&mut found);
    // A table has no room for what is the very thing to be looked at.
    let arguments = found
        .as_object_mut()
        .and_then(|found| found.remove("arguments"));
    output::value(Format::Table, &found)?;
    let arguments = arguments.as_ref().and_then(Value::as_str);
    output::line("")?;
    output::line("arguments, masked:")?;
    output::line(&output::flat(arguments.unwrap_or_default()))?;
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
