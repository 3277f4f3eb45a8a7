//! Tokens that end, rotate and are taken back.

use super::*;

#[tokio::test]
async fn a_token_is_renewed_before_it_ends_and_every_time_with_the_newest() {
    let stage = Stage::new().await;
    stage.authority.order(|orders| orders.expires_in = 8);
    let oauth = stage.logged_in().await;
    assert_eq!(stage.call(&oauth).await, Ok(200));
    for renewal in 1..=5 {
        stage.clock.advance(Duration::from_millis(6_500));
        assert_eq!(stage.call(&oauth).await, Ok(200));
        assert_eq!(stage.call(&oauth).await, Ok(200));
        assert_eq!(stage.authority.counts().renewals, renewal);
    }
    // Another process goes on with what is kept, which is the last one.
    stage.clock.advance(Duration::from_mins(1));
    let again = stage.oauth(OAuthSettings::default());
    assert_eq!(stage.call(&again).await, Ok(200));
    assert!(!stage.shown().iter().skip(1).any(Option::is_none));
}

#[tokio::test]
async fn a_server_that_does_not_rotate_is_asked_with_the_same_token() {
    let stage = Stage::new().await;
    stage.authority.order(|orders| orders.rotate = false);
    let oauth = stage.logged_in().await;
    for renewal in 1..=3 {
        stage.authority.end_access();
        assert_eq!(stage.call(&oauth).await, Ok(200));
        assert_eq!(stage.authority.counts().renewals, renewal);
    }
}

#[tokio::test]
async fn many_calls_that_are_refused_at_once_make_one_renewal() {
    let stage = Stage::new().await;
    let oauth = stage.logged_in().await;
    let delay = Duration::from_millis(100);
    stage.authority.order(|orders| orders.delay = delay);
    stage.authority.end_access();
    let uri: Uri = stage.upstream.url.parse().unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let (oauth, uri) = (Arc::clone(&oauth), uri.clone());
        calls.spawn(async move { sent(&oauth, &uri).await });
    }
    let statuses = calls.join_all().await;
    assert!(
        statuses.iter().all(|status| *status == Ok(200)),
        "{statuses:?}"
    );
    assert_eq!(stage.authority.counts().renewals, 1);
}

#[tokio::test]
async fn a_renewal_is_kept_even_if_who_wanted_it_goes_away() {
    let stage = Stage::new().await;
    let oauth = stage.logged_in().await;
    let delay = Duration::from_millis(100);
    stage.authority.order(|orders| orders.delay = delay);
    stage.authority.end_access();
    {
        let call = stage.call(&oauth);
        tokio::pin!(call);
        let renewing = async {
            // The upstream refuses, and the renewal begins.
            while stage.shown().len() < 2 {
                tokio::task::yield_now().await;
            }
            tokio::time::sleep(delay / 2).await;
        };
        tokio::select! {
            ended = &mut call => panic!("{ended:?}"),
            () = renewing => {}
        }
    }
    assert_eq!(stage.call(&oauth).await, Ok(200));
    assert_eq!(stage.authority.counts().renewals, 1);
    stage.authority.end_access();
    assert_eq!(stage.call(&oauth).await, Ok(200));
}

#[tokio::test]
async fn a_login_that_was_taken_back_is_said_and_not_asked_about_again() {
    let stage = Stage::new().await;
    let oauth = stage.logged_in().await;
    stage.authority.revoke();
    let said = stage.call(&oauth).await.unwrap_err();
    let expect = "needs login: run `mcpproxy upstream login notes` (it answered `invalid_grant`)";
    assert_eq!(said, expect);
    let Standing::Needed { why } = oauth.standing() else {
        panic!("{:?}", oauth.standing());
    };
    assert!(why.contains("invalid_grant"), "{why}");
    for _ in 0..20 {
        assert!(stage.call(&oauth).await.is_err());
    }
    assert_eq!(stage.authority.counts().renewals, 1);
    stage.log_in(&oauth).await.unwrap();
    assert_eq!(stage.call(&oauth).await, Ok(200));
    // Who we are there was not forgotten.
    assert_eq!(stage.authority.counts().registered, 1);
}

