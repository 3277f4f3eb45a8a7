//! Alerts as posts to a webhook: signed, tried again, in a bounded queue.
//!
//! While the webhook takes none, or few, those that it did not take are tried again one after the other,
//! with time between: one that takes a few a second has all of them in the end. Nothing else waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use mcpproxy_core::{Clock, Later};
use mcpproxy_hooks_remote::Signer;
use mcpproxy_mcp::Error;
use mcpproxy_mcp::dial::Dialer;
use mcpproxy_policy::settings::Alerts as Settings;
use serde_json::Value;
use tokio::sync::{Mutex, Notify, Semaphore, mpsc};
use tokio::time::{Instant, sleep_until};

use super::UnderWay;

/// Pauses before each further try. A webhook that is put up anew is away for minutes.
const PAUSES: [Duration; 6] = [
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(8),
    Duration::from_secs(30),
    Duration::from_mins(2),
    Duration::from_mins(10),
];
/// How long nothing else is tried again after a try that failed.
const APART: Duration = Duration::from_secs(2);
/// Alerts that are being sent or tried again at once; more wait.
const AT_ONCE: usize = 16;
/// How long a webhook may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// An alert and where it goes.
pub(super) type Post = (Arc<Settings>, Arc<Value>);

/// Posts to an address, and returns what it answers.
type Ask =
    Box<dyn Fn(Uri, HeaderMap, Bytes) -> Later<'static, Result<StatusCode, Error>> + Send + Sync>;

/// The way to the webhook.
pub(super) struct Webhook {
    ask: Ask,
    clock: Arc<dyn Clock>,
    failing: AtomicBool,
    /// Held by the one that is posted while the webhook fails.
    alone: Mutex<()>,
    /// Held by the one that is tried again.
    turn: Mutex<()>,
    /// Told when it takes alerts again.
    back: Notify,
    under_way: UnderWay,
}

/// An alert as it is posted.
struct Signed {
    uri: Uri,
    signer: Signer,
    /// The same with every try, so that whoever takes it can tell.
    id: String,
    body: Bytes,
}

/// Why an alert was not taken.
enum Untaken {
    /// It may be later.
    Yet(String),
    /// It never will be.
    Ever(String),
}

impl Webhook {
    pub(super) fn new(clock: Arc<dyn Clock>, under_way: UnderWay) -> Self {
        let dialer = Dialer::default();
        let ask: Ask = Box::new(move |uri, headers, body| {
            let dialer = dialer.clone();
            Box::pin(async move {
                let answer = dialer.send(Method::POST, &uri, headers, body).await?;
                Ok(answer.status())
            })
        });
        Self::asking(ask, clock, under_way)
    }

    fn asking(ask: Ask, clock: Arc<dyn Clock>, under_way: UnderWay) -> Self {
        Self {
            ask,
            clock,
            failing: AtomicBool::new(false),
            alone: Mutex::new(()),
            turn: Mutex::new(()),
            back: Notify::new(),
            under_way,
        }
    }

    /// Sends what comes, for as long as anything may come; ends when all of it was taken or given up.
    pub(super) async fn run(self: Arc<Self>, mut posts: mpsc::Receiver<Post>) {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        while let Some((settings, alert)) = posts.recv().await {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            let webhook = Arc::clone(&self);
            tokio::spawn(async move {
                webhook.send(&settings, &alert).await;
                webhook.under_way.fetch_sub(1, Ordering::Relaxed);
                drop(place);
            });
        }
        // Every place is free again when the last of them is done.
        let all = u32::try_from(AT_ONCE).unwrap_or(u32::MAX);
        drop(places.acquire_many(all).await);
    }

    async fn send(&self, settings: &Settings, alert: &Value) {
        let Some(address) = &settings.webhook_url else {
            return;
        };
        let (Ok(uri), Ok(signer)) = (
            address.expose().parse::<Uri>(),
            Signer::new(&settings.signing_keys),
        ) else {
            tracing::error!("alerts cannot be sent: `alerts.webhook_url` or a key cannot be used");
            return;
        };
        let id: [u8; 16] = mcpproxy_mcp::seal::random().unwrap_or_default();
        let post = Signed {
            uri,
            signer,
            id: format!("msg_{:032x}", u128::from_be_bytes(id)),
            body: Bytes::from(alert.to_string()),
        };
        let sent = match self.tried(&post).await {
            Err(Untaken::Yet(_)) => self.tried_again(&post).await,
            Err(Untaken::Ever(why)) => Err(why),
            Ok(()) => Ok(()),
        };
        if let Err(why) = sent {
            tracing::error!("an alert is lost, the webhook did not take it: {why}");
        }
    }

    /// Tries until it is taken or given up; one after the other, and not at once after one that failed.
    async fn tried_again(&self, post: &Signed) -> Result<(), String> {
        let mut turn = self.turn.lock().await;
        let (mut pauses, mut woken) = (PAUSES.iter(), None);
        loop {
            // Waited for from before the try: the webhook may be back by the time that it has failed.
            let back = self.back.notified();
            let why = match self.tried(post).await {
                Ok(()) => return Ok(()),
                Err(Untaken::Ever(why)) => return Err(why),
                Err(Untaken::Yet(why)) => why,
            };
            let spent: Option<Instant> = woken.take();
            let over = match spent {
                Some(over) => over,
                None => Instant::now() + *pauses.next().ok_or(why)?,
            };
            sleep_until(over.min(Instant::now() + APART)).await;
            drop(turn);
            tokio::select! {
                () = sleep_until(over) => {}
                // That it is back brings one try within a pause, and ends none.
                () = back, if spent.is_none() => woken = Some(over),
            }
            turn = self.turn.lock().await;
        }
    }

