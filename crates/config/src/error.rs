//! What can be wrong with a configuration, ready to print, and why a file could not be edited.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::origin::Origin;

/// One mistake in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands; [`Origin::Default`] where it stands nowhere in particular.
    pub origin: Origin,
    /// Which value it is about, such as `mcpServers.github.comand`; empty for the whole file.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What would make it right, where that is known.
    pub hint: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Default => {}
            Origin::File {
                path,
                position: None,
            } => write!(f, "{}: ", path.display())?,
            Origin::File {
                path,
                position: Some(at),
            } => {
                write!(f, "{}:{}:{}: ", path.display(), at.line, at.column)?;
            }
            Origin::Environment(name) | Origin::Flag(name) => write!(f, "{name}: ")?,
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

/// Every mistake found in the configuration, in the order of the files; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by(|a, b| a.origin.cmp(&b.origin));
        Self(problems)
    }

    /// Returns the mistakes.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.iter().enumerate() {
            let newline = if at == 0 { "" } else { "\n" };
            write!(f, "{newline}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Why a file could not be edited.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file as it stands, or the entry to be added, is wrong.
    #[error(transparent)]
    Problems(#[from] Problems),
    /// The name cannot be used for an upstream.
    #[error("{0}")]
    Name(String),
    /// A patch has more members than are laid over a file one by one.
    #[error("a patch has at most {limit} members that the file has maps for; give the whole text")]
    TooManyChanges {
        /// The most.
        limit: usize,
    },
    /// The file cannot be written.
    #[error("cannot write `{path}`")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The name is taken.
    #[error("`{path}` has an upstream `{name}` already")]
    Exists {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// There is no such upstream in the file.
    #[error("`{path}` has no upstream `{name}`")]
    Absent {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// Somebody else changed the file at the same time.
    #[error("`{path}` was changed by somebody else meanwhile")]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The file is written in a way that cannot be edited without rewriting it.
    #[error("cannot edit `{path}` in place: {reason}")]
    Unsuited {
        /// The file.
        path: PathBuf,
        /// What stands in the way.
        reason: String,
    },
}
