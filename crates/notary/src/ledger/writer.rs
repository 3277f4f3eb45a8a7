//! The thread that writes a session: it takes what waits, prints, links, appends and syncs.
//!
//! A write that fails is undone (the file is cut back to its last whole line) and may succeed
//! later. A sync that fails is final: what the disk holds is not known then, and asking again
//! would answer yes for data that is gone.

mod closing;

use std::collections::BTreeMap;
use std::slice;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use mcpproxy_core::{Durability, Tick, Wall};

use super::disk::Disk;
use super::room::{self, Freeing};
use super::{Done, Job, Options, Refusal, Status};
use crate::chain::Chain;
use crate::error::NotaryError;
use crate::kept::Kept;
use crate::layout::{Claim, Layout, Tally};
use crate::receipt::{Call, Common, Mark, random_id};
use crate::session::{self, Counts};
use crate::tree::{Seam, Tree};

/// How many values one sync may cover.
const BATCH: usize = 1024;
/// How many relaxed receipts are kept for later while the disk takes nothing.
const PENDING: usize = 4096;
/// How many bytes of theirs are kept in clear meanwhile.
const PENDING_BYTES: usize = 16 << 20;
/// How many bytes in clear one write may hold.
const BATCH_BYTES: usize = 8 << 20;
/// How long relaxed receipts are gathered before they are written.
const GATHER: Duration = Duration::from_millis(5);
/// How long relaxed receipts may wait for a sync.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// How long receipts may stand without a checkpoint.
const CHECKPOINT_EVERY: Duration = Duration::from_mins(1);

/// Where the lines of the next pack begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Start {
    pub(super) offset: u64,
    pub(super) tree: Tree,
    /// How the pack before ended, if there is one.
    pub(super) seam: Option<Seam>,
    pub(super) link: Option<String>,
    pub(super) index: u64,
    pub(super) first: Option<Wall>,
    pub(super) last: Option<Wall>,
}

impl Start {
    /// Begins where `chain` has got to with a checkpoint of the tree `signed`.
    pub(super) fn after(chain: &Chain, signed: Tree, offset: u64, index: u64) -> Self {
        let (tree, link) = (chain.tree().clone(), chain.link());
        Self {
            offset,
            tree,
            seam: chain.seam(signed),
            link,
            index,
            first: None,
            last: None,
        }
    }

    pub(super) fn note_time(&mut self, at: Wall) {
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        self.last = Some(self.last.map_or(at, |last| last.max(at)));
    }
}

pub(super) struct Writer {
    layout: Layout,
    name: String,
    claim: Option<Claim>,
    disk: Box<dyn Disk>,
    /// How many bytes of the file are whole lines.
    length: u64,
    common: Common,
    options: Options,
    chain: Chain,
    start: Start,
    open: BTreeMap<String, Call>,
    /// What the disk did not take.
    pending: Vec<Job>,
    counts: Counts,
    /// How many lost receipts the session's mark tells of.
    noted: u64,
    dropped: u64,
    /// Whether what was signed before says otherwise than the file.
    doubted: bool,
    since_checkpoint: u64,
    checkpoint_at: Tick,
    unsynced: Option<Tick>,
    /// Where the newest checkpoint is kept, and the one that is to be once it is on disk.
    kept: Kept,
    unkept: Option<String>,
    /// Why nothing can be written any more.
    broken: Option<String>,
    status: Arc<Mutex<Status>>,
}

/// Lines that are printed and not yet written, with the state that they lead to.
struct Draft {
    bytes: Vec<u8>,
    chain: Chain,
}

impl Writer {
    pub(super) fn new(
        layout: Layout,
        name: String,
        claim: Claim,
        disk: Box<dyn Disk>,
        common: Common,
        options: Options,
        status: Arc<Mutex<Status>>,
    ) -> Self {
        let checkpoint_at = options.clock.tick();
        let kept = Kept::of(&options.signer, &name);
        Self {
            layout,
            name,
            claim: Some(claim),
            disk,
            length: 0,
            common,
            options,
            chain: Chain::default(),
            start: Start::default(),
            open: BTreeMap::new(),
            pending: Vec::new(),
            counts: Counts::default(),
            noted: 0,
            dropped: 0,
            doubted: false,
            since_checkpoint: 0,
            checkpoint_at,
            unsynced: None,
            kept,
            unkept: None,
            broken: None,
            status,
        }
    }

