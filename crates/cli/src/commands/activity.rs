//! `activity`: what is on record about calls.

use anyhow::Result;
use http::Method;
use serde_json::{Value, json};

use crate::args::{Activity, ActivityList, Format, Global};
use crate::commands::client::{encoded, request};
use crate::commands::integrity;
use crate::exit::Exit;
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

/// Lists records or shows one.
pub(crate) fn run(global: &Global, command: &Activity) -> Result<Exit> {
    match command {
        Activity::Verify(verify) => return integrity::run(global, verify),
        Activity::List(list) => output::rows(global.format(), &COLUMNS, &records(global, list)?)?,
        Activity::Show { id } => {
            let path = format!("/activity/{}", encoded(id));
            let mut record = request(global, Method::GET, &path, None)?;
            if global.format() == Format::Table {
                readable(&mut record);
            }
            output::value(global.format(), &record)?;
        }
    }
    Ok(Exit::Fine)
}

/// Asks for page after page until there are enough.
fn records(global: &Global, list: &ActivityList) -> Result<Vec<Value>> {
    let mut records: Vec<Value> = Vec::new();
    let mut cursor: Option<String> = None;
    while records.len() < list.number {
        let mut path = format!(
            "/activity?limit={}",
            (list.number - records.len()).min(PAGE)
        );
        let filters = filters(list).into_iter().chain([("cursor", &cursor)]);
        for (name, value) in filters {
            if let Some(value) = value {
                path.extend(["&", name, "=", &encoded(value)]);
            }
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

fn note_losses(page: &Value) {
    let lost = page.get("lost").and_then(Value::as_u64).unwrap_or(0);
    if lost > 0 {
        output::note(&format!(
            "notice: {lost} records could not be written and are missing"
        ));
    }
}

fn filters(list: &ActivityList) -> [(&'static str, &Option<String>); 13] {
    [
        ("type", &list.kind),
        ("server", &list.server),
        ("tool", &list.tool),
        ("status", &list.status),
        ("decision", &list.decision),
        ("session_id", &list.session_id),
        ("flow_type", &list.flow_type),
        ("risk_level", &list.risk_level),
        ("sensitive_data", &list.sensitive_data),
        ("detection_type", &list.detection_type),
        ("severity", &list.severity),
        ("start_time", &list.start_time),
        ("end_time", &list.end_time),
    ]
}

/// Leaves of findings what a person wants to read.
fn readable(record: &mut Value) {
    if let Some(findings) = record.get_mut("findings") {
        let reasons = findings.as_array().into_iter().flatten();
        let reasons = reasons.filter_map(|finding| finding.get("reason")?.as_str());
        *findings = json!(reasons.collect::<Vec<_>>().join("; "));
    }
}
