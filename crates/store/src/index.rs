//! Whether records are found by what they say: the index of every finished block is made again from its
//! records, and compared with the one that is kept.
//!
//! The chain does not cover indexes, since they follow from the records: whoever changes one hides records
//! from filters and summaries, and no record says so. What hides nothing is no flaw, since earlier
//! versions and other gateways leave such things behind: a digest that is not there (all records are then
//! read), and what a bitmap has of records that were dropped.

use std::collections::BTreeMap;

use crate::block::{Bits, Block, CALLS, SIZE, is_bitmap};
use crate::chain::Redacted;
use crate::columns::signed;
use crate::database::{Database, Fault, House as _, Log as _, Row};
use crate::digest;

const CHANGED: &str = "the index of a block is not what its records make it";
const GONE: &str = "the index of a block is gone";
const EARLY: &str = "an index was put in for a block that is not full";

/// A block, and what is wrong with its index.
pub(crate) type Misfiled = (i64, &'static str);

/// The index of a block as a database keeps it.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The span of time.
    pub(crate) span: (i64, i64),
    /// What its records take, where that is kept.
    pub(crate) bytes: Option<i64>,
    /// Bitmaps by field and value; digests stand under no value.
    pub(crate) found: BTreeMap<(i64, String), Vec<u8>>,
}

/// Goes through the records beside the audit of their chain, one block at a time.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// The last block that has an index.
    last: Option<i64>,
    /// Under what a database keeps the records that have a value.
    key: fn(&str) -> String,
    /// The first place of the log: what was dropped stood before it.
    first: Option<i64>,
    begun: Option<Begun>,
    unindexed: u64,
}

/// The block whose records are being looked at.
#[derive(Debug)]
struct Begun {
    made: Block,
    kept: Option<Kept>,
    /// Records that lost what some of the index was made of.
    bare: Bits,
}

impl Comparison {
    /// Begins.
    pub(crate) fn new(last: Option<i64>, key: fn(&str) -> String) -> Self {
        Self {
            last,
            key,
            first: None,
            begun: None,
            unindexed: 0,
        }
    }

    /// Takes the next record, and returns what is wrong with the block before it, if that was its last.
    /// Blocks are asked for in their order, each once.
    pub(crate) fn look(
        &mut self,
        place: i64,
        row: &Row<'_>,
        kept: impl FnOnce(i64) -> Result<Option<Kept>, Fault>,
    ) -> Result<Option<Misfiled>, Fault> {
        let (first, number) = (*self.first.get_or_insert(place), place / SIZE);
        let is_next = |begun: &mut Begun| begun.made.number() != number;
        let before = self.begun.take_if(is_next);
        let flaw = before.and_then(|before| self.judge(before, first));
        let begun = match &mut self.begun {
            Some(begun) => begun,
            None => self.begun.insert(Begun {
                made: Block::new(number),
                kept: kept(number)?,
                bare: Bits::NONE,
            }),
        };
        begun.add(place, row);
        Ok(flaw)
    }

    /// Ends with the block that is being filled, and returns how many full ones have no index yet. One for
    /// that block, or for a later one, hides records that are still to come.
    pub(crate) fn finish(self) -> (u64, Option<Misfiled>) {
        let open = self.begun.map(|begun| begun.made.number());
        let early = self.last.zip(open).filter(|(last, open)| last >= open);
        (self.unindexed, early.map(|(last, _)| (last, EARLY)))
    }

    fn judge(&mut self, begun: Begun, first: i64) -> Option<Misfiled> {
        let number = begun.made.number();
        let Some(kept) = begun.kept else {
            // Blocks get theirs one after the other: those after the last one wait for upkeep.
            if self.last.is_some_and(|last| number < last) {
                return Some((number, GONE));
            }
            self.unindexed += 1;
            return None;
        };
        let cut = Cut::new(number, first, &begun.bare);
        let fits = cut.fits_span(&begun.made, kept.span)
            && cut.fits_bytes(&begun.made, kept.bytes)
            && cut.fits_digests(&begun.made, &kept)
            && cut.fits_bitmaps(&begun.made, kept, self.key);
        (!fits).then_some((number, CHANGED))
    }
}

