//! A person's login: the address to open, and waiting on this machine for what comes back (OAuth
//! 2.1, 4.1; RFC 8252, 7.3; PKCE; RFC 9207).

mod callback;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use http::Uri;
use mcpproxy_core::Secret;
use mcpproxy_mcp::seal::random;
use mcpproxy_text::url::encoded;
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use tokio::time::timeout;

use self::callback::Expected;
use super::OAuth;
use super::discover::{Found, discover};
use super::grant::{By, Refusal, ask, prove};
use super::kept::{Client, Kept};
use super::register;
use crate::Error;
use crate::settings::Grant;

/// A login that waits for a person.
#[derive(Debug)]
pub struct Login {
    oauth: Arc<OAuth>,
    listener: TcpListener,
    found: Found,
    client: Client,
    scopes: Vec<String>,
    redirect: String,
    verifier: Secret,
    state: Secret,
    url: String,
}

impl OAuth {
    /// Finds the authorization server and gets ready for a person to come back from it.
    pub async fn begin(self: &Arc<Self>) -> Result<Login, Error> {
        if self.settings.grant == Grant::ClientCredentials {
            let why = "it is logged in to by `client_credentials`, without a person";
            return Err(Error::Authority(why.to_owned()));
        }
        let challenge = self.probe().await?;
        let found = discover(&self.web, &challenge, self.settings.issuer.as_deref()).await?;
        let Some(authorization) = found.authorization.clone() else {
            let why = "it has no `authorization_endpoint`";
            return Err(Error::Authority(why.to_owned()));
        };
        if !found.pkce {
            let why = "it does not say that it understands PKCE with `S256`";
            return Err(Error::Authority(why.to_owned()));
        }
        let kept = self.load().await?;
        let listener = self.listen(kept.as_deref()).await?;
        let port = listener.local_addr().map_err(|fault| here(&fault))?.port();
        let redirect = format!("http://127.0.0.1:{port}{}", callback::PATH);
        let known = register::configured(&self.settings, &found, Some(&redirect))
            .or_else(|| register::known(kept.as_deref(), &found, &redirect));
        let client = match known {
            Some(client) => client,
            None => register::register(&self.web, &found, &redirect).await?,
        };
        let (verifier, state) = (unguessable()?, unguessable()?);
        let mut login = Login {
            oauth: Arc::clone(self),
            listener,
            scopes: self.scopes(&found),
            found,
            client,
            redirect,
            verifier,
            state,
            url: String::new(),
        };
        login.url = login.address(&authorization);
        Ok(login)
    }

    /// Listens on this machine: at the port that was configured, else at the one that the server
    /// knows from the last login, else at any.
    async fn listen(&self, kept: Option<&Kept>) -> Result<TcpListener, Error> {
        let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        if let Some(port) = self.settings.redirect_port {
            return bind(port).await.map_err(|fault| here(&fault));
        }
        let known = kept.and_then(|kept| kept.client.redirect.as_deref());
        let known = known.and_then(|known| known.parse::<Uri>().ok()?.port_u16());
        if let Some(port) = known
            && let Ok(listener) = bind(port).await
        {
            return Ok(listener);
        }
        bind(0).await.map_err(|fault| here(&fault))
    }

    /// What is asked for: as configured, else what the upstream says it needs.
    pub(super) fn scopes(&self, found: &Found) -> Vec<String> {
        if self.settings.scopes.is_empty() {
            return found.scopes.clone();
        }
        self.settings.scopes.clone()
    }

    /// Forgets a login, and tells the server so where it listens. Returns whether there was one.
    pub async fn logout(self: &Arc<Self>) -> Result<bool, Error> {
        let kept = self.load().await?;
        self.save(None).await?;
        *self.lock() = super::Held::default();
        let Some(kept) = kept else { return Ok(false) };
        let Some(at) = &kept.revocation_endpoint else {
            return Ok(true);
        };
        let at = self.web.usable("revocation_endpoint", at)?;
        let client = self.client(&kept);
        // RFC 7009, 2.1: with the token that fetches the next, those fetched end as well.
        let token = kept.refresh.as_ref().unwrap_or(&kept.access);
        let mut fields = vec![("token", token.expose())];
        let basic = prove(&client, &mut fields);
        let answer = self.web.form(&at, &fields, basic).await?;
        if !answer.status.is_success() {
            let status = answer.status.as_u16();
            let why = format!("it was not told of the end: HTTP {status}");
            return Err(Error::Authority(why));
        }
        Ok(true)
    }
}

impl Login {
    /// Returns the address that the person opens in a browser.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the authorization server's name.
    pub fn issuer(&self) -> &str {
        &self.found.issuer
    }

    /// Waits until the person comes back, and keeps the tokens.
    pub async fn finish(self, patience: Duration) -> Result<(), Error> {
        let expected = Expected {
            state: self.state.clone(),
            issuer: self.found.issuer.clone(),
            names_itself: self.found.names_itself,
        };
        let came = timeout(patience, callback::wait(&self.listener, &expected)).await;
        let code = came.map_err(|_| Error::Authority("nobody came back in time".to_owned()))??;
        let by = By::Code {
            code: &code,
            verifier: &self.verifier,
            redirect: &self.redirect,
        };
        let what = (self.found.resource.as_str(), self.scopes.as_slice());
        let granted = ask(&self.oauth.web, &self.found.token, &self.client, what, by).await;
        let granted = granted.map_err(|refusal: Refusal| Error::Authority(refusal.words()))?;
        let kept = unissued(&self.found, self.client, self.scopes);
        let now = self.oauth.logins.clock.wall();
        self.oauth.store(&Arc::new(granted.renew(&kept, now))).await
    }

    fn address(&self, authorization: &Uri) -> String {
        let challenge = BASE64.encode(Sha256::digest(self.verifier.expose()));
        let scope = self.scopes.join(" ");
        let mut fields = vec![
            ("response_type", "code"),
            ("client_id", &self.client.id),
            ("redirect_uri", &self.redirect),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("state", self.state.expose()),
            ("resource", &self.found.resource),
        ];
        if !scope.is_empty() {
            fields.push(("scope", &scope));
        }
        let pair = |(name, value): &(&str, &str)| format!("{name}={}", encoded(value));
        let fields = fields.iter().map(pair).collect::<Vec<_>>().join("&");
        let mark = if authorization.query().is_some() {
            '&'
        } else {
            '?'
        };
        format!("{authorization}{mark}{fields}")
    }
}

/// A login without its tokens.
pub(super) fn unissued(found: &Found, client: Client, scopes: Vec<String>) -> Kept {
    let revocation = found.revocation.as_ref();
    Kept {
        resource: found.resource.clone(),
        issuer: found.issuer.clone(),
        token_endpoint: found.token.to_string(),
        revocation_endpoint: revocation.map(ToString::to_string),
        client,
        access: Secret::new(""),
        refresh: None,
        scopes,
        issued: 0,
        expires: None,
    }
}

/// RFC 7636, 4.1: 43 characters that nobody can guess.
fn unguessable() -> Result<Secret, Error> {
    Ok(Secret::new(BASE64.encode(random::<32>()?)))
}

fn here(fault: &std::io::Error) -> Error {
    Error::Authority(format!("cannot listen for the login to come back: {fault}"))
}
