//! Carrying records away: page after page of the log in one of several forms, each chunk made when
//! it is asked for, so that an export of any length needs the room of one page.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcpproxy_core::{ActivityReader, Cursor, Principal};
use serde::Serialize;
use serde_json::Value;

use super::forms::{self, Form};
use super::{CALLS, CHUNK, CLOSING, Question, intents, session, wrong};
use crate::change::{Act, Mandate};
use crate::control::Control;
use crate::error::{Error, Refused};

/// Records of one part of an export that is fetched part by part.
const MOST_AT_ONCE: usize = 10_000;
/// Pages that are read for one such part. Where nearly all are of intents that were followed, it ends here
/// with fewer records, and the next goes on.
const MOST_PAGES: usize = 100;
/// Days that a roll-up tells apart; older ones are left out of it.
const MOST_DAYS: usize = 4000;

/// What is carried away of a record only where that is asked for.
#[derive(Clone, Copy, Debug, Default)]
struct More {
    flows: bool,
    bodies: bool,
}

/// An export under way.
#[derive(Debug)]
pub struct Export {
    log: Arc<dyn ActivityReader>,
    question: Question,
    form: Form,
    more: More,
    rollup: bool,
    /// Records that may still be given.
    left: usize,
    /// Pages that may still be read.
    pages: usize,
    days: BTreeMap<String, Day>,
    stage: Stage,
    /// Whether a record was given before, so that a mark must stand between.
    begun: bool,
    next: Option<Cursor>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Opening,
    Records,
    Closing,
    Done,
}

/// What one day came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Day {
    total: u64,
    blocked: u64,
    by_type: BTreeMap<String, u64>,
    by_risk: BTreeMap<String, u64>,
    by_flow: BTreeMap<String, u64>,
}

impl Control {
    /// Begins an export, as `GET /activity/export` is asked for it: `format`, `include_flows`,
    /// `include_bodies`, `rollup`, `limit` and every filter of the list.
    pub fn export_activity(
        &self,
        who: &Principal,
        asked: &[(String, String)],
    ) -> Result<Export, Refused> {
        Mandate::to_audit(who, Act::ReadActivity)?;
        let mut form = Form::Ndjson;
        let (mut more, mut rollup) = (More::default(), false);
        let (mut left, mut pages) = (usize::MAX, usize::MAX);
        let mut filters = Vec::new();
        for (name, value) in asked {
            match name.as_str() {
                "format" => form = Form::named(name, value)?,
                "include_flows" => more.flows = flag(name, value)?,
                "include_bodies" => more.bodies = flag(name, value)?,
                "rollup" if value == "daily" => rollup = true,
                "rollup" => return Err(wrong(name, value, "known is daily").into()),
                "limit" => {
                    (left, pages) = (super::limit(name, value, MOST_AT_ONCE)?, MOST_PAGES);
                }
                "offset" => return Err(wrong(name, value, "use a cursor").into()),
                _ => filters.push((name.clone(), value.clone())),
            }
        }
        if !matches!(form, Form::Json | Form::Ndjson) {
            let why = "only json and ndjson have room for it";
            if rollup {
                return Err(wrong("rollup", "daily", why).into());
            }
            if more.bodies {
                return Err(wrong("include_bodies", "true", why).into());
            }
        }
        let mut question = self.question(&filters)?;
        session::widen(self.log()?, &mut question.query).map_err(Error::Unreadable)?;
        Ok(Export {
            log: self.shared_log()?,
            // A part that goes on has its heading in the part before.
            begun: question.query.before.is_some(),
            question,
            form,
            more,
            rollup: rollup || form == Form::Json,
            left,
            pages,
            days: BTreeMap::new(),
            stage: Stage::Opening,
            next: None,
        })
    }
}

fn flag(name: &str, value: &str) -> Result<bool, Error> {
    let flag = value.parse();
    flag.map_err(|_| wrong(name, value, "known are true and false"))
}

