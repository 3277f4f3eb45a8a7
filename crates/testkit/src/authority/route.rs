//! From a request to an authorization server to its answer.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use mcpproxy_mcp::body::read_bounded;
use mcpproxy_text::decode::percent_decoded;
use mcpproxy_text::url::encoded;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::Shared;
use super::book::{Book, Code};
use super::orders::{AuthorityOrders, Iss, Metadata};
use crate::lock;

type Fields = BTreeMap<String, String>;
type Answered = io::Result<Response<Full<Bytes>>>;

/// Answers one request.
pub(super) async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Answered {
    let (parts, body) = request.into_parts();
    let body = read_bounded(body, 64 * 1024, Duration::from_secs(30)).await;
    let body = body.map_err(io::Error::other)?;
    let orders = lock(&shared.orders).clone();
    let text = String::from_utf8_lossy(&body).into_owned();
    match (&parts.method, parts.uri.path()) {
        (&Method::GET, "/authorize") => {
            let fields = fields(parts.uri.query().unwrap_or_default());
            Ok(authorize(&shared, &orders, &fields))
        }
        (&Method::POST, "/token") => {
            let asked = fields(&text);
            if asked.contains_key("refresh_token") {
                lock(&shared.book).counts.renewals += 1;
            }
            tokio::time::sleep(orders.delay).await;
            Ok(token(&shared, &orders, &parts.headers, &asked))
        }
        (&Method::POST, "/register") => Ok(register(&shared, &orders, &text)),
        (&Method::POST, "/revoke") => {
            let mut book = lock(&shared.book);
            book.counts.revoked += 1;
            book.revoke();
            Ok(said(200, &json!({})))
        }
        (&Method::GET, path) if path.starts_with("/.well-known/") => {
            metadata(&shared, &orders, path).await
        }
        _ => Ok(said(404, &Value::Null)),
    }
}

async fn metadata(shared: &Shared, orders: &AuthorityOrders, path: &str) -> Answered {
    let place = if orders.metadata == Metadata::OpenId {
        "/.well-known/openid-configuration"
    } else {
        "/.well-known/oauth-authorization-server"
    };
    if path != place {
        return Ok(said(404, &Value::Null));
    }
    lock(&shared.book).counts.metadata += 1;
    let issuer = &shared.issuer;
    let mut document = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "registration_endpoint": format!("{issuer}/register"),
        "revocation_endpoint": format!("{issuer}/revoke"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["plain", "S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
        "authorization_response_iss_parameter_supported": true,
    });
    let mut set = |name: &str, value: Value| {
        if let Some(members) = document.as_object_mut() {
            members.insert(name.to_owned(), value);
        }
    };
    match orders.metadata {
        Metadata::Right | Metadata::OpenId => {}
        Metadata::OtherIssuer => set("issuer", json!("https://other.example")),
        Metadata::NoPkce => set("code_challenge_methods_supported", json!(["plain"])),
        Metadata::PlainToken => set("token_endpoint", json!("http://other.example/token")),
        Metadata::Huge => set("padding", json!("x".repeat(1 << 20))),
        Metadata::Silent => std::future::pending().await,
        Metadata::Redirect => return Ok(sent_to("https://other.example/metadata")),
    }
    Ok(said(200, &document))
}

fn register(shared: &Shared, orders: &AuthorityOrders, text: &str) -> Response<Full<Bytes>> {
    if orders.client.is_some() {
        return said(403, &json!({ "error": "access_denied" }));
    }
    let asked: Value = serde_json::from_str(text).unwrap_or_default();
    let mut book = lock(&shared.book);
    book.counts.registered += 1;
    let id = book.word("client");
    let redirects = asked.get("redirect_uris").cloned();
    said(
        201,
        &json!({ "client_id": id, "redirect_uris": redirects, "token_endpoint_auth_method": "none" }),
    )
}

