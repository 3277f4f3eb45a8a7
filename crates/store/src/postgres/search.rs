//! A question that is being answered: newest blocks first, many at once, and of them only the records
//! that have what is wanted in every field.

mod begun;
mod count;

use std::collections::BTreeMap;

use mcpproxy_core::{ActivityPage, ActivityQuery, CallId, Field, Order};
use tokio_postgres::types::ToSql;

use super::connection::{Connection, Values};
use super::house::ends;
use super::log::key;
use super::row;
use crate::block::{Bits, How, SIZE, code, how};
use crate::columns::signed;
use crate::database::{Fault, Row};
use crate::digest;
use crate::paging::{Further, Paging};

/// Blocks that are looked through with one question: at first, and at most. What is not among the
/// newest is rare, or old, so that each question is about twice as many.
const BLOCKS: [i64; 2] = [64, 1024];
/// Records that are fetched at once: at first, and at most.
const FETCHED: [usize; 2] = [64, 1024];

/// Fields whose values stand in a column of their own, in the order of the values of [`SPAN`].
const COLUMNS: [Field; 13] = [
    Field::Kind,
    Field::Source,
    Field::Upstream,
    Field::Tool,
    Field::Session,
    Field::Principal,
    Field::Status,
    Field::Decision,
    Field::FlowType,
    Field::RiskLevel,
    Field::Operation,
    Field::Severity,
    Field::Sensitive,
];

/// Fields whose values stand in JSON, in the same order, after those.
const WITHIN: [Field; 4] = [
    Field::Request,
    Field::Parent,
    Field::McpSession,
    Field::Agent,
];

/// All records of some blocks. The database leaves out what is not meant, since all of them would be
/// many; what it lets through is looked at again.
const SPAN: &str = concat!(
    "SELECT ",
    row::columns!(),
    " FROM activity WHERE seq BETWEEN $1 AND $2 AND at BETWEEN $3 AND $4 \
     AND ($5::text[] IS NULL OR type = ANY($5)) \
     AND ($6::text[] IS NULL OR source = ANY($6)) \
     AND ($7::text[] IS NULL OR server_name = ANY($7)) \
     AND ($8::text[] IS NULL OR tool_name = ANY($8)) \
     AND ($9::text[] IS NULL OR session_id = ANY($9)) \
     AND ($10::text[] IS NULL OR principal = ANY($10)) \
     AND ($11::text[] IS NULL OR status = ANY($11)) \
     AND ($12::text[] IS NULL OR decision = ANY($12)) \
     AND ($13::text[] IS NULL OR flow_type = ANY($13)) \
     AND ($14::text[] IS NULL OR risk_level = ANY($14)) \
     AND ($15::text[] IS NULL OR intent_type = ANY($15)) \
     AND ($16::text[] IS NULL OR max_severity = ANY($16)) \
     AND ($17::text[] IS NULL OR has_sensitive_data::text = ANY($17)) \
     AND ($18::text[] IS NULL OR id = ANY($22) \
       OR EXISTS (SELECT FROM unnest($18) AS one WHERE strpos(rest, one) > 0)) \
     AND ($19::text[] IS NULL \
       OR EXISTS (SELECT FROM unnest($19) AS one WHERE strpos(rest, one) > 0)) \
     AND ($20::text[] IS NULL \
       OR EXISTS (SELECT FROM unnest($20) AS one WHERE strpos(rest, one) > 0)) \
     AND ($21::text[] IS NULL \
       OR EXISTS (SELECT FROM unnest($21) AS one WHERE strpos(words, one) > 0)) \
     ORDER BY seq DESC LIMIT $23"
);

/// Some records of finished blocks.
const PLACES: &str = concat!(
    "SELECT ",
    row::columns!(),
    " FROM activity WHERE seq = ANY($1) AND at BETWEEN $2 AND $3 ORDER BY seq DESC"
);

/// Records that may be meant.
#[derive(Debug, PartialEq, Eq)]
enum Run {
    /// All from a place to another: of blocks that are not finished, or where only the time counts.
    Span(i64, i64),
    /// Some of finished blocks, newest first.
    Places(Vec<i64>),
}

/// A span of time, with its ends.
type Times = (i64, i64);

/// A question being answered.
#[derive(Debug)]
pub(super) struct Search<'a> {
    connection: &'a mut Connection,
    query: &'a ActivityQuery,
    /// How many records are known to have been lost.
    lost: u64,
    /// The places that are looked at.
    places: (i64, i64),
}

