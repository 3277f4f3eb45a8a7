//! Tools of all upstreams: listing, searching and calling them.

use std::sync::Arc;

use axum::extract::State as AxumState;
use axum::response::Response;
use http::StatusCode;
use mcpproxy_core::{Door, Oddity, OfferKind};
use mcpproxy_mcp::compose::quoted;
use mcpproxy_mcp::era::{self, Era, LEGACY_LATEST};
use mcpproxy_mcp::{Frame, compose};
use mcpproxy_upstream::Greeting;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::taken::{Asked, Body};
use super::{Shared, Who, done, done_under, failed, failed_under, request_id};
use crate::arrived::Arrived;
use crate::downstream::{Downstream, Reply, Way};
use crate::error::{DISABLED, UNKNOWN_TOOL, UNKNOWN_UPSTREAM};
use crate::gateway::Gateway;
use crate::router;
use crate::settings::RoutingMode;
use crate::unjudged::{Judged, Knock};

/// A tool of an upstream.
#[derive(Serialize, JsonSchema)]
pub(super) struct Tool {
    /// Its name, as `upstream:tool`.
    name: String,
    /// Whether it may be used; `withheld` where a hook says that it may not.
    #[schemars(extend("enum" = ["approved", "quarantined", "rug_pull", "blocked", "withheld"]))]
    state: &'static str,
    /// Why it may not be used.
    reason: Option<String>,
    /// What it says about itself, whole as agents get it.
    description: String,
}

/// A tool that was found.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FoundTool")]
pub(super) struct Hit {
    /// Its name, as `upstream:tool`.
    name: String,
    /// How well it fits, from 0 to 3.
    score: f64,
}

/// What a tool gave: the result of `tools/call` as the protocol has it.
pub(super) type CallResult = Map<String, Value>;

pub(super) async fn tools(AxumState(gateway): Shared, who: Who) -> Response {
    let known = gateway.settled_for(&who).await;
    let mut tools = Vec::new();
    for upstream in &known {
        for card in &upstream.listed().tools {
            let description = card.string(&["description"]).unwrap_or_default();
            let name = format!("{}:{}", upstream.name(), card.name);
            let held = gateway
                .engine
                .held(upstream.name(), OfferKind::Tool, card.name.as_str());
            let state = held.as_ref().map_or("approved", |held| held.state);
            tools.push(Tool {
                name,
                state,
                reason: held.map(|held| held.reason),
                description,
            });
        }
    }
    done(&tools)
}

#[derive(Deserialize)]
pub(super) struct SearchQuery {
    q: String,
    limit: Option<usize>,
}

pub(super) async fn search(
    AxumState(gateway): Shared,
    Asked(query): Asked<SearchQuery>,
) -> Response {
    let limit = query.limit.unwrap_or(15).min(100);
    let hits = gateway.hub.search(|index| {
        let found = index.search(&query.q, limit);
        let hits = found.hits.iter().map(|hit| Hit {
            name: format!("{}:{}", hit.upstream, hit.name),
            score: hit.score,
        });
        hits.collect::<Vec<_>>()
    });
    done(&hits)
}

/// A call.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolCall {
    /// `server:tool`.
    #[schemars(regex(pattern = r"^[^\u0000]*:[^\u0000]*$"))]
    name: String,
    /// `read`, `write` or `destructive`.
    #[schemars(extend("enum" = ["read", "write", "destructive", null]))]
    operation: Option<String>,
    /// What the tool gets; nothing at all where nothing is said.
    #[schemars(with = "Option<Map<String, Value>>")]
    arguments: Option<Box<RawValue>>,
}

/// The status that says whose fault a failed call is.
fn status_of(error: Option<&Value>) -> StatusCode {
    let name = error.and_then(|error| error.pointer("/data/error")?.as_str());
    if name.is_some_and(|name| [UNKNOWN_UPSTREAM, UNKNOWN_TOOL].contains(&name)) {
        return StatusCode::NOT_FOUND;
    }
    if name == Some(DISABLED) {
        return StatusCode::CONFLICT;
    }
    match error.and_then(|error| error.get("code")?.as_i64()) {
        Some(era::INVALID_REQUEST | era::INVALID_PARAMS | era::METHOD_NOT_FOUND) => {
            StatusCode::BAD_REQUEST
        }
        Some(era::OVERLOADED) => StatusCode::SERVICE_UNAVAILABLE,
        Some(era::TIMED_OUT) => StatusCode::GATEWAY_TIMEOUT,
        Some(_) | None => StatusCode::BAD_GATEWAY,
    }
}

