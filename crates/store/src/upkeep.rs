//! Keeping house beside the writer: finished blocks are made easy to find, what was written is
//! moved to where it belongs, and what is too old or too much goes.
//!
//! Only the writer changes tables, so that nothing here makes it wait for a lock: what is
//! prepared here is handed to it as a chore.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use mcpproxy_core::{Clock, StatementSigner, Wall};

use crate::block::{self, Block};
use crate::checkpoint::{Checkpoint, State};
use crate::database::{Database, Due, Fault, House, Moved, Prune, Redact};
use crate::queue::{Chore, Queue};
use crate::redaction::Redacting;
use crate::retention::InForce;

/// Chores that may wait for the writer before more are prepared.
const MOST_CHORES: usize = 64;
/// How long the writer is given for them.
const SOON: Duration = Duration::from_millis(20);
/// How often is looked for what grew old, and the chain signed, without being rung.
const OFTEN: Duration = Duration::from_mins(1);
/// Blocks at the end of the log that are never dropped for their size.
const KEPT: i64 = 2;

/// What there may be to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// A block was finished.
    pub(crate) block: bool,
    /// The write-ahead log has grown.
    pub(crate) pages: bool,
}

/// What the writer rings when there may be something to do.
#[derive(Clone, Debug)]
pub(crate) struct Bell(pub(crate) SyncSender<News>);

impl Bell {
    /// Tells the news, if there are any; who is too busy to listen is told the next time.
    pub(crate) fn tell(&self, news: &mut News) {
        if *news != News::default() && self.0.try_send(*news).is_ok() {
            *news = News::default();
        }
    }
}

/// The thread that keeps house.
pub(crate) struct Upkeep<D: Database> {
    pub(crate) database: Arc<D>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) retention: Arc<InForce>,
    pub(crate) signer: Arc<dyn StatementSigner>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) marks: Marks,
}

/// How far it has got.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// The block that is sealed next.
    next: Option<i64>,
    /// The first place that was not asked to be dropped.
    oldest: i64,
    /// The first place whose words were not looked at.
    redacted: i64,
    /// More is to be done once the writer has done what it was asked.
    is_behind: bool,
}

