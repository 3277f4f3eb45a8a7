//! Connections that wait for their next request, and the bodies that bring them back.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::uri::{Authority, Scheme};
use http::{HeaderMap, Response, Uri};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use tokio::time::Instant;

/// How long a connection may wait for its next request: upstreams close theirs after a while, and
/// a request that crosses with that is lost.
const IDLE: Duration = Duration::from_secs(15);
/// How often connections that waited too long are looked for.
const SWEEP: Duration = Duration::from_secs(5);
/// How long before an upstream said it will close a connection it is not used any more.
const MARGIN: Duration = Duration::from_secs(1);

/// Where a connection leads.
pub(super) type Origin = (Scheme, Authority);

/// The body of a request: at hand, or read from elsewhere while it is sent.
pub type Sent = Either<Full<Bytes>, BoxBody<Bytes, std::io::Error>>;

/// One connection, as its requests see it.
pub(super) type Sender = SendRequest<Sent>;

/// The connections that wait, by where they lead; the one that waits for longest comes first.
#[derive(Debug, Default)]
pub(super) struct Pool(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// With the moment until which each may be used.
    idle: HashMap<Origin, Vec<(Instant, Sender)>>,
    swept: bool,
}

impl Pool {
    /// Takes the connection that was used last and is ready for a request: one whose upstream
    /// answered early may still be busy with the request before.
    pub(super) fn take(&self, origin: &Origin) -> Option<Sender> {
        let mut waiting = self.lock();
        let idle = waiting.idle.get_mut(origin)?;
        let now = Instant::now();
        idle.retain(|(until, sender)| !sender.is_closed() && now < *until);
        let at = idle.iter().rposition(|(_, sender)| sender.is_ready())?;
        Some(idle.remove(at).1)
    }

    /// Takes a connection back.
    fn put(self: &Arc<Self>, origin: Origin, sender: Sender, idle: Duration) {
        if sender.is_closed() {
            return;
        }
        let mut waiting = self.lock();
        let others = waiting.idle.entry(origin).or_default();
        others.push((Instant::now() + idle, sender));
        if !waiting.swept {
            waiting.swept = true;
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }

    /// Closes what has waited for too long. Returns whether anything is left.
    fn prune(&self, now: Instant) -> bool {
        let mut waiting = self.lock();
        waiting.idle.retain(|_, idle| {
            idle.retain(|(until, sender)| !sender.is_closed() && now < *until);
            !idle.is_empty()
        });
        waiting.swept = !waiting.idle.is_empty();
        waiting.swept
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks after connections that wait, as long as there are any.
async fn sweep(pool: Weak<Pool>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let left = pool
            .upgrade()
            .is_some_and(|pool| pool.prune(Instant::now()));
        if !left {
            return;
        }
    }
}

/// The body of an answer. Once it is read to its end, the connection waits for its next request;
/// dropped before that, it closes the connection.
pub struct Received {
    body: Incoming,
    lease: Option<Lease>,
}

struct Lease {
    pool: Arc<Pool>,
    origin: Origin,
    sender: Sender,
    idle: Duration,
}

impl Received {
    pub(super) fn of(
        response: Response<Incoming>,
        pool: &Arc<Pool>,
        origin: Origin,
        sender: Sender,
    ) -> Response<Self> {
        let lease = Some(Lease {
            pool: Arc::clone(pool),
            origin,
            sender,
            idle: idle(response.headers()),
        });
        response.map(|body| Self { body, lease })
    }

    fn give_back(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.pool.put(lease.origin, lease.sender, lease.idle);
        }
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.body.fmt(formatter)
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        if self.body.is_end_stream() {
            self.give_back();
        }
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let frame = ready!(Pin::new(&mut this.body).poll_frame(context));
        if frame.is_none() {
            this.give_back();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Returns for how long a connection may wait: `Keep-Alive: timeout=5` says when it is closed.
fn idle(headers: &HeaderMap) -> Duration {
    let said = headers
        .get("keep-alive")
        .and_then(|said| said.to_str().ok());
    let timeout = said.and_then(|said| {
        let mut words = said.split(',');
        words.find_map(|word| word.trim().strip_prefix("timeout=")?.parse().ok())
    });
    let timeout = timeout.map(|seconds| Duration::from_secs(seconds).saturating_sub(MARGIN));
    timeout.map_or(IDLE, |timeout| timeout.min(IDLE))
}

/// Returns where a connection for an address leads.
pub(super) fn origin(uri: &Uri) -> Option<Origin> {
    Some((uri.scheme()?.clone(), uri.authority()?.clone()))
}

#[cfg(test)]
mod tests;
