//! Rows as SQLite has them.

use std::borrow::Cow;

use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{Error, Statement, params};

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

/// Reads a row of [`COLUMNS`]. SQLite keeps any value in any column: one of another type than was written
/// reads as nothing, and the record has no salts, so that it is shown and found to be damaged, and does
/// not hide the others.
pub(super) fn read<'row>(row: &'row rusqlite::Row<'_>) -> rusqlite::Result<Row<'row>> {
    let mut cells = Cells { row, odd: false };
    let columns = Columns {
        at: cells.get(1)?,
        id: cells.get(2)?,
        kind: cells.text(3)?,
        source: cells.text(4)?,
        server_name: cells.text(5)?.into(),
        tool_name: cells.text(6)?.into(),
        method: cells.text(7)?.into(),
        session_id: cells.text(8)?.into(),
        principal: cells.text(9)?.into(),
        status: cells.text(10)?,
        decision: cells.text(11)?,
        flow_type: cells.text(12)?,
        risk_level: cells.text(13)?,
        risk_score: cells.get(14)?,
        duration_ms: cells.get(15)?,
        request_bytes: cells.get(16)?,
        response_bytes: cells.get(17)?,
        has_sensitive_data: cells.flag(18)?,
        intent_type: cells.optional(19)?,
        max_severity: cells.optional(20)?,
        detection_types: cells.optional(21)?.map(Cow::Borrowed),
        rest: cells.optional(22)?.map(Cow::Borrowed),
        words: cells.optional(23)?.map(Cow::Borrowed),
    };
    let link = match cells.get(24)? {
        None => None,
        Some(writer) => {
            let salts = match row.get_ref(26)? {
                ValueRef::Blob(salts) if !cells.odd => salts,
                _ => &[],
            };
            // What these should be follows from the chain: an audit sees it without more.
            let (number, hash) = (cell(row, 25)?, cell(row, 27)?);
            let salts = Cow::Borrowed(salts);
            let link = Link {
                number,
                salts,
                hash,
            };
            Some((writer, link))
        }
    };
    Ok(Row { columns, link })
}

/// Reads a value; one of another type reads as nothing.
pub(super) fn cell<T: FromSql + Default>(
    row: &rusqlite::Row<'_>,
    column: usize,
) -> rusqlite::Result<T> {
    Ok(fitting(row, column)?.unwrap_or_default())
}

fn fitting<T: FromSql>(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    match row.get(column) {
        Ok(value) => Ok(Some(value)),
        Err(
            Error::InvalidColumnType(..)
            | Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::Utf8Error(..),
        ) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// The values of a row.
struct Cells<'row, 'rows> {
    row: &'row rusqlite::Row<'rows>,
    /// Whether one of them is of another type than was written.
    odd: bool,
}

impl<'row> Cells<'row, '_> {
    fn get<T: FromSql + Default>(&mut self, column: usize) -> rusqlite::Result<T> {
        let found = fitting(self.row, column)?;
        self.odd |= found.is_none();
        Ok(found.unwrap_or_default())
    }

    /// Reads what is yes or no: SQLite takes every other number for yes, and that was never written.
    fn flag(&mut self, column: usize) -> rusqlite::Result<bool> {
        let number: i64 = self.get(column)?;
        self.odd |= !matches!(number, 0 | 1);
        Ok(number != 0)
    }

    fn text(&mut self, column: usize) -> rusqlite::Result<&'row str> {
        let found = self.optional(column)?;
        self.odd |= found.is_none();
        Ok(found.unwrap_or_default())
    }

    fn optional(&mut self, column: usize) -> rusqlite::Result<Option<&'row str>> {
        match self.row.get_ref(column)? {
            ValueRef::Null => Ok(None),
            value => {
                let text = value.as_str().ok();
                self.odd |= text.is_none();
                Ok(text)
            }
        }
    }
}
