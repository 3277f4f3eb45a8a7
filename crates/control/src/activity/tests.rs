//! Questions as they are asked, and what they become.

use serde_json::{Value, json};

use mcpproxy_core::count::{INTENT, is_call, is_use};
use mcpproxy_core::{Cell, CountQuery, Counted, Order};

use super::*;

/// Records in memory, newest first.
#[derive(Debug)]
pub(super) struct Memory(pub(super) Vec<Value>);

/// What a record has in a field.
fn text(record: &Value, field: Field) -> &str {
    let value = match field {
        Field::Upstream => &record["server_name"],
        Field::Tool => &record["tool_name"],
        Field::Agent => &record["hook"]["agent"],
        other => &record[other.name()],
    };
    value.as_str().unwrap_or_default()
}

impl ActivityReader for Memory {
    fn page(&self, query: &ActivityQuery) -> Result<ActivityPage, ReadFault> {
        let start = query
            .before
            .map_or(0, |before| usize::try_from(before.place).unwrap());
        let meant = |(_, one): &(usize, &Value)| {
            let at = Wall::from_rfc3339(one["timestamp"].as_str().unwrap()).unwrap();
            query.from.is_none_or(|from| at >= from)
                && query.to.is_none_or(|to| at <= to)
                && query.wanted.iter().all(|(field, values)| {
                    let value = text(one, *field);
                    values.iter().any(|one| one == value)
                })
        };
        let all = self.0.iter().enumerate().skip(start).filter(meant);
        let all: Vec<_> = all.skip(query.skip).collect();
        let given = all.iter().take(query.limit);
        let last = given
            .clone()
            .next_back()
            .map(|(at, _)| Cursor::from(u64::try_from(at + 1).unwrap()));
        Ok(ActivityPage {
            next: last.filter(|_| all.len() > query.limit),
            records: given.map(|(_, one)| one.to_string()).collect(),
            lost: 0,
        })
    }

    fn count(&self, asked: &CountQuery) -> Result<Counted, ReadFault> {
        let mut counted = Counted::new(asked);
        let all = ActivityQuery {
            limit: usize::MAX,
            ..asked.query.clone()
        };
        for record in self.page(&all)?.records {
            let record: Value = serde_json::from_str(&record).unwrap();
            let own = |field| text(&record, field).to_owned();
            let at = Wall::from_rfc3339(record["timestamp"].as_str().unwrap()).unwrap();
            let (kind, status) = (own(Field::Kind), own(Field::Status));
            let hook = record.get("hook").map(|hook| {
                let word = |name: &str| hook[name].as_str().unwrap_or_default();
                (word("phase"), word("owner"))
            });
            let method = record["method"].as_str().unwrap();
            let is_unfollowed = kind == INTENT && !asked.query.asks_for_types();
            let follows = |one: &&Value| one["id"] == record["id"] && one["type"] != INTENT;
            if is_unfollowed && self.0.iter().any(|one| follows(&one)) {
                continue;
            }
            let is_call = is_call(&kind, method, &status, hook);
            let cell = Cell {
                part: (at.0 - asked.query.from.unwrap().0) / asked.part,
                is_call: is_call || (is_unfollowed && is_use(method)),
                kind,
                status,
                flow_type: own(Field::FlowType),
                risk_level: own(Field::RiskLevel),
            };
            let many = (1, u64::from(cell.is_stopped()));
            counted.add(cell, 1);
            for (which, by) in asked.by.iter().enumerate() {
                let values: Vec<_> = by.iter().map(|field| text(&record, *field)).collect();
                counted.add_to_group(which, &values, many);
            }
        }
        Ok(counted)
    }

    fn get(&self, id: CallId) -> Result<Option<String>, ReadFault> {
        let mut all = self.0.iter();
        let found = all.find(|one| one["id"] == *id.to_string());
        Ok(found.map(Value::to_string))
    }

    fn tail(&self, _: u64, _: usize) -> Result<ActivityPage, ReadFault> {
        Ok(ActivityPage::default())
    }
}

