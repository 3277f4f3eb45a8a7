//! Who may come in: Host and Origin first, each on its own, then the credential.

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use mcpproxy_control::Control;
use mcpproxy_core::{Clock, Operation, Principal, UpstreamId};

use crate::arrived::API_KEY;
use crate::error::Failure;
use crate::oauth::{
    OauthSettings, Refused, ResourceServer, asked_for, challenge, is_token, metadata,
};
use crate::reply::Answered;
use crate::settings::Settings;
use crate::tls::Shown;

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Over TCP: their address and ours.
    Tcp {
        /// Theirs.
        remote: IpAddr,
        /// Ours.
        local: IpAddr,
    },
    /// Over the Unix socket, with the owner's uid.
    Owner,
}

/// Why somebody may not come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The HTTP status.
    pub status: StatusCode,
    /// What they are told.
    pub message: &'static str,
    /// What is wrong with their token, by its name in RFC 6750.
    pub error: Option<&'static str>,
}

/// What is said to a caller whose token does not reach as far as a call.
pub(crate) const OUT_OF_SCOPE: &str = "the token's scope does not cover this call";

const fn denial(status: StatusCode, message: &'static str) -> Denial {
    Denial {
        status,
        message,
        error: None,
    }
}

/// Who may come in.
#[derive(Debug)]
pub struct Access {
    control: Arc<Control>,
    oauth: ArcSwapOption<ResourceServer>,
}

impl Access {
    /// Makes the check from what holds keys and tokens.
    pub fn new(control: Arc<Control>) -> Self {
        Self {
            control,
            oauth: ArcSwapOption::empty(),
        }
    }

    /// Puts the settings of the token issuer in force; keys that are known stay with the same
    /// settings.
    pub(crate) fn trust(&self, settings: Option<&OauthSettings>, clock: &Arc<dyn Clock>) {
        let before = self.oauth.load();
        if before.as_ref().map(|one| &one.settings) == settings {
            return;
        }
        let made = settings.map(|one| ResourceServer::new(one.clone(), Arc::clone(clock)));
        self.oauth.store(made.map(Arc::new));
    }

    /// Answers a request for the metadata of this resource; nothing where it asks for something
    /// else. Everybody may ask.
    pub(crate) fn metadata<B>(
        &self,
        settings: &Settings,
        peer: Peer,
        request: &Request<B>,
    ) -> Option<Result<Answered, Denial>> {
        let asked = asked_for(request.uri().path())?;
        let oauth = self.oauth.load_full()?;
        if let Peer::Tcp { local, .. } = peer
            && let Err(denial) = check_host(settings, request.headers(), local)
        {
            return Some(Err(denial));
        }
        let origin = origin_of(settings, request.headers());
        let told = metadata(&oauth.settings, request.method(), &origin, asked);
        Some(Ok(told))
    }

    /// Says how to come in, for the header of an answer to somebody who may not.
    pub(crate) fn challenge(
        &self,
        settings: &Settings,
        headers: &HeaderMap,
        path: &str,
        denial: &Denial,
    ) -> Option<HeaderValue> {
        let Some(oauth) = self.oauth.load_full() else {
            let plain = HeaderValue::from_static("Bearer realm=\"mcpproxy\"");
            return (denial.status == StatusCode::UNAUTHORIZED).then_some(plain);
        };
        if denial.status != StatusCode::UNAUTHORIZED && denial.error.is_none() {
            return None;
        }
        let error = denial.error.map(|error| (error, denial.message));
        let origin = origin_of(settings, headers);
        Some(challenge(&oauth.settings, &origin, path, error))
    }

    /// Returns the authorized operations.
    pub fn control(&self) -> &Arc<Control> {
        &self.control
    }

