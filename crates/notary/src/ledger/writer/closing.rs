//! The closing of runs and sessions: the last lines, the checkpoint that covers them, the pack.

use std::fs::File;
use std::io;
use std::path::Path;
use std::slice;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::Wall;

use super::{Start, Writer};
use crate::error::NotaryError;
use crate::file::plain;
use crate::layout::{Claim, Last, pack_name};
use crate::ledger::{Job, Packing, Profile, recover};
use crate::pack::{self, Built, Segment};
use crate::receipt::{CallReceipt, Mark, Outcome};
use crate::session::{self, End};

/// Writes a file anew under its name.
///
/// After a sync that failed, the system may take for written what is not; another sync of the same
/// file would then succeed and prove nothing. What can be read is read and written to a new file,
/// whose sync covers all of it. Whether it is whole, its chain tells.
fn renew(path: &Path) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
    io::copy(&mut plain(path)?, fresh.as_file_mut())?;
    fresh.as_file().sync_all()?;
    // CRASH: until the rename the old file is there, and after it the new one.
    fresh.persist(path).map_err(|fault| fault.error)?;
    File::open(folder)?.sync_all()
}

impl Writer {
    /// Makes a pack of what is new; nothing if nothing is.
    pub(super) fn pack(&mut self) -> Result<Option<Built>, NotaryError> {
        if self.length == self.start.offset {
            return Ok(None);
        }
        self.close_segment(None).map(Some)
    }

    /// Closes the segment with a checkpoint and makes a pack of it.
    fn close_segment(&mut self, complete: Option<bool>) -> Result<Built, NotaryError> {
        self.vouch()?;
        let name = pack_name(&self.name, self.start.index);
        let signed = self.chain.tree().clone();
        let note = self
            .checkpoint(Some(&name))
            .map_err(NotaryError::Unrecorded)?;
        self.sync().map_err(NotaryError::Unrecorded)?;
        let next = Start::after(&self.chain, signed, self.length, self.start.index + 1);
        let start = std::mem::replace(&mut self.start, next);
        self.build(start, self.length, note, complete)
    }

    /// Says again, in a pack that does not begin the session, which keys led to the one that signs
    /// it: each pack is judged by itself.
    fn vouch(&mut self) -> Result<(), NotaryError> {
        if self.start.index == 0 {
            return Ok(());
        }
        let at = self.options.clock.wall();
        let lines = session::successions(&self.common, &self.options.signer, at)?;
        let mut draft = self.draft();
        for line in lines {
            draft.bytes.extend(draft.chain.append(line));
        }
        if draft.bytes.is_empty() {
            return Ok(());
        }
        self.start.note_time(at);
        self.commit(draft).map_err(NotaryError::Unrecorded)
    }

    /// Makes the pack of a run of lines that is closed.
    pub(in crate::ledger) fn build(
        &self,
        start: Start,
        end: u64,
        note: String,
        complete: Option<bool>,
    ) -> Result<Built, NotaryError> {
        let built = pack::build(&Segment {
            target: self.layout.pack(&self.name, start.index),
            receipts: self.layout.session(&self.name),
            range: start.offset..end,
            session_id: self.common.session_id.clone(),
            before: start.tree,
            seam: start.seam,
            link: start.link,
            index: start.index,
            note,
            complete,
            dropped: self.dropped,
            doubted: self.doubted,
            enforced: self.options.profile == Profile::Guard,
            policy_hash: self.common.policy_hash.clone(),
            first: start.first.unwrap_or(Wall(0)),
            last: start.last.unwrap_or(Wall(0)),
            version: self.common.version.clone(),
            now: self.options.clock.wall(),
            signer: Arc::clone(&self.options.signer),
        })?;
        if let Some(root) = built.report.pack_root.clone() {
            let pack = pack_name(&self.name, start.index);
            self.layout.remember(&Last { pack, root })?;
        }
        Ok(built)
    }

