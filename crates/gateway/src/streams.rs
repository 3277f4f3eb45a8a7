//! Event streams of a legacy session that can be resumed: what was sent is kept, within bounds
//! (see `kept`), until the stream has ended and was delivered.

mod kept;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use bytes::Bytes;
use mcpproxy_mcp::sse;
use tokio::sync::mpsc;

pub use self::kept::{Budget, Kept, Share};

/// The stream for what belongs to no request.
pub const GENERAL: u64 = 0;
/// Events that may wait for a slow connection; past that it is closed and may resume.
const WAITING: usize = 256;
/// Bytes of them.
const WAITING_BYTES: usize = 64 * 1024 * 1024;
/// Streams kept for one session; the oldest that have ended go first.
const STREAMS: usize = 64;
/// The delay that a downstream is asked to wait before it resumes.
pub const RETRY: u64 = 500;

/// What a connection to a stream is handed; its door writes it in the form of its transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A message under its event id.
    Message {
        /// The id with which the stream can be resumed after it.
        id: String,
        /// The message.
        message: Bytes,
    },
    /// Nothing but an id, so that a stream can be resumed from its beginning.
    Prime {
        /// The id.
        id: String,
    },
    /// A sign of life.
    KeepAlive,
}

impl Item {
    /// Writes the item as a server-sent event.
    pub fn encode(&self) -> Bytes {
        match self {
            Self::Message { id, message } => sse::encode(message, Some(id)),
            Self::Prime { id } => sse::priming(id, RETRY),
            Self::KeepAlive => Bytes::from_static(sse::KEEP_ALIVE),
        }
    }
}

/// What comes to a connection that is attached to a stream.
#[derive(Debug)]
pub struct Items {
    items: mpsc::Receiver<Item>,
    waiting: Arc<AtomicUsize>,
}

impl Items {
    /// Returns a sign by which the attachment is known as long as it lasts.
    pub fn attachment(&self) -> Attachment {
        Attachment(Arc::downgrade(&self.waiting))
    }

    /// Waits for the next item; nothing comes once the stream has ended.
    pub async fn recv(&mut self) -> Option<Item> {
        std::future::poll_fn(|context| self.poll_recv(context)).await
    }

    /// Looks for the next item.
    pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<Item>> {
        let item = self.items.poll_recv(context);
        if let Poll::Ready(Some(Item::Message { message, .. })) = &item {
            self.waiting.fetch_sub(message.len(), Ordering::Relaxed);
        }
        item
    }
}

/// One attachment of a connection to a stream.
#[derive(Debug)]
pub struct Attachment(Weak<AtomicUsize>);

/// The near end of a connection that is attached to a stream.
#[derive(Debug)]
struct Live {
    items: mpsc::Sender<Item>,
    /// Bytes that the other end has not taken.
    waiting: Arc<AtomicUsize>,
}

impl Live {
    fn new() -> (Self, Items) {
        let (sender, receiver) = mpsc::channel(WAITING + 16);
        let waiting = Arc::new(AtomicUsize::new(0));
        let items = Items {
            items: receiver,
            waiting: Arc::clone(&waiting),
        };
        let live = Self {
            items: sender,
            waiting,
        };
        (live, items)
    }

    /// Hands over a message. Returns false if the other end is gone or does not keep up.
    fn send(&self, id: String, message: Bytes) -> bool {
        if self.waiting.load(Ordering::Relaxed) > WAITING_BYTES {
            return false;
        }
        let bytes = message.len();
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
        self.items.try_send(Item::Message { id, message }).is_ok()
    }
}

/// The streams of one session.
#[derive(Debug)]
pub struct Streams {
    next: u64,
    open: HashMap<u64, Stream>,
    kept: Share,
}

#[derive(Debug, Default)]
struct Stream {
    sequence: u64,
    /// The last event that was handed to a connection.
    handed: u64,
    live: Option<Live>,
    ended: bool,
}

impl Streams {
    /// Makes a session's streams, whose events are kept in `kept`.
    pub fn new(kept: Share) -> Self {
        Self {
            next: GENERAL,
            open: HashMap::new(),
            kept,
        }
    }

    /// Opens a stream for one request and returns its number.
    pub fn open(&mut self) -> u64 {
        self.next += 1;
        if self.open.len() >= STREAMS {
            let ended = self.open.iter().filter(|(_, stream)| stream.ended);
            if let Some(oldest) = ended.map(|(number, _)| *number).min() {
                self.forget(oldest);
            }
        }
        self.open.insert(self.next, Stream::default());
        self.next
    }

