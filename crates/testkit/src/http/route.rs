//! From an HTTP request to its answer, over Streamable HTTP in both eras.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use hyper::body::Incoming;
use mcpproxy_mcp::body::read_bounded;
use mcpproxy_mcp::envelope::Envelope;
use mcpproxy_mcp::era::{Era, INVALID_REQUEST, http_status};
use mcpproxy_mcp::{Frame, FrameKind, Refusal, compose, header};
use mcpproxy_text::Limits;
use serde_json::Value;

use super::answer::{Body, Channel, Message, OnDrop, Words, bare, events, json};
use super::broken::spoil;
use super::older;
use super::sessions::Session;
use super::{Protection, Received, Shared};
use crate::lock;
use crate::sample::{Card, Conversation, EraSupport, MOST_BYTES, Outlet, Step};

/// How long a body may take to arrive.
const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// What an HTTP request ends with; an error closes the connection without an answer.
pub(super) type Answered = io::Result<Response<Body>>;

/// Answers one HTTP request.
pub(super) async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Answered {
    let (parts, body) = request.into_parts();
    let body = read_bounded(body, MOST_BYTES, BODY_PATIENCE).await;
    let body = body.map_err(io::Error::other)?;
    shared.note(&parts, &body)?;
    if shared.hangs_on(&parts.method, &body) {
        std::future::pending::<()>().await;
    }
    let status = lock(&shared.orders).status;
    if let Some(status) = status {
        return Ok(bare(status));
    }
    let headers = &parts.headers;
    let protection = lock(&shared.orders).protection.clone();
    if let Some(protected) = protection.and_then(|one| one.answer(headers, parts.uri.path())) {
        return Ok(protected);
    }
    let stateless = shared.service.options.era == EraSupport::ModernOnly;
    match (&parts.method, parts.uri.path()) {
        (&Method::POST, "/mcp") => post(&shared, headers, body).await,
        _ if stateless => Ok(bare(405)),
        (&Method::GET, "/mcp") => Ok(listen(&shared, headers)),
        (&Method::DELETE, "/mcp") => Ok(end(&shared, headers)),
        (&Method::GET, "/sse") => Ok(older::open(&shared)),
        (&Method::POST, older::MESSAGES) => {
            let id = parts.uri.query().unwrap_or_default();
            older::post(&shared, id, body).await
        }
        (_, "/mcp" | "/sse" | older::MESSAGES) => Ok(bare(405)),
        _ => Ok(bare(404)),
    }
}

/// Where an upstream describes itself, before the path of what is described.
const DESCRIBED: &str = "/.well-known/oauth-protected-resource";

