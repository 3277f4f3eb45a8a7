//! Asking an authorization server: bounded in size and time, without redirects, over TLS or on
//! this machine alone.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use mcpproxy_mcp::body::read_bounded;
use mcpproxy_mcp::dial::Dialer;
use mcpproxy_text::url::{self, Host, encoded};
use serde_json::Value;
use tokio::time::timeout;

use crate::Error;

/// The largest document that is read.
const MOST: usize = 64 * 1024;
/// How long one question may take, from the connection to the last byte.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest address that is used.
const LONGEST: usize = 2048;

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    /// The document; null where there is none that can be read.
    pub(super) body: Value,
}

/// The way to authorization servers.
#[derive(Debug)]
pub(super) struct Web {
    /// The upstream, whose own connections are used where the server lives at the same place.
    pub(super) upstream: Uri,
    /// The upstream's connections, with its pinned key.
    pub(super) own: Dialer,
    /// Those to everybody else.
    pub(super) others: Dialer,
}

impl Web {
    /// Reads an address and refuses one that a token must not go to: it is protected by TLS, or
    /// both it and the upstream are on this machine. An upstream elsewhere cannot make us speak to
    /// what listens here.
    pub(super) fn usable(&self, what: &str, text: &str) -> Result<Uri, Error> {
        let refused = |why: &str| Error::Authority(format!("its {what} {why}"));
        if text.len() > LONGEST {
            return Err(refused("is too long"));
        }
        let parsed = url::parse(text).ok_or_else(|| refused("is not an address"))?;
        if parsed.userinfo.is_some() || parsed.fragment.is_some() {
            return Err(refused(
                "has a part that an address of this kind must not have",
            ));
        }
        if !parsed.tricks().is_empty() && !is_here(&parsed.host) {
            return Err(refused("is spelled so that it reads like another"));
        }
        let safe = match parsed.scheme {
            "https" => true,
            "http" => is_here(&parsed.host) && is_local(&self.upstream),
            _ => false,
        };
        if !safe {
            return Err(refused("is neither `https` nor on this machine"));
        }
        text.parse().map_err(|_| refused("is not an address"))
    }

    /// Fetches a document.
    pub(super) async fn get(&self, uri: &Uri) -> Result<Answer, Error> {
        self.send(Method::GET, uri, HeaderMap::new(), Bytes::new())
            .await
    }

    /// Sends a form, with the credentials of HTTP where there are any.
    pub(super) async fn form(
        &self,
        uri: &Uri,
        fields: &[(&str, &str)],
        basic: Option<HeaderValue>,
    ) -> Result<Answer, Error> {
        let pair = |(name, value): &(&str, &str)| format!("{name}={}", encoded(value));
        let body = fields.iter().map(pair).collect::<Vec<_>>().join("&");
        let mut headers = HeaderMap::new();
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form);
        if let Some(basic) = basic {
            headers.insert(AUTHORIZATION, basic);
        }
        self.send(Method::POST, uri, headers, body.into()).await
    }

    /// Sends a document.
    pub(super) async fn json(&self, uri: &Uri, body: &Value) -> Result<Answer, Error> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.send(Method::POST, uri, headers, body.to_string().into())
            .await
    }

    async fn send(
        &self,
        method: Method,
        uri: &Uri,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Answer, Error> {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let dialer = if same_origin(uri, &self.upstream) {
            &self.own
        } else {
            &self.others
        };
        let asked = async {
            let response = dialer.send(method, uri, headers, body).await?;
            let status = response.status();
            let body = read_bounded(response.into_body(), MOST, PATIENCE).await?;
            let body = serde_json::from_slice(&body).unwrap_or_default();
            Ok::<_, mcpproxy_mcp::Error>(Answer { status, body })
        };
        let asked = timeout(PATIENCE, asked).await;
        let host = uri.authority().map_or("", |authority| authority.as_str());
        match asked {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(fault)) => Err(Error::Authority(format!("`{host}`: {fault}"))),
            Err(_) => Err(Error::Authority(format!("`{host}`: timed out"))),
        }
    }
}

/// Joins what all headers of a challenge say.
pub(crate) fn challenges(headers: &HeaderMap) -> Option<String> {
    let said = headers.get_all(WWW_AUTHENTICATE).iter();
    let said: Vec<_> = said.filter_map(|value| value.to_str().ok()).collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// Tells whether two addresses have the same scheme, host and port.
pub(super) fn same_origin(one: &Uri, other: &Uri) -> bool {
    let same = |one: Option<&str>, other: Option<&str>| {
        one.zip(other)
            .is_some_and(|(one, other)| one.eq_ignore_ascii_case(other))
    };
    let port = |uri: &Uri| {
        let is_secure = same(uri.scheme_str(), Some("https"));
        uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 })
    };
    same(one.scheme_str(), other.scheme_str())
        && same(one.host(), other.host())
        && port(one) == port(other)
}

/// Tells whether an address is on this machine, whatever a resolver says.
pub(super) fn is_local(uri: &Uri) -> bool {
    let host = uri.host().and_then(Host::read);
    host.is_some_and(|host| is_here(&host))
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Ip(address) => address.is_loopback(),
        Host::Name(name) => name == "localhost",
    }
}

/// Shows a stranger's word: short, and nothing that could be read as a sentence.
pub(super) fn flat(text: &str) -> String {
    let visible = text.chars().filter(char::is_ascii_graphic);
    visible.take(120).collect()
}

/// Shows a stranger's sentence to the person at the terminal: short, without control characters.
pub(super) fn sentence(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(200).map(plain).collect()
}
