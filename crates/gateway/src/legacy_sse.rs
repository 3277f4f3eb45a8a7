//! The older HTTP+SSE door: one stream brings everything, POSTs take everything.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::Body;
use mcpproxy_core::{Door, Oddity, Principal};
use mcpproxy_mcp::era::INVALID_REQUEST;
use mcpproxy_mcp::{Frame, FrameKind, compose, sse};
use tokio::sync::mpsc;

use crate::downstream::{Downstream, Reply, Way};
use crate::gateway::{Gateway, INVALID_TOKEN};
use crate::reply::{Answered, ReplyBody, bare};
use crate::router;
use crate::session::{Session, follow, lock};
use crate::settings::RoutingMode;
use crate::streamable::{in_flight_already, read_frame};
use crate::streams::Item;
use crate::unjudged::Knock;

/// Events that may wait for a slow downstream.
const QUEUE: usize = 256;
/// Streams open at once.
const MOST: usize = 4096;

/// The open streams, by the id that POSTs name.
#[derive(Debug, Default)]
pub struct Channels(Mutex<HashMap<String, Arc<Channel>>>);

#[derive(Debug)]
struct Channel {
    who: Principal,
    mode: RoutingMode,
    queue: mpsc::Sender<Bytes>,
    stage: Mutex<Stage>,
}

/// How far a stream's conversation has come.
#[derive(Clone, Debug, Default)]
enum Stage {
    /// Nothing was said.
    #[default]
    New,
    /// `initialize` is being answered; a second one is refused meanwhile.
    Opening,
    /// Its session is open.
    Open(Arc<Session>),
    /// The downstream has gone: whatever is opened now has nobody.
    Closed,
}

impl Channel {
    /// Takes the right to open the session, once.
    fn begin(&self) -> bool {
        let mut stage = lock(&self.stage);
        let new = matches!(*stage, Stage::New);
        if new {
            *stage = Stage::Opening;
        }
        new
    }

    /// Notes what came of opening it. Returns false if the downstream has gone meanwhile.
    fn settle(&self, session: Option<&Arc<Session>>) -> bool {
        let mut stage = lock(&self.stage);
        if matches!(*stage, Stage::Closed) {
            return false;
        }
        *stage = session.map_or(Stage::New, |session| Stage::Open(Arc::clone(session)));
        true
    }

    /// Returns who the stream is for, with the credential that was shown last.
    fn holder(&self) -> Principal {
        match &*lock(&self.stage) {
            Stage::Open(session) => session.holder(),
            Stage::New | Stage::Opening | Stage::Closed => self.who.clone(),
        }
    }

    /// Notes that the downstream has gone, and returns its session.
    fn close(&self) -> Option<Arc<Session>> {
        match std::mem::replace(&mut *lock(&self.stage), Stage::Closed) {
            Stage::Open(session) => Some(session),
            Stage::New | Stage::Opening | Stage::Closed => None,
        }
    }
}

