//! Finding out who issues tokens for an upstream: from its refusal to its own description (RFC
//! 9728), and from there to the authorization server's (RFC 8414, `OpenID` Connect).
//!
//! Every step is held to the one before: a description must be of this upstream, and a server must
//! call itself what it was called. Endpoints are not guessed where a server describes none.

use http::Uri;
use serde_json::Value;

use super::challenge::Challenge;
use super::web::{Answer, Web, flat, is_local, same_origin};
use crate::Error;

/// Entries of a list that are looked at.
const MOST_ENTRIES: usize = 100;

/// Who issues tokens for an upstream, and where.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// What a token is asked for (RFC 8707).
    pub(super) resource: String,
    /// The authorization server.
    pub(super) issuer: String,
    /// Where a person logs in.
    pub(super) authorization: Option<Uri>,
    /// Where tokens are handed out.
    pub(super) token: Uri,
    /// Where we can register ourselves.
    pub(super) registration: Option<Uri>,
    /// Where tokens are given back.
    pub(super) revocation: Option<Uri>,
    /// How we may prove who we are; nothing where the server does not say.
    pub(super) methods: Option<Vec<String>>,
    /// Whether it understands PKCE with SHA-256.
    pub(super) pkce: bool,
    /// Whether it says who it is when it sends somebody back (RFC 9207).
    pub(super) names_itself: bool,
    /// What the upstream says it needs.
    pub(super) scopes: Vec<String>,
}

/// What the upstream says of itself.
struct Resource {
    id: String,
    issuer: String,
    scopes: Vec<String>,
}

/// Finds the authorization server of an upstream. Where `believed` is given, no other one is.
pub(super) async fn discover(
    web: &Web,
    challenge: &Challenge,
    believed: Option<&str>,
) -> Result<Found, Error> {
    if web.upstream.scheme_str() != Some("https") && !is_local(&web.upstream) {
        let why = "a token is only sent over `https`, or on this machine";
        return Err(Error::Authority(why.to_owned()));
    }
    let described = resource(web, challenge, believed).await?;
    if believed.is_some_and(|believed| believed != described.issuer) {
        let issuer = flat(&described.issuer);
        let why = format!("the upstream names `{issuer}`, which is not the configured `issuer`");
        return Err(Error::Authority(why));
    }
    let document = metadata(web, &described.issuer).await?;
    let needed = challenge.scope.as_deref().map(words);
    let scopes = needed.unwrap_or(described.scopes);
    found(web, &document, described.id, &described.issuer, scopes)
}

async fn resource(
    web: &Web,
    challenge: &Challenge,
    believed: Option<&str>,
) -> Result<Resource, Error> {
    for place in places(web, challenge)? {
        let answer = web.get(&place).await?;
        if answer.status.is_success() {
            return described(web, &answer.body, believed);
        }
        refuse_redirect(&answer, &place)?;
    }
    // Before there was RFC 9728 in the protocol, the upstream was its own authorization server.
    let origin = origin(&web.upstream);
    Ok(Resource {
        id: without_query(&web.upstream),
        issuer: believed.unwrap_or(&origin).to_owned(),
        scopes: Vec::new(),
    })
}

/// Where the upstream may describe itself. It says so itself, but only about its own place: one
/// that names another would have us fetch whatever it likes.
fn places(web: &Web, challenge: &Challenge) -> Result<Vec<Uri>, Error> {
    if let Some(named) = &challenge.resource_metadata {
        let place = web.usable("`resource_metadata`", named)?;
        if !same_origin(&place, &web.upstream) {
            let why = "its `resource_metadata` is of another origin than the upstream";
            return Err(Error::Authority(why.to_owned()));
        }
        return Ok(vec![place]);
    }
    let (origin, path) = (origin(&web.upstream), web.upstream.path());
    let known = "/.well-known/oauth-protected-resource";
    let mut places = vec![format!("{origin}{known}{}", path.trim_end_matches('/'))];
    if !path.trim_end_matches('/').is_empty() {
        places.push(format!("{origin}{known}"));
    }
    let parsed = places.iter().filter_map(|place| place.parse().ok());
    Ok(parsed.collect())
}

fn described(web: &Web, document: &Value, believed: Option<&str>) -> Result<Resource, Error> {
    let id = text(document, "resource").unwrap_or_default();
    if !covers(id, &web.upstream) {
        let why = format!("the upstream describes `{}`, not itself", flat(id));
        return Err(Error::Authority(why));
    }
    let issuers = list(document, "authorization_servers");
    let issuer = match believed {
        Some(believed) => issuers.iter().find(|issuer| *issuer == believed),
        None => None,
    };
    let Some(issuer) = issuer.or(issuers.first()) else {
        let why = "the upstream names no authorization server";
        return Err(Error::Authority(why.to_owned()));
    };
    Ok(Resource {
        id: id.to_owned(),
        issuer: issuer.clone(),
        scopes: list(document, "scopes_supported"),
    })
}

