//! How many records there are and what they take, by the records themselves.
//!
//! What the database says of blocks is a claim: whoever can write to it can make the log look too large, and
//! would have it drop what was to be kept. So every record is looked at once by each process that drops any
//! for their number or size, some blocks at a time; what was seen then is not asked for again.

use std::collections::BTreeMap;

use mcpproxy_core::StatementCheck;

use crate::block::{Block, SIZE};
use crate::checkpoint::Keys;
use crate::database::{Fault, House};
use crate::proof::{Heads, Proof, Statements};

/// Blocks that are looked at before others get their turn.
const PACE: usize = 16;

/// What records take that somebody vouches for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Figures {
    records: u64,
    bytes: u64,
    /// The place of the last of them.
    last: i64,
}

/// Full blocks that were looked at.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The next block, and how far the chains were followed before it.
    next: Option<i64>,
    heads: Heads,
    blocks: BTreeMap<i64, Figures>,
    keys: Keys,
}

/// What there is, the block that is being filled included.
#[derive(Debug)]
pub(crate) struct Sums {
    blocks: BTreeMap<i64, Figures>,
    /// The keys that it rests on.
    pub(crate) keys: Keys,
}

impl Ledger {
    /// Looks at the blocks that were not looked at; returns nothing while there are more.
    pub(crate) fn advance(
        &mut self,
        house: &mut impl House,
        statements: &Statements,
        trust: &dyn StatementCheck,
        [first, last]: [i64; 2],
    ) -> Result<Option<Sums>, Fault> {
        let (oldest, open) = (first / SIZE, last / SIZE);
        if self.next.is_none_or(|next| next < oldest) {
            *self = Self::default();
        }
        self.blocks = self.blocks.split_off(&oldest);
        let from = std::mem::take(&mut self.heads);
        let mut proof = Proof::new(statements, trust, &from);
        let mut number = self.next.unwrap_or(oldest);
        for _ in 0..PACE {
            if number >= open {
                break;
            }
            self.blocks
                .insert(number, weigh(house, number, &mut proof)?);
            let [_, end] = Block::places(number);
            // Nothing need stand in the blocks between.
            number = house.next(end)?.map_or(open, |place| place / SIZE);
        }
        self.next = Some(number);
        self.heads = proof.heads();
        self.keys.extend(proof.followed().1);
        if number < open {
            return Ok(None);
        }
        let mut sums = Sums {
            blocks: self.blocks.clone(),
            keys: self.keys.clone(),
        };
        sums.blocks.insert(open, weigh(house, open, &mut proof)?);
        sums.keys.extend(proof.followed().1);
        Ok(Some(sums))
    }

    /// Takes note of words that are dropped from a record.
    pub(crate) fn lighten(&mut self, place: i64, bytes: usize) {
        if let Some(figures) = self.blocks.get_mut(&(place / SIZE)) {
            let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
            figures.bytes = figures.bytes.saturating_sub(bytes);
        }
    }
}

impl Sums {
    /// Returns what all records take.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = self.blocks.values().map(|figures| figures.bytes);
        bytes.fold(0, u64::saturating_add)
    }

    /// Returns the place from which on there are so many records.
    pub(crate) fn last_records(&self, most: u64) -> i64 {
        let mut left = most;
        for figures in self.blocks.values().rev() {
            if figures.records > left {
                let left = i64::try_from(left).unwrap_or(i64::MAX);
                return figures.last.saturating_add(1).saturating_sub(left);
            }
            left -= figures.records;
        }
        0
    }

    /// Returns the place from which on records take no more than so many bytes, by whole blocks. The last
    /// blocks, so many, stay whatever they take.
    pub(crate) fn last_bytes(&self, most: u64, kept: usize) -> i64 {
        let mut bytes = 0_u64;
        for (at, (number, figures)) in self.blocks.iter().rev().enumerate() {
            bytes = bytes.saturating_add(figures.bytes);
            if bytes > most && at >= kept {
                let [_, end] = Block::places(*number);
                return end;
            }
        }
        0
    }
}

fn weigh(house: &mut impl House, number: i64, proof: &mut Proof<'_>) -> Result<Figures, Fault> {
    let [from, until] = Block::places(number);
    let mut figures = Figures::default();
    house.rows(from, until, &mut |place, row| {
        // What is not what was written, or what nobody signed, is for an audit to tell.
        if proof.look(row) == Ok(true) {
            let bytes = u64::try_from(row.columns.bytes()).unwrap_or(u64::MAX);
            (figures.records, figures.last) = (figures.records + 1, place);
            figures.bytes = figures.bytes.saturating_add(bytes);
        }
        true
    })?;
    Ok(figures)
}
