//! What stands around all handlers: how often one caller may come, and answers that need not be
//! sent again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State as AxumState};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{ETAG, IF_NONE_MATCH, RETRY_AFTER};
use http::{HeaderValue, Method, StatusCode};
use mcpproxy_core::{Principal, PrincipalKind, Tick};
use sha2::{Digest as _, Sha256};

use super::approvals::holds_key;
use super::envelope::{REQUEST, failed, request_id};
use crate::gateway::Gateway;
use crate::serve::Connection;
use crate::settings::RoutingMode;
use crate::unjudged::Knock;

/// Time over which requests are counted.
const WINDOW: Duration = Duration::from_mins(1);
/// Callers that are counted apart; the rest share one count.
const MOST: usize = 1024;

/// How often each caller came in the current window.
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    since: Tick,
    by: HashMap<Counter, u64>,
}

/// What requests are counted by: whoever shows a credential is not turned away for what others did
/// who only reached the socket, such as an agent, and neither is who sits at the dashboard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Counter {
    /// Who showed a credential, or none at all.
    Caller(Arc<str>),
    /// Who came over the socket without the key.
    Socket,
    /// The pages for browsers.
    Pages,
    /// Everybody beyond those that are counted apart.
    Others,
}

impl Pace {
    /// Counts a request; returns how long to wait where there were too many.
    fn count(&self, who: Counter, most: u64, now: Tick) -> Result<(), Duration> {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.since.until(now) >= WINDOW {
            *counted = Counted {
                since: now,
                by: HashMap::new(),
            };
        }
        let known = counted.by.len() < MOST || counted.by.contains_key(&who);
        let who = if known { who } else { Counter::Others };
        let count = counted.by.entry(who).or_default();
        *count += 1;
        if most == 0 || *count <= most {
            return Ok(());
        }
        Err(WINDOW.saturating_sub(counted.since.until(now)))
    }
}

/// Turns those away who come too often.
pub(super) async fn pace(
    AxumState(gateway): AxumState<Arc<Gateway>>,
    Extension(who): Extension<Principal>,
    request: Request,
    next: Next,
) -> Response {
    if !is_urgent(&request) {
        let most = gateway.active().settings.limits.api_requests_per_minute;
        let counter = counter(&gateway, &who, &request);
        if let Err(wait) = gateway.pace.count(counter, most, gateway.clock.tick()) {
            if is_call(&request) {
                let key = Gateway::credential_key(&who, Some("rest"));
                let knock = Knock::new(&gateway, &who, RoutingMode::Call).over_rest(key);
                knock.unread(("overloaded", "too many requests")).await;
            }
            return too_many(wait);
        }
    }
    next.run(request).await
}

/// Tells whether a request is never turned away. An agent that is made to ask its hook much must not
/// thereby escape the answers, and whoever floods the gateway must not keep a person from stopping it.
fn is_urgent(request: &Request) -> bool {
    let path = request.uri().path();
    let order = path == "/api/v1/stops" || path.starts_with("/api/v1/approvals/");
    path == "/api/v1/hooks/evaluate" || (order && request.method() == Method::POST)
}

fn counter(gateway: &Gateway, who: &Principal, request: &Request) -> Counter {
    let Some(connection) = request.extensions().get::<Connection>() else {
        return Counter::Pages;
    };
    let over_socket = connection.remote.is_none();
    if over_socket && who.kind == PrincipalKind::Owner && !holds_key(gateway, request.headers()) {
        return Counter::Socket;
    }
    Counter::Caller(Arc::clone(&who.name))
}

/// Tells whether a request is a call: its address says so.
fn is_call(request: &Request) -> bool {
    request.method() == Method::POST && request.uri().path() == "/api/v1/tools/call"
}

/// Says that somebody comes too often, and when to come again.
pub(super) fn too_many(wait: Duration) -> Response {
    let seconds = wait.as_secs() + 1;
    let message = format!("too many requests; try again in {seconds} s");
    let mut answer = failed(StatusCode::TOO_MANY_REQUESTS, &message, None);
    answer.headers_mut().insert(RETRY_AFTER, seconds.into());
    answer
}

