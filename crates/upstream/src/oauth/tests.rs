//! Logins against a real authorization server and a real upstream, both on this machine.

mod attacks;
mod renewal;

use std::collections::HashMap;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method};
use mcpproxy_testkit::{Authority, FixedClock, HttpUpstream, Options, Sample};

use super::*;

/// What a test has around a login.
struct Stage {
    clock: Arc<FixedClock>,
    authority: Authority,
    upstream: HttpUpstream,
    keep: Arc<Memory>,
}

/// Keeps logins for a test, as long as it works.
#[derive(Debug, Default)]
struct Memory {
    all: Mutex<HashMap<String, Secret>>,
    broken: Mutex<bool>,
}

impl Keep for Memory {
    fn load(&self, name: &str) -> Result<Option<Secret>, String> {
        Ok(self.all.lock().unwrap().get(name).cloned())
    }

    fn save(&self, name: &str, secret: Option<&Secret>) -> Result<(), String> {
        if *self.broken.lock().unwrap() {
            return Err("the disk is full".to_owned());
        }
        let mut all = self.all.lock().unwrap();
        match secret {
            Some(secret) => all.insert(name.to_owned(), secret.clone()),
            None => all.remove(name),
        };
        Ok(())
    }
}

impl Stage {
    async fn new() -> Self {
        let clock = Arc::new(FixedClock::default());
        let authority = Authority::start(Arc::clone(&clock) as _).await.unwrap();
        let upstream = HttpUpstream::start(Sample::Echo, Options::default());
        let upstream = upstream.await.unwrap();
        upstream.protect(&authority);
        Self {
            clock,
            authority,
            upstream,
            keep: Arc::default(),
        }
    }

    fn oauth(&self, settings: OAuthSettings) -> Arc<OAuth> {
        self.oauth_at(&self.upstream.url, settings)
    }

    fn oauth_at(&self, url: &str, settings: OAuthSettings) -> Arc<OAuth> {
        let keep = Arc::clone(&self.keep);
        let logins = Logins::new(keep, Arc::clone(&self.clock) as _);
        let dialers = (Dialer::default(), Dialer::default());
        let name = UpstreamId::new("notes");
        OAuth::new(name, url.parse().unwrap(), settings, logins, dialers)
    }

    /// Logs in as a person does who agrees.
    async fn logged_in(&self) -> Arc<OAuth> {
        let oauth = self.oauth(OAuthSettings::default());
        self.log_in(&oauth).await.unwrap();
        oauth
    }

    async fn log_in(&self, oauth: &Arc<OAuth>) -> Result<(), Error> {
        let login = oauth.begin().await?;
        let url = login.url().to_owned();
        let patience = Duration::from_secs(10);
        let browser = async { self.authority.browse(&url).await };
        let (finished, _) = tokio::join!(login.finish(patience), browser);
        finished
    }

    /// Sends something to the upstream; returns the status, or why it was not sent.
    async fn call(&self, oauth: &Arc<OAuth>) -> Result<u16, String> {
        let uri = self.upstream.url.parse().unwrap();
        sent(oauth, &uri).await
    }

    fn shown(&self) -> Vec<Option<String>> {
        shown(&self.upstream)
    }
}

/// The credentials that an upstream was shown, in order.
fn shown(upstream: &HttpUpstream) -> Vec<Option<String>> {
    let requests = upstream.requests();
    let messages = requests.iter().filter(|one| one.path == "/mcp");
    let shown = messages.map(|one| {
        let header = one.headers.get(AUTHORIZATION);
        header.map(|value| value.to_str().unwrap().to_owned())
    });
    shown.collect()
}

async fn sent(oauth: &Arc<OAuth>, uri: &Uri) -> Result<u16, String> {
    let mut headers = HeaderMap::new();
    let accept = "application/json, text/event-stream";
    headers.insert(http::header::ACCEPT, accept.parse().unwrap());
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let sent = oauth.send(
        Method::POST,
        uri,
        headers,
        Bytes::from_static(body.as_bytes()),
    );
    let answered = sent.await.map_err(|fault| fault.to_string())?;
    Ok(answered.status().as_u16())
}

