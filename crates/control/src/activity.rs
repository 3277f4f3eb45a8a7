//! Reading the activity log: what was asked, in the words of a query, becomes a question to it.
//!
//! How the log is kept is for `store` to know, behind the port `ActivityReader`. What is counted
//! over many records is in `summary`, what is carried away in `export`, which intents are told of in
//! `intents`, how calls ended that moved data in `ends`.

mod ends;
pub mod export;
mod family;
mod forms;
mod intents;
mod session;
pub mod summary;
#[cfg(test)]
mod tests;

use std::time::Duration;

use mcpproxy_core::{
    ActivityPage, ActivityQuery, ActivityReader, CallId, Cursor, Field, Principal, ReadFault, Wall,
};

use crate::change::{Act, Mandate};
use crate::control::Control;
use crate::error::{Error, Refused, shown};

/// Records of a page where nothing is said, and at most.
const LIMIT: [usize; 2] = [50, 100];
/// A day but for its last moment, which is the first of the next.
const DAY: Duration = Duration::from_millis(86_399_999);
/// Records that can be left out; beyond, a cursor goes on where a page ended.
const MOST_SKIPPED: usize = 10_000;
/// Records that are read at once where more are looked through than are given.
const CHUNK: usize = 500;
/// The types of the records of calls, as they ended.
const CALLS: [&str; 4] = ["tool_call", "policy_decision", "message", "hook_evaluation"];
/// The type of the record that closes a session. Its direction is that of a call on record, and is not
/// counted again.
const CLOSING: &str = "flow_summary";
/// What can be asked for beside the fields that the log picks records by.
const ASIDE: [&str; 5] = ["start_time", "end_time", "limit", "offset", "cursor"];

impl Control {
    /// Returns records, newest first, as `GET /activity` is asked for them: pairs of a name and a
    /// value, as `("type", "tool_call,intent")`. A session brings those that are linked with it, all
    /// in the order in which their calls began. An intent that was followed is given only to who asks
    /// for its type, so that a call is told of once.
    pub fn activity(
        &self,
        who: &Principal,
        asked: &[(String, String)],
    ) -> Result<ActivityPage, Refused> {
        Mandate::to_audit(who, Act::ReadActivity)?;
        let log = self.log()?;
        let mut question = self.question(asked)?;
        session::widen(log, &mut question.query).map_err(Error::Unreadable)?;
        Ok(intents::page(log, &question.query).map_err(Error::Unreadable)?)
    }

    /// Returns what was last recorded about a call, as a JSON object.
    pub fn activity_record(&self, who: &Principal, id: &str) -> Result<String, Refused> {
        Mandate::to_audit(who, Act::ReadActivity)?;
        let unknown = || Error::RecordUnknown { id: shown(id) };
        let call = CallId::parse(id).ok_or_else(unknown)?;
        let found = self.log()?.get(call).map_err(Error::Unreadable)?;
        Ok(found.ok_or_else(unknown)?)
    }
}

/// What was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) query: ActivityQuery,
}

impl Question {
    /// Reads pairs of a name and a value. A name that is given twice takes either value.
    pub(crate) fn of(asked: &[(String, String)]) -> Result<Self, Error> {
        let mut question = Self::default();
        question.query.limit = LIMIT[0];
        for (name, value) in asked {
            question.take(name, value)?;
        }
        Ok(question)
    }

    fn take(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let query = &mut self.query;
        match name {
            "start_time" => query.from = Some(time(name, value)?),
            "end_time" => query.to = Some(end(name, value)?),
            "limit" => query.limit = limit(name, value, LIMIT[1])?,
            "offset" => query.skip = number(name, value, MOST_SKIPPED)?,
            "cursor" => query.before = Some(cursor(name, value)?),
            _ => {
                let field = Field::ALL.into_iter().find(|field| field.name() == name);
                let field = field.ok_or_else(|| unknown_name(name))?;
                let values = values(field, value)?;
                match query.wanted.iter_mut().find(|(known, _)| *known == field) {
                    Some((_, known)) => known.extend(values),
                    None => query.wanted.push((field, values)),
                }
            }
        }
        Ok(())
    }

    /// Answers it.
    pub(crate) fn page(&self, log: &dyn ActivityReader) -> Result<ActivityPage, ReadFault> {
        log.page(&self.query)
    }
}

fn cursor(name: &str, value: &str) -> Result<Cursor, Error> {
    let wrong = || wrong(name, value, "take it from the page before");
    Cursor::parse(value).ok_or_else(wrong)
}

fn wrong(name: &str, value: &str, why: &str) -> Error {
    Error::Filter {
        reason: format!("`{name}` cannot be `{}`: {why}", shown(value)),
    }
}

fn unknown_name(name: &str) -> Error {
    let mut known: Vec<_> = Field::ALL.iter().map(|field| field.name()).collect();
    known.extend(ASIDE);
    let (name, known) = (shown(name), known.join(", "));
    Error::Filter {
        reason: format!("there is no filter `{name}`; known are {known}"),
    }
}

fn time(name: &str, value: &str) -> Result<Wall, Error> {
    let how = "write it as 2026-01-31T12:00:00Z or 2026-01-31";
    Wall::from_rfc3339(value).ok_or_else(|| wrong(name, value, how))
}

/// Reads when something ends: a date with all of its day.
fn end(name: &str, value: &str) -> Result<Wall, Error> {
    let end = time(name, value)?;
    let is_date = !value.contains(['T', 't', ' ', ':']);
    Ok(if is_date { end.after(DAY) } else { end })
}

/// Reads how many records are wanted.
fn limit(name: &str, value: &str, most: usize) -> Result<usize, Error> {
    let number = number(name, value, most)?;
    let none = || wrong(name, value, &format!("it is a number from 1 to {most}"));
    (number > 0).then_some(number).ok_or_else(none)
}

fn number(name: &str, value: &str, most: usize) -> Result<usize, Error> {
    let plain = !value.starts_with('+') && (value == "0" || !value.starts_with('0'));
    let number = value.parse().ok();
    let number = number.filter(|number| plain && *number <= most);
    number.ok_or_else(|| wrong(name, value, &format!("it is a number up to {most}")))
}

/// Reads the values of a field, which may be several with commas between where none has one in it.
fn values(field: Field, text: &str) -> Result<Vec<String>, Error> {
    let Some(known) = field.known() else {
        let is_list = matches!(field, Field::Upstream | Field::Detection) && text.contains(',');
        if !is_list {
            return Ok(vec![text.to_owned()]);
        }
        let values = text.split(',').map(str::trim);
        let values = values.filter(|value| !value.is_empty());
        return Ok(values.map(str::to_owned).collect());
    };
    let mut values = Vec::new();
    let one = (field == Field::Sensitive).then_some(text);
    let several = text.split(',').map(|value| value.trim_matches(' '));
    let several = several.filter(|_| one.is_none());
    for value in one.into_iter().chain(several) {
        let value = spelled(field, value);
        let Some(place) = known.iter().position(|one| *one == value) else {
            let why = format!("known are {}", known.join(", "));
            return Err(wrong(field.name(), &value, &why));
        };
        // Who asks for a risk wants what is worse, too.
        let most = if field == Field::RiskLevel {
            known.len()
        } else {
            1
        };
        values.extend(
            known
                .iter()
                .skip(place)
                .take(most)
                .map(|&one| one.to_owned()),
        );
    }
    Ok(values)
}

/// An arrow is hard to type.
fn spelled(field: Field, value: &str) -> String {
    match field {
        Field::FlowType => value.replace("_to_", "→").replace("->", "→"),
        _ => value.to_owned(),
    }
}
