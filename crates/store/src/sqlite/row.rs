//! Rows as SQLite has them.

use std::borrow::Cow;

use rusqlite::types::ValueRef;
use rusqlite::{Statement, params};

use crate::chain::Link;
use crate::columns::Columns;
use crate::database::Row;

/// Adds a record; its place is chosen by SQLite.
pub(super) const INSERT: &str = "INSERT INTO activity (at, id, type, source, server_name, \
     tool_name, method, session_id, principal, status, decision, flow_type, risk_level, \
     risk_score, duration_ms, request_bytes, response_bytes, has_sensitive_data, intent_type, \
     max_severity, detection_types, rest, words, writer, number, salts, hash) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// The columns that [`read`] reads, by their places.
pub(super) const COLUMNS: &str = "seq, at, id, type, source, server_name, tool_name, method, \
     session_id, principal, status, decision, flow_type, risk_level, risk_score, duration_ms, \
     request_bytes, response_bytes, has_sensitive_data, intent_type, max_severity, \
     detection_types, rest, words, writer, number, salts, hash";

/// Writes a record with the statement [`INSERT`].
pub(super) fn insert(statement: &mut Statement<'_>, row: &Row<'_>) -> rusqlite::Result<()> {
    let columns = &row.columns;
    let link = row.link.as_ref();
    statement.execute(params![
        columns.at,
        columns.id,
        columns.kind,
        columns.source,
        columns.server_name,
        columns.tool_name,
        columns.method,
        columns.session_id,
        columns.principal,
        columns.status,
        columns.decision,
        columns.flow_type,
        columns.risk_level,
        columns.risk_score,
        columns.duration_ms,
        columns.request_bytes,
        columns.response_bytes,
        columns.has_sensitive_data,
        columns.intent_type,
        columns.max_severity,
        columns.detection_types,
        columns.rest,
        columns.words,
        link.map(|(writer, _)| writer),
        link.map(|(_, link)| link.number),
        link.map(|(_, link)| &*link.salts),
        link.map(|(_, link)| link.hash),
    ])?;
    Ok(())
}

/// Returns the place of a row of [`COLUMNS`].
pub(super) fn place(row: &rusqlite::Row<'_>) -> rusqlite::Result<i64> {
    row.get(0)
}

/// Reads a row of [`COLUMNS`].
pub(super) fn read<'row>(row: &'row rusqlite::Row<'_>) -> rusqlite::Result<Row<'row>> {
    let columns = Columns {
        at: row.get(1)?,
        id: row.get(2)?,
        kind: text(row, 3)?,
        source: text(row, 4)?,
        server_name: text(row, 5)?.into(),
        tool_name: text(row, 6)?.into(),
        method: text(row, 7)?.into(),
        session_id: text(row, 8)?.into(),
        principal: text(row, 9)?.into(),
        status: text(row, 10)?,
        decision: text(row, 11)?,
        flow_type: text(row, 12)?,
        risk_level: text(row, 13)?,
        risk_score: row.get(14)?,
        duration_ms: row.get(15)?,
        request_bytes: row.get(16)?,
        response_bytes: row.get(17)?,
        has_sensitive_data: row.get(18)?,
        intent_type: optional(row, 19)?,
        max_severity: optional(row, 20)?,
        detection_types: optional(row, 21)?.map(Cow::Borrowed),
        rest: optional(row, 22)?.map(Cow::Borrowed),
        words: optional(row, 23)?.map(Cow::Borrowed),
    };
    let link = match row.get(24)? {
        None => None,
        Some(writer) => Some((
            writer,
            Link {
                number: row.get(25)?,
                salts: Cow::Borrowed(row.get_ref(26)?.as_blob()?),
                hash: row.get(27)?,
            },
        )),
    };
    Ok(Row { columns, link })
}

fn text<'row>(row: &'row rusqlite::Row<'_>, column: usize) -> rusqlite::Result<&'row str> {
    Ok(optional(row, column)?.unwrap_or_default())
}

fn optional<'row>(
    row: &'row rusqlite::Row<'_>,
    column: usize,
) -> rusqlite::Result<Option<&'row str>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        value => Ok(Some(value.as_str()?)),
    }
}
