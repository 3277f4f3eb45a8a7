//! Counting over a SQLite database: finished blocks by their bitmaps, all others record by record.

use std::collections::{BTreeMap, BTreeSet};

use mcpproxy_core::count::INTENT;
use mcpproxy_core::{CountQuery, Counted, Field};
use rusqlite::Connection;

use super::reader::Search;
use super::schema::ends;
use crate::block::{Bits, SIZE, code};
use crate::database::Fault;
use crate::paging::Further;
use crate::tally::{Found, Reach, Tally};
use crate::unfollowed::{Met, Spans, Unfollowed};

/// Blocks whose bitmaps are in memory at once.
const MANY: usize = 1024;

/// Counts what is asked for.
pub(super) fn count(connection: &Connection, asked: &CountQuery) -> Result<Counted, Fault> {
    let mut tally = Tally::new(asked, str::to_owned);
    let mut search = Search::new(connection, &asked.query)?;
    let (first, last) = ends(connection)?;
    let spans = spans(connection)?;
    let is_indexed = Tally::is_indexed(asked);
    let (mut finished, mut others) = (Vec::new(), Vec::new());
    for block in first / SIZE..=last / SIZE {
        let reach = spans.get(&block).map(|span| tally.reach(*span));
        match reach {
            Some(Reach::Outside) => {}
            Some(reach) if is_indexed => finished.push((block, reach)),
            Some(_) | None => others.push(block),
        }
    }
    for some in finished.chunks(MANY) {
        let mut found = postings(connection, &tally.fields(), some)?;
        for (block, reach) in some {
            let found = found.remove(block).filter(Found::knows_calls);
            let Some(found) = found else {
                others.push(*block);
                continue;
            };
            for (part, records) in parts(connection, &tally, (*block, *reach), first)? {
                tally.block(part, &records, &found);
            }
        }
    }
    for block in others {
        search.each(block, |columns| tally.look(columns))?;
    }
    if let Some(mut unfollowed) = Unfollowed::new(&asked.query) {
        let blocks = (first / SIZE, last / SIZE);
        let blocks = unfollowed.blocks(blocks, &spans, &with_intents(connection)?);
        go_through(connection, &blocks, &mut unfollowed)?;
        let (places, since) = unfollowed.finish();
        for place in places {
            search.look(place, |_, row| {
                tally.look_at_unfollowed(&row.columns);
                Ok(())
            })?;
        }
        tally.note_since(since);
    }
    Ok(tally.finish())
}

/// Returns the finished blocks that have intents.
fn with_intents(connection: &Connection) -> Result<BTreeSet<i64>, Fault> {
    let sql = "SELECT block FROM posting WHERE field = ? AND value = ?";
    let mut statement = connection.prepare_cached(sql)?;
    let blocks = statement.query_map((code(Field::Kind), INTENT), |row| row.get(0))?;
    Ok(blocks.collect::<Result<_, _>>()?)
}

/// Shows the records of some blocks, last first.
fn go_through(
    connection: &Connection,
    blocks: &[i64],
    unfollowed: &mut Unfollowed,
) -> Result<(), Fault> {
    let sql = "SELECT seq, at, id, type FROM activity \
               WHERE seq >= ?1 AND seq < ?1 + ?2 ORDER BY seq DESC";
    let mut statement = connection.prepare_cached(sql)?;
    for block in blocks {
        let mut rows = statement.query([block * SIZE, SIZE])?;
        while let Some(row) = rows.next()? {
            let met = Met {
                place: row.get(0)?,
                at: super::row::cell(row, 1)?,
                call: super::row::cell(row, 2)?,
                kind: row.get_ref(3)?.as_str().unwrap_or_default(),
            };
            if unfollowed.meet(met) == Further::No {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn spans(connection: &Connection) -> Result<Spans, Fault> {
    let mut statement = connection.prepare("SELECT block, first_at, last_at FROM block")?;
    let spans = statement.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    Ok(spans.collect::<Result<_, _>>()?)
}

/// Reads what is known of some blocks.
fn postings(
    connection: &Connection,
    fields: &[i64],
    blocks: &[(i64, Reach)],
) -> Result<BTreeMap<i64, Found>, Fault> {
    let sql = "SELECT block, value, records FROM posting \
               WHERE field = ? AND block BETWEEN ? AND ?";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found: BTreeMap<i64, Found> = BTreeMap::new();
    let ends = blocks.first().zip(blocks.last());
    let Some((from, to)) = ends.map(|(first, last)| (first.0, last.0)) else {
        return Ok(found);
    };
    for field in fields {
        let mut rows = statement.query([*field, from, to])?;
        while let Some(row) = rows.next()? {
            let bytes = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
            let block = found.entry(row.get(0)?).or_default();
            block.put(*field, row.get(1)?, Bits::from_bytes(bytes));
        }
    }
    Ok(found)
}

/// Returns which records of a block are of which part of time.
fn parts(
    connection: &Connection,
    tally: &Tally<'_>,
    (block, reach): (i64, Reach),
    first: i64,
) -> Result<BTreeMap<u64, Bits>, Fault> {
    match reach {
        Reach::Outside => Ok(BTreeMap::new()),
        Reach::Within(part) => Ok([(part, Tally::kept(block, first))].into()),
        Reach::Across => {
            let sql = "SELECT seq, at FROM activity WHERE seq >= ?1 AND seq < ?1 + ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let times = statement.query_map([block * SIZE, SIZE], |row| {
                Ok((row.get(0)?, super::row::cell(row, 1)?))
            })?;
            let times: Vec<(i64, i64)> = times.collect::<Result<_, _>>()?;
            Ok(tally.parts(times.into_iter()))
        }
    }
}
