//! Sessions of one gateway, and of two that share what they know.

use std::time::Duration;

use mcpproxy_core::{Later, LiveStore as _};
use mcpproxy_testkit::{FixedClock, MemoryLive, Slow};
use tokio::sync::broadcast;

use super::table::{LINKS, SESSIONS};
use super::*;

fn sessions() -> (Arc<FixedClock>, Sessions) {
    let clock = Arc::new(FixedClock::default());
    (Arc::clone(&clock), Sessions::new(clock, None))
}

fn minutes(minutes: u64) -> Duration {
    Duration::from_mins(minutes)
}

/// Two gateways on one store.
struct Pair {
    clock: Arc<FixedClock>,
    store: MemoryLive,
    one: Sessions,
    other: Sessions,
    /// Tells the first gateway what ended at others.
    to_one: broadcast::Sender<Option<String>>,
}

/// Where word of logins that ended goes.
type Ended = broadcast::Sender<Option<String>>;

impl Pair {
    fn new() -> Self {
        Self::with_keys(["the key", "the key"])
    }

    fn with_keys([one, other]: [&str; 2]) -> Self {
        let clock = Arc::new(FixedClock::default());
        let store = MemoryLive::default();
        let [to_one, to_other] = [0, 1].map(|_| broadcast::Sender::new(4));
        let made = |key: &str, own: &Ended, to: &Ended| {
            let to = to.clone();
            let tell = move |login: String| -> Later<'static, ()> {
                let to = to.clone();
                Box::pin(async move { drop(to.send(Some(login))) })
            };
            let others = Others {
                store: Arc::new(store.clone()),
                key: Secret::new(key),
                tell: Arc::new(tell),
                ended: own.subscribe(),
            };
            Sessions::new(Arc::clone(&clock) as _, Some(others))
        };
        Self {
            one: made(one, &to_one, &to_other),
            other: made(other, &to_other, &to_one),
            clock,
            store,
            to_one,
        }
    }

    /// Begins a session at the first gateway.
    async fn login(&self) -> Secret {
        let key = Secret::new("the key");
        self.one.begin(Some(key)).await.unwrap()
    }
}

async fn knows(sessions: &Sessions, id: &Secret) -> bool {
    sessions.find(id.expose()).await.is_some()
}

#[tokio::test]
async fn a_session_ends_when_it_is_not_used_and_when_it_is_old() {
    for shared in [false, true] {
        let check = async |steps: &[Duration], expect: bool| {
            let (clock, first, second) = if shared {
                let pair = Pair::new();
                (pair.clock, pair.one, Some(pair.other))
            } else {
                let (clock, sessions) = sessions();
                (clock, sessions, None)
            };
            let id = first.begin(None).await.unwrap();
            let mut found = true;
            for (number, step) in steps.iter().enumerate() {
                clock.advance(*step);
                // Every other page is one of the other gateway.
                let asked = second.as_ref().filter(|_| number % 2 == 0);
                found = knows(asked.unwrap_or(&first), &id).await;
            }
            assert_eq!(found, expect, "{shared} {steps:?}");
        };
        check(&[minutes(119)], true).await;
        check(&[minutes(121)], false).await;
        check(&[minutes(119), minutes(119)], true).await;
        check(&[minutes(100); 7], true).await;
        check(&[minutes(100); 8], false).await;
    }
}

#[tokio::test]
async fn a_link_begins_one_session_and_only_soon() {
    let (clock, sessions) = sessions();
    let key = Secret::new("k");
    let link = sessions.link(Some(key.clone())).await.unwrap();
    let id = sessions.follow(link.expose()).await.unwrap().unwrap();
    let viewer = sessions.find(id.expose()).await.unwrap();
    assert_eq!(viewer.key(), Some(&key));
    assert!(sessions.follow(link.expose()).await.is_none());
    let late = sessions.link(None).await.unwrap();
    clock.advance(LINK);
    assert!(sessions.follow(late.expose()).await.is_none());
    assert!(sessions.follow("made up").await.is_none());
}

#[tokio::test]
async fn wrong_keys_are_counted_and_forgotten() {
    let (clock, sessions) = sessions();
    for _ in 0..ATTEMPTS {
        let attempt = sessions.may_try().await.unwrap();
        sessions.forgive(attempt).await;
    }
    for _ in 0..ATTEMPTS {
        assert!(sessions.may_try().await.is_some());
    }
    assert!(sessions.may_try().await.is_none());
    clock.advance(WINDOW);
    assert!(sessions.may_try().await.is_some());
}

