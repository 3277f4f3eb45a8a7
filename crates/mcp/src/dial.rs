//! The HTTP client under the upstream transports: pooled, bounded, with its own TLS roots.
//!
//! One request is one exchange on one connection. There are no redirects, no proxies and no HTTP/2.

mod pin;
mod pool;

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use http_body_util::{Either, Full};
use hyper::client::conn::http1;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use tower_service::Service as _;

pub use self::pin::{Chain, Pin};
use self::pool::{Pool, Sender, origin};
pub use self::pool::{Received, Sent};
use crate::Error;

/// A pool of connections to upstreams.
#[derive(Clone, Debug)]
pub struct Dialer {
    connector: HttpsConnector<HttpConnector>,
    pool: Arc<Pool>,
}

impl Default for Dialer {
    fn default() -> Self {
        let connector = HttpsConnectorBuilder::new()
            .with_webpki_roots()
            .https_or_http()
            .enable_http1()
            .wrap_connector(plain());
        let pool = Arc::default();
        Self { connector, pool }
    }
}

impl Dialer {
    /// Makes a pool of connections to a peer that shows one of the pinned keys, and to no other.
    pub fn pinned(pins: Vec<Pin>, chain: Chain) -> Result<Self, Error> {
        let config = pin::config(pins, chain).map_err(Error::Transport)?;
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_only()
            .enable_http1()
            .wrap_connector(plain());
        let pool = Arc::default();
        Ok(Self { connector, pool })
    }

    /// Sends one request and returns the answer's head; the body is still to be read.
    pub async fn send(
        &self,
        method: Method,
        uri: &Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Received>, Error> {
        let body = Either::Left(Full::new(body));
        self.stream(method, uri, headers, body).await
    }

    /// Sends one request whose body is perhaps not at hand, and returns the answer's head.
    pub async fn stream(
        &self,
        method: Method,
        uri: &Uri,
        mut headers: HeaderMap,
        body: Sent,
    ) -> Result<Response<Received>, Error> {
        let unusable = || Error::Unreachable("not an absolute address".to_owned());
        let origin = origin(uri).ok_or_else(unusable)?;
        if !headers.contains_key(HOST) {
            headers.insert(HOST, host(uri).ok_or_else(unusable)?);
        }
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = path(uri);
        *request.headers_mut() = headers;
        loop {
            let waiting = self.pool.take(&origin);
            let reused = waiting.is_some();
            let mut sender = match waiting {
                Some(sender) => sender,
                // Boxed: a handshake is large and rare, and every call would carry its room.
                None => Box::pin(self.connect(uri)).await?,
            };
            match sender.try_send_request(request).await {
                Ok(response) => {
                    return Ok(Received::of(response, &self.pool, origin, sender));
                }
                Err(mut fault) => match fault.take_message() {
                    // The upstream closed the connection before any of it was sent, so that another
                    // one may take it.
                    Some(unsent) if reused => request = unsent,
                    Some(_) | None => return Err(Error::Transport(chain(fault.error()))),
                },
            }
        }
    }

    /// Opens a connection and lets it run until it is closed.
    async fn connect(&self, uri: &Uri) -> Result<Sender, Error> {
        let mut connector = self.connector.clone();
        let opened = async {
            poll_fn(|context| connector.poll_ready(context)).await?;
            connector.call(uri.clone()).await
        };
        let stream = opened
            .await
            .map_err(|fault| Error::Unreachable(root(&*fault)))?;
        let opened = http1::handshake(stream).await;
        let (sender, connection) = opened.map_err(|fault| Error::Transport(chain(&fault)))?;
        tokio::spawn(async move {
            if let Err(fault) = connection.await {
                tracing::debug!("a connection to an upstream ended: {fault}");
            }
        });
        Ok(sender)
    }
}

fn plain() -> HttpConnector {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(Duration::from_secs(10)));
    http
}

/// The address as the request's own line has it (RFC 9112, "origin-form").
fn path(uri: &Uri) -> Uri {
    let path = uri.path_and_query().cloned();
    Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")))
}

/// The name in the address, with the port where it is not the usual one.
fn host(uri: &Uri) -> Option<HeaderValue> {
    let host = uri.host()?;
    let usual = match uri.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    match uri.port_u16().filter(|port| *port != usual) {
        Some(port) => HeaderValue::from_str(&format!("{host}:{port}")).ok(),
        None => HeaderValue::from_str(host).ok(),
    }
}

/// Prints an error with its causes on one line: the outermost alone rarely says what happened.
fn chain(fault: &dyn std::error::Error) -> String {
    let mut text = fault.to_string();
    let mut cause = fault.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

/// Prints the innermost cause of an error.
fn root(fault: &dyn std::error::Error) -> String {
    let mut cause = fault;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
