//! Which records go next, because they are too old, too many or too large.
//!
//! What the database says of its blocks only tells where to look. That records are to go, and what is signed
//! of them, follows from the records (`proof`, `ledger`): else whoever can write to the database could have
//! the log drop them, and sign it. Records that are not what was written stay until somebody has looked.

use std::time::Duration;

use mcpproxy_core::{StatementCheck, StatementSigner, Wall};

use crate::block::{Block, SIZE};
use crate::checkpoint::{Checkpoint, Keys, State};
use crate::database::{Fault, House, Prune};
use crate::ledger::{Ledger, Sums};
use crate::proof::{Heads, Proof, Statements};
use crate::retention::Retention;

/// Blocks at the end of the log that are never dropped for their size: the one that is being filled, and
/// two before it.
const KEPT: usize = 3;

/// What whoever drops records goes by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    pub(crate) retention: Retention,
    pub(crate) now: Wall,
    pub(crate) signer: &'a dyn StatementSigner,
    pub(crate) trust: &'a dyn StatementCheck,
    /// The first block that has no index.
    pub(crate) sealed: i64,
}

/// What is to be done next.
#[derive(Debug)]
pub(crate) enum Step {
    /// Nothing is to go.
    Rest,
    /// More is to be looked at before that is known.
    Look,
    /// Records go.
    Drop(Prune),
    /// Records would have to go that are not what was written.
    Refuse(String),
}

/// What was found out so far.
#[derive(Debug, Default)]
pub(crate) struct Pruning {
    pub(crate) ledger: Ledger,
    /// It was told that the database takes more than its records do.
    has_told: bool,
}

/// Records that are to go.
#[derive(Debug)]
struct Due {
    /// Before this place they are too many or too large.
    surplus: i64,
    /// Before this time they are too old.
    limit: Option<Wall>,
    /// Where the first record stands that may stay, as the database has it.
    until: i64,
    why: &'static str,
    /// The keys that it rests on.
    keys: Keys,
}

impl Pruning {
    /// Finds the next records that are to go, at most one block of them.
    pub(crate) fn next(
        &mut self,
        house: &mut impl House,
        rules: &Rules<'_>,
    ) -> Result<Step, Fault> {
        house.hold()?;
        let step = self.look(house, rules)?;
        house.release()?;
        Ok(step)
    }

    fn look(&mut self, house: &mut impl House, rules: &Rules<'_>) -> Result<Step, Fault> {
        let (first, last) = house.ends()?;
        if first > last {
            return Ok(Step::Rest);
        }
        let retention = &rules.retention;
        let limit = retention.max_age.map(|age| before(rules.now, age));
        let old = limit.map_or(Ok(first), |limit| house.older(first, limit))?;
        let used = house.used()?;
        let places = u64::try_from(last.saturating_sub(first)).unwrap_or(u64::MAX);
        let is_many = retention.max_records.is_some_and(|most| places >= most);
        let is_large = used > retention.max_bytes;
        if old <= first && !is_many && !is_large {
            return Ok(Step::Rest);
        }
        let statements = house.statements()?;
        let mut due = Due {
            surplus: first,
            limit,
            until: old,
            why: "too old",
            keys: Keys::new(),
        };
        if is_many || is_large {
            let ends = [first, last];
            let sums = self.ledger.advance(house, &statements, rules.trust, ends)?;
            match sums {
                Some(sums) => self.weigh(&mut due, house, used, retention, sums),
                None if old <= first => return Ok(Step::Look),
                None => {}
            }
        }
        if due.until <= first {
            return Ok(Step::Rest);
        }
        drop_from(house, rules, &statements, first, due)
    }

    /// Finds out how many records are too many or too large.
    fn weigh(
        &mut self,
        due: &mut Due,
        house: &impl House,
        claimed: u64,
        retention: &Retention,
        sums: Sums,
    ) {
        let many = retention
            .max_records
            .map_or(0, |most| sums.last_records(most));
        let (bytes, most) = (sums.bytes(), retention.max_bytes);
        let used = claimed.min(house.at_most(bytes));
        let large = if used > most {
            // What else the database takes is shared out among the records.
            let share = u128::from(most) * u128::from(bytes) / u128::from(used);
            sums.last_bytes(u64::try_from(share).unwrap_or(u64::MAX), KEPT)
        } else {
            0
        };
        if claimed > most && used <= most && !self.has_told {
            self.has_told = true;
            tracing::error!(
                "the activity log is said to take more than `max_bytes`, and its records take {bytes} bytes: \
                 none is dropped for it; `mcpproxy activity verify` tells what was changed"
            );
        }
        due.surplus = due.surplus.max(many).max(large);
        if due.surplus > due.until {
            due.until = due.surplus;
            due.why = if many >= large {
                "too many"
            } else {
                "too large"
            };
        }
        due.keys = sums.keys;
    }
}

/// Drops what is due of the first block, if it is what was written.
fn drop_from(
    house: &mut impl House,
    rules: &Rules<'_>,
    statements: &Statements,
    first: i64,
    due: Due,
) -> Result<Step, Fault> {
    let number = first / SIZE;
    let [_, end] = Block::places(number);
    let from = Heads::new();
    let mut proof = Proof::new(statements, rules.trust, &from);
    let (mut until, mut records, mut last, mut flaw) = (first, 0_u64, Wall(0), None);
    house.rows(first, end.min(due.until), &mut |place, row| {
        let at = row.columns.wall();
        if place >= due.surplus && due.limit.is_none_or(|limit| at >= limit) {
            return false;
        }
        match proof.look(row) {
            Ok(_) => (until, records, last) = (place.saturating_add(1), records + 1, last.max(at)),
            Err(what) => flaw = Some((place, row.columns.call(), what)),
        }
        flaw.is_none()
    })?;
    if let Some((place, call, what)) = flaw {
        return Ok(Step::Refuse(format!(
            "record {place} of the activity log, call {call}, is due to be dropped and is not: {what}"
        )));
    }
    if records == 0 {
        return Ok(Step::Rest);
    }
    let (heads, mut keys) = proof.followed();
    keys.extend(due.keys);
    let sign = |head| Checkpoint::resting(rules.signer, head, (State::Pruned, rules.now), &keys);
    // By a block that is not finished nothing is found yet.
    let (block, left) = if number < rules.sealed {
        (house.block(number, i64::MIN)?, house.block(number, until)?)
    } else {
        (None, None)
    };
    Ok(Step::Drop(Prune {
        until,
        block,
        left,
        checkpoints: heads.iter().map(sign).collect(),
        told: format!(
            "{records} records of the activity log up to {} are dropped: they are {}",
            last.rfc3339(),
            due.why
        ),
    }))
}

/// Returns the time that is so long ago.
pub(crate) fn before(now: Wall, age: Duration) -> Wall {
    let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    Wall(now.0.saturating_sub(age))
}
