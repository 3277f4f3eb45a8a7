//! The two pumps of a session, each a thread of its own with blocking reads and writes.
//!
//! Requests: a line is judged and its intent recorded, then it goes on. Answers: bytes go on as
//! they come and are recorded after, unless the record must be on disk before (strict). A line too
//! long to be held goes on in parts, all but its end, which waits for the record.

use std::io::{self, ErrorKind, Read, Write};

use super::calls::Number;
use super::lines::{Framed, Lines, Piece};
use super::outlet::Outlet;
use super::recorder::{Fate, Long, Recorder};
use crate::args::Profile;

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// Bytes of a long line that are read before its messages are counted.
const SLICE: usize = 32 << 10;
/// Longest line that is held where nothing must be.
const AUDITED: usize = 1 << 20;
/// Longest line that is held to be judged; a longer one is refused.
const WHOLE: usize = 16 << 20;

/// Where requests go.
pub(super) trait Toward {
    /// Takes a whole message, the line of that number.
    fn whole(&mut self, message: Framed<'_>, line: Number) -> io::Result<()>;
    /// Takes part of a long message.
    fn part(&mut self, part: Framed<'_>) -> io::Result<()>;
    /// Sees the end of a long message, which does not go yet; returns why it never can, if so.
    fn trouble(&mut self, part: Framed<'_>) -> Option<String>;
    /// Lets a long message, the line of that number, go to its end, which was seen before.
    fn end(&mut self, part: Framed<'_>, line: Number) -> io::Result<()>;
    /// Takes back the parts of a message that must not go on, and tells what has gone of it.
    fn withdraw(&mut self) -> Gone;
}

/// What has already gone of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    Nothing,
    Parts,
}

/// A child's input, which takes bytes as they come.
pub(super) struct Pipe<W>(pub(super) W);

impl<W: Write> Toward for Pipe<W> {
    fn whole(&mut self, message: Framed<'_>, _: Number) -> io::Result<()> {
        self.0.write_all(message.bytes)
    }

    fn part(&mut self, part: Framed<'_>) -> io::Result<()> {
        self.0.write_all(part.bytes)
    }

    fn trouble(&mut self, _: Framed<'_>) -> Option<String> {
        None
    }

    fn end(&mut self, part: Framed<'_>, _: Number) -> io::Result<()> {
        self.0.write_all(part.bytes)
    }

    fn withdraw(&mut self) -> Gone {
        Gone::Parts
    }
}

/// Why a pump stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The input ended.
    Ended,
    /// The other side does not take any more.
    Closed,
    /// A long line could not be recorded after part of it had gone.
    Unrecorded,
}

impl From<io::Error> for Stopped {
    fn from(_: io::Error) -> Self {
        Self::Closed
    }
}

/// Moves requests from the client to the upstream until one of them ends.
pub(super) fn outward(
    input: &mut dyn Read,
    upstream: &mut dyn Toward,
    recorder: &Recorder,
    outlet: &Outlet,
) -> Stopped {
    let guard = recorder.settings().profile == Profile::Guard;
    let held = if guard { WHOLE } else { AUDITED };
    let tell = |answer: Option<Vec<u8>>, instead: Framed<'_>| {
        say(outlet, answer, instead).inspect_err(|_| recorder.note_unheard(1))
    };
    let mut long: Option<Long> = None;
    let mut each = |piece: Piece<'_>| -> Result<(), Stopped> {
        match piece {
            Piece::Whole(message) => {
                let fate = match message.head {
                    0 => recorder.request(message.text()),
                    _ => recorder.headed_request(message.text()),
                };
                match fate {
                    Fate::Forward => upstream.whole(message, recorder.line())?,
                    Fate::Refuse(answer) => tell(answer, message)?,
                }
                recorder.next_line();
            }
            Piece::Part(part) => {
                let long = long.get_or_insert_with(|| recorder.long());
                for slice in part.text().chunks(SLICE) {
                    long.push(slice);
                    tell(recorder.relieve_request(long), part)?;
                }
                if !guard {
                    upstream.part(part)?;
                }
            }
            Piece::End(part) => {
                let mut whole = long.take().unwrap_or_else(|| recorder.long());
                whole.push(part.text());
                let trouble = if guard { None } else { upstream.trouble(part) };
                match recorder.long_request(whole, trouble) {
                    Fate::Forward => upstream.end(part, recorder.line())?,
                    Fate::Refuse(answer) => {
                        tell(answer, part)?;
                        // What has gone of it must never become a message.
                        if !guard && upstream.withdraw() == Gone::Parts {
                            return Err(Stopped::Unrecorded);
                        }
                    }
                }
                recorder.next_line();
            }
        }
        Ok(())
    };
    pump(input, Lines::new(held), &mut each)
}

