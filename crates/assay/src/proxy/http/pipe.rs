//! Two channels that the pumps take for pipes.

use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc::{Receiver, Sender};

use super::link::{Answer, Sent};
use super::spool::{Room, Spool, Stored};
use crate::proxy::calls::Number;
use crate::proxy::lines::Framed;
use crate::proxy::pump::{Gone, Toward};

/// Takes messages; each becomes one request.
pub(super) struct Target {
    messages: Sender<Sent>,
    room: Room,
    /// A long message, as far as it came, or why it cannot be set aside.
    long: Option<io::Result<Spool>>,
    /// The same message, whole.
    whole: Option<Stored>,
    heads: Arc<AtomicBool>,
}

impl Target {
    /// Hands messages to `messages`, and notes in `heads` that the client puts heads before its
    /// own.
    pub(super) fn new(messages: Sender<Sent>, room: Room, heads: Arc<AtomicBool>) -> Self {
        Self {
            messages,
            room,
            long: None,
            whole: None,
            heads,
        }
    }

    fn send(&self, body: Stored, line: Number) -> io::Result<()> {
        let sent = self.messages.blocking_send(Sent { line, body });
        sent.map_err(|_| ErrorKind::BrokenPipe.into())
    }

    fn note_head(&self, message: Framed<'_>) {
        if message.head > 0 {
            self.heads.store(true, Ordering::Relaxed);
        }
    }
}

impl Toward for Target {
    fn whole(&mut self, message: Framed<'_>, line: Number) -> io::Result<()> {
        self.note_head(message);
        let body = message.text().trim_ascii().to_vec();
        self.send(Stored::Memory(body.into()), line)
    }

    fn part(&mut self, part: Framed<'_>) -> io::Result<()> {
        self.note_head(part);
        let long = self.long.take().unwrap_or_else(|| Ok(self.room.spool()));
        // What cannot be set aside is refused when all of it was read.
        self.long = Some(long.and_then(|mut spool| {
            spool.push(part.text())?;
            Ok(spool)
        }));
        Ok(())
    }

    fn trouble(&mut self, part: Framed<'_>) -> Option<String> {
        // The end of the line is not part of the request.
        let bytes = part.text().trim_ascii_end();
        self.part(Framed { bytes, head: 0 }).ok()?;
        match self.long.take()?.and_then(Spool::finish) {
            Ok(whole) => {
                self.whole = Some(whole);
                None
            }
            Err(fault) => Some(fault.to_string()),
        }
    }

    fn end(&mut self, _: Framed<'_>, line: Number) -> io::Result<()> {
        match self.whole.take() {
            Some(whole) => self.send(whole, line),
            None => Ok(()),
        }
    }

    fn withdraw(&mut self) -> Gone {
        (self.long, self.whole) = (None, None);
        Gone::Nothing
    }
}

/// Gives messages as lines, until nobody sends any more.
pub(super) struct Source<F> {
    messages: Receiver<Answer>,
    /// Is told of a message before it is read.
    arrives: F,
    /// The message that is being read, and how much of it was.
    now: Option<(Stored, u64)>,
    /// A head that is to be read before it.
    head: Vec<u8>,
    heads: Arc<AtomicBool>,
}

impl<F: Fn(&Answer)> Source<F> {
    /// Reads from `messages`, with heads before them where the client has them.
    pub(super) fn new(messages: Receiver<Answer>, heads: Arc<AtomicBool>, arrives: F) -> Self {
        Self {
            messages,
            arrives,
            now: None,
            head: Vec::new(),
            heads,
        }
    }

    fn next(&mut self) -> Option<(Stored, u64)> {
        let answer = self.messages.blocking_recv()?;
        (self.arrives)(&answer);
        let message = answer.message;
        if self.heads.load(Ordering::Relaxed) {
            // The line end that follows belongs to the message, as blanks do.
            let length = message.len() + 1;
            self.head = format!("Content-Length: {length}\r\n\r\n").into_bytes();
        }
        Some((message, 0))
    }
}

impl<F: Fn(&Answer)> Read for Source<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let now = self.now.take().or_else(|| self.next());
        let Some((message, at)) = now else {
            return Ok(0);
        };
        if !self.head.is_empty() {
            let count = self.head.as_slice().read(buffer)?;
            self.head.drain(..count);
            self.now = Some((message, at));
            return Ok(count);
        }
        let count = message.read(at, buffer)?;
        let at = at + u64::try_from(count).unwrap_or(0);
        match buffer.get_mut(count) {
            Some(end) if at == message.len() => {
                *end = b'\n';
                Ok(count + 1)
            }
            _ => {
                self.now = Some((message, at));
                Ok(count)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::channel;

    use super::*;

    fn given(heads: bool, buffer: usize) -> String {
        let (send, receive) = channel(4);
        for text in ["{\"a\":1}", "[]"] {
            let message = Stored::flat(text.as_bytes());
            let (line, failure) = (None, None);
            let answer = Answer {
                message,
                line,
                failure,
            };
            send.blocking_send(answer).unwrap();
        }
        drop(send);
        let mut source = Source::new(receive, Arc::new(AtomicBool::new(heads)), |_| {});
        let (mut all, mut part) = (Vec::new(), vec![0; buffer]);
        loop {
            let count = source.read(&mut part).unwrap();
            if count == 0 {
                return String::from_utf8(all).unwrap();
            }
            all.extend_from_slice(&part[..count]);
        }
    }

    #[test]
    fn messages_are_read_as_lines_or_behind_heads() {
        for buffer in [1, 2, 3, 7, 8, 9, 100] {
            assert_eq!(given(false, buffer), "{\"a\":1}\n[]\n", "{buffer}");
            let heads = "Content-Length: 8\r\n\r\n{\"a\":1}\nContent-Length: 3\r\n\r\n[]\n";
            assert_eq!(given(true, buffer), heads, "{buffer}");
        }
    }

    #[test]
    fn what_cannot_be_set_aside_is_trouble_of_that_message_alone() {
        let (send, mut receive) = channel(4);
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("gone");
        let mut target = Target::new(send, Room::new(&gone), Arc::default());
        let long = vec![b'x'; 1 << 20];
        let bare = |bytes| Framed { bytes, head: 0 };
        target.part(bare(&long)).unwrap();
        assert!(target.trouble(bare(b"y\n")).is_some());
        assert_eq!(target.withdraw(), Gone::Nothing);
        target.end(bare(b"y\n"), 0).unwrap();
        target.whole(bare(b" {} \n"), 1).unwrap();
        let arrived = receive.blocking_recv().unwrap();
        assert_eq!(arrived.line, 1);
        assert_eq!(arrived.body.range(0, 9).unwrap(), b"{}");
    }
}
