//! The two forms of an answer: one JSON body, or a stream of events that ends with it.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use http_body::Frame as BodyFrame;
use mcpproxy_mcp::sse;
use tokio::sync::mpsc;

use crate::sample::Outlet;

/// What an outlet carries.
#[derive(Clone, Debug)]
pub(super) enum Message {
    /// A notification or a question.
    Word(Bytes),
    /// The answer to the request.
    Answer(Bytes),
}

/// The outlet of one request or stream.
pub(super) struct Channel(mpsc::UnboundedSender<Message>);

/// What comes out of an outlet.
pub(super) type Words = mpsc::UnboundedReceiver<Message>;

impl Channel {
    /// Makes an outlet and its other end.
    pub(super) fn open() -> (Arc<dyn Outlet>, Words) {
        let (sender, words) = mpsc::unbounded_channel();
        (Arc::new(Self(sender)), words)
    }
}

impl Outlet for Channel {
    fn put(&self, message: Bytes) {
        // Nobody hears it once the other end is gone; `is_open` says so.
        drop(self.0.send(Message::Word(message)));
    }

    fn finish(&self, answer: Bytes) {
        drop(self.0.send(Message::Answer(answer)));
    }

    fn is_open(&self) -> bool {
        !self.0.is_closed()
    }
}

/// Does something once the stream that it belongs to is closed, by either side.
pub(super) struct OnDrop(Option<Box<dyn FnOnce() + Send>>);

impl OnDrop {
    pub(super) fn run(work: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(work)))
    }
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        if let Some(work) = self.0.take() {
            work();
        }
    }
}

/// The body of an answer.
pub(super) enum Body {
    /// All there is.
    Whole(Option<Bytes>),
    /// Parts as they come.
    Parts(mpsc::Receiver<io::Result<Bytes>>),
    /// Events as they come.
    Events(Events),
    /// Something, and then the connection breaks off.
    Torn(Torn),
}

/// The steps in which a body breaks off.
pub(super) enum Torn {
    /// This is still to be sent.
    Sending(Bytes),
    /// It was handed over: the connection gets the time to send it.
    Flushing,
    /// The connection is closed.
    Breaking,
}

/// A stream of events.
pub(super) struct Events {
    first: VecDeque<Bytes>,
    words: Option<Words>,
    _closing: Option<OnDrop>,
}

impl Body {
    pub(super) fn empty() -> Self {
        Self::Whole(None)
    }

    pub(super) fn whole(bytes: Bytes) -> Self {
        Self::Whole(Some(bytes))
    }
}

/// Makes a body out of parts.
pub(super) fn feed(room: usize) -> (mpsc::Sender<io::Result<Bytes>>, Body) {
    let (sender, parts) = mpsc::channel(room);
    (sender, Body::Parts(parts))
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<BodyFrame<Bytes>>>> {
        let part = match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(Ok)),
            Self::Parts(parts) => parts.poll_recv(context),
            Self::Events(events) => events.poll(context).map(|event| event.map(Ok)),
            Self::Torn(torn) => torn.poll(context).map(Some),
        };
        part.map(|part| part.map(|part| part.map(BodyFrame::data)))
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self {
            Self::Whole(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                http_body::SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Self::Parts(_) | Self::Events(_) | Self::Torn(_) => http_body::SizeHint::default(),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }
}

impl Torn {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        match std::mem::replace(self, Self::Breaking) {
            Self::Sending(bytes) => {
                *self = Self::Flushing;
                Poll::Ready(Ok(bytes))
            }
            // What was written is only sent once the body has nothing more to offer.
            Self::Flushing => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Self::Breaking => Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
        }
    }
}

impl Events {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(event) = self.first.pop_front() {
            return Poll::Ready(Some(event));
        }
        let Some(words) = &mut self.words else {
            return Poll::Ready(None);
        };
        words.poll_recv(context).map(|word| match word? {
            Message::Word(message) => Some(sse::encode(&message, None)),
            Message::Answer(answer) => {
                self.words = None;
                Some(sse::encode(&answer, None))
            }
        })
    }
}

/// Answers with a status and nothing else; who is not let in is told how to come back.
pub(super) fn bare(status: u16) -> Response<Body> {
    let mut response = respond(status, None, Body::empty());
    if response.status() == StatusCode::UNAUTHORIZED {
        let how = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(WWW_AUTHENTICATE, how);
    }
    response
}

/// Answers with JSON.
pub(super) fn json(status: u16, body: Body) -> Response<Body> {
    respond(status, Some("application/json"), body)
}

/// Answers with events: those at hand first, then what comes out of an outlet.
pub(super) fn events(
    first: impl IntoIterator<Item = Bytes>,
    words: Words,
    closing: Option<OnDrop>,
) -> Response<Body> {
    let events = Events {
        first: first.into_iter().collect(),
        words: Some(words),
        _closing: closing,
    };
    respond(200, Some("text/event-stream"), Body::Events(events))
}

fn respond(status: u16, media: Option<&'static str>, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Some(media) = media {
        let value = HeaderValue::from_static(media);
        response.headers_mut().insert(CONTENT_TYPE, value);
    }
    response
}