    /// Takes up a session whose file has been read, to close it.
    pub(super) fn resume(mut self, length: u64, chain: Chain, start: Start, dropped: u64) -> Self {
        (self.length, self.chain, self.start, self.dropped) = (length, chain, start, dropped);
        // What the dead proxy wrote may never have been synced.
        self.unsynced = Some(self.options.clock.tick());
        self
    }

    /// Has the packs say that their receipts are not what was signed.
    pub(super) fn doubt(&mut self) {
        self.doubted = true;
    }

    /// Takes up what the session had counted, and the calls that it had not seen to their end.
    pub(super) fn take_up(&mut self, open: BTreeMap<String, Call>, counts: Counts) {
        (self.open, self.counts) = (open, counts);
    }

    /// Writes the session's first lines.
    pub(super) fn begin(&mut self) -> Result<(), NotaryError> {
        let (at, signer) = (self.options.clock.wall(), Arc::clone(&self.options.signer));
        let mut draft = self.draft();
        let last = self.layout.recall();
        let profile = self.options.profile.name();
        let line = session::start(&self.common, profile, last.as_ref(), &signer, at)?;
        draft.bytes = draft.chain.append(line);
        for line in session::successions(&self.common, &signer, at)? {
            draft.bytes.extend(draft.chain.append(line));
        }
        self.start.note_time(at);
        self.commit(draft)
            .and_then(|()| self.sync())
            .map_err(NotaryError::Unrecorded)
    }

