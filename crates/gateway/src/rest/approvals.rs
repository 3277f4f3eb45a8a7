//! Calls that wait for a person: who waits, and what the person says.
//!
//! Answering needs the API key, also over the socket: an agent runs as the user and can reach the
//! socket, and must not be able to answer for them.

use axum::extract::State as AxumState;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use mcpproxy_core::PrincipalKind;
use mcpproxy_engine::Approval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::taken::{At, Body};
use super::{Shared, Who, done, failed};
use crate::board::Decision;
use crate::gateway::Gateway;

/// The answer to a question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    decision: Decision,
}

/// The calls that wait.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Approvals")]
pub(super) struct Waiting {
    /// What is asked, oldest first.
    #[schemars(with = "Vec<Approval>")]
    approvals: Vec<Value>,
}

/// What came of a question.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AnsweredApproval")]
pub(super) struct Settled {
    /// The question.
    id: String,
    /// What was said.
    #[schemars(extend("enum" = ["approved", "denied"]))]
    outcome: &'static str,
}

/// Lists what waits, oldest first, also at other gateways.
pub(super) async fn list(AxumState(gateway): Shared) -> Response {
    let waiting = gateway.engine.approvals().list(gateway.clock.tick());
    let waiting = waiting.iter().map(|one| json!(one));
    let mut waiting: Vec<Value> = waiting.collect();
    waiting.extend(gateway.asked_elsewhere().await);
    waiting.sort_by(|one, other| one["id"].as_str().cmp(&other["id"].as_str()));
    done(&Waiting { approvals: waiting })
}

/// Answers one question.
pub(super) async fn answer(
    AxumState(gateway): Shared,
    who: Who,
    headers: HeaderMap,
    At(id): At<String>,
    Body(answer): Body<Answer>,
) -> Response {
    if !holds_key(&gateway, &headers) {
        let hint = "set MCPPROXY_API_KEY or type the key; it is in the data folder";
        let message = "answering for a person needs the API key";
        return failed(StatusCode::FORBIDDEN, message, Some(hint));
    }
    let (decision, outcome) = (answer.decision, answer.decision.outcome());
    let settled = gateway.settle_question(&id, decision, &who.name).await;
    if let Some(about) = settled {
        gateway.take_from_board(about.id).await;
        let id = about.id.to_string();
        return done(&Settled { id, outcome });
    }
    if gateway.answer_elsewhere(&id, decision, &who.name).await {
        return done(&Settled { id, outcome });
    }
    let hint = "`mcpproxy approvals list` shows what waits";
    failed(StatusCode::NOT_FOUND, "no such question waits", Some(hint))
}

/// Tells whether a request shows the API key.
pub(super) fn holds_key(gateway: &Gateway, headers: &HeaderMap) -> bool {
    let presented = crate::access::credential(headers).ok().flatten();
    let known = presented.and_then(|key| gateway.access.control().authenticate(key));
    known.is_some_and(|known| known.kind == PrincipalKind::Owner)
}
