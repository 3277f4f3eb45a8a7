//! One message to the upstream and what comes back for it, over both HTTP transports.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use http_body_util::BodyExt as _;
use mcpproxy_mcp::body::{discard, read_bounded};
use mcpproxy_mcp::dial::Received;
use mcpproxy_mcp::era::UPSTREAM_FAILED;
use mcpproxy_mcp::sse::{self, Decoder, Event};
use mcpproxy_mcp::{Error, compose};
use mcpproxy_text::{self as text, Limits};
use tokio::time::{sleep, timeout};

use super::link::{Link, Message};
use crate::proxy::attend::Lost;
use crate::proxy::pump::ADDRESSED;

/// Largest answer that is taken: as large as what is sent.
const LARGEST: usize = ADDRESSED;
/// How long a body may take once its head is there.
const BODY: Duration = Duration::from_mins(10);
/// How long the upstream may take to name the address for messages.
const ENDPOINT: Duration = Duration::from_secs(10);
/// How often a stream that breaks off before its answer is taken up again.
const RESUMED: usize = 100;
/// Bounds of the wait before a stream is taken up again, in milliseconds.
const RETRY: (u64, u64) = (100, 5_000);

impl Link {
    /// Sends a message and gives the client what comes back for it.
    pub(super) async fn exchange(self: Arc<Self>, message: Message) {
        if let Err(fault) = self.attempt(&message).await {
            let first = !self.state().reached;
            for id in &message.ids {
                let text = format!("the upstream failed: {fault}");
                self.give(&compose::error(Some(id), UPSTREAM_FAILED, &text, None))
                    .await;
            }
            if first && matches!(fault, Error::Unreachable(_)) {
                self.lost(Lost::Unreachable);
            }
        }
    }

    async fn attempt(self: &Arc<Self>, message: &Message) -> Result<(), Error> {
        let older = self.state().endpoint.is_some();
        let response = self.post(message).await?;
        self.heard(&response);
        if older {
            return accepted(response).await;
        }
        // An upstream of the older transport takes no message at this address.
        let refused = matches!(
            response.status(),
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
        );
        if message.initialize && refused && self.older().await.is_ok() {
            return accepted(self.post(message).await?).await;
        }
        if is(&response, "text/event-stream") {
            self.streamed(message, response).await?;
        } else if message.ids.is_empty() {
            accepted(response).await?;
        } else {
            self.plain(message, response).await?;
        }
        if message.initialized {
            self.overhear();
        }
        Ok(())
    }

    async fn plain(&self, message: &Message, response: Response<Received>) -> Result<(), Error> {
        let status = response.status();
        if !is(&response, "application/json") {
            discard(response.into_body(), BODY).await;
            let status = status.as_u16();
            return Err(Error::Status {
                status,
                authenticate: None,
            });
        }
        let body = read_bounded(response.into_body(), LARGEST, BODY).await?;
        // A body with an error's status may be no message at all.
        let whole = text::check(&body, Limits::default());
        if !status.is_success() && whole.is_ok_and(|body| text::member(body, "jsonrpc").is_none()) {
            let status = status.as_u16();
            return Err(Error::Status {
                status,
                authenticate: None,
            });
        }
        self.take(message, &body).await;
        Ok(())
    }

    async fn take(&self, message: &Message, answer: &[u8]) {
        if message.initialize {
            self.learn(answer);
        }
        self.give(answer).await;
    }

    /// Reads streams until every request of the message is answered.
    async fn streamed(&self, message: &Message, response: Response<Received>) -> Result<(), Error> {
        let mut open = message.ids.clone();
        let mut stream = Stream::new(response);
        for _ in 0..RESUMED {
            while let Some(event) = stream.next().await? {
                open.retain(|id| !answers(&event.data, id));
                if !event.data.is_empty() {
                    self.take(message, &event.data).await;
                }
            }
            let Some(last) = stream.last.take().filter(|_| !open.is_empty()) else {
                break;
            };
            sleep(stream.retry()).await;
            stream = Stream::new(self.stream(Some(&last)).await?);
        }
        if open.is_empty() {
            Ok(())
        } else {
            Err(Error::Closed)
        }
    }

