//! A record as a row, and a row as the JSON object that is shown.

use std::borrow::Cow;

use mcpproxy_core::{
    Action, CallId, Coverage, Declared, Enforcement, Field, Finding, FlowSummary, HookLeft,
    HookNote, Operation, QuarantineNote, Record, Wall,
};
use rusqlite::types::ValueRef;
use rusqlite::{Row, Statement, params};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::names;

/// Adds a record; its place is chosen by SQLite.
pub(crate) const INSERT: &str = "INSERT INTO activity (at, id, type, source, server_name, \
     tool_name, method, session_id, principal, status, decision, flow_type, risk_level, \
     risk_score, duration_ms, request_bytes, response_bytes, has_sensitive_data, intent_type, \
     max_severity, detection_types, rest) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// The columns that [`show`] and [`values`] read, by their places.
pub(crate) const COLUMNS: &str = "seq, at, id, type, source, server_name, tool_name, method, \
     session_id, principal, status, decision, flow_type, risk_level, risk_score, duration_ms, \
     request_bytes, response_bytes, has_sensitive_data, intent_type, max_severity, \
     detection_types, rest";

/// What has no column.
#[derive(Serialize)]
struct Rest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effective: Option<Action>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enforcement: Option<Enforcement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    declared: Option<&'a Declared>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    findings: &'a [Finding],
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp_session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    security_coverage: Option<Coverage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook: Option<&'a HookNote>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a FlowSummary>,
    #[serde(skip_serializing_if = "str::is_empty")]
    correlation_id: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    hook_metadata: &'a [HookLeft],
    #[serde(skip_serializing_if = "Option::is_none")]
    quarantine: Option<&'a QuarantineNote>,
}

/// Writes a record with the statement [`INSERT`].
pub(crate) fn insert(statement: &mut Statement<'_>, record: &Record) -> rusqlite::Result<()> {
    // Taken apart whole, so that a new member cannot be forgotten here.
    let Record {
        id,
        kind,
        source,
        server_name,
        tool_name,
        method,
        status,
        error_message,
        duration_ms,
        timestamp,
        session_id,
        correlation_id,
        principal,
        request_bytes,
        response_bytes,
        decision,
        effective,
        enforcement,
        flow_type,
        risk,
        declared,
        findings,
        has_sensitive_data,
        detection_types,
        max_severity,
        mcp_session_id,
        security_coverage,
        hook,
        hook_metadata,
        summary,
        quarantine,
    } = record;
    let at = Wall::from_rfc3339(timestamp).map_or(id.millis(), |wall| wall.0);
    // Most verdicts are carried out as they are: nothing more need be said of them.
    let otherwise = effective != decision || *enforcement != Enforcement::Enforced;
    let rest = rest(&Rest {
        effective: otherwise.then_some(*effective),
        enforcement: otherwise.then_some(*enforcement),
        mcp_session_id: mcp_session_id.as_deref(),
        security_coverage: *security_coverage,
        hook: hook.as_deref(),
        summary: summary.as_deref(),
        correlation_id,
        hook_metadata,
        quarantine: quarantine.as_deref(),
        error_message: error_message.as_deref(),
        declared: (*declared != Declared::default()).then_some(declared),
        findings,
    });
    statement.execute(params![
        signed(at),
        id.to_bytes(),
        kind,
        source.name(),
        server_name,
        tool_name,
        method,
        session_id,
        principal,
        names::status(*status),
        names::action(*decision),
        flow_type.name(),
        risk.level.name(),
        risk.score,
        duration_ms,
        signed(*request_bytes),
        signed(*response_bytes),
        has_sensitive_data,
        declared.operation.map(Operation::name),
        max_severity.map(names::severity),
        listed(detection_types),
        rest,
    ])?;
    Ok(())
}

fn signed(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// Nothing where there is nothing to say, which is so for most calls.
fn rest(rest: &Rest<'_>) -> Option<String> {
    let text = serde_json::to_string(rest).ok();
    text.filter(|text| text != "{}")
}

/// The types of data that were recognized, as a JSON list.
fn listed(kinds: &[Box<str>]) -> Option<String> {
    if kinds.is_empty() {
        return None;
    }
    serde_json::to_string(kinds).ok()
}

/// The record as it is shown.
#[derive(Serialize)]
struct Shown<'a> {
    id: CallId,
    #[serde(rename = "type")]
    kind: &'a str,
    source: &'a str,
    server_name: &'a str,
    tool_name: &'a str,
    method: &'a str,
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<Cow<'a, str>>,
    duration_ms: f64,
    timestamp: String,
    session_id: &'a str,
    correlation_id: Cow<'a, str>,
    principal: &'a str,
    request_bytes: i64,
    response_bytes: i64,
    decision: &'a str,
    effective: Cow<'a, str>,
    enforcement: Cow<'a, str>,
    flow_type: &'a str,
    risk_level: &'a str,
    risk_score: i64,
    has_sensitive_data: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    detection_types: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_severity: Option<&'a str>,
    declared: Option<&'a RawValue>,
    findings: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp_session_id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    security_coverage: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_metadata: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quarantine: Option<&'a RawValue>,
}