impl Begun {
    fn add(&mut self, place: i64, row: &Row<'_>) {
        if self.kept.is_none() {
            return;
        }
        self.made.add(place, &row.columns);
        // Agents, and which of their events are calls, are read from words; before there were chains,
        // all that was dropped together was.
        let salts = row.link.as_ref().map(|(_, link)| &link.salts);
        if salts.is_none_or(|salts| Redacted::read(salts).is_some()) {
            let place = u16::try_from(place % SIZE).unwrap_or(u16::MAX);
            self.bare.set(place);
        }
    }
}

/// Which records of a block are compared.
struct Cut {
    /// Those that were not dropped.
    left: Bits,
    /// Those of them that have their words.
    whole: Bits,
    /// Some were.
    is_short: bool,
}

impl Cut {
    fn new(number: i64, first: i64, bare: &Bits) -> Self {
        let [begin, _] = Block::places(number);
        let mut left = Bits::ALL;
        let mut dropped = Bits::NONE;
        for place in begin..first {
            dropped.set(u16::try_from(place - begin).unwrap_or(u16::MAX));
        }
        left.minus(&dropped);
        let mut whole = left.clone();
        whole.minus(bare);
        Self {
            left,
            whole,
            // Places are counted from one.
            is_short: first > begin.max(1),
        }
    }

    /// Where records were dropped the span may still be theirs, too: one that is wider hides nothing.
    fn fits_span(&self, made: &Block, (first_at, last_at): (i64, i64)) -> bool {
        made.span().is_none_or(|(first, last)| {
            let within = first_at <= first && last <= last_at;
            within && (self.is_short || (first_at, last_at) == (first, last))
        })
    }

    /// Records that were dropped, or lost their words since, took more.
    fn fits_bytes(&self, made: &Block, kept: Option<i64>) -> bool {
        let made = signed(made.bytes());
        let is_whole = !self.is_short && self.whole == self.left;
        kept.is_none_or(|kept| kept == made || (kept > made && !is_whole))
    }

    fn fits_digests(&self, made: &Block, kept: &Kept) -> bool {
        made.digests().all(|(field, made)| {
            let kept = kept.found.get(&(field, String::new()));
            kept.is_none_or(|kept| digest::is_same(&made, kept, &self.whole))
        })
    }

    fn fits_bitmaps(&self, made: &Block, mut kept: Kept, key: fn(&str) -> String) -> bool {
        let cut = |mut bits: Bits, to: &Bits| {
            bits.and(to);
            bits
        };
        for (field, value, bits) in made.bitmaps() {
            let among = if field == CALLS {
                &self.whole
            } else {
                &self.left
            };
            let fits = match kept.found.remove(&(field, key(value))) {
                Some(kept) => cut(Bits::from_bytes(&kept), among) == cut(bits.clone(), among),
                // Without that of calls they are counted one by one.
                None => field == CALLS,
            };
            if !fits {
                return false;
            }
        }
        let rest = kept
            .found
            .iter()
            .filter(|((field, _), _)| is_bitmap(*field));
        let mut rest = rest.map(|(_, bytes)| Bits::from_bytes(bytes));
        rest.all(|bits| cut(bits, &self.left).is_empty())
    }
}

/// Makes the index of every finished block anew, and returns how many there are. A gateway may run
/// meanwhile: records without an index are all looked at.
pub(crate) fn remake(database: &impl Database) -> Result<u64, Fault> {
    let (mut log, mut house) = (database.log()?, database.house()?);
    log.forget()?;
    let (first, last) = house.ends()?;
    let mut made = 0;
    for number in first / SIZE..last / SIZE {
        if let Some(block) = house.block(number, i64::MIN)? {
            log.seal(&block)?;
            made += 1;
        }
    }
    Ok(made)
}
