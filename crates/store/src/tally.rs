//! Counting over the log: records of finished blocks by their bitmaps, without being read, and all others
//! one by one.

use std::collections::BTreeMap;

use mcpproxy_core::count::{INTENT, STOPPED, is_use};
use mcpproxy_core::{Cell, CountQuery, Counted, Field, Wall};

use crate::block::{Bits, CALLS, How, SIZE, code, how};
use crate::columns::{Columns, signed};

/// What every count tells records apart by.
const FIELDS: [Field; 4] = [
    Field::Kind,
    Field::Status,
    Field::FlowType,
    Field::RiskLevel,
];

/// What is known of a finished block: by field and value, which records have it.
#[derive(Debug, Default)]
pub(crate) struct Found(BTreeMap<i64, Vec<(String, Bits)>>);

impl Found {
    /// Takes in which records have a value in a field, by its number.
    pub(crate) fn put(&mut self, field: i64, value: String, records: Bits) {
        self.0.entry(field).or_default().push((value, records));
    }

    /// Tells whether it is known which records are calls; an earlier version did not say.
    pub(crate) fn knows_calls(&self) -> bool {
        self.0.contains_key(&CALLS)
    }

    /// Returns what stands under a field.
    pub(crate) fn values(&self, field: i64) -> &[(String, Bits)] {
        self.0.get(&field).map_or(&[], Vec::as_slice)
    }

    fn any(&self, field: i64, mut meant: impl FnMut(&str) -> bool) -> Bits {
        let mut any = Bits::NONE;
        for (value, bits) in self.values(field) {
            if meant(value) {
                any.or(bits);
            }
        }
        any
    }

    /// Hands records on by what they have in some fields.
    fn split<'a>(
        &'a self,
        records: &Bits,
        fields: &[Field],
        path: &mut Vec<&'a str>,
        each: &mut dyn FnMut(&[&str], &Bits),
    ) {
        let Some((field, rest)) = fields.split_first() else {
            return each(path, records);
        };
        for (value, bits) in self.values(code(*field)) {
            let mut some = records.clone();
            some.and(bits);
            if some.is_empty() {
                continue;
            }
            path.push(value);
            self.split(&some, rest, path, each);
            path.pop();
        }
    }
}

/// The parts of time that a block reaches into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// None that is asked for.
    Outside,
    /// One, with all of its records.
    Within(u64),
    /// Several, or one not wholly: the time of each record decides.
    Across,
}

/// A count under way.
#[derive(Debug)]
pub(crate) struct Tally<'a> {
    asked: &'a CountQuery,
    /// What is wanted of each field, as it stands among the postings.
    wanted: Vec<(Field, Vec<String>)>,
    counted: Counted,
}

impl<'a> Tally<'a> {
    /// Begins to count; values stand among the postings as `key` has them.
    pub(crate) fn new(asked: &'a CountQuery, key: impl Fn(&str) -> String) -> Self {
        let wanted = asked.query.wanted.iter();
        let keys = |values: &[String]| values.iter().map(|value| key(value)).collect();
        Self {
            asked,
            wanted: wanted
                .map(|(field, values)| (*field, keys(values)))
                .collect(),
            counted: Counted::new(asked),
        }
    }

    /// Tells whether bitmaps are enough to count finished blocks.
    pub(crate) fn is_indexed(asked: &CountQuery) -> bool {
        let wanted = asked.query.wanted.iter().map(|(field, _)| field);
        let mut fields = wanted.chain(asked.by.iter().flatten());
        fields.all(|field| how(*field) == How::Bitmaps)
    }

    /// Returns the numbers of the fields that are looked at.
    pub(crate) fn fields(&self) -> Vec<i64> {
        let wanted = self.wanted.iter().map(|(field, _)| field);
        let fields = FIELDS.iter().chain(wanted);
        let fields = fields.chain(self.asked.by.iter().flatten());
        let mut codes: Vec<_> = fields.map(|field| code(*field)).collect();
        codes.push(CALLS);
        codes.sort_unstable();
        codes.dedup();
        codes
    }

    /// Returns the part of time that a moment is in.
    pub(crate) fn part(&self, at: i64) -> Option<u64> {
        let query = &self.asked.query;
        let from = query.from.map_or(0, |from| signed(from.0));
        let to = query.to.map_or(i64::MAX, |to| signed(to.0));
        let since = u64::try_from(at.checked_sub(from)?).ok()?;
        (at <= to).then(|| since / self.asked.part.max(1))
    }