    /// Listens to what the upstream says outside any request; one that has no such stream is left
    /// in peace.
    fn overhear(self: &Arc<Self>) {
        let weak = Arc::downgrade(self);
        let task = tokio::spawn(listen(weak));
        self.state().listening.push(task.abort_handle());
    }

    /// Opens the stream of the older transport, which brings everything.
    async fn older(self: &Arc<Self>) -> Result<(), Error> {
        let response = self.stream(None).await?;
        if !is(&response, "text/event-stream") {
            return Err(Error::Closed);
        }
        let mut stream = Stream::new(response);
        let named = async {
            while let Some(event) = stream.next().await? {
                if event.name == "endpoint" {
                    let named = String::from_utf8_lossy(&event.data).trim().to_owned();
                    return sse::endpoint(self.base(), &named);
                }
            }
            Err(Error::Closed)
        };
        let endpoint = timeout(ENDPOINT, named)
            .await
            .map_err(|_| Error::TimedOut)??;
        let weak = Arc::downgrade(self);
        let task = tokio::spawn(bring(weak, stream));
        let mut state = self.state();
        state.endpoint = Some(endpoint);
        state.listening.push(task.abort_handle());
        Ok(())
    }
}

/// Gives the client everything that the stream of the older transport brings.
async fn bring(link: Weak<Link>, mut stream: Stream) {
    while let Ok(Some(event)) = stream.next().await {
        let Some(link) = link.upgrade() else { return };
        if !event.data.is_empty() {
            link.give(&event.data).await;
        }
    }
    if let Some(link) = link.upgrade() {
        link.lost(Lost::Closed);
    }
}

async fn listen(link: Weak<Link>) {
    let mut last: Option<String> = None;
    loop {
        let Some(now) = link.upgrade() else { return };
        let opened = now.stream(last.as_deref()).await;
        drop(now);
        let Ok(response) = opened else { return };
        if !is(&response, "text/event-stream") {
            return;
        }
        let mut stream = Stream::new(response);
        while let Ok(Some(event)) = stream.next().await {
            let Some(link) = link.upgrade() else { return };
            if !event.data.is_empty() {
                link.give(&event.data).await;
            }
        }
        last = stream.last.take().or(last);
        sleep(stream.retry()).await;
    }
}

/// Ends an exchange that brings no message.
async fn accepted(response: Response<Received>) -> Result<(), Error> {
    let status = response.status();
    discard(response.into_body(), BODY).await;
    if status.is_success() {
        return Ok(());
    }
    let status = status.as_u16();
    Err(Error::Status {
        status,
        authenticate: None,
    })
}

/// Tells whether data answers the request with a raw id.
fn answers(data: &Bytes, id: &str) -> bool {
    let Ok(data) = text::check(data, Limits::default()) else {
        return false;
    };
    let one = |message: &str| {
        let response = text::member(message, "method").is_none();
        response && text::get(message, &["id"]).is_some_and(|(own, _)| own == id)
    };
    if data.trim_start().starts_with('[') {
        text::elements(data).any(|span| data.get(span).is_some_and(one))
    } else {
        one(data)
    }
}

fn is(response: &Response<Received>, media: &str) -> bool {
    let value = response.headers().get(CONTENT_TYPE);
    let value = value.and_then(|value| value.to_str().ok());
    value.is_some_and(|value| value.trim_start().starts_with(media))
}

/// A stream of events with what is needed to take it up again.
struct Stream {
    body: Received,
    decoder: Decoder,
    last: Option<String>,
    wait: Option<u64>,
}

impl Stream {
    fn new(response: Response<Received>) -> Self {
        Self {
            body: response.into_body(),
            decoder: Decoder::new(LARGEST),
            last: None,
            wait: None,
        }
    }

    /// Returns the next event, or nothing where the stream ends or breaks off.
    async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.decoder.next_event() {
                self.last = event.id.clone().or(self.last.take());
                self.wait = event.retry.or(self.wait);
                return Ok(Some(event));
            }
            let Some(Ok(frame)) = self.body.frame().await else {
                return Ok(None);
            };
            if let Some(data) = frame.data_ref() {
                self.decoder.push(data)?;
            }
        }
    }

    fn retry(&self) -> Duration {
        let (least, most) = RETRY;
        Duration::from_millis(self.wait.unwrap_or(500).clamp(least, most))
    }
}
