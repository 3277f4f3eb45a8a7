//! The dashboard as a browser meets it, in front of an interface that says what a test wants.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use http::header::{CONTENT_TYPE, COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE};
use http::{HeaderMap, Method, StatusCode};
use mcpproxy_core::{Clock, Principal, PrincipalKind};
use mcpproxy_mcp::body::read_bounded;
use mcpproxy_testkit::FixedClock;
use serde_json::{Value, json};
use tower_service::Service as _;

use crate::{Parts, app};

const KEY: &str = "the key";
const HOSTILE: &str = "<img src=x onerror=alert(1)>\u{202E}";

/// What the interface was asked: by whom, with which key, for what.
#[derive(Clone, Debug, Default)]
struct Asked {
    owner: bool,
    key: Option<String>,
    path: String,
}

/// A dashboard, and what it asked.
struct Stage {
    app: Router,
    clock: Arc<FixedClock>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// An answer, read whole.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Answer {
    fn header(&self, name: http::HeaderName) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// The session that a browser would send back.
    fn cookie(&self) -> String {
        let cookie = self.header(SET_COOKIE);
        cookie.split(';').next().unwrap_or_default().to_owned()
    }

    /// The token that the forms of the page carry.
    fn token(&self) -> &str {
        let (_, rest) = self.text.split_once("name=\"token\" value=\"").unwrap();
        rest.split_once('"').unwrap().0
    }
}

impl Stage {
    fn new(respond: impl Fn(&str) -> Value + Clone + Send + Sync + 'static) -> Self {
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let clock = Arc::new(FixedClock::default());
        let seen = Arc::clone(&asked);
        let api = Router::new().fallback(move |request: Request| {
            let (seen, respond) = (Arc::clone(&seen), respond.clone());
            async move { answered(&request, &seen, respond) }
        });
        let parts = Parts {
            api,
            is_key: Arc::new(|presented| presented == KEY),
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
        };
        let app = app(parts);
        Self { app, clock, asked }
    }

    async fn send(&self, request: http::request::Builder, body: &str) -> Answer {
        let request = request.header(HOST, "127.0.0.1:8080");
        let request = request.body(Body::from(body.to_owned())).unwrap();
        let answer = self.app.clone().call(request).await.unwrap();
        let (parts, body) = answer.into_parts();
        let body = read_bounded(body, 1 << 20, Duration::from_secs(5))
            .await
            .unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    async fn get(&self, path: &str, cookie: &str) -> Answer {
        self.send(Request::get(path).header(COOKIE, cookie), "")
            .await
    }

    async fn post(&self, path: &str, cookie: &str, form: &str) -> Answer {
        let request = Request::post(path)
            .header(COOKIE, cookie)
            .header(ORIGIN, "http://127.0.0.1:8080")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request, form).await
    }

    /// Logs in with the key and returns the cookie.
    async fn login(&self) -> String {
        let answer = self.post("/ui/login", "", "key=the+key").await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
        answer.cookie()
    }

    fn asked(&self, path: &str) -> Vec<Asked> {
        let asked = self.asked.lock().unwrap();
        asked
            .iter()
            .filter(|one| one.path == path)
            .cloned()
            .collect()
    }
}

