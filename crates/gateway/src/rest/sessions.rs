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
use mcpproxy_engine::{Edge as Moved, SessionView};
use schemars::JsonSchema;
use serde::Serialize;

use super::taken::At;
use super::{Shared, Who, done, failed};
use crate::gateway::Gateway;
use crate::session;

/// What a session, and those that are linked with it, read, and where data of it went.
#[derive(Serialize, JsonSchema)]
pub(super) struct SessionFlow {
    /// Where data was read, latest last; a bounded number. What the agent or the user said themselves
    /// is not among it.
    origins: Vec<DataOrigin>,
    /// Where data moved, or was to, latest last; a bounded number.
    edges: Vec<Edge>,
    /// How often data was read, ever.
    origins_total: u64,
    /// How often data moved, ever.
    edges_total: u64,
    /// What the conversation has seen so far.
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

/// Shows what a session read and where data of it went: the whole conversation, whichever of its
/// sessions is named.
pub(super) async fn session_flow(
    AxumState(gateway): Shared,
    who: Who,
    At(id): At<String>,
) -> Response {
    let keys = meant(&gateway, &id).into_iter().flat_map(|id| {
        let key = move |basis| SessionKey { basis, id };
        SessionBasis::ALL.map(key)
    });
    let mut views = keys.map(|key| gateway.engine.views(key));
    let Some(views) = views.find(|views| !views.is_empty()) else {
        let hint = "`GET /api/v1/activity` has the ids of sessions that have ended";
        return failed(StatusCode::NOT_FOUND, "no such session", Some(hint));
    };
    let sessions = views.iter().map(|view| view.whose.session.id.to_string());
    let sessions = sessions.collect();
    let calls = views.iter().flat_map(|view| &view.edges);
    let calls = calls.map(|edge| edge.call).collect();
    let ends = ends(&gateway, who, sessions, calls).await;
    done(&SessionFlow::of(views, &ends))
}

impl SessionFlow {
    /// Puts together what the sessions of a conversation read and moved.
    fn of(views: Vec<SessionView>, ends: &BTreeMap<CallId, String>) -> Self {
        let mut flow = Self {
            origins: Vec::new(),
            edges: Vec::new(),
            origins_total: 0,
            edges_total: 0,
            seen: Taint::default(),
        };
        for view in views {
            flow.origins_total += view.summary.origins;
            flow.edges_total += view.summary.edges;
            flow.seen.private |= view.summary.taint.private;
            flow.seen.untrusted |= view.summary.taint.untrusted;
            flow.seen.outside |= view.summary.taint.outside;
            flow.origins.extend(view.origins);
            let edges = view.edges.into_iter();
            flow.edges.extend(edges.map(|edge| Edge::of(edge, ends)));
        }
        flow.origins.sort_by_key(|origin| (origin.at, origin.call));
        flow.edges.sort_by_key(|edge| edge.activity_id);
        flow
    }
}

impl Edge {
    fn of(moved: Moved, ends: &BTreeMap<CallId, String>) -> Self {
        Self {
            activity_id: moved.call,
            status: ends.get(&moved.call).cloned(),
            from: moved.origin,
            to: moved.to.to_string(),
            tool: moved.tool.to_string(),
            flow_type: moved.flow,
            risk_level: moved.risk,
            content_hash: moved.hash.map(|hash| hash.to_string()),
            evidence: moved.how,
            weight: moved.weight,
            shared: moved.shared,
        }
    }
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

/// Returns how calls of some sessions ended that took data along, as far as that is known: as the log has
/// it, and `pending` of those that wait for a person.
async fn ends(
    gateway: &Gateway,
    Extension(who): Who,
    mut sessions: Vec<String>,
    calls: BTreeSet<CallId>,
) -> BTreeMap<CallId, String> {
    let waiting = gateway.engine.approvals().list(gateway.clock.tick());
    let waiting = waiting.iter().map(|one| one.id);
    let elsewhere = gateway.asked_elsewhere().await;
    let elsewhere = elsewhere.iter().filter_map(|one| one["id"].as_str());
    let waiting = waiting.chain(elsewhere.filter_map(CallId::parse));
    let waiting = waiting.filter(|call| calls.contains(call));
    let mut ends: BTreeMap<_, _> = waiting.map(|call| (call, "pending".to_owned())).collect();
    // A call is on record under the session of the hook, which need not last any more.
    for session in sessions.clone() {
        for linked in gateway.engine.linked(&session) {
            if !sessions.contains(&linked) {
                sessions.push(linked);
            }
        }
    }
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
