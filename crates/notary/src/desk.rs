//! Where a gateway hands in what is to be receipted: calls of many sessions to many upstreams, in
//! one ledger.
//!
//! Whoever hands something in pays for a place in a queue and no more. Digests, ids and lines are
//! made by a thread of the desk's own, the clerk, so that a call does not wait for them; in strict
//! mode it waits for the disk, and is told by a callback. Deliberately absent: any decision about
//! a call, and a runtime.

mod clerk;
mod deed;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use mcpproxy_core::{Clock, Deed, Durability, Ended, PackInterval, Wall};

use self::clerk::Clerk;
use self::deed::Load;
use crate::content::Keep;
use crate::error::NotaryError;
use crate::hash::{Digest, Pepper, digest};
use crate::ledger::{Counts, Done, Ledger, Options, Transport};
use crate::pack::Built;

/// How much may wait for the clerk, in number.
const QUEUE: usize = 16 << 10;
/// How much may wait for the clerk, in bytes of messages; past that, whoever hands in makes the
/// digests, and the messages do not wait.
const HEAVY: usize = 64 << 20;
/// How much may wait in all, with what is kept in clear of messages that do not wait; past that,
/// nothing is taken.
const FULL: usize = 96 << 20;

/// How calls are receipted.
#[derive(Debug)]
pub struct Rules {
    /// Which arguments are kept in clear.
    pub arguments: Keep,
    /// Which results are kept in clear.
    pub results: Keep,
    /// The key of the hashes, if they have one.
    pub pepper: Option<Pepper>,
    /// When packs are made.
    pub interval: PackInterval,
}

/// Who is told of packs that were made on the way, or why one was not.
pub type OnPack = Box<dyn Fn(Result<Built, NotaryError>) + Send + Sync>;

/// What the clerk is asked to do.
enum Job {
    Intent(Box<Handed>, Option<Done>),
    Denied(Box<Handed>, Option<Done>),
    Outcome(Box<Handed>, Ending, Option<Done>),
    Finish(Reply),
}

/// Who is told how a run ended.
type Reply = SyncSender<Result<Option<Built>, NotaryError>>;

/// A call that was handed in.
struct Handed {
    deed: Deed,
    arguments: Load,
}

/// How it ended, and when that was seen.
struct Ending {
    ended: Ended,
    at: Wall,
    result: Option<Load>,
    /// The digest of what the caller got instead of the result.
    replaced_by: Option<Box<Digest>>,
}

/// What the clerk needs to know about the gateway, which may change while it runs.
#[derive(Debug, Default)]
struct Known {
    transports: BTreeMap<String, Transport>,
    policy_hash: Option<Arc<str>>,
}

/// The desk of one run of a gateway.
#[derive(Debug)]
pub struct Desk {
    jobs: SyncSender<Job>,
    durability: Durability,
    rules: Arc<Rules>,
    /// Bytes that wait for the clerk.
    waiting: Arc<AtomicUsize>,
    lost: AtomicU64,
    known: Arc<Mutex<Known>>,
    ledger: Arc<Ledger>,
    clock: Arc<dyn Clock>,
    clerk: Mutex<Option<JoinHandle<()>>>,
}

impl Desk {
    /// Opens a ledger in the audit folder `root`, and a desk in front of it.
    pub fn open(
        root: &Path,
        options: Options,
        rules: Rules,
        on_pack: OnPack,
    ) -> Result<Self, NotaryError> {
        let (durability, clock) = (options.durability, Arc::clone(&options.clock));
        let ledger = Arc::new(Ledger::open(root, options)?);
        let (jobs, queue) = sync_channel(QUEUE);
        let (rules, waiting) = (Arc::new(rules), Arc::new(AtomicUsize::new(0)));
        let known = Arc::new(Mutex::new(Known::default()));
        let clerk = Clerk::new(
            Arc::clone(&ledger),
            Arc::clone(&rules),
            Arc::clone(&known),
            Arc::clone(&waiting),
            (durability, Arc::clone(&clock)),
            on_pack,
        );
        let thread = std::thread::Builder::new().name("clerk".to_owned());
        let thread = thread.spawn(move || clerk.run(&queue));
        Ok(Self {
            jobs,
            durability,
            rules,
            waiting,
            lost: AtomicU64::new(0),
            known,
            ledger,
            clock,
            clerk: Mutex::new(Some(thread.map_err(NotaryError::Thread)?)),
        })
    }

    /// Says how each upstream is reached, from now on.
    pub fn reach(&self, transports: BTreeMap<String, Transport>) {
        self.known().transports = transports;
    }

