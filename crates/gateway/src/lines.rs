//! The line door: one message a line, as agents that know only stdio speak. It serves the
//! standard streams of `mcpproxy stdio --standalone`, those that the bridge hands over, and
//! upgraded connections of the bridge.

use std::collections::BTreeMap;
use std::future::{Future, pending};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{Door, Oddity, Principal, SessionBasis, SessionKey};
use mcpproxy_mcp::envelope::{Envelope, EnvelopeRefusal};
use mcpproxy_mcp::era::{self, META_VERSION};
use mcpproxy_mcp::line::{LineReader, push_line};
use mcpproxy_mcp::{Frame, FrameKind, Refusal, compose};
use mcpproxy_text as text;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinHandle};

use crate::downstream::{Downstream, Reply, Way};
use crate::gateway::Gateway;
use crate::router;
use crate::session::{Session, follow, lock};
use crate::settings::RoutingMode;
use crate::streamable::{in_flight_already, without_id};
use crate::streams::Item;
use crate::unjudged::{CALL, Knock};

/// Messages that may wait for the other end to read them.
const QUEUE: usize = 256;
/// Notifications that may wait for upstreams to take them.
const NOTES: usize = 64;
/// Bytes gathered for one write at most.
const GATHER: usize = 256 * 1024;

/// What ended a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// There is no more input.
    Input,
    /// The gateway stops, the other end does not read, or a line is too long.
    Other,
}

/// Serves one connection until its input ends.
pub async fn serve<R, W>(
    gateway: Arc<Gateway>,
    who: Principal,
    mode: RoutingMode,
    input: R,
    output: W,
) -> End
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    serve_until(gateway, who, mode, input, output, pending()).await
}

/// Serves one connection until its input ends or the other end is `gone`; then its output is
/// closed at once.
pub(crate) async fn serve_until<R, W>(
    gateway: Arc<Gateway>,
    who: Principal,
    mode: RoutingMode,
    input: R,
    output: W,
    gone: impl Future<Output = ()> + Send + 'static,
) -> End
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (queue, messages) = mpsc::channel(QUEUE);
    let (reads, mut deaf) = oneshot::channel();
    let writer = tokio::spawn(write_until(output, messages, gone, reads));
    let limit = gateway.active().settings.limits.body_bytes.as_usize();
    let (notes, passed) = mpsc::channel(NOTES);
    tokio::spawn(pass_on(Arc::clone(&gateway), passed));
    let connection = Connection::new(Arc::clone(&gateway), who, mode, queue, notes);
    let connection = Arc::new(connection);
    let mut lines = LineReader::new(input, limit);
    let stopped = gateway.stopped();
    tokio::pin!(stopped);
    let end = loop {
        let line = tokio::select! {
            line = lines.next() => line,
            () = &mut stopped => break End::Other,
            // Nobody reads: what would be asked now could not be answered.
            _ = &mut deaf => break End::Other,
        };
        match line {
            Ok(Some(line)) => connection.take(line).await,
            Ok(None) => break End::Input,
            Err(fault) => {
                let message = compose::error(None, era::INVALID_REQUEST, &fault.to_string(), None);
                connection.send(message).await;
                break End::Other;
            }
        }
    };
    drop(lines);
    finish(&gateway, connection, writer).await;
    end
}

/// Ends a connection. Answers to requests in flight are still written, but not for ever: whoever
/// closed the input may be gone.
async fn finish(gateway: &Gateway, connection: Arc<Connection>, mut writer: JoinHandle<()>) {
    let session = connection.close();
    let left = Arc::downgrade(&connection);
    drop(connection);
    let grace: Duration = gateway.active().settings.limits.shutdown_grace.into();
    // The writer ends with the last request, which held the last way to it.
    if tokio::time::timeout(grace, &mut writer).await.is_err() {
        let reason = "the downstream closed the connection";
        if let Some(session) = &session {
            session.cancel_all(reason);
        }
        if let Some(connection) = left.upgrade() {
            connection.cancel(reason, |_| true);
        }
        writer.abort();
    }
    // Only now: what was under way may have needed what upstreams keep for the session.
    if let Some(session) = session {
        gateway.end_session(&session.id);
    }
}

/// Writes messages until there are no more. When the other end takes none or is gone, the output
/// is closed, which dropping `reads` tells, and what comes yet is thrown away: nobody who has
/// something to say must wait for ever.
async fn write_until<W: AsyncWrite + Unpin>(
    output: W,
    mut messages: mpsc::Receiver<Bytes>,
    gone: impl Future<Output = ()>,
    reads: oneshot::Sender<()>,
) {
    tokio::select! {
        () = write(output, &mut messages) => {}
        () = gone => {}
    }
    drop(reads);
    while messages.recv().await.is_some() {}
}

