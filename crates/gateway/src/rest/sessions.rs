//! Conversations: who talks to the gateway, and what a session read and sent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Extension;
use axum::extract::State as AxumState;
use axum::response::Response;
use http::StatusCode;
use mcpproxy_core::{CallId, Id128, SessionBasis, SessionKey};
use serde_json::{Value, json};

use super::taken::At;
use super::{Shared, Who, done, failed};
use crate::gateway::Gateway;

/// Shows what a session read and where data of it went.
pub(super) async fn session_flow(
    AxumState(gateway): Shared,
    who: Who,
    At(id): At<String>,
) -> Response {
    let id = u128::from_str_radix(&id, 16).ok().map(Id128);
    let mut keys = id.into_iter().flat_map(|id| {
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
    let edges = view.edges.iter().map(|edge| {
        json!({
            "activity_id": edge.call,
            "status": ends.get(&edge.call),
            "from": edge.origin,
            "to": &*edge.to,
            "tool": edge.tool.as_str(),
            "flow_type": edge.flow,
            "risk_level": edge.risk,
            "content_hash": edge.hash.map(|hash| hash.to_string()),
            "evidence": edge.how,
            "weight": edge.weight,
            "shared": edge.shared,
        })
    });
    done(json!({
        "origins": view.origins,
        "edges": edges.collect::<Vec<_>>(),
        "origins_total": summary.origins,
        "edges_total": summary.edges,
        "seen": summary.taint,
    }))
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

pub(super) async fn sessions(AxumState(gateway): Shared) -> Response {
    let sessions: Vec<_> = gateway
        .sessions
        .all()
        .iter()
        .take(1000)
        .map(|session| {
            let client: Value =
                serde_json::from_str(&session.greeting.client_info).unwrap_or_default();
            json!({
                "id": session.key.id.to_string(),
                "principal": &*session.who.name,
                "protocol_version": session.version,
                "client": client,
            })
        })
        .collect();
    done(json!({ "total": gateway.sessions.len(), "sessions": sessions }))
}