#[tokio::test]
async fn a_person_logs_in_once_and_calls_go_through_until_logout() {
    let stage = Stage::new().await;
    let oauth = stage.oauth(OAuthSettings::default());
    let wants = "needs login: run `mcpproxy upstream login notes` (the upstream answered HTTP 401)";
    assert_eq!(stage.call(&oauth).await.unwrap_err(), wants);
    assert!(matches!(oauth.standing(), Standing::Needed { .. }));
    stage.log_in(&oauth).await.unwrap();
    assert_eq!(stage.call(&oauth).await, Ok(200));
    let Standing::In { renews, scopes, .. } = oauth.standing() else {
        panic!("{:?}", oauth.standing());
    };
    assert!(renews);
    // What the challenge wanted, and not all that there is.
    assert_eq!(scopes, ["read"]);
    // Another process, with nothing but what is kept.
    let again = stage.oauth(OAuthSettings::default());
    assert_eq!(stage.call(&again).await, Ok(200));
    assert!(oauth.logout().await.unwrap());
    assert_eq!(stage.authority.counts().revoked, 1);
    assert!(stage.call(&oauth).await.is_err());
    assert!(!oauth.logout().await.unwrap());
}

#[tokio::test]
async fn one_process_hears_of_a_login_in_another() {
    let stage = Stage::new().await;
    let daemon = stage.oauth(OAuthSettings::default());
    assert!(stage.call(&daemon).await.is_err());
    stage.logged_in().await;
    assert_eq!(stage.call(&daemon).await, Ok(200));
}

#[tokio::test]
async fn an_upstream_that_wants_no_login_is_shown_nothing_and_nobody_is_asked() {
    let stage = Stage::new().await;
    stage.upstream.mend();
    let oauth = stage.oauth(OAuthSettings::default());
    assert_eq!(stage.call(&oauth).await, Ok(200));
    assert_eq!(stage.shown(), [None]);
    assert_eq!(stage.authority.counts().metadata, 0);
    assert_eq!(oauth.standing(), Standing::None);
}

#[tokio::test]
async fn who_we_are_is_registered_once() {
    let stage = Stage::new().await;
    let oauth = stage.logged_in().await;
    stage.log_in(&oauth).await.unwrap();
    let counts = stage.authority.counts();
    assert_eq!((counts.registered, counts.logins), (1, 2));
}

#[tokio::test]
async fn a_configured_client_shows_its_secret_and_does_not_register() {
    let stage = Stage::new().await;
    let client = ("ours".to_owned(), "made+up/word".to_owned());
    stage.authority.order(|orders| orders.client = Some(client));
    let told = |secret: &str| OAuthSettings {
        client_id: Some("ours".to_owned()),
        client_secret: Some(Secret::new(secret)),
        ..OAuthSettings::default()
    };
    let wrong = stage.log_in(&stage.oauth(told("other"))).await;
    assert!(wrong.unwrap_err().to_string().contains("invalid_client"));
    let oauth = stage.oauth(told("made+up/word"));
    stage.log_in(&oauth).await.unwrap();
    assert_eq!(stage.call(&oauth).await, Ok(200));
    assert_eq!(stage.authority.counts().registered, 0);
}

#[tokio::test]
async fn the_gateway_itself_logs_in_without_a_person() {
    let stage = Stage::new().await;
    let client = ("ours".to_owned(), "word".to_owned());
    stage.authority.order(|orders| orders.client = Some(client));
    let told = OAuthSettings {
        grant: Grant::ClientCredentials,
        client_id: Some("ours".to_owned()),
        client_secret: Some(Secret::new("word")),
        ..OAuthSettings::default()
    };
    let oauth = stage.oauth(told);
    assert_eq!(stage.call(&oauth).await, Ok(200));
    assert_eq!(stage.call(&oauth).await, Ok(200));
    assert_eq!(stage.authority.counts().clients, 1);
    stage.clock.advance(Duration::from_secs(3590));
    assert_eq!(stage.call(&oauth).await, Ok(200));
    stage.authority.end_access();
    assert_eq!(stage.call(&oauth).await, Ok(200));
    assert_eq!(stage.authority.counts().clients, 3);
    assert!(oauth.begin().await.is_err(), "nobody can log in for it");
    assert!(stage.keep.all.lock().unwrap().is_empty());
}
