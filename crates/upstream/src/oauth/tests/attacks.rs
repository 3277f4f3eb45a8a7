//! Authorization servers, upstreams and strangers that want a token which is not theirs.

use mcpproxy_testkit::AuthorityOrders;
use mcpproxy_testkit::authority::{Iss, Metadata};

use super::*;

async fn login_with(change: impl FnOnce(&mut AuthorityOrders)) -> Result<(), String> {
    let stage = Stage::new().await;
    stage.authority.order(change);
    let oauth = stage.oauth(OAuthSettings::default());
    let done = stage.log_in(&oauth).await;
    let done = done.map_err(|fault| fault.to_string());
    let kept = stage.keep.all.lock().unwrap().len();
    assert_eq!(kept, usize::from(done.is_ok()), "{done:?}");
    done
}

#[tokio::test]
async fn what_does_not_fit_together_ends_the_login() {
    let check = async |metadata: Metadata, iss: Iss, expect: Result<(), &str>| {
        let found = login_with(|orders| (orders.metadata, orders.iss) = (metadata, iss)).await;
        match expect {
            Ok(()) => assert_eq!(found, Ok(()), "{metadata:?} {iss:?}"),
            Err(part) => {
                let said = found.unwrap_err();
                assert!(said.contains(part), "{metadata:?} {iss:?}: {said}");
            }
        }
    };
    check(Metadata::Right, Iss::Right, Ok(())).await;
    check(Metadata::OpenId, Iss::Right, Ok(())).await;
    check(Metadata::Right, Iss::Other, Err("which was not asked")).await;
    check(Metadata::Right, Iss::Missing, Err("does not say who")).await;
    let other = Err("it calls itself `https://other.example`");
    check(Metadata::OtherIssuer, Iss::Right, other).await;
    check(Metadata::NoPkce, Iss::Right, Err("PKCE")).await;
    let plain = Err("its token_endpoint is neither `https`");
    check(Metadata::PlainToken, Iss::Right, plain).await;
    check(Metadata::Huge, Iss::Right, Err("larger than 65536 bytes")).await;
    check(Metadata::Redirect, Iss::Right, Err("leads elsewhere")).await;
    let denied = login_with(|orders| orders.deny = Some("access_denied".to_owned())).await;
    assert!(denied.unwrap_err().contains("`access_denied`"));
}

#[tokio::test]
async fn a_server_that_is_silent_is_waited_for_so_long() {
    let stage = Stage::new().await;
    stage
        .authority
        .order(|orders| orders.metadata = Metadata::Silent);
    let oauth = stage.oauth(OAuthSettings::default());
    let login = tokio::spawn(async move { oauth.begin().await });
    while stage.authority.counts().metadata == 0 {
        tokio::task::yield_now().await;
    }
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    let said = login.await.unwrap().unwrap_err().to_string();
    assert!(said.contains("timed out"), "{said}");
}

#[tokio::test]
async fn a_stranger_who_knocks_with_another_state_changes_nothing() {
    let stage = Stage::new().await;
    let oauth = stage.oauth(OAuthSettings::default());
    let login = oauth.begin().await.unwrap();
    let url = login.url().to_owned();
    let finish = tokio::spawn(login.finish(Duration::from_secs(10)));
    // The attacker's own login, sent to the victim's browser.
    stage
        .authority
        .order(|orders| orders.state = Some("guessed".to_owned()));
    assert_eq!(stage.authority.browse(&url).await.unwrap(), 400);
    assert_eq!(stage.authority.counts().logins, 0);
    // The person's own comes through all the same, and only once.
    stage.authority.order(|orders| orders.state = None);
    let back = stage.authority.agree(&url).await.unwrap();
    assert_eq!(stage.authority.browse(&url).await.unwrap(), 200);
    finish.await.unwrap().unwrap();
    assert!(!back.is_empty());
    assert_eq!(stage.authority.counts().logins, 1);
}

