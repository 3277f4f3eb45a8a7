//! What crosses the proxy, as receipts: requests become intents or denials, answers outcomes.
//!
//! Nothing here moves bytes. The two pumps ask what to do with a line and do it.

mod long;
mod request;
mod response;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_core::{Clock, Tick, Wall};
use mcpproxy_mcp::tap::{Part, Seen, Tap, Watch};
use mcpproxy_notary::content::Keep;
use mcpproxy_notary::disclose::Side;
use mcpproxy_notary::guard::Policy;
use mcpproxy_notary::hash::{Digest, Pepper, digest};
use mcpproxy_notary::ledger::Ledger;
use mcpproxy_notary::receipt::{Evidence, Mark, Outcome};
use serde_json::json;

use super::calls::{Calls, Number, Open};
use crate::args::Profile;
use crate::output::Form;

pub(super) use self::long::Long;

/// How long a cancelled call may still be answered before it is recorded as not answered.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// What decides how calls are recorded.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) profile: Profile,
    pub(super) strict: bool,
    pub(super) policy: Option<Policy>,
    pub(super) keep_arguments: Keep,
    pub(super) keep_results: bool,
    pub(super) pepper: Option<Pepper>,
    /// Whether each member of arguments and results is committed to.
    pub(super) commit_fields: bool,
    pub(super) call_timeout: Duration,
    /// Where parts too long for memory are set aside while they are hashed.
    pub(super) scratch: PathBuf,
    pub(super) form: Form,
}

/// Writes receipts.
#[derive(Debug)]
pub(super) struct Recorder {
    ledger: Ledger,
    clock: Arc<dyn Clock>,
    settings: Settings,
    calls: Mutex<Calls>,
    /// The number of the line that is on its way to the upstream.
    line: AtomicU64,
    /// The number of the line whose exchange brings what is on its way back, where that is known.
    brought_for: Mutex<Option<Number>>,
    violated: AtomicBool,
    /// Whether the client did not take what answers its calls.
    unheard: AtomicBool,
    /// How many lines had receipts because nobody can tell what they are.
    unread: AtomicU64,
    /// Whether the upstream puts a head before its messages.
    heads: AtomicBool,
    /// Whether a loss was already told of.
    told: AtomicBool,
}

/// What becomes of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It goes on as it is.
    Forward,
    /// It does not, and this is said instead, if anything is.
    Refuse(Option<Vec<u8>>),
}

/// How an upstream failed a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// No answer came, or not all of it.
    Unanswered,
    /// Its answer is no message: the caller gets one of ours.
    Refused,
}

/// One message of a line and, if the line is not at hand, the digest of its long part.
#[derive(Debug)]
struct Message {
    seen: Seen,
    hashed: Option<Digest>,
}

/// What a line holds.
#[derive(Debug)]
struct Line<'a> {
    messages: Vec<Message>,
    /// The bytes without their end; nothing for a line too long to be held.
    text: Option<&'a [u8]>,
    /// The digest of a line too long to be held that may be a call to a reader who is less strict.
    whole: Option<Digest>,
    batch: bool,
    /// Why the line cannot be read as it should.
    trouble: Option<String>,
    /// Whether it is nothing that we can read, so that nobody can tell what it is to others.
    foreign: bool,
    /// What was seen of a message that was not read to its end.
    partial: Seen,
    wall: Wall,
    tick: Tick,
}

/// Messages of a line at hand that are looked at. A line that is held only to be recorded has no
/// room for more; a longer batch that is to be judged is refused.
const BATCH: usize = 1 << 17;

/// Collects the messages of a line that is at hand.
#[derive(Default)]
struct Whole {
    messages: Vec<Message>,
    /// Whether there were more.
    full: bool,
}

impl Watch for Whole {
    fn part(&mut self, _: Part, _: &[u8]) {}

    fn message(&mut self, seen: Seen) {
        if !matters(&seen) {
            return;
        }
        self.full |= self.messages.len() >= BATCH;
        if !self.full {
            self.messages.push(Message { seen, hashed: None });
        }
    }
}

/// Returns an id as it is said in an answer: what is no text and no number of JSON is not repeated.
fn echoed(id: &[u8]) -> Option<String> {
    let id = mcpproxy_text::check(id, mcpproxy_text::Limits::default()).ok()?;
    let fits = |char: char| char == '"' || char == '-' || char.is_ascii_digit();
    id.trim_start().starts_with(fits).then(|| id.to_owned())
}

/// How a line ended.
struct Ended {
    /// What was seen of a message that was not read to its end.
    partial: Seen,
    batch: bool,
    /// Why readers may not follow it.
    trouble: Option<String>,
    /// Whether not even the method of a message was found, so far as it could be followed.
    foreign: bool,
}

/// Ends a line.
fn ended(tap: Tap, messages: &[Message]) -> Ended {
    let (partial, batch) = (tap.partial().clone(), tap.is_batch());
    let marked = tap.is_marked();
    let marked = marked.then(|| "a byte order mark before the message".to_owned());
    let lost = tap.finish().err();
    let foreign = lost.is_some() && messages.is_empty() && partial.method.is_none();
    let lost = lost.map(|lost| format!("invalid JSON at byte {}", lost.at));
    Ended {
        partial,
        batch,
        trouble: lost.or(marked),
        foreign,
    }
}

/// Tells whether a message can be a request or an answer.
fn matters(seen: &Seen) -> bool {
    seen.id.is_some() || seen.method.is_some() || seen.doubtful
}

