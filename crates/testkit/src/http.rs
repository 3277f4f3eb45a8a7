//! The samples over HTTP, in process: Streamable HTTP in both eras at `/mcp`, the older HTTP+SSE
//! at `/sse`, and faults to order.
//!
//! For tests. Nothing here is bounded against a hostile downstream but the size of a body.

mod answer;
mod broken;
mod older;
mod route;
mod sessions;

use std::fmt;
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderMap, Method};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

pub use self::broken::Broken;
use self::sessions::Sessions;
use crate::authority::{self, Authority};
use crate::lock;
use crate::sample::{Options, Sample, Service};

/// A sample that is served over HTTP on a loopback port until it is dropped.
pub struct HttpUpstream {
    /// The address for Streamable HTTP.
    pub url: String,
    /// The address for the older HTTP+SSE.
    pub sse_url: String,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

/// One HTTP request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// The method.
    pub method: Method,
    /// The path.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; what is not UTF-8 in it is replaced.
    pub body: String,
}

/// What the connections share.
struct Shared {
    service: Arc<Service>,
    sessions: Sessions,
    orders: Mutex<Orders>,
    received: watch::Sender<Vec<Received>>,
    connections: AtomicUsize,
}

/// How answers are to go wrong.
#[derive(Clone, Default)]
struct Orders {
    delay: Duration,
    status: Option<u16>,
    broken: Option<(String, Broken)>,
    hanging: Option<String>,
    protection: Option<Protection>,
}

/// Who must vouch for callers, and what they are told who come without a word.
#[derive(Clone)]
struct Protection {
    authority: Arc<authority::Shared>,
    base: String,
    /// Instead of the one that leads to the upstream's own description.
    challenge: Option<String>,
}

impl HttpUpstream {
    /// Starts to serve a sample. The runtime that calls this serves it.
    pub async fn start(sample: Sample, options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            service: Arc::new(Service::start(sample, options)?),
            sessions: Sessions::default(),
            orders: Mutex::default(),
            received: watch::Sender::default(),
            connections: AtomicUsize::new(0),
        });
        let (serving, counting) = (Arc::clone(&shared), Arc::clone(&shared));
        let serve = move |stream| connection(stream, Arc::clone(&serving));
        let count = move |many| counting.connections.store(many, Ordering::Relaxed);
        let accepting = tokio::spawn(accept(listener, serve, count)).abort_handle();
        Ok(Self {
            url: format!("http://{address}/mcp"),
            sse_url: format!("http://{address}/sse"),
            shared,
            accepting,
        })
    }

    /// Returns the bodies that were received, in order.
    pub fn received(&self) -> Vec<String> {
        let requests = self.shared.received.borrow();
        let bodies = requests.iter().map(|request| &request.body);
        bodies.filter(|body| !body.is_empty()).cloned().collect()
    }

    /// Returns the requests that were received, in order.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.received.borrow().clone()
    }

    /// Waits until a body was received that contains `text`, and returns the first.
    pub async fn until_received(&self, text: &str) -> Received {
        let mut received = self.shared.received.subscribe();
        loop {
            let requests = received.borrow_and_update().clone();
            if let Some(found) = requests.into_iter().find(|one| one.body.contains(text)) {
                return found;
            }
            // The sender lives as long as `self`, so that this can only be news.
            drop(received.changed().await);
        }
    }

    /// Returns how many legacy sessions are open.
    pub fn sessions(&self) -> usize {
        self.shared.sessions.count()
    }

    /// Forgets all legacy sessions, as a restart does: their ids are answered with 404.
    pub fn forget_sessions(&self) {
        self.shared.sessions.forget();
    }

    /// Returns how many connections are open.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Never answers what comes with an HTTP method or with a body that contains a text.
    pub fn hang_on(&self, what: &str) {
        lock(&self.shared.orders).hanging = Some(what.to_owned());
    }

    /// Answers every request only after a while.
    pub fn delay(&self, delay: Duration) {
        lock(&self.shared.orders).delay = delay;
    }

    /// Answers everything with a bare status.
    pub fn answer_with_status(&self, status: u16) {
        lock(&self.shared.orders).status = Some(status);
    }

    /// Breaks the answers to requests of one method.
    pub fn break_answers(&self, method: &str, how: Broken) {
        lock(&self.shared.orders).broken = Some((method.to_owned(), how));
    }

    /// Lets in only who shows a token that an authorization server issued for this upstream.
    pub fn protect(&self, authority: &Authority) {
        self.protected(authority, None);
    }

    /// The same, with a challenge of the test's own.
    pub fn protect_with(&self, authority: &Authority, challenge: &str) {
        self.protected(authority, Some(challenge.to_owned()));
    }

    fn protected(&self, authority: &Authority, challenge: Option<String>) {
        lock(&self.shared.orders).protection = Some(Protection {
            authority: authority.shared(),
            base: self.url.trim_end_matches("/mcp").to_owned(),
            challenge,
        });
    }

    /// Takes back every order to delay, hold back, refuse or break answers.
    pub fn mend(&self) {
        *lock(&self.shared.orders) = Orders::default();
    }
}

impl Drop for HttpUpstream {
    fn drop(&mut self) {
        self.accepting.abort();
        self.shared.sessions.forget();
    }
}

impl fmt::Debug for HttpUpstream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("HttpUpstream");
        shown.field("url", &self.url).finish_non_exhaustive()
    }
}

/// Accepts connections, and says how many there are. Dropping the set of their tasks closes them.
pub(crate) async fn accept<F>(
    listener: TcpListener,
    serve: impl Fn(TcpStream) -> F,
    count: impl Fn(usize),
) where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { return };
                connections.spawn(serve(stream));
            }
            Some(_) = connections.join_next() => {}
        }
        count(connections.len());
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(move |request| route::answer(Arc::clone(&shared), request));
    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // A connection that breaks off is what half of the tests are about.
    drop(served.await);
}

#[cfg(test)]
mod tests;
