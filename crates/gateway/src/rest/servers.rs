//! Upstreams: what they are, how they are doing, and what is done to them.

use axum::extract::State as AxumState;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use mcpproxy_control::{Change, Refused};
use mcpproxy_core::{Door, Masked};
use mcpproxy_engine::Known;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::quarantine::MovedOffers;
use super::taken::{At, Body};
use super::{Done, Shared, Who, done, failed, quarantine, refused};
use crate::gateway::Gateway;
use crate::management;

pub(super) async fn servers(AxumState(gateway): Shared, who: Who) -> Response {
    done(&management::list(&gateway, &who))
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
#[schemars(extend("anyOf" = [{ "required": ["command"] }, { "required": ["url"] }]))]
pub(super) struct NewServer {
    /// Its name.
    #[schemars(regex(pattern = r"^(?!.*__)(?!\.+$)[A-Za-z0-9_.-]{1,64}$"))]
    name: String,
    #[serde(flatten)]
    settings: Settings,
}

/// Settings as the configuration file has them.
pub(super) type Settings = Map<String, Value>;

pub(super) async fn add_server(
    AxumState(gateway): Shared,
    who: Who,
    Body(new): Body<NewServer>,
) -> Response {
    if !["command", "url"]
        .iter()
        .any(|one| new.settings.contains_key(*one))
    {
        let hint = "give the program to start as `command`, or the address as `url`";
        let message = "neither `command` nor `url` is given";
        return failed(StatusCode::BAD_REQUEST, message, Some(hint));
    }
    let control = gateway.access.control();
    let added = control.add_upstream(&who, &new.name, Value::Object(new.settings));
    changed(&gateway, added).await
}

/// Puts a change on record, and says what was done.
async fn changed(gateway: &Gateway, change: Result<Change, Refused>) -> Response {
    match change {
        Ok(change) => {
            gateway.note_change(&change, Door::Api).await;
            done(&Done::new(&change))
        }
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
    let made = control.change_upstream(&who, &name, Value::Object(settings));
    changed(&gateway, made).await
}

pub(super) async fn server(AxumState(gateway): Shared, who: Who, At(name): At<String>) -> Response {
    match gateway.fleet.get(&name) {
        Ok(upstream) => done(&management::describe(&gateway, &who, &upstream)),
        Err(fault) => failed(StatusCode::NOT_FOUND, &fault.to_string(), None),
    }
}

pub(super) async fn remove_server(
    AxumState(gateway): Shared,
    who: Who,
    At(name): At<String>,
) -> Response {
    let removed = gateway.access.control().remove_upstream(&who, &name);
    changed(&gateway, removed).await
}

/// What was looked at.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Looked {
    /// What the upstream writes about itself.
    Logs {
        /// The last lines of its standard error, masked.
        lines: Vec<Masked>,
    },
    /// What the upstream offers.
    Tools {
        /// Its tools, as it lists them.
        tools: Vec<Map<String, Value>>,
        /// How many tools are left out by the configuration.
        filtered: usize,
        /// What is known about everything that it offers.
        quarantine: Vec<Known>,
    },
}

/// What was done to an upstream; to what it offers, where it is put away or let out.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(
    dead_code,
    reason = "it stands for what is sent, which is one of these"
)]
pub(super) enum Acted {
    Moved(MovedOffers),
    Done(Done),
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
            let lines = lines.map(|line| gateway.engine.masked(&line)).collect();
            done(&Looked::Logs { lines })
        }
        "tools" => {
            let listed = upstream.listed();
            let tools = listed.tools.iter();
            done(&Looked::Tools {
                tools: tools
                    .filter_map(|card| serde_json::from_str(card.text()).ok())
                    .collect(),
                filtered: listed.filtered.len(),
                quarantine: quarantine::states(&gateway, &name, &who),
            })
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
    let made = match action.as_str() {
        "enable" => control.enable_upstream(&who, &name),
        "disable" => control.disable_upstream(&who, &name),
        "restart" | "refresh" => {
            let acted = if action == "restart" {
                gateway.fleet.restart(&name)
            } else {
                gateway.fleet.get(&name).map(|upstream| upstream.refresh())
            };
            return match acted {
                Ok(()) => done(&Done::new(&format!("{action} of `{name}`"))),
                Err(fault) => failed(StatusCode::NOT_FOUND, &fault.to_string(), None),
            };
        }
        "quarantine" | "unquarantine" => {
            return quarantine::server(&gateway, &who, (&name, &action), &headers).await;
        }
        _ => return failed(StatusCode::NOT_FOUND, "no such action", None),
    };
    changed(&gateway, made).await
}
