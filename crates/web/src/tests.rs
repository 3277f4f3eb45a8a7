//! The dashboard as a browser meets it, in front of an interface that says what a test wants.

mod decided;
mod flows;
mod hostile;
mod stage;

use std::time::Duration;

use axum::extract::Request;
use http::StatusCode;
use http::header::{LOCATION, ORIGIN, SET_COOKIE};
use mcpproxy_core::{CallId, Principal};
use serde_json::{Value, json};

use self::hostile::{HOSTILE, hostile};
use self::stage::{KEY, Stage};

const PAGES: [&str; 13] = [
    "/ui/",
    "/ui/activity",
    "/ui/activity/01",
    "/ui/flows",
    "/ui/flows/9",
    "/ui/approvals",
    "/ui/approvals/7/rule",
    "/ui/tools",
    "/ui/tools/s",
    "/ui/tools/s/t",
    "/ui/policy",
    "/ui/policy/try",
    "/ui/policy/change",
];

#[tokio::test]
async fn nobody_sees_a_page_before_the_login_and_only_the_key_opens_it() {
    let stage = Stage::new(hostile);
    // Regression for #8: a stream was sent to the page of the login, which is no answer to it.
    let stream = stage.get("/ui/events", "mcpproxy_session=made-up").await;
    assert_eq!(stream.status, StatusCode::UNAUTHORIZED);
    for path in PAGES {
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
    for path in PAGES.iter().chain(&["/ui/login", "/ui/nowhere"]) {
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

/// Regression for #8: what an upstream said unasked has no record, and its link led nowhere.
#[tokio::test]
async fn a_read_is_linked_where_it_has_a_record() {
    let kept = CallId::new(1, 1).to_string();
    for (call, linked) in [
        (kept.clone(), true),
        (CallId::unrecorded(1).to_string(), false),
        (String::new(), false),
    ] {
        let found = json!([{ "evidence": { "origin": { "upstream": "a", "call": call } } }]);
        let stage = Stage::new(move |path| match path {
            "/api/v1/activity/01" => json!({ "id": "01", "findings": found }),
            "/api/v1/approvals" => json!({ "approvals": [{ "id": "7", "findings": found }] }),
            other => hostile(other),
        });
        let cookie = stage.login().await;
        for path in ["/ui/activity/01", "/ui/approvals"] {
            let page = stage.get(path, &cookie).await;
            let link = page.text.contains("the read</a>");
            assert_eq!(link, linked, "{path} {call}: {}", page.text);
            let leads = page.text.contains(&format!("/ui/activity/{kept}\""));
            assert_eq!(leads, linked, "{path} {call}");
        }
    }
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
async fn the_first_page_counts_calls_and_not_records() {
    let stage = Stage::new(hostile);
    let page = stage.get("/ui/", &stage.login().await).await;
    let tile = "<span class=\"label\">Calls</span><span class=\"value\">1</span>";
    assert!(page.text.contains(tile), "{}", page.text);
    assert!(page.text.contains(": 1 calls,"), "{}", page.text);
}

/// Regression for #8: "Asked 7, 100 % approved" with two that were approved and five that nobody answered.
#[tokio::test]
async fn a_share_of_the_asked_says_of_how_many_it_is() {
    let stage = Stage::new(|path| match path.split('?').next().unwrap() {
        "/api/v1/activity/summary" => json!({ "approvals": {
            "asked": 7, "approved": 2, "denied": 0, "unanswered": 5, "approved_share": 1.0 } }),
        other => hostile(other),
    });
    let page = stage.get("/ui/", &stage.login().await).await;
    let tile =
        "<span class=\"value\">7</span><span class=\"quiet\">100 % of 2 answered approved</span>";
    assert!(page.text.contains(tile), "{}", page.text);
}

/// Regression for #8: records stand in the order in which they were written, beside another time.
#[tokio::test]
async fn a_time_says_that_it_is_when_a_call_began() {
    let stage = Stage::new(hostile);
    let cookie = stage.login().await;
    let overview = stage.get("/ui/", &cookie).await;
    let said = "<span class=\"quiet\">Began </span><a href=\"/ui/activity/01\">";
    assert!(overview.text.contains(said), "{}", overview.text);
    let activity = stage.get("/ui/activity", &cookie).await;
    assert!(activity.text.contains("Began (UTC)"), "{}", activity.text);
    assert!(activity.text.contains("by when they were written"));
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

/// What a form asks of the interface: the page it is on, where it goes, what it says, and the
/// request that comes of it.
fn acts() -> Vec<(
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Value,
)> {
    let rule = |action: &str| {
        let tool = format!("{HOSTILE}:{HOSTILE}");
        json!({ "security": { "flow_policy": { "tool_overrides": { tool: action } } } })
    };
    vec![
        (
            "/ui/approvals",
            "/ui/approvals/7",
            "decision=approve",
            "/approvals/7",
            json!({ "decision": "approve" }),
        ),
        (
            "/ui/approvals",
            "/ui/approvals/7",
            "decision=approve_for_session",
            "/approvals/7",
            json!({ "decision": "approve_for_session" }),
        ),
        (
            "/ui/approvals/7/rule",
            "/ui/approvals/7/rule",
            "action=deny",
            "/config/apply",
            json!({ "patch": rule("deny") }),
        ),
        (
            "/ui/tools/s/t",
            "/ui/tools/s/t",
            "act=approve&hash=ab",
            "/servers/s/tools/approve",
            json!({ "tools": ["t"], "hash": "ab" }),
        ),
        (
            "/ui/tools/s/t",
            "/ui/tools/s/t",
            "act=block",
            "/servers/s/tools/block",
            json!({ "tools": ["t"] }),
        ),
        (
            "/ui/tools/s",
            "/ui/tools/s",
            "act=quarantine",
            "/servers/s/quarantine",
            json!({}),
        ),
        (
            "/ui/tools/s",
            "/ui/tools/s",
            "act=class&class=external",
            "/config/apply",
            json!({ "patch": { "security": {
                "classification": { "server_overrides": { "s": "external" } } } } }),
        ),
        (
            "/ui/policy/try",
            "/ui/policy/try",
            "server=s&tool=t&args=%7B%22a%22%3A1%7D",
            "/policy/explain",
            json!({ "server": "s", "tool": "t", "args": { "a": 1 } }),
        ),
        (
            "/ui/policy/change",
            "/ui/policy/change",
            "act=preview&since=24h&patch=%7B%22a%22%3A1%7D",
            "/policy/replay",
            json!({ "patch": { "a": 1 }, "since": "24h" }),
        ),
        (
            "/ui/policy/change",
            "/ui/policy/change",
            "act=save&patch=%7B%22a%22%3A1%7D&shown=%7B+%22a%22%3A1+%7D",
            "/config/apply",
            json!({ "patch": { "a": 1 } }),
        ),
    ]
}

#[tokio::test]
async fn every_form_asks_the_interface_for_what_it_says() {
    let stage = Stage::new(hostile);
    let cookie = stage.login().await;
    for (page, action, form, path, body) in acts() {
        let shown = stage.get(page, &cookie).await;
        let form = format!("token={}&{form}", shown.token());
        let before = stage.asked.lock().unwrap().len();
        let answer = stage.post(action, &cookie, &form).await;
        assert!(
            answer.status.is_success() || answer.status.is_redirection(),
            "{form}: {}",
            answer.text
        );
        assert!(!answer.text.contains("<img src=x"), "{}", answer.text);
        let asked = stage.asked.lock().unwrap().split_off(before);
        let wanted = format!("POST /api/v1{path}");
        let made = asked.iter().find(|one| one.path == wanted);
        let made = made.unwrap_or_else(|| panic!("{wanted} in {asked:?}"));
        assert_eq!(made.body, body, "{form}");
        assert_eq!(made.key.as_deref(), Some(KEY), "{form}");
        // Without the token nothing is asked at all.
        let refused = stage.post(action, &cookie, "token=x").await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{action}");
    }
}

#[tokio::test]
async fn a_session_without_the_key_is_told_so_and_can_show_it_later() {
    let stage = Stage::new(hostile);
    let request = Request::post("/ui/link").extension(Principal::owner());
    let made: Value = serde_json::from_str(&stage.send(request, "").await.text).unwrap();
    let (_, link) = made["data"]["path"]
        .as_str()
        .unwrap()
        .split_once('?')
        .unwrap();
    let cookie = stage.post("/ui/open", "", link).await.cookie();
    let page = stage.get("/ui/approvals", &cookie).await;
    assert!(
        page.text.contains("opened without the API key"),
        "{}",
        page.text
    );
    let approve = format!("token={}&decision=approve", page.token());
    stage.post("/ui/approvals/7", &cookie, &approve).await;
    let told = stage.get("/ui/approvals", &cookie).await;
    assert!(
        told.text.contains("this needs the API key"),
        "{}",
        told.text
    );
    for (key, found) in [("wrong", 0), ("the+key", 1)] {
        let form = format!("token={}&key={key}&next=/ui/approvals", page.token());
        stage.post("/ui/unlock", &cookie, &form).await;
        stage.asked.lock().unwrap().clear();
        stage.post("/ui/approvals/7", &cookie, &approve).await;
        let asked = stage.asked("POST /api/v1/approvals/7");
        let with_key = asked.iter().filter(|one| one.key.as_deref() == Some(KEY));
        assert_eq!(with_key.count(), found, "{key}");
    }
}
