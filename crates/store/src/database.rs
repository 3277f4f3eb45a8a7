//! What a database must be able to do to hold the log: the port between what is the same for all
//! and what each does in its own way.

use std::borrow::Cow;
use std::fmt;

use mcpproxy_core::Wall;

use crate::Error;
use crate::block::Block;
use crate::chain::{self, Genesis, Link, Redacted};
use crate::checkpoint::{Checkpoint, Head};
use crate::columns::Columns;
use crate::proof::Statements;
use crate::redaction::{Bare, Redacting};
use crate::shown::{self, Words};

/// What a database said when something went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault(String);

impl Fault {
    /// Takes what was said.
    pub(crate) fn new(said: impl Into<String>) -> Self {
        Self(said.into())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(fault: rusqlite::Error) -> Self {
        Self(fault.to_string())
    }
}

impl From<serde_json::Error> for Fault {
    fn from(fault: serde_json::Error) -> Self {
        Self(fault.to_string())
    }
}

impl From<Error> for Fault {
    fn from(fault: Error) -> Self {
        Self(fault.to_string())
    }
}

/// A record with its place in the chain of who wrote it.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) columns: Columns<'a>,
    /// The row of the writer and the place in its chain; nothing for what an earlier version wrote.
    pub(crate) link: Option<(i64, Link<'a>)>,
}

impl Row<'_> {
    /// Returns the record as it is shown.
    pub(crate) fn show(&self) -> Result<String, serde_json::Error> {
        let salts = self.link.as_ref().map(|(_, link)| &link.salts);
        let redacted = salts.is_some_and(|salts| Redacted::read(salts).is_some());
        let words = if redacted {
            Words::Redacted
        } else {
            Words::Kept
        };
        shown::show(&self.columns, words)
    }

    /// Returns who wrote the record, and what is signed of it once its words are gone.
    pub(crate) fn bare(&self) -> Option<(i64, Bare)> {
        let (writer, link) = self.link.as_ref()?;
        let bare = Bare {
            number: link.number,
            facts: chain::facts(&self.columns, &link.salts)?,
        };
        Some((*writer, bare))
    }

    /// Takes the words of the record at a place away; nothing where there is nothing to take.
    pub(crate) fn redact(&self, place: i64) -> Option<Redaction> {
        let columns = &self.columns;
        if !columns.has_sensitive_data {
            return None;
        }
        let salts = if let Some((_, link)) = &self.link {
            columns.words.as_ref()?;
            Redacted::of(columns, &link.salts)?.to_bytes()
        } else {
            columns.rest.as_ref()?;
            Vec::new()
        };
        Some(Redaction {
            place,
            at: columns.at,
            chain: self.bare(),
            salts,
            bytes: columns.words.as_ref().map_or(0, |words| words.len()),
        })
    }
}

/// What stays of a record's salts when its words are dropped.
#[derive(Clone, Debug)]
pub(crate) struct Redaction {
    pub(crate) place: i64,
    pub(crate) at: i64,
    /// The row of the writer, and what is signed of the record.
    pub(crate) chain: Option<(i64, Bare)>,
    /// Nothing for a record without a chain, whose words are in `rest`.
    pub(crate) salts: Vec<u8>,
    /// How long the words are.
    pub(crate) bytes: usize,
}

/// Words that are dropped together, and what is signed about it.
#[derive(Debug)]
pub(crate) struct Redact {
    pub(crate) redactions: Vec<Redaction>,
    pub(crate) statements: Vec<Redacting>,
}

/// Records whose words are to be dropped.
#[derive(Debug, Default)]
pub(crate) struct Due {
    pub(crate) redactions: Vec<Redaction>,
    /// Where to look on; nothing where the first is not old enough, or there is none.
    pub(crate) next: Option<i64>,
    /// What comes next is not old enough yet.
    pub(crate) is_young: bool,
}

impl Due {
    /// Looks at a record; tells whether the next may be old enough, too.
    pub(crate) fn look(&mut self, place: i64, row: &Row<'_>, limit: Wall) -> bool {
        if row.columns.wall() >= limit {
            self.is_young = true;
            return false;
        }
        self.redactions.extend(row.redact(place));
        self.next = Some(place + 1);
        true
    }
}

/// Records that are to be dropped: all before a place.
#[derive(Debug)]
pub(crate) struct Prune {
    pub(crate) until: i64,
    /// The finished block that some of them are in, as it was.
    pub(crate) block: Option<Block>,
    /// What is left of it.
    pub(crate) left: Option<Block>,
    /// What remains of the chains.
    pub(crate) checkpoints: Vec<Checkpoint>,
    /// How many they are, up to when, and why they go.
    pub(crate) told: String,
}

/// Records that were lost, and why.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Missing<'a> {
    pub(crate) lost: u64,
    pub(crate) why: &'a str,
}

