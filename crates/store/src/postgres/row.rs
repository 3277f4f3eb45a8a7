//! Rows as PostgreSQL has them.

use std::borrow::Cow;

use tokio_postgres::Row as Found;
use tokio_postgres::types::ToSql;

use crate::chain::Link;
use crate::columns::{Columns, signed};
use crate::database::{Fault, Row};

/// Adds records and returns the last place. The row that holds the place is locked until the
/// commit, so that records are seen in the order of their places.
pub(super) const INSERT: &str = "WITH moved AS (
       UPDATE place SET last = last + $1 RETURNING last - $1 AS before
     ), added AS (
       INSERT INTO activity (seq, at, id, type, source, server_name, tool_name, method, session_id,
         principal, status, decision, flow_type, risk_level, risk_score, duration_ms, request_bytes,
         response_bytes, has_sensitive_data, intent_type, max_severity, detection_types, rest,
         words, writer, number, salts, hash)
       SELECT moved.before + new.n, new.at, new.id, new.type, new.source, new.server_name,
         new.tool_name, new.method, new.session_id, new.principal, new.status, new.decision,
         new.flow_type, new.risk_level, new.risk_score, new.duration_ms, new.request_bytes,
         new.response_bytes, new.has_sensitive_data, new.intent_type, new.max_severity,
         new.detection_types, new.rest, new.words, new.writer, new.number, new.salts, new.hash
       FROM moved, unnest($2::bigint[], $3::bytea[], $4::text[], $5::text[], $6::text[],
         $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],
         $14::text[], $15::bigint[], $16::float8[], $17::bigint[], $18::bigint[], $19::bool[],
         $20::text[], $21::text[], $22::text[], $23::text[], $24::text[], $25::bigint[],
         $26::bigint[], $27::bytea[], $28::bytea[]) WITH ORDINALITY
       AS new(at, id, type, source, server_name, tool_name, method, session_id, principal, status,
         decision, flow_type, risk_level, risk_score, duration_ms, request_bytes, response_bytes,
         has_sensitive_data, intent_type, max_severity, detection_types, rest, words, writer,
         number, salts, hash, n)
     ) SELECT before + $1 FROM moved";

/// The columns that [`read`] reads, by their places.
macro_rules! columns {
    () => {
        "seq, at, id, type, source, server_name, tool_name, method, session_id, principal, \
         status, decision, flow_type, risk_level, risk_score, duration_ms, request_bytes, \
         response_bytes, has_sensitive_data, intent_type, max_severity, detection_types, rest, \
         words, writer, number, salts, hash"
    };
}
pub(super) use columns;

