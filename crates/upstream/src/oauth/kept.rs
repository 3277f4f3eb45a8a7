//! What is kept of a login: tokens, and who they are for. It is written for the vault alone; every
//! other way of printing it shows stars.

use http::HeaderValue;
use mcpproxy_core::{Secret, Wall};
use serde::Deserialize;
use serde_json::json;

/// How early a token is renewed.
const MARGIN_MILLIS: u64 = 30_000;

/// A login.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Kept {
    /// The upstream that the tokens are for. They are used for no other.
    pub(super) resource: String,
    /// The authorization server that issued them. Its tokens and our id there go to no other.
    pub(super) issuer: String,
    /// Where it hands out tokens.
    pub(super) token_endpoint: String,
    /// Where it takes them back.
    pub(super) revocation_endpoint: Option<String>,
    /// Who we are there.
    pub(super) client: Client,
    /// The token that opens the upstream.
    pub(super) access: Secret,
    /// The one that fetches the next.
    pub(super) refresh: Option<Secret>,
    /// What the token allows.
    pub(super) scopes: Vec<String>,
    /// When the token was issued.
    pub(super) issued: u64,
    /// When it ends, if that is known.
    pub(super) expires: Option<u64>,
}

/// Who we are at an authorization server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) secret: Option<Secret>,
    pub(super) method: Method,
    /// Where a login comes back to, as it was registered.
    pub(super) redirect: Option<String>,
}

/// How we prove who we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Method {
    /// With nothing but the id.
    None,
    /// With a header.
    Basic,
    /// In the form.
    Post,
}

impl Method {
    fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "basic",
            Self::Post => "post",
        }
    }
}

impl Kept {
    /// Writes a login for the vault.
    pub(super) fn seal(&self) -> Secret {
        let shown = |secret: &Option<Secret>| {
            let secret = secret.as_ref();
            secret.map(|secret| secret.expose().to_owned())
        };
        let written = json!({
            "resource": self.resource,
            "issuer": self.issuer,
            "token_endpoint": self.token_endpoint,
            "revocation_endpoint": self.revocation_endpoint,
            "client": {
                "id": self.client.id,
                "secret": shown(&self.client.secret),
                "method": self.client.method.word(),
                "redirect": self.client.redirect,
            },
            "access": self.access.expose(),
            "refresh": shown(&self.refresh),
            "scopes": self.scopes,
            "issued": self.issued,
            "expires": self.expires,
        });
        Secret::new(written.to_string())
    }

    /// Reads what the vault had.
    pub(super) fn open(sealed: &Secret) -> Option<Self> {
        serde_json::from_str(sealed.expose()).ok()
    }

    /// Tells whether the token has ended.
    pub(super) fn is_over(&self, now: Wall) -> bool {
        self.expires.is_some_and(|expires| now.0 >= expires)
    }

    /// Tells whether the token should be renewed before it is used: it ends soon, measured by how
    /// long it was to live.
    pub(super) fn is_due(&self, now: Wall) -> bool {
        self.expires.is_some_and(|expires| {
            let lives = expires.saturating_sub(self.issued);
            now.0 >= expires.saturating_sub(MARGIN_MILLIS.min(lives / 4))
        })
    }

    /// The header that shows the token.
    pub(super) fn header(&self) -> Option<HeaderValue> {
        let value = format!("Bearer {}", self.access.expose());
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(issued: u64, expires: Option<u64>) -> Kept {
        Kept {
            resource: "https://a.example/mcp".to_owned(),
            issuer: "https://b.example".to_owned(),
            token_endpoint: "https://b.example/token".to_owned(),
            revocation_endpoint: None,
            client: Client {
                id: "c".to_owned(),
                secret: Some(Secret::new("word-one")),
                method: Method::Post,
                redirect: None,
            },
            access: Secret::new("word-two"),
            refresh: Some(Secret::new("word-three")),
            scopes: vec!["read".to_owned()],
            issued,
            expires,
        }
    }

    #[test]
    fn a_login_is_read_as_it_was_written_and_prints_stars() {
        let kept = kept(1, Some(2));
        assert_eq!(Kept::open(&kept.seal()), Some(kept.clone()));
        assert_eq!(Kept::open(&Secret::new("{}")), None);
        let printed = format!("{kept:?} {:?} {:?}", kept.seal(), kept.header());
        assert!(!printed.contains("word-"), "{printed}");
    }

    #[test]
    fn a_token_is_renewed_before_it_ends() {
        let check = |lives: u64, now: u64, due: bool, over: bool| {
            let kept = kept(0, Some(lives));
            let found = (kept.is_due(Wall(now)), kept.is_over(Wall(now)));
            assert_eq!(found, (due, over), "{lives} {now}");
        };
        check(3_600_000, 3_569_999, false, false);
        check(3_600_000, 3_570_000, true, false);
        check(3_600_000, 3_600_000, true, true);
        check(4_000, 2_999, false, false);
        check(4_000, 3_000, true, false);
        check(0, 0, true, true);
        assert!(!kept(0, None).is_due(Wall(u64::MAX)));
    }
}
