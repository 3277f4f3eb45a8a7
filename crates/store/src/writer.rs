//! The one thread that writes: a group of records is one transaction, and everybody in it is
//! told what came of it.
//!
//! After a fault the group counts as lost, the database is opened again, and writing goes on with
//! a chain of its own; how many records are missing is then written down where they are missing.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::{Clock, SinkFault, StatementSigner};

use crate::Error;
use crate::block;
use crate::chain::{Chain, Genesis};
use crate::checkpoint::{Checkpoint, Head, State};
use crate::columns::Columns;
use crate::database::{Database, Fault, Log, Missing, Row, Sync};
use crate::health::Health;
use crate::queue::{Chore, Entry, Queue};
use crate::reminder::Reminder;
use crate::upkeep::{Bell, News};

/// The first and the longest pause before the database is opened again.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(5)];
/// Pages of the write-ahead log, by a rough count, after which it is to be moved: 2 MiB, so that no
/// commit waits long for a disk that is busy with it.
const MANY_PAGES: usize = 512;

/// The writer's state between two databases.
pub(crate) struct Writer<D> {
    pub(crate) database: Arc<D>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) health: Arc<Health>,
    pub(crate) signer: Arc<dyn StatementSigner>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) reminder: Reminder,
    pub(crate) bell: Bell,
}

/// What a writer signs with.
#[derive(Clone, Copy)]
struct Signing<'a> {
    signer: &'a dyn StatementSigner,
    clock: &'a dyn Clock,
    reminder: &'a Reminder,
}

impl<D: Database> Writer<D> {
    /// Writes until the queue is closed.
    pub(crate) fn run(self, mut log: D::Log) {
        let mut hand = None;
        while let Err(fault) = self.write_all(&mut log, hand.take()) {
            let name = self.database.name();
            tracing::error!("activity log `{name}` is broken: {fault}");
            // Whatever is known about the database may be wrong after a fault.
            drop(log);
            match self.reopen(&fault.to_string()) {
                Some((opened, began)) => (log, hand) = (opened, Some(began)),
                None => return,
            }
        }
    }

    /// Writes until the queue is closed, or until a fault, which everybody concerned was told.
    fn write_all(&self, log: &mut D::Log, hand: Option<Hand>) -> Result<(), Fault> {
        let mut pen = Pen::new(log, hand, self.signing());
        while let Some(batch) = self.queue.take() {
            let result = pen.write(&batch.entries);
            self.tell(batch.entries, result.as_ref().err());
            result?;
            let signed = if pen.is_due { pen.sign() } else { Ok(()) };
            self.bell.tell(&mut pen.news);
            let attended = signed.and_then(|()| match batch.chore {
                Some(chore) => pen
                    .attend(&chore)
                    .inspect_err(|_| self.queue.put_back(chore)),
                None => Ok(()),
            });
            attended.inspect_err(|fault| self.health.fail(&fault.to_string(), 0))?;
        }
        pen.vouch()
    }

    fn signing(&self) -> Signing<'_> {
        Signing {
            signer: &*self.signer,
            clock: &*self.clock,
            reminder: &self.reminder,
        }
    }

    fn tell(&self, mut entries: Vec<Entry>, fault: Option<&Fault>) {
        let fault = fault.map(ToString::to_string);
        if let Some(fault) = &fault {
            let lost = entries.iter().filter(|entry| entry.record.is_some());
            self.health.fail(fault, lost.count());
        }
        // Everybody is told before the first record is dropped, since they wait for that.
        for durable in entries.iter_mut().filter_map(|entry| entry.durable.take()) {
            let result = fault
                .clone()
                .map_or(Ok(()), |why| Err(SinkFault::Broken(why)));
            // The caller may have gone away; then nobody waits for the news.
            drop(durable.send(result));
        }
    }

    /// Opens the database again, with longer and longer pauses; whoever cannot wait so long is
    /// refused meanwhile. Returns nothing once the queue is closed.
    fn reopen(&self, why: &str) -> Option<(D::Log, Hand)> {
        let [mut pause, longest] = PAUSES;
        loop {
            let refuse = |entry: Entry| {
                self.health.fail(why, usize::from(entry.record.is_some()));
                if let Some(durable) = entry.durable {
                    drop(durable.send(Err(SinkFault::Broken(why.to_owned()))));
                }
            };
            if !self.queue.wait(pause, refuse) {
                return None;
            }
            pause = (pause * 2).min(longest);
            let lost = self.health.lost();
            let opened = self.database.log().map_err(Fault::from);
            // That this is durable shows that writing works.
            let opened = opened.and_then(|mut log| {
                let missing = Some(Missing { lost, why });
                let hand = begin(&mut log, missing, self.signing())?;
                Ok((log, hand))
            });
            if let Ok(opened) = opened {
                tracing::warn!("the activity log is written again; {lost} records were lost");
                self.health.mend();
                return Some(opened);
            }
        }
    }
}

/// An open database, and the chain that is written to it.
struct Pen<'a, L> {
    log: &'a mut L,
    signing: Signing<'a>,
    /// Made with the first record, so that who writes nothing leaves nothing; after a fault with the note
    /// of what is missing, which it covers.
    hand: Option<Hand>,
    /// The block that is being filled.
    block: i64,
    /// Pages of the write-ahead log since it was last told to be moved, by a rough count.
    pages: usize,
    /// A block was finished since the chain was last signed.
    is_due: bool,
    news: News,
}

/// One writer, as others see it.
struct Hand {
    writer: i64,
    genesis: Genesis,
    chain: Chain,
    /// How far the chain was when that was last signed.
    signed: i64,
    /// The last statement that is not remembered apart from the log.
    unsaid: Option<(Head, Checkpoint)>,
}

