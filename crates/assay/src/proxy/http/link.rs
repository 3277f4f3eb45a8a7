//! Who speaks HTTP with the upstream: one task per request, in the order in which they must begin.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Response, Uri};
use mcpproxy_mcp::body::discard;
use mcpproxy_mcp::dial::{Dialer, Received};
use mcpproxy_mcp::envelope::Envelope;
use mcpproxy_mcp::tap::Seen;
use mcpproxy_mcp::{Error, Frame, header};
use mcpproxy_text::{self as text, Limits};
use tokio::sync::mpsc::{Receiver, Sender, UnboundedSender};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Address;
use super::spool::{Room, Stored};
use crate::proxy::attend::{Event, Lost};
use crate::proxy::calls::{Number, key};
use crate::proxy::recorder::Failed;

/// How long the upstream may take to hear that the session is over.
const FAREWELL: Duration = Duration::from_secs(2);

/// The way to an upstream.
#[derive(Debug)]
pub(super) struct Link {
    address: Address,
    dialer: Dialer,
    /// Where long answers wait until they are whole.
    pub(super) room: Room,
    answers: Sender<Answer>,
    events: UnboundedSender<Event>,
    state: Mutex<State>,
}

/// What the client is given: a message of the upstream, or what is said in place of one.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) message: Stored,
    /// The line that it answers, where the exchange tells.
    pub(super) line: Option<Number>,
    pub(super) failure: Option<Failure>,
}

/// A request that the upstream did not answer with a message.
#[derive(Debug)]
pub(super) struct Failure {
    /// The raw id of the request.
    pub(super) id: String,
    /// The line that it came in.
    pub(super) line: Number,
    pub(super) how: Failed,
}

/// A line of the client.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) line: Number,
    pub(super) body: Stored,
}

/// What was learnt of the upstream.
#[derive(Debug, Default)]
pub(super) struct State {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// Where messages go over the older transport.
    pub(super) endpoint: Option<Uri>,
    /// Whether it ever answered.
    pub(super) reached: bool,
    /// Tasks that listen to streams of their own.
    pub(super) listening: Vec<tokio::task::AbortHandle>,
}

/// Longest outline of a message, which is all of it but its arguments, that is read for headers.
/// An upstream of the modern era says of a longer one that it misses them.
const OUTLINE: usize = 16 << 20;

/// What a line asks of the transport.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) line: Number,
    pub(super) body: Stored,
    /// The raw ids that must be answered.
    pub(super) ids: Vec<String>,
    /// All ids that it asks with, in one spelling.
    asked: Vec<String>,
    pub(super) initialize: bool,
    pub(super) initialized: bool,
    /// Headers of the modern era, which repeat the message.
    pub(super) routing: HeaderMap,
}

impl Message {
    fn read(Sent { line: number, body }: Sent) -> Result<Self, Error> {
        let (seen, _) = body.seen().map_err(aside)?;
        let line = match &body {
            Stored::Memory(line) => line.clone(),
            Stored::Aside(_) => outline(&body, &seen).map_err(aside)?,
        };
        let frame = Frame::parse(line, Limits::default()).ok();
        let method = frame
            .as_ref()
            .map(|frame| Arc::clone(frame.method()))
            .unwrap_or_default();
        let envelope = frame.as_ref().and_then(|frame| Envelope::read(frame).ok());
        let routing = match (&frame, envelope) {
            (Some(frame), Some(envelope)) => header::routing(frame, &envelope.version),
            _ => Vec::new(),
        };
        let ids = asked(seen);
        Ok(Self {
            line: number,
            asked: ids.iter().map(|id| key(id.as_bytes())).collect(),
            ids,
            initialize: method.as_ref() == "initialize",
            initialized: method.as_ref() == "notifications/initialized",
            routing: routing.into_iter().collect(),
            body,
        })
    }

    /// Returns the number of the line if what came for it answers nothing else. An upstream that
    /// answers another request in this exchange leaves only its id to go by.
    pub(super) fn line_of(&self, answers: &[String]) -> Option<Number> {
        let own = answers.iter().all(|id| self.asked.contains(id));
        own.then_some(self.line)
    }
}

/// A failure of the file that a long message waits in.
#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
pub(super) fn aside(fault: std::io::Error) -> Error {
    Error::Transport(format!("a long message cannot be set aside: {fault}"))
}

/// Returns the raw ids of the requests in a line. What readers differ on has ids as well, and whoever
/// sent it waits for an answer.
fn asked(seen: Vec<Seen>) -> Vec<String> {
    let asks = |seen: Seen| seen.method.and(seen.id);
    let ids = seen.into_iter().filter_map(asks);
    ids.filter_map(|id| String::from_utf8(id).ok()).collect()
}