#[tokio::test]
async fn what_is_held_is_bounded_and_the_oldest_goes() {
    let (clock, sessions) = sessions();
    let first = sessions.begin(None).await.unwrap();
    let link = sessions.link(None).await.unwrap();
    for _ in 0..SESSIONS {
        clock.advance(Duration::from_millis(1));
        sessions.begin(None).await.unwrap();
        sessions.link(None).await.unwrap();
    }
    assert!(!knows(&sessions, &first).await);
    assert!(sessions.follow(link.expose()).await.is_none());
    assert_eq!(sessions.table.counts(), (SESSIONS, LINKS));
}

#[tokio::test]
async fn a_session_that_makes_room_ends_at_every_gateway() {
    let pair = Pair::new();
    let first = pair.login().await;
    assert!(knows(&pair.other, &first).await);
    for _ in 0..SESSIONS {
        pair.clock.advance(Duration::from_millis(1));
        pair.login().await;
    }
    assert!(!knows(&pair.other, &first).await);
}

#[tokio::test]
async fn a_token_is_of_its_session_alone() {
    let (_, sessions) = sessions();
    let mut viewers = Vec::new();
    for _ in 0..2 {
        let id = sessions.begin(None).await.unwrap();
        viewers.push(sessions.find(id.expose()).await.unwrap());
    }
    let [one, other] = viewers.try_into().unwrap();
    assert!(one.is_token(one.token()));
    assert!(!one.is_token(other.token()));
    assert!(!one.is_token(""));
}

/// Regression for #8: a login was known only at the gateway where it was made.
#[tokio::test]
async fn a_login_is_good_at_every_gateway_and_its_end_holds_at_all() {
    // Where it is ended, and whether the store is away when the first gateway is asked.
    for (ended_elsewhere, lost) in [(false, false), (true, false), (true, true)] {
        let case = format!("{ended_elsewhere} {lost}");
        let pair = Pair::new();
        let id = pair.login().await;
        let here = pair.one.find(id.expose()).await.unwrap();
        let there = pair.other.find(id.expose()).await.unwrap();
        assert_eq!(here.token(), there.token(), "{case}");
        assert_eq!(there.key(), Some(&Secret::new("the key")), "{case}");
        if ended_elsewhere {
            pair.other.end(&there).await;
        } else {
            pair.one.end(&here).await;
        }
        pair.store.lose(lost);
        assert!(!knows(&pair.one, &id).await, "{case}");
        assert!(!knows(&pair.other, &id).await, "{case}");
        // A page that was being answered brings nothing back.
        pair.store.lose(false);
        pair.one.unlock(&here, Secret::new("the key")).await;
        pair.other.tell(&there, Notice::Done(String::new())).await;
        assert!(!knows(&pair.one, &id).await, "{case}");
    }
}

#[tokio::test]
async fn the_key_that_was_shown_is_not_kept_and_counts_at_every_gateway() {
    let pair = Pair::new();
    let key = Some(Secret::new("the key"));
    let link = pair.one.link(key.clone()).await.unwrap();
    let followed = pair.other.follow(link.expose()).await.unwrap().unwrap();
    for id in [pair.login().await, followed] {
        let there = pair.other.find(id.expose()).await.unwrap();
        assert_eq!(there.key(), key.as_ref());
    }
    // One that began without the key, and showed it at the other gateway.
    let id = pair.one.begin(None).await.unwrap();
    let there = pair.other.find(id.expose()).await.unwrap();
    assert_eq!(there.key(), None);
    assert!(pair.other.unlock(&there, Secret::new("the key")).await);
    let here = pair.one.find(id.expose()).await.unwrap();
    assert_eq!(here.key(), key.as_ref());
    let kept = format!("{:?}", pair.store);
    let bytes = format!("{:?}", "the key".as_bytes());
    let bytes = bytes.trim_matches(['[', ']']);
    assert!(kept.contains("login/") && !kept.contains(bytes), "{kept}");
}

/// Regression for #8: a login outlived the key that it was made with.
#[tokio::test]
async fn a_login_and_a_link_are_good_only_with_the_key_that_they_began_with() {
    for key in [None, Some(Secret::new("the key"))] {
        let pair = Pair::with_keys(["the key", "another"]);
        let id = pair.one.begin(key.clone()).await.unwrap();
        assert!(!knows(&pair.other, &id).await, "{key:?}");
        assert!(knows(&pair.one, &id).await, "{key:?}");
        let link = pair.one.link(key.clone()).await.unwrap();
        assert!(pair.other.follow(link.expose()).await.is_none(), "{key:?}");
        assert!(pair.one.follow(link.expose()).await.is_some(), "{key:?}");
    }
}

