//! Questions to the log in a PostgreSQL database.

use std::path::Path;

use mcpproxy_core::{
    ActivityPage, ActivityQuery, ActivityReader, CallId, CountQuery, Counted, Cursor, ReadFault,
    StatementCheck,
};

use super::connection::Connection;
use super::search::Search;
use super::worker::Workers;
use super::{audit, row};
use crate::Error;
use crate::block::{How, how};
use crate::columns::signed;
use crate::database::Fault;
use crate::reminder;
use crate::timeline::bounded;
use crate::verify::Verified;

/// Questions that are answered at once.
const THREADS: usize = 2;

/// A reader of the log.
#[derive(Debug)]
pub struct PostgresReader {
    workers: Workers,
}

impl PostgresReader {
    /// Connects to a database, which is brought to the present form.
    pub fn open(url: &str) -> Result<Self, Error> {
        let workers = Workers::start(url, THREADS)?;
        Ok(Self { workers })
    }

    /// Looks for what was changed, taken out or put in behind the log's back.
    pub fn verify<T>(&self, trust: T) -> Result<Verified, ReadFault>
    where
        T: StatementCheck + Send + 'static,
    {
        self.ask(move |connection| audit::verify(connection, &trust, &[]))
    }

    /// Also compares with what a gateway keeps apart from the log.
    pub fn verify_beside<T>(&self, trust: T, file: &Path) -> Result<Verified, ReadFault>
    where
        T: StatementCheck + Send + 'static,
    {
        // Read first: what is written meanwhile only gets further.
        let reminded = reminder::load(file).map_err(|fault| ReadFault(fault.to_string()))?;
        self.ask(move |connection| audit::verify(connection, &trust, &reminded))
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, ReadFault> {
        let answer = self.workers.ask(|connection| connection.look(question));
        answer.map_err(|fault| ReadFault(fault.to_string()))
    }
}

impl ActivityReader for PostgresReader {
    fn page(&self, query: &ActivityQuery) -> Result<ActivityPage, ReadFault> {
        let query = storable(query);
        self.ask(move |connection| {
            let lost = lost(connection)?;
            Search::new(connection, &bounded(&query), lost)?.run()
        })
    }

    fn count(&self, asked: &CountQuery) -> Result<Counted, ReadFault> {
        let asked = CountQuery {
            query: storable(&asked.query),
            ..asked.clone()
        };
        self.ask(move |connection| Search::new(connection, &asked.query, 0)?.count(&asked))
    }

    fn get(&self, id: CallId) -> Result<Option<String>, ReadFault> {
        // Without the detour some plans walk through all places to find the last with the id.
        let sql = concat!(
            "WITH found AS MATERIALIZED (SELECT seq FROM activity WHERE id = $1) SELECT ",
            row::columns!(),
            " FROM activity WHERE seq = (SELECT max(seq) FROM found)"
        );
        self.ask(move |connection| {
            let row = connection.first(sql, &[&id.to_bytes().to_vec()])?;
            row.map(|row| Ok(row::read(&row)?.show()?)).transpose()
        })
    }

    fn tail(&self, after: u64, limit: usize) -> Result<ActivityPage, ReadFault> {
        let sql = concat!(
            "SELECT ",
            row::columns!(),
            " FROM activity WHERE seq > $1 ORDER BY seq LIMIT $2"
        );
        self.ask(move |connection| {
            let mut page = ActivityPage {
                lost: lost(connection)?,
                ..ActivityPage::default()
            };
            for row in connection.query(sql, &[&signed(after), &signed(limit)])? {
                page.records.push(row::read(&row)?.show()?);
                let place = u64::try_from(row::place(&row)?).ok();
                page.next = place.map(Cursor::from);
            }
            Ok(page)
        })
    }
}

/// Returns a question that the database can be asked: it knows no character zero, so that nothing which
/// stands in a column has one. What stands in JSON may, in other letters.
fn storable(query: &ActivityQuery) -> ActivityQuery {
    let mut query = query.clone();
    for (field, values) in &mut query.wanted {
        if how(*field) == How::Bitmaps {
            values.retain(|value| !value.contains('\0'));
        }
    }
    query
}

fn lost(connection: &mut Connection) -> Result<u64, Fault> {
    let sql = "SELECT coalesce(sum(lost), 0)::bigint FROM gap";
    let row = connection.first(sql, &[])?;
    let lost: i64 = row.map_or(Ok(0), |row| row.try_get(0))?;
    Ok(u64::try_from(lost).unwrap_or(0))
}
