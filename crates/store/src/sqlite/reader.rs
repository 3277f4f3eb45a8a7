//! Questions to the log, on connections that can only read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use mcpproxy_core::{
    ActivityPage, ActivityQuery, ActivityReader, CallId, CountQuery, Counted, Cursor, Field, Order,
    ReadFault, StatementCheck,
};
use rusqlite::{Connection, Row, Statement};

use super::ahead::Ahead;
use super::schema::{self, ends};
use super::{audit, count, row};
use crate::Error;
use crate::block::{Bits, How, SIZE, code, how};
use crate::columns::{Columns, signed};
use crate::database::Fault;
use crate::digest;
use crate::paging::{Further, Paging};
use crate::reminder;
use crate::timeline::{Timeline, bounded};
use crate::verify::Verified;

/// Connections that are kept for the next question.
const KEPT: usize = 4;
/// Values from which on they are looked up in all blocks at once: a family of types has hundreds, and
/// most of them occur nowhere.
const MANY: usize = 8;

/// A reader of the log. It never holds the writer up.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Reader {
    /// Opens a log that is there.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let connection = schema::open_to_read(path).map_err(Error::open(path))?;
        Ok(Self {
            path: path.to_owned(),
            idle: Mutex::new(vec![connection]),
        })
    }

    /// Looks for what was changed, taken out or put in behind the log's back.
    pub fn verify(&self, trust: &dyn StatementCheck) -> Result<Verified, ReadFault> {
        self.ask(|connection| audit::verify(connection, trust, &[]))
    }

    /// Also compares with what a gateway keeps apart from the log.
    pub fn verify_beside(
        &self,
        trust: &dyn StatementCheck,
        file: &Path,
    ) -> Result<Verified, ReadFault> {
        // Read first: what is written meanwhile only gets further.
        let reminded = reminder::load(file).map_err(|fault| ReadFault(fault.to_string()))?;
        self.ask(|connection| audit::verify(connection, trust, &reminded))
    }

    /// Answers a question from one state of the log, whatever is written meanwhile.
    fn ask<T>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, ReadFault> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle().pop();
        let answer = || {
            let connection = kept.map_or_else(|| schema::open_to_read(&self.path), Ok)?;
            let state = connection.unchecked_transaction()?;
            let answer = question(&state)?;
            state.finish()?;
            let mut idle = idle();
            if idle.len() < KEPT {
                idle.push(connection);
            }
            Ok(answer)
        };
        answer().map_err(|fault: Fault| ReadFault(fault.to_string()))
    }
}

impl ActivityReader for Reader {
    fn page(&self, query: &ActivityQuery) -> Result<ActivityPage, ReadFault> {
        self.ask(|connection| match query.order {
            Order::Written => Search::new(connection, query)?.written(),
            Order::Begun => Search::new(connection, &bounded(query))?.begun(),
        })
    }

    fn count(&self, asked: &CountQuery) -> Result<Counted, ReadFault> {
        self.ask(|connection| count::count(connection, asked))
    }

    fn get(&self, id: CallId) -> Result<Option<String>, ReadFault> {
        self.ask(|connection| {
            let millis = i64::try_from(id.millis()).unwrap_or(i64::MAX);
            // Unfinished blocks have no span yet; they are few.
            let sql = format!(
                "SELECT {} FROM activity WHERE id = ?1 AND seq >= ?2 AND seq < ?2 + ?3 \
                 ORDER BY seq DESC LIMIT 1",
                row::COLUMNS
            );
            let mut records = connection.prepare(&sql)?;
            for block in blocks_of(connection, millis)? {
                let mut rows = records.query((id.to_bytes(), block * SIZE, SIZE))?;
                if let Some(row) = rows.next()? {
                    return Ok(Some(row::read(row)?.show()?));
                }
            }
            Ok(None)
        })
    }

    fn tail(&self, after: u64, limit: usize) -> Result<ActivityPage, ReadFault> {
        self.ask(|connection| {
            let columns = row::COLUMNS;
            let sql = format!("SELECT {columns} FROM activity WHERE seq > ? ORDER BY seq LIMIT ?");
            let mut statement = connection.prepare(&sql)?;
            let mut rows = statement.query((signed(after), signed(limit)))?;
            let mut page = ActivityPage {
                lost: lost(connection)?,
                ..ActivityPage::default()
            };
            while let Some(row) = rows.next()? {
                page.records.push(row::read(row)?.show()?);
                page.next = Some(Cursor::from(place(row)?));
            }
            Ok(page)
        })
    }
}

