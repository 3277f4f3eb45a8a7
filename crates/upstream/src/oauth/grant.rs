//! Asking for a token, and reading what comes back (OAuth 2.1, 3.2; RFC 8707).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::{HeaderValue, Uri};
use mcpproxy_core::{Secret, Wall};
use mcpproxy_text::url::encoded;
use serde_json::Value;

use super::discover::{text, words};
use super::kept::{Client, Kept, Method};
use super::web::{Answer, Web, flat, sentence};
use crate::Error;

/// The longest token that is used.
const LONGEST: usize = 16 * 1024;
/// Seconds that a token may live; one that claims more ends then all the same.
const LONGEST_LIFE: u64 = 366 * 24 * 3600;

/// By what a token is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum By<'a> {
    /// What a person's login brought back.
    Code {
        code: &'a Secret,
        verifier: &'a Secret,
        redirect: &'a str,
    },
    /// The token that fetches the next.
    Refresh(&'a Secret),
    /// Nothing but who we are.
    Client,
}

/// Why there is no token.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The server will not give one for this; asking again does not help.
    Final { code: String, said: Option<String> },
    /// It could not be asked, or is not itself; another try may help.
    Passing(String),
}

impl Refusal {
    pub(super) fn words(self) -> String {
        match self {
            Self::Final { code, said: None } => format!("it answered `{code}`"),
            Self::Final {
                code,
                said: Some(said),
            } => format!("it answered `{code}`: {said}"),
            Self::Passing(why) => why,
        }
    }
}

impl From<Error> for Refusal {
    fn from(fault: Error) -> Self {
        Self::Passing(fault.to_string())
    }
}

/// What was granted.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    pub(super) scopes: Option<Vec<String>>,
    expires_in: Option<u64>,
}

impl Granted {
    /// Puts what was granted in place of what a login had. A server that hands out a new token for
    /// the next time has ended the one before; one that hands out none lets it go on.
    pub(super) fn renew(self, kept: &Kept, now: Wall) -> Kept {
        let lives = self.expires_in.map(|seconds| seconds.min(LONGEST_LIFE));
        Kept {
            access: self.access,
            refresh: self.refresh.or_else(|| kept.refresh.clone()),
            scopes: self.scopes.unwrap_or_else(|| kept.scopes.clone()),
            issued: now.0,
            expires: lives.map(|seconds| now.0.saturating_add(seconds * 1000)),
            ..kept.clone()
        }
    }
}

/// Asks for a token.
pub(super) async fn ask(
    web: &Web,
    at: &Uri,
    client: &Client,
    (resource, scopes): (&str, &[String]),
    by: By<'_>,
) -> Result<Granted, Refusal> {
    let scope = scopes.join(" ");
    let mut fields = vec![("resource", resource)];
    match by {
        By::Code {
            code,
            verifier,
            redirect,
        } => fields.extend([
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("code_verifier", verifier.expose()),
            ("redirect_uri", redirect),
        ]),
        By::Refresh(token) => fields.extend([
            ("grant_type", "refresh_token"),
            ("refresh_token", token.expose()),
        ]),
        By::Client => {
            fields.push(("grant_type", "client_credentials"));
            if !scope.is_empty() {
                fields.push(("scope", &scope));
            }
        }
    }
    let basic = prove(client, &mut fields);
    granted(&web.form(at, &fields, basic).await?)
}

/// Adds who we are to a form, or returns the header that says so.
pub(super) fn prove<'a>(
    client: &'a Client,
    fields: &mut Vec<(&'a str, &'a str)>,
) -> Option<HeaderValue> {
    let secret = client.secret.as_ref().map(Secret::expose);
    match (client.method, secret) {
        (Method::Basic, Some(secret)) => {
            let pair = format!("{}:{}", encoded(&client.id), encoded(secret));
            let value = format!("Basic {}", BASE64.encode(pair));
            let mut value = HeaderValue::from_str(&value).ok()?;
            value.set_sensitive(true);
            Some(value)
        }
        (Method::Post, Some(secret)) => {
            fields.extend([("client_id", client.id.as_str()), ("client_secret", secret)]);
            None
        }
        (Method::None, _) | (_, None) => {
            fields.push(("client_id", &client.id));
            None
        }
    }
}