/// Marks data with what it is, for callers that have it already.
pub(super) fn tag(data: &str) -> Option<HeaderValue> {
    let digest: [u8; 32] = Sha256::digest(data).into();
    let (first, _) = digest.split_first_chunk::<16>()?;
    let hex = u128::from_be_bytes(*first);
    HeaderValue::from_str(&format!("\"{hex:032x}\"")).ok()
}

/// Leaves the body out of an answer that the caller has. Every answer has an id, also one without an
/// envelope.
pub(super) async fn fresh(request: Request, next: Next) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let known = request.headers().get(IF_NONE_MATCH).cloned();
    let mut answer = next.run(request).await;
    if let (false, Ok(id)) = (
        answer.headers().contains_key(REQUEST),
        HeaderValue::from_str(&request_id()),
    ) {
        answer.headers_mut().insert(REQUEST, id);
    }
    if !reads {
        answer.headers_mut().remove(ETAG);
        return answer;
    }
    let (Some(known), Some(tag)) = (known, answer.headers().get(ETAG).cloned()) else {
        return answer;
    };
    if !names(&known, &tag) {
        return answer;
    }
    let (parts, _) = answer.into_parts();
    let mut unchanged = (StatusCode::NOT_MODIFIED, Body::empty()).into_response();
    for name in [ETAG, REQUEST] {
        if let Some(value) = parts.headers.get(&name) {
            unchanged.headers_mut().insert(name, value.clone());
        }
    }
    unchanged
}

/// Tells whether a header names a tag (RFC 9110, 13.1.2): weak ones count as strong.
fn names(header: &HeaderValue, tag: &HeaderValue) -> bool {
    let (Ok(header), Ok(tag)) = (header.to_str(), tag.to_str()) else {
        return false;
    };
    let mut listed = header.split(',').map(str::trim);
    listed.any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_turned_away_until_the_window_is_over() {
        let pace = Pace::default();
        let at = |seconds| Tick(Duration::from_secs(seconds));
        let check = |who: &str, now: u64, expect: Option<u64>| {
            let counted = pace.count(Counter::Caller(who.into()), 2, at(now));
            assert_eq!(
                counted.err().map(|wait| wait.as_secs()),
                expect,
                "{who} {now}"
            );
        };
        check("a", 100, None);
        check("a", 101, None);
        check("a", 102, Some(58));
        check("b", 103, None);
        check("a", 160, None);
        let none = pace.count(Counter::Caller("a".into()), 0, at(160));
        assert_eq!(none, Ok(()));
    }

    #[test]
    fn beyond_the_bound_the_others_share_one_count() {
        let pace = Pace::default();
        let count = |who: usize| {
            let who = Counter::Caller(who.to_string().into());
            pace.count(who, 1, Tick(Duration::ZERO))
        };
        assert!((0..MOST).all(|who| count(who).is_ok()));
        assert!(count(MOST).is_ok());
        assert!(count(MOST + 1).is_err());
    }

    #[test]
    fn orders_and_what_hooks_ask_are_urgent() {
        let check = |method: Method, path: &str, expect: bool| {
            let request = Request::builder().method(method).uri(path);
            let request = request.body(Body::empty()).unwrap();
            assert_eq!(is_urgent(&request), expect, "{path}");
        };
        check(Method::POST, "/api/v1/hooks/evaluate", true);
        check(Method::POST, "/api/v1/stops", true);
        check(Method::POST, "/api/v1/approvals/01K", true);
        check(Method::GET, "/api/v1/approvals", false);
        check(Method::GET, "/api/v1/stops", false);
        check(Method::POST, "/api/v1/tools/call", false);
    }

    #[test]
    fn a_tag_is_found_among_those_that_are_named() {
        let check = |header: &str, expect: bool| {
            let header = HeaderValue::from_str(header).unwrap();
            let tag = HeaderValue::from_static("\"a\"");
            assert_eq!(names(&header, &tag), expect, "{header:?}");
        };
        check("\"a\"", true);
        check("W/\"a\"", true);
        check("\"b\", \"a\"", true);
        check("*", true);
        check("\"b\"", false);
        check("a", false);
    }
}