    pub(super) fn run(mut self, queue: &Receiver<Job>, Freeing(room): &Freeing) {
        loop {
            let first = match queue.recv_timeout(SYNC_EVERY) {
                Ok(job) => {
                    self.gather(&job);
                    job
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.tend();
                    continue;
                }
                // Everybody who could finish the session is gone: the next start closes it.
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut records = Vec::new();
            let mut size = 0;
            let mut next = Some(first);
            while let Some(job) = next.take() {
                size += room::size(&job);
                match job {
                    Job::Intent(..) | Job::Outcome(..) | Job::Commit(..) => records.push(job),
                    Job::Lost(lost) => self.counts.lost += lost,
                    Job::Flush(done) => {
                        self.write(std::mem::take(&mut records));
                        done(self.sync());
                    }
                    Job::Pack(reply) => {
                        self.write(std::mem::take(&mut records));
                        let built = self.pack();
                        tell(&reply, built);
                    }
                    Job::Finish(end, packing, reply) => {
                        self.write(std::mem::take(&mut records));
                        let built = self.finish(end, packing);
                        tell(&reply, built);
                        return;
                    }
                }
                if records.len() < BATCH && size < BATCH_BYTES {
                    next = queue.try_recv().ok();
                }
            }
            self.write(records);
            room.give(size);
            self.tend();
        }
    }

    /// Waits a moment for more of what nobody waits for: being woken for each takes longer than what
    /// is done then, and the proxy and its upstream share the processor.
    fn gather(&self, first: &Job) {
        let relaxed = self.options.durability == Durability::Relaxed;
        if relaxed && matches!(first, Job::Intent(..) | Job::Outcome(..)) {
            thread::sleep(GATHER);
        }
    }

    /// Syncs what has waited long enough or was just signed, and notes how much was lost.
    fn tend(&mut self) {
        self.note_lost();
        let due = |since: Tick| since.after(SYNC_EVERY) <= self.options.clock.tick();
        // Until a checkpoint is kept, what it covers can be cut off unseen.
        if self.unkept.is_some() || self.unsynced.is_some_and(due) {
            // A failure stays in `broken`, and everybody is told at the next record.
            self.sync().unwrap_or_default();
        }
    }

    /// Notes in the session's mark how many receipts are lost, for a successor to say.
    fn note_lost(&mut self) {
        if self.counts.lost > self.noted
            && let Some(claim) = &self.claim
        {
            let (lost, dropped) = (self.counts.lost, self.dropped);
            // CRASH: not synced. Where even this fails, the loss was told when it came about, and
            // the session's end says that it is incomplete in any case.
            claim.note(Tally { lost, dropped }).unwrap_or_default();
            self.noted = lost;
        }
    }

    /// Writes a batch and answers those who wait for it.
    fn write(&mut self, jobs: Vec<Job>) {
        let mut batch = std::mem::take(&mut self.pending);
        batch.extend(jobs);
        if batch.is_empty() {
            return;
        }
        let whole = self.put(&batch);
        let (mut taken, mut refused) = (Vec::new(), Vec::new());
        let mut rest = batch.into_iter();
        for job in rest.by_ref() {
            // A disk without room for all may have some for the first.
            if whole.is_err() && self.put(slice::from_ref(&job)).is_err() {
                refused.push(job);
                break;
            }
            taken.extend(self.settle(job));
        }
        refused.extend(rest);
        let fault = whole.err().filter(|_| !refused.is_empty());
        let refused = self.keep(refused);
        self.checkpoint_if_due();
        let mut result = Ok(());
        if self.options.durability == Durability::Strict {
            result = self.sync();
        }
        self.publish(fault.clone().or_else(|| result.clone().err()));
        for done in taken {
            done(result.clone());
        }
        for done in refused {
            done(Err(fault.clone().unwrap_or_default()));
        }
    }

    /// Prints records and appends them, all or none.
    fn put(&mut self, jobs: &[Job]) -> Result<(), Refusal> {
        let mut draft = self.draft();
        jobs.iter()
            .try_for_each(|job| self.print(job, &mut draft))?;
        let lines = draft.chain.size() - self.chain.size();
        self.commit(draft)?;
        self.since_checkpoint += lines;
        Ok(())
    }

    /// Keeps what could not be written for the next time, unless somebody is told that it was
    /// refused, or there is too much of it; returns who is to be told.
    fn keep(&mut self, jobs: Vec<Job>) -> Vec<Done> {
        let mut waiting = Vec::new();
        let mut bytes: usize = self.pending.iter().map(room::size).sum();
        for job in jobs {
            let relaxed = self.options.durability == Durability::Relaxed;
            bytes += room::size(&job);
            let fits = self.pending.len() < PENDING && bytes <= PENDING_BYTES;
            if relaxed && self.broken.is_none() && fits {
                self.pending.push(job);
                continue;
            }
            bytes -= room::size(&job);
            // An intent that is refused is all that there would be of its call; one that is not
            // refused has its outcome come after it.
            let counts =
                matches!(job, Job::Outcome(..)) || (!relaxed && matches!(job, Job::Intent(..)));
            self.counts.lost += u64::from(counts);
            self.forget(&job);
            waiting.extend(waits(job));
        }
        waiting
    }

    /// Marks the call whose outcome is lost.
    fn forget(&mut self, job: &Job) {
        if let Job::Outcome(receipt, _) = job
            && let Some(open) = self.open.get_mut(&receipt.call.invocation_id)
        {
            open.marks.push(Mark::Unrecorded);
        }
    }

    /// Prints one record at the end of the draft.
    fn print(&mut self, job: &Job, draft: &mut Draft) -> Result<(), Refusal> {
        let at = self.options.clock.wall();
        let line = match job {
            Job::Intent(call, _) => random_id("mti_").map(|id| call.intent(&self.common, &id, at)),
            Job::Outcome(receipt, _) => {
                random_id("mtc_").map(|id| receipt.line(&self.common, &id, at))
            }
            Job::Commit(commitments, _) => random_id("mcm_").map(|id| {
                let mut line = self.common.line("mcp.commitments", &id, at);
                line.text("invocation_id", &commitments.invocation_id)
                    .text("side", commitments.side.name())
                    .list("commitments", commitments.made.iter().map(String::as_str));
                line
            }),
            Job::Lost(_) | Job::Flush(_) | Job::Pack(_) | Job::Finish(..) => return Ok(()),
        };
        self.start.note_time(at);
        draft
            .bytes
            .extend(draft.chain.append(line.map_err(|fault| fault.to_string())?));
        Ok(())
    }

    /// Counts a record that has been written; returns who waits for it.
    fn settle(&mut self, job: Job) -> Option<Done> {
        match job {
            Job::Intent(call, reply) => {
                self.open.insert(call.invocation_id.clone(), *call);
                reply
            }
            Job::Outcome(receipt, reply) => {
                self.open.remove(&receipt.call.invocation_id);
                self.counts.add(&receipt.outcome);
                reply
            }
            Job::Commit(_, reply) => reply,
            Job::Lost(_) | Job::Flush(_) | Job::Pack(_) | Job::Finish(..) => None,
        }
    }

    fn draft(&self) -> Draft {
        Draft {
            bytes: Vec::new(),
            chain: self.chain.clone(),
        }
    }

    /// Appends a draft to the file.
    fn commit(&mut self, draft: Draft) -> Result<(), Refusal> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        // CRASH: a stop in the middle of the write leaves part of a line, which the next start
        // cuts off; nobody has been told that it was recorded.
        if let Err(fault) = self.disk.append(&draft.bytes) {
            if let Err(cut) = self.disk.cut(self.length) {
                self.broken = Some(format!("{fault}, and the rest cannot be undone: {cut}"));
            }
            return Err(fault.to_string());
        }
        self.length += u64::try_from(draft.bytes.len()).unwrap_or(0);
        self.chain = draft.chain;
        self.unsynced.get_or_insert(self.options.clock.tick());
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Refusal> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        if self.unsynced.is_none() {
            return Ok(());
        }
        match self.disk.sync() {
            Ok(()) => {
                self.unsynced = None;
                // Where it cannot be kept, its line among the receipts still stands for it.
                let note = self.unkept.take();
                note.map_or(Ok(()), |note| self.kept.write(&note))
                    .unwrap_or_default();
                Ok(())
            }
            Err(fault) => {
                let broken = format!("the disk failed to keep the receipts: {fault}");
                self.broken = Some(broken.clone());
                self.publish(Some(broken.clone()));
                Err(broken)
            }
        }
    }

