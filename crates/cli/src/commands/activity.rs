//! `activity`: what is on record about calls.

mod export;
mod summary;
mod watch;

use anyhow::Result;
use http::Method;
use mcpproxy_core::{CallId, Wall};
use serde_json::{Value, json};

use crate::args::{Activity, ActivityFilter, ActivityList, Format, Global};
use crate::commands::client::{encoded, request};
use crate::commands::integrity;
use crate::exit::{Exit, bad_input};
use crate::output;

/// What a table has room for.
const COLUMNS: [&str; 9] = [
    "timestamp",
    "type",
    "server_name",
    "tool_name",
    "status",
    "decision",
    "flow_type",
    "risk_level",
    "id",
];
/// The most records of one page.
const PAGE: usize = 100;

/// Runs one of the commands.
pub(crate) fn run(global: &Global, command: &Activity) -> Result<Exit> {
    match command {
        Activity::Verify(verify) => return integrity::run(global, verify),
        Activity::Reindex => return integrity::reindex(global),
        Activity::List(list) => {
            in_order(&list.filter)?;
            let mut records = records(global, list)?;
            if list.filter.session_id.is_some() {
                // A conversation is read from its beginning.
                records.reverse();
            }
            output::rows(global.format(), &COLUMNS, &records)?;
        }
        Activity::Show { id } => {
            // Other words would be other routes of the interface.
            if CallId::parse(id).is_none() {
                let hint = "`mcpproxy activity list` shows them";
                return Err(bad_input(
                    format!("`{id}` is no id of a record"),
                    Some(hint),
                ));
            }
            let path = format!("/activity/{}", encoded(id));
            let mut record = request(global, Method::GET, &path, None)?;
            if global.format() == Format::Table {
                readable(&mut record);
            }
            output::value(global.format(), &record)?;
        }
        Activity::Watch(watch) => watch::run(global, watch)?,
        Activity::Summary(summary) => {
            in_order(&summary.filter)?;
            summary::run(global, summary)?;
        }
        Activity::Export(export) => {
            in_order(&export.filter)?;
            export::run(global, export)?;
        }
    }
    Ok(Exit::Fine)
}

/// Refuses a stretch of time that ends before it begins: nothing is in it, which would look as if nothing
/// had happened. Whatever is no time is told of by the gateway.
fn in_order(filter: &ActivityFilter) -> Result<()> {
    let (Some(start), Some(end)) = (&filter.start_time, &filter.end_time) else {
        return Ok(());
    };
    // A date as the end takes its day along.
    let until = Wall::from_rfc3339(&format!("{end}T23:59:59.999Z"));
    let until = until.or_else(|| Wall::from_rfc3339(end));
    match (Wall::from_rfc3339(start), until) {
        (Some(from), Some(until)) if from > until => Err(bad_input(
            format!("--start-time {start} is after --end-time {end}"),
            Some("give the earlier one as --start-time"),
        )),
        _ => Ok(()),
    }
}

/// Asks for page after page until there are enough.
fn records(global: &Global, list: &ActivityList) -> Result<Vec<Value>> {
    let mut records: Vec<Value> = Vec::new();
    let mut cursor: Option<String> = None;
    while records.len() < list.number {
        let limit = (list.number - records.len()).min(PAGE);
        let mut path = format!("/activity?limit={limit}{}", query(&list.filter));
        if let Some(cursor) = &cursor {
            path.extend(["&cursor=", &encoded(cursor)]);
        }
        let mut page = request(global, Method::GET, &path, None)?;
        if let Some(Value::Array(more)) = page.get_mut("activities").map(Value::take) {
            records.extend(more);
        }
        cursor = page
            .get("next_cursor")
            .and_then(Value::as_str)
            .map(str::to_owned);
        if cursor.is_none() {
            note_losses(&page);
            break;
        }
    }
    Ok(records)
}

/// Returns what was asked for, to be put behind another part of a query.
fn query(filter: &ActivityFilter) -> String {
    let mut query = String::new();
    for (name, value) in filter.given() {
        query.extend(["&", name, "=", &encoded(value)]);
    }
    query
}

fn note_losses(page: &Value) {
    let lost = page.get("lost").and_then(Value::as_u64).unwrap_or(0);
    if lost > 0 {
        output::note(&format!(
            "notice: {lost} records could not be written and are missing"
        ));
    }
}

/// Leaves of findings what a person wants to read.
pub(crate) fn readable(record: &mut Value) {
    if let Some(findings) = record.get_mut("findings") {
        let reasons = findings.as_array().into_iter().flatten();
        let reasons = reasons.filter_map(|finding| finding.get("reason")?.as_str());
        *findings = json!(reasons.collect::<Vec<_>>().join("; "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_that_ends_before_it_begins_is_refused() {
        let check = |start: &str, end: &str, is_taken: bool| {
            let filter = ActivityFilter {
                start_time: Some(start.to_owned()),
                end_time: Some(end.to_owned()),
                ..ActivityFilter::default()
            };
            assert_eq!(in_order(&filter).is_ok(), is_taken, "{start} {end}");
        };
        check("2026-03-01", "2026-03-02", true);
        check("2026-03-02", "2026-03-01", false);
        check("2026-03-01T12:00:00Z", "2026-03-01", true);
        check("2026-03-01T12:00:00Z", "2026-03-01T11:59:59Z", false);
        check("2026-03-01T12:00:00+02:00", "2026-03-01T11:00:00Z", true);
        check("yesterday", "2026-03-01", true);
        assert!(in_order(&ActivityFilter::default()).is_ok());
    }
}
