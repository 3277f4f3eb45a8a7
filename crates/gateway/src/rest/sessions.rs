//! Conversations: who talks to the gateway, and what a session read and sent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Extension;
use axum::extract::State as AxumState;
use axum::response::Response;
use http::StatusCode;
use mcpproxy_core::{
    CallId, DataOrigin, FlowType, Id128, Likeness, Principal, RiskLevel, SessionBasis, SessionKey,
    Status, Taint, Weight,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::taken::At;
use super::{Shared, Who, done, failed};
use crate::gateway::Gateway;
use crate::session;

/// What a session read, and where data of it went.
#[derive(Serialize, JsonSchema)]
pub(super) struct SessionFlow {
    /// Where data was read, latest last; a bounded number.
    origins: Vec<DataOrigin>,
    /// Where data moved, or was to, latest last; a bounded number.
    edges: Vec<Edge>,
    /// How often data was read, ever.
    origins_total: u64,
    /// How often data moved, ever.
    edges_total: u64,
    /// What the session has seen so far.
    seen: Taint,
}

/// Data that moved, or was to.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FlowEdge")]
struct Edge {
    /// The record of the call that sent it.
    activity_id: CallId,
    /// How that call ended, as far as it is known.
    #[schemars(with = "Option<Status>")]
    status: Option<String>,
    /// Where it was read.
    from: DataOrigin,
    /// Where it was to go.
    to: String,
    /// The tool that was to take it.
    tool: String,
    /// The direction.
    flow_type: FlowType,
    /// The risk.
    risk_level: RiskLevel,
    /// The specification's hash of what was recognized, where that is long enough.
    content_hash: Option<String>,
    /// How it was recognized.
    evidence: Likeness,
    /// How much it weighs.
    weight: Weight,
    /// Characters that were shared.
    shared: u32,
}

/// Shows what a session read and where data of it went.
pub(super) async fn session_flow(
    AxumState(gateway): Shared,
    who: Who,
    At(id): At<String>,
) -> Response {
    let mut keys = meant(&gateway, &id).into_iter().flat_map(|id| {
        let key = move |basis| SessionKey { basis, id };
        SessionBasis::ALL.map(key)
    });
    let Some(view) = keys.find_map(|key| gateway.engine.session(key)) else {
        let hint = "`GET /api/v1/activity` has the ids of sessions that have ended";
        return failed(StatusCode::NOT_FOUND, "no such session", Some(hint));
    };
    let session = view.whose.session.id.to_string();
    let calls = view.edges.iter().map(|edge| edge.call).collect();
    let ends = ends(&gateway, who, session, calls).await;
    let summary = &view.summary;
    let edges = view.edges.iter().map(|edge| Edge {
        activity_id: edge.call,
        status: ends.get(&edge.call).cloned(),
        from: edge.origin.clone(),
        to: edge.to.to_string(),
        tool: edge.tool.to_string(),
        flow_type: edge.flow,
        risk_level: edge.risk,
        content_hash: edge.hash.map(|hash| hash.to_string()),
        evidence: edge.how,
        weight: edge.weight,
        shared: edge.shared,
    });
    done(&SessionFlow {
        edges: edges.collect(),
        origins_total: summary.origins,
        edges_total: summary.edges,
        seen: summary.taint,
        origins: view.origins,
    })
}

/// Returns the ids on record that somebody may mean who names a session: that very id, or that of the
/// session which its client or the agent's hooks call so.
///
/// All three can look the same: our own `Mcp-Session-Id` has 32 hexadecimal digits as an id on record
/// has, and so has a UUID without dashes. So all are returned. Ids on record are digests, so that a
/// name which is not of one kind stands for nothing there.
pub(super) fn meant(gateway: &Gateway, name: &str) -> Vec<Id128> {
    let digits = name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let logged = u128::from_str_radix(name, 16).ok().filter(|_| digits);
    let hook = gateway.engine.hook_session(name);
    let hook = hook.unwrap_or_else(|| Gateway::hook_key(&Principal::local(), name));
    let named = [session::Sessions::key_for(name).id, hook.id];
    logged.map(Id128).into_iter().chain(named).collect()
}

/// Returns how calls of a session ended that took data along, as far as that is known: as the log has
/// it, and `pending` of those that wait for a person.
async fn ends(
    gateway: &Gateway,
    Extension(who): Who,
    session: String,
    calls: BTreeSet<CallId>,
) -> BTreeMap<CallId, String> {
    let waiting = gateway.engine.approvals().list(gateway.clock.tick());
    let waiting = waiting.iter().map(|one| one.id);
    let elsewhere = gateway.asked_elsewhere().await;
    let elsewhere = elsewhere.iter().filter_map(|one| one["id"].as_str());
    let waiting = waiting.chain(elsewhere.filter_map(CallId::parse));
    let waiting = waiting.filter(|call| calls.contains(call));
    let mut ends: BTreeMap<_, _> = waiting.map(|call| (call, "pending".to_owned())).collect();
    let mut sessions = gateway.engine.linked(&session);
    sessions.push(session);
    let control = Arc::clone(gateway.access.control());
    let found = move || control.ends_of_flows(&who, &sessions, &calls);
    // What moved is told also where the log cannot be read; how it ended is then not known.
    if let Ok(Ok(found)) = tokio::task::spawn_blocking(found).await {
        ends.extend(found);
    }
    ends
}

/// Lists the conversations of all gateways that share live state.
pub(super) async fn sessions(AxumState(gateway): Shared) -> Response {
    done(&gateway.list_sessions().await)
}
