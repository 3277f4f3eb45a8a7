//! The legacy eras over HTTP: sessions, streams that can be resumed, answers to questions.

use std::sync::Arc;

use http::header::{ACCEPT, ALLOW};
use http::{HeaderMap, HeaderValue, StatusCode};
use mcpproxy_core::{Door, Oddity, Principal};
use mcpproxy_mcp::era::{LEGACY_VERSIONS, MODERN_VERSIONS, can_poll};
use mcpproxy_mcp::{Frame, FrameKind, compose, header};
use tokio::time::{Instant, interval_at};

use super::{SILENCE, in_flight_already, without_id};
use crate::arrived::Arrived;
use crate::downstream::{Downstream, Replies, Reply, Way};
use crate::gateway::Gateway;
use crate::reply::{Answered, ReplyBody, bare, json, refused, stream};
use crate::router;
use crate::session::{Session, lock};
use crate::settings::RoutingMode;
use crate::streams::{Attachment, GENERAL, parse_event_id};
use crate::unjudged::{CALL, Knock};

/// Answers a message of a legacy era.
pub(super) async fn legacy(
    gateway: &Arc<Gateway>,
    who: Principal,
    mode: RoutingMode,
    headers: &HeaderMap,
    frame: Frame,
    arrived: Arc<Arrived>,
) -> Answered {
    if frame.kind() == FrameKind::Request && &**frame.method() == "initialize" {
        // Boxed, like the rare ways in `serve`: what every request moves about stays small.
        return Box::pin(open(gateway, who, mode, &frame)).await;
    }
    let session = match find(gateway, &who, headers).await {
        Ok(session) => session,
        Err(status) => {
            let knock = Knock::new(gateway, &who, mode).arrived(&arrived);
            let why = ("no_session", "it names no session that is open");
            Box::pin(knock.turned_away(frame.raw(), why, &[])).await;
            return bare(status);
        }
    };
    let downstream = Downstream {
        // What this very request showed: another one of the session may have shown more.
        who,
        arrived: Some(arrived),
        ..Downstream::of_session(&session, Door::Mcp)
    };
    match frame.kind() {
        FrameKind::Request => respond_legacy(gateway, downstream, session, frame).await,
        FrameKind::Notification if &**frame.method() == CALL => {
            router::notification(gateway, &downstream, &frame).await;
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
            gateway.publish(&session).await;
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
async fn find(
    gateway: &Arc<Gateway>,
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
    let found = gateway.find_session(id, who).await;
    found.ok_or(StatusCode::NOT_FOUND)
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
        let refusal = in_flight_already(&id);
        let knock = Knock::of(gateway, &downstream);
        Box::pin(knock.refused(frame.raw(), &refusal, &[Oddity::DuplicateId])).await;
        return refused(&refusal, None);
    };
    let gateway = Arc::clone(gateway);
    let place = Some(in_flight);
    tokio::spawn(router::request(gateway, downstream, frame, way, place));
    let mut replies = back.replies;
    match tokio::time::timeout(SILENCE, replies.recv()).await.ok() {
        Some(Some(Reply::Final(message, ..))) => json(StatusCode::OK, message),
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
    mut replies: Replies,
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
            Some(Reply::Final(message, ..)) => {
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
pub(super) async fn get(gateway: &Arc<Gateway>, who: &Principal, headers: &HeaderMap) -> Answered {
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
    let session = match find(gateway, who, headers).await {
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
    // Not 404, which says that the session is gone (Streamable HTTP, "Session management").
    let Some(items) = items else {
        return bare(StatusCode::GONE);
    };
    if number == GENERAL {
        hear(gateway, &session);
        tokio::spawn(keep_open(session, items.attachment()));
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

/// Gives the general stream signs of life until its connection is gone or another took its place.
async fn keep_open(session: Arc<Session>, attachment: Attachment) {
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
        let mut streams = lock(&session.streams);
        if !streams.is_attached(GENERAL, &attachment) || !streams.keep_alive(GENERAL) {
            return;
        }
    }
}

/// Ends a session.
pub(super) async fn delete(
    gateway: &Arc<Gateway>,
    who: &Principal,
    headers: &HeaderMap,
) -> Answered {
    match find(gateway, who, headers).await {
        Ok(session) => {
            session.cancel_all("the downstream ended the session");
            gateway.end_session(&session.id);
            gateway.unpublish(&session.id).await;
            bare(StatusCode::OK)
        }
        Err(status) => bare(status),
    }
}