    /// Says which policy is in force from now on, by its SHA-256 in hexadecimal.
    pub fn enforce(&self, policy_hash: &str) {
        self.known().policy_hash = Some(policy_hash.into());
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how long whoever hands in waits: in strict mode until `done` is called.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// Takes a call that is about to leave. Returns false if it cannot be taken; then `done` is
    /// not called.
    pub fn intent(&self, deed: Deed, done: Option<Done>) -> bool {
        self.hand_in(|desk| Some(Job::Intent(desk.handed(deed)?, done)))
    }

    /// Takes a call that may not leave; the same.
    pub fn denied(&self, deed: Deed, done: Option<Done>) -> bool {
        self.hand_in(|desk| Some(Job::Denied(desk.handed(deed)?, done)))
    }

    /// Takes how a call ended; the same.
    pub fn outcome(&self, deed: Deed, ended: Ended, done: Option<Done>) -> bool {
        self.hand_in(|desk| {
            let at = desk.clock.wall();
            let (mut ended, result) = deed::result(ended);
            // Few answers are changed, and a digest needs no room while it waits.
            let instead = deed::replacement(&mut ended);
            let pepper = desk.rules.pepper.as_ref();
            let replaced_by = instead.map(|instead| Box::new(digest(&instead, pepper)));
            let result = match result {
                Some(body) => Some(desk.load(Load::raw(body), &desk.rules.results)?),
                None => None,
            };
            let size = result.as_ref().map_or(0, Load::size);
            let Some(handed) = desk.handed(deed) else {
                desk.give(size);
                return None;
            };
            let ending = Ending {
                ended,
                at,
                result,
                replaced_by,
            };
            Some(Job::Outcome(handed, ending, done))
        })
    }

    /// Takes what a receipt needs of a call, and lets go of its message.
    fn handed(&self, mut deed: Deed) -> Option<Box<Handed>> {
        let arguments = deed::arguments(&mut deed);
        let arguments = self.load(arguments, &self.rules.arguments)?;
        Some(Box::new(Handed { deed, arguments }))
    }

    /// Makes room for what waits; what is too much is made shorter here, and what is too much even
    /// then is not taken.
    fn load(&self, load: Load, keep: &Keep) -> Option<Load> {
        if self.take(load.size(), HEAVY) {
            return Some(load);
        }
        let (evidence, marks) = load.made(keep, self.rules.pepper.as_ref());
        let load = Load::Made(evidence, marks);
        self.take(load.size(), FULL).then_some(load)
    }

    /// Takes room for so many bytes, if there are no more than `most` with them.
    fn take(&self, size: usize, most: usize) -> bool {
        let more = |waiting: usize| waiting.checked_add(size).filter(|sum| *sum <= most);
        let (set, seen) = (Ordering::Relaxed, Ordering::Relaxed);
        size == 0 || self.waiting.fetch_update(set, seen, more).is_ok()
    }

    fn give(&self, size: usize) {
        self.waiting.fetch_sub(size, Ordering::Relaxed);
    }

    fn hand_in(&self, job: impl FnOnce(&Self) -> Option<Job>) -> bool {
        let taken = job(self).is_some_and(|job| {
            let size = clerk::size(&job);
            match self.jobs.try_send(job) {
                Ok(()) => true,
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                    self.give(size);
                    false
                }
            }
        });
        self.lost.fetch_add(u64::from(!taken), Ordering::Relaxed);
        taken
    }

    /// Says why receipts are being lost, if they are.
    pub fn problem(&self) -> Option<String> {
        let lost = self.lost.load(Ordering::Relaxed);
        let lost = (lost > 0).then(|| format!("{lost} receipts were lost: the queue was full"));
        self.ledger.problem().or(lost)
    }

    /// Returns how many calls ended how, as far as they are written.
    pub fn counts(&self) -> Counts {
        self.ledger.counts()
    }

    /// Returns the ledger's session.
    pub fn session_id(&self) -> &str {
        self.ledger.session_id()
    }

    /// Ends the run: writes what was handed in, closes what is open, and makes the last pack.
    pub fn finish(&self) -> Result<Option<Built>, NotaryError> {
        let (reply, answer) = sync_channel(1);
        self.ledger.note_lost(self.lost.load(Ordering::Relaxed));
        let finish = self.jobs.send(Job::Finish(reply));
        finish.map_err(|_| NotaryError::Closed)?;
        let built = answer.recv().map_err(|_| NotaryError::Closed)?;
        let clerk = self
            .clerk
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if clerk.is_some_and(|thread| thread.join().is_err()) {
            return Err(NotaryError::Closed);
        }
        built
    }
}

#[cfg(test)]
mod tests;