/// Moves answers from the upstream to the client until one of them ends.
pub(super) fn inward(upstream: &mut dyn Read, recorder: &Recorder, outlet: &Outlet) -> Stopped {
    let settings = recorder.settings();
    if settings.strict {
        strict(upstream, recorder, outlet)
    } else if settings.profile == Profile::Guard {
        guarded(upstream, recorder, outlet)
    } else {
        audited(upstream, recorder, outlet)
    }
}

/// Passes bytes on as they come, and records after.
fn audited(upstream: &mut dyn Read, recorder: &Recorder, outlet: &Outlet) -> Stopped {
    let mut lines = Lines::new(AUDITED);
    let mut long: Option<Long> = None;
    let mut each = |piece: Piece<'_>| -> Result<(), Stopped> {
        drop(answered(piece, &mut long, recorder));
        Ok(())
    };
    let mut buffer = vec![0; CHUNK];
    loop {
        let Some(bytes) = read(upstream, &mut buffer) else {
            return lines.finish(&mut each).err().unwrap_or(Stopped::Ended);
        };
        let passed = outlet.pass(bytes);
        if passed.is_err() {
            recorder.note_unheard(recorder.waiting());
        }
        // What the upstream answered is recorded even if nobody takes it any more.
        if let Err(stopped) = lines.push(bytes, &mut each) {
            return stopped;
        }
        if passed.is_err() {
            return Stopped::Closed;
        }
    }
}

/// Passes message by message on, since those of the guard stand between them, and records after.
fn guarded(upstream: &mut dyn Read, recorder: &Recorder, outlet: &Outlet) -> Stopped {
    let mut long: Option<Long> = None;
    let mut each = |piece: Piece<'_>| -> Result<(), Stopped> {
        // A client that has read the first head may answer in kind at once.
        note_head(piece, recorder);
        let passed = match piece {
            Piece::Whole(part) | Piece::End(part) => outlet.pass_piece(part.bytes, true),
            Piece::Part(part) => outlet.pass_piece(part.bytes, false),
        };
        if passed.is_err() {
            recorder.note_unheard(recorder.waiting());
        }
        drop(answered(piece, &mut long, recorder));
        Ok(passed?)
    };
    pump(upstream, Lines::new(AUDITED), &mut each)
}

/// Records each message before it is passed on.
fn strict(upstream: &mut dyn Read, recorder: &Recorder, outlet: &Outlet) -> Stopped {
    let mut long: Option<Long> = None;
    let mut each = |piece: Piece<'_>| -> Result<(), Stopped> {
        note_head(piece, recorder);
        let waiting = recorder.waiting();
        let fate = answered(piece, &mut long, recorder);
        let passed = match (piece, fate) {
            (Piece::Whole(message), Fate::Refuse(answer)) => say(outlet, answer, message),
            (Piece::End(_), Fate::Refuse(_)) => return Err(Stopped::Unrecorded),
            (Piece::Whole(part) | Piece::End(part), Fate::Forward) => {
                outlet.pass_piece(part.bytes, true)
            }
            (Piece::Part(part), _) => outlet.pass_piece(part.bytes, false),
        };
        if passed.is_err() {
            recorder.note_unheard(waiting);
        }
        Ok(passed?)
    };
    pump(upstream, Lines::new(AUDITED), &mut each)
}