    /// Tries once; alone, while the webhook fails.
    async fn tried(&self, post: &Signed) -> Result<(), Untaken> {
        let alone = if self.failing.load(Ordering::Relaxed) {
            Some(self.alone.lock().await)
        } else {
            None
        };
        let asked = (self.ask)(post.uri.clone(), self.headers(post), post.body.clone());
        let tried = match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(status)) => judged(status),
            Ok(Err(_)) => Err(Untaken::Yet("it cannot be reached".to_owned())),
            Err(_) => Err(Untaken::Yet("it did not answer in time".to_owned())),
        };
        match &tried {
            Ok(()) => {
                if self.failing.swap(false, Ordering::Relaxed) {
                    self.back.notify_waiters();
                }
            }
            Err(Untaken::Yet(_)) => self.failing.store(true, Ordering::Relaxed),
            // It says nothing of others.
            Err(Untaken::Ever(_)) => {}
        }
        drop(alone);
        tried
    }

    fn headers(&self, post: &Signed) -> HeaderMap {
        let seconds = self.clock.wall().0 / 1000;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert("webhook-timestamp", HeaderValue::from(seconds));
        let signature = post.signer.sign(&post.id, seconds, &post.body);
        for (name, value) in [
            ("webhook-id", Some(&*post.id)),
            ("webhook-signature", signature.as_deref()),
        ] {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        headers
    }
}

/// Tells what an answer says of an alert. One that is refused today is refused in ten minutes as well,
/// unless it came too slowly or among too many.
fn judged(status: StatusCode) -> Result<(), Untaken> {
    let why = || format!("it answered {status}");
    match status {
        _ if status.is_success() => Ok(()),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Err(Untaken::Yet(why())),
        _ if status.is_client_error() => Err(Untaken::Ever(why())),
        _ => Err(Untaken::Yet(why())),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex as StdMutex;

    use mcpproxy_core::Secret;
    use mcpproxy_testkit::FixedClock;
    use serde_json::json;

    use super::*;

    /// More than are tried at once.
    const ALERTS: u64 = 20;

    /// Which alerts were taken, and how often one was posted.
    #[derive(Clone, Debug, Default)]
    struct Seen {
        taken: BTreeSet<u64>,
        posts: usize,
    }

    /// Sends alerts to a webhook that says what becomes of each, after some time; until all of them
    /// were taken or given up. There is no network: time stands still but for the pauses.
    async fn sent(
        answer: impl Fn(u64, Duration) -> Result<StatusCode, Error> + Send + Sync + 'static,
    ) -> Seen {
        let (seen, began) = (Arc::new(StdMutex::new(Seen::default())), Instant::now());
        let told = Arc::clone(&seen);
        let ask: Ask = Box::new(move |_, _, body| {
            let number: Value = serde_json::from_slice(&body).unwrap();
            let number = number["number"].as_u64().unwrap();
            let answer = answer(number, began.elapsed());
            let mut seen = told.lock().unwrap();
            seen.posts += 1;
            if matches!(answer, Ok(status) if status.is_success()) {
                seen.taken.insert(number);
            }
            Box::pin(std::future::ready(answer))
        });
        let settings = Arc::new(Settings {
            webhook_url: Some(Secret::new("http://127.0.0.1/alert")),
            ..Settings::default()
        });
        let under_way = UnderWay::default();
        let clock = Arc::new(FixedClock::default());
        let webhook = Webhook::asking(ask, clock, Arc::clone(&under_way));
        let (posts, received) = mpsc::channel(64);
        for number in 0..ALERTS {
            under_way.fetch_add(1, Ordering::Relaxed);
            let alert = Arc::new(json!({ "number": number }));
            posts.send((Arc::clone(&settings), alert)).await.unwrap();
        }
        drop(posts);
        Arc::new(webhook).run(received).await;
        assert_eq!(under_way.load(Ordering::Relaxed), 0);
        let seen = seen.lock().unwrap().clone();
        seen
    }

    fn all() -> BTreeSet<u64> {
        (0..ALERTS).collect()
    }

    fn away() -> Error {
        Error::Unreachable("it is put up anew".to_owned())
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
        assert_eq!(seen.await.taken, all());
        // The first is tried again after two minutes; no other waits for its own pause then.
        let took = began.elapsed();
        assert!(took < Duration::from_mins(3), "{took:?}");
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
        assert_eq!(seen.await.taken, all());
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
            assert_eq!(seen.taken.len() + 1, all().len(), "{status}");
            assert_eq!(seen.posts > all().len(), again, "{status}");
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
        assert_eq!(seen.await.taken.len() + 1, all().len());
        let last = *last.lock().unwrap();
        assert!(last < Duration::from_mins(1), "{last:?}");
    }
}
