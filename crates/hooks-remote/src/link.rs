//! One question and one answer over HTTP: pooled connections, a bound on what is read, and faults
//! that say what went wrong.
//!
//! Redirects are not followed, proxies not used, and a question is sent twice only where nothing
//! of it had left: the connection could not be opened, or had been closed while it was idle.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use mcpproxy_core::Secret;
use mcpproxy_core::security::HookFault;

use crate::{Error, TlsSettings, tls};

/// How long an unused connection is kept.
const IDLE: Duration = Duration::from_mins(1);
/// Unused connections that are kept at most.
const IDLE_CONNECTIONS: usize = 32;
/// How often an HTTP/2 connection is asked whether it still lives, and how long it may take.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// Pause before a connection is tried again.
const PAUSE: Duration = Duration::from_millis(10);
/// Header bytes at most in an answer over HTTP/2.
const HEADER_LIMIT: u32 = 16 << 10;

/// Which HTTP is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// HTTP/1.1.
    One,
    /// HTTP/2, as gRPC needs it.
    Two,
}

/// What bounds the exchanges of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// How often a connection that could not be opened is tried again.
    pub(crate) retries: u32,
    /// Bytes of an answer at most.
    pub(crate) answer: usize,
}

/// The connections to one service.
#[derive(Clone)]
pub(crate) struct Link {
    pool: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    bounds: Bounds,
}

/// An answer that was read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

impl Link {
    /// Prepares connections; none is opened yet.
    pub(crate) fn new(
        wire: Wire,
        tls: Option<&TlsSettings>,
        bounds: Bounds,
    ) -> Result<Self, Error> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let secure = HttpsConnectorBuilder::new()
            .with_tls_config(tls::config(tls)?)
            .https_or_http();
        let connector = match wire {
            Wire::One => secure.enable_http1().wrap_connector(tcp),
            Wire::Two => secure.enable_http2().wrap_connector(tcp),
        };
        let pool = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .http2_only(wire == Wire::Two)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .http2_keep_alive_timeout(KEEP_ALIVE)
            .http2_max_header_list_size(HEADER_LIMIT)
            .build(connector);
        Ok(Self { pool, bounds })
    }

    /// Asks, and reads the answer to its end.
    pub(crate) async fn ask(
        &self,
        question: Request<Full<Bytes>>,
        deadline: Duration,
    ) -> Result<Answer, HookFault> {
        let whole = async {
            let response = self.send(question).await?;
            self.read(response).await
        };
        match tokio::time::timeout(deadline, whole).await {
            Ok(answered) => answered,
            Err(_late) => Err(HookFault::Late),
        }
    }

    async fn send(&self, question: Request<Full<Bytes>>) -> Result<Response<Incoming>, HookFault> {
        let mut left = self.bounds.retries;
        loop {
            let fault = match self.pool.request(question.clone()).await {
                Ok(response) => return Ok(response),
                Err(fault) => fault,
            };
            if !fault.is_connect() {
                return Err(broken(&fault));
            }
            if left == 0 {
                return Err(HookFault::Unreachable(innermost(&fault)));
            }
            left -= 1;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Reads no more than the bound; a length that is announced above it is not read at all.
    async fn read(&self, response: Response<Incoming>) -> Result<Answer, HookFault> {
        let (head, mut body) = response.into_parts();
        let limit = self.bounds.answer;
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > limit {
            return Err(HookFault::TooLarge);
        }
        let mut read = BytesMut::with_capacity(announced);
        let mut trailers = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|fault| broken(&fault))?;
            match frame.into_data() {
                Ok(data) if read.len().saturating_add(data.len()) > limit => {
                    return Err(HookFault::TooLarge);
                }
                Ok(data) => read.extend_from_slice(&data),
                Err(frame) => trailers = frame.into_trailers().ok(),
            }
        }
        Ok(Answer {
            status: head.status,
            headers: head.headers,
            body: read.freeze(),
            trailers,
        })
    }
}

/// Refuses an address with a name or a password in front of its host.
pub(crate) fn without_credentials(address: &str) -> Result<(), Error> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return Err(Error::Credentials);
    }
    Ok(())
}

/// Reads the headers of a configuration, less those that are written per question.
pub(crate) fn headers<'a>(
    settings: impl IntoIterator<Item = (&'a String, &'a Secret)>,
    reserved: &[&str],
) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    for (name, value) in settings {
        let wrong = || Error::Header(name.clone());
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        if reserved.contains(&key.as_str()) {
            return Err(Error::ReservedHeader(name.clone()));
        }
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

/// Tells an answer that is not HTTP from a connection that ended.
fn broken(fault: &(dyn StdError + 'static)) -> HookFault {
    let why = innermost(fault);
    let mut cause = Some(fault);
    while let Some(inner) = cause {
        if inner
            .downcast_ref::<hyper::Error>()
            .is_some_and(hyper::Error::is_parse)
        {
            return HookFault::Garbage(why);
        }
        cause = inner.source();
    }
    HookFault::Crashed(why)
}

/// Prints the innermost cause of an error: the outer ones only say that there is one.
fn innermost(fault: &dyn StdError) -> String {
    let mut cause = fault;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}