/// Opens a stream and names the address for messages.
pub async fn open(channels: &Arc<Channels>, gateway: &Arc<Gateway>, who: Principal) -> Answered {
    let Ok(random) = mcpproxy_mcp::seal::random() else {
        return bare(StatusCode::INTERNAL_SERVER_ERROR);
    };
    let id = mcpproxy_core::Id128::from_bytes(random).to_string();
    let (queue, pieces) = mpsc::channel(QUEUE);
    let mode = gateway.active().settings.routing_mode;
    let channel = Arc::new(Channel {
        who,
        mode,
        queue: queue.clone(),
        stage: Mutex::default(),
    });
    {
        let mut open = lock(&channels.0);
        if open.len() >= MOST {
            return bare(StatusCode::SERVICE_UNAVAILABLE);
        }
        open.insert(id.clone(), Arc::clone(&channel));
    }
    let endpoint = format!("event: endpoint\ndata: /messages?sessionId={id}\n\n");
    drop(queue.send(endpoint.into()).await);
    tokio::spawn(watch(
        Arc::clone(channels),
        Arc::clone(gateway),
        id,
        channel,
        queue,
    ));
    let mut response = Response::new(ReplyBody::Pieces(pieces));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(
        CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    response
}

/// Gives the stream signs of life and ends its session once the downstream is gone. When the
/// gateway stops, what is under way holds the stream open until it is answered.
async fn watch(
    channels: Arc<Channels>,
    gateway: Arc<Gateway>,
    id: String,
    channel: Arc<Channel>,
    queue: mpsc::Sender<Bytes>,
) {
    let mut alive = tokio::time::interval(std::time::Duration::from_secs(15));
    let control = gateway.access.control();
    let why = loop {
        let holder = channel.holder();
        tokio::select! {
            () = queue.closed() => break Some("the downstream closed its stream"),
            () = gateway.stopped() => break None,
            // A user's credential may have been renewed meanwhile.
            () = gateway.until_invalid(&holder) => {
                if !control.is_valid(&channel.holder()) {
                    break Some(INVALID_TOKEN);
                }
            }
            _ = alive.tick() => drop(queue.try_send(Bytes::from_static(sse::KEEP_ALIVE))),
        }
    };
    lock(&channels.0).remove(&id);
    // What is under way when the gateway stops may need what upstreams keep for the session.
    if let Some(why) = why
        && let Some(session) = channel.close()
    {
        session.cancel_all(why);
        gateway.end_session(&session.id);
    }
}

/// Takes one message.
pub async fn post<B>(
    channels: &Channels,
    gateway: &Arc<Gateway>,
    who: &Principal,
    request: Request<B>,
) -> Answered
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let query = request.uri().query().unwrap_or_default();
    let id = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("sessionId="))
        .unwrap_or_default();
    let channel = lock(&channels.0)
        .get(id)
        .filter(|channel| channel.who == *who)
        .cloned();
    let Some(channel) = channel else {
        return bare(StatusCode::NOT_FOUND);
    };
    let knock = Knock::new(gateway, who, channel.mode);
    let frame = match read_frame(gateway, &knock, request.into_body()).await {
        Ok(frame) => frame,
        Err(answer) => return *answer,
    };
    let stage = lock(&channel.stage).clone();
    let Stage::Open(session) = stage else {
        if frame.kind() != FrameKind::Request || &**frame.method() != "initialize" {
            let why = ("no_session", "its session is not open yet");
            knock.turned_away(frame.raw(), why, &[]).await;
            return bare(StatusCode::BAD_REQUEST);
        }
        if channel.begin() {
            // A task of its own: a POST that breaks off must not leave it half done.
            let opening = initialize(Arc::clone(gateway), channel, frame);
            drop(tokio::spawn(opening).await);
        } else {
            refuse(
                &channel,
                &frame,
                "this session is being initialized already",
            );
        }
        return bare(StatusCode::ACCEPTED);
    };
    session.touch(gateway.clock.tick());
    session.renew(who);
    match frame.kind() {
        FrameKind::Request => run(gateway, who, &channel, &session, frame).await,
        FrameKind::Notification => {
            let downstream = Downstream::of_session(&session, Door::Mcp);
            router::notification(gateway, &downstream, &frame).await;
        }
        FrameKind::Result | FrameKind::Error => {
            if !session.answered(frame) {
                tracing::debug!("dropped an answer that nobody waits for");
            }
        }
    }
    bare(StatusCode::ACCEPTED)
}

async fn initialize(gateway: Arc<Gateway>, channel: Arc<Channel>, frame: Frame) {
    let id = frame.id().unwrap_or_default();
    let who = channel.who.clone();
    let message = match router::initialize(&gateway, who, channel.mode, &frame).await {
        Ok((session, result)) => {
            if !channel.settle(Some(&session)) {
                gateway.end_session(&session.id);
                return;
            }
            let queue = channel.queue.clone();
            let form = |item: Item| Some(item.encode());
            let following = follow(Arc::clone(&gateway), Arc::downgrade(&session), queue, form);
            tokio::spawn(following);
            compose::result(id, &result)
        }
        Err(failure) => {
            channel.settle(None);
            failure.answer(Some(id))
        }
    };
    drop(channel.queue.send(sse::encode(&message, None)).await);
}

fn refuse(channel: &Channel, frame: &Frame, message: &str) {
    let error = compose::error(frame.id(), INVALID_REQUEST, message, None);
    drop(channel.queue.try_send(sse::encode(&error, None)));
}

async fn run(
    gateway: &Arc<Gateway>,
    who: &Principal,
    channel: &Arc<Channel>,
    session: &Arc<Session>,
    frame: Frame,
) {
    let (way, mut back) = Way::new();
    let id = frame.id().unwrap_or_default().to_owned();
    let queue = channel.queue.clone();
    let downstream = Downstream {
        who: who.clone(),
        ..Downstream::of_session(session, Door::Mcp)
    };
    let Some(in_flight) = session.begin(&id, back.cancel.clone(), way.clone()) else {
        let refusal = in_flight_already(&id);
        let knock = Knock::of(gateway, &downstream);
        knock
            .refused(frame.raw(), &refusal, &[Oddity::DuplicateId])
            .await;
        return refuse(channel, &frame, &refusal.message);
    };
    let gateway = Arc::clone(gateway);
    let place = Some(in_flight);
    tokio::spawn(router::request(gateway, downstream, frame, way, place));
    tokio::spawn(async move {
        while let Some(reply) = back.replies.recv().await {
            let last = matches!(reply, Reply::Final(..));
            if let Reply::Message(message) | Reply::Final(message, ..) = reply
                && queue.send(sse::encode(&message, None)).await.is_err()
            {
                return;
            }
            if last {
                return;
            }
        }
    });
}
