//! What agents are told about how to get a token: the metadata of this resource (RFC 9728) and the
//! challenges that lead to it (RFC 6750).

use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW};
use http::{HeaderValue, Method, StatusCode};
use serde_json::json;

use super::settings::OauthSettings;
use crate::reply::{Answered, bare, json as answered};

/// The path of the metadata, before that of the resource.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// The paths that are resources of their own.
const ENDPOINTS: [&str; 5] = ["", "/mcp", "/mcp/call", "/mcp/all", "/sse"];

/// Tells which endpoint a path asks for the metadata of.
pub(crate) fn asked_for(path: &str) -> Option<&str> {
    let endpoint = path.strip_prefix(WELL_KNOWN)?;
    let endpoint = endpoint.trim_end_matches('/');
    ENDPOINTS.contains(&endpoint).then_some(endpoint)
}

/// Answers with the metadata of an endpoint; `origin` is what the request was sent to.
pub(crate) fn metadata(
    settings: &OauthSettings,
    method: &Method,
    origin: &str,
    endpoint: &str,
) -> Answered {
    if method != Method::GET {
        let mut response = bare(StatusCode::METHOD_NOT_ALLOWED);
        let allowed = HeaderValue::from_static("GET");
        response.headers_mut().insert(ALLOW, allowed);
        return response;
    }
    let body = json!({
        "resource": resource(settings, origin, endpoint),
        "authorization_servers": [settings.issuer],
        "scopes_supported": settings.required_scopes,
        "bearer_methods_supported": ["header"],
        "resource_name": "mcpproxy",
    });
    let mut response = answered(StatusCode::OK, body.to_string().into());
    // It is for everybody, web pages included.
    let anybody = HeaderValue::from_static("*");
    response
        .headers_mut()
        .insert(ACCESS_CONTROL_ALLOW_ORIGIN, anybody);
    response
}

/// Says what a request needs; `error` is what is wrong with the token that it has.
pub(crate) fn challenge(
    settings: &OauthSettings,
    origin: &str,
    path: &str,
    error: Option<(&str, &str)>,
) -> HeaderValue {
    let path = path.trim_end_matches('/');
    let endpoint = ENDPOINTS.into_iter().find(|one| *one == path);
    let endpoint = endpoint.unwrap_or("/mcp");
    let resource = resource(settings, origin, endpoint);
    let mut parts = vec![format!(
        r#"Bearer resource_metadata="{}""#,
        metadata_address(&resource)
    )];
    if let Some((error, description)) = error {
        parts.push(format!(r#"error="{error}""#));
        parts.push(format!(r#"error_description="{description}""#));
    }
    if !settings.required_scopes.is_empty() {
        parts.push(format!(r#"scope="{}""#, settings.required_scopes.join(" ")));
    }
    let plain = HeaderValue::from_static("Bearer");
    HeaderValue::from_str(&parts.join(", ")).unwrap_or(plain)
}

/// The address of this resource: as configured, or as the request has it.
fn resource(settings: &OauthSettings, origin: &str, endpoint: &str) -> String {
    match settings.address() {
        Some(address) => address.to_owned(),
        None => format!("{origin}{endpoint}"),
    }
}

/// Puts the well-known path between the host and the path of a resource (RFC 9728, section 3.1).
fn metadata_address(resource: &str) -> String {
    let (scheme, rest) = resource.split_once("://").unwrap_or(("https", resource));
    let (host, path) = match rest.split_once('/') {
        Some((host, path)) if !path.is_empty() => (host, format!("/{path}")),
        Some((host, _)) => (host, String::new()),
        None => (rest, String::new()),
    };
    format!("{scheme}://{host}{WELL_KNOWN}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(audience: &str, scopes: &[&str]) -> OauthSettings {
        let json = json!({
            "issuer": "https://id.example",
            "audience": audience,
            "jwks_url": "https://id.example/keys",
            "required_scopes": scopes,
        });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn paths_of_metadata_are_those_of_endpoints() {
        let check =
            |path: &str, expect: Option<&str>| assert_eq!(asked_for(path), expect, "{path}");
        check("/.well-known/oauth-protected-resource", Some(""));
        check("/.well-known/oauth-protected-resource/", Some(""));
        check("/.well-known/oauth-protected-resource/mcp", Some("/mcp"));
        check(
            "/.well-known/oauth-protected-resource/mcp/all",
            Some("/mcp/all"),
        );
        check("/.well-known/oauth-protected-resource/api", None);
        check("/.well-known/oauth-protected-resourceful", None);
        check("/mcp", None);
    }

    #[test]
    fn a_challenge_says_where_the_metadata_is_and_what_is_wrong() {
        let check = |settings: &OauthSettings, path: &str, error, expect: &str| {
            let found = challenge(settings, "http://localhost:8080", path, error);
            assert_eq!(found.to_str().unwrap(), expect);
        };
        let named = settings("gate", &[]);
        check(
            &named,
            "/mcp",
            None,
            r#"Bearer resource_metadata="http://localhost:8080/.well-known/oauth-protected-resource/mcp""#,
        );
        let scoped = settings("https://gate.example", &["mcp:use", "mcp:read"]);
        check(
            &scoped,
            "/api/v1/status",
            Some(("insufficient_scope", "more is needed")),
            r#"Bearer resource_metadata="https://gate.example/.well-known/oauth-protected-resource", error="insufficient_scope", error_description="more is needed", scope="mcp:use mcp:read""#,
        );
        let deep = settings("https://gate.example/agents/mcp", &[]);
        check(
            &deep,
            "/mcp",
            None,
            r#"Bearer resource_metadata="https://gate.example/.well-known/oauth-protected-resource/agents/mcp""#,
        );
    }
}
