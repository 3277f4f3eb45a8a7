//! Calls that wait for a person: who waits, and what the person says.
//!
//! Answering needs the API key, also over the socket: an agent runs as the user and can reach the
//! socket, and must not be able to answer for them.

use axum::extract::State as AxumState;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use mcpproxy_core::PrincipalKind;
use mcpproxy_engine::{Event, Said};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::taken::{At, Body};
use super::{Shared, Who, done, failed, only_owner};
use crate::gateway::Gateway;

/// What a person says about a call.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Approve,
    ApproveForSession,
    Deny,
}

/// The answer to a question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    decision: Decision,
}

/// Lists what waits, oldest first.
pub(super) async fn list(AxumState(gateway): Shared, who: Who) -> Response {
    owner!(who);
    let waiting = gateway.engine.approvals().list(gateway.clock.tick());
    done(json!({ "approvals": waiting }))
}

/// Answers one question.
pub(super) async fn answer(
    AxumState(gateway): Shared,
    who: Who,
    headers: HeaderMap,
    At(id): At<String>,
    Body(answer): Body<Answer>,
) -> Response {
    owner!(who);
    if !holds_key(&gateway, &headers) {
        let hint = "set MCPPROXY_API_KEY or type the key; it is in the data folder";
        let message = "answering for a person needs the API key";
        return failed(StatusCode::FORBIDDEN, message, Some(hint));
    }
    let (said, outcome) = match answer.decision {
        Decision::Approve | Decision::ApproveForSession => (Said::Yes, "approved"),
        Decision::Deny => (Said::No, "denied"),
    };
    let engine = &gateway.engine;
    let patience = engine.patience().unwrap_or_default();
    let now = gateway.clock.tick();
    if let Decision::ApproveForSession = answer.decision {
        engine.approvals().keep(&id, now);
    }
    let Some(about) = engine.approvals().answer(&id, said, now, patience) else {
        let hint = "`mcpproxy approvals list` shows what waits";
        return failed(StatusCode::NOT_FOUND, "no such question waits", Some(hint));
    };
    engine
        .events()
        .tell(Event::approval_resolved(&about, outcome));
    done(json!({ "id": about.id, "outcome": outcome }))
}

/// Tells whether a request shows the API key.
pub(super) fn holds_key(gateway: &Gateway, headers: &HeaderMap) -> bool {
    let presented = crate::access::credential(headers).ok().flatten();
    let known = presented.and_then(|key| gateway.access.control().authenticate(key));
    known.is_some_and(|known| known.kind == PrincipalKind::Owner)
}
