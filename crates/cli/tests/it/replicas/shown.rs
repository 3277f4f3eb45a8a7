//! What the dashboards and lists of several gateways show together: who is logged in, how much of what
//! agents do is seen, and which sessions are open. Each test has a twin without Redis, in which every gateway is alone.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;

use http::Method;
use mcpproxy_testkit::RedisServer;
use serde_json::{Value, json};

use super::recovered;
use super::together::sharing;
use crate::support::{Gateway, Heard, Home, Legacy, Reply, headers, hook, until};

/// Two gateways with the same API key.
async fn twins(config: &Value) -> [Gateway; 2] {
    let one = Gateway::start(config).await;
    let home = Home::new(config);
    DirBuilder::new().mode(0o700).create(home.data()).unwrap();
    let key = |home: &Home| home.data().join("api_key");
    fs::copy(key(&one.home), key(&home)).unwrap();
    [one, Gateway::start_in(home).await]
}

/// Sends a form as a browser does that holds a cookie.
async fn form(gateway: &Gateway, path: &str, cookie: &str, form: &str) -> Reply {
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let more = headers(&[kind, ("cookie", cookie)]);
    let http = gateway.http();
    http.send(Method::POST, path, more, form.to_owned()).await
}

/// The cookie that a browser was given.
fn cookie(reply: &Reply) -> String {
    assert_eq!(reply.status, 303);
    let cookie = reply.headers["set-cookie"].to_str().unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

async fn login(gateway: &Gateway) -> String {
    let key = format!("key={}", gateway.home.key());
    cookie(&form(gateway, "/ui/login", "", &key).await)
}

/// Makes a link, and returns the form that follows it.
async fn link(gateway: &Gateway) -> String {
    let made = gateway.owner().post("/ui/link", &Value::Null).await.1;
    let path = made["data"]["path"].as_str().unwrap();
    let (_, link) = path.split_once('?').unwrap();
    link.to_owned()
}

/// The first page, if the browser is logged in.
async fn page(gateway: &Gateway, cookie: &str) -> Option<String> {
    let more = headers(&[("cookie", cookie)]);
    let reply = gateway.http().send(Method::GET, "/ui/", more, "").await;
    assert!([200, 303].contains(&reply.status.as_u16()));
    if reply.status == 200 {
        return Some(reply.text().await);
    }
    None
}

fn token(page: &str) -> &str {
    let (_, rest) = page.split_once("name=\"token\" value=\"").unwrap();
    rest.split_once('"').unwrap().0
}

/// Regression for #8: a balancer had to keep a browser at one gateway.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_good_and_a_logout_holds_at_every_gateway() {
    for shared in [false, true] {
        let redis = RedisServer::start().expect("redis-server is needed");
        let [one, other] = twins(&sharing(&redis, shared)).await;
        let browser = login(&one).await;
        assert!(page(&one, &browser).await.is_some());
        let there = page(&other, &browser).await;
        assert_eq!(there.is_some(), shared);
        let Some(there) = there else { continue };
        // What a form of one gateway's page does is told on the next, at another.
        let unlocked = format!("token={}&key={}", token(&there), one.home.key());
        form(&other, "/ui/unlock", &browser, &unlocked).await;
        let told = page(&one, &browser).await.unwrap();
        assert!(told.contains("may now answer for a person"), "{told}");
        let left = format!("token={}", token(&there));
        form(&other, "/ui/logout", &browser, &left).await;
        assert!(page(&one, &browser).await.is_none(), "it went on");
        assert!(page(&other, &browser).await.is_none(), "it went on");
        // Nor does it when nobody can be asked.
        redis.stop().unwrap();
        assert!(page(&one, &browser).await.is_none(), "it came back");
        let kept = redis.kept().unwrap();
        let kept = String::from_utf8_lossy(&kept);
        assert!(!kept.contains(&one.home.key()), "the key can be read");
        assert!(!kept.contains(token(&there)), "the token can be read");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_opens_the_dashboard_of_any_gateway_once() {
    for shared in [false, true] {
        let redis = RedisServer::start().expect("redis-server is needed");
        let [one, other] = twins(&sharing(&redis, shared)).await;
        let link = link(&one).await;
        let opened = form(&other, "/ui/open", "", &link).await;
        assert_eq!(opened.status, if shared { 303 } else { 403 });
        if !shared {
            continue;
        }
        let browser = cookie(&opened);
        for gateway in [&one, &other] {
            assert!(page(gateway, &browser).await.is_some());
            assert_eq!(form(gateway, "/ui/open", "", &link).await.status, 403);
        }
        // Of two browsers that come at the same moment, one is let in.
        for round in 0..20 {
            let link = self::link(&one).await;
            let both = tokio::join!(
                form(&one, "/ui/open", "", &link),
                form(&other, "/ui/open", "", &link)
            );
            let mut both = [both.0.status.as_u16(), both.1.status.as_u16()];
            both.sort_unstable();
            assert_eq!(both, [303, 403], "{round}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_keys_are_counted_by_all_gateways_together() {
    for (shared, expect) in [(false, 403), (true, 429)] {
        let redis = RedisServer::start().expect("redis-server is needed");
        let [one, other] = twins(&sharing(&redis, shared)).await;
        for _ in 0..10 {
            let wrong = form(&one, "/ui/login", "", "key=wrong").await;
            assert_eq!(wrong.status, 403);
        }
        let wrong = form(&one, "/ui/login", "", "key=wrong").await;
        assert_eq!(wrong.status, 429);
        let wrong = form(&other, "/ui/login", "", "key=wrong").await;
        assert_eq!(wrong.status, expect, "{shared}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_redis_is_away_a_login_is_good_where_it_was_made_and_then_everywhere() {
    let redis = RedisServer::start().expect("redis-server is needed");
    let [one, other] = twins(&sharing(&redis, true)).await;
    let before = login(&one).await;
    assert!(page(&other, &before).await.is_some());
    redis.stop().unwrap();
    let meanwhile = login(&one).await;
    for browser in [&before, &meanwhile] {
        assert!(page(&one, browser).await.is_some());
        assert!(page(&other, browser).await.is_none());
    }
    redis.go_on().unwrap();
    recovered(&one).await;
    recovered(&other).await;
    for browser in [&before, &meanwhile] {
        assert!(page(&one, browser).await.is_some());
        assert!(page(&other, browser).await.is_some());
    }
    // Logged out while Redis is away: over at once here, and everywhere when it is back.
    let here = page(&one, &before).await.unwrap();
    redis.stop().unwrap();
    let left = format!("token={}", token(&here));
    form(&one, "/ui/logout", &before, &left).await;
    assert!(page(&one, &before).await.is_none());
    redis.go_on().unwrap();
    recovered(&one).await;
    recovered(&other).await;
    until("the end of the login", || async {
        let here = page(&one, &before).await;
        assert!(here.is_none(), "it came back");
        let there = page(&other, &before).await;
        there.is_none().then_some(())
    })
    .await;
}

/// Regression for #8: a gateway that was cut off when somebody logged out elsewhere let them in again
/// as soon as nobody could be asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_logout_that_a_gateway_could_not_hear_of_holds_there_without_redis() {
    let redis = RedisServer::start().expect("redis-server is needed");
    let [one, other] = twins(&sharing(&redis, true)).await;
    let (ended, goes_on) = (login(&one).await, login(&one).await);
    let there = page(&other, &ended).await.unwrap();
    // The first gateway stands still until the other is connected anew and has told it.
    one.signal("STOP").await;
    redis.stop().unwrap();
    assert!(page(&other, &ended).await.is_none());
    redis.go_on().unwrap();
    recovered(&other).await;
    let left = format!("token={}", token(&there));
    form(&other, "/ui/logout", &ended, &left).await;
    tells(&other, "a").await;
    one.signal("CONT").await;
    // What it hears now comes after word that it missed some.
    covered(&one, 1).await;
    redis.stop().unwrap();
    for browser in [&ended, &goes_on] {
        assert!(page(&one, browser).await.is_none(), "it may have ended");
    }
    redis.go_on().unwrap();
    recovered(&one).await;
    assert!(page(&one, &ended).await.is_none(), "it came back");
    assert!(page(&one, &goes_on).await.is_some());
}

/// Has an agent's hook tell a gateway that a file is about to be read.
async fn tells(gateway: &Gateway, session: &str) {
    let payload = json!({
        "session_id": session, "hook_event_name": "PreToolUse", "tool_name": "Read",
        "tool_input": { "file_path": "/w/a.rs" }, "tool_use_id": "toolu_1",
    });
    let said = hook(&gateway.home, "claude-code", &payload.to_string(), &[]).await;
    assert_eq!(said.heard("claude-code"), Heard::Allow, "{said:?}");
}

/// Waits until a gateway has heard of this many conversations of agents.
async fn covered(gateway: &Gateway, sessions: usize) {
    until("the coverage", || async {
        let status = gateway.api("/status").await;
        let heard = &status["hooks"]["agents"][0]["sessions"];
        let full = status["security_coverage"] == "full" && status["hooks_active"] == true;
        (full && *heard == sessions).then_some(())
    })
    .await;
}

/// Regression for #8: how much is seen of agents differed from one gateway to the next.
#[tokio::test(flavor = "multi_thread")]
async fn hooks_that_one_gateway_hears_from_count_at_every_gateway() {
    for shared in [false, true] {
        let redis = RedisServer::start().expect("redis-server is needed");
        let config = sharing(&redis, shared);
        let [one, other] = twins(&config).await;
        let browser = login(&other).await;
        let banner = "Security coverage: MCP proxy only";
        assert!(page(&other, &browser).await.unwrap().contains(banner));
        tells(&one, "a").await;
        covered(&one, 1).await;
        if !shared {
            let status = other.api("/status").await;
            assert_eq!(status["security_coverage"], "proxy_only", "{status}");
            continue;
        }
        covered(&other, 1).await;
        assert!(!page(&other, &browser).await.unwrap().contains(banner));
        // What is told while Redis is away is known when it is back, although it forgot all.
        redis.stop().unwrap();
        tells(&one, "b").await;
        redis.forget().unwrap();
        redis.go_on().unwrap();
        covered(&other, 2).await;
        // One that comes later knows of it, although the gateway is gone that heard it.
        one.kill().await;
        covered(&Gateway::start(&config).await, 2).await;
    }
}

/// The ids of the sessions that a gateway lists, with how many gateways have each.
fn rows(listed: &Value) -> Vec<(String, usize)> {
    let rows = listed["sessions"].as_array().unwrap().iter();
    let text = |one: &Value| one["id"].as_str().unwrap().to_owned();
    rows.map(|one| (text(one), one["gateways"].as_array().unwrap().len()))
        .collect()
}

/// Regression for #8: `/sessions` had those of the gateway alone that was asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_sessions_has_those_of_every_gateway_or_says_what_is_missing() {
    for shared in [false, true] {
        let redis = RedisServer::start().expect("redis-server is needed");
        let [one, other] = twins(&sharing(&redis, shared)).await;
        let here = Legacy::open(&one.url("/mcp"), json!({})).await;
        let there = Legacy::open(&other.url("/mcp"), json!({})).await;
        let [own, all] = [one.api("/sessions").await, other.api("/sessions").await];
        assert_ne!(own["gateway"], all["gateway"]);
        assert_eq!(all["incomplete"], Value::Null, "{all}");
        assert_eq!(all["total"], if shared { 2 } else { 1 }, "{all}");
        assert_eq!(rows(&all).len(), if shared { 2 } else { 1 }, "{all}");
        if !shared {
            continue;
        }
        assert_eq!(rows(&own), rows(&all));
        for gateway in [&own, &all] {
            let mut listed = all["sessions"].as_array().unwrap().iter();
            let has = |row: &Value| row["gateways"] == json!([gateway["gateway"]]);
            let row = listed.find(|row| has(row)).unwrap();
            assert_eq!(row["principal"], "local", "{row}");
            assert!(row["client"]["name"].is_string(), "{row}");
        }
        // One that moved is one, at both.
        here.at(&other.url("/mcp"))
            .ask("tools/list", json!({}))
            .await;
        let mut moved = rows(&other.api("/sessions").await);
        moved.sort_by_key(|(_, gateways)| *gateways);
        assert_eq!(moved.len(), 2);
        assert_eq!((moved[0].1, moved[1].1), (1, 2));
        // One that hangs is not waited for without end, and is said to be missing.
        one.signal("STOP").await;
        let listed = other.api("/sessions").await;
        one.signal("CONT").await;
        assert!(listed["incomplete"].is_string(), "{listed}");
        assert_eq!(rows(&listed).len(), 2, "{listed}");
        // One that died is not missed.
        one.kill().await;
        let listed = until("a list without the dead", || async {
            let listed = other.api("/sessions").await;
            listed["incomplete"].is_null().then_some(listed)
        })
        .await;
        assert!(rows(&listed).iter().all(|(_, gateways)| *gateways == 1));
        redis.stop().unwrap();
        let listed = other.api("/sessions").await;
        assert!(listed["incomplete"].is_string(), "{listed}");
        assert_eq!(rows(&listed).len(), 2, "{listed}");
        drop(there);
    }
}
