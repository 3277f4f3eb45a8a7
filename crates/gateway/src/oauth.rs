//! The gateway as a resource server (OAuth 2.1): access tokens of one configured issuer open the MCP
//! endpoints, beside the API key and agent tokens.
//!
//! A token is verified here and goes no further: upstreams have credentials of their own. Getting
//! tokens, and anything that an authorization server does, is not here.

mod keys;
mod metadata;
mod settings;
mod source;
#[cfg(test)]
mod tests;
mod token;

use std::sync::Arc;

use http::Uri;
use mcpproxy_core::{Clock, Principal, PrincipalKind};

pub(crate) use self::metadata::{asked_for, challenge, metadata};
pub use self::settings::OauthSettings;
use self::source::{KeySource, NoKey, Origin};
use self::token::Token;
pub(crate) use self::token::{is_token, plain_name};

/// Why a token does not open anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is not good.
    Invalid(&'static str),
    /// It is good and is not for this.
    Insufficient,
    /// Whether it is good cannot be told, since the issuer's keys cannot be had.
    Unverifiable,
}

/// What verifies the tokens of an issuer.
#[derive(Debug)]
pub(crate) struct ResourceServer {
    pub(crate) settings: OauthSettings,
    keys: Arc<KeySource>,
    clock: Arc<dyn Clock>,
}

impl ResourceServer {
    pub(crate) fn new(settings: OauthSettings, clock: Arc<dyn Clock>) -> Self {
        let origin = match (&settings.jwks_file, &settings.jwks_url) {
            (Some(path), _) => Origin::File(path.clone()),
            // What is no address was refused with the configuration.
            (None, url) => {
                let url = url.as_deref().and_then(|url| url.parse().ok());
                Origin::Url(url.unwrap_or_else(|| Uri::from_static("/")))
            }
        };
        Self {
            settings,
            keys: Arc::new(KeySource::new(origin, Arc::clone(&clock))),
            clock,
        }
    }

    /// Names the holder of a token, or says why it opens nothing. `thumbprint` is that of the
    /// certificate that came with it, where one did.
    pub(crate) async fn admit(
        &self,
        presented: &str,
        thumbprint: Option<&str>,
    ) -> Result<Principal, Refused> {
        let token = Token::read(presented).map_err(Refused::Invalid)?;
        let key = self.keys.find(token.key.as_deref(), token.algorithm).await;
        let key = key.map_err(|why| match why {
            NoKey::Unknown => Refused::Invalid("the token is signed with a key that is not known"),
            NoKey::Unreachable => Refused::Unverifiable,
        })?;
        let now = self.clock.wall();
        let claims = token.verified(&key, &self.settings, now, thumbprint);
        let claims = claims.map_err(Refused::Invalid)?;
        let has = |scope: &String| claims.scopes.contains(scope);
        if !self.settings.required_scopes.iter().all(has) {
            return Err(Refused::Insufficient);
        }
        // With its issuer, so that no other issuer's holder of that name is taken for this one.
        let name = format!("oauth:{}#{}", self.settings.issuer, claims.subject);
        Ok(Principal {
            kind: PrincipalKind::User,
            name: name.into(),
            claims: Some(Arc::new(claims)),
        })
    }
}
