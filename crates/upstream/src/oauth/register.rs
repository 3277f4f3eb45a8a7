//! Who we are at an authorization server: as configured, or as we register ourselves (RFC 7591).

use mcpproxy_core::Secret;
use serde_json::json;

use super::discover::{Found, text};
use super::kept::{Client, Kept, Method};
use super::web::{Web, flat};
use crate::Error;
use crate::settings::OAuthSettings;

/// Returns who we are by the configuration, if it says.
pub(super) fn configured(
    settings: &OAuthSettings,
    found: &Found,
    redirect: Option<&str>,
) -> Option<Client> {
    Some(Client {
        id: settings.client_id.clone()?,
        secret: settings.client_secret.clone(),
        method: method(found, settings.client_secret.as_ref()),
        redirect: redirect.map(ToOwned::to_owned),
    })
}

/// Returns who we were at the last login, if that was at the same server and came back to the same
/// place.
pub(super) fn known(kept: Option<&Kept>, found: &Found, redirect: &str) -> Option<Client> {
    let kept = kept.filter(|kept| kept.issuer == found.issuer)?;
    let same = kept.client.redirect.as_deref() == Some(redirect);
    same.then(|| kept.client.clone())
}

/// Registers ourselves.
pub(super) async fn register(web: &Web, found: &Found, redirect: &str) -> Result<Client, Error> {
    let Some(at) = &found.registration else {
        let why = "it takes no registrations; give `oauth.client_id`";
        return Err(Error::Authority(why.to_owned()));
    };
    let request = json!({
        "client_name": "mcpproxy",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    let answer = web.json(at, &request).await?;
    if !answer.status.is_success() {
        let code = text(&answer.body, "error").map(flat).unwrap_or_default();
        let status = answer.status.as_u16();
        let why = format!("it does not register us: HTTP {status} {code}");
        return Err(Error::Authority(why.trim_end().to_owned()));
    }
    let id = text(&answer.body, "client_id").filter(|id| !id.is_empty() && id.len() <= 2048);
    let Some(id) = id else {
        let why = "it registered us without a `client_id`";
        return Err(Error::Authority(why.to_owned()));
    };
    let secret = text(&answer.body, "client_secret").map(Secret::new);
    let method = match text(&answer.body, "token_endpoint_auth_method") {
        Some("none") => Method::None,
        Some("client_secret_basic") => Method::Basic,
        Some("client_secret_post") => Method::Post,
        Some(_) | None => method(found, secret.as_ref()),
    };
    Ok(Client {
        id: id.to_owned(),
        secret,
        method,
        redirect: Some(redirect.to_owned()),
    })
}

/// RFC 8414, 2: where a server says nothing, it understands the header.
fn method(found: &Found, secret: Option<&Secret>) -> Method {
    let understands = |method: &str| {
        let methods = found.methods.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|one| one == method))
    };
    match secret {
        None => Method::None,
        Some(_) if understands("client_secret_basic") => Method::Basic,
        Some(_) if understands("client_secret_post") => Method::Post,
        Some(_) => Method::Basic,
    }
}
