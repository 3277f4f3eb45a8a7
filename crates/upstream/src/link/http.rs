//! A link over Streamable HTTP, both eras: a message is a POST, its answer JSON or a stream.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri};
use http_body_util::BodyExt as _;
use mcpproxy_mcp::body::{discard, read_bounded};
use mcpproxy_mcp::dial::{Dialer, Received};
use mcpproxy_mcp::sse::{Decoder, Event};
use mcpproxy_mcp::{Error, Frame, FrameKind, header};
use mcpproxy_text::Limits;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::link::{FromUpstream, Headers, Listener};
use crate::oauth::{OAuth, challenges};
use crate::switch::ask;

/// How long the body of a plain answer may take once its head is there.
const BODY_PATIENCE: Duration = Duration::from_mins(5);
/// The longest delay between two polls of a stream that the upstream closed.
const LONGEST_RETRY: u64 = 5_000;
/// The delay where the upstream asks for none.
const USUAL_RETRY: u64 = 500;
/// How often a closed stream is polled for one call.
const MOST_POLLS: u32 = 1_000;

/// How long an upstream may take to hear what the gateway says for itself.
pub(crate) const OWN_PATIENCE: Duration = Duration::from_secs(2);

/// What every message over HTTP carries, and how much may come back.
#[derive(Clone, Debug)]
pub struct HttpTarget {
    /// The endpoint.
    pub uri: Uri,
    /// The configured headers.
    pub headers: HeaderMap,
    /// The pool of connections.
    pub dialer: Dialer,
    /// The largest answer.
    pub max_message: usize,
    /// The bounds of a message's form.
    pub limits: Limits,
    /// Who logs in, where that is for us to do.
    pub login: Option<Arc<OAuth>>,
}

impl HttpTarget {
    /// Sends one request, with the token of a login where there is one.
    pub(crate) async fn send(
        &self,
        method: Method,
        uri: &Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Received>, Error> {
        match &self.login {
            Some(login) => login.send(method, uri, headers, body).await,
            None => self.dialer.send(method, uri, headers, body).await,
        }
    }
}

/// A link over Streamable HTTP.
#[derive(Debug)]
pub struct HttpLink {
    target: HttpTarget,
    listener: Arc<dyn Listener>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    ended: Option<String>,
    listening: Option<tokio::task::AbortHandle>,
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = state.listening.take() {
            task.abort();
        }
    }
}

impl HttpLink {
    /// Makes a link; nothing is sent yet.
    pub fn new(target: HttpTarget, listener: Arc<dyn Listener>) -> Self {
        Self {
            target,
            listener,
            state: Mutex::default(),
        }
    }

    /// Sets the version that every later message names.
    pub fn set_version(&self, version: &str) {
        self.lock().version = HeaderValue::from_str(version).ok();
    }

