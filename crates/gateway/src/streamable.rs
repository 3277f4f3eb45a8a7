//! The Streamable HTTP door, both eras on one endpoint.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::{Body, Frame as BodyFrame};
use mcpproxy_core::{Door, Principal};
use mcpproxy_mcp::body::read_bounded;
use mcpproxy_mcp::envelope::{Envelope, EnvelopeRefusal};
use mcpproxy_mcp::era::{
    self, Era, LEGACY_VERSIONS, META_VERSION, MODERN_VERSIONS, can_poll, http_status,
};
use mcpproxy_mcp::{Error, Frame, FrameKind, Refusal, compose, header, sse};
use mcpproxy_text as text;
use mcpproxy_upstream::Greeting;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, interval_at};

use crate::downstream::{Downstream, Reply, Way, WayBack};
use crate::gateway::Gateway;
use crate::router;
use crate::session::{Session, lock};
use crate::settings::RoutingMode;
use crate::streams::{GENERAL, Item, parse_event_id};

/// How long a request may be silent before its answer becomes a stream with signs of life.
const SILENCE: Duration = Duration::from_secs(15);

/// The body of an answer.
#[derive(Debug)]
pub enum ReplyBody {
    /// Whole.
    Whole(Option<Bytes>),
    /// Pieces as they come.
    Pieces(mpsc::Receiver<Bytes>),
    /// Items of a session's stream.
    Items(mpsc::Receiver<Item>),
    /// From the REST interface.
    Rest(axum::body::Body),
}