    /// Names the caller of a request, or says why it may not come in. A key or a token in the
    /// request counts before the certificate of its connection.
    pub(crate) async fn admit(
        &self,
        settings: &Settings,
        peer: Peer,
        shown: Option<&Shown>,
        headers: &HeaderMap,
    ) -> Result<Principal, Denial> {
        let Peer::Tcp { remote, local } = peer else {
            return Ok(Principal::owner());
        };
        check_host(settings, headers, local)?;
        check_origin(settings, headers, Door::Programs)?;
        let oauth = self.oauth.load_full();
        if let Some(presented) = credential(headers)? {
            if let Some(found) = self.control.authenticate(presented) {
                return Ok(found);
            }
            let bearer = !headers.contains_key(API_KEY) && is_token(presented);
            return match oauth.filter(|_| bearer) {
                // Boxed: it is large, and who has a key does not come here.
                Some(oauth) => {
                    let thumbprint = shown.map(|shown| shown.thumbprint.as_str());
                    let admitted = Box::pin(oauth.admit(presented, thumbprint)).await;
                    admitted.map_err(refused)
                }
                None => Err(Denial {
                    error: Some("invalid_token"),
                    ..denial(StatusCode::UNAUTHORIZED, "the credential is not valid")
                }),
            };
        }
        if let Some(shown) = shown {
            return self.certified(shown);
        }
        let required = settings.asks_who() || !local.is_loopback();
        let open = !settings.require_auth.unwrap_or(required);
        if open && remote.is_loopback() {
            return Ok(Principal::local());
        }
        Err(denial(
            StatusCode::UNAUTHORIZED,
            "a key or token is required",
        ))
    }

    /// Names the holder of a certificate, which may have ended since the connection was opened.
    fn certified(&self, shown: &Shown) -> Result<Principal, Denial> {
        let unknown = |why| denial(StatusCode::UNAUTHORIZED, why);
        let who = shown.holder.clone().map_err(unknown)?;
        if self.control.is_valid(&who) {
            return Ok(who);
        }
        Err(unknown("the certificate has expired"))
    }

    /// Names the caller of a page for browsers, where a credential does; or says why it may not
    /// come in. Browsers bring none of ours: the pages see to their login.
    pub fn visitor(
        &self,
        settings: &Settings,
        peer: Peer,
        headers: &HeaderMap,
    ) -> Result<Option<Principal>, Denial> {
        let Peer::Tcp { local, .. } = peer else {
            return Ok(Some(Principal::owner()));
        };
        check_host(settings, headers, local)?;
        check_origin(settings, headers, Door::Pages)?;
        let presented = credential(headers)?;
        Ok(presented.and_then(|key| self.control.authenticate(key)))
    }

    /// Refuses an upstream that the scope of an agent's token leaves out.
    pub fn reaches(&self, who: &Principal, upstream: &UpstreamId) -> Result<(), Failure> {
        let scope = self.control.scope_of(who);
        if scope.is_none_or(|scope| scope.allows_upstream(upstream.as_str())) {
            return Ok(());
        }
        let message = "the token's scope does not cover this upstream";
        Err(Failure::out_of_scope(upstream, message))
    }

    /// Refuses what the scope of an agent's token leaves out.
    pub fn permits(
        &self,
        who: &Principal,
        upstream: &UpstreamId,
        operation: impl FnOnce() -> Operation,
    ) -> Result<(), Failure> {
        // Only agents have a scope; one whose token was revoked has one that covers nothing.
        let Some(scope) = self.control.scope_of(who) else {
            return Ok(());
        };
        if scope.allows_upstream(upstream.as_str()) && scope.allows_operation(operation()) {
            return Ok(());
        }
        Err(Failure::out_of_scope(upstream, OUT_OF_SCOPE))
    }
}

fn refused(why: Refused) -> Denial {
    match why {
        Refused::Invalid(message) => Denial {
            error: Some("invalid_token"),
            ..denial(StatusCode::UNAUTHORIZED, message)
        },
        Refused::Insufficient => Denial {
            error: Some("insufficient_scope"),
            ..denial(
                StatusCode::FORBIDDEN,
                "the token lacks a scope that is required",
            )
        },
        Refused::Unverifiable => denial(
            StatusCode::SERVICE_UNAVAILABLE,
            "the token cannot be verified: the issuer's keys cannot be had; try again",
        ),
    }
}