    /// Attaches a live connection to a stream and hands it what came after `seen`, or what no
    /// connection was handed before. Nothing is returned for a stream that is gone.
    pub fn attach(&mut self, number: u64, seen: Option<u64>) -> Option<Items> {
        if number == GENERAL {
            self.open.entry(GENERAL).or_default();
        }
        let stream = self.open.get_mut(&number)?;
        if stream.ended && self.kept.is_empty(number) {
            self.open.remove(&number);
            return None;
        }
        let (live, items) = Live::new();
        let seen = seen.unwrap_or(stream.handed);
        for (sequence, message) in self.kept.events(number) {
            if sequence > seen {
                let id = format!("{number}-{sequence}");
                // There is room for more than what can have been kept.
                live.send(id, message);
            }
        }
        stream.handed = stream.sequence;
        if stream.ended {
            self.forget(number);
        } else {
            stream.live = Some(live);
        }
        Some(items)
    }

    /// Tells whether somebody is connected to a stream.
    pub fn is_live(&self, number: u64) -> bool {
        let live = self
            .open
            .get(&number)
            .and_then(|stream| stream.live.as_ref());
        live.is_some_and(|live| !live.items.is_closed())
    }

    /// Hands over the id that opens a resumable stream.
    pub fn prime(&mut self, number: u64) {
        let Some(stream) = self.open.get_mut(&number) else {
            return;
        };
        stream.sequence += 1;
        let id = format!("{number}-{}", stream.sequence);
        if let Some(live) = &stream.live {
            drop(live.items.try_send(Item::Prime { id }));
        }
    }

    /// Writes one message to a stream, to be kept in case it has to be resumed.
    pub fn write(&mut self, number: u64, message: &Bytes) {
        if number == GENERAL {
            self.open.entry(GENERAL).or_default();
        }
        let Some(stream) = self.open.get_mut(&number) else {
            return;
        };
        stream.sequence += 1;
        if let Some(live) = &stream.live {
            let id = format!("{number}-{}", stream.sequence);
            if live.send(id, message.clone()) {
                stream.handed = stream.sequence;
            } else {
                // Gone, or too slow to be waited for: it may resume.
                stream.live = None;
            }
        }
        self.kept.push(number, stream.sequence, message.clone());
    }

    /// Gives a silent connection a sign of life. Returns false when nobody is there.
    pub fn keep_alive(&mut self, number: u64) -> bool {
        let live = self
            .open
            .get(&number)
            .and_then(|stream| stream.live.as_ref());
        live.is_some_and(|live| live.items.try_send(Item::KeepAlive).is_ok())
    }

    /// Tells whether a connection is the one that is attached to a stream.
    pub fn is_attached(&self, number: u64, attachment: &Attachment) -> bool {
        let stream = self.open.get(&number);
        let live = stream.and_then(|stream| stream.live.as_ref());
        live.is_some_and(|live| std::ptr::eq(Arc::as_ptr(&live.waiting), attachment.0.as_ptr()))
    }

    /// Closes the connection to a stream that goes on.
    pub fn detach(&mut self, number: u64) {
        if let Some(stream) = self.open.get_mut(&number) {
            stream.live = None;
        }
    }

    /// Ends a stream: nothing more will be written. It is kept only if somebody may still come
    /// back for it.
    pub fn end(&mut self, number: u64) {
        let delivered = self.is_live(number);
        if delivered {
            self.forget(number);
        } else if let Some(stream) = self.open.get_mut(&number) {
            stream.ended = true;
        }
    }

    fn forget(&mut self, number: u64) {
        self.open.remove(&number);
        self.kept.forget(number);
    }
}

