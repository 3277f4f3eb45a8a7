//! What can go wrong when the log is opened.

use std::path::PathBuf;

/// A failure to open the log.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened for appending.
    #[error("cannot open activity log `{}`: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The writer thread cannot be started.
    #[error("cannot start the activity log's writer: {0}")]
    Thread(std::io::Error),
}
