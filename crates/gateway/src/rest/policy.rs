//! Trying the policy: what would happen to a call, and what would have happened to those on record.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State as AxumState;
use axum::response::Response;
use http::StatusCode;
use mcpproxy_core::Span;
use mcpproxy_engine::replay::{Session, Step};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::activity::few;
use super::config::{Change, text_or_patch};
use super::taken::Body;
use super::{Shared, Who, done, failed, refused};

/// Calls of one session that are explained.
const MOST_CALLS: usize = 1000;
/// How far back calls are judged again where nothing is said.
const WEEK: Duration = Duration::from_hours(24 * 7);

/// What the policy can be asked about, as the document tells of it. A session is read by its own
/// rules ([`Session::read`]), which name the call that is wrong.
#[derive(Debug)]
pub(super) struct Tried;

impl JsonSchema for Tried {
    fn schema_name() -> Cow<'static, str> {
        "Tried".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A call, or a session whose last call is explained.",
            "anyOf": [
                generator.subschema_for::<Step>(),
                {
                    "allOf": [generator.subschema_for::<Session>()],
                    "properties": { "calls": { "minItems": 1, "maxItems": MOST_CALLS } },
                },
            ],
        })
    }
}

/// Explains what would happen to a call, tier by tier and point by point.
pub(super) async fn explain(
    AxumState(gateway): Shared,
    who: Who,
    Body(tried): Body<Box<RawValue>>,
) -> Response {
    let refusal = |message: &str| {
        let hint = "give one call {server, tool, args}, or {calls: [...]}, whose last is explained";
        failed(StatusCode::BAD_REQUEST, message, Some(hint))
    };
    let session = match Session::read(tried.get()) {
        Ok(session) if session.calls.is_empty() => return refusal("there is no call to explain"),
        Ok(session) if session.calls.len() <= MOST_CALLS => session,
        Ok(_) => return refusal(&format!("a session has at most {MOST_CALLS} calls")),
        Err(fault) => return refusal(&fault.to_string()),
    };
    match gateway
        .access
        .control()
        .explain_policy(&who, &session)
        .await
    {
        Ok(explained) => done(&explained),
        Err(refusal) => refused(&refusal),
    }
}

/// A changed policy, and how far back calls are judged again.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("oneOf" = text_or_patch()))]
pub(super) struct Replay {
    /// The whole text of the configuration file.
    text: Option<String>,
    /// What is laid over the configuration file.
    patch: Option<Map<String, Value>>,
    /// How far back, as `24h`; a week where nothing is said.
    since: Option<Span>,
}

/// Judges the calls on record again, under a changed policy.
pub(super) async fn replay(
    AxumState(gateway): Shared,
    who: Who,
    Body(replay): Body<Replay>,
) -> Response {
    let Replay { text, patch, since } = replay;
    let change = match Change::of(text, patch).read() {
        Ok(change) => change,
        Err(answer) => return *answer,
    };
    let back = since.map_or(WEEK, Duration::from);
    let back = u64::try_from(back.as_millis()).unwrap_or(u64::MAX);
    let since = mcpproxy_core::Wall(gateway.clock.wall().0.saturating_sub(back));
    let control = Arc::clone(gateway.access.control());
    let replayed = move || control.replay_policy(&who, &change, since);
    few(&gateway.trials, replayed).await
}