fn place(row: &Row<'_>) -> Result<u64, Fault> {
    Ok(u64::try_from(row::place(row)?).unwrap_or(0))
}

fn lost(connection: &Connection) -> Result<u64, Fault> {
    let sql = "SELECT coalesce(sum(lost), 0) FROM gap";
    let lost: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    Ok(u64::try_from(lost).unwrap_or(0))
}

/// Returns the blocks that may have a call of a time, newest first.
fn blocks_of(connection: &Connection, millis: i64) -> Result<Vec<i64>, Fault> {
    let (first, last) = ends(connection)?;
    let mut spans = Spans::new(connection)?;
    let mut blocks = Vec::new();
    for block in (first / SIZE..=last / SIZE).rev() {
        match spans.find(block)? {
            Some((from, to)) if millis < from || millis > to => {}
            Some(_) | None => blocks.push(block),
        }
    }
    Ok(blocks)
}

/// The spans of time of finished blocks.
struct Spans<'a> {
    statement: Statement<'a>,
    ahead: Ahead<(i64, i64)>,
}

impl<'a> Spans<'a> {
    fn new(connection: &'a Connection) -> Result<Self, Fault> {
        let sql = "SELECT block, first_at, last_at FROM block WHERE block BETWEEN ? AND ?";
        Ok(Self {
            statement: connection.prepare(sql)?,
            ahead: Ahead::default(),
        })
    }

    fn find(&mut self, block: i64) -> Result<Option<(i64, i64)>, Fault> {
        let found = self.ahead.find(block, |run| {
            let span = |row: &Row<'_>| Ok((row.get(0)?, (row.get(1)?, row.get(2)?)));
            let spans = self.statement.query_map(run, span)?;
            Ok(spans.collect::<Result<_, _>>()?)
        })?;
        Ok(found.copied())
    }
}

/// Finds which records of a finished block have a value.
struct Postings<'a> {
    one: Statement<'a>,
    all: Statement<'a>,
    run: Statement<'a>,
    /// The records that digests do not rule out.
    ahead: BTreeMap<Field, Ahead<Bits>>,
    /// The records of all blocks that have one of many values.
    known: BTreeMap<Field, BTreeMap<i64, Bits>>,
}

impl<'a> Postings<'a> {
    fn new(connection: &'a Connection) -> Result<Self, Fault> {
        let one = "SELECT records FROM posting WHERE field = ? AND value = ? AND block = ?";
        let all = "SELECT block, records FROM posting WHERE field = ? AND value = ?";
        let run = "SELECT block, records FROM posting WHERE field = ? AND value = '' \
                   AND block BETWEEN ? AND ?";
        Ok(Self {
            one: connection.prepare(one)?,
            all: connection.prepare(all)?,
            run: connection.prepare(run)?,
            ahead: BTreeMap::new(),
            known: BTreeMap::new(),
        })
    }

    fn find(&mut self, field: Field, values: &[String], block: i64) -> Result<Bits, Fault> {
        if how(field) == How::Digest {
            let ahead = self.ahead.entry(field).or_default();
            let found = ahead.find(block, |[first, last]| {
                let mut found = BTreeMap::new();
                let mut rows = self.run.query((code(field), first, last))?;
                while let Some(row) = rows.next()? {
                    found.insert(row.get(0)?, digest::find(blob(row, 1)?, values));
                }
                Ok(found)
            })?;
            // Without one an earlier version finished the block.
            return Ok(found.cloned().unwrap_or(Bits::ALL));
        }
        let mut any = Bits::NONE;
        if values.len() >= MANY {
            if !self.known.contains_key(&field) {
                let found = self.everywhere(field, values)?;
                self.known.insert(field, found);
            }
            let found = self.known.get(&field).and_then(|blocks| blocks.get(&block));
            return Ok(found.cloned().unwrap_or(any));
        }
        for value in values {
            let mut rows = self.one.query((code(field), value, block))?;
            if let Some(row) = rows.next()? {
                any.or(&Bits::from_bytes(blob(row, 0)?));
            }
        }
        Ok(any)
    }

    fn everywhere(
        &mut self,
        field: Field,
        values: &[String],
    ) -> Result<BTreeMap<i64, Bits>, Fault> {
        let mut found: BTreeMap<i64, Bits> = BTreeMap::new();
        for value in values {
            let mut rows = self.all.query((code(field), value))?;
            while let Some(row) = rows.next()? {
                let bits = Bits::from_bytes(blob(row, 1)?);
                found.entry(row.get(0)?).or_insert(Bits::NONE).or(&bits);
            }
        }
        Ok(found)
    }
}

