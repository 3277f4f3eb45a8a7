//! What the gateway is told about the issuer whose access tokens it takes.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::Span;

/// The most that clocks may be apart.
const MOST_LEEWAY: Duration = Duration::from_mins(5);

/// Whose access tokens open the MCP endpoints, and what they must say.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OauthSettings {
    /// The issuer, exactly as its tokens name it.
    pub issuer: String,
    /// The audience that tokens must be made for.
    pub audience: String,
    /// Address of the issuer's keys.
    #[serde(default)]
    pub jwks_url: Option<String>,
    /// File with the issuer's keys, in place of an address.
    #[serde(default)]
    pub jwks_file: Option<PathBuf>,
    /// Address under which agents reach the MCP endpoint, where `audience` is not one.
    #[serde(default)]
    pub resource: Option<String>,
    /// Scopes that every token must have.
    #[serde(default)]
    pub required_scopes: Vec<String>,
    /// How far the issuer's clock may be off.
    #[serde(default = "leeway")]
    pub leeway: Span,
    /// The claim that lists roles; dots lead into it.
    #[serde(default = "roles_claim")]
    pub roles_claim: String,
    /// Claims that access policies and hooks get to see as attributes.
    #[serde(default)]
    pub attribute_claims: Vec<String>,
}

fn leeway() -> Span {
    Span::from_secs(30)
}

fn roles_claim() -> String {
    "roles".to_owned()
}

impl OauthSettings {
    /// Says what is wrong, with the key that it is wrong about.
    pub fn check(&self) -> Vec<(&'static str, String)> {
        let mut wrong = Vec::new();
        let unsafe_address = "must begin with `https://`, or with `http://` on this machine";
        if !is_safe(&self.issuer) {
            wrong.push(("issuer", unsafe_address.to_owned()));
        }
        if self.audience.is_empty() {
            wrong.push(("audience", "must not be empty".to_owned()));
        }
        match (&self.jwks_url, &self.jwks_file) {
            (Some(url), None) if !is_safe(url) => {
                wrong.push(("jwks_url", unsafe_address.to_owned()));
            }
            (Some(_), None) | (None, Some(_)) => {}
            (None, None) => wrong.push(("issuer", "needs `jwks_url` or `jwks_file`".to_owned())),
            (Some(_), Some(_)) => {
                let why = "`jwks_url` and `jwks_file` exclude each other";
                wrong.push(("jwks_file", why.to_owned()));
            }
        }
        if let Some(resource) = &self.resource
            && !is_address(resource)
        {
            let why = "is no address of the form `https://host/path`";
            wrong.push(("resource", why.to_owned()));
        }
        if !self.required_scopes.iter().all(|scope| is_scope(scope)) {
            let why = "a scope is a word without quotes and backslashes";
            wrong.push(("required_scopes", why.to_owned()));
        }
        if Duration::from(self.leeway) > MOST_LEEWAY {
            wrong.push(("leeway", "must be at most 5m".to_owned()));
        }
        if self.roles_claim.is_empty() {
            wrong.push(("roles_claim", "must not be empty".to_owned()));
        }
        wrong
    }

    /// Returns the address of this resource, where the configuration has it.
    pub(crate) fn address(&self) -> Option<&str> {
        let resource = self.resource.as_deref();
        resource.or_else(|| Some(self.audience.as_str()).filter(|audience| is_address(audience)))
    }
}

/// Keys that come over an open line could be anybody's.
fn is_safe(address: &str) -> bool {
    let Ok(uri) = address.parse::<Uri>() else {
        return false;
    };
    let host = uri.host().unwrap_or_default();
    let here = host.eq_ignore_ascii_case("localhost")
        || host
            .trim_matches(['[', ']'])
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    match uri.scheme_str() {
        Some("https") => !host.is_empty(),
        Some("http") => here,
        _ => false,
    }
}

/// Tells whether a text is a scope (RFC 6749, section 3.3).
fn is_scope(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    !text.is_empty() && text.bytes().all(fits)
}

fn is_address(text: &str) -> bool {
    let uri = text.parse::<Uri>();
    let web = uri.is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some()
    });
    // A fragment is no part of a resource's name (RFC 8707, section 2), and a quote would end a header's
    // value.
    web && !text.contains(['#', '"', '\\', '?'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said_of_its_key() {
        let check = |more: &str, expect: &[&str]| {
            let mut json: serde_json::Value = serde_json::from_str(
                r#"{"issuer":"https://id.example","audience":"gate","jwks_url":"https://id.example/keys"}"#,
            )
            .unwrap();
            let more: serde_json::Map<_, _> = serde_json::from_str(more).unwrap();
            json.as_object_mut().unwrap().extend(more);
            let settings: OauthSettings = serde_json::from_value(json).unwrap();
            let found: Vec<_> = settings.check().into_iter().map(|(key, _)| key).collect();
            assert_eq!(found, expect);
        };
        check("{}", &[]);
        check(r#"{"issuer":"http://127.0.0.1:9"}"#, &[]);
        check(r#"{"issuer":"http://id.example"}"#, &["issuer"]);
        check(r#"{"issuer":"id.example"}"#, &["issuer"]);
        check(r#"{"jwks_url":null}"#, &["issuer"]);
        check(r#"{"jwks_url":"http://id.example/keys"}"#, &["jwks_url"]);
        check(r#"{"jwks_file":"/keys"}"#, &["jwks_file"]);
        check(r#"{"jwks_url":null,"jwks_file":"/keys"}"#, &[]);
        check(r#"{"audience":""}"#, &["audience"]);
        check(r#"{"resource":"gate"}"#, &["resource"]);
        check(r#"{"resource":"https://gate.example/#a"}"#, &["resource"]);
        check(r#"{"required_scopes":["mcp:use"]}"#, &[]);
        check(r#"{"required_scopes":["a b"]}"#, &["required_scopes"]);
        check(r#"{"leeway":"6m"}"#, &["leeway"]);
        check(r#"{"roles_claim":""}"#, &["roles_claim"]);
    }
}
