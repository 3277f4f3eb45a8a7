//! Upstreams: what they are, how they are doing, and what is done to them.

use axum::extract::State as AxumState;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::taken::{At, Body};
use super::{Shared, Who, done, failed, quarantine, refused};
use crate::management;

pub(super) async fn servers(AxumState(gateway): Shared, who: Who) -> Response {
    done(management::list(&gateway, &who))
}

/// What can be looked at.
pub(super) const LOOKS: [&str; 2] = ["logs", "tools"];
/// What can be done.
pub(super) const ACTIONS: [&str; 6] = [
    "enable",
    "disable",
    "restart",
    "refresh",
    "quarantine",
    "unquarantine",
];

/// An upstream with its settings, as the configuration file has them.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewServer {
    /// Its name.
    name: String,
    #[serde(flatten)]
    settings: Settings,
}

/// Settings as the configuration file has them.
pub(super) type Settings = serde_json::Map<String, Value>;

pub(super) async fn add_server(
    AxumState(gateway): Shared,
    who: Who,
    Body(new): Body<NewServer>,
) -> Response {
    let control = gateway.access.control();
    match control.add_upstream(&who, &new.name, Value::Object(new.settings)) {
        Ok(change) => done(json!({ "done": change.to_string() })),
        Err(refusal) => refused(&refusal),
    }
}

pub(super) async fn change_server(
    AxumState(gateway): Shared,
    who: Who,
    At(name): At<String>,
    Body(settings): Body<Settings>,
) -> Response {
    let control = gateway.access.control();
    match control.change_upstream(&who, &name, Value::Object(settings)) {
        Ok(change) => done(json!({ "done": change.to_string() })),
        Err(refusal) => refused(&refusal),
    }
}

pub(super) async fn server(AxumState(gateway): Shared, who: Who, At(name): At<String>) -> Response {
    match gateway.fleet.get(&name) {
        Ok(upstream) => done(management::describe(&gateway, &who, &upstream)),
        Err(fault) => failed(StatusCode::NOT_FOUND, &fault.to_string(), None),
    }
}

pub(super) async fn remove_server(
    AxumState(gateway): Shared,
    who: Who,
    At(name): At<String>,
) -> Response {
    match gateway.access.control().remove_upstream(&who, &name) {
        Ok(change) => done(json!({ "done": change.to_string() })),
        Err(refusal) => refused(&refusal),
    }
}

pub(super) async fn look_at_server(
    AxumState(gateway): Shared,
    who: Who,
    At((name, what)): At<(String, String)>,
) -> Response {
    let upstream = match gateway.fleet.get(&name) {
        Ok(upstream) => upstream,
        Err(fault) => return failed(StatusCode::NOT_FOUND, &fault.to_string(), None),
    };
    match what.as_str() {
        "logs" => {
            let lines = upstream.stderr().into_iter();
            let lines: Vec<_> = lines.map(|line| gateway.engine.masked(&line)).collect();
            done(json!({ "lines": lines }))
        }
        "tools" => {
            let listed = upstream.listed();
            let tools: Vec<Value> = listed
                .tools
                .iter()
                .filter_map(|card| serde_json::from_str(card.text()).ok())
                .collect();
            let states = quarantine::states(&gateway, &name, &who);
            done(json!({
                "tools": tools,
                "filtered": listed.filtered.len(),
                "quarantine": states,
            }))
        }
        _ => failed(StatusCode::NOT_FOUND, "no such resource", None),
    }
}

pub(super) async fn act_on_server(
    AxumState(gateway): Shared,
    who: Who,
    headers: HeaderMap,
    At((name, action)): At<(String, String)>,
) -> Response {
    let control = gateway.access.control();
    let changed = match action.as_str() {
        "enable" => control
            .enable_upstream(&who, &name)
            .map(|change| change.to_string()),
        "disable" => control
            .disable_upstream(&who, &name)
            .map(|change| change.to_string()),
        "restart" | "refresh" => {
            let acted = if action == "restart" {
                gateway.fleet.restart(&name)
            } else {
                gateway.fleet.get(&name).map(|upstream| upstream.refresh())
            };
            return match acted {
                Ok(()) => done(json!({ "done": format!("{action} of `{name}`") })),
                Err(fault) => failed(StatusCode::NOT_FOUND, &fault.to_string(), None),
            };
        }
        "quarantine" | "unquarantine" => {
            return quarantine::server(&gateway, &who, (&name, &action), &headers).await;
        }
        _ => return failed(StatusCode::NOT_FOUND, "no such action", None),
    };
    match changed {
        Ok(change) => done(json!({ "done": change })),
        Err(refusal) => refused(&refusal),
    }
}
