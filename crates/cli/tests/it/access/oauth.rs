//! Access tokens of an issuer that is a small server here: who comes in with one, as whom, and how
//! far the token goes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use http::{HeaderMap, Method};
use mcpproxy_core::{Clock as _, SystemClock};
use mcpproxy_testkit::{EraSupport, Sample};
use ring::hmac;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};

use super::{PING, two};
use crate::support::{
    Gateway, Http, Legacy, Modern, Over, Upstream, headers, names_of, text_of, until,
};

const AUDIENCE: &str = "https://gate.example/mcp";

/// An issuer: its keys are served, its tokens made.
pub(crate) struct Issuer {
    url: String,
    keys: Arc<Mutex<Value>>,
    asked: Arc<AtomicUsize>,
}

fn pair(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
}

fn key(id: &str, seed: u8) -> Value {
    let x = BASE64.encode(pair(seed).public_key());
    json!({ "kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": id, "x": x })
}

fn seconds() -> u64 {
    SystemClock::start().wall().0 / 1000
}

impl Issuer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let keys = Arc::new(Mutex::new(json!([key("a", 1)])));
        let asked = Arc::new(AtomicUsize::new(0));
        tokio::spawn(serve(listener, Arc::clone(&keys), Arc::clone(&asked)));
        Self { url, keys, asked }
    }

    pub(crate) fn settings(&self) -> Value {
        json!({
            "issuer": self.url, "audience": AUDIENCE, "jwks_url": format!("{}/keys", self.url),
            "required_scopes": ["mcp:use"], "attribute_claims": ["team"],
        })
    }

    pub(crate) fn claims(&self, subject: &str, roles: &[&str]) -> Value {
        json!({
            "iss": self.url, "aud": AUDIENCE, "sub": subject, "roles": roles,
            "scope": "mcp:use", "team": "blue", "exp": seconds() + 600,
        })
    }

    pub(crate) fn token(&self, subject: &str, roles: &[&str]) -> String {
        signed("a", 1, &self.claims(subject, roles))
    }
}

async fn serve(listener: TcpListener, keys: Arc<Mutex<Value>>, asked: Arc<AtomicUsize>) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 4096];
        let _read = stream.read(&mut head).await.unwrap();
        asked.fetch_add(1, Ordering::Relaxed);
        let body = json!({ "keys": *keys.lock().unwrap() }).to_string();
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
}

fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| BASE64.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

pub(crate) fn signed(id: &str, seed: u8, claims: &Value) -> String {
    let text = unsigned(
        &json!({ "alg": "EdDSA", "kid": id, "typ": "at+jwt" }),
        claims,
    );
    let signature = BASE64.encode(pair(seed).sign(text.as_bytes()));
    format!("{text}.{signature}")
}

pub(crate) fn bearer(gateway: &Gateway, token: &str) -> Http {
    let http = gateway.http();
    http.with("authorization", &format!("Bearer {token}"))
}

/// The status and the challenge of a request with a token.
async fn tried(gateway: &Gateway, token: &str) -> (u16, String) {
    let kind = headers(&[("content-type", "application/json")]);
    let sent = bearer(gateway, token);
    let reply = sent.send(Method::POST, "/mcp", kind, PING).await;
    let challenge = reply.headers.get("www-authenticate");
    let challenge = challenge.map(|value| value.to_str().unwrap().to_owned());
    (reply.status.as_u16(), challenge.unwrap_or_default())
}

/// What somebody gets who came in: a legacy message without a session.
const CAME_IN: u16 = 400;

pub(crate) async fn started(issuer: &Issuer) -> (Upstream, Upstream, Gateway) {
    let (one, other, mut config) = two().await;
    config["oauth"] = issuer.settings();
    let gateway = Gateway::start(&config).await;
    (one, other, gateway)
}