fn granted(answer: &Answer) -> Result<Granted, Refusal> {
    let body = &answer.body;
    if !answer.status.is_success() {
        return Err(refusal(answer));
    }
    let unusable = |why: &str| Refusal::Passing(format!("it answered {why}"));
    let kind = text(body, "token_type").unwrap_or_default();
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err(unusable("with a token of another type than `Bearer`"));
    }
    let token = |name: &str| {
        let token = text(body, name).filter(|token| is_token(token));
        token.map(Secret::new)
    };
    let access = token("access_token").ok_or_else(|| unusable("without a token"))?;
    Ok(Granted {
        access,
        refresh: token("refresh_token"),
        scopes: text(body, "scope").map(words),
        expires_in: body.get("expires_in").and_then(Value::as_u64),
    })
}

fn refusal(answer: &Answer) -> Refusal {
    let code = text(&answer.body, "error").unwrap_or_default();
    let (code, status) = (flat(code), answer.status.as_u16());
    let said = text(&answer.body, "error_description").map(sentence);
    let busy = matches!(
        code.as_str(),
        "" | "temporarily_unavailable" | "server_error" | "slow_down"
    );
    // What is neither a success nor an error of the protocol says nothing about our token.
    if busy || !matches!(status, 400 | 401 | 403) {
        return Refusal::Passing(
            format!("it answered HTTP {status} {code}")
                .trim_end()
                .to_owned(),
        );
    }
    Refusal::Final { code, said }
}

/// RFC 6750, 2.1: what can stand in the header.
fn is_token(token: &str) -> bool {
    let visible = |byte: u8| byte.is_ascii_graphic();
    !token.is_empty() && token.len() <= LONGEST && token.bytes().all(visible)
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_comes_back_is_judged() {
        let check = |status: u16, body: Value, expect: Result<&str, Option<&str>>| {
            let answer = Answer {
                status: StatusCode::from_u16(status).unwrap(),
                body: body.clone(),
            };
            let found = granted(&answer);
            let found = found.map(|one| one.access.expose().to_owned());
            let found = found.map_err(|refusal| match refusal {
                Refusal::Final { code, .. } => Some(code),
                Refusal::Passing(_) => None,
            });
            let expect = expect.map(ToOwned::to_owned);
            let expect = expect.map_err(|code| code.map(ToOwned::to_owned));
            assert_eq!(found, expect, "{status} {body}");
        };
        let good = json!({ "token_type": "bearer", "access_token": "t" });
        check(200, good.clone(), Ok("t"));
        check(500, good, Err(None));
        check(200, Value::Null, Err(None));
        check(
            200,
            json!({ "token_type": "mac", "access_token": "t" }),
            Err(None),
        );
        check(
            200,
            json!({ "token_type": "Bearer", "access_token": "a\r\nb" }),
            Err(None),
        );
        check(
            200,
            json!({ "token_type": "Bearer", "access_token": "" }),
            Err(None),
        );
        let long = "x".repeat(LONGEST + 1);
        check(
            200,
            json!({ "token_type": "Bearer", "access_token": long }),
            Err(None),
        );
        check(
            400,
            json!({ "error": "invalid_grant" }),
            Err(Some("invalid_grant")),
        );
        check(
            401,
            json!({ "error": "invalid_client" }),
            Err(Some("invalid_client")),
        );
        check(503, json!({ "error": "invalid_grant" }), Err(None));
        check(
            400,
            json!({ "error": "temporarily_unavailable" }),
            Err(None),
        );
        check(400, json!("no"), Err(None));
    }
}
