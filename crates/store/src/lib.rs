//! Where activity records and the baselines of tools are kept: a SQLite database in the data
//! folder, or a PostgreSQL database that several gateways may share.
//!
//! One thread writes ([`Sink`]): it takes records from a bounded queue in groups, so that the
//! commit in progress does the batching, and chains them by their hashes. Another keeps house
//! beside it: it makes old records easy to find, and drops what is too old or too much. Readers
//! ([`Reader`], [`PostgresReader`]) have connections of their own and never hold the writer up;
//! they also verify the whole chain. [`Redis`] keeps what several gateways share while it lasts.

mod block;
mod chain;
mod checkpoint;
mod columns;
mod database;
mod digest;
mod error;
mod gap;
mod health;
mod index;
mod ledger;
mod names;
mod paging;
mod postgres;
mod proof;
mod pruning;
mod queue;
mod redaction;
mod redis;
mod reminder;
mod retention;
mod shown;
mod sink;
mod sqlite;
mod tally;
mod timeline;
mod tls;
mod unfollowed;
mod upkeep;
mod verify;
mod writer;

pub use error::Error;
pub use postgres::{PostgresBaselines, PostgresReader};
pub use redis::{LiveOptions, Redis};
pub use retention::Retention;
pub use sink::{NoSink, Options, Sink};
pub use sqlite::{Reader, SqliteBaselines};
pub use verify::{Flaw, Verified};

/// Says what is wrong with the address of a PostgreSQL database, if anything; nothing is connected to.
pub fn check_database(url: &str) -> Result<(), Error> {
    postgres::Postgres::at(url).map(drop)
}

/// Connects to a PostgreSQL database and changes nothing there. Not from within a runtime.
pub fn reach_database(url: &str) -> Result<(), Error> {
    postgres::Postgres::at(url)?.reach()
}

/// Says what is wrong with a SQLite log that is there, if that is found within two seconds. Nothing is
/// changed there.
pub fn examine_log(path: &std::path::Path) -> Result<(), Error> {
    sqlite::Sqlite::at(path).examine()
}

/// Makes what the records of a SQLite log are found by anew from the records, and returns of how many
/// blocks.
pub fn remake_index(path: &std::path::Path) -> Result<u64, Error> {
    remade(&sqlite::Sqlite::at(path))
}

/// Does the same in a PostgreSQL database. Not from within a runtime.
pub fn remake_database_index(url: &str) -> Result<u64, Error> {
    remade(&postgres::Postgres::at(url)?)
}

fn remade(database: &impl database::Database) -> Result<u64, Error> {
    index::remake(database).map_err(|fault| Error::Index {
        name: database.name().into_owned(),
        why: fault.to_string(),
    })
}

/// The name of the database in the data folder.
pub const FILE: &str = "activity.db";
