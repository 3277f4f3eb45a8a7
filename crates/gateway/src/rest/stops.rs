//! Orders to stop calls at once, and to let them go again.

use axum::extract::State as AxumState;
use axum::response::Response;
use http::StatusCode;
use mcpproxy_core::{Door, Principal};
use mcpproxy_engine::{StopScope, is_named};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::taken::{At, Body};
use super::{Done, Shared, Who, done, failed, refused};
use crate::gateway::Gateway;
use crate::notices::Notice;

/// How a scope is written.
pub(super) const SCOPE: &str = r"^(all|(upstream|session|principal):[^\x00-\x1f\x7f-\x9f]{1,256})$";

pub(super) async fn stops(AxumState(gateway): Shared) -> Response {
    done(&stopped(&gateway))
}

/// What is stopped, as scopes are written.
pub(super) fn stopped(gateway: &Gateway) -> Vec<String> {
    let orders = gateway.engine.stops().list();
    orders.iter().map(ToString::to_string).collect()
}

/// What to stop.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StopOrder {
    /// `all`, `upstream:NAME`, `session:ID` or `principal:NAME`.
    #[schemars(regex(pattern = SCOPE))]
    scope: String,
}

/// What was stopped.
#[derive(Serialize, JsonSchema)]
pub(super) struct Stopped {
    /// A sentence for people.
    done: String,
    /// The scope, as it is kept.
    scope: String,
    /// What is odd about it.
    notice: Option<&'static str>,
}

/// Reads a scope. A session may be named as its client knows it; the log knows another name.
fn parse_scope(gateway: &Gateway, scope: &str) -> Result<StopScope, Box<Response>> {
    let refused = |message: String| Box::new(failed(StatusCode::BAD_REQUEST, &message, None));
    let scope = scope.parse::<StopScope>().map_err(refused)?;
    Ok(match scope {
        StopScope::Session(id) => {
            let key = gateway.sessions.key_of(&id);
            StopScope::Session(key.map_or(id, |key| key.id.to_string()))
        }
        other => other,
    })
}

/// Tells whether there is anything that a scope covers. A typing mistake in an order to stop is
/// worse than anywhere else.
fn covers_something(gateway: &Gateway, who: &Principal, scope: &StopScope) -> bool {
    match scope {
        StopScope::All => true,
        StopScope::Upstream(name) => gateway.fleet.get(name.as_str()).is_ok(),
        StopScope::Session(id) => {
            let sessions = gateway.sessions.all();
            sessions.iter().any(|one| one.key.id.to_string() == *id)
        }
        StopScope::Principal(name) => {
            let tokens = gateway.access.control().list_tokens(who);
            let known = |token: &str| is_named(&format!("token:{token}"), name);
            ["local", "owner"].contains(&name.as_str())
                || tokens.is_ok_and(|tokens| tokens.iter().any(|token| known(&token.name)))
        }
    }
}

pub(super) async fn stop_calls(
    AxumState(gateway): Shared,
    who: Who,
    Body(order): Body<StopOrder>,
) -> Response {
    let scope = match parse_scope(&gateway, &order.scope) {
        Ok(scope) => scope,
        Err(answer) => return *answer,
    };
    match gateway.access.control().stop_calls(&who, &scope) {
        Ok(change) => {
            gateway.note_change(&change, Door::Api).await;
            let (name, by) = (scope.to_string(), who.name.to_string());
            gateway.announce(Notice::Stopped { scope: name, by }).await;
            let nothing = "nothing that is known goes by this name; the order stands all the same";
            let notice = (!covers_something(&gateway, &who, &scope)).then_some(nothing);
            done(&Stopped {
                done: change.to_string(),
                scope: scope.to_string(),
                notice,
            })
        }
        Err(refusal) => refused(&refusal),
    }
}

pub(super) async fn resume_calls(
    AxumState(gateway): Shared,
    who: Who,
    At(scope): At<String>,
) -> Response {
    let scope = match parse_scope(&gateway, &scope) {
        Ok(scope) => scope,
        Err(answer) => return *answer,
    };
    match gateway.access.control().resume_calls(&who, &scope) {
        Ok(change) => {
            gateway.note_change(&change, Door::Api).await;
            let scope = scope.to_string();
            gateway.announce(Notice::Resumed { scope }).await;
            done(&Done::new(&change))
        }
        Err(refusal) => refused(&refusal),
    }
}