/// How far a commit goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sync {
    /// To the system, which writes it when it likes.
    Normal,
    /// Onto the disk.
    Full,
}

/// A database.
pub(crate) trait Database: fmt::Debug + Send + std::marker::Sync + 'static {
    type Log: Log;
    type House: House;

    /// Opens it for the writer.
    fn log(&self) -> Result<Self::Log, Error>;

    /// Opens it for upkeep.
    fn house(&self) -> Result<Self::House, Error>;

    /// Names it in messages.
    fn name(&self) -> Cow<'_, str>;
}

/// The writer's side.
pub(crate) trait Log: Send + 'static {
    /// Adds a writer, after the one whose record is the last, together with its first statement: who
    /// is there without one was robbed of it. Where so many records are missing before, that is noted with
    /// it. All of it is durable. Returns its row.
    fn begin(
        &mut self,
        name: [u8; 16],
        begun: Wall,
        missing: Option<Missing<'_>>,
        first: &dyn Fn(i64, &Genesis) -> Checkpoint,
    ) -> Result<(i64, Genesis), Fault>;

    /// Returns how far the chain of a writer was last signed; nothing where there is no such writer.
    fn reached(&mut self, name: &[u8; 16]) -> Result<Option<i64>, Fault>;

    /// Gets ready for records of some times, which are added next.
    fn make_room(&mut self, times: impl Iterator<Item = i64>) -> Result<(), Fault>;

    /// Adds records in one transaction and returns the last place; without any it only waits for
    /// what was added before.
    fn append<'a>(
        &mut self,
        rows: impl ExactSizeIterator<Item = Row<'a>>,
        sync: Sync,
    ) -> Result<i64, Fault>;

    /// Keeps a statement in the place of an earlier one.
    fn state(&mut self, checkpoint: &Checkpoint) -> Result<(), Fault>;

    /// Keeps how the records of a finished block are found.
    fn seal(&mut self, block: &Block) -> Result<(), Fault>;

    /// Drops how records are found, of all blocks.
    fn forget(&mut self) -> Result<(), Fault>;

    /// Drops records, durably, so that nobody goes on from what is gone.
    fn prune(&mut self, prune: &Prune) -> Result<(), Fault>;

    /// Drops what records say in words, together with what is signed about it.
    fn redact(&mut self, redact: &Redact) -> Result<(), Fault>;

    /// Moves what was written to where it belongs, if that is left to the writer.
    fn settle(&mut self) -> Result<(), Fault>;
}

/// Whether the writer has to help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    Enough,
    TooLittle,
}

/// The side of upkeep, which only reads.
pub(crate) trait House: Send + 'static {
    /// Returns the first and the last place; the last is before the first where there are none.
    fn ends(&mut self) -> Result<(i64, i64), Fault>;

    /// Returns the last block whose records are found easily.
    fn sealed(&mut self) -> Result<Option<i64>, Fault>;

    /// Reads a block from a place on; nothing where it has no records there.
    fn block(&mut self, number: i64, from: i64) -> Result<Option<Block>, Fault>;

    /// Returns how many bytes are in use, as the database has it: nothing vouches for that.
    fn used(&mut self) -> Result<u64, Fault>;

    /// Returns the first place at or after `from` whose record is not older than `limit`, or the
    /// one after the last that was looked at. Nothing vouches for that either.
    fn older(&mut self, from: i64, limit: Wall) -> Result<i64, Fault>;

    /// Looks for records from a place on that say something in words and are older than `limit`.
    fn due(&mut self, from: i64, limit: Wall) -> Result<Due, Fault>;

    /// Keeps to one state of the database until it is let go. After a fault the connection is given up.
    fn hold(&mut self) -> Result<(), Fault>;

    /// Lets the state go.
    fn release(&mut self) -> Result<(), Fault>;

    /// Returns everybody who wrote, and all that is signed of them.
    fn statements(&mut self) -> Result<Statements, Fault>;

    /// Hands over the records of a span in the order of their places, until it is told to stop.
    fn rows(
        &mut self,
        from: i64,
        until: i64,
        each: &mut dyn FnMut(i64, &Row<'_>) -> bool,
    ) -> Result<(), Fault>;

    /// Returns the first place at or after another that is taken.
    fn next(&mut self, place: i64) -> Result<Option<i64>, Fault>;

    /// Returns how many bytes the database may take for records of so many.
    fn at_most(&self, bytes: u64) -> u64;

    /// Returns where the chains have got to whose records are in a span.
    fn heads(&mut self, from: i64, until: i64) -> Result<Vec<Head>, Fault>;

    /// Moves what was written to where it belongs.
    fn settle(&mut self) -> Result<Moved, Fault>;

    /// Has nothing of what was dropped stay where it was first written; tells whether that is so. Nobody
    /// is waited for.
    fn scrub(&mut self) -> Result<bool, Fault>;
}
