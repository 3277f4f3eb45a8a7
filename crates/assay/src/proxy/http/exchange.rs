//! One message to the upstream and what comes back for it, over both HTTP transports.

use std::sync::{Arc, Weak};
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use http_body_util::BodyExt as _;
use mcpproxy_mcp::body::discard;
use mcpproxy_mcp::dial::Received;
use mcpproxy_mcp::era::UPSTREAM_FAILED;
use mcpproxy_mcp::sse::{self, Decoder, Event, Piece};
use mcpproxy_mcp::tap::Seen;
use mcpproxy_mcp::{Error, compose};
use mcpproxy_text::{self as text, Limits};
use tokio::time::{sleep, timeout};

use super::link::{Failure, Link, Message, aside};
use super::spool::{Room, Spool, Stored};
use crate::proxy::attend::Lost;
use crate::proxy::calls::key;
use crate::proxy::recorder::Failed;

/// Bytes of an event's data that are held before they go to its spool.
const HELD: usize = 64 << 10;
/// Bytes of a stream that are held in all: what is no data, and as much as is read at once.
const STREAM: usize = 1 << 20;
/// Longest address for messages.
const ADDRESS: usize = 8 << 10;
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
    pub(super) async fn exchange(self: Arc<Self>, mut message: Message) {
        if let Err(fault) = self.attempt(&mut message).await {
            let first = !self.state().reached;
            let how = match fault {
                Error::Status { .. } => Failed::Refused,
                _ => Failed::Unanswered,
            };
            for id in message.ids {
                let text = format!("the upstream failed: {fault}");
                let error = compose::error(Some(&id), UPSTREAM_FAILED, &text, None);
                let line = message.line;
                let failure = Failure { id, line, how };
                self.give_up(failure, Stored::flat(&error)).await;
            }
            if first && matches!(fault, Error::Unreachable(_)) {
                self.lost(Lost::Unreachable);
            }
        }
    }

    /// Sends a message; where it fails, the ids of what was not answered are left in it.
    async fn attempt(self: &Arc<Self>, message: &mut Message) -> Result<(), Error> {
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
        } else if message.ids.is_empty() && !is(&response, "application/json") {
            accepted(response).await?;
        } else {
            self.plain(message, response).await?;
        }
        if message.initialized {
            self.overhear();
        }
        Ok(())
    }

    async fn plain(
        &self,
        message: &mut Message,
        response: Response<Received>,
    ) -> Result<(), Error> {
        let status = response.status();
        if !is(&response, "application/json") {
            discard(response.into_body(), BODY).await;
            let status = status.as_u16();
            return Err(Error::Status {
                status,
                authenticate: None,
            });
        }
        let body = timeout(BODY, self.collect(response.into_body()));
        let body = body.await.map_err(|_| Error::TimedOut)??;
        // Whoever asked nothing may be answered with nothing.
        if message.ids.is_empty() && status.is_success() && !is_message(&body)? {
            return Ok(());
        }
        // With an error's status a body may be JSON and no message at all; a long one is none.
        if !is_message(&body)? || (!status.is_success() && !is_envelope(&body)) {
            let status = status.as_u16();
            return Err(Error::Status {
                status,
                authenticate: None,
            });
        }
        let answers = answered(&mut message.ids, &body)?;
        self.take(message, body, &answers).await;
        // Nothing else comes for what the answer leaves out.
        if message.ids.is_empty() {
            Ok(())
        } else {
            Err(Error::Closed)
        }
    }

    /// Reads a body to its end.
    async fn collect(&self, mut body: Received) -> Result<Stored, Error> {
        let mut spool = self.room.spool();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|fault| Error::Transport(fault.to_string()))?;
            if let Some(data) = frame.data_ref() {
                spool.push_flat(data).map_err(aside)?;
            }
        }
        spool.finish().map_err(aside)
    }

    async fn take(&self, message: &Message, answer: Stored, answers: &[String]) {
        if message.initialize {
            self.learn(&answer);
        }
        self.give(answer, message.line_of(answers)).await;
    }

    /// Reads streams until every request of the message is answered.
    async fn streamed(
        &self,
        message: &mut Message,
        response: Response<Received>,
    ) -> Result<(), Error> {
        let mut stream = self.events(response);
        for _ in 0..RESUMED {
            while let Some((_, data)) = stream.next().await? {
                let answers = answered(&mut message.ids, &data)?;
                // What is no message has no place among the client's lines.
                if is_message(&data)? {
                    self.take(message, data, &answers).await;
                }
            }
            let unanswered = !message.ids.is_empty();
            let Some(last) = stream.last.take().filter(|_| unanswered) else {
                break;
            };
            sleep(stream.retry()).await;
            stream = self.events(self.stream(Some(&last)).await?);
        }
        if message.ids.is_empty() {
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
        let mut stream = self.events(response);
        let named = async {
            while let Some((event, data)) = stream.next().await? {
                if event.name == "endpoint" {
                    let named = data.range(0, ADDRESS).map_err(aside)?;
                    let named = String::from_utf8_lossy(&named).trim().to_owned();
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

    fn events(&self, response: Response<Received>) -> Stream {
        Stream::new(response, self.room.clone())
    }
}

/// Gives the client everything that the stream of the older transport brings.
async fn bring(link: Weak<Link>, mut stream: Stream) {
    while let Ok(Some((_, data))) = stream.next().await {
        let Some(link) = link.upgrade() else { return };
        if is_message(&data).is_ok_and(|is_one| is_one) {
            link.give(data, None).await;
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
        let room = now.room.clone();
        drop(now);
        let Ok(response) = opened else { return };
        if !is(&response, "text/event-stream") {
            return;
        }
        let mut stream = Stream::new(response, room);
        while let Ok(Some((_, data))) = stream.next().await {
            let Some(link) = link.upgrade() else { return };
            if is_message(&data).is_ok_and(|is_one| is_one) {
                link.give(data, None).await;
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

/// Takes the requests that data answers from those that wait, and returns the ids that it answers.
/// Two spellings of one id are one id.
fn answered(waiting: &mut Vec<String>, data: &Stored) -> Result<Vec<String>, Error> {
    let (seen, _) = data.seen().map_err(aside)?;
    let answers = seen.iter().filter(|seen| seen.method.is_none());
    let ids: Vec<String> = answers
        .filter_map(|seen| seen.id.as_deref().map(key))
        .collect();
    waiting.retain(|id| !ids.contains(&key(id.as_bytes())));
    Ok(ids)
}

/// Tells whether a body is a message, or several, to its end: what was cut off or packed is none. What
/// readers may read differently is one, for the client to judge.
fn is_message(body: &Stored) -> Result<bool, Error> {
    let (seen, whole) = body.seen().map_err(aside)?;
    let matters = |one: &Seen| one.id.is_some() || one.method.is_some() || one.doubtful;
    Ok(whole && seen.iter().any(matters))
}

/// Tells whether a message says that it is one.
fn is_envelope(body: &Stored) -> bool {
    let Stored::Memory(body) = body else {
        return false;
    };
    let whole = text::check(body, Limits::default());
    whole.map_or(true, |body| text::member(body, "jsonrpc").is_some())
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
    room: Room,
    /// The data of the event that is being read.
    data: Spool,
    last: Option<String>,
    wait: Option<u64>,
}

impl Stream {
    fn new(response: Response<Received>, room: Room) -> Self {
        Self {
            body: response.into_body(),
            decoder: Decoder::new(STREAM),
            data: room.spool(),
            room,
            last: None,
            wait: None,
        }
    }

    /// Returns the next event and its data, or nothing where the stream ends or breaks off.
    async fn next(&mut self) -> Result<Option<(Event, Stored)>, Error> {
        loop {
            while let Some(piece) = self.decoder.next_piece(HELD) {
                match piece {
                    Piece::Part(part) => self.data.push_flat(&part).map_err(aside)?,
                    Piece::End(event) => return self.ended(event).map(Some),
                }
            }
            let Some(Ok(frame)) = self.body.frame().await else {
                return Ok(None);
            };
            if let Some(data) = frame.data_ref() {
                self.decoder.push(data)?;
            }
        }
    }

    fn ended(&mut self, event: Event) -> Result<(Event, Stored), Error> {
        self.last = event.id.clone().or(self.last.take());
        self.wait = event.retry.or(self.wait);
        let mut data = std::mem::replace(&mut self.data, self.room.spool());
        data.push_flat(&event.data).map_err(aside)?;
        Ok((event, data.finish().map_err(aside)?))
    }

    fn retry(&self) -> Duration {
        let (least, most) = RETRY;
        Duration::from_millis(self.wait.unwrap_or(500).clamp(least, most))
    }
}