/// The scheme and the host that a request was sent to.
fn origin_of(settings: &Settings, headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.unwrap_or("localhost");
    format!("{}://{host}", settings.scheme())
}

/// Returns the key or token that a request presents.
pub(crate) fn credential(headers: &HeaderMap) -> Result<Option<&str>, Denial> {
    let unreadable = denial(StatusCode::UNAUTHORIZED, "the credential is not readable");
    if let Some(key) = headers.get(API_KEY) {
        return key.to_str().map(Some).map_err(|_| unreadable);
    }
    let Some(value) = headers.get(AUTHORIZATION) else {
        return Ok(None);
    };
    let value = value.to_str().map_err(|_| unreadable.clone())?;
    let (scheme, token) = value.split_once(' ').ok_or(unreadable.clone())?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(denial(
            StatusCode::UNAUTHORIZED,
            "only bearer credentials are understood",
        ));
    }
    Ok(Some(token.trim()))
}

fn check_host(settings: &Settings, headers: &HeaderMap, local: IpAddr) -> Result<(), Denial> {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err(denial(
            StatusCode::BAD_REQUEST,
            "exactly one Host header is required",
        ));
    };
    let host = host.to_str().unwrap_or_default();
    let fits = is_loopback_name(name_of(host))
        || name_of(host)
            .parse::<IpAddr>()
            .is_ok_and(|address| address == local)
        || settings.allowed_hosts.iter().any(|allowed| {
            allowed.eq_ignore_ascii_case(host) || allowed.eq_ignore_ascii_case(name_of(host))
        });
    if fits {
        return Ok(());
    }
    Err(denial(
        StatusCode::FORBIDDEN,
        "this Host is not served here; see `allowed_hosts`",
    ))
}

/// What a web page asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Door {
    /// The dashboard below `/ui`.
    Pages,
    /// `/mcp`, `/api` and all else, which are for programs.
    Programs,
}

/// Refuses calls of web pages that are not known.
///
/// The dashboard also hears pages of the very address that it is served at: they are its own. What is
/// for programs does not. No page of ours calls it, and a proxy in front may serve other pages under
/// the same name. Those could call without a credential where the proxy comes from loopback and none
/// is required; the dashboard asks for its login, and for the token of a form.
fn check_origin(settings: &Settings, headers: &HeaderMap, door: Door) -> Result<(), Denial> {
    for origin in headers.get_all(ORIGIN) {
        let origin = origin.to_str().unwrap_or("null");
        let host = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        // What stands before an `@` is no host, whatever it looks like.
        let host = host.filter(|host| !host.contains('@'));
        let own = door == Door::Pages && host.is_some() && is_own(settings, headers, origin);
        let fits = own
            || host.is_some_and(|host| is_loopback_name(name_of(host)))
            || settings
                .allowed_origins
                .iter()
                .any(|allowed| allowed.eq_ignore_ascii_case(origin));
        if !fits {
            let message = "this Origin may not call here; see `allowed_origins`";
            return Err(denial(StatusCode::FORBIDDEN, message));
        }
    }
    Ok(())
}

/// Tells whether a page was loaded from the very address that it calls. Who points a name of theirs
/// at us gains nothing: their Host is theirs too, and was refused before.
fn is_own(settings: &Settings, headers: &HeaderMap, origin: &str) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let origin = origin.split_once("://");
    let (Some(host), Some((scheme, from))) = (host, origin) else {
        return false;
    };
    // The port that goes without saying may be said.
    let implied = if scheme == "https" { ":443" } else { ":80" };
    let bare = |host| str::strip_suffix(host, implied).unwrap_or(host);
    scheme == settings.scheme() && bare(from).eq_ignore_ascii_case(bare(host))
}