/// What [`Rest`] wrote.
#[derive(Default, Deserialize)]
struct Kept<'a> {
    #[serde(borrow)]
    effective: Option<Cow<'a, str>>,
    #[serde(borrow)]
    enforcement: Option<Cow<'a, str>>,
    #[serde(borrow)]
    mcp_session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    security_coverage: Option<Cow<'a, str>>,
    #[serde(borrow)]
    hook: Option<&'a RawValue>,
    #[serde(borrow)]
    summary: Option<&'a RawValue>,
    #[serde(borrow)]
    correlation_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    hook_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    quarantine: Option<&'a RawValue>,
    #[serde(borrow)]
    error_message: Option<Cow<'a, str>>,
    #[serde(borrow)]
    declared: Option<&'a RawValue>,
    #[serde(borrow)]
    findings: Option<&'a RawValue>,
}

/// Returns a row of [`COLUMNS`] as a JSON object.
pub(crate) fn show(row: &Row<'_>) -> rusqlite::Result<String> {
    let empty = |text| serde_json::from_str::<&RawValue>(text).ok();
    let kept: Kept<'_> = optional(row, 22)?
        .and_then(|rest| serde_json::from_str(rest).ok())
        .unwrap_or_default();
    let id = CallId::from_bytes(row.get(2)?);
    let shown = Shown {
        id,
        kind: text(row, 3)?,
        source: text(row, 4)?,
        server_name: text(row, 5)?,
        tool_name: text(row, 6)?,
        method: text(row, 7)?,
        status: text(row, 10)?,
        error_message: kept.error_message,
        duration_ms: row.get(15)?,
        timestamp: at(row)?.rfc3339(),
        session_id: text(row, 8)?,
        correlation_id: kept.correlation_id.unwrap_or(Cow::Owned(id.to_string())),
        principal: text(row, 9)?,
        request_bytes: row.get(16)?,
        response_bytes: row.get(17)?,
        decision: text(row, 11)?,
        effective: kept.effective.unwrap_or(Cow::Borrowed(text(row, 11)?)),
        enforcement: kept.enforcement.unwrap_or(Cow::Borrowed("enforced")),
        flow_type: text(row, 12)?,
        risk_level: text(row, 13)?,
        risk_score: row.get(14)?,
        has_sensitive_data: row.get(18)?,
        detection_types: optional(row, 21)?.and_then(empty),
        max_severity: optional(row, 20)?,
        declared: kept.declared.or(empty("{}")),
        findings: kept.findings.or(empty("[]")),
        mcp_session_id: kept.mcp_session_id,
        security_coverage: kept.security_coverage,
        hook: kept.hook,
        hook_metadata: kept.hook_metadata,
        summary: kept.summary,
        quarantine: kept.quarantine,
    };
    serde_json::to_string(&shown)
        .map_err(|fault| rusqlite::Error::ToSqlConversionFailure(fault.into()))
}

/// Returns when a row's call was received.
pub(crate) fn at(row: &Row<'_>) -> rusqlite::Result<Wall> {
    Ok(Wall(u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0)))
}

/// Hands each value that a row of [`COLUMNS`] has in a field to `each`.
pub(crate) fn values(
    row: &Row<'_>,
    field: Field,
    mut each: impl FnMut(&str),
) -> rusqlite::Result<()> {
    let column = match field {
        Field::Kind => 3,
        Field::Source => 4,
        Field::Upstream => 5,
        Field::Tool => 6,
        Field::Session => 8,
        Field::Principal => 9,
        Field::Status => 10,
        Field::Decision => 11,
        Field::FlowType => 12,
        Field::RiskLevel => 13,
        Field::Operation => 19,
        Field::Severity => 20,
        Field::Sensitive => {
            each(if row.get(18)? { "true" } else { "false" });
            return Ok(());
        }
        Field::Detection => {
            let kinds = optional(row, 21)?;
            let kinds =
                kinds.and_then(|kinds| serde_json::from_str::<Vec<Cow<'_, str>>>(kinds).ok());
            kinds.unwrap_or_default().iter().for_each(|kind| each(kind));
            return Ok(());
        }
    };
    if let Some(value) = optional(row, column)? {
        each(value);
    }
    Ok(())
}

fn text<'row>(row: &'row Row<'_>, column: usize) -> rusqlite::Result<&'row str> {
    Ok(optional(row, column)?.unwrap_or_default())
}

fn optional<'row>(row: &'row Row<'_>, column: usize) -> rusqlite::Result<Option<&'row str>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        value => Ok(Some(value.as_str()?)),
    }
}
