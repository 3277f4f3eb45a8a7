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

use super::approvals::holds_key;
use super::status::Trouble;
use super::taken::{At, Body};
use super::{Shared, Who, done, failed, refused};
use crate::gateway::Gateway;
use crate::quarantine::told;

/// The tools that are meant.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Chosen {
    tools: Vec<String>,
    /// With one tool: the hash that it had when it was looked at.
    hash: Option<String>,
    approve_all: bool,
    block_all: bool,
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
    Body(chosen): Body<Chosen>,
) -> Response {
    if !holds_key(&gateway, &headers) {
        return needs_key();
    }
    let Some(which) = which(&chosen, chosen.approve_all) else {
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
    Body(chosen): Body<Chosen>,
) -> Response {
    let Some(which) = which(&chosen, chosen.block_all) else {
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

fn which(chosen: &Chosen, all: bool) -> Option<Which<'_>> {
    match (chosen.tools.as_slice(), chosen.hash.as_deref(), all) {
        ([], None, true) => Some(Which::All),
        ([name], Some(hash), false) => Some(Which::Exactly { name, hash }),
        ([_, ..], None, false) => Some(Which::Named(&chosen.tools)),
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
