//! `/activity`: pages of the log, and single records. What can be asked is for `control` to know.

use std::sync::Arc;

use axum::extract::{Path, Query, State as AxumState};
use axum::response::Response;
use http::StatusCode;
use mcpproxy_control::Refused;
use mcpproxy_core::{Field, Principal};
use serde_json::{Value, json};

use super::{Shared, Who, done, failed, refused};
use crate::gateway::Gateway;

/// Lists records, newest first.
pub(super) async fn list(
    AxumState(gateway): Shared,
    who: Who,
    Query(asked): Query<Vec<(String, String)>>,
) -> Response {
    let asked = asked.into_iter().map(|one| resolved(&gateway, one));
    let asked: Vec<_> = asked.collect();
    let control = Arc::clone(gateway.access.control());
    let page = blocking(move || {
        let page = control.activity(&who, &asked)?;
        Ok(json!({
            "activities": page.records.iter().map(|one| value(one)).collect::<Vec<_>>(),
            // A cursor is to be handed back, not to be counted with.
            "next_cursor": page.next.map(|next| next.to_string()),
            "lost": page.lost,
        }))
    });
    page.await
}

/// Sessions may be asked for by the names that agents have for them; the log knows others.
fn resolved(gateway: &Gateway, (name, value): (String, String)) -> (String, String) {
    let logged = value.len() == 32 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    if name != Field::Session.name() || logged {
        return (name, value);
    }
    let key = gateway.sessions.key_of(&value);
    let key = key.or_else(|| gateway.engine.hook_session(&value));
    let key = key.unwrap_or_else(|| Gateway::hook_key(&Principal::local(), &value));
    (name, key.id.to_string())
}

/// Shows what was last recorded about a call.
pub(super) async fn show(AxumState(gateway): Shared, who: Who, Path(id): Path<String>) -> Response {
    let control = Arc::clone(gateway.access.control());
    blocking(move || Ok(value(&control.activity_record(&who, &id)?))).await
}

fn value(record: &str) -> Value {
    serde_json::from_str(record).unwrap_or_default()
}

/// Asks where waiting for the disk holds nobody else up.
async fn blocking(question: impl FnOnce() -> Result<Value, Refused> + Send + 'static) -> Response {
    match tokio::task::spawn_blocking(question).await {
        Ok(Ok(answer)) => done(answer),
        Ok(Err(refusal)) => refused(&refusal),
        Err(_) => failed(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the answer was lost",
            None,
        ),
    }
}
