//! Alerts and a webhook that takes all, some or none of them.

use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;

use mcpproxy_core::Secret;
use mcpproxy_policy::settings::Alerts as Settings;
use mcpproxy_testkit::FixedClock;
use serde_json::{Value, json};

use super::*;

/// More than are tried at once.
const ALERTS: u64 = 20;

/// What was posted and when, and what became of it.
#[derive(Clone, Debug, Default)]
struct Seen {
    posts: Vec<(u64, Duration, bool)>,
    lost: u64,
}

impl Seen {
    /// Returns which alerts were taken, in the order in which they were.
    fn in_order(&self) -> Vec<u64> {
        let taken = self.posts.iter().filter(|(.., taken)| *taken);
        taken.map(|(number, ..)| *number).collect()
    }

    fn taken(&self) -> BTreeSet<u64> {
        self.in_order().into_iter().collect()
    }

    /// Returns when an alert was posted.
    fn of(&self, wanted: u64) -> Vec<Duration> {
        let posts = self.posts.iter().filter(|(number, ..)| *number == wanted);
        posts.map(|(_, at, _)| *at).collect()
    }
}

/// Sends alerts to a webhook that says what becomes of each, until all of them were taken or given up.
async fn sent(
    answer: impl Fn(u64, Duration) -> Result<StatusCode, Error> + Send + Sync + 'static,
) -> Seen {
    sent_at(&[(Duration::ZERO, ALERTS)], answer).await
}

/// The same with so many at each of some times. There is no network: time stands still but for pauses.
async fn sent_at(
    times: &[(Duration, u64)],
    answer: impl Fn(u64, Duration) -> Result<StatusCode, Error> + Send + Sync + 'static,
) -> Seen {
    let (seen, began) = (Arc::new(StdMutex::new(Seen::default())), Instant::now());
    let told = Arc::clone(&seen);
    let ask: Ask = Box::new(move |_, _, body| {
        let number: Value = serde_json::from_slice(&body).unwrap();
        let number = number["number"].as_u64().unwrap();
        let answer = answer(number, began.elapsed());
        let taken = matches!(answer, Ok(status) if status.is_success());
        let post = (number, began.elapsed(), taken);
        told.lock().unwrap().posts.push(post);
        Box::pin(std::future::ready(answer))
    });
    let settings = Arc::new(Settings {
        webhook_url: Some(Secret::new("http://127.0.0.1/alert")),
        ..Settings::default()
    });
    let (under_way, lost) = (UnderWay::default(), Lost::default());
    let clock = Arc::new(FixedClock::default());
    let counts = (Arc::clone(&under_way), Arc::clone(&lost));
    let webhook = Arc::new(Webhook::asking(ask, clock, counts));
    let (posts, received) = mpsc::channel(64);
    let running = tokio::spawn(webhook.run(received));
    let mut number = 0;
    for (at, alerts) in times {
        sleep_until(began + *at).await;
        for _ in 0..*alerts {
            under_way.fetch_add(1, Ordering::Relaxed);
            let post = Post {
                settings: Arc::clone(&settings),
                alert: Arc::new(json!({ "number": number })),
                made: Instant::now(),
            };
            posts.send(post).await.unwrap();
            number += 1;
        }
    }
    drop(posts);
    running.await.unwrap();
    assert_eq!(under_way.load(Ordering::Relaxed), 0);
    let mut seen = seen.lock().unwrap().clone();
    seen.lost = lost.load(Ordering::Relaxed);
    // What is not taken is lost, and counted.
    let taken = u64::try_from(seen.taken().len()).unwrap();
    assert_eq!(taken + seen.lost, number);
    seen
}

fn all() -> BTreeSet<u64> {
    (0..ALERTS).collect()
}

/// One that is away until some time.
fn until(back: Duration, now: Duration) -> Result<StatusCode, Error> {
    if now < back {
        return Err(away());
    }
    Ok(StatusCode::OK)
}

fn away() -> Error {
    Error::Unreachable("it is put up anew".to_owned())
}

/// Regression for #8: an address may say who asks, and nobody was told.
#[test]
fn who_asks_is_told_as_the_address_says() {
    let check = |address: &str, expect: Option<&str>| {
        let found = login(&address.parse().unwrap());
        let found = found.map(|value| {
            assert!(value.is_sensitive());
            let value = value
                .to_str()
                .unwrap()
                .strip_prefix("Basic ")
                .unwrap()
                .to_owned();
            String::from_utf8(BASE64.decode(value).unwrap()).unwrap()
        });
        assert_eq!(found.as_deref(), expect, "{address}");
    };
    check("http://127.0.0.1/alert", None);
    check("http://me:word@127.0.0.1:8080/alert", Some("me:word"));
    check("https://me@host/", Some("me"));
    check("https://me:a%40b%25%zz%@host/", Some("me:a@b%%zz%"));
}

#[tokio::test(start_paused = true)]
async fn one_that_is_away_for_minutes_gets_what_it_missed_when_it_is_back() {
    let began = Instant::now();
    let seen = sent(|_, now| {
        if now < Duration::from_secs(90) {
            Err(away())
        } else {
            Ok(StatusCode::NO_CONTENT)
        }
    });
    assert_eq!(seen.await.taken(), all());
    // Each is tried again after half a minute at most.
    let took = began.elapsed();
    assert!(took < Duration::from_mins(2), "{took:?}");
}