/// Tells what came of a call: the result as the upstream wrote it.
fn answered(id: &str, message: &[u8]) -> Response {
    let result = std::str::from_utf8(message).ok();
    let result = result.and_then(|message| mcpproxy_text::get(message, &["result"]));
    match result.map(|(text, _)| serde_json::from_str::<&RawValue>(text)) {
        Some(Ok(result)) if result.get().starts_with('{') => done_under(id, &result),
        Some(_) => {
            let message = "the tool was called, and what its upstream answered is no object";
            failed_under(id, StatusCode::BAD_GATEWAY, message, None)
        }
        None => {
            let answer: Value = serde_json::from_slice(message).unwrap_or_default();
            let error = answer.get("error");
            let message = error.and_then(|error| error.get("message"));
            let message = message.and_then(Value::as_str).unwrap_or("the call failed");
            failed_under(id, status_of(error), message, None)
        }
    }
}

/// Calls a tool the way an agent in call mode would, through the same engine.
pub(super) async fn call_tool(
    AxumState(gateway): Shared,
    who: Who,
    call: Result<Body<ToolCall>, Response>,
) -> Response {
    let key = Gateway::credential_key(&who.0, Some("rest"));
    let knock = Knock::new(&gateway, &who.0, RoutingMode::Call).over_rest(key);
    let call = match call {
        Ok(Body(call)) => call,
        Err(refusal) => {
            knock.unread(("refused", "the body cannot be read")).await;
            return refusal;
        }
    };
    let operation = call.operation.as_deref().unwrap_or("write");
    // As they were written: a number that is read and written again may be another one.
    let arguments = call.arguments.as_deref().map(RawValue::get);
    let arguments = arguments.filter(|given| *given != "null").unwrap_or("{}");
    let name = quoted(&call.name);
    let fault = if !["read", "write", "destructive"].contains(&operation) {
        let hint = "use read, write or destructive";
        Some((format!("unknown operation `{operation}`"), hint))
    } else if !arguments.starts_with('{') {
        Some(("`arguments` is no object".to_owned(), "name each of them"))
    } else if call.name.contains('\0') {
        let hint = "name it as `server:tool`";
        Some(("no name has a null character".to_owned(), hint))
    } else {
        None
    };
    if let Some((message, hint)) = fault {
        let params = format!(r#"{{"name":{name},"arguments":{arguments}}}"#);
        let raw = compose::notification("tools/call", &params);
        knock.turned_away(&raw, ("refused", &message), &[]).await;
        return failed(StatusCode::BAD_REQUEST, &message, Some(hint));
    }
    let params = format!(
        r#"{{"name":"call_tool_{operation}","arguments":{{"name":{name},"args":{arguments}}}}}"#
    );
    let raw = compose::request("1", "tools/call", &params);
    let frame = match Frame::parse(raw.clone(), gateway.limits()) {
        Ok(frame) => frame,
        Err(refusal) => {
            knock.refused(&raw, &refusal, &[Oddity::Unread]).await;
            return failed(StatusCode::BAD_REQUEST, &refusal.to_string(), None);
        }
    };
    let greeting = Arc::new(Greeting {
        version: LEGACY_LATEST.to_owned(),
        ..Greeting::default()
    });
    let id = request_id();
    let downstream = Downstream {
        connection: None,
        linked: None,
        // The caller finds its record by the id that it is answered with.
        arrived: Some(Arrived::under(&gateway, &id)),
        judged: Judged::default(),
        who: who.0,
        door: Door::Api,
        era: Era::Legacy,
        mode: RoutingMode::Call,
        key,
        greeting,
        session: None,
    };
    let (way, mut back) = Way::new();
    tokio::spawn(router::request(gateway, downstream, frame, way, None));
    while let Some(reply) = back.replies.recv().await {
        if let Reply::Final(message, ..) = reply {
            return answered(&id, &message);
        }
    }
    let lost = StatusCode::INTERNAL_SERVER_ERROR;
    failed_under(&id, lost, "the call was lost", None)
}
