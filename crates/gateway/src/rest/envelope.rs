//! The form of every answer: `{success, data | error, request_id}`, and what many operations have to say
//! in it.

use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_TYPE, ETAG};
use http::{HeaderName, HeaderValue, StatusCode};
use mcpproxy_control::{Kind, Refused};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::layers;

/// The header that names a request.
pub(super) const REQUEST: HeaderName = HeaderName::from_static("x-request-id");

/// What was done.
#[derive(Serialize, JsonSchema)]
pub(super) struct Done {
    /// A sentence for people.
    done: String,
}

impl Done {
    pub(super) fn new(done: &impl ToString) -> Self {
        Self {
            done: done.to_string(),
        }
    }
}

pub(super) fn request_id() -> String {
    let random = mcpproxy_mcp::seal::random().unwrap_or_default();
    mcpproxy_core::Id128::from_bytes(random).to_string()
}

/// Answers with data.
pub(super) fn done(data: &impl Serialize) -> Response {
    done_under(&request_id(), data)
}

/// Answers under an id that is known already, since it is on record.
pub(super) fn done_under(id: &str, data: &impl Serialize) -> Response {
    let Ok(data) = serde_json::to_string(data) else {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        return failed_under(id, status, "the answer cannot be written", None);
    };
    let body = format!(r#"{{"success":true,"data":{data},"request_id":"{id}"}}"#);
    let mut response = envelope(StatusCode::OK, body, id);
    if let Some(tag) = layers::tag(&data) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

pub(crate) fn failed(status: StatusCode, message: &str, hint: Option<&str>) -> Response {
    failed_under(&request_id(), status, message, hint)
}

pub(super) fn failed_under(
    id: &str,
    status: StatusCode,
    message: &str,
    hint: Option<&str>,
) -> Response {
    let mut body = json!({ "success": false, "error": message, "request_id": id });
    if let (Some(hint), Some(body)) = (hint, body.as_object_mut()) {
        body.insert("hint".into(), json!(hint));
    }
    envelope(status, body.to_string(), id)
}

pub(super) fn refused(refused: &Refused) -> Response {
    let status = match refused.kind() {
        Kind::Forbidden => StatusCode::FORBIDDEN,
        Kind::Unknown => StatusCode::NOT_FOUND,
        Kind::Invalid => StatusCode::BAD_REQUEST,
        Kind::Conflict => StatusCode::CONFLICT,
        Kind::Busy => StatusCode::SERVICE_UNAVAILABLE,
        Kind::Failed => StatusCode::INTERNAL_SERVER_ERROR,
    };
    failed(status, &refused.to_string(), refused.remedy().as_deref())
}

fn envelope(status: StatusCode, body: String, id: &str) -> Response {
    let kind = HeaderValue::from_static("application/json");
    let mut response = (status, [(CONTENT_TYPE, kind)], body).into_response();
    if let Ok(id) = HeaderValue::from_str(id) {
        response.headers_mut().insert(REQUEST, id);
    }
    response
}
