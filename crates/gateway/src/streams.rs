//! Event streams of a legacy session that can be resumed: what was sent is kept, within bounds,
//! until the stream has ended and was delivered.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use mcpproxy_mcp::sse;
use tokio::sync::mpsc;

/// The stream for what belongs to no request.
pub const GENERAL: u64 = 0;
/// Events kept for one stream; the oldest go first.
const EVENTS: usize = 256;
/// Bytes kept for one stream; the oldest events go first.
const BYTES: usize = 4 * 1024 * 1024;
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

/// The streams of one session.
#[derive(Debug, Default)]
pub struct Streams {
    next: u64,
    open: HashMap<u64, Stream>,
}

#[derive(Debug, Default)]
struct Stream {
    sequence: u64,
    /// The last event that was handed to a connection.
    handed: u64,
    events: VecDeque<(u64, Bytes)>,
    bytes: usize,
    live: Option<mpsc::Sender<Item>>,
    ended: bool,
}

impl Streams {
    /// Opens a stream for one request and returns its number.
    pub fn open(&mut self) -> u64 {
        self.next += 1;
        if self.open.len() >= STREAMS {
            let ended = self.open.iter().filter(|(_, stream)| stream.ended);
            if let Some(oldest) = ended.map(|(number, _)| *number).min() {
                self.open.remove(&oldest);
            }
        }
        self.open.insert(self.next, Stream::default());
        self.next
    }

    /// Attaches a live connection to a stream and hands it what came after `seen`, or what no
    /// connection was handed yet. Returns nothing for a stream that is not known.
    pub fn attach(&mut self, number: u64, seen: Option<u64>) -> Option<mpsc::Receiver<Item>> {
        if number == GENERAL {
            self.open.entry(GENERAL).or_default();
        }
        let stream = self.open.get_mut(&number)?;
        let (sender, receiver) = mpsc::channel(EVENTS + 16);
        let seen = seen.unwrap_or(stream.handed);
        for (sequence, message) in &stream.events {
            if *sequence > seen {
                let id = format!("{number}-{sequence}");
                // The channel holds more than what can have been kept.
                drop(sender.try_send(Item::Message {
                    id,
                    message: message.clone(),
                }));
            }
        }
        stream.handed = stream.sequence;
        if stream.ended {
            self.open.remove(&number);
        } else {
            stream.live = Some(sender);
        }
        Some(receiver)
    }

    /// Tells whether somebody is connected to a stream.
    pub fn is_live(&self, number: u64) -> bool {
        let live = self
            .open
            .get(&number)
            .and_then(|stream| stream.live.as_ref());
        live.is_some_and(|live| !live.is_closed())
    }

    /// Hands over the id that opens a resumable stream.
    pub fn prime(&mut self, number: u64) {
        let Some(stream) = self.open.get_mut(&number) else {
            return;
        };
        stream.sequence += 1;
        let id = format!("{number}-{}", stream.sequence);
        if let Some(live) = &stream.live {
            drop(live.try_send(Item::Prime { id }));
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
            if live
                .try_send(Item::Message {
                    id,
                    message: message.clone(),
                })
                .is_ok()
            {
                stream.handed = stream.sequence;
            } else {
                // Gone, or too slow to be waited for: it may resume.
                stream.live = None;
            }
        }
        stream.bytes += message.len();
        stream.events.push_back((stream.sequence, message.clone()));
        while stream.events.len() > EVENTS || (stream.bytes > BYTES && stream.events.len() > 1) {
            if let Some((_, oldest)) = stream.events.pop_front() {
                stream.bytes -= oldest.len();
            }
        }
    }

    /// Gives a silent connection a sign of life. Returns false when nobody is there.
    pub fn keep_alive(&mut self, number: u64) -> bool {
        let live = self
            .open
            .get(&number)
            .and_then(|stream| stream.live.as_ref());
        live.is_some_and(|live| live.try_send(Item::KeepAlive).is_ok())
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
            self.open.remove(&number);
        } else if let Some(stream) = self.open.get_mut(&number) {
            stream.ended = true;
        }
    }
}

/// Reads an event's id back into stream and sequence.
pub fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (number, sequence) = id.split_once('-')?;
    Some((number.parse().ok()?, sequence.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(receiver: &mut mpsc::Receiver<Item>) -> Vec<String> {
        std::iter::from_fn(|| receiver.try_recv().ok())
            .map(|item| String::from_utf8_lossy(&item.encode()).into_owned())
            .collect()
    }

    #[test]
    fn a_resumed_stream_brings_what_was_missed() {
        let mut streams = Streams::default();
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
        let mut streams = Streams::default();
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
        let mut streams = Streams::default();
        let number = streams.open();
        for _ in 0..1000 {
            streams.write(number, &Bytes::from_static(&[b'x'; 100]));
        }
        let mut all = streams.attach(number, Some(0)).unwrap();
        assert_eq!(received(&mut all).len(), EVENTS);
        for _ in 0..1000 {
            let number = streams.open();
            streams.end(number);
        }
        assert!(streams.open.len() <= STREAMS);
    }

    #[test]
    fn event_ids_are_read_back() {
        assert_eq!(parse_event_id("3-14"), Some((3, 14)));
        assert_eq!(parse_event_id("x"), None);
    }
}