    /// Tells everybody how the session stands.
    fn publish(&self, problem: Option<String>) {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.problem = problem;
        status.counts = self.counts;
    }

    fn checkpoint_if_due(&mut self) {
        let late = self.checkpoint_at.after(CHECKPOINT_EVERY) <= self.options.clock.tick();
        if self.since_checkpoint >= self.options.checkpoint_every || late {
            // What cannot be signed now is covered by the next checkpoint, at the latest by the
            // one that closes the pack, whose failure is reported.
            self.checkpoint(None).map(drop).unwrap_or_default();
        }
    }

    /// Signs the tree as it stands; returns the note.
    fn checkpoint(&mut self, closes: Option<&str>) -> Result<String, Refusal> {
        let at = self.options.clock.wall();
        self.start.note_time(at);
        let made = session::checkpoint(&self.common, &self.chain, &self.options.signer, closes, at);
        let (line, note) = made.map_err(|fault| fault.to_string())?;
        let mut draft = self.draft();
        draft.bytes = draft.chain.append(line);
        self.commit(draft)?;
        self.unkept = Some(note.clone());
        self.since_checkpoint = 0;
        self.checkpoint_at = self.options.clock.tick();
        Ok(note)
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Writer")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

fn waits(job: Job) -> Option<Done> {
    match job {
        Job::Intent(_, done) | Job::Outcome(_, done) | Job::Commit(_, done) => done,
        Job::Flush(done) => Some(done),
        Job::Lost(_) | Job::Pack(_) | Job::Finish(..) => None,
    }
}

/// Answers somebody who may have stopped waiting.
pub(super) fn tell<T>(reply: &SyncSender<T>, answer: T) {
    reply.try_send(answer).unwrap_or_default();
}
