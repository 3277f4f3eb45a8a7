//! Records in the binary form that PostgreSQL copies from, made in pieces: the database takes one while
//! the next is made.

use std::io::Cursor;

use super::row;
use crate::chain::Link;
use crate::columns::Columns;
use crate::database::{Fault, Row};

/// Takes records in the order of [`row::columns`].
pub(super) const COPY: &str = concat!(
    "COPY activity (",
    row::columns!(),
    ") FROM STDIN (FORMAT binary)"
);

/// Bytes after which a piece is handed over.
const PIECE: usize = 64 * 1024;
/// The columns of [`row::columns`].
const FIELDS: i16 = 28;
/// What such data begins with: a signature, no flags, nothing more.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// What it ends with.
const END: i16 = -1;
/// The length of a value that is not there.
const NULL: i32 = -1;

/// A piece, as the connection takes it.
pub(super) type Piece = Cursor<Vec<u8>>;

/// Records on their way.
pub(super) struct Pieces<I> {
    rows: I,
    /// The place of the record before the next.
    place: i64,
    step: Step,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Begin,
    Middle,
    Ended,
}

impl<'a, I: Iterator<Item = Row<'a>>> Pieces<I> {
    /// Begins with the record after a place.
    pub(super) fn new(rows: I, place: i64) -> Self {
        Self {
            rows,
            place,
            step: Step::Begin,
        }
    }
}

impl<'a, I: Iterator<Item = Row<'a>>> Iterator for Pieces<I> {
    type Item = Result<Piece, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut bytes = Vec::with_capacity(PIECE + PIECE / 4);
        match self.step {
            Step::Begin => bytes.extend_from_slice(HEADER),
            Step::Middle => {}
            Step::Ended => return None,
        }
        self.step = Step::Middle;
        while bytes.len() < PIECE {
            let Some(row) = self.rows.next() else {
                bytes.extend(END.to_be_bytes());
                self.step = Step::Ended;
                break;
            };
            self.place += 1;
            if let Err(fault) = put_row(&mut bytes, self.place, &row) {
                self.step = Step::Ended;
                return Some(Err(fault));
            }
        }
        Some(Ok(Cursor::new(bytes)))
    }
}

fn put_row(bytes: &mut Vec<u8>, place: i64, row: &Row<'_>) -> Result<(), Fault> {
    let link = row.link.as_ref();
    let (writer, link) = link.ok_or_else(|| Fault::new("a record has no chain"))?;
    bytes.extend(FIELDS.to_be_bytes());
    put(bytes, &place.to_be_bytes())?;
    put_columns(bytes, &row.columns)?;
    put(bytes, &writer.to_be_bytes())?;
    let Link {
        number,
        salts,
        hash,
    } = link;
    put(bytes, &number.to_be_bytes())?;
    put(bytes, salts)?;
    put(bytes, hash)
}

fn put_columns(bytes: &mut Vec<u8>, columns: &Columns<'_>) -> Result<(), Fault> {
    put(bytes, &columns.at.to_be_bytes())?;
    put(bytes, &columns.id)?;
    for text in [
        columns.kind,
        columns.source,
        &columns.server_name,
        &columns.tool_name,
        &columns.method,
        &columns.session_id,
        &columns.principal,
        columns.status,
        columns.decision,
        columns.flow_type,
        columns.risk_level,
    ] {
        put(bytes, text.as_bytes())?;
    }
    put(bytes, &columns.risk_score.to_be_bytes())?;
    put(bytes, &columns.duration_ms.to_be_bytes())?;
    put(bytes, &columns.request_bytes.to_be_bytes())?;
    put(bytes, &columns.response_bytes.to_be_bytes())?;
    put(bytes, &[u8::from(columns.has_sensitive_data)])?;
    for text in [
        columns.intent_type,
        columns.max_severity,
        columns.detection_types.as_deref(),
        columns.rest.as_deref(),
        columns.words.as_deref(),
    ] {
        match text {
            Some(text) => put(bytes, text.as_bytes())?,
            None => bytes.extend(NULL.to_be_bytes()),
        }
    }
    Ok(())
}

fn put(bytes: &mut Vec<u8>, value: &[u8]) -> Result<(), Fault> {
    let length = i32::try_from(value.len()).map_err(|_| Fault::new("a value is too long"))?;
    bytes.extend(length.to_be_bytes());
    bytes.extend_from_slice(value);
    Ok(())
}