    /// Returns why the link has ended, once it has.
    pub fn ended(&self) -> Option<String> {
        self.lock().ended.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request and waits for its answer.
    pub async fn call(
        &self,
        ticket: u64,
        message: Bytes,
        headers: Headers,
        events: mpsc::Sender<FromUpstream>,
    ) -> Result<Frame, Error> {
        let response = self.post(message, headers).await?;
        self.remember_session(&response);
        let answer = if is(&response, "text/event-stream") {
            self.stream(ticket, response, &events).await?
        } else {
            self.plain(ticket, response).await?
        };
        let id = answer.id().and_then(|id| id.parse().ok());
        // An error that names no request answers the only one there was.
        if id == Some(ticket) || (id.is_none() && answer.kind() == FrameKind::Error) {
            return Ok(answer);
        }
        Err(Error::Transport(
            "upstream answered another request".to_owned(),
        ))
    }

    /// Sends a message that is not answered.
    pub async fn send(&self, message: Bytes, headers: Headers) -> Result<(), Error> {
        let response = self.post(message, headers).await?;
        let said = if response.status().is_success() {
            Ok(())
        } else {
            Err(self.status(&response))
        };
        discard(response.into_body(), OWN_PATIENCE).await;
        said
    }

    async fn post(&self, message: Bytes, extra: Headers) -> Result<Response<Received>, Error> {
        let mut headers = self.headers("application/json, text/event-stream");
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.extend(extra);
        self.target
            .send(Method::POST, &self.target.uri, headers, message)
            .await
    }

    fn headers(&self, accept: &'static str) -> HeaderMap {
        let mut headers = self.target.headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let state = self.lock();
        if let Some(session) = &state.session {
            headers.insert(header::SESSION, session.clone());
        }
        if let Some(version) = &state.version {
            headers.insert(header::VERSION, version.clone());
        }
        headers
    }

    fn remember_session(&self, response: &Response<Received>) {
        if let Some(session) = response.headers().get(header::SESSION) {
            let mut state = self.lock();
            if state.session.as_ref() != Some(session) {
                state.session = Some(session.clone());
            }
        }
    }

    /// Reads an answer that is not a stream. Errors come with statuses of their own in the modern
    /// era, so that the body is looked at before the status: an answer to this very request counts
    /// whatever the status, anything else only with a status that says it is one.
    async fn plain(&self, ticket: u64, response: Response<Received>) -> Result<Frame, Error> {
        // Within a legacy session this status says that it is gone, whatever the body says.
        let gone = response.status() == StatusCode::NOT_FOUND && self.lock().session.is_some();
        if gone || !is(&response, "application/json") {
            return Err(self.status(&response));
        }
        let (head, body) = response.into_parts();
        let body = read_bounded(body, self.target.max_message, BODY_PATIENCE).await?;
        match Frame::parse(body, self.target.limits) {
            Ok(frame) if frame.id().is_some_and(|id| id.parse() == Ok(ticket)) => Ok(frame),
            Ok(frame) if head.status != StatusCode::NOT_FOUND => Ok(frame),
            Err(refusal) if head.status.is_success() => Err(refusal.into()),
            Ok(_) | Err(_) => Err(self.status(&Response::from_parts(head, ()))),
        }
    }

    fn status<B>(&self, response: &Response<B>) -> Error {
        let status = response.status();
        // Streamable HTTP, "Session management": 404 ends the session.
        if status == StatusCode::NOT_FOUND && self.lock().session.is_some() {
            self.end("the upstream ended the session");
        }
        Error::Status {
            status: status.as_u16(),
            authenticate: challenges(response.headers()),
        }
    }

    /// Notes that the session is over. Returns whether it was not before.
    fn end(&self, why: &str) -> bool {
        let mut state = self.lock();
        let first = state.ended.is_none();
        if first {
            state.ended = Some(why.to_owned());
            drop(state);
            self.listener.ended(why);
        }
        first
    }

    /// Reads streams until the answer comes, polling again where the upstream closes one early.
    async fn stream(
        &self,
        ticket: u64,
        response: Response<Received>,
        events: &mpsc::Sender<FromUpstream>,
    ) -> Result<Frame, Error> {
        drop(events.try_send(FromUpstream::Streaming));
        let mut stream = Stream::new(response, self.target.max_message);
        for _ in 0..MOST_POLLS {
            while let Some(event) = stream.next().await? {
                if event.data.is_empty() {
                    continue;
                }
                let frame = Frame::parse(event.data, self.target.limits)?;
                let answers = matches!(frame.kind(), FrameKind::Result | FrameKind::Error)
                    && frame.id().is_none_or(|id| id.parse() == Ok(ticket));
                if answers {
                    return Ok(frame);
                }
                if events
                    .try_send(FromUpstream::Message(Box::new(frame)))
                    .is_err()
                {
                    tracing::debug!("dropped a message for a caller that does not keep up");
                }
            }
            let Some(last) = stream.last_id.take() else {
                return Err(Error::Closed);
            };
            let retry = stream.retry.unwrap_or(USUAL_RETRY).min(LONGEST_RETRY);
            // The downstream may want to close its own stream likewise.
            drop(events.try_send(FromUpstream::Polling { retry }));
            tokio::time::sleep(Duration::from_millis(retry)).await;
            stream = self.resume(&last).await?;
        }
        Err(Error::Closed)
    }

    async fn resume(&self, last: &str) -> Result<Stream, Error> {
        let headers = self.resuming(last);
        let response = get(&self.target, headers).await?;
        self.resumed(response, last)
    }

    fn resuming(&self, last: &str) -> HeaderMap {
        let mut headers = self.headers("text/event-stream");
        if let Ok(last) = HeaderValue::from_str(last) {
            headers.insert(header::LAST_EVENT, last);
        }
        headers
    }

    fn resumed(&self, response: Response<Received>, last: &str) -> Result<Stream, Error> {
        if !is(&response, "text/event-stream") {
            return Err(self.status(&response));
        }
        Ok(Stream {
            last_id: Some(last.to_owned()),
            ..Stream::new(response, self.target.max_message)
        })
    }

    /// Opens the stream on which a legacy upstream speaks outside any call; an upstream that has
    /// none is left in peace.
    pub fn listen(self: &Arc<Self>) {
        let mut state = self.lock();
        if state
            .listening
            .as_ref()
            .is_some_and(|task| !task.is_finished())
        {
            return;
        }
        let task = tokio::spawn(overhear(Arc::downgrade(self), self.target.clone()));
        state.listening = Some(task.abort_handle());
    }

    /// Takes a message that belongs to no call.
    async fn overheard(&self, data: Bytes) {
        let reply = match Frame::parse(data, self.target.limits) {
            Ok(frame) if frame.kind() == FrameKind::Request => ask(&*self.listener, frame),
            Ok(frame) => {
                self.listener.heard(frame);
                None
            }
            Err(refusal) => {
                tracing::warn!("dropped a malformed message: {refusal}");
                None
            }
        };
        let Some(reply) = reply else { return };
        match timeout(OWN_PATIENCE, self.send(reply, Headers::new())).await {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => tracing::debug!("could not answer an upstream: {fault}"),
            Err(_) => tracing::debug!("an upstream did not take an answer to its request"),
        }
    }

    /// Ends the session at the upstream, if there is one.
    pub async fn close(&self) {
        let headers = self.headers("application/json");
        if self.lock().session.is_none() || !self.end("the session was ended") {
            return;
        }
        let target = &self.target;
        let sent = target.send(Method::DELETE, &target.uri, headers, Bytes::new());
        match timeout(OWN_PATIENCE, sent).await {
            Ok(Ok(_)) => {}
            Ok(Err(fault)) => tracing::debug!("could not end a session at an upstream: {fault}"),
            Err(_) => tracing::debug!("an upstream was silent about the end of a session"),
        }
    }
}

/// Hears what an upstream says outside any call. The link is not held while the upstream is waited
/// for: this ends when the link is dropped.
async fn overhear(link: Weak<HttpLink>, target: HttpTarget) {
    let mut last = String::new();
    loop {
        let Some(headers) = link.upgrade().map(|link| link.resuming(&last)) else {
            return;
        };
        let Ok(response) = get(&target, headers).await else {
            return;
        };
        let resumed = link.upgrade().map(|link| link.resumed(response, &last));
        let Some(Ok(mut stream)) = resumed else {
            return;
        };
        while let Ok(Some(event)) = stream.next().await {
            let Some(link) = link.upgrade() else { return };
            if !event.data.is_empty() {
                link.overheard(event.data).await;
            }
        }
        last = stream.last_id.take().unwrap_or_default();
        let retry = stream.retry.unwrap_or(USUAL_RETRY);
        tokio::time::sleep(Duration::from_millis(retry.clamp(100, LONGEST_RETRY))).await;
    }
}

async fn get(target: &HttpTarget, headers: HeaderMap) -> Result<Response<Received>, Error> {
    target
        .send(Method::GET, &target.uri, headers, Bytes::new())
        .await
}

/// Tells whether an answer is of a media type.
pub(crate) fn is(response: &Response<Received>, media: &str) -> bool {
    let value = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    value.is_some_and(|value| value.trim_start().starts_with(media))
}

/// A stream of events with what is needed to resume it.
pub(crate) struct Stream {
    body: Received,
    decoder: Decoder,
    last_id: Option<String>,
    retry: Option<u64>,
}

impl Stream {
    pub(crate) fn new(response: Response<Received>, max_message: usize) -> Self {
        let (body, decoder) = (response.into_body(), Decoder::new(max_message));
        Self {
            body,
            decoder,
            last_id: None,
            retry: None,
        }
    }

    /// Returns the next event, or nothing at the end of the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.decoder.next_event() {
                if let Some(id) = &event.id {
                    self.last_id = Some(id.clone());
                }
                self.retry = event.retry.or(self.retry);
                return Ok(Some(event));
            }
            let Some(frame) = self.body.frame().await else {
                return Ok(None);
            };
            // A stream that breaks off is resumed like one that ends.
            let Ok(frame) = frame else { return Ok(None) };
            if let Some(data) = frame.data_ref() {
                self.decoder.push(data)?;
            }
        }
    }
}