/// Reads an event's id back into stream and sequence.
pub fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (number, sequence) = id.split_once('-')?;
    Some((number.parse().ok()?, sequence.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mcpproxy_testkit::FixedClock;

    use super::*;

    fn streams() -> Streams {
        let clock = Arc::new(FixedClock::default());
        Streams::new(Kept::new(Budget::default(), clock).share())
    }

    /// Writes an answer that nobody comes back for.
    fn unread(streams: &mut Streams, bytes: usize) -> u64 {
        let number = streams.open();
        streams.write(number, &vec![b'x'; bytes].into());
        streams.end(number);
        number
    }

    fn received(items: &mut Items) -> Vec<String> {
        let mut context = Context::from_waker(std::task::Waker::noop());
        std::iter::from_fn(|| match items.poll_recv(&mut context) {
            Poll::Ready(item) => item,
            Poll::Pending => None,
        })
        .map(|item| String::from_utf8_lossy(&item.encode()).into_owned())
        .collect()
    }

    #[test]
    fn a_resumed_stream_brings_what_was_missed() {
        let mut streams = streams();
        let number = streams.open();
        let mut first = streams.attach(number, None).unwrap();
        streams.prime(number);
        streams.write(number, &Bytes::from_static(b"{\"a\":1}"));
        assert_eq!(received(&mut first).len(), 2);
        streams.detach(number);
        streams.write(number, &Bytes::from_static(b"{\"b\":2}"));
        streams.end(number);
        let mut second = streams.attach(number, Some(2)).unwrap();
        assert_eq!(
            received(&mut second),
            ["id: 1-3\nevent: message\ndata: {\"b\":2}\n\n"]
        );
        assert!(
            streams.attach(number, Some(2)).is_none(),
            "delivered and forgotten"
        );
    }

    #[test]
    fn a_new_connection_brings_only_what_none_had() {
        let mut streams = streams();
        streams.write(GENERAL, &Bytes::from_static(b"1"));
        let mut first = streams.attach(GENERAL, None).unwrap();
        streams.write(GENERAL, &Bytes::from_static(b"2"));
        assert_eq!(received(&mut first).len(), 2);
        drop(first);
        streams.write(GENERAL, &Bytes::from_static(b"3"));
        let mut second = streams.attach(GENERAL, None).unwrap();
        assert_eq!(
            received(&mut second),
            ["id: 0-3\nevent: message\ndata: 3\n\n"]
        );
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut streams = streams();
        let number = streams.open();
        for _ in 0..1000 {
            streams.write(number, &Bytes::from_static(&[b'x'; 100]));
        }
        let mut all = streams.attach(number, Some(0)).unwrap();
        assert_eq!(received(&mut all).len(), WAITING);
        for _ in 0..1000 {
            let number = streams.open();
            streams.end(number);
        }
        assert!(streams.open.len() <= STREAMS);
    }

    #[test]
    fn answers_that_nobody_read_are_gone_past_the_budget_of_a_session_or_of_all() {
        let budget = Budget {
            session: 3000,
            all: 5000,
            ..Budget::default()
        };
        let clock = Arc::new(FixedClock::default());
        let kept = Kept::new(budget, clock);
        let (mut one, mut other) = (Streams::new(kept.share()), Streams::new(kept.share()));
        let first = unread(&mut one, 1200);
        let second = unread(&mut one, 1200);
        assert!(one.attach(first, Some(0)).is_some(), "both fit");
        let third = unread(&mut one, 1200);
        let fourth = unread(&mut one, 1200);
        assert!(one.attach(second, Some(0)).is_none(), "its own bound");
        unread(&mut other, 1200);
        unread(&mut other, 1200);
        assert!(kept.bytes() <= 5000);
        assert!(one.attach(third, Some(0)).is_none(), "the bound of all");
        assert!(one.attach(fourth, Some(0)).is_some());
        let huge = unread(&mut other, 10_000);
        assert!(other.attach(huge, Some(0)).is_none(), "never kept");
    }

    #[test]
    fn an_answer_that_nobody_read_is_gone_after_a_while() {
        let clock = Arc::new(FixedClock::default());
        let kept = Kept::new(Budget::default(), Arc::clone(&clock) as _);
        let mut streams = Streams::new(kept.share());
        let early = unread(&mut streams, 10);
        clock.advance(Duration::from_mins(4));
        let late = unread(&mut streams, 10);
        clock.advance(Duration::from_mins(2));
        kept.sweep();
        assert!(streams.attach(early, Some(0)).is_none());
        assert!(streams.attach(late, Some(0)).is_some());
    }

    #[test]
    fn a_connection_that_does_not_read_is_closed_and_may_resume() {
        let mut streams = streams();
        let number = streams.open();
        let idle = streams.attach(number, None).unwrap();
        let message = vec![b'x'; 40 * 1024 * 1024].into();
        streams.write(number, &message);
        streams.write(number, &message);
        assert!(streams.is_live(number), "it has room for one more");
        streams.write(number, &message);
        assert!(!streams.is_live(number));
        drop(idle);
        let mut again = streams.attach(number, None).unwrap();
        assert_eq!(received(&mut again).len(), 1);
        // One that reads is never too slow.
        for _ in 0..3 {
            streams.write(number, &message);
            assert_eq!(received(&mut again).len(), 1);
        }
    }

    #[test]
    fn event_ids_are_read_back() {
        assert_eq!(parse_event_id("3-14"), Some((3, 14)));
        assert_eq!(parse_event_id("x"), None);
    }
}