#[tokio::test]
async fn without_a_token_one_is_told_where_to_get_it() {
    let issuer = Issuer::start().await;
    let (_one, _other, gateway) = started(&issuer).await;
    let http = gateway.http();
    let reply = http
        .send(Method::POST, "/mcp", HeaderMap::new(), PING)
        .await;
    assert_eq!(reply.status, 401);
    let metadata = "https://gate.example/.well-known/oauth-protected-resource/mcp";
    let expect = format!(r#"Bearer resource_metadata="{metadata}", scope="mcp:use""#);
    assert_eq!(reply.headers["www-authenticate"], expect);
    for (path, resource) in [
        ("", AUDIENCE),
        ("/mcp", AUDIENCE),
        ("/mcp/call", "https://gate.example/mcp/call"),
        ("/sse", "https://gate.example/sse"),
    ] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let (status, told) = http.get(&path).await;
        assert_eq!(status, 200, "{path}");
        assert_eq!(told["resource"], resource);
        assert_eq!(told["authorization_servers"], json!([issuer.url]));
        assert_eq!(told["scopes_supported"], json!(["mcp:use"]));
    }
    let elsewhere = http.get("/.well-known/oauth-protected-resource/api").await;
    assert_eq!(elsewhere.0, 404);
    // Keys and agent tokens are good beside it, and the issuer was not asked about any of them.
    let agent = gateway.token("bot", &json!(["one"])).await.at("/mcp");
    let agent = Legacy::open_with(agent, json!({})).await;
    let said = agent.call("one__echo", json!({ "text": "x" })).await;
    assert_eq!(text_of(&said), "x");
    assert_eq!(gateway.owner().get("/api/v1/status").await.0, 200);
    assert_eq!(issuer.asked.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_token_that_is_not_good_opens_nothing() {
    let issuer = Issuer::start().await;
    let (_one, _other, gateway) = started(&issuer).await;
    let check = async |token: &str, status: u16, expect: &str| {
        let (found, challenge) = tried(&gateway, token).await;
        assert_eq!(found, status, "{challenge}");
        assert!(challenge.contains(expect), "{challenge}");
    };
    let claims = issuer.claims("ada", &[]);
    let changed = |name: &str, value: Value| {
        let mut claims = claims.clone();
        claims[name] = value;
        signed("a", 1, &claims)
    };
    check(&signed("a", 1, &claims), CAME_IN, "").await;
    let invalid = r#"error="invalid_token""#;
    check(
        &changed("aud", json!("https://other.example")),
        401,
        invalid,
    )
    .await;
    check(&changed("exp", json!(seconds() - 60)), 401, "expired").await;
    check(&changed("nbf", json!(seconds() + 60)), 401, "not valid yet").await;
    check(
        &changed("iss", json!("https://evil.example")),
        401,
        "another issuer",
    )
    .await;
    check(&signed("a", 2, &claims), 401, "signature").await;
    check(&signed("z", 1, &claims), 401, "not known").await;
    let none = unsigned(&json!({ "alg": "none" }), &claims);
    check(&format!("{none}."), 401, "not signed").await;
    // The public key, taken for a secret.
    let text = unsigned(&json!({ "alg": "HS256", "kid": "a" }), &claims);
    let secret = hmac::Key::new(hmac::HMAC_SHA256, pair(1).public_key().as_ref());
    let forged = BASE64.encode(hmac::sign(&secret, text.as_bytes()));
    check(&format!("{text}.{forged}"), 401, "not signed").await;
    let scope = changed("scope", json!("mcp:read"));
    check(&scope, 403, r#"error="insufficient_scope""#).await;
    check("nonsense", 401, invalid).await;
    // A holder calls, and administers nothing.
    let user = bearer(&gateway, &issuer.token("ada", &["owner"]));
    for path in ["/status", "/servers", "/tokens", "/stops"] {
        let (status, _) = user.get(&format!("/api/v1{path}")).await;
        assert_eq!(status, 403, "{path}");
    }
    // Nor does a tool put away for everybody what everybody uses.
    let agent = bearer(&gateway, &issuer.token("ada", &["owner"])).at("/mcp/call");
    let agent = Legacy::open_with(agent, json!({})).await;
    for operation in ["quarantine_server", "block_all_tools", "block_tool"] {
        let asked = json!({ "operation": operation, "name": "one", "tool_name": "echo" });
        let params = json!({ "name": "quarantine_security", "arguments": asked });
        let refused = agent.request("tools/call", params).await.answer().await;
        assert!(
            refused.to_string().contains("administers nothing"),
            "{refused}"
        );
    }
    let asked = json!({ "operation": "list_quarantined" });
    let looked = agent.call("quarantine_security", asked).await;
    assert_eq!(text_of(&looked), r#"{"quarantined":[]}"#);
}

#[tokio::test]
async fn two_holders_see_and_do_what_their_roles_permit() {
    let issuer = Issuer::start().await;
    let upstream = Upstream::start(Sample::Github, EraSupport::Both, Over::Shared).await;
    let policies = r#"
        @id("readers") permit(principal in Role::"reader", action, resource in Server::"git")
        when { context.operation == "read" };
        @id("writers") permit(principal in Role::"writer", action, resource in Server::"git")
        when { principal.attributes.team == "blue" };
        @id("not-main") forbid(principal, action, resource)
        when { context.arguments has title && context.arguments.title like "main*" };
    "#;
    let gateway = Gateway::start(&json!({
        "routing_mode": "all",
        "mcpServers": { "git": upstream.settings },
        "oauth": issuer.settings(),
        "security": { "hooks": [
            { "id": "rbac-enforcer", "type": "native", "config": { "policies": policies } },
        ]},
    }))
    .await;
    let with = |token: &str| bearer(&gateway, token).at("/mcp");
    let reader = Legacy::open_with(with(&issuer.token("ada", &["reader"])), json!({})).await;
    let writer = Modern::with(with(&issuer.token("bob", &["writer"])), json!({}));
    let nobody = Modern::with(with(&issuer.token("eve", &[])), json!({}));
    let read = reader.ask("tools/list", json!({})).await;
    let all = writer.ask("tools/list", json!({})).await;
    let (read, all) = (names_of(&read["tools"]), names_of(&all["tools"]));
    assert!(
        !read.is_empty() && read.len() < all.len(),
        "{read:?} {all:?}"
    );
    let none = nobody.ask("tools/list", json!({})).await;
    assert_eq!(none["tools"], json!([]));
    let hidden = all.iter().find(|name| !read.contains(name)).unwrap();
    let unknown = async |name: &str| {
        let params = json!({ "name": name, "arguments": {} });
        let error = reader.request("tools/call", params).await.error().await;
        error
            .to_string()
            .replace(name.split_once("__").unwrap().1, "NAME")
    };
    assert_eq!(unknown(hidden).await, unknown("git__no_such_tool").await);
    let before = upstream.received_with("tools/call").len();
    let arguments = |title: &str| json!({ "owner": "o", "repo": "r", "title": title, "body": "b" });
    let refused = writer
        .call("git__create_issue", arguments("main is red"))
        .await;
    assert!(
        text_of(&refused).contains("`not-main` forbids"),
        "{refused}"
    );
    assert_eq!(upstream.received_with("tools/call").len(), before);
    writer
        .call("git__create_issue", arguments("a branch is red"))
        .await;
    assert_eq!(upstream.received_with("tools/call").len(), before + 1);
    let of_bob = format!("oauth:{}#bob", issuer.url);
    until("a record that names the holder", async || {
        let records = gateway.home.activity();
        let mut records = records.iter();
        records.any(|one| one["principal"] == of_bob).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_session_is_its_holder_s_and_outlives_the_token() {
    let issuer = Issuer::start().await;
    let (_one, _other, gateway) = started(&issuer).await;
    let short = {
        let mut claims = issuer.claims("ada", &[]);
        claims["exp"] = json!(seconds() + 60);
        signed("a", 1, &claims)
    };
    let ada = Legacy::open_with(bearer(&gateway, &short).at("/mcp"), json!({})).await;
    let ping = async |token: &str| {
        let more = headers(&[
            ("authorization", &format!("Bearer {token}")),
            ("mcp-session-id", &ada.session),
            ("content-type", "application/json"),
        ]);
        let sent = gateway.http().send(Method::POST, "/mcp", more, PING).await;
        sent.status.as_u16()
    };
    assert_eq!(ping(&issuer.token("ada", &["more"])).await, 200);
    assert_eq!(ping(&issuer.token("bob", &[])).await, 404);
    let agent = gateway.token("ada", &json!(["one"])).await.at("/mcp");
    let agent = agent.with("mcp-session-id", &ada.session);
    let kind = headers(&[("content-type", "application/json")]);
    let stolen = agent.send(Method::POST, "", kind, PING).await;
    assert_eq!(stolen.status, 404);
}

#[tokio::test]
async fn keys_change_and_a_flood_of_unknown_ones_is_no_flood_at_the_issuer() {
    let issuer = Issuer::start().await;
    let (_one, _other, gateway) = started(&issuer).await;
    let old = issuer.token("ada", &[]);
    let new = signed("b", 2, &issuer.claims("ada", &[]));
    assert_eq!(tried(&gateway, &old).await.0, CAME_IN);
    for number in 0..50 {
        let other = signed(&format!("k{number}"), 3, &issuer.claims("eve", &[]));
        assert_eq!(tried(&gateway, &other).await.0, 401);
    }
    assert_eq!(issuer.asked.load(Ordering::Relaxed), 1);
    *issuer.keys.lock().unwrap() = json!([key("b", 2)]);
    until("the new key to be taken", async || {
        (tried(&gateway, &new).await.0 == CAME_IN).then_some(())
    })
    .await;
    assert_eq!(tried(&gateway, &old).await.0, 401);
    assert_eq!(issuer.asked.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn where_the_issuer_cannot_be_asked_nobody_comes_in_by_a_token() {
    let issuer = Issuer::start().await;
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let (_one, _other, mut config) = two().await;
    config["oauth"] = issuer.settings();
    config["oauth"]["jwks_url"] = json!(format!("http://{address}/keys"));
    let gateway = Gateway::start(&config).await;
    assert_eq!(tried(&gateway, &issuer.token("ada", &[])).await.0, 503);
    assert_eq!(gateway.owner().get("/api/v1/status").await.0, 200);
    gateway
        .until_logged("keys of the token issuer cannot be had")
        .await;
}

/// Passes everything on to an address, and keeps what was sent there.
async fn tap(to: String) -> (String, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeping = Arc::clone(&kept);
    tokio::spawn(async move {
        loop {
            let (from, _) = listener.accept().await.unwrap();
            let there = TcpStream::connect(&to).await.unwrap();
            let (mut reads, mut writes) = from.into_split();
            let (mut answers, mut sends) = there.into_split();
            let kept = Arc::clone(&keeping);
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                while let Ok(length @ 1..) = reads.read(&mut buffer).await {
                    kept.lock().unwrap().extend_from_slice(&buffer[..length]);
                    if sends.write_all(&buffer[..length]).await.is_err() {
                        return;
                    }
                }
            });
            tokio::spawn(async move { drop(copy(&mut answers, &mut writes).await) });
        }
    });
    (address, kept)
}

#[tokio::test]
async fn a_token_goes_no_further_than_the_gateway() {
    let issuer = Issuer::start().await;
    let (one, other, mut config) = two().await;
    let url = other.settings["url"].as_str().unwrap();
    let (host, path) = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .unwrap();
    let (tapped, kept) = tap(host.to_owned()).await;
    config["mcpServers"]["other"]["url"] = json!(format!("http://{tapped}/{path}"));
    config["oauth"] = issuer.settings();
    let gateway = Gateway::start(&config).await;
    let token = issuer.token("ada", &[]);
    let endpoint = bearer(&gateway, &token).at("/mcp");
    let legacy = Legacy::open_with(endpoint.clone(), json!({})).await;
    let modern = Modern::with(endpoint, json!({}));
    for tool in ["one__echo", "other__echo"] {
        let said = json!({ "text": "x" });
        assert_eq!(text_of(&legacy.call(tool, said.clone()).await), "x");
        assert_eq!(text_of(&modern.call(tool, said).await), "x");
    }
    let sent = String::from_utf8_lossy(&kept.lock().unwrap()).into_owned();
    assert!(sent.contains("tools/call"), "{sent}");
    for part in token.split('.') {
        assert!(!sent.contains(part), "{sent}");
        assert!(one.received_with(part).is_empty());
    }
    assert!(
        !sent.to_ascii_lowercase().contains("authorization"),
        "{sent}"
    );
    assert!(!gateway.log().contains(&token));
    // Nor is it kept: no file of the data folder has it.
    let mut folders = vec![gateway.home.path().join("data")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                let bytes = std::fs::read(&path).unwrap();
                let signature = token.rsplit('.').next().unwrap().as_bytes();
                let mut windows = bytes.windows(signature.len());
                assert!(!windows.any(|window| window == signature), "{path:?}");
                files += 1;
            }
        }
    }
    assert!(files > 0);
}
