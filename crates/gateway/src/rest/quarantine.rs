//! What upstreams offer and may not be used: approving, blocking, and what changed.
//!
//! Letting something pass needs the API key, also over the socket: an agent runs as the user and
//! can reach the socket, and must not be able to answer for them.

use axum::extract::State as AxumState;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use mcpproxy_control::{Moved, Refused};
use mcpproxy_core::{Door, OfferKind, OfferState, Principal, UpstreamId};
use mcpproxy_engine::{Known, Which};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::approvals::holds_key;
use super::status::Trouble;
use super::taken::{At, Body};
use super::{Shared, Who, done, failed, refused};
use crate::gateway::Gateway;
use crate::quarantine::told;

/// The tools that are let pass.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("oneOf" = some_or_all("approve_all")))]
pub(super) struct Approved {
    /// Their names; none where all are meant.
    tools: Vec<String>,
    /// With one tool: the hash that it had when it was looked at.
    hash: Option<String>,
    /// Whether all are meant.
    approve_all: bool,
}

/// The tools that are withheld.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("oneOf" = some_or_all("block_all")))]
pub(super) struct Blocked {
    /// Their names; none where all are meant.
    tools: Vec<String>,
    /// With one tool: the hash that it had when it was looked at.
    hash: Option<String>,
    /// Whether all are meant.
    block_all: bool,
}

/// Says in a schema what [`which`] takes: all, or some by name, of which one may be by its hash.
fn some_or_all(all: &str) -> Value {
    let (none, yes, no) = (
        json!({ "type": "null" }),
        json!({ "const": true }),
        json!({ "const": false }),
    );
    let one = |required: &[&str], tools: Value, hash: &Value, is_all: &Value| {
        json!({ "required": required, "properties": {
            "tools": tools, "hash": hash, all: is_all,
        } })
    };
    let (one_at_least, exactly_one) = (
        json!({ "minItems": 1 }),
        json!({ "minItems": 1, "maxItems": 1 }),
    );
    json!([
        one(&[all], json!({ "maxItems": 0 }), &none, &yes),
        one(&["tools"], one_at_least, &none, &no),
        one(
            &["tools", "hash"],
            exactly_one,
            &json!({ "type": "string" }),
            &no
        ),
    ])
}

/// What was done to what an upstream offers.
#[derive(Serialize, JsonSchema)]
pub(super) struct MovedOffers {
    /// A sentence for people.
    done: String,
    /// How many things are in another state now.
    changed: usize,
}

/// Lets tools pass as they are now.
pub(super) async fn approve(
    AxumState(gateway): Shared,
    who: Who,
    headers: HeaderMap,
    At(name): At<String>,
    Body(chosen): Body<Approved>,
) -> Response {
    if !holds_key(&gateway, &headers) {
        return needs_key();
    }
    let Some(which) = which(&chosen.tools, chosen.hash.as_deref(), chosen.approve_all) else {
        return nothing_chosen("approve_all");
    };
    let control = gateway.access.control();
    answered(&gateway, control.approve_offers(&who, &name, &which)).await
}

/// Withholds tools for good.
pub(super) async fn block(
    AxumState(gateway): Shared,
    who: Who,
    At(name): At<String>,
    Body(chosen): Body<Blocked>,
) -> Response {
    let Some(which) = which(&chosen.tools, chosen.hash.as_deref(), chosen.block_all) else {
        return nothing_chosen("block_all");
    };
    let control = gateway.access.control();
    answered(&gateway, control.block_offers(&who, &name, &which)).await
}

/// Shows what changed in a tool since it was approved.
pub(super) async fn diff(
    AxumState(gateway): Shared,
    who: Who,
    At((name, tool)): At<(String, String)>,
) -> Response {
    match gateway.access.control().offer_diff(&who, &name, &tool) {
        Ok(diff) => done(&diff),
        Err(refusal) => refused(&refusal),
    }
}

/// Withholds an upstream or lets it out.
pub(super) async fn server(
    gateway: &Gateway,
    who: &Principal,
    (name, action): (&str, &str),
    headers: &HeaderMap,
) -> Response {
    let control = gateway.access.control();
    if action == "quarantine" {
        return answered(gateway, control.quarantine(who, name)).await;
    }
    if !holds_key(gateway, headers) {
        return needs_key();
    }
    answered(gateway, control.unquarantine(who, name)).await
}

/// Returns what state each thing is in that an upstream offers.
pub(super) fn states(gateway: &Gateway, name: &str, who: &Principal) -> Vec<Known> {
    let known = gateway.access.control().offers(who, Some(name));
    known.unwrap_or_default()
}

/// Says how much of an upstream is withheld, so that nothing vanishes without a word.
pub(super) fn problem(gateway: &Gateway, upstream: &UpstreamId) -> Option<Trouble> {
    let offers = gateway.engine.offers(Some(upstream));
    let withheld = offers
        .iter()
        .filter(|one| one.state != OfferState::Approved);
    let (servers, others): (Vec<_>, Vec<_>) =
        withheld.partition(|one| one.kind == OfferKind::Server);
    if let Some(server) = servers.first() {
        let reason = gateway.engine.masked_reason(&server.reason);
        let problem = format!("everything of it is withheld: {reason}");
        let hint = format!("mcpproxy upstream unquarantine {upstream}");
        return Some(Trouble::new(upstream.as_str(), problem).with_hint(hint));
    }
    let first = others.first()?;
    // Upstreams choose names, and one may be an address with a password. A reason names other tools.
    let (count, name) = (others.len(), gateway.engine.masked(&first.name));
    let reason = gateway.engine.masked_reason(&first.reason);
    let problem = format!("{count} of what it offers is withheld, as `{name}`: {reason}");
    Some(Trouble::new(upstream.as_str(), problem).with_hint("mcpproxy tools list"))
}

fn which<'a>(tools: &'a [String], hash: Option<&'a str>, all: bool) -> Option<Which<'a>> {
    match (tools, hash, all) {
        ([], None, true) => Some(Which::All),
        ([name], Some(hash), false) => Some(Which::Exactly { name, hash }),
        ([_, ..], None, false) => Some(Which::Named(tools)),
        _ => None,
    }
}

fn nothing_chosen(all: &str) -> Response {
    let message = format!("give either `tools` or `{all}: true`, and `hash` with one tool only");
    failed(StatusCode::BAD_REQUEST, &message, None)
}

fn needs_key() -> Response {
    let hint = "set MCPPROXY_API_KEY or type the key; it is in the data folder";
    let message = "letting something out of quarantine needs the API key";
    failed(StatusCode::FORBIDDEN, message, Some(hint))
}

async fn answered(gateway: &Gateway, moved: Result<Moved, Refused>) -> Response {
    match moved {
        Ok(moved) => {
            let changed = moved.news.len();
            let done = told(gateway, moved, Door::Api).await;
            super::done(&MovedOffers { done, changed })
        }
        Err(refusal) => refused(&refusal),
    }
}