/// A record of a call of `up:echo`, with some of it otherwise.
pub(super) fn record(other: &[(&str, Value)]) -> Value {
    let mut record = json!({
        "id": "01K0000000000000000000000A", "type": "tool_call", "source": "mcp",
        "server_name": "up", "tool_name": "echo", "method": "tools/call", "status": "success",
        "timestamp": "2026-03-04T05:06:07.008Z", "duration_ms": 1.5, "session_id": "s",
        "correlation_id": "c", "request_id": "c", "principal": "local", "request_bytes": 10, "response_bytes": 5,
        "decision": "allow", "effective": "allow", "enforcement": "enforced",
        "flow_type": "none", "risk_level": "none", "risk_score": 0, "declared": {},
        "has_sensitive_data": false, "detection_types": [], "findings": [],
    });
    for (name, value) in other {
        record[*name] = value.clone();
    }
    record
}

#[test]
fn a_family_stands_for_its_types() {
    let types = |family: &str| match family {
        "private_key" => vec!["rsa".to_owned(), "ec".to_owned()],
        _ => Vec::new(),
    };
    let check = |name: &str, value: &str, expect: &[&str]| {
        let mut query = ask(&[(name, value)]).unwrap();
        family::widen(&mut query, types);
        assert_eq!(query.wanted[0].1, expect, "{name}={value}");
    };
    check(
        "detection_type",
        "private_key",
        &["private_key", "rsa", "ec"],
    );
    check("detection_type", "rsa", &["rsa"]);
    check("tool", "private_key", &["private_key"]);
}

#[test]
fn a_session_brings_those_that_are_linked_with_it() {
    let linked = json!({ "linked_sessions": ["b"] });
    let log = Memory(vec![
        record(&[
            ("type", json!("flow_summary")),
            ("session_id", json!("a")),
            ("summary", linked),
        ]),
        record(&[("session_id", json!("a")), ("mcp_session_id", json!("c"))]),
        record(&[("session_id", json!("d"))]),
    ]);
    let check = |asked: &str, expect: &[&str]| {
        let mut question = Question::of(&[("session_id".to_owned(), asked.to_owned())]).unwrap();
        session::widen(&log, &mut question.query).unwrap();
        assert_eq!(question.query.wanted[0].1, expect, "{asked}");
        assert_eq!(question.query.order, Order::Begun, "{asked}");
    };
    check("a", &["a", "b", "c"]);
    // Regression for #8: from the other side nothing was found.
    check("c", &["c", "a", "b"]);
    check("d", &["d"]);
}

fn ask(pairs: &[(&str, &str)]) -> Result<ActivityQuery, String> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let pairs: Vec<_> = pairs.iter().map(own).collect();
    let question = Question::of(&pairs).map_err(|fault| fault.to_string())?;
    Ok(question.query)
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
    check("server", "a, b,", Field::Upstream, &["a", "b"]);
    check("server", "a", Field::Upstream, &["a"]);
    check("detection_type", "a,b", Field::Detection, &["a", "b"]);
    check("decision", "ask,deny", Field::Decision, &["ask", "deny"]);
    let query = ask(&[("limit", "7"), ("offset", "3"), ("cursor", "9")]).unwrap();
    assert_eq!((query.limit, query.skip), (7, 3));
    assert_eq!(query.before, Some(Cursor::from(9)));
    let query = ask(&[("cursor", "1780000000000-9")]).unwrap();
    assert_eq!(query.before.unwrap().at, Some(Wall(1_780_000_000_000)));
    let query = ask(&[
        ("start_time", "1970-01-02"),
        ("end_time", "1970-01-02T00:00:01Z"),
    ]);
    let query = query.unwrap();
    assert_eq!(query.from, Some(Wall(86_400_000)));
    assert_eq!(query.to, Some(Wall(86_401_000)));
    // A date as the end takes its day along.
    let day = ask(&[("start_time", "1970-01-02"), ("end_time", "1970-01-02")]).unwrap();
    let bounds = (day.from, day.to);
    assert_eq!(bounds, (Some(Wall(86_400_000)), Some(Wall(172_799_999))));
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
    check("limit", "0", "from 1 to 100");
    check("offset", "-1", "up to 10000");
    check("cursor", "x", "the page before");
}