impl Protection {
    /// Answers who is not let in, and who asks for the way in.
    fn answer(&self, headers: &HeaderMap, path: &str) -> Option<Response<Body>> {
        if let Some(described @ ("/mcp" | "/sse")) = path.strip_prefix(DESCRIBED) {
            let document = serde_json::json!({
                "resource": format!("{}{described}", self.base),
                "authorization_servers": [self.authority.issuer()],
                "scopes_supported": ["read", "write"],
            });
            return Some(json(200, Body::whole(document.to_string().into())));
        }
        if path.starts_with("/.well-known/") {
            return None;
        }
        let place = if path == "/mcp" { "/mcp" } else { "/sse" };
        let resource = format!("{}{place}", self.base);
        let shown = headers.get(AUTHORIZATION);
        let shown = shown.and_then(|value| value.to_str().ok());
        let token = shown.and_then(|shown| shown.strip_prefix("Bearer "));
        if token.is_some_and(|token| self.authority.accepts(token, &resource)) {
            return None;
        }
        let base = &self.base;
        let usual = format!(r#"Bearer resource_metadata="{base}{DESCRIBED}{place}", scope="read""#);
        let challenge = self.challenge.as_ref().unwrap_or(&usual);
        let mut response = bare(401);
        if let Ok(challenge) = HeaderValue::from_str(challenge) {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        Some(response)
    }
}

impl Shared {
    fn note(&self, parts: &http::request::Parts, body: &Bytes) -> io::Result<()> {
        if !body.is_empty() {
            self.service.record(body)?;
        }
        let received = Received {
            method: parts.method.clone(),
            path: parts.uri.path().to_owned(),
            headers: parts.headers.clone(),
            body: String::from_utf8_lossy(body).into_owned(),
        };
        self.received.send_modify(|all| all.push(received));
        Ok(())
    }

    fn hangs_on(&self, method: &Method, body: &Bytes) -> bool {
        let orders = lock(&self.orders);
        let body = String::from_utf8_lossy(body);
        let hangs = |what: &String| method.as_str() == what || body.contains(what);
        orders.hanging.as_ref().is_some_and(hangs)
    }

    /// Finds the session that a request names, or the status that tells what is wrong.
    fn session(&self, headers: &HeaderMap) -> Result<(String, Session), u16> {
        let id = headers.get(header::SESSION).ok_or(400_u16)?;
        let id = id.to_str().map_err(|_| 400_u16)?;
        let session = self.sessions.get(id).ok_or(404_u16)?;
        Ok((id.to_owned(), session))
    }
}

async fn post(shared: &Arc<Shared>, headers: &HeaderMap, body: Bytes) -> Answered {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let accepts = |media| accepted.is_some_and(|accepted| accepted.contains(media));
    if !accepts("application/json") || !accepts("text/event-stream") {
        return Ok(bare(406));
    }
    let frame = match Frame::parse(body, Limits::default()) {
        Ok(frame) => frame,
        Err(refusal) => return Ok(refused(400, &refusal)),
    };
    match era(shared, headers, &frame) {
        Era::Modern => post_modern(shared, headers, frame).await,
        Era::Legacy => post_legacy(shared, headers, frame).await,
    }
}

/// A request says in its body which era it is of, everything else in its headers.
fn era(shared: &Shared, headers: &HeaderMap, frame: &Frame) -> Era {
    let version = headers
        .get(header::VERSION)
        .and_then(|value| value.to_str().ok());
    let speaks_modern = shared.service.options.era != EraSupport::LegacyOnly;
    match frame.kind() {
        FrameKind::Request => shared.service.era(frame),
        _ if speaks_modern && version.and_then(Era::of) == Some(Era::Modern) => Era::Modern,
        FrameKind::Notification | FrameKind::Result | FrameKind::Error => Era::Legacy,
    }
}

/// A modern request is a conversation of its own.
async fn post_modern(shared: &Arc<Shared>, headers: &HeaderMap, frame: Frame) -> Answered {
    if frame.kind() != FrameKind::Request {
        return Ok(bare(202));
    }
    if let Err(refusal) = check_headers(shared, headers, &frame) {
        return Ok(refused(http_status(refusal.code), &refusal));
    }
    let (home, _words) = Channel::open();
    let conversation = Conversation::open(&shared.service, home);
    let closed = Arc::clone(&conversation);
    // Closing the stream is how a modern downstream cancels over HTTP.
    let closing = OnDrop::run(move || closed.close());
    request(shared, &conversation, frame, Some(closing)).await
}

/// Checks what the headers of a modern request must repeat. A request without a version is left
/// to the sample, which says what is missing.
fn check_headers(shared: &Shared, headers: &HeaderMap, frame: &Frame) -> Result<(), Refusal> {
    let Ok(envelope) = Envelope::read(frame) else {
        return Ok(());
    };
    header::check(headers, frame, &envelope.version)?;
    if &**frame.method() != "tools/call" {
        return Ok(());
    }
    let name = frame.parameter(&["name"]).unwrap_or_default();
    let tools = shared.service.tools().map(Card::descriptor);
    let mut named = tools.filter(|tool| tool.get("name").and_then(Value::as_str) == Some(&*name));
    let schema = named
        .next()
        .and_then(|tool| tool.get("inputSchema").map(Value::to_string));
    let wanted = header::param_headers(&schema.unwrap_or_default());
    header::check_params(headers, frame, &wanted)
}

async fn post_legacy(shared: &Arc<Shared>, headers: &HeaderMap, frame: Frame) -> Answered {
    let version = headers.get(header::VERSION).map(HeaderValue::to_str);
    let is_legacy = |version| Era::of(version) == Some(Era::Legacy);
    if version.is_some_and(|version| !version.is_ok_and(is_legacy)) {
        return Ok(no_session(
            &frame,
            400,
            "the version header names no legacy version",
        ));
    }
    if &**frame.method() == "initialize" {
        let (id, session) = shared.sessions.open(&shared.service);
        let mut response = request(shared, &session.conversation, frame, None).await?;
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(header::SESSION, id);
        }
        return Ok(response);
    }
    let session = match shared.session(headers) {
        Ok((_, session)) => session,
        Err(status) => return Ok(no_session(&frame, status, "the session is not known")),
    };
    if frame.kind() == FrameKind::Request {
        return request(shared, &session.conversation, frame, None).await;
    }
    let (outlet, _words) = Channel::open();
    take(shared, &session.conversation, frame, &outlet)?;
    Ok(bare(202))
}

/// Hands a request to the sample: one that says nothing before its answer is answered in JSON.
async fn request(
    shared: &Arc<Shared>,
    conversation: &Arc<Conversation>,
    frame: Frame,
    closing: Option<OnDrop>,
) -> Answered {
    let orders = lock(&shared.orders).clone();
    if !orders.delay.is_zero() {
        tokio::time::sleep(orders.delay).await;
    }
    let method = Arc::clone(frame.method());
    let (outlet, mut words) = Channel::open();
    take(shared, conversation, frame, &outlet)?;
    // What is under way holds the outlet now; once it lets go, there is nothing to wait for.
    drop(outlet);
    if let Some((_, how)) = orders.broken.filter(|(broken, _)| **broken == *method) {
        let spoilt = last(&mut words).await.map(|answer| spoil(&answer, how));
        return Ok(spoilt.unwrap_or_else(|| bare(204)));
    }
    match words.recv().await {
        // Cancelled: whoever asked does not wait any more.
        None => Ok(bare(204)),
        Some(Message::Answer(answer)) => Ok(plain(answer, closing.is_some())),
        Some(Message::Word(first)) => {
            let first = mcpproxy_mcp::sse::encode(&first, None);
            Ok(events([first], words, closing))
        }
    }
}

/// Hands over a message. One that crashes the sample loses every session and gets no answer.
pub(super) fn take(
    shared: &Shared,
    conversation: &Arc<Conversation>,
    frame: Frame,
    outlet: &Arc<dyn Outlet>,
) -> io::Result<()> {
    match conversation.take(frame, outlet) {
        Step::Continue => Ok(()),
        Step::Crash => {
            shared.sessions.forget();
            Err(io::ErrorKind::ConnectionAborted.into())
        }
    }
}

async fn last(words: &mut Words) -> Option<Bytes> {
    loop {
        if let Message::Answer(answer) = words.recv().await? {
            return Some(answer);
        }
    }
}

/// Answers in JSON. In the modern era errors have a status of their own.
fn plain(answer: Bytes, modern: bool) -> Response<Body> {
    let code = Frame::parse(answer.clone(), Limits::default());
    let code = code.ok().and_then(|frame| frame.error_code());
    let status = code.filter(|_| modern).map_or(200, http_status);
    json(status, Body::whole(answer))
}

pub(super) fn refused(status: u16, refusal: &Refusal) -> Response<Body> {
    let id = refusal
        .id
        .as_deref()
        .and_then(|id| std::str::from_utf8(id).ok());
    let answer = compose::error(id, refusal.code, &refusal.message, None);
    json(status, Body::whole(answer))
}

fn no_session(frame: &Frame, status: u16, why: &str) -> Response<Body> {
    let answer = compose::error(frame.id(), INVALID_REQUEST, why, None);
    json(status, Body::whole(answer))
}

/// Opens a legacy session's stream for what belongs to no request.
fn listen(shared: &Shared, headers: &HeaderMap) -> Response<Body> {
    match shared.session(headers) {
        Ok((_, session)) => events([], session.listen(), None),
        Err(status) => bare(status),
    }
}

/// Ends a legacy session.
fn end(shared: &Shared, headers: &HeaderMap) -> Response<Body> {
    match shared.session(headers) {
        Ok((id, _)) => {
            shared.sessions.end(&id);
            bare(200)
        }
        Err(status) => bare(status),
    }
}