/// Writes messages as lines, gathering what is ready into one write.
async fn write<W: AsyncWrite + Unpin>(mut output: W, messages: &mut mpsc::Receiver<Bytes>) {
    let mut buffer = Vec::new();
    while let Some(message) = messages.recv().await {
        buffer.clear();
        push_line(&mut buffer, &message);
        while buffer.len() < GATHER
            && let Ok(more) = messages.try_recv()
        {
            push_line(&mut buffer, &more);
        }
        if output.write_all(&buffer).await.is_err() || output.flush().await.is_err() {
            return;
        }
        buffer.shrink_to(GATHER);
    }
}

struct Connection {
    gateway: Arc<Gateway>,
    who: Principal,
    mode: RoutingMode,
    queue: mpsc::Sender<Bytes>,
    notes: mpsc::Sender<(Arc<Session>, Frame)>,
    key: SessionKey,
    session: Mutex<Option<Arc<Session>>>,
    /// What passes on what belongs to no request.
    following: Mutex<Option<AbortHandle>>,
    /// Modern requests in flight, which have no session to keep them.
    in_flight: Mutex<BTreeMap<String, Waiting>>,
}

/// A modern request in flight.
struct Waiting {
    /// Whether it ends only when it is cancelled.
    endless: bool,
    cancel: watch::Sender<Option<String>>,
}

impl Connection {
    fn new(
        gateway: Arc<Gateway>,
        who: Principal,
        mode: RoutingMode,
        queue: mpsc::Sender<Bytes>,
        notes: mpsc::Sender<(Arc<Session>, Frame)>,
    ) -> Self {
        let random = mcpproxy_mcp::seal::random().unwrap_or_default();
        let id = mcpproxy_core::Id128::from_bytes(random);
        let key = SessionKey {
            basis: SessionBasis::Connection,
            id,
        };
        let (session, in_flight) = (Mutex::default(), Mutex::default());
        let following = Mutex::default();
        Self {
            gateway,
            who,
            mode,
            queue,
            notes,
            key,
            session,
            following,
            in_flight,
        }
    }

    async fn send(&self, message: Bytes) {
        // The other end may have stopped reading; the input ends next.
        drop(self.queue.send(message).await);
    }

    async fn refuse(&self, refusal: &Refusal, data: Option<&serde_json::Value>) {
        tracing::info!("refused a message: {refusal}");
        let id = refusal
            .id
            .as_deref()
            .and_then(|id| std::str::from_utf8(id).ok());
        self.send(compose::error(id, refusal.code, &refusal.message, data))
            .await;
    }

