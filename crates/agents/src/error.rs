//! What can go wrong when files are changed or changed back.
//!
//! A file that cannot be read or understood is no error but a problem of that file; see
//! `discover.rs`.

use std::io;
use std::path::{Path, PathBuf};

/// Why files were not changed, or not changed back.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file may not be written.
    #[error("`{}` is read-only", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Somebody changed the file after it was read for the plan.
    #[error("`{}` was changed since it was read", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The folder of a new file does not exist.
    #[error("the folder of `{}` does not exist", path.display())]
    MissingFolder {
        /// The file.
        path: PathBuf,
    },
    /// The record of an earlier change cannot be understood.
    #[error("cannot understand the record `{}`: {reason}", path.display())]
    Manifest {
        /// The record.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no change to take back.
    #[error("no change is recorded in `{}`", dir.display())]
    NothingToUndo {
        /// Where records were looked for.
        dir: PathBuf,
    },
    /// A file of an agent cannot be parsed; it is never overwritten.
    #[error("`{}` cannot be understood: line {line}, column {column}: {message}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line, from one.
        line: usize,
        /// The column in characters, from one.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// A file of an agent is not laid out as the agent would; it is never overwritten.
    #[error("`{}` stays as it is: `{place}` {reason}", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: String,
        /// What is wrong there.
        reason: String,
    },
    /// A file with our name is somebody else's.
    #[error("`{}` was not written by mcpproxy and stays as it is", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The hook cannot be installed in this way.
    #[error("no hook for {agent}: {reason}")]
    NoHook {
        /// The agent.
        agent: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// A change failed midway, and files changed before could not be restored.
    #[error("{cause}; and {} could not be restored, its original is in `{}`",
        names(stuck), backups.display())]
    Stuck {
        /// What failed first.
        cause: Box<Error>,
        /// The files that are still changed.
        stuck: Vec<PathBuf>,
        /// Where the originals are.
        backups: PathBuf,
    },
}

impl Error {
    /// Returns what the user can do about it, where we know.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Broken { .. } | Self::Shape { .. } => {
                Some("mend that place, or move the file away, and run this again")
            }
            Self::Foreign { .. } => Some("move the file away and run this again"),
            Self::ReadOnly { .. } => Some("make it writable, or choose another scope"),
            Self::Changed { .. } => Some("run this again"),
            Self::NoHook { .. }
            | Self::Io { .. }
            | Self::MissingFolder { .. }
            | Self::Manifest { .. }
            | Self::NothingToUndo { .. }
            | Self::Stuck { .. } => None,
        }
    }

    /// Makes a closure that wraps what the system said.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

fn names(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths
        .iter()
        .map(|path| format!("`{}`", path.display()))
        .collect();
    names.join(", ")
}