fn authorize(shared: &Shared, orders: &AuthorityOrders, asked: &Fields) -> Response<Full<Bytes>> {
    let get = |name: &str| asked.get(name).cloned().unwrap_or_default();
    if get("response_type") != "code" || get("code_challenge_method") != "S256" {
        return said(400, &json!({ "error": "invalid_request" }));
    }
    let mut book = lock(&shared.book);
    let code = book.word("code");
    let login = Code {
        challenge: get("code_challenge"),
        redirect: get("redirect_uri"),
        client: get("client_id"),
        resource: get("resource"),
        scope: get("scope"),
    };
    let mut back = format!("{}?", login.redirect);
    book.codes.insert(code.clone(), login);
    drop(book);
    let mut add = |name: &str, value: &str| {
        for part in [name, "=", &encoded(value), "&"] {
            back.push_str(part);
        }
    };
    match &orders.deny {
        Some(error) => add("error", error),
        None => add("code", &code),
    }
    add("state", orders.state.as_ref().unwrap_or(&get("state")));
    match orders.iss {
        Iss::Right => add("iss", &shared.issuer),
        Iss::Other => add("iss", "https://other.example"),
        Iss::Missing => {}
    }
    sent_to(back.trim_end_matches('&'))
}

fn token(
    shared: &Shared,
    orders: &AuthorityOrders,
    headers: &HeaderMap,
    asked: &Fields,
) -> Response<Full<Bytes>> {
    let kind = asked.get("grant_type").map_or("", String::as_str);
    let mut book = lock(&shared.book);
    if let Some(status) = orders.down {
        return said(status, &Value::Null);
    }
    let Some(client) = client(orders, headers, asked) else {
        return said(401, &json!({ "error": "invalid_client" }));
    };
    let (resource, scope) = match granted(&mut book, orders, &client, asked) {
        Ok(granted) => granted,
        Err(code) => return said(400, &json!({ "error": code })),
    };
    let lives = Duration::from_secs(orders.expires_in);
    let access = book.hand_out(&resource, shared.clock.wall().after(lives));
    let renewable = match kind {
        "authorization_code" => orders.refresh,
        "refresh_token" => orders.refresh && orders.rotate,
        _ => false,
    };
    let refresh = renewable.then(|| book.hand_out_refresh(&client, &resource, &scope));
    said(
        200,
        &json!({
            "token_type": "Bearer",
            "access_token": access,
            "expires_in": orders.expires_in,
            "scope": scope,
            "refresh_token": refresh,
        }),
    )
}

/// Decides what is granted: the resource and the scope, or the error.
fn granted(
    book: &mut Book,
    orders: &AuthorityOrders,
    client: &str,
    asked: &Fields,
) -> Result<(String, String), &'static str> {
    let get = |name: &str| asked.get(name).map_or("", String::as_str);
    match get("grant_type") {
        "authorization_code" => {
            let code = book.codes.remove(get("code")).ok_or("invalid_grant")?;
            let proof = URL_SAFE_NO_PAD.encode(Sha256::digest(get("code_verifier")));
            let fits = proof == code.challenge
                && get("redirect_uri") == code.redirect
                && client == code.client
                && get("resource") == code.resource;
            if !fits {
                return Err("invalid_grant");
            }
            book.counts.logins += 1;
            Ok((code.resource, code.scope))
        }
        "refresh_token" => {
            let found = book.renew(get("refresh_token"), orders.rotate);
            let found = found.map_err(|_| "invalid_grant")?;
            let fits = found.client == client && found.resource == get("resource");
            let granted = fits.then_some((found.resource, found.scope));
            granted.ok_or("invalid_grant")
        }
        "client_credentials" if orders.client.is_some() => {
            book.counts.clients += 1;
            Ok((get("resource").to_owned(), get("scope").to_owned()))
        }
        _ => Err("unsupported_grant_type"),
    }
}

/// Says who asks; nobody where the secret is wrong.
fn client(orders: &AuthorityOrders, headers: &HeaderMap, asked: &Fields) -> Option<String> {
    let Some((id, secret)) = &orders.client else {
        return asked.get("client_id").cloned();
    };
    let shown = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let shown = STANDARD.decode(shown.strip_prefix("Basic ")?).ok()?;
    let expected = format!("{}:{}", encoded(id), encoded(secret));
    (shown == expected.as_bytes()).then(|| id.clone())
}

fn fields(text: &str) -> Fields {
    let read = |part: &str| String::from_utf8_lossy(&percent_decoded(part.as_bytes())).into_owned();
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (read(name), read(value)))
        .collect()
}

fn said(status: u16, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *response.status_mut() = status;
    let media = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, media);
    response
}

fn sent_to(place: &str) -> Response<Full<Bytes>> {
    let mut response = said(302, &Value::Null);
    if let Ok(place) = HeaderValue::from_str(place) {
        response.headers_mut().insert(LOCATION, place);
    }
    response
}
