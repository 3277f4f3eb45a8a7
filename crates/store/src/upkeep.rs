//! Keeping house beside the writer: finished blocks are made easy to find, what was written is
//! moved to where it belongs, and what is too old or too much goes.
//!
//! Only the writer changes tables, so that nothing here makes it wait for a lock: what is
//! prepared here is handed to it as a chore.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use mcpproxy_core::{Clock, StatementCheck, StatementSigner, Tick};

use crate::block::{self, Block};
use crate::database::{Database, Due, Fault, House, Moved, Redact};
use crate::health::Health;
use crate::pruning::{self, Pruning, Rules, Step};
use crate::queue::{Chore, Queue};
use crate::redaction::Redacting;
use crate::retention::InForce;

/// Chores that may wait for the writer before more are prepared.
const MOST_CHORES: usize = 64;
/// How long the writer is given for them.
const SOON: Duration = Duration::from_millis(20);
/// How long one who reads what was dropped is given.
const HELD: Duration = Duration::from_secs(1);
/// How often is looked for what grew old, and the chain signed, without being rung.
const OFTEN: Duration = Duration::from_mins(1);

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
    pub(crate) trust: Arc<dyn StatementCheck>,
    pub(crate) health: Arc<Health>,
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
    pruning: Pruning,
    /// More is to be done once the writer has done what it was asked.
    is_behind: bool,
    /// Something was dropped that may still be where it was first written.
    is_dirty: bool,
    /// It is, because somebody read or wrote just then.
    is_held: bool,
    /// When nothing of that kind was left there.
    scrubbed: Option<Tick>,
}

impl<D: Database> Upkeep<D> {
    /// Keeps house until nobody can ring any more.
    pub(crate) fn run(mut self, house: D::House, news: &Receiver<News>) {
        let mut house = Some(house);
        loop {
            let pause = match &self.marks {
                marks if marks.is_behind => SOON,
                marks if marks.is_held => HELD,
                _ => OFTEN,
            };
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
            self.prune(house, first)?;
            self.redact(house, first)?;
        }
        if news.pages && house.settle()? == Moved::TooLittle {
            self.queue.ask(Chore::Settle);
        }
        self.scrub(house)
    }

    /// Has nothing stay of what was dropped, once all that is due is gone. Now and then only: what is
    /// written next takes longer, since the write-ahead log must grow again.
    fn scrub(&mut self, house: &mut D::House) -> Result<(), Fault> {
        let now = self.clock.tick();
        let is_early = |last: Tick| now < last.after(OFTEN);
        if !self.marks.is_dirty || self.marks.scrubbed.is_some_and(is_early) {
            return Ok(());
        }
        self.marks.is_behind |= self.queue.chores() > 0;
        if !self.marks.is_behind {
            self.marks.is_held = !house.scrub()?;
            if !self.marks.is_held {
                (self.marks.is_dirty, self.marks.scrubbed) = (false, Some(now));
            }
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
            let [_, end] = Block::places(number);
            // Nothing need stand in the blocks between.
            number = house.next(end)?.map_or(open, |place| place / block::SIZE);
        }
        self.marks.next = Some(number);
        Ok(())
    }

    fn has_room(&mut self) -> bool {
        let is_full = self.queue.chores() >= MOST_CHORES;
        self.marks.is_behind |= is_full;
        !is_full
    }

    /// Drops what is too old, too many or too large.
    fn prune(&mut self, house: &mut D::House, first: i64) -> Result<(), Fault> {
        // What was asked for already may still be there.
        if first < self.marks.oldest && self.queue.chores() > 0 {
            self.marks.is_behind = true;
            return Ok(());
        }
        let rules = Rules {
            retention: self.retention.get(),
            now: self.clock.wall(),
            signer: &*self.signer,
            trust: &*self.trust,
            sealed: self.marks.next.unwrap_or(0),
        };
        match self.marks.pruning.next(house, &rules)? {
            Step::Look => self.marks.is_behind = true,
            Step::Rest => self.health.trust(),
            Step::Drop(prune) => {
                self.health.trust();
                (self.marks.oldest, self.marks.is_behind) = (prune.until, true);
                self.marks.is_dirty = true;
                self.queue.ask(Chore::Drop(prune));
            }
            Step::Refuse(why) => {
                if self.health.doubt(&why) {
                    tracing::error!("{why}; `mcpproxy activity verify` tells what was changed");
                }
            }
        }
        Ok(())
    }

    /// Drops what old records say in words, where they hold sensitive data.
    fn redact(&mut self, house: &mut D::House, first: i64) -> Result<(), Fault> {
        let Some(age) = self.retention.get().redact_after else {
            return Ok(());
        };
        let limit = pruning::before(self.clock.wall(), age);
        let mut from = self.marks.redacted.max(first);
        while self.has_room() {
            let due = house.due(from, limit)?;
            let (next, is_young) = (due.next, due.is_young);
            if let Some(redact) = self.accounted(house, due)? {
                for one in &redact.redactions {
                    self.marks.pruning.ledger.lighten(one.place, one.bytes);
                }
                self.queue.ask(Chore::Redact(redact));
                (self.marks.is_dirty, self.marks.is_behind) = (true, true);
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
}
