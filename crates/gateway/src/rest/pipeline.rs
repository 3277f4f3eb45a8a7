//! The pipeline of hooks: how each of them is doing, and what is counted.

use axum::extract::State as AxumState;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use serde_json::json;

use super::{Shared, Who, done, only_auditor, only_owner};

/// The form in which Prometheus reads what is counted.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Says how each guard and each hook is doing, in the order in which they are asked.
pub(super) async fn list(AxumState(gateway): Shared, who: Who) -> Response {
    owner!(who);
    done(json!({ "hooks": gateway.engine.health().await }))
}

/// Prints what is counted about hooks and violations.
pub(super) async fn metrics(AxumState(gateway): Shared, who: Who) -> Response {
    if let Err(refused) = only_auditor(&who) {
        return *refused;
    }
    let text = gateway.engine.metrics().text();
    ([(CONTENT_TYPE, TEXT)], text).into_response()
}
