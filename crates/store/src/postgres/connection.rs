//! One connection, used from one thread that waits for every answer.

use std::collections::HashMap;
use std::pin::pin;
use std::time::Duration;

use futures_util::SinkExt as _;
use futures_util::future::try_join;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row, SimpleQueryMessage, Statement};

use super::address::Address;
use super::copy::Piece;
use super::schema;
use crate::Error;
use crate::database::Fault;

/// How long an answer is waited for; a database that takes longer counts as lost.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a database may take to greet, from the first packet to the login: what accepts connections and
/// speaks something else never does.
const GREETING: Duration = Duration::from_secs(5);
/// How often a connection is given the time to hear that it was closed.
const LISTENED: usize = 3;
/// What every connection begins with. Plans are made for the values that are asked for.
const SETTINGS: &str = "SET search_path = mcpproxy; SET plan_cache_mode = force_custom_plan; \
     SET client_min_messages = warning";

/// Begins to ask of one state of the database.
pub(super) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// What is handed over with a statement.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

impl From<tokio_postgres::Error> for Fault {
    fn from(fault: tokio_postgres::Error) -> Self {
        let source = std::error::Error::source(&fault);
        Self::new(source.map_or_else(|| fault.to_string(), |source| format!("{fault}: {source}")))
    }
}

/// A connection.
pub(crate) struct Connection {
    client: Client,
    prepared: HashMap<&'static str, Statement>,
    /// An answer did not come in time.
    is_late: bool,
    /// Last, so that what runs in it is dropped before it.
    runtime: Runtime,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Connection").finish_non_exhaustive()
    }
}

/// Says why a database cannot be used, without its password.
fn told(address: &Address, fault: &Fault) -> Error {
    Error::Connect {
        name: address.name().to_owned(),
        why: fault.to_string(),
    }
}

impl Connection {
    /// Connects, and brings the database to the present form. Not from within a runtime.
    pub(super) fn open(address: &Address) -> Result<Self, Error> {
        let mut connection = Self::reach(address)?;
        schema::migrate(&mut connection, address.name())?;
        let set = connection.batch(SETTINGS);
        set.map_err(|fault| told(address, &fault))?;
        Ok(connection)
    }