/// Returns what a long line says of itself, without its arguments.
fn outline(body: &Stored, seen: &[Seen]) -> std::io::Result<Bytes> {
    let length = usize::try_from(body.len()).unwrap_or(usize::MAX);
    let line = match seen {
        [one] => one.arguments.clone().unwrap_or(length..length),
        _ => return Ok(Bytes::new()),
    };
    if line.start + (length - line.end) > OUTLINE {
        return Ok(Bytes::new());
    }
    let mut outline = body.range(0, line.start)?;
    if !line.is_empty() {
        outline.extend_from_slice(b"{}");
    }
    outline.extend(body.range(line.end, length)?);
    Ok(outline.into())
}

/// Sends lines until there are no more, then waits for what is in flight.
pub(super) async fn run(link: Arc<Link>, mut lines: Receiver<Sent>) {
    let mut asked = JoinSet::new();
    while let Some(line) = lines.recv().await {
        if line.body.len() == 0 {
            continue;
        }
        // Where its file fails, nobody can be told whose call it was, and nothing is sent.
        let Ok(message) = Message::read(line) else {
            continue;
        };
        // What follows `initialize` needs its session, and notifications keep their order.
        let alone = message.initialize || message.ids.is_empty();
        let exchange = Arc::clone(&link).exchange(message);
        if alone {
            exchange.await;
        } else {
            asked.spawn(exchange);
        }
        while asked.try_join_next().is_some() {}
    }
    while asked.join_next().await.is_some() {}
}

impl Link {
    /// Makes a link; nothing is sent yet.
    pub(super) fn new(
        address: Address,
        room: Room,
        answers: Sender<Answer>,
        events: UnboundedSender<Event>,
    ) -> Arc<Self> {
        Arc::new(Self {
            address,
            dialer: Dialer::default(),
            room,
            answers,
            events,
            state: Mutex::default(),
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the client a message, which answers that line if one is named.
    pub(super) async fn give(&self, message: Stored, line: Option<Number>) {
        let answer = Answer {
            message,
            line,
            failure: None,
        };
        // A client that has gone away is told of by the pump.
        drop(self.answers.send(answer).await);
    }

    /// Tells the client that a request failed.
    pub(super) async fn give_up(&self, failure: Failure, message: Stored) {
        let answer = Answer {
            message,
            line: Some(failure.line),
            failure: Some(failure),
        };
        drop(self.answers.send(answer).await);
    }

    /// Tells the session that its upstream is gone.
    pub(super) fn lost(&self, how: Lost) {
        drop(self.events.send(Event::Lost(how)));
    }

    /// Posts a message to where messages go.
    pub(super) async fn post(&self, message: &Message) -> Result<Response<Received>, Error> {
        let mut headers = self.headers("application/json, text/event-stream");
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.extend(message.routing.clone());
        let endpoint = self.state().endpoint.clone();
        let uri = endpoint.unwrap_or_else(|| self.address.uri.clone());
        self.dialer
            .stream(Method::POST, &uri, headers, message.body.body())
            .await
    }

    /// Opens a stream of events, behind the last one that was seen.
    pub(super) async fn stream(&self, last: Option<&str>) -> Result<Response<Received>, Error> {
        let mut headers = self.headers("text/event-stream");
        if let Some(last) = last.and_then(|last| HeaderValue::from_str(last).ok()) {
            headers.insert(header::LAST_EVENT, last);
        }
        self.dialer
            .send(Method::GET, &self.address.uri, headers, Bytes::new())
            .await
    }

    fn headers(&self, accept: &'static str) -> HeaderMap {
        let mut headers = self.address.headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let state = self.state();
        headers.extend(
            state
                .session
                .clone()
                .map(|session| (header::SESSION, session)),
        );
        headers.extend(
            state
                .version
                .clone()
                .map(|version| (header::VERSION, version)),
        );
        headers
    }

    /// Keeps what an answer to `initialize` says for the messages that follow.
    pub(super) fn learn(&self, answer: &Stored) {
        // The version of a longer one is not learnt.
        let answer = answer.range(0, OUTLINE).unwrap_or_default();
        let Ok(answer) = text::check(&answer, Limits::default()) else {
            return;
        };
        let version = text::get(answer, &["result", "protocolVersion"]);
        let version = version.and_then(|(version, _)| text::string(version));
        if let Some(version) = version.and_then(|version| HeaderValue::from_str(&version).ok()) {
            self.state().version = Some(version);
        }
    }

    /// Notes that the upstream answered, and the session it named.
    pub(super) fn heard(&self, response: &Response<Received>) {
        let mut state = self.state();
        state.reached = true;
        if let Some(session) = response.headers().get(header::SESSION) {
            state.session = Some(session.clone());
        }
    }

    pub(super) fn base(&self) -> &Uri {
        &self.address.uri
    }

    /// Ends the session with the upstream.
    pub(super) async fn leave(&self) {
        for task in std::mem::take(&mut self.state().listening) {
            task.abort();
        }
        if self.state().session.is_none() {
            return;
        }
        let headers = self.headers("application/json");
        let said = self
            .dialer
            .send(Method::DELETE, &self.address.uri, headers, Bytes::new());
        if let Ok(Ok(response)) = timeout(FAREWELL, said).await {
            discard(response.into_body(), FAREWELL).await;
        }
    }
}
