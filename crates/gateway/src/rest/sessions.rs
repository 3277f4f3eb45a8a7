//! Conversations: who talks to the gateway, and what a session read and sent.

use axum::extract::State as AxumState;
use axum::response::Response;
use http::StatusCode;
use mcpproxy_core::{Id128, SessionBasis, SessionKey};
use serde_json::{Value, json};

use super::taken::At;
use super::{Shared, Who, done, failed, only_auditor, only_owner};

/// Shows what a session read and where data of it went.
pub(super) async fn session_flow(
    AxumState(gateway): Shared,
    who: Who,
    At(id): At<String>,
) -> Response {
    if let Err(refused) = only_auditor(&who) {
        return *refused;
    }
    let id = u128::from_str_radix(&id, 16).ok().map(Id128);
    let mut keys = id.into_iter().flat_map(|id| {
        let key = move |basis| SessionKey { basis, id };
        SessionBasis::ALL.map(key)
    });
    let Some(view) = keys.find_map(|key| gateway.engine.session(key)) else {
        let hint = "`GET /api/v1/activity` has the ids of sessions that have ended";
        return failed(StatusCode::NOT_FOUND, "no such session", Some(hint));
    };
    let summary = &view.summary;
    let edges = view.edges.iter().map(|edge| {
        json!({
            "activity_id": edge.call,
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

pub(super) async fn sessions(AxumState(gateway): Shared, who: Who) -> Response {
    owner!(who);
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