impl<'a, L: Log> Pen<'a, L> {
    fn new(log: &'a mut L, hand: Option<Hand>, signing: Signing<'a>) -> Self {
        Self {
            log,
            signing,
            hand,
            block: 0,
            pages: 0,
            is_due: false,
            // What an earlier process left is looked at, too.
            news: News {
                block: true,
                pages: true,
            },
        }
    }

    /// Writes a group in one transaction, durably if anybody waits for it.
    fn write(&mut self, entries: &[Entry]) -> Result<(), Fault> {
        if entries.is_empty() {
            return Ok(());
        }
        let awaited = entries.iter().any(|entry| entry.durable.is_some());
        let sync = if awaited { Sync::Full } else { Sync::Normal };
        if entries.iter().any(|entry| entry.record.is_some()) {
            self.append(entries, sync)?;
        }
        if entries.iter().any(|entry| entry.record.is_none()) {
            // Who wants to know that all is written may be about to end.
            self.sign()?;
            self.log.append(std::iter::empty(), sync)?;
            if sync == Sync::Full {
                self.remind()?;
            }
        }
        Ok(())
    }

    fn append(&mut self, entries: &[Entry], sync: Sync) -> Result<(), Fault> {
        if self.hand.is_none() {
            self.hand = Some(begin(self.log, None, self.signing)?);
        }
        let Some(Hand { writer, chain, .. }) = &mut self.hand else {
            return Ok(());
        };
        let records = entries.iter().filter_map(|entry| entry.record.as_ref());
        let records: Vec<_> = records.collect();
        chain.draw(records.len())?;
        self.log
            .make_room(records.iter().map(|record| Columns::at(record)))?;
        let rows = records.iter().map(|record| {
            let columns = Columns::of(record);
            let link = chain.push(&columns).map(|link| (*writer, link));
            Row { columns, link }
        });
        let last = self.log.append(rows, sync)?;
        self.count(last, entries.len());
        Ok(())
    }

    fn count(&mut self, last: i64, records: usize) {
        let block = last / block::SIZE;
        if block != self.block {
            (self.block, self.news.block, self.is_due) = (block, true, true);
        }
        // A commit writes a page or two, however little it has to say.
        self.pages += 2 + records / 4;
        if self.pages >= MANY_PAGES {
            (self.pages, self.news.pages) = (0, true);
        }
    }

    /// Signs how far the chain has got, unless that is signed already.
    fn sign(&mut self) -> Result<(), Fault> {
        self.is_due = false;
        match &mut self.hand {
            Some(hand) => state(self.log, hand, self.signing),
            None => Ok(()),
        }
    }

    /// Signs how far the chain has got, and has it remembered apart from the log.
    fn vouch(&mut self) -> Result<(), Fault> {
        self.sign()?;
        if self.hand.as_ref().is_some_and(|hand| hand.unsaid.is_some()) {
            self.log.append(std::iter::empty(), Sync::Full)?;
            self.remind()?;
        }
        Ok(())
    }

    /// Has what was last signed remembered apart from the log, which must be on disk so far.
    fn remind(&mut self) -> Result<(), Fault> {
        let unsaid = self.hand.as_mut().and_then(|hand| hand.unsaid.take());
        unsaid.map_or(Ok(()), |(head, signed)| {
            self.signing.reminder.renew(self.log, &head, &signed)
        })
    }

    /// Does a chore.
    fn attend(&mut self, chore: &Chore) -> Result<(), Fault> {
        match chore {
            Chore::Settle => self.log.settle(),
            Chore::Sign => self.vouch(),
            Chore::Seal(block) => self.log.seal(block),
            Chore::Drop(prune) => {
                self.log.prune(prune)?;
                tracing::info!("{}", prune.told);
                Ok(())
            }
            Chore::Redact(redact) => self.log.redact(redact),
        }
    }
}

/// Begins a chain, after what is missing, if anything is.
fn begin(
    log: &mut impl Log,
    missing: Option<Missing<'_>>,
    signing: Signing<'_>,
) -> Result<Hand, Fault> {
    let mut name = [0; 16];
    getrandom::fill(&mut name).map_err(|fault| Fault::new(fault.to_string()))?;
    let begun = signing.clock.wall();
    // From its beginning on nobody can leave the writer out and not be seen to.
    let first = |writer: i64, genesis: &Genesis| {
        let head = Head::of(writer, genesis, &Chain::new(genesis));
        Checkpoint::sign(signing.signer, &head, State::Kept, begun)
    };
    let (writer, genesis) = log.begin(name, begun, missing, &first)?;
    let chain = Chain::new(&genesis);
    let head = Head::of(writer, &genesis, &chain);
    signing
        .reminder
        .renew(log, &head, &first(writer, &genesis))?;
    Ok(Hand {
        writer,
        genesis,
        chain,
        signed: head.number,
        unsaid: None,
    })
}

fn state(log: &mut impl Log, hand: &mut Hand, signing: Signing<'_>) -> Result<(), Fault> {
    let head = Head::of(hand.writer, &hand.genesis, &hand.chain);
    if head.number == hand.signed {
        return Ok(());
    }
    let signed = Checkpoint::sign(signing.signer, &head, State::Kept, signing.clock.wall());
    log.state(&signed)?;
    hand.signed = head.number;
    hand.unsaid = Some((head, signed));
    Ok(())
}

/// Starts a thread of the log.
pub(crate) fn start(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(run).map(drop).map_err(Error::Thread)
}
