//! The ledger of one session: calls and outcomes in, durable chained lines and packs out.
//!
//! One thread writes. Whoever records hands over a value and, in strict mode, waits until it is on
//! disk; what arrives meanwhile goes with the next sync, so that the sync in progress does the
//! batching. Nothing written earlier is read again, but for the lines of a pack when it is built.

mod disk;
mod recover;
mod room;
mod writer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use mcpproxy_core::{Clock, Durability};

use crate::disclose::{Salts, Side};
use crate::error::NotaryError;
use crate::keys::Signer;
use crate::layout::Layout;
use crate::pack::Built;
use crate::receipt::{Call, CallReceipt, Common, Mark, Outcome, random_id};
pub use crate::session::{Counts, End};
use disk::Disk;
pub use recover::{Recovered, recover};
use room::{Freeing, Room};
use writer::Writer;

/// How many values may wait for the writer; past that, whoever records waits, as past the bytes in
/// [`room`].
const QUEUE: usize = 16 << 10;

/// After how many lines a checkpoint is signed, usually.
pub const CHECKPOINT_EVERY: u64 = 1000;

/// What carries the messages of the upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A child's pipes.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// The older HTTP with server-sent events.
    Sse,
    /// An agent's own tools, of which its hook tells.
    Hook,
    /// Several upstreams behind a gateway.
    Gateway,
}

impl Transport {
    const ALL: [Self; 5] = [
        Self::Stdio,
        Self::Http,
        Self::Sse,
        Self::Hook,
        Self::Gateway,
    ];

    /// Finds the transport of that name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Returns the name that stands in the receipt.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
            Self::Hook => "hook",
            Self::Gateway => "gateway",
        }
    }
}

/// Whether a policy is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Calls are observed.
    Audit,
    /// Calls may be refused.
    Guard,
}

impl Profile {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Guard => "guard",
        }
    }
}

/// What a session is.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names the upstream.
    pub server_id: String,
    /// How it is reached.
    pub transport: Transport,
    /// Whether the policy is enforced.
    pub profile: Profile,
    /// How long whoever records waits.
    pub durability: Durability,
    /// The SHA-256 of the policy file, in hexadecimal.
    pub policy_hash: Option<String>,
    /// The program's version.
    pub version: String,
    /// After how many lines a checkpoint is signed.
    pub checkpoint_every: u64,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The key that signs.
    pub signer: Arc<Signer>,
}

/// A call that was recorded and not yet ended. Dropped, it is closed when the session ends.
#[derive(Debug)]
#[must_use = "a ticket is what the outcome is recorded with"]
pub struct Ticket(Call);

impl Ticket {
    /// Returns the call.
    pub fn call(&self) -> &Call {
        &self.0
    }

    fn ended(self, outcome: Outcome, marks: &[Mark]) -> CallReceipt {
        let Self(mut call) = self;
        call.marks.extend_from_slice(marks);
        CallReceipt { call, outcome }
    }
}

/// Whether a pack is made at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// It is.
    Pack,
    /// It is not; the receipts stay.
    Skip,
}

/// Commitments to the fields of one side of a call.
#[derive(Debug)]
struct Commitments {
    invocation_id: String,
    side: Side,
    made: Vec<String>,
}

/// Why the writer did not take something.
type Refusal = String;

/// Who is told, by the writer's thread, once a record is on disk or is known to be lost.
pub type Done = Box<dyn FnOnce(Result<(), String>) + Send>;

/// What the writer is asked to do.
enum Job {
    Intent(Box<Call>, Option<Done>),
    Outcome(Box<CallReceipt>, Option<Done>),
    Commit(Box<Commitments>, Option<Done>),
    /// So many receipts were lost before they came here.
    Lost(u64),
    Flush(Done),
    Pack(SyncSender<Result<Option<Built>, NotaryError>>),
    Finish(End, Packing, SyncSender<Result<Option<Built>, NotaryError>>),
}

/// What the writer tells everybody.
#[derive(Debug, Default)]
struct Status {
    /// Why receipts are being lost, while they are.
    problem: Option<String>,
    counts: Counts,
}

