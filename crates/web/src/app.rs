//! The routes of the dashboard, what they share, and the headers that every answer carries.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use mcpproxy_core::Clock;

use crate::act::Visit;
use crate::api::Api;
use crate::page::{self, Theme};
use crate::session::{Others, Sessions};
use crate::{activity, approvals, assets, flows, login, overview, policy, record, tools};

/// Everything comes from here, and nothing stands in the page that runs or styles it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Tells whether a text is the API key.
pub(crate) type IsKey = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// What the dashboard is made of.
pub struct Parts {
    /// The REST interface with `/api/v1` and `/events`; it takes who asks from an extension.
    pub api: Router,
    /// Tells whether a text is the API key, in a time that does not depend on where it differs.
    pub is_key: IsKey,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The gateways with which logins are shared, if there are any.
    pub others: Option<Others>,
}

impl fmt::Debug for Parts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Parts")
    }
}

/// What all pages share.
pub(crate) struct Site {
    pub(crate) api: Api,
    pub(crate) sessions: Sessions,
    pub(crate) is_key: IsKey,
    pub(crate) clock: Arc<dyn Clock>,
}

pub(crate) type Shared = State<Arc<Site>>;

/// Builds the dashboard, which answers below `/ui/`.
///
/// Whoever serves it checks Host and Origin first, and names who asks in an extension where a
/// credential says so; without one a browser is nobody until it logs in.
pub fn app(parts: Parts) -> Router {
    let site = Arc::new(Site {
        api: Api::new(parts.api),
        sessions: Sessions::new(Arc::clone(&parts.clock), parts.others),
        is_key: parts.is_key,
        clock: parts.clock,
    });
    Router::new()
        .route("/ui", get(|| async { Redirect::to("/ui/") }))
        .route("/ui/", get(overview::show))
        .route("/ui/activity", get(activity::show))
        .route("/ui/activity/{id}", get(record::show))
        .route("/ui/flows", get(flows::list))
        .route("/ui/flows/{id}", get(flows::show))
        .route("/ui/approvals", get(approvals::show))
        .route("/ui/approvals/{id}", post(approvals::answer))
        .route(
            "/ui/approvals/{id}/rule",
            get(approvals::rule).post(approvals::keep_rule),
        )
        .route("/ui/tools", get(tools::show))
        .route("/ui/tools/{server}", get(tools::server).post(tools::act))
        .route(
            "/ui/tools/{server}/{tool}",
            get(tools::diff).post(tools::judge),
        )
        .route("/ui/policy", get(policy::show))
        .route(
            "/ui/policy/try",
            get(policy::try_page).post(policy::try_call),
        )
        .route(
            "/ui/policy/change",
            get(policy::change_page).post(policy::change),
        )
        .route("/ui/events", get(events))
        .route("/ui/login", get(login::page).post(login::enter))
        .route("/ui/open", get(login::opening).post(login::open))
        .route("/ui/link", post(login::link))
        .route("/ui/unlock", post(login::unlock))
        .route("/ui/logout", post(login::leave))
        .route("/ui/theme", post(login::theme))
        .route("/ui/banner", post(login::banner))
        .route("/ui/assets/{name}", get(assets::serve))
        .fallback(nowhere)
        .layer(from_fn(guarded))
        .with_state(site)
}

/// Adds what keeps a browser from doing more with a page than showing it.
async fn guarded(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let fixed = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("permissions-policy"),
            "camera=(), geolocation=(), microphone=()",
        ),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // A page holds what was on record; nobody else keeps it.
    let kept = headers.entry(CACHE_CONTROL);
    kept.or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn nowhere(headers: HeaderMap) -> Response {
    let theme = Theme::of(&headers);
    page::bare(theme, StatusCode::NOT_FOUND, "there is no such page")
}

/// Passes on what happens, for a time; a browser connects again and shows that it is still
/// logged in. Who is not is told so: a page to log in at would be no answer to a stream.
async fn events(
    State(site): Shared,
    visit: Result<Visit, Response>,
    headers: HeaderMap,
) -> Response {
    use futures_util::StreamExt as _;
    let Ok(visit) = visit else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let answer = site.api.events(&visit.viewer, &headers).await;
    let (parts, body) = answer.into_parts();
    let over = Box::pin(tokio::time::sleep(std::time::Duration::from_mins(5)));
    let body = body.into_data_stream().take_until(over);
    (parts, axum::body::Body::from_stream(body)).into_response()
}