impl Recorder {
    /// Records to `ledger`.
    pub(super) fn new(ledger: Ledger, clock: Arc<dyn Clock>, settings: Settings) -> Self {
        Self {
            ledger,
            clock,
            settings,
            calls: Mutex::default(),
            line: AtomicU64::new(0),
            brought_for: Mutex::default(),
            violated: AtomicBool::new(false),
            unheard: AtomicBool::new(false),
            unread: AtomicU64::new(0),
            heads: AtomicBool::new(false),
            told: AtomicBool::new(false),
        }
    }

    /// Returns the ledger.
    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns what decides how calls are recorded.
    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the time by which calls are measured.
    pub(super) fn now(&self) -> Tick {
        self.clock.tick()
    }

    /// Tells whether the policy denied a call.
    pub(super) fn violated(&self) -> bool {
        self.violated.load(Ordering::Relaxed)
    }

    /// Notes that the client took no more while so many of its calls waited: where none did, no
    /// answer to one is lost.
    pub(super) fn note_unheard(&self, waiting: usize) {
        self.unheard.fetch_or(waiting > 0, Ordering::Relaxed);
    }

    /// Tells whether the client did not take what answers its calls.
    pub(super) fn unheard(&self) -> bool {
        self.unheard.load(Ordering::Relaxed)
    }

    /// Returns the number of the line that is on its way to the upstream.
    pub(super) fn line(&self) -> Number {
        self.line.load(Ordering::Relaxed)
    }

    /// Notes that a line has gone its way: what comes from the client now is another.
    pub(super) fn next_line(&self) {
        self.line.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes which line was asked in the exchange that brings what the upstream says next.
    pub(super) fn brings(&self, line: Option<Number>) {
        *self.brought() = line;
    }

    fn brought(&self) -> MutexGuard<'_, Option<Number>> {
        let brought = self.brought_for.lock();
        brought.unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the upstream puts a head before its messages.
    pub(super) fn saw_head(&self) {
        self.heads.store(true, Ordering::Relaxed);
    }

    /// Returns how many calls wait for their answers.
    pub(super) fn waiting(&self) -> usize {
        self.calls().open()
    }

    /// Records the calls that have waited too long, and says if receipts are being lost.
    pub(super) fn expire(&self) {
        self.say_lost(self.ledger.problem());
        let now = self.clock.tick();
        let late = self
            .calls()
            .overdue(now, self.settings.call_timeout, CANCEL_GRACE);
        for open in late {
            self.unanswered(open, None);
        }
    }

    /// Notes that the upstream failed a request, before the caller is told.
    pub(super) fn failed(&self, id: &[u8], line: Number, how: Failed) {
        match how {
            Failed::Refused => self.calls().refuse(id, line),
            Failed::Unanswered => {
                let open = self.calls().answered(id, Some(line));
                if let Some(open) = open {
                    self.unanswered(open, Some(Mark::UpstreamFailed));
                }
            }
        }
    }

    /// Records that no call in flight will be answered any more.
    pub(super) fn close(&self, why: Mark) {
        let open = self.calls().drain();
        for open in open {
            self.unanswered(open, Some(why));
        }
    }

    fn unanswered(&self, open: Open, why: Option<Mark>) {
        let now = self.clock.tick();
        let cancelled = open.cancelled.map(|_| Mark::Cancelled);
        let ambiguous = open.ambiguous.then_some(Mark::Ambiguous);
        let marks: Vec<Mark> = why.into_iter().chain(cancelled).chain(ambiguous).collect();
        let after = open.since.until(now);
        let recorded = self
            .ledger
            .outcome(open.ticket, Outcome::Timeout { after }, &marks);
        self.tell(recorded.err());
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a line that is at hand.
    fn read<'a>(&self, line: &'a [u8]) -> Line<'a> {
        let (wall, tick) = (self.clock.wall(), self.clock.tick());
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let mut whole = Whole::default();
        let mut tap = Tap::default();
        tap.push(text, &mut whole);
        let ended = ended(tap, &whole.messages);
        let full = whole.full.then(|| "the batch is too long".to_owned());
        // A line of UTF-16 ends in the middle of a character, whose rest is no message.
        let blank = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
        Line {
            messages: whole.messages,
            text: Some(text),
            whole: None,
            batch: ended.batch,
            trouble: ended.trouble.or(full),
            foreign: ended.foreign && !text.iter().all(blank),
            partial: ended.partial,
            wall,
            tick,
        }
    }

    /// Makes evidence of a part of a message.
    fn evidence(
        &self,
        bytes: Option<&[u8]>,
        hashed: Option<Digest>,
        keep: &Keep,
        marks: &mut Vec<Mark>,
    ) -> Evidence {
        let pepper = self.settings.pepper.as_ref();
        let Some(bytes) = bytes else {
            if !matches!(keep, Keep::Nothing) {
                marks.push(Mark::ContentTooLong);
            }
            return Evidence::hashed(hashed.unwrap_or_else(|| digest(b"null", pepper)));
        };
        keep.evidence(bytes, pepper, marks)
    }

    /// Commits to the members of one side of a call, if that was asked for.
    fn commit(&self, invocation_id: &str, side: Side, bytes: Option<&[u8]>) {
        if let Some(bytes) = bytes.filter(|_| self.settings.commit_fields) {
            self.tell(self.ledger.commit(invocation_id, side, bytes).err());
        }
    }

    /// Says once that receipts are being lost.
    fn tell(&self, fault: Option<mcpproxy_notary::NotaryError>) {
        self.say_lost(fault.map(|fault| fault.to_string()));
    }

    fn say_lost(&self, fault: Option<String>) {
        if let Some(fault) = fault
            && !self.told.swap(true, Ordering::Relaxed)
        {
            let details = json!({ "reason": fault });
            let text = format!("receipts are being lost: {fault}");
            self.settings.form.note("receipts_lost", &text, details);
        }
    }
}
