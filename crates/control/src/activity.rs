//! Reading the activity log: what was asked, in the words of a query, becomes a question to it.
//!
//! How the log is kept is for `store` to know, behind the port `ActivityReader`.

use mcpproxy_core::{ActivityPage, ActivityQuery, CallId, Field, Principal, Wall};

use crate::change::{Act, Mandate};
use crate::control::Control;
use crate::error::{Error, Refused, shown};

/// Records of a page where nothing is said, and at most.
const LIMIT: [usize; 2] = [50, 100];
/// Records that can be left out; beyond, a cursor goes on where a page ended.
const MOST_SKIPPED: usize = 10_000;

impl Control {
    /// Returns records, newest first, as `GET /activity` is asked for them: pairs of a name and a
    /// value, as `("type", "tool_call,intent")`.
    pub fn activity(
        &self,
        who: &Principal,
        asked: &[(String, String)],
    ) -> Result<ActivityPage, Refused> {
        Mandate::of(who, Act::ReadActivity)?;
        let query = question(asked)?;
        Ok(self.log()?.page(&query).map_err(Error::Unreadable)?)
    }

    /// Returns what was last recorded about a call, as a JSON object.
    pub fn activity_record(&self, who: &Principal, id: &str) -> Result<String, Refused> {
        Mandate::of(who, Act::ReadActivity)?;
        let unknown = || Error::RecordUnknown { id: shown(id) };
        let call = CallId::parse(id).ok_or_else(unknown)?;
        let found = self.log()?.get(call).map_err(Error::Unreadable)?;
        Ok(found.ok_or_else(unknown)?)
    }
}

fn question(asked: &[(String, String)]) -> Result<ActivityQuery, Error> {
    let mut query = ActivityQuery {
        limit: LIMIT[0],
        ..ActivityQuery::default()
    };
    for (name, value) in asked {
        match name.as_str() {
            "start_time" => query.from = Some(time(name, value)?),
            "end_time" => query.to = Some(time(name, value)?),
            "limit" => query.limit = number(name, value, LIMIT[1])?.max(1),
            "offset" => query.skip = number(name, value, MOST_SKIPPED)?,
            "cursor" => {
                let wrong = |_| wrong(name, value, "take it from the page before");
                query.before = Some(value.parse().map_err(wrong)?);
            }
            _ => {
                let field = Field::ALL.into_iter().find(|field| field.name() == name);
                let field = field.ok_or_else(|| unknown_name(name))?;
                query.wanted.push((field, values(field, value)?));
            }
        }
    }
    Ok(query)
}

fn wrong(name: &str, value: &str, why: &str) -> Error {
    Error::Filter {
        reason: format!("`{name}` cannot be `{}`: {why}", shown(value)),
    }
}

fn unknown_name(name: &str) -> Error {
    let mut known: Vec<_> = Field::ALL.iter().map(|field| field.name()).collect();
    known.extend(["start_time", "end_time", "limit", "offset", "cursor"]);
    let (name, known) = (shown(name), known.join(", "));
    Error::Filter {
        reason: format!("there is no filter `{name}`; known are {known}"),
    }
}

fn time(name: &str, value: &str) -> Result<Wall, Error> {
    let how = "write it as 2026-01-31T12:00:00Z or 2026-01-31";
    Wall::from_rfc3339(value).ok_or_else(|| wrong(name, value, how))
}

fn number(name: &str, value: &str, most: usize) -> Result<usize, Error> {
    let number = value.parse().ok().filter(|number| *number <= most);
    number.ok_or_else(|| wrong(name, value, &format!("it is a number up to {most}")))
}

/// Reads the values of a field, which may be several with commas between.
fn values(field: Field, text: &str) -> Result<Vec<String>, Error> {
    let Some(known) = field.known() else {
        return Ok(vec![text.to_owned()]);
    };
    let mut values = Vec::new();
    for value in text.split(',').map(str::trim) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(pairs: &[(&str, &str)]) -> Result<ActivityQuery, String> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let pairs: Vec<_> = pairs.iter().map(own).collect();
        question(&pairs).map_err(|fault| fault.to_string())
    }

    #[test]
    fn what_is_asked_is_understood() {
        let check = |name: &str, value: &str, field: Field, expect: &[&str]| {
            let query = ask(&[(name, value)]).unwrap();
            let expect = expect.iter().map(|&one| one.to_owned()).collect();
            assert_eq!(query.wanted, [(field, expect)]);
        };
        let two = ["tool_call", "intent"];
        check("type", "tool_call, intent", Field::Kind, &two);
        check(
            "risk_level",
            "high",
            Field::RiskLevel,
            &["high", "critical"],
        );
        let out = ["internal→external"];
        for spelling in [
            "internal→external",
            "internal->external",
            "internal_to_external",
        ] {
            check("flow_type", spelling, Field::FlowType, &out);
        }
        check("tool", "a,b", Field::Tool, &["a,b"]);
        let query = ask(&[("limit", "7"), ("offset", "3"), ("cursor", "9")]).unwrap();
        assert_eq!((query.limit, query.skip, query.before), (7, 3, Some(9)));
        let query = ask(&[
            ("start_time", "1970-01-02"),
            ("end_time", "1970-01-02T00:00:01Z"),
        ]);
        let query = query.unwrap();
        assert_eq!(query.from, Some(Wall(86_400_000)));
        assert_eq!(query.to, Some(Wall(86_401_000)));
        assert_eq!(ask(&[]).unwrap().limit, 50);
    }

    #[test]
    fn what_is_not_understood_is_told_with_what_is_known() {
        let check = |name: &str, value: &str, expect: &str| {
            let said = ask(&[(name, value)]).unwrap_err();
            assert!(said.contains(expect), "{said}");
        };
        check(
            "typ",
            "x",
            "there is no filter `typ`; known are type, source",
        );
        check(
            "type",
            "toolcall",
            "`type` cannot be `toolcall`: known are tool_call, message",
        );
        check(
            "status",
            "ok",
            "known are success, error, blocked, rejected, pending",
        );
        check("start_time", "now", "2026-01-31");
        check("limit", "101", "up to 100");
        check("offset", "-1", "up to 10000");
        check("cursor", "x", "the page before");
    }
}
