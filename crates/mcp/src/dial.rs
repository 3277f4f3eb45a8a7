//! The HTTP client under the upstream transports: pooled, bounded, with its own TLS roots.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::Error;

/// A pool of connections to upstreams.
#[derive(Clone, Debug)]
pub struct Dialer(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

impl Default for Dialer {
    fn default() -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(Duration::from_secs(10)));
        let https = HttpsConnectorBuilder::new()
            .with_webpki_roots()
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(90))
            .build(https);
        Self(client)
    }
}

impl Dialer {
    /// Sends one request and returns the answer's head; the body is still to be read.
    pub async fn send(
        &self,
        method: Method,
        uri: &Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, Error> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = headers;
        self.0.request(request).await.map_err(|fault| {
            if fault.is_connect() {
                Error::Unreachable(root(&fault))
            } else {
                Error::Transport(chain(&fault))
            }
        })
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