impl ReplyBody {
    /// Makes an empty body.
    pub fn empty() -> Self {
        Self::Whole(None)
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyFrame<Bytes>, axum::Error>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(BodyFrame::data(bytes)))),
            Self::Pieces(pieces) => pieces
                .poll_recv(context)
                .map(|piece| piece.map(|piece| Ok(BodyFrame::data(piece)))),
            Self::Items(items) => items
                .poll_recv(context)
                .map(|item| item.map(|item| Ok(BodyFrame::data(item.encode())))),
            Self::Rest(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self {
            Self::Whole(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                http_body::SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Self::Rest(body) => body.size_hint(),
            Self::Pieces(_) | Self::Items(_) => http_body::SizeHint::default(),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }
}

/// An answer of the doors.
pub type Answered = Response<ReplyBody>;

/// Makes an answer without a body.
pub fn bare(status: StatusCode) -> Answered {
    let mut response = Response::new(ReplyBody::empty());
    *response.status_mut() = status;
    response
}

/// Makes an answer with a JSON body.
pub fn json(status: StatusCode, body: Bytes) -> Answered {
    let mut response = Response::new(ReplyBody::Whole(Some(body)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn stream(body: ReplyBody) -> Answered {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(
        CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Answers a message that was refused.
pub fn refused(refusal: &Refusal, data: Option<&serde_json::Value>) -> Answered {
    tracing::info!("refused a message: {refusal}");
    let id = refusal
        .id
        .as_deref()
        .and_then(|id| std::str::from_utf8(id).ok());
    let status = StatusCode::from_u16(http_status(refusal.code)).unwrap_or(StatusCode::BAD_REQUEST);
    let status = if status == StatusCode::OK {
        StatusCode::BAD_REQUEST
    } else {
        status
    };
    json(
        status,
        compose::error(id, refusal.code, &refusal.message, data),
    )
}

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
        Method::GET => get(gateway, &who, request.headers()),
        Method::DELETE => delete(gateway, &who, request.headers()),
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
pub(crate) async fn read_frame<B>(gateway: &Gateway, body: B) -> Result<Frame, Box<Answered>>
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
    Frame::parse(bytes, gateway.limits()).map_err(|refusal| Box::new(refused(&refusal, None)))
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
    let headers = parts.headers;
    if !is_json(&headers) {
        return bare(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    if !accepts(&headers) {
        return bare(StatusCode::NOT_ACCEPTABLE);
    }
    let frame = match read_frame(gateway, body).await {
        Ok(frame) => frame,
        Err(answer) => return *answer,
    };
    if is_modern(&headers, &frame) {
        modern(gateway, who, mode, &headers, frame).await
    } else {
        legacy(gateway, who, mode, &headers, frame).await
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    value.is_some_and(|value| {
        value
            .trim_start()
            .to_ascii_lowercase()
            .starts_with("application/json")
    })
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
/// carries a version itself.
fn is_modern(headers: &HeaderMap, frame: &Frame) -> bool {
    let carries = || text::get(frame.params(), &["_meta", META_VERSION]).is_some();
    match headers.get(header::VERSION).and_then(header::decode) {
        Some(version) if MODERN_VERSIONS.contains(&version.as_ref()) => true,
        Some(version) if LEGACY_VERSIONS.contains(&version.as_ref()) => false,
        Some(_) | None => carries(),
    }
}

async fn modern(
    gateway: &Arc<Gateway>,
    who: Principal,
    mode: RoutingMode,
    headers: &HeaderMap,
    frame: Frame,
) -> Answered {
    match frame.kind() {
        FrameKind::Request => {}
        FrameKind::Notification if &**frame.method() == "tools/call" => {
            return refused(&without_id(), None);
        }
        // The modern era has no notifications from a downstream over HTTP: closing the stream
        // cancels. One that comes all the same is taken and dropped.
        FrameKind::Notification => return bare(StatusCode::ACCEPTED),
        FrameKind::Result | FrameKind::Error => {
            let message = "a response was not asked for".to_owned();
            return refused(
                &Refusal {
                    code: era::INVALID_REQUEST,
                    message,
                    id: None,
                },
                None,
            );
        }
    }
    let envelope = match check_modern(headers, &frame) {
        Ok(envelope) => envelope,
        Err(EnvelopeRefusal { refusal, data }) => return refused(&refusal, data.as_ref()),
    };
    let key = Gateway::credential_key(&who, envelope.client_info.as_deref());
    let greeting = Greeting {
        version: envelope.version,
        capabilities: envelope.capabilities,
        client_info: envelope
            .client_info
            .unwrap_or_else(|| Greeting::default().client_info),
    };
    let (door, era) = (Door::Mcp, Era::Modern);
    let downstream = Downstream {
        who,
        door,
        era,
        mode,
        key,
        greeting,
        session: None,
    };
    if let Err(refusal) = router::check_param_headers(gateway, &downstream, headers, &frame) {
        return refused(&refusal, None);
    }
    let (way, back) = Way::new();
    let gateway = Arc::clone(gateway);
    tokio::spawn(router::request(gateway, downstream, frame, way, None));
    respond_modern(back).await
}

fn check_modern(headers: &HeaderMap, frame: &Frame) -> Result<Envelope, EnvelopeRefusal> {
    let envelope = Envelope::read(frame)?;
    header::check(headers, frame, &envelope.version).map_err(|refusal| EnvelopeRefusal {
        refusal,
        data: None,
    })?;
    Envelope::check_version(&envelope.version, frame.id())?;
    Ok(envelope)
}

fn without_id() -> Refusal {
    let message = "`tools/call` needs an id".to_owned();
    Refusal {
        code: era::INVALID_REQUEST,
        message,
        id: None,
    }
}

/// Cancels a request whose downstream goes away before it is answered.
struct CancelOnDrop(Option<watch::Sender<Option<String>>>);

impl CancelOnDrop {
    fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(cancel) = self.0.take() {
            cancel.send_replace(Some("the downstream closed the stream".to_owned()));
        }
    }
}

/// Waits for the first reply: an answer is sent whole, anything else opens a stream.
async fn respond_modern(back: WayBack) -> Answered {
    let WayBack {
        mut replies,
        cancel,
    } = back;
    let mut guard = CancelOnDrop(Some(cancel));
    let first = tokio::time::timeout(SILENCE, replies.recv()).await.ok();
    match first {
        Some(Some(Reply::Final(message, code))) => {
            guard.disarm();
            let status = StatusCode::from_u16(code.map_or(200, http_status));
            json(status.unwrap_or(StatusCode::OK), message)
        }
        Some(None) => bare(StatusCode::INTERNAL_SERVER_ERROR),
        first => {
            let (sender, pieces) = mpsc::channel(64);
            tokio::spawn(pump_modern(first.flatten(), replies, sender, guard));
            stream(ReplyBody::Pieces(pieces))
        }
    }
}

async fn pump_modern(
    first: Option<Reply>,
    mut replies: mpsc::Receiver<Reply>,
    sender: mpsc::Sender<Bytes>,
    mut guard: CancelOnDrop,
) {
    let mut next = first;
    let mut alive = interval_at(Instant::now() + SILENCE, SILENCE);
    loop {
        let piece = match next.take() {
            Some(Reply::Message(message)) => sse::encode(&message, None),
            Some(Reply::Final(message, _)) => {
                guard.disarm();
                drop(sender.send(sse::encode(&message, None)).await);
                return;
            }
            Some(Reply::Streaming | Reply::Polling { .. }) | None => Bytes::new(),
        };
        if !piece.is_empty() && sender.send(piece).await.is_err() {
            return;
        }
        tokio::select! {
            reply = replies.recv() => match reply {
                Some(reply) => next = Some(reply),
                None => return,
            },
            _ = alive.tick() => {
                if sender.send(Bytes::from_static(sse::KEEP_ALIVE)).await.is_err() {
                    return;
                }
            }
            () = sender.closed() => return,
        }
    }
}

async fn legacy(
    gateway: &Arc<Gateway>,
    who: Principal,
    mode: RoutingMode,
    headers: &HeaderMap,
    frame: Frame,
) -> Answered {
    if frame.kind() == FrameKind::Request && &**frame.method() == "initialize" {
        return open(gateway, who, mode, &frame).await;
    }
    let session = match find(gateway, &who, headers) {
        Ok(session) => session,
        Err(status) => return bare(status),
    };
    let downstream = Downstream::of_session(&session, Door::Mcp);
    match frame.kind() {
        FrameKind::Request => respond_legacy(gateway, downstream, session, frame).await,
        FrameKind::Notification if &**frame.method() == "tools/call" => {
            refused(&without_id(), None)
        }
        FrameKind::Notification => {
            router::notification(gateway, &downstream, &frame).await;
            bare(StatusCode::ACCEPTED)
        }
        FrameKind::Result | FrameKind::Error => {
            if !session.answered(frame) {
                tracing::debug!("dropped an answer that nobody waits for");
            }
            bare(StatusCode::ACCEPTED)
        }
    }
}

async fn open(
    gateway: &Arc<Gateway>,
    who: Principal,
    mode: RoutingMode,
    frame: &Frame,
) -> Answered {
    let id = frame.id().unwrap_or_default();
    match router::initialize(gateway, who, mode, frame).await {
        Ok((session, result)) => {
            let mut response = json(StatusCode::OK, compose::result(id, &result));
            if let Ok(id) = HeaderValue::from_str(&session.id) {
                response.headers_mut().insert(header::SESSION, id);
            }
            response
        }
        Err(failure) => {
            tracing::warn!("could not open a session: {failure}");
            json(StatusCode::OK, failure.answer(Some(id)))
        }
    }
}

/// Finds the session that a message names (Streamable HTTP, "Session management": 400 without an
/// id, 404 for one that is not known).
fn find(
    gateway: &Gateway,
    who: &Principal,
    headers: &HeaderMap,
) -> Result<Arc<Session>, StatusCode> {
    if let Some(version) = headers.get(header::VERSION)
        && !version
            .to_str()
            .is_ok_and(|version| LEGACY_VERSIONS.contains(&version))
    {
        return Err(StatusCode::BAD_REQUEST);
    }
    let id = headers.get(header::SESSION).and_then(|id| id.to_str().ok());
    let id = id.ok_or(StatusCode::BAD_REQUEST)?;
    gateway.sessions.find(id, who).ok_or(StatusCode::NOT_FOUND)
}

async fn respond_legacy(
    gateway: &Arc<Gateway>,
    downstream: Downstream,
    session: Arc<Session>,
    frame: Frame,
) -> Answered {
    let (way, back) = Way::new();
    let id = frame.id().unwrap_or_default().to_owned();
    let Some(in_flight) = session.begin(&id, back.cancel.clone(), way.clone()) else {
        let message = "a request with this id is in flight already".to_owned();
        let id = Some(Bytes::copy_from_slice(id.as_bytes()));
        return refused(
            &Refusal {
                code: era::INVALID_REQUEST,
                message,
                id,
            },
            None,
        );
    };
    let gateway = Arc::clone(gateway);
    let place = Some(in_flight);
    tokio::spawn(router::request(gateway, downstream, frame, way, place));
    let mut replies = back.replies;
    match tokio::time::timeout(SILENCE, replies.recv()).await.ok() {
        Some(Some(Reply::Final(message, _))) => json(StatusCode::OK, message),
        Some(None) => bare(StatusCode::INTERNAL_SERVER_ERROR),
        first => {
            let items = {
                let mut streams = lock(&session.streams);
                let number = streams.open();
                let items = streams.attach(number, None);
                if can_poll(&session.version) {
                    streams.prime(number);
                }
                drop(streams);
                tokio::spawn(pump_legacy(first.flatten(), replies, session, number));
                items
            };
            match items {
                Some(items) => stream(ReplyBody::Items(items)),
                None => bare(StatusCode::INTERNAL_SERVER_ERROR),
            }
        }
    }
}

/// Moves replies into a session's stream, where they wait for a downstream that comes back.
async fn pump_legacy(
    first: Option<Reply>,
    mut replies: mpsc::Receiver<Reply>,
    session: Arc<Session>,
    number: u64,
) {
    let mut next = first;
    let mut alive = interval_at(Instant::now() + SILENCE, SILENCE);
    loop {
        match next.take() {
            Some(Reply::Message(message)) => lock(&session.streams).write(number, &message),
            Some(Reply::Polling { .. }) if can_poll(&session.version) => {
                lock(&session.streams).detach(number);
            }
            Some(Reply::Final(message, _)) => {
                let mut streams = lock(&session.streams);
                streams.write(number, &message);
                streams.end(number);
                return;
            }
            Some(Reply::Streaming | Reply::Polling { .. }) | None => {}
        }
        tokio::select! {
            reply = replies.recv() => match reply {
                Some(reply) => next = Some(reply),
                None => return lock(&session.streams).end(number),
            },
            _ = alive.tick() => {
                lock(&session.streams).keep_alive(number);
            }
        }
    }
}

/// Opens the general stream of a session, or resumes one of its streams.
fn get(gateway: &Arc<Gateway>, who: &Principal, headers: &HeaderMap) -> Answered {
    let version = headers
        .get(header::VERSION)
        .and_then(|version| version.to_str().ok());
    if version.is_some_and(|version| MODERN_VERSIONS.contains(&version)) {
        let mut response = bare(StatusCode::METHOD_NOT_ALLOWED);
        response
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("POST"));
        return response;
    }
    let wants_stream = headers.get_all(ACCEPT).iter().any(|value| {
        value
            .to_str()
            .is_ok_and(|value| value.contains("text/event-stream") || value.contains("*/*"))
    });
    if !wants_stream {
        return bare(StatusCode::NOT_ACCEPTABLE);
    }
    let session = match find(gateway, who, headers) {
        Ok(session) => session,
        Err(status) => return bare(status),
    };
    let last = headers
        .get(header::LAST_EVENT)
        .and_then(|last| last.to_str().ok());
    let (number, seen) = match last.filter(|last| !last.is_empty()).map(parse_event_id) {
        None => (GENERAL, None),
        Some(Some((number, seen))) => (number, Some(seen)),
        Some(None) => return bare(StatusCode::BAD_REQUEST),
    };
    let items = {
        let mut streams = lock(&session.streams);
        let items = streams.attach(number, seen);
        if number == GENERAL && can_poll(&session.version) {
            streams.prime(GENERAL);
        }
        items
    };
    let Some(items) = items else {
        return bare(StatusCode::NOT_FOUND);
    };
    if number == GENERAL {
        hear(gateway, &session);
        tokio::spawn(keep_open(session));
    }
    stream(ReplyBody::Items(items))
}

/// Lets the upstreams that the session talks to speak outside of calls as well.
fn hear(gateway: &Gateway, session: &Arc<Session>) {
    let downstream = Downstream::of_session(session, Door::Mcp);
    for upstream in gateway.fleet.all().values() {
        if let Some(instance) = upstream.existing(&downstream.caller(upstream.name())) {
            instance.listen();
        }
    }
}

/// Gives the general stream signs of life until its connection is gone.
async fn keep_open(session: Arc<Session>) {
    let session = {
        let weak = Arc::downgrade(&session);
        drop(session);
        weak
    };
    let mut alive = interval_at(Instant::now() + SILENCE, SILENCE);
    loop {
        alive.tick().await;
        let Some(session) = session.upgrade() else {
            return;
        };
        if !lock(&session.streams).keep_alive(GENERAL) {
            return;
        }
    }
}

fn delete(gateway: &Gateway, who: &Principal, headers: &HeaderMap) -> Answered {
    match find(gateway, who, headers) {
        Ok(session) => {
            gateway.end_session(&session.id);
            bare(StatusCode::OK)
        }
        Err(status) => bare(status),
    }
}
