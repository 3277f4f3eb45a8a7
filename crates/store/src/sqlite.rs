//! The log in a SQLite database: group commit into a write-ahead log, readers beside it.
//!
//! Deliberately absent: indexes on the records. Each would cost every call; instead a finished
//! block of records gets one bitmap for each value that occurs in it.

mod ahead;
mod audit;
mod baselines;
mod count;
mod house;
mod log;
mod reader;
mod row;
mod schema;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::baselines::SqliteBaselines;
pub use self::reader::Reader;

use self::house::SqliteHouse;
use self::log::SqliteLog;
use crate::Error;
use crate::database::Database;

/// How long the pages of a database are looked at where nobody reads it yet.
const EXAMINED: Duration = Duration::from_secs(2);

/// A database in a file.
#[derive(Debug)]
pub(crate) struct Sqlite {
    path: PathBuf,
}

impl Sqlite {
    /// Names the file.
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// Reads what is there, for a while, and changes nothing.
    pub(crate) fn examine(&self) -> Result<(), Error> {
        schema::examine(&self.path, EXAMINED)
    }
}

impl Database for Sqlite {
    type Log = SqliteLog;
    type House = SqliteHouse;

    fn log(&self) -> Result<SqliteLog, Error> {
        schema::open(&self.path).map(SqliteLog::new)
    }

    fn house(&self) -> Result<SqliteHouse, Error> {
        schema::open(&self.path).map(SqliteHouse::new)
    }

    fn name(&self) -> Cow<'_, str> {
        self.path.to_string_lossy()
    }
}
