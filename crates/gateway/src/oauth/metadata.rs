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
const DOORS: [&str; 4] = ["/mcp", "/mcp/call", "/mcp/all", "/sse"];

/// Returns the path of the resource that a path asks for the metadata of, whether there is one or not.
pub(crate) fn asked_for(path: &str) -> Option<&str> {
    let resource = path.strip_prefix(WELL_KNOWN)?;
    let whole = resource.is_empty() || resource.starts_with('/');
    whole.then(|| resource.trim_end_matches('/'))
}

/// Answers with the metadata of the resource at a path; `origin` is what the request was sent to.
pub(crate) fn metadata(
    settings: &OauthSettings,
    method: &Method,
    origin: &str,
    asked: &str,
) -> Answered {
    let Some(resource) = described(settings, origin, asked) else {
        return bare(StatusCode::NOT_FOUND);
    };
    if method != Method::GET {
        let mut response = bare(StatusCode::METHOD_NOT_ALLOWED);
        let allowed = HeaderValue::from_static("GET");
        response.headers_mut().insert(ALLOW, allowed);
        return response;
    }
    let body = json!({
        "resource": resource,
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
    let door = DOORS.into_iter().find(|one| *one == path);
    let resource = asked_with(settings, origin, door.unwrap_or("/mcp"));
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

/// The resource that metadata at a path is about: the very one that was asked for (RFC 9728,
/// section 3.3), at the address that is configured, or that the request has. Who asks for no path is
/// told about the configured one.
fn described(settings: &OauthSettings, origin: &str, asked: &str) -> Option<String> {
    let is_door = |path: &&str| DOORS.contains(path);
    let Some(address) = settings.address() else {
        let known = asked.is_empty() || is_door(&asked);
        return known.then(|| format!("{origin}{asked}"));
    };
    let (host, own) = split(address);
    if asked.is_empty() || asked == own {
        return Some(address.to_owned());
    }
    let before = before_door(own);
    let behind = asked.strip_prefix(before).filter(is_door);
    let door = behind.or(Some(asked).filter(is_door))?;
    Some(format!("{host}{before}{door}"))
}

/// The resource that a client at a door is led to. Tokens are good for the configured one: a door
/// below it is a part of it.
fn asked_with(settings: &OauthSettings, origin: &str, door: &str) -> String {
    let own = format!("{origin}{door}");
    let own = described(settings, origin, door).unwrap_or(own);
    let whole = settings.address().filter(|address| {
        let rest = own.strip_prefix(address.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    whole.map_or(own, ToOwned::to_owned)
}

/// Tells whether a token's audience is this gateway: what is configured, or, where that is an address,
/// one of the doors beside it, for which an issuer makes tokens as the metadata names them.
pub(crate) fn is_audience(settings: &OauthSettings, name: &str) -> bool {
    if name == settings.audience {
        return true;
    }
    let address = settings.address();
    let Some(address) = address.filter(|address| *address == settings.audience) else {
        return false;
    };
    let (host, own) = split(address);
    let rest = name.strip_prefix(host);
    let door = rest.and_then(|rest| rest.strip_prefix(before_door(own)));
    door.is_some_and(|door| DOORS.contains(&door))
}

/// The path without the door at its end.
fn before_door(path: &str) -> &str {
    let mut doors = DOORS.iter();
    doors
        .find_map(|door| path.strip_suffix(door))
        .unwrap_or(path)
}

/// Puts the well-known path between the host and the path of a resource (RFC 9728, section 3.1).
fn metadata_address(resource: &str) -> String {
    let (host, path) = split(resource);
    format!("{host}{WELL_KNOWN}{path}")
}

/// Takes an address apart: everything before its path, and its path without a slash at the end.
fn split(address: &str) -> (&str, &str) {
    let host = address.find("://").map_or(0, |at| at + "://".len());
    let path = address.get(host..).and_then(|rest| rest.find('/'));
    let (host, path) = address.split_at(path.map_or(address.len(), |at| host + at));
    (host, path.trim_end_matches('/'))
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
    fn a_token_for_any_door_is_for_this_gateway() {
        let check = |audience: &str, name: &str, expect: bool| {
            let found = is_audience(&settings(audience, &[]), name);
            assert_eq!(found, expect, "{audience} {name}");
        };
        let one = "https://gate.example/mcp";
        check(one, one, true);
        check(one, "https://gate.example/sse", true);
        check(one, "https://gate.example/mcp/call", true);
        check(one, "https://gate.example", false);
        check(one, "https://gate.example/api", false);
        check(one, "https://gate.example.evil/sse", false);
        check(one, "http://gate.example/sse", false);
        check("https://gate.example", "https://gate.example/sse", true);
        check(
            "https://gate.example/a/mcp",
            "https://gate.example/a/sse",
            true,
        );
        check(
            "https://gate.example/a/mcp",
            "https://gate.example/sse",
            false,
        );
        check("gate", "gate", true);
        check("gate", "gate/sse", false);
    }

    #[test]
    fn metadata_is_about_the_resource_that_was_asked_for() {
        let check = |audience: &str, path: &str, expect: Option<&str>| {
            let path = format!("/.well-known/oauth-protected-resource{path}");
            let asked = asked_for(&path).unwrap();
            let found = described(&settings(audience, &[]), "http://localhost:8080", asked);
            assert_eq!(found.as_deref(), expect, "{audience} {path}");
        };
        let configured = "https://gate.example/mcp";
        for (path, expect) in [
            ("", "https://gate.example/mcp"),
            ("/", "https://gate.example/mcp"),
            ("/mcp", "https://gate.example/mcp"),
            ("/mcp/", "https://gate.example/mcp"),
            ("/mcp/all", "https://gate.example/mcp/all"),
            ("/mcp/call", "https://gate.example/mcp/call"),
            ("/sse", "https://gate.example/sse"),
        ] {
            check(configured, path, Some(expect));
        }
        check(configured, "/api", None);
        check(configured, "/mcp/any", None);
        check("https://mcp", "", Some("https://mcp"));
        check("https://mcp", "/sse", Some("https://mcp/sse"));
        check("https://mcp/", "", Some("https://mcp/"));
        let deep = "https://gate.example/agents/mcp";
        check(deep, "/agents/mcp", Some(deep));
        check(deep, "/agents/sse", Some("https://gate.example/agents/sse"));
        check(deep, "/sse", Some("https://gate.example/agents/sse"));
        check(deep, "/agents", None);
        check("gate", "/sse", Some("http://localhost:8080/sse"));
        check("gate", "", Some("http://localhost:8080"));
        check("gate", "/api", None);
        assert_eq!(asked_for("/.well-known/oauth-protected-resourceful"), None);
        assert_eq!(asked_for("/mcp"), None);
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
        let one = settings("https://gate.example/mcp", &[]);
        for path in ["/mcp", "/mcp/all", "/api/v1/status"] {
            check(
                &one,
                path,
                None,
                r#"Bearer resource_metadata="https://gate.example/.well-known/oauth-protected-resource/mcp""#,
            );
        }
        check(
            &one,
            "/sse",
            None,
            r#"Bearer resource_metadata="https://gate.example/.well-known/oauth-protected-resource/sse""#,
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
