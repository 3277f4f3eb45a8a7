//! What a request must show before anything is done for it: a login, and for a change also the
//! token of its session, sent by one of our own pages.
//!
//! INVARIANT: every route that changes something takes an [`Act`], which only exists once all of
//! that was seen.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse as _, Redirect, Response};
use http::header::{COOKIE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use mcpproxy_mcp::body::read_bounded;

use crate::app::Site;
use crate::page::{self, Theme};
use crate::session::Viewer;

/// The cookie with the id of a session.
pub(crate) const SESSION: &str = "mcpproxy_session";
/// The cookie with the chosen colours.
pub(crate) const THEME: &str = "mcpproxy_theme";
/// The cookie of who has read the banner.
pub(crate) const BANNER: &str = "mcpproxy_banner";
/// The field that carries the token of a session.
pub(crate) const TOKEN: &str = "token";
/// The largest form: a changed policy has to fit in.
const FORM: usize = 256 * 1024;
/// How long a form may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request of somebody who is logged in.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    /// The login.
    pub(crate) viewer: Viewer,
    /// The chosen colours.
    pub(crate) theme: Theme,
    /// Whether the banner was read and put away.
    pub(crate) banner_read: bool,
    /// The page that was asked for, with its query.
    pub(crate) path: String,
}

impl FromRequestParts<Arc<Site>> for Visit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Response> {
        let headers = &parts.headers;
        let path = parts
            .uri
            .path_and_query()
            .map_or("/ui/", |path| path.as_str());
        let viewer = match cookie(headers, SESSION) {
            Some(id) => site.sessions.find(id).await,
            None => None,
        };
        let Some(viewer) = viewer else {
            let next = mcpproxy_text::url::encoded(path);
            return Err(Redirect::to(&format!("/ui/login?next={next}")).into_response());
        };
        Ok(Self {
            viewer,
            theme: Theme::of(headers),
            banner_read: cookie(headers, BANNER).is_some(),
            path: path.to_owned(),
        })
    }
}

/// A form that a page of ours sent for somebody who is logged in.
#[derive(Debug)]
pub(crate) struct Act {
    /// Who sent it.
    pub(crate) visit: Visit,
    /// What it says.
    pub(crate) form: Form,
}

impl FromRequest<Arc<Site>> for Act {
    type Rejection = Response;

    async fn from_request(request: Request, site: &Arc<Site>) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let visit = Visit::from_request_parts(&mut parts, site).await?;
        let form = read(&parts.headers, body).await?;
        if !visit.viewer.is_token(form.get(TOKEN)) {
            let why = "the form is not of this session; go back, load the page again and repeat";
            return Err(page::bare(visit.theme, StatusCode::FORBIDDEN, why));
        }
        Ok(Self { visit, form })
    }
}

/// A form of somebody who is not logged in yet.
#[derive(Debug)]
pub(crate) struct Stranger(pub(crate) Form);

impl FromRequest<Arc<Site>> for Stranger {
    type Rejection = Response;

    async fn from_request(request: Request, _: &Arc<Site>) -> Result<Self, Response> {
        let (parts, body) = request.into_parts();
        read(&parts.headers, body).await.map(Self)
    }
}

async fn read(headers: &HeaderMap, body: axum::body::Body) -> Result<Form, Response> {
    let theme = Theme::of(headers);
    if !is_ours(headers) {
        let why = "this form was sent by another page";
        return Err(page::bare(theme, StatusCode::FORBIDDEN, why));
    }
    let read = read_bounded(body, FORM, PATIENCE).await;
    read.map(|bytes| Form::parse(&bytes)).map_err(|_| {
        let why = "the form is too long or came too slowly";
        page::bare(theme, StatusCode::BAD_REQUEST, why)
    })
}

/// Tells whether a form comes from a page of this very origin. Another port of this machine is
/// the same site to a browser, and would have the cookie sent along.
fn is_ours(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let site = text(http::HeaderName::from_static("sec-fetch-site"));
    if site.is_some_and(|site| site != "same-origin") {
        return false;
    }
    let Some(origin) = headers.get(ORIGIN) else {
        return true;
    };
    let origin = origin.to_str().unwrap_or_default();
    let (_, host) = origin.split_once("://").unwrap_or_default();
    text(HOST).is_some_and(|own| own.eq_ignore_ascii_case(host))
}

/// The value of a cookie.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(COOKIE).iter();
    let pairs = all.filter_map(|value| value.to_str().ok());
    let pairs = pairs.flat_map(|value| value.split(';'));
    let mut pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
    pairs.find_map(|(key, value)| (key == name).then_some(value))
}

/// The fields of a form, in order.
#[derive(Debug, Default)]
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    fn parse(bytes: &[u8]) -> Self {
        Self(form_urlencoded::parse(bytes).into_owned().collect())
    }

    /// The value of a field; empty where there is none.
    pub(crate) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// Where to go afterwards: a page of ours, whatever the form says.
    pub(crate) fn next(&self) -> &str {
        own_page(self.get("next"))
    }
}

/// Returns a path of the dashboard as it is, and its beginning for everything else.
pub(crate) fn own_page(path: &str) -> &str {
    let odd = |char: char| char == '\\' || char.is_control() || !char.is_ascii();
    let ours = path.starts_with("/ui/") && !path.contains("//") && !path.contains(odd);
    if ours { path } else { "/ui/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_forms_of_our_own_pages_are_read() {
        let check = |pairs: &[(&str, &str)], expect: bool| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                let name: http::HeaderName = name.parse().unwrap();
                headers.append(name, value.parse().unwrap());
            }
            assert_eq!(is_ours(&headers), expect, "{pairs:?}");
        };
        let host = ("host", "127.0.0.1:8080");
        check(&[host], true);
        check(&[host, ("origin", "http://127.0.0.1:8080")], true);
        check(&[host, ("origin", "http://127.0.0.1:5173")], false);
        check(&[host, ("origin", "https://evil.example")], false);
        check(&[host, ("origin", "null")], false);
        check(&[host, ("sec-fetch-site", "same-origin")], true);
        check(&[host, ("sec-fetch-site", "same-site")], false);
        check(&[host, ("sec-fetch-site", "cross-site")], false);
    }

    #[test]
    fn nobody_is_sent_elsewhere() {
        let check = |path: &str, expect: &str| assert_eq!(own_page(path), expect, "{path}");
        check("/ui/activity?type=tool_call", "/ui/activity?type=tool_call");
        check("https://evil.example/", "/ui/");
        check("//evil.example/ui/", "/ui/");
        check("/ui//evil.example", "/ui/");
        check("/ui/\\evil.example", "/ui/");
        check("/api/v1/status", "/ui/");
        check("", "/ui/");
    }

    #[test]
    fn cookies_are_found_by_their_whole_name() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, "a=1; xmcpproxy_session=no; b=2".parse().unwrap());
        headers.append(COOKIE, "mcpproxy_session=yes".parse().unwrap());
        assert_eq!(cookie(&headers, SESSION), Some("yes"));
        assert_eq!(cookie(&headers, THEME), None);
    }
}