fn answered(
    request: &Request,
    seen: &Mutex<Vec<Asked>>,
    respond: impl Fn(&str) -> Value,
) -> Response {
    let who = request.extensions().get::<Principal>();
    let key = request.headers().get("x-api-key");
    let path = request.uri().path_and_query().unwrap().to_string();
    let data = respond(&path);
    seen.lock().unwrap().push(Asked {
        owner: who.is_some_and(|who| who.kind == PrincipalKind::Owner),
        key: key.map(|key| key.to_str().unwrap().to_owned()),
        path: format!("{} {path}", request.method()),
    });
    if request.method() == Method::POST && key.is_none() {
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

/// An interface whose every text is hostile.
fn hostile(path: &str) -> Value {
    let record = json!({
        "id": "01", "type": HOSTILE, "server_name": HOSTILE, "tool_name": HOSTILE, "status": HOSTILE,
        "decision": "deny", "error_message": HOSTILE, "session_id": HOSTILE, "timestamp": HOSTILE,
        "risk_level": HOSTILE, "findings": [{ "reason": HOSTILE, "rule": HOSTILE, "wants": "deny",
            "place": HOSTILE, "severity": HOSTILE,
            "evidence": { "sample": HOSTILE, "origin": { "upstream": HOSTILE, "tool": HOSTILE } } }],
        "declared": { "a": HOSTILE }, "hook_metadata": [{ "hook": HOSTILE }],
        "detection_types": [HOSTILE],
    });
    match path.split('?').next().unwrap_or_default() {
        "/api/v1/activity" => json!({ "activities": [record], "next_cursor": HOSTILE }),
        "/api/v1/activity/01" => record,
        "/api/v1/activity/summary" => json!({
            "total": 1, "by_status": { "blocked": 1 },
            "buckets": [{ "start": HOSTILE, "total": 1 }],
            "flows": [{ "source": HOSTILE, "destination": HOSTILE, "risk_level": HOSTILE }],
        }),
        "/api/v1/status" => json!({
            "version": HOSTILE, "security_coverage": "proxy_only", "config_problem": HOSTILE,
            "stopped": [HOSTILE], "approvals": 1,
        }),
        "/api/v1/servers" => json!([{ "name": HOSTILE, "status": HOSTILE,
            "class": { "classification": HOSTILE } }]),
        "/api/v1/hooks" => {
            json!({ "hooks": [{ "name": HOSTILE, "description": HOSTILE, "message": HOSTILE }] })
        }
        "/api/v1/tools" => json!([{ "name": HOSTILE, "state": HOSTILE, "reason": HOSTILE }]),
        _ => Value::Null,
    }
}

#[tokio::test]
async fn nobody_sees_a_page_before_the_login_and_only_the_key_opens_it() {
    let stage = Stage::new(hostile);
    for path in ["/ui/", "/ui/activity", "/ui/activity/01", "/ui/events"] {
        let answer = stage.get(path, "mcpproxy_session=made-up").await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{path}");
        assert!(
            answer.header(LOCATION).starts_with("/ui/login?next="),
            "{path}"
        );
    }
    assert!(stage.asked.lock().unwrap().is_empty());
    let wrong = stage.post("/ui/login", "", "key=wrong").await;
    assert_eq!(wrong.status, StatusCode::FORBIDDEN);
    assert_eq!(wrong.header(SET_COOKIE), "");
    let right = stage
        .post("/ui/login", "", "key=the+key&next=/ui/activity")
        .await;
    assert_eq!(right.header(LOCATION), "/ui/activity");
    let cookie = right.header(SET_COOKIE);
    for part in [
        "; Path=/ui",
        "; HttpOnly",
        "; SameSite=Strict",
        "; Max-Age=43200",
    ] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert_eq!(
        stage.get("/ui/", &right.cookie()).await.status,
        StatusCode::OK
    );
    stage.clock.advance(Duration::from_hours(3));
    let late = stage.get("/ui/", &right.cookie()).await;
    assert_eq!(late.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_login_from_elsewhere_is_not_taken_and_wrong_keys_are_limited() {
    let stage = Stage::new(hostile);
    let request = Request::post("/ui/login").header(ORIGIN, "http://127.0.0.1:5173");
    let foreign = stage.send(request, "key=the+key").await;
    assert_eq!(foreign.status, StatusCode::FORBIDDEN);
    assert_eq!(foreign.header(SET_COOKIE), "");
    for _ in 0..10 {
        stage.post("/ui/login", "", "key=wrong").await;
    }
    let limited = stage.post("/ui/login", "", "key=the+key").await;
    assert_eq!(limited.status, StatusCode::TOO_MANY_REQUESTS);
    stage.clock.advance(Duration::from_mins(1));
    stage.login().await;
}

#[tokio::test]
async fn what_records_say_is_never_markup_and_nothing_comes_from_elsewhere() {
    let stage = Stage::new(hostile);
    let cookie = stage.login().await;
    for path in [
        "/ui/",
        "/ui/activity",
        "/ui/activity/01",
        "/ui/login",
        "/ui/nowhere",
    ] {
        let page = stage.get(path, &cookie).await;
        assert!(!page.text.contains("<img src=x"), "{path}: {}", page.text);
        assert!(!page.text.contains('\u{202E}'), "{path}: {}", page.text);
        for outside in [
            "http://",
            "https://",
            "style=\"",
            "onclick",
            "<script>",
            "javascript:",
        ] {
            assert!(
                !page.text.contains(outside),
                "{path}: {outside}: {}",
                page.text
            );
        }
        let policy = page.header(http::header::CONTENT_SECURITY_POLICY);
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'"),
            "{policy}"
        );
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header(http::header::X_CONTENT_TYPE_OPTIONS), "nosniff");
        assert_eq!(page.header(http::header::CACHE_CONTROL), "no-store");
        assert_eq!(page.header(http::header::REFERRER_POLICY), "same-origin");
    }
}

#[tokio::test]
async fn a_form_without_the_token_of_its_session_changes_nothing() {
    let stage = Stage::new(hostile);
    let cookie = stage.login().await;
    let page = stage.get("/ui/", &cookie).await;
    let other = stage.get("/ui/", &stage.login().await).await;
    for token in ["", "made-up", other.token()] {
        for path in ["/ui/logout", "/ui/banner", "/ui/unlock"] {
            let answer = stage.post(path, &cookie, &format!("token={token}")).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
        }
    }
    assert_eq!(stage.get("/ui/", &cookie).await.status, StatusCode::OK);
    let form = format!("token={}", page.token());
    let left = stage.post("/ui/logout", &cookie, &form).await;
    assert_eq!(left.header(LOCATION), "/ui/login");
    assert_eq!(
        stage.get("/ui/", &cookie).await.status,
        StatusCode::SEE_OTHER
    );
}

#[tokio::test]
async fn a_link_opens_once_what_its_maker_could_do() {
    let stage = Stage::new(hostile);
    let nobody = stage.post("/ui/link", "", "").await;
    assert_eq!(nobody.status, StatusCode::FORBIDDEN);
    let owner = |key: &str| {
        let mut request = Request::post("/ui/link").extension(Principal::owner());
        if !key.is_empty() {
            request = request.header("x-api-key", key);
        }
        request
    };
    for (key, shown) in [("", None), (KEY, Some(KEY.to_owned())), ("wrong", None)] {
        let made = stage.send(owner(key), "").await;
        let made: Value = serde_json::from_str(&made.text).unwrap();
        let path = made["data"]["path"].as_str().unwrap();
        let page = stage.get(path, "").await;
        assert!(page.text.contains("data-send"), "{}", page.text);
        let (_, link) = path.split_once('?').unwrap();
        let opened = stage.post("/ui/open", "", link).await;
        assert_eq!(opened.status, StatusCode::SEE_OTHER);
        let again = stage.post("/ui/open", "", link).await;
        assert_eq!(again.status, StatusCode::FORBIDDEN);
        stage.asked.lock().unwrap().clear();
        stage.get("/ui/", &opened.cookie()).await;
        let asked = stage.asked("GET /api/v1/status");
        assert!(!asked.is_empty());
        assert!(
            asked.iter().all(|one| one.owner && one.key == shown),
            "{asked:?}"
        );
    }
}

#[tokio::test]
async fn what_the_interface_refuses_is_said_and_does_not_take_the_page_down() {
    let stage = Stage::new(|_| Value::Null);
    let cookie = stage.login().await;
    let page = stage.get("/ui/", &cookie).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains("no such resource") && page.text.contains("look elsewhere"));
    let page = stage.get("/ui/activity/01", &cookie).await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert!(page.text.contains("<nav"), "{}", page.text);
}

#[tokio::test]
async fn the_banner_says_what_is_not_seen_until_it_is_put_away() {
    let stage = Stage::new(hostile);
    let cookie = stage.login().await;
    let words = "Security coverage: MCP proxy only. Install hooks for full agent tool visibility.";
    let page = stage.get("/ui/", &cookie).await;
    assert!(page.text.contains(words) && page.text.contains("mcpproxy hook install"));
    let form = format!("token={}&next=/ui/activity", page.token());
    let away = stage.post("/ui/banner", &cookie, &form).await;
    assert_eq!(away.header(LOCATION), "/ui/activity");
    let both = format!("{cookie}; {}", away.cookie());
    assert!(!stage.get("/ui/", &both).await.text.contains(words));
}

#[tokio::test]
async fn colours_are_chosen_without_a_script() {
    let stage = Stage::new(hostile);
    let cookie = stage.login().await;
    let chosen = stage
        .post("/ui/theme", &cookie, "theme=dark&next=/ui/")
        .await;
    let both = format!("{cookie}; {}", chosen.cookie());
    let page = stage.get("/ui/", &both).await;
    assert!(page.text.contains("data-theme=\"dark\""), "{}", page.text);
    let odd = stage.post("/ui/theme", &cookie, "theme=%22evil").await;
    assert_eq!(odd.cookie(), "mcpproxy_theme=system");
}