    pub(in crate::ledger) fn finish(
        &mut self,
        end: End,
        packing: Packing,
    ) -> Result<Option<Built>, NotaryError> {
        if self.broken.is_some() {
            return self.salvage(packing);
        }
        let complete = self.end(end)?;
        let built = match packing {
            Packing::Pack => Some(self.close_segment(Some(complete))?),
            Packing::Skip => {
                self.checkpoint(None).map_err(NotaryError::Unrecorded)?;
                self.sync().map_err(NotaryError::Unrecorded)?;
                None
            }
        };
        self.release()?;
        Ok(built)
    }

    /// Ends a session whose disk failed: what its file still says is written anew, to a file that
    /// has not failed, and closed from there. Nothing that was refused before is taken.
    fn salvage(&mut self, packing: Packing) -> Result<Option<Built>, NotaryError> {
        let unrecorded = || NotaryError::Unrecorded(self.broken.clone().unwrap_or_default());
        if packing == Packing::Skip {
            // The receipts stay as they are, and the next start closes them.
            return Err(unrecorded());
        }
        let path = self.layout.session(&self.name);
        renew(&path).map_err(NotaryError::file("renew", &path))?;
        let claim = self.claim.take().ok_or_else(unrecorded)?;
        let how = (End::Failed, self.counts.lost);
        let built = recover::rebuild(&self.layout, &self.name, claim, &self.options, how)?;
        let last = built.packs.into_iter().last();
        last.map(Some).ok_or_else(unrecorded)
    }

    /// Packs what is left of a session that has said its last word.
    pub(in crate::ledger) fn conclude(
        &mut self,
        complete: bool,
    ) -> Result<Option<Built>, NotaryError> {
        let left = self.length > self.start.offset;
        let built = left
            .then(|| self.close_segment(Some(complete)))
            .transpose()?;
        self.release()?;
        Ok(built)
    }

    fn release(&mut self) -> Result<(), NotaryError> {
        // CRASH: the mark goes last; a session that is closed and still marked is packed again
        // under the same name, which finds the pack there.
        self.claim.take().map_or(Ok(()), Claim::release)?;
        self.kept.forget(&session::origin(&self.common.session_id));
        Ok(())
    }

    /// Closes what is open and writes the session's last line; tells whether it is complete.
    fn end(&mut self, end: End) -> Result<bool, NotaryError> {
        let mark = match end {
            End::Recovered => Mark::Recovered,
            End::UpstreamFailed | End::Closed => Mark::UpstreamExited,
            End::Interrupted | End::Cut | End::Failed => Mark::ProxyStopped,
        };
        self.write(Vec::new());
        for job in std::mem::take(&mut self.pending) {
            self.counts.lost += u64::from(matches!(job, Job::Outcome(..)));
            self.forget(&job);
            self.publish(Some("receipts could not be written to the end".to_owned()));
        }
        self.note_lost();
        let open = std::mem::take(&mut self.open);
        let complete = end.is_complete() && open.is_empty() && self.counts.lost == 0;
        let at = self.options.clock.wall();
        for mut call in open.into_values() {
            // What became of a call whose outcome is lost is not known here.
            if !call.marks.contains(&Mark::Unrecorded) {
                call.marks.push(mark);
            }
            let after = Duration::from_millis(at.0.saturating_sub(call.observed_at.0));
            let receipt = Box::new(CallReceipt {
                call,
                outcome: Outcome::Timeout { after },
            });
            let job = Job::Outcome(receipt, None);
            // A session is not said to be over while calls of it have no receipt: the next start
            // closes them.
            self.put(slice::from_ref(&job))
                .inspect_err(|fault| self.publish(Some(fault.clone())))
                .map_err(NotaryError::Unrecorded)?;
            self.settle(job);
        }
        let line = session::end(&self.common, end, complete, self.counts, self.dropped, at)?;
        let mut draft = self.draft();
        draft.bytes = draft.chain.append(line);
        self.start.note_time(at);
        self.commit(draft).map_err(NotaryError::Unrecorded)?;
        Ok(complete)
    }
}