/// Records turned on their side: a list for each column.
#[derive(Default)]
pub(super) struct Lists<'a> {
    at: Vec<i64>,
    ids: Vec<Vec<u8>>,
    texts: [Vec<Cow<'a, str>>; 11],
    risk_score: Vec<i64>,
    duration_ms: Vec<f64>,
    request_bytes: Vec<i64>,
    response_bytes: Vec<i64>,
    has_sensitive_data: Vec<bool>,
    optional: [Vec<Option<Cow<'a, str>>>; 5],
    writer: Vec<i64>,
    number: Vec<i64>,
    salts: Vec<Vec<u8>>,
    hash: Vec<Vec<u8>>,
}

impl<'a> Lists<'a> {
    /// Takes a record in.
    pub(super) fn push(&mut self, row: Row<'a>) -> Result<(), Fault> {
        let Row { columns, link } = row;
        let (writer, link) = link.ok_or_else(|| Fault::new("a record has no chain"))?;
        self.at.push(columns.at);
        self.ids.push(columns.id.to_vec());
        let texts = [
            columns.kind.into(),
            columns.source.into(),
            columns.server_name,
            columns.tool_name,
            columns.method,
            columns.session_id,
            columns.principal,
            columns.status.into(),
            columns.decision.into(),
            columns.flow_type.into(),
            columns.risk_level.into(),
        ];
        for (list, text) in self.texts.iter_mut().zip(texts) {
            list.push(text);
        }
        self.risk_score.push(columns.risk_score);
        self.duration_ms.push(columns.duration_ms);
        self.request_bytes.push(columns.request_bytes);
        self.response_bytes.push(columns.response_bytes);
        self.has_sensitive_data.push(columns.has_sensitive_data);
        let optional = [
            columns.intent_type.map(Cow::Borrowed),
            columns.max_severity.map(Cow::Borrowed),
            columns.detection_types,
            columns.rest,
            columns.words,
        ];
        for (list, text) in self.optional.iter_mut().zip(optional) {
            list.push(text);
        }
        self.writer.push(writer);
        self.number.push(link.number);
        self.salts.push(link.salts.into_owned());
        self.hash.push(link.hash.to_vec());
        Ok(())
    }

    /// Returns how many there are.
    pub(super) fn len(&self) -> i64 {
        signed(self.at.len())
    }

    /// Returns the values of [`INSERT`], after the number of records.
    pub(super) fn values<'b>(&'b self, count: &'b i64) -> Vec<&'b (dyn ToSql + Sync)> {
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![count, &self.at, &self.ids];
        values.extend(self.texts.iter().map(|list| list as &(dyn ToSql + Sync)));
        values.extend([
            &self.risk_score as &(dyn ToSql + Sync),
            &self.duration_ms,
            &self.request_bytes,
            &self.response_bytes,
            &self.has_sensitive_data,
        ]);
        values.extend(self.optional.iter().map(|list| list as &(dyn ToSql + Sync)));
        values.extend([
            &self.writer as &(dyn ToSql + Sync),
            &self.number,
            &self.salts,
            &self.hash,
        ]);
        values
    }
}

/// Returns the place of a row of [`columns`].
pub(super) fn place(row: &Found) -> Result<i64, Fault> {
    Ok(row.try_get(0)?)
}

/// Reads a row of [`columns`].
pub(super) fn read(row: &Found) -> Result<Row<'_>, Fault> {
    let text = |column: usize| -> Result<&str, Fault> { Ok(row.try_get(column)?) };
    let optional = |column: usize| -> Result<Option<&str>, Fault> { Ok(row.try_get(column)?) };
    let columns = Columns {
        at: row.try_get(1)?,
        id: sized(row.try_get(2)?),
        kind: text(3)?,
        source: text(4)?,
        server_name: text(5)?.into(),
        tool_name: text(6)?.into(),
        method: text(7)?.into(),
        session_id: text(8)?.into(),
        principal: text(9)?.into(),
        status: text(10)?,
        decision: text(11)?,
        flow_type: text(12)?,
        risk_level: text(13)?,
        risk_score: row.try_get(14)?,
        duration_ms: row.try_get(15)?,
        request_bytes: row.try_get(16)?,
        response_bytes: row.try_get(17)?,
        has_sensitive_data: row.try_get(18)?,
        intent_type: optional(19)?,
        max_severity: optional(20)?,
        detection_types: optional(21)?.map(Cow::Borrowed),
        rest: optional(22)?.map(Cow::Borrowed),
        words: optional(23)?.map(Cow::Borrowed),
    };
    let link = Link {
        number: row.try_get(25)?,
        salts: Cow::Borrowed(row.try_get(26)?),
        hash: sized(row.try_get(27)?),
    };
    Ok(Row {
        columns,
        link: Some((row.try_get(24)?, link)),
    })
}

/// Reads bytes whose number is known; others read as nothing, so that one damaged record does not hide
/// the others. It is not what was written, and an audit says so.
fn sized<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().unwrap_or([0; N])
}

/// Reads bytes whose number is known.
pub(super) fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Fault> {
    let wrong = |_| Fault::new("a value has the wrong length");
    bytes.try_into().map_err(wrong)
}