#[tokio::test]
async fn a_link_is_used_up_once_whichever_gateway_is_asked() {
    let pair = Pair::new();
    let link = pair.one.link(None).await.unwrap();
    let (one, other) = (
        pair.one.follow(link.expose()),
        pair.other.follow(link.expose()),
    );
    let (one, other) = tokio::join!(one, other);
    assert!(one.is_some() != other.is_some());
    let late = pair.one.link(None).await.unwrap();
    pair.clock.advance(LINK);
    assert!(pair.other.follow(late.expose()).await.is_none());
    // One that the store knows is not good while nobody can say whether it was used.
    let told = pair.one.link(None).await.unwrap();
    pair.store.lose(true);
    assert!(pair.one.follow(told.expose()).await.is_none());
    // One that the store was never told of is good at its own gateway, once.
    let own = pair.one.link(None).await.unwrap();
    assert!(pair.other.follow(own.expose()).await.is_none());
    assert!(pair.one.follow(own.expose()).await.is_some());
    pair.store.lose(false);
    assert!(pair.one.follow(own.expose()).await.is_none());
    assert!(pair.other.follow(told.expose()).await.is_some());
}

#[tokio::test]
async fn while_the_store_is_away_each_knows_what_began_there_and_tells_it_later() {
    let pair = Pair::new();
    let before = pair.login().await;
    assert!(knows(&pair.other, &before).await);
    pair.store.lose(true);
    let meanwhile = pair.login().await;
    for id in [&before, &meanwhile] {
        assert!(knows(&pair.one, id).await);
        assert!(!knows(&pair.other, id).await);
    }
    pair.store.lose(false);
    assert!(knows(&pair.other, &before).await);
    assert!(!knows(&pair.other, &meanwhile).await);
    assert!(knows(&pair.one, &meanwhile).await);
    assert!(knows(&pair.other, &meanwhile).await);
    // What the store forgot has ended: it cannot say that nobody logged out.
    pair.store.forget();
    assert!(!knows(&pair.one, &before).await);
    assert!(!knows(&pair.other, &before).await);
}

#[tokio::test(start_paused = true)]
async fn a_logout_while_the_store_is_away_holds_here_at_once_and_elsewhere_later() {
    let pair = Pair::new();
    let id = pair.login().await;
    let here = pair.one.find(id.expose()).await.unwrap();
    pair.store.lose(true);
    pair.one.end(&here).await;
    assert!(!knows(&pair.one, &id).await);
    pair.store.lose(false);
    assert!(!knows(&pair.one, &id).await, "the store has it still");
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!knows(&pair.other, &id).await);
}

/// Regression for #8: a login that the store kept and did not confirm could be written back later.
#[tokio::test]
async fn a_login_that_the_store_did_not_confirm_ends_as_any_other() {
    let pair = Pair::new();
    pair.store.mute(true);
    let id = pair.login().await;
    pair.store.mute(false);
    assert!(knows(&pair.one, &id).await);
    // It was ended elsewhere, and word of that was lost.
    pair.store.forget();
    assert!(!knows(&pair.one, &id).await);
    assert!(!knows(&pair.other, &id).await);
}

/// Regression for #8: a page that tells others of a login while it ends brought it back.
#[tokio::test]
async fn a_login_that_ends_while_others_are_told_of_it_stays_ended() {
    let pair = Pair::new();
    pair.store.lose(true);
    let id = pair.login().await;
    let viewer = pair.one.find(id.expose()).await.unwrap();
    pair.store.lose(false);
    pair.store.slow(Slow::Puts);
    let ended = async {
        tokio::task::yield_now().await;
        pair.one.end(&viewer).await;
        pair.store.slow(Slow::Nothing);
    };
    let (found, ()) = tokio::join!(pair.one.find(id.expose()), ended);
    assert!(found.is_none());
    assert!(!knows(&pair.one, &id).await);
    assert!(!knows(&pair.other, &id).await);
}