#[tokio::test]
async fn a_token_goes_to_its_own_upstream_and_to_nobody_else() {
    let stage = Stage::new().await;
    let oauth = stage.logged_in().await;
    let stranger = HttpUpstream::start(Sample::Echo, Options::default());
    let stranger = stranger.await.unwrap();
    let place = stranger.url.parse().unwrap();
    assert_eq!(sent(&oauth, &place).await, Ok(200));
    assert_eq!(shown(&stranger), [None]);
    // The same name with another address in the configuration.
    let moved = stage.oauth_at(&stranger.url, OAuthSettings::default());
    assert_eq!(sent(&moved, &place).await, Ok(200));
    assert_eq!(shown(&stranger), [None, None]);
    let below = stage.oauth_at(
        &format!("{}2", stage.upstream.url),
        OAuthSettings::default(),
    );
    assert_eq!(below.read_standing().await.unwrap(), Standing::None);
    // Another server or client than the one that issued it.
    let other = OAuthSettings {
        issuer: Some("https://other.example".to_owned()),
        ..OAuthSettings::default()
    };
    assert_eq!(
        stage.oauth(other).read_standing().await.unwrap(),
        Standing::None
    );
    let other = OAuthSettings {
        client_id: Some("other".to_owned()),
        ..OAuthSettings::default()
    };
    assert_eq!(
        stage.oauth(other).read_standing().await.unwrap(),
        Standing::None
    );
    assert_eq!(stage.call(&oauth).await, Ok(200));
}

#[tokio::test]
async fn an_upstream_cannot_send_us_elsewhere() {
    let stage = Stage::new().await;
    let check = async |challenge: &str, expect: &str| {
        stage.upstream.protect_with(&stage.authority, challenge);
        let oauth = stage.oauth(OAuthSettings::default());
        let said = oauth.begin().await.unwrap_err().to_string();
        assert!(said.contains(expect), "{challenge}: {said}");
    };
    let issuer = stage.authority.issuer.clone();
    let there = format!(r#"Bearer resource_metadata="{issuer}/.well-known/x""#);
    check(&there, "of another origin").await;
    let plain = r#"Bearer resource_metadata="http://other.example/x""#;
    check(plain, "neither `https` nor on this machine").await;
    let user = r#"Bearer resource_metadata="https://user@other.example/x""#;
    check(user, "must not have").await;
    assert_eq!(stage.authority.counts().metadata, 0);
    let believed = OAuthSettings {
        issuer: Some("https://other.example".to_owned()),
        ..OAuthSettings::default()
    };
    stage.upstream.protect(&stage.authority);
    let said = stage.oauth(believed).begin().await.unwrap_err().to_string();
    assert!(said.contains("not the configured `issuer`"), "{said}");
}

#[tokio::test]
async fn an_upstream_elsewhere_cannot_make_us_speak_to_this_machine() {
    let stage = Stage::new().await;
    let web = |upstream: &str| Web {
        upstream: upstream.parse().unwrap(),
        own: Dialer::default(),
        others: Dialer::default(),
    };
    let check = |upstream: &str, named: &str, expect: bool| {
        let found = web(upstream).usable("place", named);
        assert_eq!(found.is_ok(), expect, "{upstream} {named} {found:?}");
    };
    let (there, here) = ("https://mcp.example.com/mcp", "http://127.0.0.1:1/mcp");
    check(there, "https://as.example.com/token", true);
    check(there, "http://127.0.0.1:9/token", false);
    check(there, "http://localhost:9/token", false);
    check(there, "http://as.example.com/token", false);
    check(here, "http://127.0.0.1:9/token", true);
    check(here, "http://localhost:9/token", true);
    check(here, "http://127.0.0.1.nip.io/token", false);
    check(here, "http://as.example.com/token", false);
    check(here, "ftp://127.0.0.1/token", false);
    check(there, "https://as.example.com/token#x", false);
    check(there, "https://a@as.example.com/token", false);
    check(
        there,
        &format!("https://a.example/{}", "x".repeat(4096)),
        false,
    );
    check(there, "", false);
    // A token is not sent without TLS to another machine.
    let plain = stage.oauth_at("http://mcp.example.com/mcp", OAuthSettings::default());
    let found = discover(&plain.web, &challenge::Challenge::default(), None).await;
    assert!(
        found
            .unwrap_err()
            .to_string()
            .contains("only sent over `https`")
    );
}