impl<D: Database> Upkeep<D> {
    /// Keeps house until nobody can ring any more.
    pub(crate) fn run(mut self, house: D::House, news: &Receiver<News>) {
        let mut house = Some(house);
        loop {
            let pause = if self.marks.is_behind { SOON } else { OFTEN };
            let news = match news.recv_timeout(pause) {
                Ok(news) => news,
                Err(RecvTimeoutError::Timeout) if self.marks.is_behind => News::default(),
                Err(RecvTimeoutError::Timeout) => {
                    self.queue.ask(Chore::Sign);
                    News::default()
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            self.marks.is_behind = false;
            if let Err(fault) = self.attend(&mut house, news) {
                // Nothing is lost by it; what was not done is done at a later ring.
                tracing::warn!("upkeep of the activity log failed: {fault}");
                (house, self.marks) = (None, Marks::default());
            }
        }
    }

    fn attend(&mut self, house: &mut Option<D::House>, news: News) -> Result<(), Fault> {
        let house = match house {
            Some(house) => house,
            None => house.insert(self.database.house()?),
        };
        let (first, last) = house.ends()?;
        if first <= last {
            self.seal(house, first / block::SIZE, last / block::SIZE)?;
            self.prune(house, first, last)?;
            self.redact(house, first)?;
        }
        if news.pages && house.settle()? == Moved::TooLittle {
            self.queue.ask(Chore::Settle);
        }
        Ok(())
    }

    fn seal(&mut self, house: &mut D::House, first: i64, open: i64) -> Result<(), Fault> {
        let next = match self.marks.next {
            Some(next) => next,
            None => house.sealed()?.map_or(first, |sealed| sealed + 1),
        };
        let mut number = next.max(first);
        while number < open && self.has_room() {
            if let Some(block) = house.block(number, i64::MIN)? {
                self.queue.ask(Chore::Seal(block));
            }
            number += 1;
        }
        self.marks.next = Some(number);
        Ok(())
    }

    fn has_room(&mut self) -> bool {
        self.marks.is_behind = self.queue.chores() >= MOST_CHORES;
        !self.marks.is_behind
    }

    /// Drops what is too old, too many or too large.
    fn prune(&mut self, house: &mut D::House, first: i64, last: i64) -> Result<(), Fault> {
        let retention = self.retention.get();
        let mut until = too_large(house, retention.max_bytes, first, last)?;
        if let Some(most) = retention.max_records {
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            until = until.max((last + 1).saturating_sub(most));
        }
        // What was asked for already may still be there.
        let mut from = self.marks.oldest.max(first);
        if let Some(age) = retention.max_age {
            until = until.max(house.older(from, self.before(age))?);
        }
        while from < until && self.has_room() {
            let number = from / block::SIZE;
            let [_, end] = Block::places(number);
            let end = end.min(until);
            // By a block that is not finished nothing is found yet.
            let is_sealed = self.marks.next.is_some_and(|next| number < next);
            let (block, left) = if is_sealed {
                (house.block(number, i64::MIN)?, house.block(number, end)?)
            } else {
                (None, None)
            };
            self.queue.ask(Chore::Drop(Prune {
                until: end,
                block,
                left,
                checkpoints: self.remains(house, from, end)?,
            }));
            from = end;
        }
        self.marks.oldest = from;
        Ok(())
    }

    /// Signs what remains of the chains whose records are dropped.
    fn remains(
        &self,
        house: &mut D::House,
        from: i64,
        until: i64,
    ) -> Result<Vec<Checkpoint>, Fault> {
        let (signer, now) = (&*self.signer, self.clock.wall());
        let heads = house.heads(from, until)?;
        let heads = heads.iter();
        Ok(heads
            .map(|head| Checkpoint::sign(signer, head, State::Pruned, now))
            .collect())
    }

    /// Drops what old records say in words, where they hold sensitive data.
    fn redact(&mut self, house: &mut D::House, first: i64) -> Result<(), Fault> {
        let Some(age) = self.retention.get().redact_after else {
            return Ok(());
        };
        let limit = self.before(age);
        let mut from = self.marks.redacted.max(first);
        while self.has_room() {
            let due = house.due(from, limit)?;
            let (next, is_young) = (due.next, due.is_young);
            if let Some(redact) = self.accounted(house, due)? {
                self.queue.ask(Chore::Redact(redact));
            }
            match next {
                Some(next) => from = next,
                None => break,
            }
            // What was looked at is not looked at again before the writer has done it, and signed twice.
            if is_young {
                break;
            }
        }
        self.marks.redacted = from;
        Ok(())
    }

    /// Signs which records lose their words; nothing where none does.
    fn accounted(&self, house: &mut D::House, due: Due) -> Result<Option<Redact>, Fault> {
        let redactions = due.redactions;
        let ends = redactions.first().zip(redactions.last());
        let Some((from, until)) = ends.map(|(first, last)| (first.place, last.place + 1)) else {
            return Ok(None);
        };
        let heads = house.heads(from, until)?;
        let dropped = redactions.iter().filter_map(|one| one.chain);
        let statements = Redacting::sign(&*self.signer, &heads, dropped, self.clock.wall());
        Ok(Some(Redact {
            redactions,
            statements,
        }))
    }

    fn before(&self, age: Duration) -> Wall {
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        Wall(self.clock.wall().0.saturating_sub(age))
    }
}

/// Returns before which place records go if all blocks are about as large.
fn too_large(house: &mut impl House, most: u64, first: i64, last: i64) -> Result<i64, Fault> {
    let used = house.used()?;
    let excess = used.saturating_sub(most);
    if excess == 0 {
        return Ok(first);
    }
    let (oldest, open) = (first / block::SIZE, last / block::SIZE);
    let blocks = u64::try_from(open - oldest + 1).unwrap_or(1).max(1);
    let many = excess.div_ceil((used / blocks).max(1));
    let until = oldest.saturating_add(i64::try_from(many).unwrap_or(i64::MAX));
    Ok(until.min(open - KEPT).max(0).saturating_mul(block::SIZE))
}
