//! Counting: finished blocks by their bitmaps, all others record by record.

use std::collections::{BTreeMap, BTreeSet};

use mcpproxy_core::count::INTENT;
use mcpproxy_core::{CountQuery, Counted, Field};

use super::{Further, SIZE, Search, Values, key};
use crate::block::{Bits, code};
use crate::database::{Fault, Row};
use crate::tally::{Found, Reach, Tally};
use crate::unfollowed::{Met, Spans, Unfollowed};

/// Blocks whose bitmaps are in memory at once.
const MANY: usize = 1024;
/// What stands in the place of a long value, and how long that is.
const HASHED: (&str, usize) = ("sha256:", 71);

impl Search<'_> {
    /// Counts what is asked for, which is what this search is about.
    pub(in crate::postgres) fn count(mut self, asked: &CountQuery) -> Result<Counted, Fault> {
        let mut tally = Tally::new(asked, key);
        let (first, last) = self.places;
        let (mut finished, mut others) = (Vec::new(), Vec::new());
        let spans = self.spans()?;
        let is_indexed = Tally::is_indexed(asked);
        for block in first / SIZE..=last / SIZE {
            match spans.get(&block).map(|span| tally.reach(*span)) {
                Some(Reach::Outside) => {}
                Some(reach) if is_indexed => finished.push((block, reach)),
                Some(_) | None => others.push(block),
            }
        }
        for some in finished.chunks(MANY) {
            let mut found = self.postings(&tally.fields(), some)?;
            for (block, reach) in some {
                let found = found.remove(block).filter(|found| is_enough(found, asked));
                let Some(found) = found else {
                    others.push(*block);
                    continue;
                };
                for (part, records) in self.parts(&tally, *block, *reach)? {
                    tally.block(part, &records, &found);
                }
            }
        }
        let mut take = |_, row: &Row<'_>| {
            tally.look(&row.columns);
            Ok(Further::Yes)
        };
        for block in others {
            self.fetch(block, block, &mut take)?;
        }
        if let Some(mut unfollowed) = Unfollowed::new(&asked.query) {
            let blocks = (first / SIZE, last / SIZE);
            let blocks = unfollowed.blocks(blocks, &spans, &self.with_intents()?);
            self.go_through(&blocks, &mut unfollowed)?;
            let (places, since) = unfollowed.finish();
            let mut take = |_, row: &Row<'_>| {
                tally.look_at_unfollowed(&row.columns);
                Ok(Further::Yes)
            };
            self.fetch_places(&places, self.times(), &mut take)?;
            tally.note_since(since);
        }
        Ok(tally.finish())
    }

    /// Returns the finished blocks that have intents.
    fn with_intents(&mut self) -> Result<BTreeSet<i64>, Fault> {
        let sql = "SELECT block FROM posting WHERE field = $1 AND value = $2";
        let rows = self.connection.query(sql, &[&code(Field::Kind), &INTENT])?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    /// Shows the records of some blocks, last first.
    fn go_through(&mut self, blocks: &[i64], unfollowed: &mut Unfollowed) -> Result<(), Fault> {
        let (early, late) = self.times();
        let sql = "SELECT seq, at, id, type FROM activity \
                   WHERE seq BETWEEN $1 AND $2 AND at BETWEEN $3 AND $4 ORDER BY seq DESC";
        for block in blocks {
            let ends = (block * SIZE, (block + 1) * SIZE - 1);
            let values: Values<'_> = &[&ends.0, &ends.1, &early, &late];
            for row in self.connection.query(sql, values)? {
                let call: &[u8] = row.try_get(2)?;
                let met = Met {
                    place: row.try_get(0)?,
                    at: row.try_get(1)?,
                    call: call.try_into().unwrap_or_default(),
                    kind: row.try_get(3)?,
                };
                if unfollowed.meet(met) == Further::No {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn spans(&mut self) -> Result<Spans, Fault> {
        let sql = "SELECT block, first_at, last_at FROM block";
        let rows = self.connection.query(sql, &[])?;
        let read =
            |row: &tokio_postgres::Row| Ok((row.try_get(0)?, (row.try_get(1)?, row.try_get(2)?)));
        rows.iter().map(read).collect()
    }

    /// Reads what is known of some blocks.
    fn postings(
        &mut self,
        fields: &[i64],
        blocks: &[(i64, Reach)],
    ) -> Result<BTreeMap<i64, Found>, Fault> {
        let mut found: BTreeMap<i64, Found> = BTreeMap::new();
        let blocks: Vec<_> = blocks.iter().map(|(block, _)| *block).collect();
        let sql = "SELECT block, field, value, records FROM posting \
                   WHERE block = ANY($1) AND field = ANY($2)";
        for row in self.connection.query(sql, &[&blocks, &fields])? {
            let block = found.entry(row.try_get(0)?).or_default();
            let records = Bits::from_bytes(row.try_get(3)?);
            block.put(row.try_get(1)?, row.try_get(2)?, records);
        }
        Ok(found)
    }

    /// Returns which records of a block are of which part of time.
    fn parts(
        &mut self,
        tally: &Tally<'_>,
        block: i64,
        reach: Reach,
    ) -> Result<BTreeMap<u64, Bits>, Fault> {
        match reach {
            Reach::Outside => Ok(BTreeMap::new()),
            Reach::Within(part) => Ok([(part, Tally::kept(block, self.places.0))].into()),
            Reach::Across => {
                let (from, to) = (block * SIZE, (block + 1) * SIZE - 1);
                let sql = "SELECT seq, at FROM activity WHERE seq BETWEEN $1 AND $2";
                let rows = self.connection.query(sql, &[&from, &to])?;
                let mut times = Vec::with_capacity(rows.len());
                for row in rows {
                    times.push((row.try_get(0)?, row.try_get(1)?));
                }
                Ok(tally.parts(times.into_iter()))
            }
        }
    }
}

/// Tells whether the bitmaps of a block say all that is asked: a long value, by which records are to be
/// counted, stands there as a hash.
fn is_enough(found: &Found, asked: &CountQuery) -> bool {
    let (start, length) = HASHED;
    let is_hashed = |value: &str| value.len() == length && value.starts_with(start);
    let mut by = asked.by.iter().flatten();
    let any = by.any(|field| {
        let mut values = found.values(code(*field)).iter();
        values.any(|(value, _)| is_hashed(value))
    });
    found.knows_calls() && !any
}
