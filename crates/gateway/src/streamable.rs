//! The Streamable HTTP door, both eras on one endpoint: what a message is, is told here; how it is
//! answered differs by era.

mod legacy;
mod modern;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body::Body;
use mcpproxy_core::{Oddity, Principal};
use mcpproxy_mcp::body::read_bounded;
use mcpproxy_mcp::era::{self, Era, LEGACY_VERSIONS, META_VERSION, MODERN_VERSIONS};
use mcpproxy_mcp::{Error, Frame, Refusal, compose, header};
use mcpproxy_text as text;

use self::legacy::{delete, get, legacy};
use self::modern::modern;
use crate::arrived::Arrived;
use crate::gateway::Gateway;
use crate::reply::{Answered, bare, json, refused};
use crate::serve::Connection;
use crate::settings::RoutingMode;
use crate::unjudged::Knock;

/// How long a request may be silent before its answer becomes a stream with signs of life.
const SILENCE: Duration = Duration::from_secs(15);

/// Serves one request to an MCP endpoint.
pub async fn serve<B>(
    gateway: &Arc<Gateway>,
    who: Principal,
    mode: RoutingMode,
    request: Request<B>,
) -> Answered
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    match *request.method() {
        Method::POST => post(gateway, who, mode, request).await,
        Method::GET => get(gateway, &who, request.headers()).await,
        Method::DELETE => delete(gateway, &who, request.headers()).await,
        _ => {
            let mut response = bare(StatusCode::METHOD_NOT_ALLOWED);
            response
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static("GET, POST, DELETE"));
            response
        }
    }
}

/// Reads a body into a frame, or answers why not.
pub(crate) async fn read_frame<B>(
    gateway: &Gateway,
    knock: &Knock<'_>,
    body: B,
) -> Result<Frame, Box<Answered>>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let limits = &gateway.active().settings.limits;
    let read = read_bounded(
        body,
        limits.body_bytes.as_usize(),
        limits.body_timeout.into(),
    )
    .await;
    let bytes = read.map_err(|fault| {
        let status = match fault {
            Error::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Error::TimedOut => StatusCode::REQUEST_TIMEOUT,
            _ => StatusCode::BAD_REQUEST,
        };
        tracing::info!("refused a body: {fault}");
        let message = compose::error(None, era::INVALID_REQUEST, &fault.to_string(), None);
        Box::new(json(status, message))
    })?;
    match Frame::parse(bytes.clone(), gateway.limits()) {
        Ok(frame) => Ok(frame),
        Err(refusal) => {
            Box::pin(knock.refused(&bytes, &refusal, &[Oddity::Unread])).await;
            Err(Box::new(refused(&refusal, None)))
        }
    }
}

async fn post<B>(
    gateway: &Arc<Gateway>,
    who: Principal,
    mode: RoutingMode,
    request: Request<B>,
) -> Answered
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let (parts, body) = request.into_parts();
    let arrived = Arrived::over_http(gateway, &parts);
    let headers = parts.headers;
    let connection = parts.extensions.get::<Connection>();
    let connection = connection.map(|one| one.number);
    if !is_json(&headers) {
        return bare(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    if !accepts(&headers) {
        return bare(StatusCode::NOT_ACCEPTABLE);
    }
    let knock = Knock::new(gateway, &who, mode).arrived(&arrived);
    let frame = match read_frame(gateway, &knock, body).await {
        Ok(frame) => frame,
        Err(answer) => return *answer,
    };
    let id = arrived.header();
    let mut answered = match era_of(&headers, &frame) {
        Ok(Era::Modern) => modern(gateway, who, mode, &headers, frame, connection, arrived).await,
        Ok(Era::Legacy) => legacy(gateway, who, mode, &headers, frame, arrived).await,
        Err(refusal) => {
            let knock = Knock::new(gateway, &who, mode).arrived(&arrived);
            Box::pin(knock.refused(frame.raw(), &refusal, &[])).await;
            refused(&refusal, None)
        }
    };
    if let (Some(name), Some(id)) = (&gateway.active().correlation_header, id) {
        answered.headers_mut().insert(name, id);
    }
    answered
}

/// Tells whether a body is JSON as it stands: another coding or character set would be read in two
/// ways.
fn is_json(headers: &HeaderMap) -> bool {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    let plain = encodings.all(|one| one.as_bytes().eq_ignore_ascii_case(b"identity"));
    let value = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let value = value.unwrap_or_default().to_ascii_lowercase();
    let mut parts = value.split(';').map(str::trim);
    let json = parts.next() == Some("application/json");
    let charset = parts.find_map(|part| part.strip_prefix("charset="));
    plain && json && charset.is_none_or(|charset| charset.trim_matches('"') == "utf-8")
}

fn accepts(headers: &HeaderMap) -> bool {
    let mut given = headers.get_all(ACCEPT).iter().peekable();
    given.peek().is_none()
        || given.filter_map(|value| value.to_str().ok()).any(|value| {
            value.contains("application/json")
                || value.contains("*/*")
                || value.contains("application/*")
        })
}

/// Tells the era of a message: by its header, or where that is missing or unknown, by whether it
/// carries a version itself. One that says both is refused: whoever stands behind could read it
/// the other way.
fn era_of(headers: &HeaderMap, frame: &Frame) -> Result<Era, Refusal> {
    header::check_single(headers, frame)?;
    let carries = text::get(frame.params(), &["_meta", META_VERSION]).is_some();
    match headers.get(header::VERSION).and_then(header::decode) {
        Some(version) if MODERN_VERSIONS.contains(&version.as_ref()) => Ok(Era::Modern),
        Some(version) if LEGACY_VERSIONS.contains(&version.as_ref()) && carries => {
            let name = header::VERSION;
            let message = format!("header `{name}` does not repeat the version in `_meta`");
            Err(header::mismatch(frame, message))
        }
        Some(version) if LEGACY_VERSIONS.contains(&version.as_ref()) => Ok(Era::Legacy),
        Some(_) | None if carries => Ok(Era::Modern),
        Some(_) | None => Ok(Era::Legacy),
    }
}

pub(crate) fn without_id() -> Refusal {
    let message = "`tools/call` needs an id".to_owned();
    Refusal {
        code: era::INVALID_REQUEST,
        message,
        id: None,
    }
}

/// Refuses a request whose id another one has that is not answered yet.
pub(crate) fn in_flight_already(id: &str) -> Refusal {
    let message = "a request with this id is in flight already".to_owned();
    Refusal {
        code: era::INVALID_REQUEST,
        message,
        id: Some(Bytes::copy_from_slice(id.as_bytes())),
    }
}