fn blob<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a [u8], Fault> {
    let kept = row.get_ref(column)?;
    Ok(kept.as_blob().map_err(rusqlite::Error::from)?)
}

/// A question being answered: block by block, newest first, and within a block only the records
/// that have what is wanted in every field.
pub(super) struct Search<'a> {
    connection: &'a Connection,
    query: &'a ActivityQuery,
    spans: Spans<'a>,
    postings: Postings<'a>,
    record: Statement<'a>,
}

impl<'a> Search<'a> {
    /// Begins the answer to a question.
    pub(super) fn new(connection: &'a Connection, query: &'a ActivityQuery) -> Result<Self, Fault> {
        let sql = format!("SELECT {} FROM activity WHERE seq = ?", row::COLUMNS);
        Ok(Self {
            connection,
            query,
            spans: Spans::new(connection)?,
            postings: Postings::new(connection)?,
            record: connection.prepare(&sql)?,
        })
    }

    /// Answers in the order in which records were written.
    fn written(mut self) -> Result<ActivityPage, Fault> {
        let mut paging = Paging::new(self.query, lost(self.connection)?);
        let (first, last) = ends(self.connection)?;
        let before = self.query.before;
        let last = last.min(before.map_or(i64::MAX, |before| signed(before.place) - 1));
        for block in (first / SIZE..=last / SIZE).rev() {
            let candidates = self.candidates(block)?;
            if candidates.is_empty() {
                continue;
            }
            for seq in candidates.descending().map(|place| block * SIZE + place) {
                if !(first..=last).contains(&seq) {
                    continue;
                }
                let further = self.look(seq, |seq, row| paging.take(seq, row))?;
                if further == Some(Further::No) {
                    return Ok(paging.finish());
                }
            }
        }
        Ok(paging.finish())
    }

    /// Answers in the order in which calls began.
    fn begun(mut self) -> Result<ActivityPage, Fault> {
        let (first, last) = ends(self.connection)?;
        let mut blocks = Vec::new();
        for block in (first / SIZE..=last / SIZE).rev() {
            let span = self.spans.find(block)?;
            blocks.push((span.map_or(i64::MAX, |(_, latest)| latest), block));
        }
        Timeline::order(&mut blocks);
        let mut timeline = Timeline::new(self.query);
        for (latest, block) in blocks {
            if !timeline.can_change(latest) {
                break;
            }
            for place in self.candidates(block)?.descending() {
                let seq = block * SIZE + place;
                self.look(seq, |seq, row| {
                    timeline.take(seq, &row.columns);
                    Ok(())
                })?;
            }
        }
        let timed = timeline.finish();
        let mut page = ActivityPage {
            next: timed.next,
            lost: lost(self.connection)?,
            ..ActivityPage::default()
        };
        for seq in timed.places {
            let shown = self.look(seq, |_, row| Ok(row.show()?))?;
            page.records.extend(shown);
        }
        Ok(page)
    }

    /// Hands on the records of a block that may be meant.
    pub(super) fn each(
        &mut self,
        block: i64,
        mut each: impl FnMut(&Columns<'_>),
    ) -> Result<(), Fault> {
        for place in self.candidates(block)?.descending() {
            self.look(block * SIZE + place, |_, row| {
                each(&row.columns);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Returns the records of a block that may be meant: all of an unfinished one.
    fn candidates(&mut self, block: i64) -> Result<Bits, Fault> {
        let mut candidates = Bits::ALL;
        let Some((first, last)) = self.spans.find(block)? else {
            return Ok(candidates);
        };
        let late = self.query.from.is_some_and(|from| last < signed(from.0));
        let early = self.query.to.is_some_and(|to| first > signed(to.0));
        if late || early {
            return Ok(Bits::NONE);
        }
        for (field, values) in &self.query.wanted {
            candidates.and(&self.postings.find(*field, values, block)?);
            if candidates.is_empty() {
                break;
            }
        }
        Ok(candidates)
    }

    /// Looks at the record at a place; nothing where there is none.
    pub(super) fn look<T>(
        &mut self,
        seq: i64,
        look: impl FnOnce(i64, &crate::database::Row<'_>) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        let mut rows = self.record.query([seq])?;
        let row = rows.next()?;
        row.map(|row| look(row::place(row)?, &row::read(row)?))
            .transpose()
    }
}