    /// Connects and changes nothing. Not from within a runtime.
    pub(super) fn reach(address: &Address) -> Result<Self, Error> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::Thread)?;
        let client = runtime.block_on(greeted(address, GREETING));
        Ok(Self {
            client: client.map_err(|fault| told(address, &fault))?,
            prepared: HashMap::new(),
            is_late: false,
            runtime,
        })
    }

    /// Tells whether it cannot be used any more.
    pub(super) fn is_closed(&mut self) -> bool {
        // Nobody has listened to the database since the last question.
        self.runtime.block_on(async {
            for _ in 0..LISTENED {
                tokio::task::yield_now().await;
            }
        });
        self.is_late || self.client.is_closed()
    }

    /// Waits for an answer. One that comes too late would be taken for the next.
    fn wait<T, E: Into<Fault>>(
        &mut self,
        ask: impl AsyncFnOnce(&Client) -> Result<T, E>,
    ) -> Result<T, Fault> {
        let answer = async { tokio::time::timeout(PATIENCE, ask(&self.client)).await };
        if let Ok(answer) = self.runtime.block_on(answer) {
            return answer.map_err(Into::into);
        }
        self.is_late = true;
        Err(Fault::new("the database did not answer in time"))
    }

    /// Runs statements without values.
    pub(super) fn batch(&mut self, sql: &str) -> Result<(), Fault> {
        self.wait(async |client| client.batch_execute(sql).await)
    }

    /// Runs a statement that is prepared once, and returns its rows.
    pub(super) fn query(
        &mut self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, Fault> {
        let statement = self.prepare(sql)?;
        self.wait(async |client| client.query(&statement, values).await)
    }

    /// Runs a statement that is prepared once, and returns its first row.
    pub(super) fn first(
        &mut self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Option<Row>, Fault> {
        Ok(self.query(sql, values)?.into_iter().next())
    }

    /// Runs a statement that is prepared once.
    pub(super) fn execute(&mut self, sql: &'static str, values: Values<'_>) -> Result<(), Fault> {
        let statement = self.prepare(sql)?;
        let done = self.wait(async |client| client.execute(&statement, values).await);
        done.map(drop)
    }

    /// Copies data in one transaction: `begin` is a statement that gives a number, of which `pieces`
    /// makes what the prepared statement `sql` copies from. Returns the number.
    ///
    /// Nobody waits but twice, for the number and for the end: what can be said is said at once.
    pub(super) fn copy<P: Iterator<Item = Result<Piece, Fault>>>(
        &mut self,
        begin: &str,
        sql: &'static str,
        pieces: impl FnOnce(i64) -> P,
    ) -> Result<i64, Fault> {
        let statement = self.prepare(sql)?;
        let begin = format!("BEGIN; {begin}");
        self.wait(async |client| {
            let told = client.simple_query(&begin);
            let (told, taken) = try_join(told, client.copy_in(&statement)).await?;
            let number = given(&told).ok_or_else(|| Fault::new("no number was given"))?;
            let mut taken = pin!(taken);
            for piece in pieces(number) {
                taken.send(piece?).await?;
            }
            // CRASH: a stop before the end of this leaves nothing of it, and nobody was told. Where
            // copying failed there is nothing to commit.
            try_join(taken.finish(), client.batch_execute("COMMIT")).await?;
            Ok::<_, Fault>(number)
        })
    }

    fn prepare(&mut self, sql: &'static str) -> Result<Statement, Fault> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.wait(async |client| client.prepare(sql).await)?;
        self.prepared.insert(sql, statement.clone());
        Ok(statement)
    }

    /// Changes something in one transaction.
    pub(super) fn change<T>(
        &mut self,
        change: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.batch("BEGIN")?;
        let changed = change(self);
        if changed.is_err() {
            // What went wrong is told; that this cannot be done either is no news.
            self.batch("ROLLBACK").unwrap_or_default();
            return changed;
        }
        // CRASH: a stop before the end of this leaves nothing of it, and nobody was told.
        self.batch("COMMIT")?;
        changed
    }

    /// Asks several things of one state of the database.
    pub(super) fn look<T>(
        &mut self,
        look: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.batch(SNAPSHOT)?;
        let seen = look(self);
        self.batch("ROLLBACK")?;
        seen
    }
}

/// Returns the number that statements gave.
fn given(answers: &[SimpleQueryMessage]) -> Option<i64> {
    answers.iter().find_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
        _ => None,
    })
}

/// Connects within a time, for each of the hosts that may be tried.
async fn greeted(address: &Address, limit: Duration) -> Result<Client, Fault> {
    let config = &address.config;
    let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
    let limit = limit.saturating_mul(u32::try_from(hosts).unwrap_or(u32::MAX).max(1));
    let connected = tokio::time::timeout(limit, connect(address)).await;
    connected.unwrap_or_else(|_| {
        let limit = limit.as_secs_f64();
        Err(Fault::new(format!(
            "nothing that speaks PostgreSQL answered there within {limit} s"
        )))
    })
}

async fn connect(address: &Address) -> Result<Client, Fault> {
    // Without a task of its own nobody would talk to the database while we wait.
    if let Some(tls) = &address.tls {
        let (client, connection) = address.config.connect(tls.clone()).await?;
        tokio::spawn(connection);
        return Ok(client);
    }
    let (client, connection) = address.config.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Regression for #8: what accepts and never answers was waited for without an end.
    #[tokio::test]
    async fn what_accepts_and_speaks_something_else_is_not_waited_for() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = silent.local_addr().unwrap().port();
        let address = Address::parse(&format!("postgres://me@127.0.0.1:{port}/log")).unwrap();
        let connecting = greeted(&address, Duration::from_millis(50));
        // Who is not refused within a minute would not be within an hour.
        let told = tokio::time::timeout(Duration::from_mins(1), connecting).await;
        let told = told.unwrap().map(drop).unwrap_err().to_string();
        assert!(told.contains("within 0.05 s"), "{told}");
    }
}
