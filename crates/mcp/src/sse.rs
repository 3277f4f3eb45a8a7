//! Server-sent events, as both HTTP transports use them: reading with bounds, and writing.

use bytes::{Buf as _, Bytes, BytesMut};
use http::Uri;

use crate::Error;
use crate::line::push_flat;

/// The byte order mark, which a stream may begin with.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The event's name; empty means `message`.
    pub name: String,
    /// The event's data, lines joined by line feeds.
    pub data: Bytes,
    /// The event's id, if it has one.
    pub id: Option<String>,
    /// How long to wait before a reconnect, in milliseconds, if it says so.
    pub retry: Option<u64>,
}

/// What a stream brings next to a reader who holds no long event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Data of an event that has not ended.
    Part(Bytes),
    /// The end of an event, with that of its data which was not handed out before.
    End(Event),
}

/// What may stand before the next line and is no part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ahead {
    /// The byte order mark of the stream.
    Mark,
    /// A line feed, which belongs to the carriage return before it.
    Feed,
    Nothing,
}

/// Splits a byte stream into events.
#[derive(Debug)]
pub struct Decoder {
    buffer: BytesMut,
    searched: usize,
    limit: usize,
    event: Event,
    data: BytesMut,
    has_data: bool,
    /// Whether the buffer starts inside a line of data, whose beginning was handed out.
    inside: bool,
    ahead: Ahead,
}

impl Decoder {
    /// Makes a decoder for events of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            limit,
            event: Event::default(),
            data: BytesMut::new(),
            has_data: false,
            inside: false,
            ahead: Ahead::Mark,
        }
    }

    /// Takes more bytes from the stream.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.buffer.len() + self.data.len() + bytes.len() > self.limit {
            return Err(Error::TooLarge { limit: self.limit });
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns the next whole event, if the bytes taken so far contain one.
    pub fn next_event(&mut self) -> Option<Event> {
        while let Some(line) = self.next_line() {
            if let Some(event) = self.line(&line) {
                return Some(event);
            }
        }
        None
    }

    /// Returns the next event, or part of its data once that is longer than `held` bytes. The
    /// decoder's limit is then one of everything but data, and must leave room for a chunk beside twice
    /// `held`.
    pub fn next_piece(&mut self, held: usize) -> Option<Piece> {
        while let Some(line) = self.next_line() {
            if std::mem::take(&mut self.inside) {
                self.data.extend_from_slice(&line);
            } else if let Some(event) = self.line(&line) {
                return Some(Piece::End(event));
            }
            if self.data.len() > held {
                return Some(Piece::Part(self.data.split().freeze()));
            }
        }
        if self.searched <= held || !(self.inside || self.buffer.starts_with(b"data:")) {
            return None;
        }
        let begun = self.buffer.split_to(self.searched).freeze();
        self.searched = 0;
        if std::mem::replace(&mut self.inside, true) {
            return Some(Piece::Part(begun));
        }
        self.line(&begun);
        Some(Piece::Part(self.data.split().freeze()))
    }

    /// Takes a whole line off the buffer, without its end.
    fn next_line(&mut self) -> Option<Bytes> {
        self.skip();
        let unseen = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(at) = memchr::memchr2(b'\n', b'\r', unseen) else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + at;
        let line = self.buffer.split_to(end).freeze();
        if self.buffer.first() == Some(&b'\r') {
            self.ahead = Ahead::Feed;
        }
        self.buffer.advance(1);
        self.searched = 0;
        Some(line)
    }

    /// Drops what stands before the next line, once enough is there to tell.
    fn skip(&mut self) {
        let what = match self.ahead {
            Ahead::Mark => MARK,
            Ahead::Feed => b"\n",
            Ahead::Nothing => return,
        };
        if self.buffer.len() < what.len() && what.starts_with(&self.buffer) {
            return;
        }
        self.ahead = Ahead::Nothing;
        if self.buffer.starts_with(what) {
            self.buffer.advance(what.len());
            self.searched = 0;
        }
    }

    fn line(&mut self, line: &Bytes) -> Option<Event> {
        if line.is_empty() {
            return self.dispatch();
        }
        let (name, value) = match memchr::memchr(b':', line) {
            Some(at) => {
                let value = line.slice(at + 1..);
                let value = if value.first() == Some(&b' ') {
                    value.slice(1..)
                } else {
                    value
                };
                (line.slice(..at), value)
            }
            None => (line.clone(), Bytes::new()),
        };
        let text = || String::from_utf8_lossy(&value).into_owned();
        match name.as_ref() {
            b"data" => {
                if self.has_data {
                    self.data.extend_from_slice(b"\n");
                }
                self.has_data = true;
                self.data.extend_from_slice(&value);
            }
            b"event" => self.event.name = text(),
            b"id" if !value.contains(&0) => self.event.id = Some(text()),
            b"retry" => self.event.retry = text().parse().ok(),
            _ => {}
        }
        None
    }

    /// Ends an event. One without data is still told: its id and retry matter for resuming.
    fn dispatch(&mut self) -> Option<Event> {
        let mut event = std::mem::take(&mut self.event);
        event.data = self.data.split().freeze();
        let told =
            std::mem::take(&mut self.has_data) || event.id.is_some() || event.retry.is_some();
        told.then_some(event)
    }
}