/// Regression for #8: a logout was given up with the connection that asked for it.
#[tokio::test(start_paused = true)]
async fn a_logout_holds_although_nobody_waits_for_the_answer() {
    let pair = Pair::new();
    let id = pair.login().await;
    let viewer = pair.one.find(id.expose()).await.unwrap();
    pair.store.slow(Slow::Removals);
    let ended = tokio::time::timeout(Duration::from_secs(1), pair.one.end(&viewer));
    assert!(ended.await.is_err(), "the store was not slow");
    assert!(knows(&pair.other, &id).await);
    pair.store.slow(Slow::Nothing);
    // Others are told when it is done.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!knows(&pair.other, &id).await);
}

#[tokio::test]
async fn wrong_keys_are_counted_together_and_by_each_while_the_store_is_away() {
    let pair = Pair::new();
    for number in 0..ATTEMPTS {
        let tried = if number % 2 == 0 {
            &pair.one
        } else {
            &pair.other
        };
        assert!(tried.may_try().await.is_some(), "{number}");
    }
    for sessions in [&pair.one, &pair.other] {
        assert!(sessions.may_try().await.is_none());
    }
    // Each has counted half of them.
    pair.store.lose(true);
    for sessions in [&pair.one, &pair.other] {
        for _ in 0..ATTEMPTS / 2 {
            assert!(sessions.may_try().await.is_some());
        }
        assert!(sessions.may_try().await.is_none());
    }
    // A right one takes nothing from anybody.
    let pair = Pair::new();
    for _ in 0..2 * ATTEMPTS {
        let attempt = pair.one.may_try().await.unwrap();
        pair.one.forgive(attempt).await;
    }
    assert!(pair.other.may_try().await.is_some());
}

#[tokio::test]
async fn word_for_the_next_page_is_found_at_any_gateway_once() {
    let pair = Pair::new();
    let id = pair.login().await;
    let viewer = pair.one.find(id.expose()).await.unwrap();
    let failed = Notice::Failed(Error::Refused {
        status: http::StatusCode::FORBIDDEN,
        message: "no".to_owned(),
        hint: Some("try".to_owned()),
    });
    for (notice, lost) in [
        (Notice::Done("done".to_owned()), false),
        (failed.clone(), false),
        (failed, true),
    ] {
        pair.store.lose(lost);
        pair.one.tell(&viewer, notice.clone()).await;
        let asked = if lost { &pair.one } else { &pair.other };
        assert_eq!(asked.notice(&viewer).await, Some(notice));
        assert_eq!(asked.notice(&viewer).await, None);
    }
}

#[tokio::test]
async fn a_gateway_that_missed_what_ended_asks_the_store_about_all() {
    let pair = Pair::new();
    let mut ids = Vec::new();
    for _ in 0..9 {
        ids.push(pair.login().await);
    }
    for id in &ids[..8] {
        let there = pair.other.find(id.expose()).await.unwrap();
        pair.other.end(&there).await;
    }
    // More than may wait ended; the store is away, and so none of those it knew is good.
    pair.store.lose(true);
    for id in &ids {
        assert!(!knows(&pair.one, id).await);
    }
    pair.store.lose(false);
    assert!(knows(&pair.one, &ids[8]).await);
    // What the store has said since is good again while it is away.
    pair.store.lose(true);
    assert!(knows(&pair.one, &ids[8]).await);
}

/// Regression for #8: a logout at another gateway was not heard while the way to the store was broken.
#[tokio::test]
async fn who_heard_nobody_for_a_while_asks_the_store_about_all() {
    let pair = Pair::new();
    let (ended, goes_on) = (pair.login().await, pair.login().await);
    // The store takes away a session, and word of that is lost.
    let viewer = pair.one.find(ended.expose()).await.unwrap();
    let name = format!("login/{}", URL_SAFE_NO_PAD.encode(viewer.hash));
    assert!(pair.store.remove(&name).await.unwrap());
    pair.to_one.send(None).unwrap();
    pair.store.lose(true);
    for id in [&ended, &goes_on] {
        assert!(!knows(&pair.one, id).await);
    }
    // One that the store was never told of began here, and nobody else can have ended it.
    let own = pair.login().await;
    pair.to_one.send(None).unwrap();
    assert!(knows(&pair.one, &own).await);
    pair.store.lose(false);
    assert!(!knows(&pair.one, &ended).await);
    assert!(knows(&pair.one, &goes_on).await);
    pair.store.lose(true);
    assert!(knows(&pair.one, &goes_on).await);
    // Nor is there a doubt about one that began afterwards.
    pair.store.lose(false);
    pair.to_one.send(None).unwrap();
    let late = pair.login().await;
    pair.store.lose(true);
    assert!(knows(&pair.one, &late).await);
    assert!(!knows(&pair.one, &goes_on).await);
}
