//! Connections that are used again, and those that must not be.

use http::{HeaderMap, HeaderValue, Method};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::*;
use crate::body::read_bounded;
use crate::dial::Dialer;

/// An upstream that answers each request with the number of the connection that it came on.
struct Numbered {
    uri: Uri,
    /// The heads of the requests that came.
    requests: mpsc::UnboundedReceiver<String>,
}

/// What an upstream does once it has answered.
#[derive(Clone, Copy)]
enum Then {
    Waits,
    Closes,
    /// It takes the next request and closes without an answer.
    TakesAndCloses,
}

impl Numbered {
    async fn start(headers: &'static str, then: Then) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let (noted, requests) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            for number in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, number, headers, then, noted.clone()));
            }
        });
        let uri = uri.parse().unwrap();
        Self { uri, requests }
    }

    /// Sends a request and returns the number of its connection.
    async fn ask(&self, dialer: &Dialer) -> Result<String, crate::Error> {
        let sent = dialer.send(Method::POST, &self.uri, HeaderMap::new(), Bytes::from("x"));
        let body = sent.await?.into_body();
        let body = read_bounded(body, 100, Duration::from_secs(5)).await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }
}

async fn serve(
    mut stream: TcpStream,
    number: u32,
    headers: &str,
    then: Then,
    noted: mpsc::UnboundedSender<String>,
) {
    let mut buffer = [0; 1024];
    for turn in 0.. {
        let read = stream.read(&mut buffer).await.unwrap_or(0);
        if read == 0 {
            return;
        }
        noted
            .send(String::from_utf8_lossy(&buffer[..read]).into_owned())
            .unwrap();
        if turn == 1 && matches!(then, Then::TakesAndCloses) {
            return;
        }
        let body = number.to_string();
        let length = body.len();
        let answer = format!("HTTP/1.1 200 OK\r\n{headers}content-length: {length}\r\n\r\n{body}");
        stream.write_all(answer.as_bytes()).await.unwrap();
        if matches!(then, Then::Closes) {
            return;
        }
    }
}

fn waiting(dialer: &Dialer) -> usize {
    dialer.pool.lock().idle.values().map(Vec::len).sum()
}

#[tokio::test]
async fn a_connection_is_used_again_within_its_time() {
    async fn check(headers: &'static str, pause: u64, expect: &str) {
        tokio::time::resume();
        let (dialer, upstream) = (
            Dialer::default(),
            Numbered::start(headers, Then::Waits).await,
        );
        assert_eq!(upstream.ask(&dialer).await.unwrap(), "0");
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(pause)).await;
        tokio::time::resume();
        let second = upstream.ask(&dialer).await.unwrap();
        assert_eq!(second, expect, "{headers} after {pause} s");
        tokio::time::pause();
    }
    tokio::time::pause();
    check("", 0, "0").await;
    check("", 10, "0").await;
    check("", 16, "1").await;
    check("keep-alive: timeout=5, max=100\r\n", 2, "0").await;
    check("keep-alive: timeout=5, max=100\r\n", 4, "1").await;
    check("keep-alive: timeout=600\r\n", 16, "1").await;
}

#[tokio::test]
async fn a_connection_that_was_closed_is_thrown_away_at_once() {
    let dialer = Dialer::default();
    let upstream = Numbered::start("", Then::Closes).await;
    for expect in ["0", "1", "2"] {
        assert_eq!(upstream.ask(&dialer).await.unwrap(), expect);
        let closed = || {
            let pool = dialer.pool.lock();
            let mut all = pool.idle.values().flatten();
            all.all(|(_, sender)| sender.is_closed())
        };
        while !closed() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let origin = origin(&upstream.uri).unwrap();
        assert!(dialer.pool.take(&origin).is_none());
        assert_eq!(waiting(&dialer), 0);
    }
}

/// A request that left may have been acted on, so that it must not be sent twice.
#[tokio::test]
async fn what_was_sent_is_not_sent_again() {
    let dialer = Dialer::default();
    let mut upstream = Numbered::start("", Then::TakesAndCloses).await;
    assert_eq!(upstream.ask(&dialer).await.unwrap(), "0");
    let lost = upstream.ask(&dialer).await;
    assert!(matches!(lost, Err(crate::Error::Transport(_))), "{lost:?}");
    assert_eq!(upstream.ask(&dialer).await.unwrap(), "1");
    upstream.requests.close();
    let mut came = 0;
    while upstream.requests.recv().await.is_some() {
        came += 1;
    }
    assert_eq!(came, 3);
}

#[tokio::test]
async fn connections_that_wait_are_closed_after_a_while() {
    let dialer = Dialer::default();
    let upstream = Numbered::start("", Then::Waits).await;
    upstream.ask(&dialer).await.unwrap();
    assert_eq!(waiting(&dialer), 1);
    assert!(dialer.pool.prune(Instant::now()));
    assert!(!dialer.pool.prune(Instant::now() + IDLE));
    assert_eq!(waiting(&dialer), 0);
}

#[test]
fn an_upstream_says_how_long_it_waits() {
    let check = |said: Option<&'static str>, expect: u64| {
        let mut headers = HeaderMap::new();
        if let Some(said) = said {
            headers.insert("keep-alive", HeaderValue::from_static(said));
        }
        assert_eq!(idle(&headers), Duration::from_secs(expect), "{said:?}");
    };
    check(None, 15);
    check(Some("timeout=5"), 4);
    check(Some("max=10, timeout=5"), 4);
    check(Some("timeout=0"), 0);
    check(Some("timeout=3600"), 15);
    check(Some("timeout=soon"), 15);
}
