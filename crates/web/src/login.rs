//! Coming in and going out: the API key, a one-time link, and what a browser may choose without
//! either.

use axum::Extension;
use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use http::header::{ORIGIN, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode};
use maud::{Markup, html};
use mcpproxy_core::{Principal, PrincipalKind, Secret};
use serde_json::json;

use crate::act::{Act, BANNER, Form, SESSION, Stranger, THEME, Visit, own_page};
use crate::app::{Shared, Site};
use crate::error::Error;
use crate::page::{self, Theme};
use crate::session::{LINK, LONGEST, Notice};

/// How long a choice of looks is kept.
const KEPT: u64 = 365 * 24 * 3600;
const WRONG: &str = "this is not the API key";
const TOO_MANY: &str = "too many wrong keys; wait a minute, or use a link from `mcpproxy ui`";
const UNKEPT: &str = "what gateways share cannot be reached; show the key again in a moment";
const USED: &str = "this link was used before, or its time is over; `mcpproxy ui` makes a new one";

type Asked = Query<Vec<(String, String)>>;

fn asked<'a>(query: &'a Asked, name: &str) -> &'a str {
    let found = query.iter().find(|(key, _)| key == name);
    found.map_or("", |(_, value)| value.as_str())
}

/// Shows where to type the key.
pub(crate) async fn page(headers: HeaderMap, query: Asked) -> Response {
    let next = own_page(asked(&query, "next"));
    form(Theme::of(&headers), StatusCode::OK, next, None)
}

fn form(theme: Theme, status: StatusCode, next: &str, problem: Option<&str>) -> Response {
    let body = html! {
        p { "Log in with the API key. It is in the file " code { "api_key" }
            " of the data folder, which is " code { "~/.mcpproxy" } " unless you chose another." }
        @if let Some(problem) = problem { p.problem role="alert" { (problem) } }
        form method="post" action="/ui/login" {
            input type="hidden" name="next" value=(next);
            label for="key" { "API key" }
            input #key type="password" name="key" required autofocus
                autocomplete="current-password" spellcheck="false";
            button.primary type="submit" { "Log in" }
        }
        p.quiet { "Or run " code { "mcpproxy ui" } " and open the link that it prints." }
    };
    page::door(theme, status, "Log in", &body)
}

/// Takes the key.
pub(crate) async fn enter(State(site): Shared, headers: HeaderMap, form_: Stranger) -> Response {
    let Stranger(form_) = form_;
    let again = |status, why| form(Theme::of(&headers), status, form_.next(), Some(why));
    match key_of(&site, &form_).await {
        Ok(key) => {
            let session = site.sessions.begin(Some(key)).await;
            begun(&headers, session, form_.next())
        }
        Err(why) => {
            let status = if why == WRONG {
                StatusCode::FORBIDDEN
            } else {
                StatusCode::TOO_MANY_REQUESTS
            };
            again(status, why)
        }
    }
}

/// Reads the key of a form, if it is the right one and not too many wrong ones came before.
async fn key_of(site: &Site, form: &Form) -> Result<Secret, &'static str> {
    let attempt = site.sessions.may_try().await.ok_or(TOO_MANY)?;
    let key = form.get("key").trim();
    if !(site.is_key)(key) {
        return Err(WRONG);
    }
    site.sessions.forgive(attempt).await;
    Ok(Secret::new(key))
}

/// Shows what a link opens. Following it takes a click, or the script's: whatever looks at links
/// before a person does must not use this one up.
pub(crate) async fn opening(headers: HeaderMap, query: Asked) -> Response {
    let body = html! {
        p { "This link opens the dashboard once." }
        form method="post" action="/ui/open" data-send {
            input type="hidden" name="link" value=(asked(&query, "link"));
            button.primary type="submit" { "Open the dashboard" }
        }
    };
    page::door(
        Theme::of(&headers),
        StatusCode::OK,
        "Open the dashboard",
        &body,
    )
}

/// Follows a link.
pub(crate) async fn open(State(site): Shared, headers: HeaderMap, form_: Stranger) -> Response {
    match site.sessions.follow(form_.0.get("link")).await {
        Some(session) => begun(&headers, session, "/ui/"),
        None => form(
            Theme::of(&headers),
            StatusCode::FORBIDDEN,
            "/ui/",
            Some(USED),
        ),
    }
}