/// One session's ledger.
#[derive(Debug)]
pub struct Ledger {
    jobs: SyncSender<Job>,
    room: Arc<Room>,
    durability: Durability,
    status: Arc<Mutex<Status>>,
    path: PathBuf,
    session_id: String,
    salts: Salts,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Ledger {
    /// Begins a session in the audit folder `root`; its first line is on disk when this returns.
    pub fn open(root: &Path, options: Options) -> Result<Self, NotaryError> {
        Self::open_on(root, options, |file| Box::new(file))
    }

    fn open_on(
        root: &Path,
        options: Options,
        disk: impl FnOnce(File) -> Box<dyn Disk>,
    ) -> Result<Self, NotaryError> {
        let layout = Layout::create(root)?;
        let durability = options.durability;
        let session_id = random_id("mcp_")?;
        let common = Common {
            session_id: session_id.clone(),
            server_id: options.server_id.clone(),
            transport: options.transport.name(),
            policy_hash: options.policy_hash.clone(),
            version: options.version.clone(),
        };
        let salts = Salts::new(&options.signer, &session_id);
        let (name, claim, file) = layout.begin(options.clock.wall())?;
        let path = layout.session(&name);
        let status = Arc::new(Mutex::new(Status::default()));
        let mut writer = Writer::new(
            layout,
            name,
            claim,
            disk(file),
            common,
            options,
            Arc::clone(&status),
        );
        writer.begin()?;
        let (jobs, queue): (SyncSender<Job>, Receiver<Job>) = sync_channel(QUEUE);
        let space = Arc::new(Room::default());
        let freeing = Freeing(Arc::clone(&space));
        let thread = std::thread::Builder::new().name("ledger".to_owned());
        let thread = thread
            .spawn(move || writer.run(&queue, &freeing))
            .map_err(NotaryError::Thread)?;
        let writer = Mutex::new(Some(thread));
        Ok(Self {
            jobs,
            room: space,
            durability,
            status,
            path,
            session_id,
            salts,
            writer,
        })
    }

    /// Records that a call is about to be forwarded. In strict mode it is on disk when this
    /// returns; an error then means that the call must not be forwarded.
    pub fn intent(&self, call: Call) -> Result<Ticket, NotaryError> {
        self.record(|done| Job::Intent(Box::new(call.clone()), done))?;
        Ok(Ticket(call))
    }

    /// The same without waiting: `done` is called once it is on disk, if anybody wants to know.
    pub fn intent_then(&self, call: Call, done: Option<Done>) -> Result<Ticket, NotaryError> {
        self.send(Job::Intent(Box::new(call.clone()), done))?;
        Ok(Ticket(call))
    }

    /// Records how a call ended. In strict mode it is on disk when this returns.
    pub fn outcome(
        &self,
        ticket: Ticket,
        outcome: Outcome,
        marks: &[Mark],
    ) -> Result<(), NotaryError> {
        self.call(ticket.ended(outcome, marks))
    }

    /// The same without waiting.
    pub fn outcome_then(
        &self,
        ticket: Ticket,
        outcome: Outcome,
        marks: &[Mark],
        done: Option<Done>,
    ) -> Result<(), NotaryError> {
        self.call_then(ticket.ended(outcome, marks), done)
    }

    /// Records commitments to the single fields of a call's arguments or result, so that one of
    /// them can be revealed later; see [`crate::disclose`].
    pub fn commit(&self, invocation_id: &str, side: Side, text: &[u8]) -> Result<(), NotaryError> {
        let made = self.salts.commit(invocation_id, side, text);
        let invocation_id = invocation_id.to_owned();
        self.record(move |reply| {
            Job::Commit(
                Box::new(Commitments {
                    invocation_id,
                    side,
                    made,
                }),
                reply,
            )
        })
    }

    /// Records a call that needs no intent, since it was not forwarded.
    pub fn call(&self, receipt: CallReceipt) -> Result<(), NotaryError> {
        let receipt = Box::new(receipt);
        self.record(move |done| Job::Outcome(receipt, done))
    }

    /// The same without waiting.
    pub fn call_then(&self, receipt: CallReceipt, done: Option<Done>) -> Result<(), NotaryError> {
        self.send(Job::Outcome(Box::new(receipt), done))
    }

    /// Counts receipts that were lost before they came here: the session is incomplete then.
    pub fn note_lost(&self, lost: u64) {
        if lost > 0 {
            // A ledger that is closed has said already that it is incomplete.
            self.send(Job::Lost(lost)).unwrap_or_default();
        }
    }

    fn send(&self, job: Job) -> Result<(), NotaryError> {
        self.room.take(room::size(&job));
        self.jobs.send(job).map_err(|_| NotaryError::Closed)
    }

    fn record(&self, job: impl FnOnce(Option<Done>) -> Job) -> Result<(), NotaryError> {
        match self.durability {
            Durability::Relaxed => self.send(job(None)),
            Durability::Strict => self.wait(|done| job(Some(done))),
        }
    }

    /// Waits until the writer has told how it went.
    fn wait(&self, job: impl FnOnce(Done) -> Job) -> Result<(), NotaryError> {
        let said = self.ask(|reply| job(Box::new(move |said| writer::tell(&reply, said))))?;
        said.map_err(NotaryError::Unrecorded)
    }

    fn ask<T>(&self, job: impl FnOnce(SyncSender<T>) -> Job) -> Result<T, NotaryError> {
        let (reply, answer) = sync_channel(1);
        self.send(job(reply))?;
        answer.recv().map_err(|_| NotaryError::Closed)
    }

    /// Waits until everything recorded before is on disk, or is known to be lost.
    pub fn flush(&self) -> Result<(), NotaryError> {
        self.wait(Job::Flush)
    }

    /// Makes a pack of what was recorded since the last one, and goes on; nothing if there is
    /// nothing new.
    pub fn pack(&self) -> Result<Option<Built>, NotaryError> {
        self.ask(Job::Pack)?
    }

    /// Ends the session: closes what is open, writes its last lines, and makes its pack.
    pub fn finish(&self, end: End, packing: Packing) -> Result<Option<Built>, NotaryError> {
        let result = self.ask(|reply| Job::Finish(end, packing, reply))?;
        let thread = self
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            return Err(NotaryError::Closed);
        }
        result
    }

    /// Says why receipts are being lost, while they are.
    pub fn problem(&self) -> Option<String> {
        self.status().problem.clone()
    }

    /// Returns how many calls ended how, as far as they are written.
    pub fn counts(&self) -> Counts {
        self.status().counts
    }

    fn status(&self) -> std::sync::MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the file of the session's receipts.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the session's id.
    pub fn session_id(&self) -> &str {
        &self.session_id
    }
}

#[cfg(test)]
mod tests;
