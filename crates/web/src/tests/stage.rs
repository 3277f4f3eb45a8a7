//! A dashboard in front of an interface that says what a test wants and remembers what it was asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use http::header::{CONTENT_TYPE, COOKIE, HOST, ORIGIN, SET_COOKIE};
use http::{HeaderMap, Method, StatusCode};
use mcpproxy_core::{Clock, Principal, PrincipalKind};
use mcpproxy_mcp::body::read_bounded;
use mcpproxy_testkit::FixedClock;
use serde_json::{Value, json};
use tower_service::Service as _;

use crate::{Parts, app};

pub(super) const KEY: &str = "the key";
const MOST: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(5);

/// What the interface was asked: by whom, with which key, for what.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub(super) owner: bool,
    pub(super) key: Option<String>,
    pub(super) path: String,
    pub(super) body: Value,
}

/// A dashboard, and what it asked.
pub(super) struct Stage {
    pub(super) app: Router,
    pub(super) clock: Arc<FixedClock>,
    pub(super) asked: Arc<Mutex<Vec<Asked>>>,
}

/// An answer, read whole.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

impl Answer {
    pub(super) fn header(&self, name: http::HeaderName) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// The session that a browser would send back.
    pub(super) fn cookie(&self) -> String {
        let cookie = self.header(SET_COOKIE);
        cookie.split(';').next().unwrap_or_default().to_owned()
    }

    /// The token that the forms of the page carry.
    pub(super) fn token(&self) -> &str {
        let (_, rest) = self.text.split_once("name=\"token\" value=\"").unwrap();
        rest.split_once('"').unwrap().0
    }
}

impl Stage {
    pub(super) fn new(respond: impl Fn(&str) -> Value + Clone + Send + Sync + 'static) -> Self {
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let clock = Arc::new(FixedClock::default());
        let seen = Arc::clone(&asked);
        let api = Router::new().fallback(move |request: Request| {
            let (seen, respond) = (Arc::clone(&seen), respond.clone());
            async move { answered(request, &seen, respond).await }
        });
        let parts = Parts {
            api,
            is_key: Arc::new(|presented| presented == KEY),
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            others: None,
        };
        let app = app(parts);
        Self { app, clock, asked }
    }

    pub(super) async fn send(&self, request: http::request::Builder, body: &str) -> Answer {
        let request = request.header(HOST, "127.0.0.1:8080");
        let request = request.body(Body::from(body.to_owned())).unwrap();
        let answer = self.app.clone().call(request).await.unwrap();
        let (parts, body) = answer.into_parts();
        let body = read_bounded(body, MOST, PATIENCE).await.unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    pub(super) async fn get(&self, path: &str, cookie: &str) -> Answer {
        self.send(Request::get(path).header(COOKIE, cookie), "")
            .await
    }

    pub(super) async fn post(&self, path: &str, cookie: &str, form: &str) -> Answer {
        let request = Request::post(path)
            .header(COOKIE, cookie)
            .header(ORIGIN, "http://127.0.0.1:8080")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request, form).await
    }

    /// Logs in with the key and returns the cookie.
    pub(super) async fn login(&self) -> String {
        let answer = self.post("/ui/login", "", "key=the+key").await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
        answer.cookie()
    }

    pub(super) fn asked(&self, path: &str) -> Vec<Asked> {
        let asked = self.asked.lock().unwrap();
        asked
            .iter()
            .filter(|one| one.path == path)
            .cloned()
            .collect()
    }
}

async fn answered(
    request: Request,
    seen: &Mutex<Vec<Asked>>,
    respond: impl Fn(&str) -> Value,
) -> Response {
    let (parts, body) = request.into_parts();
    let body = read_bounded(body, MOST, PATIENCE).await.unwrap();
    let who = parts.extensions.get::<Principal>();
    let key = parts.headers.get("x-api-key");
    let path = parts.uri.path_and_query().unwrap().to_string();
    let data = respond(&path);
    seen.lock().unwrap().push(Asked {
        owner: who.is_some_and(|who| who.kind == PrincipalKind::Owner),
        key: key.map(|key| key.to_str().unwrap().to_owned()),
        path: format!("{} {path}", parts.method),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    });
    if parts.method == Method::POST && key.is_none() {
        let body = json!({ "success": false, "error": "this needs the API key" });
        return (StatusCode::FORBIDDEN, Json(body)).into_response();
    }
    if data.is_null() {
        let body =
            json!({ "success": false, "error": "no such resource", "hint": "look elsewhere" });
        return (StatusCode::NOT_FOUND, Json(body)).into_response();
    }
    Json(json!({ "success": true, "data": data })).into_response()
}
