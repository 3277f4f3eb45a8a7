//! Lines too long to be held: read along with as they pass, their long parts hashed on the way.

use mcpproxy_mcp::tap::{Part, Seen, Tap, Watch};
use mcpproxy_notary::hash::{Digest, Hasher, Limits};

use super::request::{almost_a_call, mentions, names_a_call};
use super::{Fate, Line, Message, Recorder, ended, matters};
use crate::args::Profile;

/// A long line that is passing by.
#[derive(Debug)]
pub(in crate::proxy) struct Long {
    tap: Tap,
    heard: Heard,
    /// Whether anything but blanks has come.
    begun: bool,
    /// Whether many a reader would take it for several lines.
    breaks: Breaks,
    /// Whether it may name the method of calls, in whatever writing.
    mentions: Mentions,
    /// The digest of all of it, on its way to the upstream.
    whole: Option<Hasher>,
    /// Whether messages of it were recorded before its end.
    relieved: bool,
    /// The refusal of the whole, once part of it could not be recorded.
    refused: Option<Fate>,
}

/// Why a guard refuses a long line.
const TOO_LONG: &str = "the message is too long";

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
}

/// What a new hasher is made of.
#[derive(Debug)]
struct Fresh {
    pepper: Option<mcpproxy_notary::hash::Pepper>,
    scratch: std::path::PathBuf,
}

/// How much of a piece is looked at again with the next.
const TAIL: usize = 4;

/// Messages of one long line that are kept before they are recorded.
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
        if matters(&seen) {
            self.messages.push(Message { seen, hashed });
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
            },
            begun: false,
            breaks: Breaks::None,
            mentions: Mentions::default(),
            whole: Some(Hasher::raw(self.settings.pepper.as_ref())),
            relieved: false,
            refused: None,
        }
    }

    /// Records the messages that a long line on its way to the upstream has brought so far, once
    /// they are many: a batch may hold more of them than memory should. Returns what a guard says.
    pub(in crate::proxy) fn relieve_request(&self, long: &mut Long) -> Option<Vec<u8>> {
        let guard = self.settings.profile == Profile::Guard;
        let line = self.so_far(long, guard.then_some(TOO_LONG))?;
        if guard {
            return match self.too_long(&line) {
                Fate::Forward => None,
                Fate::Refuse(answer) => answer,
            };
        }
        long.note(self.decide(&line));
        None
    }

    /// The same of a line on its way back.
    pub(in crate::proxy) fn relieve_response(&self, long: &mut Long) {
        if let Some(line) = self.so_far(long, None) {
            long.note(self.answer(&line));
        }
    }

    fn so_far(&self, long: &mut Long, trouble: Option<&str>) -> Option<Line<'static>> {
        if long.heard.messages.len() < MOST {
            return None;
        }
        let messages = std::mem::take(&mut long.heard.messages);
        long.relieved = true;
        // A line that will be refused whole brings nothing more that counts.
        long.refused.is_none().then(|| Line {
            messages,
            text: None,
            whole: None,
            batch: true,
            trouble: trouble.map(ToOwned::to_owned),
            foreign: false,
            partial: Seen::default(),
            wall: self.clock.wall(),
            tick: self.clock.tick(),
        })
    }

    /// Judges and records a long line on its way to the upstream; `stopped` says why it cannot go
    /// on in any case.
    pub(in crate::proxy) fn long_request(&self, long: Long, stopped: Option<String>) -> Fate {
        let guard = self.settings.profile == Profile::Guard;
        if let Some(refused) = long.refused {
            return refused;
        }
        if guard && long.relieved && long.heard.messages.is_empty() {
            return Fate::Refuse(None);
        }
        let stopped = stopped.or_else(|| guard.then(|| TOO_LONG.to_owned()));
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
        match long.refused {
            Some(refused) => refused,
            None => self.answer(&self.ended_line(long)),
        }
    }

    fn ended_line(&self, long: Long) -> Line<'static> {
        let (wall, tick) = (self.clock.wall(), self.clock.tick());
        let ended = ended(long.tap, &long.heard.messages);
        let foreign = ended.foreign && !long.relieved;
        let unread = long
            .heard
            .messages
            .iter()
            .filter_map(|message| message.hashed);
        let unread = unread
            .into_iter()
            .any(|digest: Digest| !digest.is_canonical());
        let unread = unread.then(|| "a value has no canonical form".to_owned());
        let doubt = ended
            .trouble
            .or_else(|| long.heard.messages.iter().find_map(doubt));
        let named = long.mentions.found || names_a_call(&ended.partial);
        let called = doubt.is_some() && (named || foreign);
        Line {
            text: None,
            whole: long.whole.filter(|_| called).map(|whole| whole.finish().0),
            batch: ended.batch,
            trouble: doubt.or(unread),
            foreign,
            messages: long.heard.messages,
            partial: ended.partial,
            wall,
            tick,
        }
    }
}

impl Long {
    /// Says that the line is on its way back, where nothing in it is a call.
    pub(in crate::proxy) fn answering(self) -> Self {
        let whole = None;
        Self { whole, ..self }
    }

    /// Notes what became of part of the line.
    fn note(&mut self, fate: Fate) {
        if matches!(fate, Fate::Refuse(_)) {
            self.refused.get_or_insert(fate);
        }
    }

    /// Reads the next bytes of the line, its end left out.
    pub(in crate::proxy) fn push(&mut self, bytes: &[u8]) {
        let text = if self.begun {
            bytes
        } else {
            bytes.trim_ascii_start()
        };
        self.begun |= !text.is_empty();
        self.look_for_breaks(text);
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        if let Some(whole) = &mut self.whole {
            whole.push(bytes);
            self.mentions.look(bytes);
        }
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

/// Says why readers may differ about what a message is.
fn doubt(message: &Message) -> Option<String> {
    let almost = almost_a_call(&message.seen);
    let doubtful = || "members that readers may read differently".to_owned();
    almost.or_else(|| message.seen.doubtful.then(doubtful))
}

/// Looks for the method of calls in a text that comes in pieces, as `mentions` does in a whole one.
#[derive(Debug, Default)]
struct Mentions {
    found: bool,
    /// The end of the last piece.
    tail: Vec<u8>,
}

impl Mentions {
    fn look(&mut self, bytes: &[u8]) {
        if self.found {
            return;
        }
        let front = bytes.get(..TAIL).unwrap_or(bytes);
        let seam = [self.tail.as_slice(), front].concat();
        self.found = mentions(&seam) || mentions(bytes);
        let end = if bytes.len() < TAIL { &seam } else { bytes };
        let from = end.len().saturating_sub(TAIL);
        self.tail = end.get(from..).unwrap_or_default().to_vec();
    }
}
