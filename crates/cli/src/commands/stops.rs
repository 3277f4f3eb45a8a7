//! `stop-calls` and `resume-calls`: the kill switch.

use anyhow::Result;
use http::Method;
use serde_json::{Value, json};

use crate::args::Global;
use crate::commands::client::request;
use crate::exit::Exit;
use crate::output;

/// Stops the calls of a scope at once.
pub(crate) fn stop(global: &Global, scope: &str) -> Result<Exit> {
    let order = json!({ "scope": scope });
    let done = request(global, Method::POST, "/stops", Some(&order))?;
    if let Some(notice) = done.get("notice").and_then(Value::as_str) {
        output::note(&format!("notice: {notice}"));
    }
    output::note(&format!(
        "stopped: {scope}; let calls pass again with `mcpproxy resume-calls {scope}`"
    ));
    Ok(Exit::Fine)
}

/// Lets the calls of a scope pass again.
pub(crate) fn resume(global: &Global, scope: &str) -> Result<Exit> {
    request(global, Method::DELETE, &format!("/stops/{scope}"), None)?;
    output::note(&format!("resumed: {scope}"));
    Ok(Exit::Fine)
}
