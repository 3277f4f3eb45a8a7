//! Questions to the log in a PostgreSQL database.

use std::collections::BTreeMap;

use mcpproxy_core::{
    ActivityPage, ActivityQuery, ActivityReader, CallId, ReadFault, StatementCheck,
};

use super::connection::Connection;
use super::house::ends;
use super::log::key;
use super::worker::Workers;
use super::{audit, row};
use crate::Error;
use crate::block::{Bits, SIZE, code};
use crate::columns::signed;
use crate::database::Fault;
use crate::paging::{Further, Paging};
use crate::verify::Verified;

/// Questions that are answered at once.
const THREADS: usize = 2;
/// Blocks that are looked through with one question.
const MANY: i64 = 64;
/// Records that are fetched at once, at the least and at most.
const FETCHED: [usize; 2] = [64, 1024];

/// A reader of the log.
#[derive(Debug)]
pub struct PostgresReader {
    workers: Workers,
}

impl PostgresReader {
    /// Connects to a database, which is brought to the present form.
    pub fn open(url: &str) -> Result<Self, Error> {
        let workers = Workers::start(url, THREADS)?;
        Ok(Self { workers })
    }

    /// Looks for what was changed, taken out or put in behind the log's back.
    pub fn verify<T>(&self, trust: T) -> Result<Verified, ReadFault>
    where
        T: StatementCheck + Send + 'static,
    {
        self.ask(move |connection| audit::verify(connection, &trust))
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, ReadFault> {
        let answer = self.workers.ask(|connection| connection.look(question));
        answer.map_err(|fault| ReadFault(fault.to_string()))
    }
}

impl ActivityReader for PostgresReader {
    fn page(&self, query: &ActivityQuery) -> Result<ActivityPage, ReadFault> {
        let query = query.clone();
        self.ask(move |connection| {
            let query = &query;
            Search { connection, query }.run()
        })
    }

    fn get(&self, id: CallId) -> Result<Option<String>, ReadFault> {
        let sql = concat!(
            "SELECT ",
            row::columns!(),
            " FROM activity WHERE id = $1 ORDER BY seq DESC LIMIT 1"
        );
        self.ask(move |connection| {
            let row = connection.first(sql, &[&id.to_bytes().to_vec()])?;
            row.map(|row| Ok(row::read(&row)?.show()?)).transpose()
        })
    }

    fn tail(&self, after: u64, limit: usize) -> Result<ActivityPage, ReadFault> {
        let sql = concat!(
            "SELECT ",
            row::columns!(),
            " FROM activity WHERE seq > $1 ORDER BY seq LIMIT $2"
        );
        self.ask(move |connection| {
            let mut page = ActivityPage {
                lost: lost(connection)?,
                ..ActivityPage::default()
            };
            for row in connection.query(sql, &[&signed(after), &signed(limit)])? {
                page.records.push(row::read(&row)?.show()?);
                page.next = u64::try_from(row::place(&row)?).ok();
            }
            Ok(page)
        })
    }
}

fn lost(connection: &mut Connection) -> Result<u64, Fault> {
    let sql = "SELECT coalesce(sum(lost), 0)::bigint FROM gap";
    let row = connection.first(sql, &[])?;
    let lost: i64 = row.map_or(Ok(0), |row| row.try_get(0))?;
    Ok(u64::try_from(lost).unwrap_or(0))
}

/// A question being answered: newest blocks first, many at once, and of them only the records that
/// have what is wanted in every field.
struct Search<'a> {
    connection: &'a mut Connection,
    query: &'a ActivityQuery,
}

/// Records that may be meant, newest first, and the time in which they stand.
#[derive(Default)]
struct Candidates {
    places: Vec<i64>,
    from: i64,
    to: i64,
}

impl Search<'_> {
    fn run(mut self) -> Result<ActivityPage, Fault> {
        let mut paging = Paging::new(self.query, lost(self.connection)?);
        let (first, last) = ends(self.connection)?;
        let before = self
            .query
            .before
            .map_or(i64::MAX, |before| signed(before) - 1);
        let last = last.min(before);
        let (oldest, mut newest) = (first / SIZE, last / SIZE);
        while last >= first && newest >= oldest {
            let from = oldest.max(newest - MANY + 1);
            let mut candidates = self.candidates(from, newest)?;
            candidates
                .places
                .retain(|place| (first..=last).contains(place));
            if self.fetch(&candidates, &mut paging)? == Further::No {
                break;
            }
            newest = from - 1;
        }
        Ok(paging.finish())
    }

    /// Returns the records of some blocks that may be meant: all of an unfinished one.
    fn candidates(&mut self, from: i64, to: i64) -> Result<Candidates, Fault> {
        let (late, early) = (self.query.from, self.query.to);
        let mut blocks: BTreeMap<i64, Bits> = (from..=to).map(|one| (one, Bits::ALL)).collect();
        let mut finished = Vec::new();
        let mut found = Candidates {
            from: i64::MAX,
            ..Candidates::default()
        };
        let sql = "SELECT block, first_at, last_at FROM block WHERE block BETWEEN $1 AND $2";
        for row in self.connection.query(sql, &[&from, &to])? {
            let (block, first_at, last_at): (i64, i64, i64) =
                (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            let out = late.is_some_and(|late| last_at < signed(late.0))
                || early.is_some_and(|early| first_at > signed(early.0));
            if out {
                blocks.remove(&block);
            } else {
                finished.push(block);
                (found.from, found.to) = (found.from.min(first_at), found.to.max(last_at));
            }
        }
        if finished.len() < blocks.len() {
            (found.from, found.to) = (0, i64::MAX);
        }
        for (field, values) in &self.query.wanted {
            let values: Vec<_> = values.iter().map(|value| key(value)).collect();
            let sql = "SELECT block, records FROM posting \
                       WHERE field = $1 AND value = ANY($2) AND block = ANY($3)";
            let mut any: BTreeMap<i64, Bits> = BTreeMap::new();
            for row in self
                .connection
                .query(sql, &[&code(*field), &values, &finished])?
            {
                let bits = Bits::from_bytes(row.try_get(1)?);
                any.entry(row.try_get(0)?).or_insert(Bits::NONE).or(&bits);
            }
            for block in &finished {
                if let Some(bits) = blocks.get_mut(block) {
                    bits.and(any.get(block).unwrap_or(&Bits::NONE));
                }
            }
        }
        for (block, bits) in blocks.iter().rev() {
            let places = bits.descending().map(|place| block * SIZE + place);
            found.places.extend(places);
        }
        Ok(found)
    }

    fn fetch(
        &mut self,
        candidates: &Candidates,
        paging: &mut Paging<'_>,
    ) -> Result<Further, Fault> {
        let sql = concat!(
            "SELECT ",
            row::columns!(),
            " FROM activity WHERE seq = ANY($1) AND at BETWEEN $2 AND $3 ORDER BY seq DESC"
        );
        let [least, most] = FETCHED;
        let wanted = self.query.skip.saturating_add(self.query.limit) + 1;
        for places in candidates.places.chunks(wanted.clamp(least, most)) {
            let values: super::connection::Values<'_> =
                &[&places, &candidates.from, &candidates.to];
            for row in self.connection.query(sql, values)? {
                if paging.take(row::place(&row)?, &row::read(&row)?)? == Further::No {
                    return Ok(Further::No);
                }
            }
        }
        Ok(Further::Yes)
    }
}