/// Regression for #8: whoever was told that the webhook is back spent a try on it.
#[tokio::test(start_paused = true)]
async fn one_that_takes_few_at_a_time_gets_all() {
    let began = Instant::now();
    let taken = StdMutex::new(BTreeSet::new());
    let seen = sent(move |_, now| {
        if taken.lock().unwrap().insert(now.as_secs()) {
            Ok(StatusCode::OK)
        } else {
            Ok(StatusCode::TOO_MANY_REQUESTS)
        }
    });
    assert_eq!(seen.await.taken(), all());
    let took = began.elapsed();
    assert!(took < Duration::from_mins(1), "{took:?}");
}

/// Regression for #8: a post that is always refused held a place for a quarter of an hour.
#[tokio::test(start_paused = true)]
async fn one_that_refuses_is_not_asked_again() {
    let check = async |status: u16, again: bool| {
        let status = StatusCode::from_u16(status).unwrap();
        let answer = move |number| if number == 0 { status } else { StatusCode::OK };
        let seen = sent(move |number, _| Ok(answer(number))).await;
        assert_eq!(seen.taken().len() + 1, all().len(), "{status}");
        assert_eq!(seen.posts.len() > all().len(), again, "{status}");
    };
    for status in [400, 401, 404, 410, 413, 422] {
        check(status, false).await;
    }
    for status in [302, 408, 429, 500, 503] {
        check(status, true).await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_it_never_takes_holds_up_no_other() {
    let last = Arc::new(StdMutex::new(Duration::ZERO));
    let noted = Arc::clone(&last);
    let seen = sent(move |number, now| {
        // All are away at first, so that the others wait behind it.
        if number == 0 || now < Duration::from_secs(1) {
            return Err(away());
        }
        *noted.lock().unwrap() = now;
        Ok(StatusCode::OK)
    });
    assert_eq!(seen.await.taken().len() + 1, all().len());
    let last = *last.lock().unwrap();
    assert!(last < Duration::from_mins(1), "{last:?}");
}

/// Regression for #8: those that waited held the places, so that sixteen of them kept any other from its
/// first try, and all of them waited for their own pauses after the webhook was back.
#[tokio::test(start_paused = true)]
async fn a_new_one_is_posted_at_once_however_many_wait() {
    let minute = Duration::from_mins(1);
    let back = Duration::from_secs(200);
    let times = [(Duration::ZERO, 100), (minute, 1)];
    let seen = sent_at(&times, move |_, now| until(back, now));
    let seen = seen.await;
    assert_eq!(seen.of(100)[0].as_secs(), minute.as_secs());
    assert_eq!(seen.lost, 0);
    let last = seen.posts.last().unwrap().1;
    assert!(last < back + Duration::from_secs(5), "{last:?}");
    // Oldest first, but for the one that found that the webhook is back.
    let order = seen.in_order();
    assert!(order[1..].is_sorted(), "{order:?}");
    // While it was away it was asked about once a second.
    let tries = seen.posts.iter().filter(|(_, at, _)| *at < back).count();
    assert!(tries < 101 + 210, "{tries}");
}

#[tokio::test(start_paused = true)]
async fn a_new_one_that_is_taken_brings_the_others_soon() {
    let (wait, news) = (Duration::from_secs(50), Duration::from_secs(51));
    let times = [(Duration::ZERO, 3), (news, 1)];
    let seen = sent_at(&times, move |_, now| until(wait, now));
    let seen = seen.await;
    assert_eq!(seen.in_order(), [3, 0, 1, 2]);
    assert_eq!(seen.posts.last().unwrap().1.as_secs(), news.as_secs());
}

/// Regression for #8: of alerts that were made together the first sixteen were given up while the
/// others only then began.
#[tokio::test(start_paused = true)]
async fn each_is_given_up_thirteen_minutes_after_it_was_made() {
    let later = Duration::from_mins(5);
    let began = Instant::now();
    let times = [(Duration::ZERO, 40), (later, 1)];
    let seen = sent_at(&times, |_, _| Err(away())).await;
    assert_eq!(seen.lost, 41);
    let took = began.elapsed();
    assert_eq!(took.as_secs(), (later + GIVEN_UP).as_secs());
    let of_the_first = |at: &Duration| *at <= GIVEN_UP;
    assert!((0..40).all(|number| seen.of(number).iter().all(of_the_first)));
    assert!((0..40).all(|number| seen.of(number).first() == Some(&Duration::ZERO)));
}

#[tokio::test(start_paused = true)]
async fn what_is_too_much_to_wait_had_its_try_and_is_lost() {
    let back = Duration::from_mins(1);
    let many = u64::try_from(WAITING).unwrap();
    let times = [(Duration::ZERO, many + 7)];
    let seen = sent_at(&times, move |_, now| until(back, now));
    let seen = seen.await;
    assert_eq!(seen.lost, 7);
    assert!((0..many + 7).all(|number| seen.of(number).first() == Some(&Duration::ZERO)));
}

/// Of a webhook that never takes some, and others, there is no end of tries and no crowd of them.
#[tokio::test(start_paused = true)]
async fn those_that_are_never_taken_keep_nobody_waiting() {
    let times: Vec<_> = (0..60).map(|at| (Duration::from_secs(at * 5), 2)).collect();
    let seen = sent_at(&times, |number, now| {
        if number % 2 == 0 || now < Duration::from_secs(30) {
            return Ok(StatusCode::SERVICE_UNAVAILABLE);
        }
        Ok(StatusCode::OK)
    });
    let seen = seen.await;
    let taken = seen.posts.iter().filter(|(.., taken)| *taken);
    for (number, at, _) in taken {
        let made = Duration::from_secs(number / 2 * 5);
        assert!(*at < made + Duration::from_mins(1), "{number} {at:?}");
    }
    assert_eq!(seen.lost, 60);
    let most = (0..120).map(|number| seen.of(number).len()).max().unwrap();
    assert!(most < 64, "{most}");
}
