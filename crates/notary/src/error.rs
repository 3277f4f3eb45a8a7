//! What can go wrong in the notary.

use std::io;
use std::path::{Path, PathBuf};

/// A failure of the notary.
#[derive(Debug, thiserror::Error)]
pub enum NotaryError {
    /// A file or folder cannot be used.
    #[error("cannot {what} `{}`: {why}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not; said once, so that it is not also the error's source.
        why: io::Error,
    },
    /// A thread cannot be started.
    #[error("cannot start the ledger's writer: {0}")]
    Thread(io::Error),
    /// The machine has no random bytes to give.
    #[error("the system gives no random bytes: {0}")]
    Random(String),
    /// A receipt was not recorded.
    #[error("the receipt cannot be recorded: {0}")]
    Unrecorded(String),
    /// The ledger has been finished.
    #[error("the session's ledger is closed")]
    Closed,
    /// A key cannot be read.
    #[error("cannot read key `{name}`: {why}")]
    Key {
        /// The file or name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A pack or proof is not in a form that can be read at all.
    #[error("cannot read `{name}`: {why}")]
    Input {
        /// The file.
        name: String,
        /// What is wrong with it.
        why: String,
    },
}

impl NotaryError {
    /// Makes a closure that wraps what the file system said.
    pub(crate) fn file<'a>(what: &'static str, path: &'a Path) -> impl Fn(io::Error) -> Self + 'a {
        move |why| Self::File {
            what,
            path: path.to_owned(),
            why,
        }
    }
}