/// Writes one event that carries a message.
pub fn encode(message: &[u8], id: Option<&str>) -> Bytes {
    let mut out = Vec::with_capacity(message.len() + 48);
    if let Some(id) = id {
        out.extend_from_slice(b"id: ");
        out.extend_from_slice(id.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"event: message\ndata: ");
    push_flat(&mut out, message);
    out.extend_from_slice(b"\n\n");
    out.into()
}

/// Writes the event that opens a resumable stream: an id, a delay, no data.
pub fn priming(id: &str, retry_ms: u64) -> Bytes {
    format!("id: {id}\nretry: {retry_ms}\ndata: \n\n").into()
}

/// A comment that keeps a silent stream open.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// Resolves the address for messages that a stream of the older transport names, against the
/// stream's own. Another origin is refused: credentials that were configured for one host are not
/// sent to another.
pub fn endpoint(base: &Uri, named: &str) -> Result<Uri, Error> {
    let fault = || Error::Transport("upstream named an address of another origin".to_owned());
    if named.starts_with("//") {
        return Err(fault());
    }
    let named: Uri = named.parse().map_err(|_| fault())?;
    let parts = match (named.scheme(), named.authority()) {
        (None, None) => {
            let mut parts = base.clone().into_parts();
            parts.path_and_query = named.path_and_query().cloned();
            parts
        }
        (scheme, authority) if scheme == base.scheme() && authority == base.authority() => {
            named.into_parts()
        }
        _ => return Err(fault()),
    };
    Uri::from_parts(parts).map_err(|_| fault())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(chunks: &[&[u8]]) -> Vec<(String, String, Option<String>, Option<u64>)> {
        let mut decoder = Decoder::new(1000);
        let mut events = Vec::new();
        for chunk in chunks {
            decoder.push(chunk).unwrap();
            while let Some(event) = decoder.next_event() {
                let data = String::from_utf8_lossy(&event.data).into_owned();
                events.push((event.name, data, event.id, event.retry));
            }
        }
        events
    }

    #[test]
    fn events_are_read_in_every_spelling() {
        let message = |data: &str| ("message".to_owned(), data.to_owned(), None, None);
        let plain = |data: &str| (String::new(), data.to_owned(), None, None);
        assert_eq!(decode(&[b"event: message\ndata: {}\n\n"]), [message("{}")]);
        assert_eq!(
            decode(&[b"event: message\r\ndata: {}\r\n\r\n"]),
            [message("{}")]
        );
        assert_eq!(decode(&[b"data:a\rdata: b\r\rx"]), [plain("a\nb")]);
        assert_eq!(decode(&[b"da", b"ta: a\r", b"\n\r", b"\n"]), [plain("a")]);
        assert_eq!(decode(&[b": ping\n\n", b"data: x\n\n"]), [plain("x")]);
        assert_eq!(
            decode(&[b"id: 7\nretry: 50\ndata:\n\n"]),
            [(String::new(), String::new(), Some("7".to_owned()), Some(50))]
        );
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut decoder = Decoder::new(100);
        decoder.push(&[b'x'; 60]).unwrap();
        assert!(matches!(
            decoder.push(&[b'x'; 60]),
            Err(Error::TooLarge { limit: 100 })
        ));
    }

    /// Reads a stream in pieces and joins the data of each event again.
    fn pieces(stream: &[u8], chunk: usize, held: usize) -> Vec<(String, Option<String>)> {
        let mut decoder = Decoder::new(2 * held + chunk + 64);
        let (mut events, mut data) = (Vec::new(), Vec::new());
        for chunk in stream.chunks(chunk) {
            decoder.push(chunk).unwrap();
            while let Some(piece) = decoder.next_piece(held) {
                match piece {
                    Piece::Part(part) => data.extend_from_slice(&part),
                    Piece::End(event) => {
                        data.extend_from_slice(&event.data);
                        let text = String::from_utf8(std::mem::take(&mut data)).unwrap();
                        events.push((text, event.id));
                    }
                }
            }
        }
        events
    }

    #[test]
    fn a_long_event_comes_in_pieces_and_is_the_same() {
        let long = "y".repeat(500);
        let stream = format!(
            "id: 1\ndata: {long}\r\ndata:  {long}\ndata\n\n: {}\ndata:a\r\rdata: data: b\n\n",
            "c".repeat(20)
        );
        let first = (format!("{long}\n {long}\n"), Some("1".to_owned()));
        let expect = [first, ("a".to_owned(), None), ("data: b".to_owned(), None)];
        for chunk in [1, 2, 3, 7, 64, 501, 2000] {
            for held in [20, 100, 499, 600] {
                assert_eq!(
                    pieces(stream.as_bytes(), chunk, held),
                    expect,
                    "{chunk} {held}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_data_stays_bounded_in_pieces_too() {
        let mut decoder = Decoder::new(100);
        let mut fault = None;
        for _ in 0..10 {
            fault = fault.or(decoder.push(b"id: xxxxxxxxxxxxxxxx").err());
            assert_eq!(decoder.next_piece(20), None);
        }
        assert!(matches!(fault, Some(Error::TooLarge { limit: 100 })));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(message in "\\{[a-z\" :]{0,30}\\}", cut in 0_usize..60) {
            let encoded = encode(message.as_bytes(), Some("3"));
            let (one, other) = encoded.split_at(cut.min(encoded.len()));
            let events = decode(&[one, other]);
            prop_assert_eq!(events, [("message".to_owned(), message, Some("3".to_owned()), None)]);
        }
    }

    #[test]
    fn only_the_stream_s_own_origin_is_posted_to() {
        let base: Uri = "http://host:1/sse".parse().unwrap();
        let check = |named: &str, expect: Option<&str>| {
            let found = endpoint(&base, named).ok().map(|uri| uri.to_string());
            assert_eq!(found.as_deref(), expect, "{named}");
        };
        check("/messages?id=1", Some("http://host:1/messages?id=1"));
        check("http://host:1/m", Some("http://host:1/m"));
        check("http://other/m", None);
        check("https://host:1/m", None);
        check("//other/m", None);
    }
}
