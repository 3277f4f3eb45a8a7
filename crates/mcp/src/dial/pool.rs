//! Connections that wait for their next request, and the bodies that bring them back.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use http::uri::{Authority, Scheme};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use tokio::time::Instant;

/// How long a connection may wait for its next request.
const IDLE: Duration = Duration::from_secs(90);
/// How often connections that waited too long are looked for.
const SWEEP: Duration = Duration::from_secs(30);

/// Where a connection leads.
pub(super) type Origin = (Scheme, Authority);

/// One connection, as its requests see it.
pub(super) type Sender = SendRequest<Full<Bytes>>;

/// The connections that wait, by where they lead; the one that waits for longest comes first.
#[derive(Debug, Default)]
pub(super) struct Pool(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    idle: HashMap<Origin, Vec<(Instant, Sender)>>,
    swept: bool,
}

impl Pool {
    /// Takes the connection that was used last and is ready for a request: one whose upstream
    /// answered early may still be busy with the request before.
    pub(super) fn take(&self, origin: &Origin) -> Option<Sender> {
        let mut waiting = self.lock();
        let idle = waiting.idle.get_mut(origin)?;
        let at = idle.iter().rposition(|(_, sender)| sender.is_ready())?;
        Some(idle.remove(at).1)
    }

    /// Takes a connection back.
    fn put(self: &Arc<Self>, origin: Origin, sender: Sender) {
        if sender.is_closed() {
            return;
        }
        let mut waiting = self.lock();
        let idle = waiting.idle.entry(origin).or_default();
        idle.push((Instant::now(), sender));
        if !waiting.swept {
            waiting.swept = true;
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }

    /// Closes what has waited for too long. Returns whether anything is left.
    fn prune(&self, now: Instant) -> bool {
        let mut waiting = self.lock();
        waiting.idle.retain(|_, idle| {
            idle.retain(|(since, sender)| {
                !sender.is_closed() && now.saturating_duration_since(*since) < IDLE
            });
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
}

impl Received {
    pub(super) fn new(body: Incoming, pool: &Arc<Pool>, origin: Origin, sender: Sender) -> Self {
        let pool = Arc::clone(pool);
        let lease = Some(Lease {
            pool,
            origin,
            sender,
        });
        Self { body, lease }
    }

    fn give_back(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.pool.put(lease.origin, lease.sender);
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

/// Returns where a connection for an address leads.
pub(super) fn origin(uri: &Uri) -> Option<Origin> {
    Some((uri.scheme()?.clone(), uri.authority()?.clone()))
}