#[tokio::test]
async fn a_server_that_is_down_for_a_while_costs_no_login_and_is_not_flooded() {
    let stage = Stage::new().await;
    let oauth = stage.logged_in().await;
    stage.authority.order(|orders| orders.down = Some(503));
    // The token ends soon, and is good until then.
    stage.clock.advance(Duration::from_secs(3580));
    for _ in 0..10 {
        assert_eq!(stage.call(&oauth).await, Ok(200));
    }
    assert_eq!(stage.authority.counts().renewals, 1);
    stage.clock.advance(Duration::from_secs(30));
    let said = stage.call(&oauth).await.unwrap_err();
    assert!(said.contains("HTTP 503"), "{said}");
    stage.authority.order(|orders| orders.down = None);
    stage.clock.advance(Duration::from_secs(6));
    assert_eq!(stage.call(&oauth).await, Ok(200));
}

#[tokio::test]
async fn without_a_token_to_renew_with_the_end_is_a_login() {
    let stage = Stage::new().await;
    stage.authority.order(|orders| orders.refresh = false);
    let oauth = stage.logged_in().await;
    stage.clock.advance(Duration::from_secs(3599));
    assert_eq!(stage.call(&oauth).await, Ok(200));
    stage.clock.advance(Duration::from_secs(1));
    let said = stage.call(&oauth).await.unwrap_err();
    assert!(said.contains("ended and cannot be renewed"), "{said}");
}

#[tokio::test]
async fn an_upstream_that_refuses_fresh_tokens_is_not_shown_one_after_another() {
    let stage = Stage::new().await;
    let oauth = stage.logged_in().await;
    // It wants tokens of somebody else now.
    let other = Authority::start(Arc::clone(&stage.clock) as _)
        .await
        .unwrap();
    stage.upstream.protect(&other);
    for _ in 0..10 {
        let said = stage.call(&oauth).await.unwrap_err();
        assert!(said.contains("just issued"), "{said}");
    }
    assert_eq!(stage.authority.counts().renewals, 1);
}

#[tokio::test]
async fn a_full_disk_does_not_lose_the_login_of_this_process() {
    let stage = Stage::new().await;
    let oauth = stage.logged_in().await;
    *stage.keep.broken.lock().unwrap() = true;
    for _ in 0..3 {
        stage.authority.end_access();
        assert_eq!(stage.call(&oauth).await, Ok(200));
    }
}

#[tokio::test]
async fn an_upstream_that_was_started_anew_does_not_renew_beside_the_one_before() {
    let stage = Stage::new().await;
    let old = stage.logged_in().await;
    let new = {
        let dialers = (Dialer::default(), Dialer::default());
        let uri = stage.upstream.url.parse().unwrap();
        let told = OAuthSettings::default();
        OAuth::new(old.name.clone(), uri, told, old.logins.clone(), dialers)
    };
    assert_eq!(stage.call(&new).await, Ok(200));
    let delay = Duration::from_millis(100);
    stage.authority.order(|orders| orders.delay = delay);
    stage.authority.end_access();
    let both = tokio::join!(stage.call(&old), stage.call(&new));
    assert_eq!(both, (Ok(200), Ok(200)));
    assert_eq!(stage.authority.counts().renewals, 1);
}

#[tokio::test]
async fn a_login_during_a_renewal_is_the_one_that_stays() {
    let stage = Stage::new().await;
    let oauth = stage.logged_in().await;
    stage.authority.end_access();
    let delay = Duration::from_millis(200);
    stage.authority.order(|orders| orders.delay = delay);
    let person = stage.oauth(OAuthSettings {
        scopes: vec!["read".to_owned(), "write".to_owned()],
        ..OAuthSettings::default()
    });
    let login = async {
        while stage.authority.counts().renewals == 0 {
            tokio::task::yield_now().await;
        }
        stage
            .authority
            .order(|orders| orders.delay = Duration::ZERO);
        stage.log_in(&person).await.unwrap();
    };
    let (called, ()) = tokio::join!(stage.call(&oauth), login);
    assert_eq!(called, Ok(200));
    let Standing::In { scopes, .. } = oauth.read_standing().await.unwrap() else {
        panic!("{:?}", oauth.standing());
    };
    assert_eq!(scopes, ["read", "write"]);
}
