//! The tool with which an agent looks into the quarantine and puts something there. It never takes
//! anything out: an agent cannot answer for a person.

use std::sync::Arc;

use mcpproxy_control::{Moved, Refused};
use mcpproxy_core::{Door, OfferKind, OfferState, Operation, Principal, PrincipalKind, UpstreamId};
use mcpproxy_engine::{Known, Which};
use mcpproxy_mcp::era;
use serde_json::{Value, json};

use crate::downstream::Downstream;
use crate::error::Failure;
use crate::gateway::Gateway;

/// The operations.
pub(crate) const OPERATIONS: [&str; 8] = [
    "list_quarantined",
    "inspect_quarantined",
    "inspect_tools",
    "quarantine_server",
    "block_tool",
    "block_all_tools",
    "approve_tool",
    "approve_all_tools",
];

/// Answers `quarantine_security`. What an upstream wrote is not in the answer: it is what the
/// agent is kept from.
pub async fn quarantine_security(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    arguments: &Value,
) -> Result<Value, Failure> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let upstream = || {
        let name =
            text("name").ok_or_else(|| Failure::params("`name` of the server is missing"))?;
        let id = UpstreamId::new(name);
        gateway.upstream_for(&downstream.who, name, None)?;
        gateway.access.reaches(&downstream.who, &id)?;
        Ok::<_, Failure>(id)
    };
    let control = gateway.access.control();
    let who = &downstream.who;
    // What is put away is put away for everybody: who may only read takes nothing from others, nor
    // does somebody whom an issuer or an authority vouches for, of whom there are many.
    let held = || {
        if is_guest(who) {
            return Err(not_for_guests());
        }
        let id = upstream()?;
        gateway.access.permits(who, &id, || Operation::Write)?;
        Ok::<_, Failure>(id)
    };
    let whole = |id: UpstreamId| {
        if hidden(gateway, who, &id) {
            Err(too_narrow())
        } else {
            Ok(id)
        }
    };
    let moved = match text("operation").unwrap_or_default() {
        "list_quarantined" => return Ok(withheld(gateway, downstream)),
        "inspect_quarantined" => return Ok(of(gateway, who, &upstream()?, |state| !state)),
        "inspect_tools" => return Ok(of(gateway, who, &upstream()?, |_| true)),
        "quarantine_server" => {
            let upstream = held().and_then(whole)?;
            control.quarantine(who, upstream.as_str())
        }
        "block_all_tools" => {
            let upstream = held().and_then(whole)?;
            control.block_offers(who, upstream.as_str(), &Which::All)
        }
        "block_tool" => {
            let tool =
                text("tool_name").ok_or_else(|| Failure::params("`tool_name` is missing"))?;
            let (upstream, names) = (held()?, [tool.to_owned()]);
            if gateway
                .engine
                .may_know(who, &upstream, OfferKind::Tool, tool)
            {
                control.block_offers(who, upstream.as_str(), &Which::Named(&names))
            } else {
                Err(Refused::unknown_offer(tool))
            }
        }
        "approve_tool" | "approve_all_tools" => return Err(not_for_agents()),
        other => return Err(Failure::params(format!("unknown operation `{other}`"))),
    };
    let change = told(
        gateway,
        moved.map_err(|refusal| refuse(&refusal))?,
        Door::Mcp,
    )
    .await;
    Ok(json!({ "done": change }))
}

/// Tells everybody of a change, and returns it in words.
pub(crate) async fn told(gateway: &Gateway, moved: Moved, door: Door) -> String {
    let Moved { change, news } = moved;
    if !news.is_empty() {
        gateway.engine.tell(news, door).await;
        gateway.hub.moved();
    }
    change.to_string()
}

/// Tells whether a caller is one of those who share this gateway and administer nothing.
fn is_guest(who: &Principal) -> bool {
    match who.kind {
        PrincipalKind::User | PrincipalKind::Certificate => true,
        PrincipalKind::Owner | PrincipalKind::Agent | PrincipalKind::Local => false,
    }
}

fn not_for_guests() -> Failure {
    let message = "this caller administers nothing: the owner puts a server or a tool away";
    Failure::downstream(era::DENIED, "denied", message)
}

fn not_for_agents() -> Failure {
    let message = "an agent cannot lift a quarantine; a person approves with \
                   `mcpproxy tools approve SERVER TOOL`";
    Failure::downstream(era::DENIED, "denied", message)
}

/// Tells whether an upstream has something that a caller may not know of.
fn hidden(gateway: &Gateway, who: &Principal, upstream: &UpstreamId) -> bool {
    let offers = gateway.engine.offers(Some(upstream));
    !offers
        .iter()
        .all(|one| may_know(gateway, who, upstream, one))
}

fn too_narrow() -> Failure {
    let message = "this caller cannot put away a whole server; use `block_tool`";
    Failure::downstream(era::DENIED, "denied", message)
}

fn refuse(refused: &Refused) -> Failure {
    Failure::downstream(era::DENIED, "forbidden", refused.to_string())
}

/// Everything that is withheld of the upstreams that a caller may know of.
fn withheld(gateway: &Gateway, downstream: &Downstream) -> Value {
    let known = gateway.known_to(&downstream.who);
    let offers = gateway.engine.offers(None);
    let mut found: Vec<Value> = Vec::new();
    for upstream in &known {
        let name = upstream.name().as_str();
        let own = offers.iter().filter(|one| one.server_name == name);
        let own = own.filter(|one| one.state != OfferState::Approved);
        let own = own.filter(|one| may_know(gateway, &downstream.who, upstream.name(), one));
        found.extend(own.map(shown));
    }
    json!({ "quarantined": found })
}

/// Tells whether access rules let a caller know of something.
fn may_know(gateway: &Gateway, who: &Principal, upstream: &UpstreamId, known: &Known) -> bool {
    match known.kind {
        OfferKind::Server | OfferKind::Instructions => true,
        OfferKind::Tool | OfferKind::Prompt | OfferKind::Resource | OfferKind::Template => {
            let engine = &gateway.engine;
            engine.may_know(who, upstream, known.kind, &known.name)
        }
    }
}

/// What is known about one upstream.
fn of(
    gateway: &Gateway,
    who: &Principal,
    upstream: &UpstreamId,
    wanted: impl Fn(bool) -> bool,
) -> Value {
    let offers = gateway.engine.offers(Some(upstream));
    let server = offers.iter().find(|one| one.kind == OfferKind::Server);
    let items = offers.iter().filter(|one| one.kind != OfferKind::Server);
    let items = items.filter(|one| wanted(one.state == OfferState::Approved));
    let items = items.filter(|one| may_know(gateway, who, upstream, one));
    json!({
        "server": server.map(shown),
        "tools": items.map(shown).collect::<Vec<_>>(),
    })
}

fn shown(known: &Known) -> Value {
    json!({
        "server": known.server_name,
        "kind": known.kind,
        "name": known.name,
        "state": known.state,
        "reason": known.reason,
        "since": known.since,
        "hash": known.fingerprint.combined_hash,
    })
}