    /// Whoever is at the other end, as receipts have it.
    fn knock(&self) -> Knock<'_> {
        let session = lock(&self.session).as_ref().map(|session| session.key);
        let knock = Knock::new(&self.gateway, &self.who, self.mode);
        knock.within(session.unwrap_or(self.key))
    }

    async fn take(self: &Arc<Self>, line: Bytes) {
        if let Some(session) = &*lock(&self.session) {
            session.touch(self.gateway.clock.tick());
        }
        let frame = match Frame::parse(line.clone(), self.gateway.limits()) {
            Ok(frame) => frame,
            Err(refusal) => {
                let odd = &[Oddity::Unread];
                Box::pin(self.knock().refused(&line, &refusal, odd)).await;
                return self.refuse(&refusal, None).await;
            }
        };
        match frame.kind() {
            FrameKind::Request => self.request(frame).await,
            FrameKind::Notification if &**frame.method() == CALL => {
                tracing::warn!("refused a `tools/call` without an id: nobody could be answered");
                let odd = &[Oddity::NoId];
                Box::pin(self.knock().refused(frame.raw(), &without_id(), odd)).await;
            }
            FrameKind::Notification => self.notification(frame),
            FrameKind::Result | FrameKind::Error => {
                let session = lock(&self.session).clone();
                if !session.is_some_and(|session| session.answered(frame)) {
                    tracing::debug!("dropped an answer that nobody waits for");
                }
            }
        }
    }

    async fn request(self: &Arc<Self>, frame: Frame) {
        if text::get(frame.params(), &["_meta", META_VERSION]).is_some() {
            return match self.modern(&frame) {
                Ok(downstream) => self.run(downstream, frame).await,
                Err(EnvelopeRefusal { refusal, data }) => {
                    Box::pin(self.knock().refused(frame.raw(), &refusal, &[])).await;
                    self.refuse(&refusal, data.as_deref()).await;
                }
            };
        }
        let session = lock(&self.session).clone();
        match session {
            Some(session) => {
                let downstream = Downstream::of_session(&session, Door::Mcp);
                self.run(downstream, frame).await;
            }
            None if &**frame.method() == "initialize" => self.open(&frame).await,
            None => {
                let id = frame.id().map(|id| Bytes::copy_from_slice(id.as_bytes()));
                // `server/discover` without a version comes here too: a legacy opener is told so.
                let message = "send `initialize` first, or a version in `_meta`".to_owned();
                let why = ("no_session", "no session is open");
                Box::pin(self.knock().turned_away(frame.raw(), why, &[])).await;
                self.refuse(
                    &Refusal {
                        code: era::INVALID_REQUEST,
                        message,
                        id,
                    },
                    None,
                )
                .await;
            }
        }
    }

    fn modern(&self, frame: &Frame) -> Result<Downstream, EnvelopeRefusal> {
        let envelope = Envelope::read(frame)?;
        Envelope::check_version(&envelope.version, frame.id())?;
        let who = self.who.clone();
        Ok(Downstream::of_envelope(envelope, who, self.mode, self.key))
    }

    async fn open(self: &Arc<Self>, frame: &Frame) {
        let id = frame.id().unwrap_or_default();
        match router::initialize(&self.gateway, self.who.clone(), self.mode, frame).await {
            Ok((session, result)) => {
                let (gateway, queue) = (Arc::clone(&self.gateway), self.queue.clone());
                let following = follow(gateway, Arc::downgrade(&session), queue, in_a_line);
                *lock(&self.following) = Some(tokio::spawn(following).abort_handle());
                *lock(&self.session) = Some(session);
                self.send(compose::result(id, &result)).await;
            }
            Err(failure) => self.send(failure.answer(Some(id))).await,
        }
    }

    async fn run(self: &Arc<Self>, downstream: Downstream, frame: Frame) {
        let (way, back) = Way::new();
        let id = frame.id().unwrap_or_default().to_owned();
        let in_flight = match &downstream.session {
            Some(session) => session.begin(&id, back.cancel.clone(), way.clone()),
            None => None,
        };
        let modern = downstream.session.is_none();
        let taken = if modern {
            let waiting = Waiting {
                endless: &**frame.method() == "subscriptions/listen",
                cancel: back.cancel.clone(),
            };
            let mut in_flight = lock(&self.in_flight);
            in_flight.contains_key(&id) || in_flight.insert(id.clone(), waiting).is_some()
        } else {
            in_flight.is_none()
        };
        if taken {
            let (refusal, odd) = (in_flight_already(&id), &[Oddity::DuplicateId]);
            let knock = Knock::of(&self.gateway, &downstream);
            Box::pin(knock.refused(frame.raw(), &refusal, odd)).await;
            return self.refuse(&refusal, None).await;
        }
        let gateway = Arc::clone(&self.gateway);
        let request = router::request(gateway, downstream, frame, way, in_flight);
        let connection = Arc::clone(self);
        let mut replies = back.replies;
        let cancel = back.cancel;
        let relay = async move {
            while let Some(reply) = replies.recv().await {
                match reply {
                    Reply::Message(message) => connection.send(message).await,
                    Reply::Streaming | Reply::Polling { .. } => {}
                    Reply::Final(message, _, place) => {
                        lock(&connection.in_flight).remove(&id);
                        connection.send(message).await;
                        drop(place);
                        break;
                    }
                }
            }
            drop(cancel);
        };
        // One task for both: a second one would wake another thread for every call.
        tokio::spawn(async move { tokio::join!(request, relay) });
    }

    /// Takes a notification. Only cancelling is done here: upstreams may be slow to take the rest.
    fn notification(&self, frame: Frame) {
        let session = lock(&self.session).clone();
        if &**frame.method() != "notifications/cancelled" {
            if let Some(session) = session
                && self.notes.try_send((session, frame)).is_err()
            {
                tracing::info!("dropped a notification for upstreams that do not keep up");
            }
            return;
        }
        let Some((id, _)) = text::get(frame.params(), &["requestId"]) else {
            return;
        };
        if let Some(session) = session {
            session.cancel(id, router::CANCELLED);
        } else if let Some(waiting) = lock(&self.in_flight).get(id) {
            waiting
                .cancel
                .send_replace(Some(router::CANCELLED.to_owned()));
        }
    }

    /// Ends what would otherwise never end, and returns the session.
    fn close(&self) -> Option<Arc<Session>> {
        self.cancel("the downstream closed the connection", |waiting| {
            waiting.endless
        });
        let session = lock(&self.session).take();
        if let Some(following) = lock(&self.following).take() {
            following.abort();
        }
        session
    }

    fn cancel(&self, reason: &str, which: impl Fn(&Waiting) -> bool) {
        for waiting in lock(&self.in_flight).values().filter(|one| which(one)) {
            waiting.cancel.send_replace(Some(reason.to_owned()));
        }
    }
}

/// A line needs no ids and no signs of life.
fn in_a_line(item: Item) -> Option<Bytes> {
    match item {
        Item::Message { message, .. } => Some(message),
        Item::Prime { .. } | Item::KeepAlive => None,
    }
}

/// Passes notifications on, one after the other.
async fn pass_on(gateway: Arc<Gateway>, mut notes: mpsc::Receiver<(Arc<Session>, Frame)>) {
    while let Some((session, frame)) = notes.recv().await {
        let downstream = Downstream::of_session(&session, Door::Mcp);
        router::notification(&gateway, &downstream, &frame).await;
    }
}
