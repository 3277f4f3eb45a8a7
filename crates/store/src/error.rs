//! What can go wrong when the log is opened.

use std::path::{Path, PathBuf};

/// A failure to open the log.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be made.
    #[error("cannot make activity log `{}`: {why}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// Why. Not as a source, which whoever tells the whole of an error would tell a second time.
        why: String,
    },
    /// The database cannot be used.
    #[error("cannot open activity log `{}`: {why}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why, as SQLite says it.
        why: String,
    },
    /// A later version wrote the database.
    #[error("activity log `{}` has form {found}, and this version knows forms up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its form.
        found: i64,
        /// The newest form that is known here.
        known: i64,
    },
    /// The address of a database is not one.
    #[error("the address of the store is wrong: {why}")]
    Address {
        /// What is wrong with it.
        why: String,
    },
    /// A database cannot be reached or used.
    #[error("cannot use the store `{name}`: {why}")]
    Connect {
        /// The database, without a password.
        name: String,
        /// Why.
        why: String,
    },
    /// A later version wrote a database.
    #[error("the store `{name}` has form {found}, and this version knows forms up to {known}")]
    NewerDatabase {
        /// The database, without a password.
        name: String,
        /// Its form.
        found: usize,
        /// The newest form that is known here.
        known: usize,
    },
    /// What records are found by cannot be made anew.
    #[error("cannot make the index of `{name}` anew: {why}")]
    Index {
        /// The database, without a password.
        name: String,
        /// Why.
        why: String,
    },
    /// A thread of the log cannot be started.
    #[error("cannot start the activity log's writer: {0}")]
    Thread(std::io::Error),
}

impl Error {
    /// Makes a closure that wraps what SQLite said.
    pub(crate) fn open(path: &Path) -> impl Fn(rusqlite::Error) -> Self {
        move |fault| Self::Open {
            path: path.to_owned(),
            why: fault.to_string(),
        }
    }
}
