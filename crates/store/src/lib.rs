//! Where activity records and the baselines of tools are kept: a SQLite database in the data folder.
//!
//! One thread writes ([`SqliteSink`]): it takes records from a bounded queue in groups, so that the
//! commit in progress does the batching. Another keeps house beside it: it makes old records easy
//! to find, moves the write-ahead log into the database, and drops the oldest records at the
//! bound. Readers ([`Reader`]) have connections of their own and never hold the writer up.
//!
//! Deliberately absent: indexes on the records. Each would cost every call; instead a finished
//! block of records gets one bitmap for each value that occurs in it.

mod baselines;
mod block;
mod error;
mod health;
mod names;
mod queue;
mod reader;
mod row;
mod schema;
mod sink;
mod upkeep;
mod writer;

pub use baselines::SqliteBaselines;
pub use error::Error;
pub use reader::Reader;
pub use sink::{NoSink, SqliteSink};

/// The name of the database in the data folder.
pub const FILE: &str = "activity.db";