/// Takes a record that may be meant, with its place, and says whether to look further.
type Take<'t> = &'t mut dyn FnMut(i64, &Row<'_>) -> Result<Further, Fault>;

impl<'a> Search<'a> {
    /// Begins the answer to a question.
    pub(super) fn new(
        connection: &'a mut Connection,
        query: &'a ActivityQuery,
        lost: u64,
    ) -> Result<Self, Fault> {
        let (first, end) = ends(connection)?;
        // What began before a call may have ended after it, and stand behind it.
        let before = query.before.filter(|_| query.order == Order::Written);
        let before = before.map_or(i64::MAX, |before| signed(before.place) - 1);
        Ok(Self {
            connection,
            query,
            lost,
            places: (first, end.min(before)),
        })
    }

    /// Answers it.
    pub(super) fn run(self) -> Result<ActivityPage, Fault> {
        match self.query.order {
            Order::Written => self.written(),
            Order::Begun => self.begun(),
        }
    }

    /// Answers in the order in which records were written.
    fn written(mut self) -> Result<ActivityPage, Fault> {
        let mut paging = Paging::new(self.query, self.lost);
        let (first, last) = self.places;
        let (oldest, mut newest) = (first / SIZE, last / SIZE);
        let [mut many, most] = BLOCKS;
        while last >= first && newest >= oldest {
            let from = oldest.max(newest - many + 1);
            let mut take = |place, row: &Row<'_>| paging.take(place, row);
            if self.fetch(from, newest, &mut take)? == Further::No {
                break;
            }
            newest = from - 1;
            many = (many * 2).min(most);
        }
        Ok(paging.finish())
    }

    /// Hands on the records of some blocks that may be meant.
    fn fetch(&mut self, from: i64, to: i64, take: Take<'_>) -> Result<Further, Fault> {
        let (runs, times) = self.candidates(from, to)?;
        for run in runs {
            let further = match run {
                Run::Span(from, to) => self.fetch_span(from, to, take)?,
                Run::Places(places) => self.fetch_places(&places, times, take)?,
            };
            if further == Further::No {
                return Ok(Further::No);
            }
        }
        Ok(Further::Yes)
    }

    /// Returns the records of some blocks that may be meant, newest first, and the time in which
    /// those of the finished ones stand.
    fn candidates(&mut self, from: i64, to: i64) -> Result<(Vec<Run>, Times), Fault> {
        let (early, late) = self.times();
        let mut open: BTreeMap<_, _> = (from..=to).map(|one| (one, Bits::ALL)).collect();
        let mut finished = BTreeMap::new();
        let mut times = (i64::MAX, i64::MIN);
        let sql = "SELECT block, first_at, last_at FROM block WHERE block BETWEEN $1 AND $2";
        for row in self.connection.query(sql, &[&from, &to])? {
            let (block, first_at, last_at): (i64, i64, i64) =
                (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            open.remove(&block);
            if last_at >= early && first_at <= late {
                finished.insert(block, Bits::ALL);
                times = (times.0.min(first_at), times.1.max(last_at));
            }
        }
        self.narrow(&mut finished)?;
        open.extend(finished);
        let times = (times.0.max(early), times.1.min(late));
        Ok((self.runs(&open), times))
    }

    /// Leaves the records that have what is wanted in every field.
    fn narrow(&mut self, finished: &mut BTreeMap<i64, Bits>) -> Result<(), Fault> {
        for (field, values) in &self.query.wanted {
            finished.retain(|_, bits| !bits.is_empty());
            let ends = finished.keys().next().zip(finished.keys().next_back());
            let Some((from, to)) = ends.map(|(from, to)| (*from, *to)) else {
                return Ok(());
            };
            if how(*field) == How::Digest {
                self.digests(*field, values, (from, to), finished)?;
                continue;
            }
            let values: Vec<_> = values.iter().map(|value| key(value)).collect();
            let sql = "SELECT block, records FROM posting \
                       WHERE field = $1 AND value = ANY($2) AND block BETWEEN $3 AND $4";
            let mut any: BTreeMap<i64, Bits> = BTreeMap::new();
            for row in self
                .connection
                .query(sql, &[&code(*field), &values, &from, &to])?
            {
                let bits = Bits::from_bytes(row.try_get(1)?);
                any.entry(row.try_get(0)?).or_insert(Bits::NONE).or(&bits);
            }
            for (block, bits) in &mut *finished {
                bits.and(any.get(block).unwrap_or(&Bits::NONE));
            }
        }
        Ok(())
    }

    fn digests(
        &mut self,
        field: Field,
        values: &[String],
        (from, to): (i64, i64),
        finished: &mut BTreeMap<i64, Bits>,
    ) -> Result<(), Fault> {
        let sql = "SELECT block, records FROM digest \
                   WHERE field = $1 AND block BETWEEN $2 AND $3";
        for row in self.connection.query(sql, &[&code(field), &from, &to])? {
            // Without one an earlier version finished the block.
            if let Some(bits) = finished.get_mut(&row.try_get(0)?) {
                bits.and(&digest::find(row.try_get(1)?, values));
            }
        }
        Ok(())
    }

    /// Puts the records of blocks in order, newest first.
    fn runs(&self, blocks: &BTreeMap<i64, Bits>) -> Vec<Run> {
        let (first, last) = self.places;
        let mut runs = Vec::new();
        for (block, bits) in blocks.iter().rev() {
            if *bits == Bits::ALL {
                put_span(&mut runs, block * SIZE, (block + 1) * SIZE - 1);
                continue;
            }
            let places = bits.descending().map(|place| block * SIZE + place);
            let places = places.filter(|place| (first..=last).contains(place));
            match runs.last_mut() {
                Some(Run::Places(known)) => known.extend(places),
                Some(Run::Span(..)) | None => runs.push(Run::Places(places.collect())),
            }
        }
        runs
    }

    /// The time that is asked for.
    fn times(&self) -> Times {
        let early = self.query.from.map_or(i64::MIN, |from| signed(from.0));
        (early, self.query.to.map_or(i64::MAX, |to| signed(to.0)))
    }

    fn fetch_span(&mut self, from: i64, to: i64, take: Take<'_>) -> Result<Further, Fault> {
        let wanted = self.wanted();
        let calls = self.calls();
        let (early, late) = self.times();
        let from = from.max(self.places.0);
        let mut to = to.min(self.places.1);
        let [_, most] = FETCHED;
        let mut many = self.fetched();
        loop {
            let limit = signed(many);
            let mut values: Vec<&(dyn ToSql + Sync)> = vec![&from, &to, &early, &late];
            values.extend(wanted.iter().map(|one| one as &(dyn ToSql + Sync)));
            values.extend([&calls as &(dyn ToSql + Sync), &limit]);
            let rows = self.connection.query(SPAN, &values)?;
            for row in &rows {
                if take(row::place(row)?, &row::read(row)?)? == Further::No {
                    return Ok(Further::No);
                }
            }
            match rows.last() {
                Some(last) if rows.len() >= many => {
                    (to, many) = (row::place(last)? - 1, (many * 2).min(most));
                }
                Some(_) | None => return Ok(Further::Yes),
            }
        }
    }

    /// What is wanted of each field, as [`SPAN`] takes it.
    fn wanted(&self) -> Vec<Option<Vec<String>>> {
        let wanted = |field: &Field| {
            let mut wanted = self.query.wanted.iter().filter(|(one, _)| one == field);
            wanted.next().map(|(_, values)| values.clone())
        };
        // As it was written, with its quotes.
        let quoted = |field: &Field| {
            let values = wanted(field)?.into_iter();
            Some(values.map(|one| serde_json::Value::String(one).to_string()))
        };
        let within = WITHIN.iter().map(|field| Some(quoted(field)?.collect()));
        COLUMNS.iter().map(wanted).chain(within).collect()
    }

    /// The calls that are wanted as requests: one without a name has that of its call.
    fn calls(&self) -> Vec<Vec<u8>> {
        let requests = self.query.wanted.iter();
        let requests = requests.filter(|(field, _)| *field == Field::Request);
        let calls = requests.flat_map(|(_, values)| values);
        let calls = calls.filter_map(|value| CallId::parse(value));
        calls.map(|call| call.to_bytes().to_vec()).collect()
    }

    fn fetch_places(
        &mut self,
        places: &[i64],
        times: Times,
        take: Take<'_>,
    ) -> Result<Further, Fault> {
        let [_, most] = FETCHED;
        let mut many = self.fetched();
        let mut left = places;
        while !left.is_empty() {
            let (now, later) = left.split_at(many.min(left.len()));
            let values: Values<'_> = &[&now, &times.0, &times.1];
            for row in self.connection.query(PLACES, values)? {
                if take(row::place(&row)?, &row::read(&row)?)? == Further::No {
                    return Ok(Further::No);
                }
            }
            // Not all that may be meant is.
            many = (many * 2).min(most);
            left = later;
        }
        Ok(Further::Yes)
    }

    fn fetched(&self) -> usize {
        let [least, most] = FETCHED;
        let wanted = self.query.skip.saturating_add(self.query.limit) + 1;
        wanted.clamp(least, most)
    }
}

fn put_span(runs: &mut Vec<Run>, from: i64, to: i64) {
    match runs.last_mut() {
        Some(Run::Span(known, _)) if *known == to + 1 => *known = from,
        Some(_) | None => runs.push(Run::Span(from, to)),
    }
}