/// Tells whether a description is of an upstream: of its address, or of a place above it at the
/// same origin (RFC 9728, 3.3).
pub(super) fn covers(id: &str, upstream: &Uri) -> bool {
    let Ok(described) = id.parse::<Uri>() else {
        return false;
    };
    if !same_origin(&described, upstream) || described.query().is_some() {
        return false;
    }
    let above = described.path().trim_end_matches('/');
    let rest = upstream.path().strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Fetches what an authorization server says of itself.
async fn metadata(web: &Web, issuer: &str) -> Result<Value, Error> {
    let at = web.usable("issuer", issuer)?;
    let (origin, path) = (origin(&at), at.path().trim_end_matches('/'));
    let (oauth, openid) = ("oauth-authorization-server", "openid-configuration");
    let mut places = vec![
        format!("{origin}/.well-known/{oauth}{path}"),
        format!("{origin}/.well-known/{openid}{path}"),
    ];
    if !path.is_empty() {
        places.push(format!("{origin}{path}/.well-known/{openid}"));
    }
    for place in places {
        let place = web.usable("issuer", &place)?;
        let answer = web.get(&place).await?;
        if !answer.status.is_success() {
            refuse_redirect(&answer, &place)?;
            continue;
        }
        let named = text(&answer.body, "issuer").unwrap_or_default();
        // RFC 8414, 3.3: another name is somebody else's document. A slash at the end of a bare
        // origin is the same name.
        if named.trim_end_matches('/') != issuer.trim_end_matches('/') {
            let why = format!("it calls itself `{}`, not `{}`", flat(named), flat(issuer));
            return Err(Error::Authority(why));
        }
        return Ok(answer.body);
    }
    let why = format!("`{}` does not describe itself", flat(issuer));
    Err(Error::Authority(why))
}

fn found(
    web: &Web,
    document: &Value,
    resource: String,
    issuer: &str,
    scopes: Vec<String>,
) -> Result<Found, Error> {
    let place = |name: &str| {
        let named = text(document, name);
        named.map(|named| web.usable(name, named)).transpose()
    };
    let Some(token) = place("token_endpoint")? else {
        return Err(Error::Authority("it has no `token_endpoint`".to_owned()));
    };
    let methods = list(document, "token_endpoint_auth_methods_supported");
    let challenges = list(document, "code_challenge_methods_supported");
    let names_itself = document.get("authorization_response_iss_parameter_supported");
    Ok(Found {
        resource,
        // As the server spells it, which is how it signs what it sends back.
        issuer: text(document, "issuer").unwrap_or(issuer).to_owned(),
        authorization: place("authorization_endpoint")?,
        token,
        registration: place("registration_endpoint")?,
        revocation: place("revocation_endpoint")?,
        methods: Some(methods).filter(|methods| !methods.is_empty()),
        pkce: challenges.iter().any(|method| method == "S256"),
        names_itself: names_itself.and_then(Value::as_bool).unwrap_or(false),
        scopes,
    })
}

fn refuse_redirect(answer: &Answer, place: &Uri) -> Result<(), Error> {
    if answer.status.is_redirection() {
        let why = format!("`{}` leads elsewhere, which is not followed", place.path());
        return Err(Error::Authority(why));
    }
    Ok(())
}

pub(super) fn text<'a>(document: &'a Value, name: &str) -> Option<&'a str> {
    document.get(name).and_then(Value::as_str)
}

fn list(document: &Value, name: &str) -> Vec<String> {
    let entries = document.get(name).and_then(Value::as_array);
    let entries = entries.into_iter().flatten().take(MOST_ENTRIES);
    let entries = entries.filter_map(Value::as_str);
    entries.map(ToOwned::to_owned).collect()
}

/// Splits what a token must allow.
pub(super) fn words(scope: &str) -> Vec<String> {
    let words = scope.split_ascii_whitespace().take(MOST_ENTRIES);
    words.map(ToOwned::to_owned).collect()
}

fn origin(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or_default();
    let place = uri.authority().map_or("", |authority| authority.as_str());
    format!("{scheme}://{place}")
}

/// The address that names an upstream (RFC 8707, 2).
pub(super) fn without_query(uri: &Uri) -> String {
    let path = uri.path();
    let path = if path == "/" { "" } else { path };
    format!("{}{path}", origin(uri))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_covers_its_own_address_and_those_below() {
        let upstream: Uri = "https://mcp.example.com/v1/mcp?k=1".parse().unwrap();
        let check = |id: &str, expect: bool| assert_eq!(covers(id, &upstream), expect, "{id}");
        check("https://mcp.example.com/v1/mcp", true);
        check("https://MCP.example.com:443/v1/mcp", true);
        check("https://mcp.example.com/v1", true);
        check("https://mcp.example.com", true);
        check("https://mcp.example.com/", true);
        check("https://mcp.example.com/v", false);
        check("https://mcp.example.com/v1/mcp/more", false);
        check("https://mcp.example.com?x=1", false);
        check("http://mcp.example.com/v1/mcp", false);
        check("https://mcp.example.com.evil.example/v1/mcp", false);
        check("https://mcp.example.com:8443/v1/mcp", false);
        check("", false);
    }
}
