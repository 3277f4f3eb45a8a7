//! Alerts as posts to a webhook: signed, tried again, in a bounded queue. While the webhook fails, one
//! alert at a time is tried, and the others wait, until it takes one again; nothing else waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, Uri};
use mcpproxy_core::Clock;
use mcpproxy_hooks_remote::Signer;
use mcpproxy_mcp::dial::Dialer;
use mcpproxy_policy::settings::Alerts as Settings;
use serde_json::Value;
use tokio::sync::{Mutex, Notify, Semaphore, mpsc};

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
/// Alerts that are being sent or tried again at once; more wait.
const AT_ONCE: usize = 16;
/// How long a webhook may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// An alert and where it goes.
pub(super) type Post = (Arc<Settings>, Arc<Value>);

/// The way to the webhook.
#[derive(Debug)]
pub(super) struct Webhook {
    dialer: Dialer,
    clock: Arc<dyn Clock>,
    failing: AtomicBool,
    /// Held by the one that tries while the webhook fails.
    turn: Mutex<()>,
    /// Told when it takes alerts again.
    back: Notify,
    under_way: UnderWay,
}

impl Webhook {
    pub(super) fn new(clock: Arc<dyn Clock>, under_way: UnderWay) -> Self {
        Self {
            dialer: Dialer::default(),
            clock,
            failing: AtomicBool::new(false),
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
        let body = Bytes::from(alert.to_string());
        let id: [u8; 16] = mcpproxy_mcp::seal::random().unwrap_or_default();
        let id = format!("msg_{:032x}", u128::from_be_bytes(id));
        let mut pauses = PAUSES.iter();
        loop {
            // Waited for from before the try: the webhook may be back by the time that it has failed.
            let back = self.back.notified();
            let Err(why) = self.tried(&uri, &signer, &id, &body).await else {
                return;
            };
            let Some(pause) = pauses.next() else {
                tracing::error!("an alert did not reach the webhook: {why}");
                return;
            };
            tokio::select! {
                () = tokio::time::sleep(*pause) => {}
                () = back => {}
            }
        }
    }

    /// Tries once; alone, while the webhook fails.
    async fn tried(
        &self,
        uri: &Uri,
        signer: &Signer,
        id: &str,
        body: &Bytes,
    ) -> Result<(), String> {
        let turn = if self.failing.load(Ordering::Relaxed) {
            Some(self.turn.lock().await)
        } else {
            None
        };
        let headers = self.headers(signer, id, body);
        let sent = self.dialer.send(Method::POST, uri, headers, body.clone());
        let tried = match tokio::time::timeout(PATIENCE, sent).await {
            Ok(Ok(answer)) if answer.status().is_success() => Ok(()),
            Ok(Ok(answer)) => Err(format!("it answered {}", answer.status())),
            Ok(Err(_)) => Err("it cannot be reached".to_owned()),
            Err(_) => Err("it did not answer in time".to_owned()),
        };
        let failed = self.failing.swap(tried.is_err(), Ordering::Relaxed);
        drop(turn);
        if failed && tried.is_ok() {
            self.back.notify_waiters();
        }
        tried
    }

    /// The id stays the same with every try, so that whoever takes it can tell.
    fn headers(&self, signer: &Signer, id: &str, body: &Bytes) -> HeaderMap {
        let seconds = self.clock.wall().0 / 1000;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert("webhook-timestamp", HeaderValue::from(seconds));
        let signature = signer.sign(id, seconds, body);
        for (name, value) in [
            ("webhook-id", Some(id)),
            ("webhook-signature", signature.as_deref()),
        ] {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        headers
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::{Secret, SystemClock};
    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_that_is_away_for_minutes_gets_what_it_missed_when_it_is_back() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = listener.local_addr().unwrap();
        drop(listener);
        let settings = Arc::new(Settings {
            webhook_url: Some(Secret::new(format!("http://{place}/alert"))),
            ..Settings::default()
        });
        let under_way = UnderWay::default();
        let clock = Arc::new(SystemClock::start());
        let webhook = Arc::new(Webhook::new(clock, Arc::clone(&under_way)));
        let (posts, received) = mpsc::channel(64);
        // More than are tried at once.
        for number in 0..20 {
            under_way.fetch_add(1, Ordering::Relaxed);
            let alert = Arc::new(json!({ "number": number }));
            posts.send((Arc::clone(&settings), alert)).await.unwrap();
        }
        drop(posts);
        let running = tokio::spawn(webhook.run(received));
        tokio::time::sleep(Duration::from_secs(90)).await;
        let listener = TcpListener::bind(place).await.unwrap();
        let back = Instant::now();
        for _ in 0..20 {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 4096];
            assert!(stream.read(&mut buffer).await.unwrap() > 0);
            let answer = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
            stream.write_all(answer).await.unwrap();
        }
        running.await.unwrap();
        assert_eq!(under_way.load(Ordering::Relaxed), 0);
        // The first is tried again after two minutes; no other waits for its own pause then.
        assert!(
            back.elapsed() < Duration::from_mins(3),
            "{:?}",
            back.elapsed()
        );
    }
}
