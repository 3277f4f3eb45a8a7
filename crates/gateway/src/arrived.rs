//! How a request came in: the id under which everything about it is found, and what hooks are told
//! about the way it took. Credentials are left out here, so that no hook can be shown one.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use mcpproxy_core::{CallId, RequestMetadata, Trace};
use mcpproxy_mcp::header;

use crate::gateway::Gateway;
use crate::serve::Connection;

/// The longest correlation id that is taken from a downstream: a `traceparent` fits, a token does not.
const LONGEST_ID: usize = 64;
/// Headers that a hook is told at most.
const MOST_HEADERS: usize = 64;
/// The header of the API key.
pub(crate) const API_KEY: &str = "x-api-key";

/// How a request came in.
#[derive(Debug)]
pub struct Arrived {
    /// The id that the downstream gave.
    given: Option<Arc<str>>,
    /// The id of the first call; the correlation id where none was given.
    first: CallId,
    taken: AtomicBool,
    request: Option<Arc<RequestMetadata>>,
}

impl Arrived {
    /// Takes note of a request over HTTP.
    pub fn over_http(gateway: &Gateway, parts: &Parts) -> Arc<Self> {
        let active = gateway.active();
        let given = active.correlation_header.as_ref();
        let given = given
            .and_then(|name| parts.headers.get(name))
            .and_then(sound);
        // It goes to every hook and onto every record, whatever those may see otherwise.
        let given = given.filter(|given| gateway.engine.masked(given).as_str() == &**given);
        let wanted = gateway.engine.hooks().is_some();
        Arc::new(Self {
            given,
            first: gateway.call_id(),
            taken: AtomicBool::new(false),
            request: wanted.then(|| Arc::new(metadata(gateway, parts))),
        })
    }

    /// Takes note of a request that is answered under an id of the gateway's own.
    pub(crate) fn under(gateway: &Gateway, id: &str) -> Arc<Self> {
        Arc::new(Self {
            given: Some(id.into()),
            first: gateway.call_id(),
            taken: AtomicBool::new(false),
            request: None,
        })
    }

    /// Returns the id for the answer's header.
    pub fn header(&self) -> Option<HeaderValue> {
        match &self.given {
            Some(given) => HeaderValue::from_str(given).ok(),
            None => HeaderValue::from_str(&self.first.to_string()).ok(),
        }
    }

    /// Returns the id of the next call that is made for the request, and what comes along with it.
    pub fn next(&self, gateway: &Gateway) -> (CallId, Trace) {
        let first = !self.taken.swap(true, Ordering::Relaxed);
        let correlation_id = match &self.given {
            Some(given) => Some(Arc::clone(given)),
            None if first => None,
            None => Some(self.first.to_string().into()),
        };
        let id = if first { self.first } else { gateway.call_id() };
        let trace = Trace {
            correlation_id,
            request: self.request.clone(),
            ..Trace::default()
        };
        (id, trace)
    }
}

/// Takes an id that is short and can be written everywhere.
fn sound(value: &HeaderValue) -> Option<Arc<str>> {
    let text = value.to_str().ok()?;
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    let plain = text.bytes().all(usual);
    (plain && (1..=LONGEST_ID).contains(&text.len())).then(|| text.into())
}

fn metadata(gateway: &Gateway, parts: &Parts) -> RequestMetadata {
    let remote = parts.extensions.get::<Connection>();
    let remote = remote.and_then(|connection| connection.remote);
    RequestMetadata {
        // Known once the message is read.
        method: String::new(),
        path: parts.uri.path().to_owned(),
        headers: shown(&parts.headers),
        remote_addr: remote.map(|remote: IpAddr| remote.to_string()),
        timestamp: gateway.clock.wall(),
    }
}

/// The headers without credentials: the id of a session opens it, as a token does.
fn shown(headers: &HeaderMap) -> Vec<(String, String)> {
    let secret = |name: &HeaderName| {
        [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE].contains(name)
            || name == API_KEY
            || name == header::SESSION
    };
    let shown = headers.iter().filter(|(name, _)| !secret(name));
    let shown = shown.filter_map(|(name, value)| {
        let value = value.to_str().ok()?;
        Some((name.as_str().to_owned(), value.to_owned()))
    });
    shown.take(MOST_HEADERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_told() {
        let mut headers = HeaderMap::new();
        for name in [
            "authorization",
            "cookie",
            "x-api-key",
            "mcp-session-id",
            "proxy-authorization",
            "x-team",
        ] {
            headers.insert(name, HeaderValue::from_static("blue"));
        }
        assert_eq!(shown(&headers), [("x-team".to_owned(), "blue".to_owned())]);
    }

    #[test]
    fn only_a_plain_id_is_taken() {
        let check = |given: &'static [u8], expect: bool| {
            let value = HeaderValue::from_bytes(given).unwrap();
            assert_eq!(sound(&value).is_some(), expect, "{given:?}");
        };
        check(b"0af7651916cd43dd8448eb211c80319c", true);
        check(
            b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            true,
        );
        check(b"req_1.2:3", true);
        check(b"", false);
        check(b"a b", false);
        check(b"user/password", false);
        check(b"a=b", false);
        check(b"\xc3\xa4", false);
        check(&[b'x'; LONGEST_ID], true);
        check(&[b'x'; LONGEST_ID + 1], false);
    }
}