    /// Tells what a block is about whose records are of a span of time.
    pub(crate) fn reach(&self, (first, last): (i64, i64)) -> Reach {
        let query = &self.asked.query;
        let late = query.from.is_some_and(|from| last < signed(from.0));
        let early = query.to.is_some_and(|to| first > signed(to.0));
        if late || early {
            return Reach::Outside;
        }
        match (self.part(first), self.part(last)) {
            (Some(one), Some(other)) if one == other => Reach::Within(one),
            (_, _) => Reach::Across,
        }
    }

    /// Puts records of a block into the parts of time that they are of: pairs of a place and a time.
    pub(crate) fn parts(&self, records: impl Iterator<Item = (i64, i64)>) -> BTreeMap<u64, Bits> {
        let mut parts: BTreeMap<u64, Bits> = BTreeMap::new();
        for (place, at) in records {
            if let Some(part) = self.part(at) {
                let bits = parts.entry(part).or_insert(Bits::NONE);
                bits.set(u16::try_from(place.rem_euclid(SIZE)).unwrap_or(u16::MAX));
            }
        }
        parts
    }

    /// Counts records of a finished block that are of one part of time.
    pub(crate) fn block(&mut self, part: u64, records: &Bits, found: &Found) {
        let mut records = records.clone();
        if !self.asked.query.asks_for_types() {
            records.minus(&found.any(code(Field::Kind), |kind| kind == INTENT));
        }
        for (field, values) in &self.wanted {
            let meant = |value: &str| values.iter().any(|one| one == value);
            records.and(&found.any(code(*field), meant));
        }
        let (mut calls, mut others) = (records.clone(), records.clone());
        calls.and(&found.any(CALLS, |_| true));
        others.minus(&calls);
        for (is_call, records) in [(true, &calls), (false, &others)] {
            self.cells(part, is_call, records, found);
        }
        let mut stopped = calls;
        stopped.and(&found.any(code(Field::Status), |status| STOPPED.contains(&status)));
        for (which, by) in self.asked.by.iter().enumerate() {
            found.split(&records, by, &mut Vec::new(), &mut |values, some| {
                let mut among = some.clone();
                among.and(&stopped);
                let many = (some.count(), among.count());
                self.counted.add_to_group(which, values, many);
            });
        }
    }

    fn cells(&mut self, part: u64, is_call: bool, records: &Bits, found: &Found) {
        found.split(records, &FIELDS, &mut Vec::new(), &mut |values, some| {
            if let [kind, status, flow_type, risk_level] = *values {
                let cell = Cell {
                    part,
                    kind: kind.to_owned(),
                    status: status.to_owned(),
                    flow_type: flow_type.to_owned(),
                    risk_level: risk_level.to_owned(),
                    is_call,
                };
                self.counted.add(cell, some.count());
            }
        });
    }

    /// Looks at a record, and counts it if it is meant. Which intents are is not to be seen from them.
    pub(crate) fn look(&mut self, columns: &Columns<'_>) {
        if columns.kind != INTENT || self.asked.query.asks_for_types() {
            self.add(columns, columns.is_call());
        }
    }

    /// Looks at an intent that nothing followed: it stands for its call.
    pub(crate) fn look_at_unfollowed(&mut self, intent: &Columns<'_>) {
        self.add(intent, is_use(&intent.method));
    }

    /// Notes that such intents are counted from a time on.
    pub(crate) fn note_since(&mut self, since: Option<Wall>) {
        self.counted.intents_since = since;
    }

    fn add(&mut self, columns: &Columns<'_>, is_call: bool) {
        let part = self.part(columns.at);
        let (Some(part), true) = (part, columns.is_meant(&self.asked.query)) else {
            return;
        };
        let cell = Cell {
            part,
            kind: columns.kind.to_owned(),
            status: columns.status.to_owned(),
            flow_type: columns.flow_type.to_owned(),
            risk_level: columns.risk_level.to_owned(),
            is_call,
        };
        let many = (1, u64::from(cell.is_stopped()));
        self.counted.add(cell, 1);
        for (which, by) in self.asked.by.iter().enumerate() {
            let mut values = Vec::new();
            for field in by {
                // What can have several values is not counted by.
                columns.values(*field, |value| values.push(value.to_owned()));
            }
            let values: Vec<_> = values.iter().map(String::as_str).collect();
            self.counted.add_to_group(which, &values, many);
        }
    }

    /// Returns the places of a block from a place of the log on: what stood before was dropped.
    pub(crate) fn kept(block: i64, first: i64) -> Bits {
        let mut kept = Bits::ALL;
        let gone = (first - block.saturating_mul(SIZE)).clamp(0, SIZE);
        let mut dropped = Bits::NONE;
        for place in 0..gone {
            dropped.set(u16::try_from(place).unwrap_or(u16::MAX));
        }
        kept.minus(&dropped);
        kept
    }

    /// Ends the count.
    pub(crate) fn finish(self) -> Counted {
        self.counted
    }
}