/// Makes a link, for the owner who asks over the socket or with the key.
///
/// What the link opens can do what its maker could: only one made with the key may answer for a
/// person.
pub(crate) async fn link(
    State(site): Shared,
    who: Option<Extension<Principal>>,
    headers: HeaderMap,
) -> Response {
    let who = who.map(|Extension(who)| who.kind);
    if who != Some(PrincipalKind::Owner) {
        let body = json!({ "success": false, "error": "only the owner may do this" });
        return (StatusCode::FORBIDDEN, Json(body)).into_response();
    }
    let key = headers.get("x-api-key").and_then(|key| key.to_str().ok());
    let key = key.filter(|key| (site.is_key)(key)).map(Secret::new);
    match site.sessions.link(key).await {
        Ok(link) => {
            let path = format!("/ui/open?link={}", link.expose());
            let data = json!({ "path": path, "expires_seconds": LINK.as_secs() });
            Json(json!({ "success": true, "data": data })).into_response()
        }
        Err(fault) => {
            let body = json!({ "success": false, "error": fault.to_string() });
            (fault.status(), Json(body)).into_response()
        }
    }
}

fn begun(headers: &HeaderMap, session: Result<Secret, Error>, next: &str) -> Response {
    match session {
        Ok(id) => {
            let cookie = cookie(headers, SESSION, id.expose(), LONGEST.as_secs());
            with_cookie(Redirect::to(next).into_response(), &cookie)
        }
        Err(fault) => page::bare(Theme::of(headers), fault.status(), &fault.to_string()),
    }
}

/// Shows the key to a session that was begun without it.
pub(crate) async fn unlock(State(site): Shared, Act { visit, form }: Act) -> Response {
    let refused = |status, why: &str| {
        Notice::Failed(Error::Refused {
            status,
            message: why.to_owned(),
            hint: None,
        })
    };
    let notice = match key_of(&site, &form).await {
        Ok(key) => {
            if site.sessions.unlock(&visit.viewer, key).await {
                Notice::Done("This session may now answer for a person.".to_owned())
            } else {
                refused(StatusCode::SERVICE_UNAVAILABLE, UNKEPT)
            }
        }
        Err(why) => refused(StatusCode::FORBIDDEN, why),
    };
    site.sessions.tell(&visit.viewer, notice).await;
    Redirect::to(form.next()).into_response()
}

/// Ends a session.
pub(crate) async fn leave(State(site): Shared, headers: HeaderMap, act: Act) -> Response {
    site.sessions.end(&act.visit.viewer).await;
    let gone = cookie(&headers, SESSION, "", 0);
    with_cookie(Redirect::to("/ui/login").into_response(), &gone)
}

/// Chooses the colours.
pub(crate) async fn theme(headers: HeaderMap, Stranger(form): Stranger) -> Response {
    let theme = Theme::named(form.get("theme"));
    let cookie = cookie(&headers, THEME, theme.name(), KEPT);
    with_cookie(Redirect::to(form.next()).into_response(), &cookie)
}

/// Puts the banner away.
pub(crate) async fn banner(headers: HeaderMap, Act { form, .. }: Act) -> Response {
    let cookie = cookie(&headers, BANNER, "read", KEPT);
    with_cookie(Redirect::to(form.next()).into_response(), &cookie)
}

/// Writes a cookie that only our own pages send back.
fn cookie(headers: &HeaderMap, name: &str, value: &str, seconds: u64) -> String {
    let mut cookie =
        format!("{name}={value}; Path=/ui; Max-Age={seconds}; HttpOnly; SameSite=Strict");
    // Behind something that speaks TLS, nobody may see it without.
    let origin = headers.get(ORIGIN).map(HeaderValue::as_bytes);
    if origin.is_some_and(|origin| origin.starts_with(b"https://")) {
        cookie.push_str("; Secure");
    }
    cookie
}

fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// Asks for the key, where a session was begun without it and something needs it.
pub(crate) fn key_form(visit: &Visit) -> Markup {
    html! {
        form.unlock method="post" action="/ui/unlock" {
            (page::hidden(visit))
            label for="unlock-key" { "API key" }
            input #unlock-key type="password" name="key" required
                autocomplete="current-password" spellcheck="false";
            button type="submit" { "Unlock" }
        }
    }
}