impl Export {
    /// Returns the type of what is exported.
    pub fn media_type(&self) -> &'static str {
        self.form.media_type()
    }

    /// Returns the end of a file's name that says what is in it.
    pub fn extension(&self) -> &'static str {
        self.form.extension()
    }

    /// Returns the place from which a next part goes on; nothing before this one is whole, and
    /// nothing where there is no more.
    pub fn next(&self) -> Option<Cursor> {
        self.next
    }

    /// Makes the next chunk; nothing once everything is given.
    pub fn chunk(&mut self) -> Option<Result<Vec<u8>, Error>> {
        let mut out = Vec::new();
        match self.stage {
            Stage::Opening => {
                self.stage = Stage::Records;
                if self.form == Form::Json {
                    out.extend_from_slice(b"{\"activities\":[");
                    self.begun = false;
                } else if self.form == Form::Csv && !self.begun {
                    out.extend(forms::csv::heading(self.more.flows).into_bytes());
                }
                Some(Ok(out))
            }
            Stage::Records => Some(self.records(&mut out).map(|()| out)),
            Stage::Closing => {
                self.stage = Stage::Done;
                self.close(&mut out);
                Some(Ok(out))
            }
            Stage::Done => None,
        }
    }

    /// Reads the next page and prints it, each call once.
    fn records(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.question.query.limit = CHUNK.min(self.left);
        let page = self.question.page(&*self.log).map_err(Error::Unreadable)?;
        let records = intents::sifted(&*self.log, &self.question.query, page.records);
        let records = records.map_err(Error::Unreadable)?;
        for record in &records {
            self.record(record, out);
        }
        self.left = self.left.saturating_sub(records.len());
        self.pages = self.pages.saturating_sub(1);
        self.question.query.before = page.next;
        if page.next.is_none() || self.left == 0 || self.pages == 0 {
            self.next = page.next;
            self.stage = Stage::Closing;
        }
        Ok(())
    }

    fn record(&mut self, record: &str, out: &mut Vec<u8>) {
        // What the log gives is JSON; what is not is not carried on.
        let Ok(mut value) = serde_json::from_str::<Value>(record) else {
            return;
        };
        if self.rollup {
            self.count(&value);
        }
        if !self.more.flows {
            forms::without_flows(&mut value);
        }
        if !self.more.bodies {
            forms::without_bodies(&mut value);
        }
        if self.form == Form::Json && self.begun {
            out.extend_from_slice(b",\n");
        }
        self.begun = true;
        out.extend(self.form.print(&value, self.more.flows).into_bytes());
    }

    /// Counts a record in its day.
    fn count(&mut self, record: &Value) {
        let text = |name: &str| record.get(name).and_then(Value::as_str).unwrap_or_default();
        let day: String = text("timestamp").chars().take(10).collect();
        if self.days.len() >= MOST_DAYS && !self.days.contains_key(&day) {
            return;
        }
        let counted = self.days.entry(day).or_default();
        counted.total += 1;
        // What a person withholds or refuses is no call.
        let is_call = CALLS.contains(&text("type"));
        let blocked = is_call && matches!(text("status"), "blocked" | "rejected");
        counted.blocked += u64::from(blocked);
        let count = |counts: &mut BTreeMap<String, u64>, name: &str| {
            *counts.entry(text(name).to_owned()).or_default() += 1;
        };
        count(&mut counted.by_type, "type");
        // The end of a session tells once more of the worst in it.
        if text("type") != CLOSING {
            count(&mut counted.by_risk, "risk_level");
            count(&mut counted.by_flow, "flow_type");
        }
    }

    fn close(&self, out: &mut Vec<u8>) {
        let days = self.days.iter().map(|(day, counted)| {
            let mut value = serde_json::to_value(counted).unwrap_or_default();
            if let Some(value) = value.as_object_mut() {
                value.insert("type".to_owned(), "daily_rollup".into());
                value.insert("day".to_owned(), day.as_str().into());
            }
            value
        });
        match self.form {
            Form::Json => {
                let days = Value::from(days.collect::<Vec<_>>());
                let next = Value::from(self.next.map(|next| next.to_string()));
                let end = format!("],\"daily\":{days},\"next_cursor\":{next}}}\n");
                out.extend(end.into_bytes());
            }
            Form::Ndjson if self.rollup => {
                for day in days {
                    out.extend(format!("{day}\n").into_bytes());
                }
            }
            Form::Ndjson | Form::Csv | Form::Ocsf | Form::Cef => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::CallId;
    use serde_json::json;

    use super::super::tests::{Memory, record};
    use super::*;

    /// A strict log of calls that ended, but for the oldest.
    fn log(calls: u64) -> Arc<dyn ActivityReader> {
        let of = |number: u64, kind: &str, status: &str| {
            let id = CallId::new(1_772_600_000_000 + number, 7).to_string();
            record(&[
                ("request_id", json!(id)),
                ("id", json!(id)),
                ("type", json!(kind)),
                ("status", json!(status)),
            ])
        };
        let mut records = vec![of(0, "intent", "pending")];
        for number in 1..calls {
            records.push(of(number, "intent", "pending"));
            records.push(of(number, "tool_call", "success"));
        }
        records.reverse();
        Arc::new(Memory(records))
    }

    /// Exports part by part, and returns the types of the records, how many calls they are of, and how many
    /// parts there were.
    fn exported(calls: u64, asked: &[(&str, &str)], limit: usize) -> (Vec<String>, usize, usize) {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let asked: Vec<_> = asked.iter().map(own).collect();
        let mut question = Question::of(&asked).unwrap();
        let (mut lines, mut parts) = (Vec::new(), 0);
        loop {
            let mut export = Export {
                log: log(calls),
                question: question.clone(),
                form: Form::Ndjson,
                more: More::default(),
                rollup: false,
                left: limit,
                pages: 3,
                days: BTreeMap::new(),
                stage: Stage::Opening,
                begun: question.query.before.is_some(),
                next: None,
            };
            let mut part = Vec::new();
            while let Some(chunk) = export.chunk() {
                part.extend(chunk.unwrap());
            }
            let part = String::from_utf8(part).unwrap();
            let records = part.lines().map(|line| serde_json::from_str(line).unwrap());
            let records: Vec<Value> = records.collect();
            assert!(records.len() <= limit);
            lines.extend(records);
            parts += 1;
            question.query.before = export.next();
            if export.next().is_none() {
                break;
            }
        }
        let word = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
        let ids: std::collections::BTreeSet<_> = lines.iter().map(|one| word(one, "id")).collect();
        let kinds = lines.iter().map(|one| word(one, "type")).collect();
        (kinds, ids.len(), parts)
    }

    /// Regression for #8: every call stood in an export twice, and all of them were pending.
    #[test]
    fn an_export_tells_of_every_call_once() {
        let (kinds, calls, _) = exported(1200, &[], 400);
        assert_eq!((kinds.len(), calls), (1200, 1200));
        assert_eq!(kinds.last().map(String::as_str), Some("intent"));
        // The one that never ended is behind more than one part looks through.
        let (kinds, _, parts) = exported(1700, &[("status", "pending")], 500);
        assert_eq!(kinds, ["intent"]);
        assert!(parts > 1, "{parts}");
        let (kinds, ..) = exported(100, &[("type", "intent")], 1000);
        assert_eq!(kinds.len(), 100);
    }
}