/// The name in a `name:port`, without the brackets of an address.
fn name_of(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split_once(']').map_or("", |(address, _)| address);
    }
    host.split_once(':').map_or(host, |(name, _)| name)
}

fn is_loopback_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(http::HeaderName, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        map
    }

    #[test]
    fn only_known_hosts_are_served() {
        let settings = Settings {
            allowed_hosts: vec!["gate.example".into()],
            ..Settings::default()
        };
        let local: IpAddr = "192.0.2.7".parse().unwrap();
        let check = |host: &str, expect: bool| {
            let found = check_host(&settings, &headers(&[(HOST, host)]), local).is_ok();
            assert_eq!(found, expect, "{host}");
        };
        check("localhost:8080", true);
        check("127.0.0.1", true);
        check("[::1]:8080", true);
        check("192.0.2.7:80", true);
        check("gate.example:443", true);
        check("evil.example", false);
        check("localhost.evil.example", false);
        check("127.0.0.1.evil.example", false);
        assert!(check_host(&settings, &headers(&[]), local).is_err());
        let twice = headers(&[(HOST, "localhost"), (HOST, "evil.example")]);
        assert!(check_host(&settings, &twice, local).is_err());
    }

    #[test]
    fn only_known_origins_may_call() {
        let settings = Settings {
            allowed_origins: vec!["https://app.example".into()],
            ..Settings::default()
        };
        let check = |origin: &str, expect: bool| {
            for door in [Door::Pages, Door::Programs] {
                let found = check_origin(&settings, &headers(&[(ORIGIN, origin)]), door).is_ok();
                assert_eq!(found, expect, "{origin}");
            }
        };
        check("http://localhost:5173", true);
        check("https://app.example", true);
        check("https://evil.example", false);
        check("http://localhost.evil.example", false);
        check("http://localhost:1@evil.example", false);
        check("null", false);
        assert!(check_origin(&settings, &headers(&[]), Door::Programs).is_ok());
    }

    /// Regression for #8: nobody could log in at any address but loopback.
    #[test]
    fn the_dashboard_hears_its_own_pages_and_nothing_else_does() {
        let plain = Settings::default();
        let sealed = Settings {
            tls: Some(crate::settings::TlsSettings {
                certificate: "c".into(),
                key: "k".into(),
                callers: None,
            }),
            ..Settings::default()
        };
        let check = |settings: &Settings, host: &str, origin: &str, expect: bool| {
            let both = headers(&[(HOST, host), (ORIGIN, origin)]);
            let pages = check_origin(settings, &both, Door::Pages).is_ok();
            assert_eq!(pages, expect, "{host} {origin}");
            assert!(check_origin(settings, &both, Door::Programs).is_err());
        };
        check(
            &plain,
            "gate.example:8080",
            "http://gate.example:8080",
            true,
        );
        check(&plain, "Gate.example", "http://gate.example", true);
        check(&plain, "gate.example:80", "http://gate.example", true);
        check(&plain, "[2001:db8::7]:80", "http://[2001:db8::7]", true);
        check(&plain, "gate.example:8080", "http://gate.example:9", false);
        check(&plain, "gate.example:8080", "http://gate.example", false);
        check(&plain, "gate.example", "https://gate.example", false);
        check(&plain, "gate.example", "http://evil.example", false);
        check(&plain, "gate.example", "http://x.gate.example", false);
        check(&plain, "a@gate.example", "http://a@gate.example", false);
        check(&plain, "gate.example", "null", false);
        check(&sealed, "gate.example", "https://gate.example", true);
        check(&sealed, "gate.example:443", "https://gate.example", true);
        check(&sealed, "gate.example:80", "https://gate.example", false);
        check(&sealed, "gate.example", "http://gate.example", false);
        let mut twice = headers(&[(HOST, "gate.example"), (ORIGIN, "http://gate.example")]);
        twice.append(ORIGIN, HeaderValue::from_static("http://evil.example"));
        assert!(check_origin(&plain, &twice, Door::Pages).is_err());
    }
}
