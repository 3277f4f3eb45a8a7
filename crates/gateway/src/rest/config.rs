//! The configuration: shown without secrets, tried, changed, and read again.
//!
//! Changing it needs the API key, also over the socket: an agent that runs as the user must not be
//! able to loosen what holds it.

use std::sync::Arc;

use axum::extract::State as AxumState;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use mcpproxy_control::ConfigChange;
use mcpproxy_core::Door;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::activity::{blocking, few, lost};
use super::approvals::holds_key;
use super::taken::Body;
use super::{Done, Shared, Who, done, failed, refused};

/// A change of the configuration file: either its whole text, or what is laid over it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("oneOf" = text_or_patch()))]
pub(super) struct Change {
    /// The whole text of the file, as YAML or JSON.
    text: Option<String>,
    /// What is laid over the file: maps are merged, `null` takes a key out (RFC 7396).
    patch: Option<Map<String, Value>>,
}

/// Says in a schema that exactly one of the two is given.
pub(super) fn text_or_patch() -> Value {
    let one = |given: &str, kind: &str, other: &str| {
        json!({ "required": [given], "properties": {
            given: { "type": kind }, other: { "type": "null" },
        } })
    };
    json!([
        one("text", "string", "patch"),
        one("patch", "object", "text")
    ])
}

impl Change {
    pub(super) fn of(text: Option<String>, patch: Option<Map<String, Value>>) -> Self {
        Self { text, patch }
    }

    pub(super) fn read(self) -> Result<ConfigChange, Box<Response>> {
        match (self.text, self.patch) {
            (Some(text), None) => Ok(ConfigChange::Text(text)),
            (None, Some(patch)) => Ok(ConfigChange::Patch(patch)),
            (None, None) | (Some(_), Some(_)) => Err(Box::new(failed(
                StatusCode::BAD_REQUEST,
                "give either `text` or `patch`",
                None,
            ))),
        }
    }
}

/// What is wrong with a configuration.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CheckedConfig")]
pub(super) struct Checked {
    /// Whether nothing is.
    valid: bool,
    /// What is, in words.
    problems: Vec<String>,
}

/// Shows the configuration and where each value comes from.
pub(super) async fn show(AxumState(gateway): Shared, who: Who) -> Response {
    let control = Arc::clone(gateway.access.control());
    blocking(move || control.show_config(&who)).await
}

/// Says what is wrong with the configuration that a change would make.
pub(super) async fn validate(
    AxumState(gateway): Shared,
    who: Who,
    Body(change): Body<Change>,
) -> Response {
    let change = match change.read() {
        Ok(change) => change,
        Err(answer) => return *answer,
    };
    let control = Arc::clone(gateway.access.control());
    let checked = move || {
        let problems = control.check_config(&who, &change)?;
        let valid = problems.is_empty();
        Ok(Checked { valid, problems })
    };
    few(&gateway.trials, checked).await
}

/// Changes the configuration and puts it in force, or leaves everything as it was.
pub(super) async fn apply(
    AxumState(gateway): Shared,
    who: Who,
    headers: HeaderMap,
    Body(change): Body<Change>,
) -> Response {
    if !holds_key(&gateway, &headers) {
        let hint = "set MCPPROXY_API_KEY or type the key; it is in the data folder";
        let message = "changing the configuration needs the API key";
        return failed(StatusCode::FORBIDDEN, message, Some(hint));
    }
    let change = match change.read() {
        Ok(change) => change,
        Err(answer) => return *answer,
    };
    let control = Arc::clone(gateway.access.control());
    let made = tokio::task::spawn_blocking(move || control.apply_config(&who, &change));
    match made.await {
        Ok(Ok(made)) => {
            gateway.note_change(&made.change, Door::Api).await;
            done(&made.applied)
        }
        Ok(Err(refusal)) => refused(&refusal),
        Err(_) => lost(),
    }
}

/// Reads the files again.
pub(super) async fn reload(AxumState(gateway): Shared, who: Who) -> Response {
    match gateway.access.control().reload(&who) {
        Ok(reloaded) => {
            gateway.note_change(&reloaded.change, Door::Api).await;
            done(&Done::new(&reloaded.change))
        }
        Err(refusal) => refused(&refusal),
    }
}
