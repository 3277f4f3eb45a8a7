//! An authorization server on a loopback port: metadata, registration, logins without a person,
//! tokens that end and rotate, and faults to order.
//!
//! For tests. It is strict where a real one is: a code and a token that fetches the next can be
//! used once, and using the latter again ends everything that came of it.

mod book;
mod orders;
mod route;

use std::fmt;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::header::LOCATION;
use http::{HeaderMap, Method, Uri};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mcpproxy_core::Clock;
use mcpproxy_mcp::dial::Dialer;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use self::book::Book;
pub use self::book::Counts;
pub use self::orders::{AuthorityOrders, Iss, Metadata};
use crate::http::accept;
use crate::lock;

/// An authorization server that runs until it is dropped.
pub struct Authority {
    /// Its name, which is also its address.
    pub issuer: String,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

/// What the connections share.
pub(crate) struct Shared {
    issuer: String,
    clock: Arc<dyn Clock>,
    orders: Mutex<AuthorityOrders>,
    book: Mutex<Book>,
}

impl Authority {
    /// Starts to serve. Tokens end by the clock that is given.
    pub async fn start(clock: Arc<dyn Clock>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let issuer = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared {
            issuer: issuer.clone(),
            clock,
            orders: Mutex::default(),
            book: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        let serve = move |stream| connection(stream, Arc::clone(&serving));
        let accepting = tokio::spawn(accept(listener, serve, |_| {})).abort_handle();
        Ok(Self {
            issuer,
            shared,
            accepting,
        })
    }

    /// Changes how it behaves from now on.
    pub fn order(&self, change: impl FnOnce(&mut AuthorityOrders)) {
        change(&mut lock(&self.shared.orders));
    }

    /// Returns what was done so far.
    pub fn counts(&self) -> Counts {
        lock(&self.shared.book).counts.clone()
    }

    /// Ends every token that opens something; those that fetch the next go on.
    pub fn end_access(&self) {
        lock(&self.shared.book).end_access();
    }

    /// Ends everything.
    pub fn revoke(&self) {
        lock(&self.shared.book).revoke();
    }

    /// Returns what an upstream asks it about tokens.
    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Does what a browser does with the address of a login, for somebody who agrees to everything.
    /// Returns the status of the page that it ends on.
    pub async fn browse(&self, url: &str) -> io::Result<u16> {
        let back = self.agree(url).await?;
        Ok(visit(&back).await?.0)
    }

    /// Agrees to a login, and returns the address that the browser is sent back to.
    pub async fn agree(&self, url: &str) -> io::Result<String> {
        let (status, location) = visit(url).await?;
        let none = || io::Error::other(format!("nobody is sent back: HTTP {status}"));
        location.ok_or_else(none)
    }
}

impl Shared {
    /// Tells whether a token opens a resource right now.
    pub(crate) fn accepts(&self, token: &str, resource: &str) -> bool {
        let now = self.clock.wall();
        lock(&self.book).accepts(token, resource, now)
    }

    /// Returns its name.
    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }
}

async fn visit(url: &str) -> io::Result<(u16, Option<String>)> {
    let uri: Uri = url.parse().map_err(io::Error::other)?;
    let dialer = Dialer::default();
    let sent = dialer.send(Method::GET, &uri, HeaderMap::new(), Bytes::new());
    let answer = sent.await.map_err(io::Error::other)?;
    let location = answer.headers().get(LOCATION);
    let location = location.and_then(|value| value.to_str().ok());
    Ok((answer.status().as_u16(), location.map(ToOwned::to_owned)))
}

impl Drop for Authority {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Authority");
        shown.field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(move |request| route::answer(Arc::clone(&shared), request));
    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // One who goes away early is what some tests are about.
    drop(served.await);
}