/// Remembers that the upstream itself puts heads before its messages.
fn note_head(piece: Piece<'_>, recorder: &Recorder) {
    if let Piece::Whole(part) | Piece::Part(part) = piece
        && part.head > 0
    {
        recorder.saw_head();
    }
}

/// Records what a piece of the upstream's stream answers.
fn answered(piece: Piece<'_>, long: &mut Option<Long>, recorder: &Recorder) -> Fate {
    let mut passing = |part: Framed<'_>| {
        let long = long.get_or_insert_with(|| recorder.long().answering());
        for slice in part.text().chunks(SLICE) {
            long.push(slice);
            recorder.relieve_response(long);
        }
    };
    match piece {
        Piece::Whole(message) => recorder.response(message.text()),
        Piece::Part(part) => {
            passing(part);
            Fate::Forward
        }
        Piece::End(part) => {
            passing(part);
            let whole = long.take();
            whole.map_or(Fate::Forward, |whole| recorder.long_response(whole))
        }
    }
}

fn pump(
    input: &mut dyn Read,
    mut lines: Lines,
    each: &mut dyn FnMut(Piece<'_>) -> Result<(), Stopped>,
) -> Stopped {
    let mut buffer = vec![0; CHUNK];
    while let Some(bytes) = read(input, &mut buffer) {
        if let Err(stopped) = lines.push(bytes, &mut *each) {
            return stopped;
        }
    }
    lines.finish(each).err().unwrap_or(Stopped::Ended)
}

/// Reads what is there; nothing at the end, and where reading fails.
fn read<'a>(input: &mut dyn Read, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let count = loop {
        match input.read(buffer) {
            Err(fault) if fault.kind() == ErrorKind::Interrupted => {}
            other => break other.ok()?,
        }
    };
    buffer.get(..count).filter(|bytes| !bytes.is_empty())
}

/// Says an answer in the framing of the message that it stands for.
fn say(outlet: &Outlet, answer: Option<Vec<u8>>, instead: Framed<'_>) -> io::Result<()> {
    let Some(mut answer) = answer else {
        return Ok(());
    };
    if instead.head > 0 {
        let head = format!("Content-Length: {}\r\n\r\n", answer.len());
        return outlet.say(&[head.as_bytes(), &answer].concat());
    }
    answer.push(b'\n');
    outlet.say(&answer)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use clap::{Args as _, FromArgMatches as _};

    use super::*;
    use crate::args::McpProxy;
    use crate::output::Form;
    use crate::proxy::setup;

    /// A client that answers in kind as soon as it has read anything.
    struct Eager(Arc<Recorder>, Arc<Mutex<Vec<Fate>>>);

    impl Write for Eager {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
            self.1.lock().unwrap().push(self.0.headed_request(ping));
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_client_may_answer_the_first_head_at_once() {
        for more in [&[][..], &["--strict"][..]] {
            let folder = tempfile::tempdir().unwrap();
            let policy = folder.path().join("policy.yaml");
            std::fs::write(&policy, "version: \"1\"\ndefault: allow\n").unwrap();
            let line = McpProxy::augment_args(clap::Command::new("mcp-proxy"));
            let audit = folder.path().join("audit");
            let mut words = vec!["mcp-proxy", "--profile", "guard", "--policy"];
            words.extend([policy.to_str().unwrap(), "--audit-dir"]);
            words.push(audit.to_str().unwrap());
            words.extend(more);
            words.extend(["--", "cat"]);
            let args =
                McpProxy::from_arg_matches(&line.try_get_matches_from(words).unwrap()).unwrap();
            let keys = folder.path().join("keys");
            let setup = setup::prepare(args, &keys, Form::Text).unwrap();
            let recorder = Arc::new(setup.recorder);
            let fates = Arc::new(Mutex::new(Vec::new()));
            let client = Eager(Arc::clone(&recorder), Arc::clone(&fates));
            let outlet = Outlet::new(Box::new(client));
            let stopped = inward(&mut &b"Content-Length: 2\r\n\r\n{}"[..], &recorder, &outlet);
            assert_eq!(stopped, Stopped::Ended);
            assert_eq!(*fates.lock().unwrap(), [Fate::Forward], "{more:?}");
        }
    }
}
