//! `activity summary`: what a stretch of time came to.

use anyhow::Result;
use http::Method;
use serde_json::{Value, json};

use super::query;
use crate::args::{ActivitySummary, Format, Global};
use crate::commands::client::{encoded, request};
use crate::output;

/// Prints the counts.
pub(super) fn run(global: &Global, asked: &ActivitySummary) -> Result<()> {
    let mut path = "/activity/summary?".to_owned();
    for (name, value) in [("period", &asked.period), ("group_by", &asked.group_by)] {
        if let Some(value) = value {
            path.extend([name, "=", &encoded(value), "&"]);
        }
    }
    path.push_str(query(&asked.filter).trim_start_matches('&'));
    let summary = request(global, Method::GET, &path, None)?;
    if summary.get("complete") == Some(&Value::Bool(false)) {
        let from = summary.get("counted_from").and_then(Value::as_str);
        let from = from.unwrap_or("its end");
        output::note(&format!(
            "notice: flows, approvals and calls that nothing followed are counted since {from} only; \
             all else is of the whole stretch"
        ));
    }
    match global.format() {
        Format::Table => table(&summary),
        format => output::value(format, &summary),
    }
}

fn table(summary: &Value) -> Result<()> {
    let part = |name: &str| summary.get(name).cloned().unwrap_or_default();
    let mut head = json!({
        "total": part("total"), "calls": part("calls"), "blocked": part("blocked"),
    });
    for (name, shown) in [("start_time", "from"), ("end_time", "to")] {
        if let Some(head) = head.as_object_mut() {
            head.insert(shown.to_owned(), part(name));
        }
    }
    output::value(Format::Table, &head)?;
    for name in ["by_status", "by_type", "by_risk", "by_flow", "approvals"] {
        output::line("")?;
        output::line(&format!("{name}:"))?;
        output::value(Format::Table, &part(name))?;
    }
    let flow = ["source", "destination", "flow_type", "risk_level", "count"];
    for (name, columns, more) in [
        ("servers", &["name", "total", "blocked"][..], "more_servers"),
        ("flows", &flow, ""),
        ("groups", &["key", "total", "blocked"], "more_groups"),
    ] {
        let rows = part(name);
        let rows = rows.as_array().map_or(&[][..], Vec::as_slice);
        if !rows.is_empty() {
            output::line("")?;
            output::line(&format!("{name}:"))?;
            output::rows(Format::Table, columns, rows)?;
        }
        let more = part(more).as_u64().unwrap_or(0);
        if more > 0 {
            output::line(&format!(
                "and {more} more {name}, each with no more records than these"
            ))?;
        }
    }
    Ok(())
}
