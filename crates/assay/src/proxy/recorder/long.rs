//! Lines too long to be held: read along with as they pass, their long parts hashed on the way.

use mcpproxy_mcp::tap::{Part, Seen, Tap, Watch};
use mcpproxy_notary::hash::{Digest, Hasher, Limits};

use super::{Fate, Line, Message, Recorder};
use crate::args::Profile;

/// A long line that is passing by.
#[derive(Debug)]
pub(in crate::proxy) struct Long {
    tap: Tap,
    heard: Heard,
    first: Option<u8>,
    /// Whether many a reader would take it for several lines.
    breaks: Breaks,
}

/// Whether a line holds a break, other than at its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Breaks {
    None,
    /// One came, and nothing after it but blanks.
    Last,
    Inside,
}

#[derive(Debug)]
struct Heard {
    fresh: Fresh,
    hasher: Option<(Part, Hasher)>,
    messages: Vec<Message>,
    /// Messages of one line that are kept; a longer batch is not read to its end.
    full: bool,
}

/// What a new hasher is made of.
#[derive(Debug)]
struct Fresh {
    pepper: Option<mcpproxy_notary::hash::Pepper>,
    scratch: std::path::PathBuf,
}

/// Messages of one long line that are followed.
const MOST: usize = 4096;

impl Watch for Heard {
    fn part(&mut self, part: Part, bytes: &[u8]) {
        let (own, hasher) = self.hasher.get_or_insert_with(|| {
            let pepper = self.fresh.pepper.as_ref();
            let folder = Some(self.fresh.scratch.as_path());
            (part, Hasher::new(pepper, Limits::default(), folder))
        });
        // A part that stands twice is doubtful; what is hashed is the first.
        if *own == part {
            hasher.push(bytes);
        }
    }

    fn message(&mut self, seen: Seen) {
        let hashed = self.hasher.take().map(|(_, hasher)| hasher.finish().0);
        if self.messages.len() < MOST {
            self.messages.push(Message { seen, hashed });
        } else {
            self.full = true;
        }
    }
}

impl Recorder {
    /// Begins to read along with a long line.
    pub(in crate::proxy) fn long(&self) -> Long {
        Long {
            tap: Tap::default(),
            heard: Heard {
                fresh: Fresh {
                    pepper: self.settings.pepper.clone(),
                    scratch: self.settings.scratch.clone(),
                },
                hasher: None,
                messages: Vec::new(),
                full: false,
            },
            first: None,
            breaks: Breaks::None,
        }
    }

    /// Judges and records a long line on its way to the upstream; `stopped` says why it cannot go
    /// on in any case.
    pub(in crate::proxy) fn long_request(&self, long: Long, stopped: Option<String>) -> Fate {
        let guard = self.settings.profile == Profile::Guard;
        let stopped = stopped.or_else(|| guard.then(|| "the message is too long".to_owned()));
        let broken = long.breaks == Breaks::Inside;
        let mut line = self.ended_line(long);
        if broken {
            line.trouble = Some("a line break inside the message".to_owned());
        }
        if stopped.is_some() {
            line.trouble = stopped;
            return self.too_long(&line);
        }
        self.decide(&line)
    }

    /// Records what a long line answers.
    pub(in crate::proxy) fn long_response(&self, long: Long) -> Fate {
        self.answer(&self.ended_line(long))
    }

    fn ended_line(&self, long: Long) -> Line<'static> {
        let (wall, tick) = (self.clock.wall(), self.clock.tick());
        let partial = long.tap.partial().clone();
        let lost = long.tap.finish().err();
        let lost = lost.map(|lost| format!("invalid JSON at byte {}", lost.at));
        let full = long.heard.full.then(|| "the batch is too long".to_owned());
        let unread = long
            .heard
            .messages
            .iter()
            .filter_map(|message| message.hashed);
        let unread = unread
            .into_iter()
            .any(|digest: Digest| !digest.is_canonical());
        let unread = unread.then(|| "a value has no canonical form".to_owned());
        Line {
            messages: long.heard.messages,
            text: None,
            batch: long.first == Some(b'['),
            trouble: lost.or(full).or(unread),
            partial,
            wall,
            tick,
        }
    }
}

impl Long {
    /// Reads the next bytes of the line, its end left out.
    pub(in crate::proxy) fn push(&mut self, bytes: &[u8]) {
        let begun = match self.first {
            Some(_) => bytes,
            None => bytes.trim_ascii_start(),
        };
        self.first = self.first.or(begun.first().copied());
        self.look_for_breaks(begun);
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        self.tap.push(bytes, &mut self.heard);
    }

    fn look_for_breaks(&mut self, bytes: &[u8]) {
        let rest = match self.breaks {
            Breaks::Inside => return,
            Breaks::Last => Some(bytes),
            Breaks::None => memchr::memchr2(b'\r', b'\n', bytes).and_then(|at| bytes.get(at..)),
        };
        if let Some(rest) = rest {
            let inside = !rest.trim_ascii_start().is_empty();
            self.breaks = if inside { Breaks::Inside } else { Breaks::Last };
        }
    }
}
