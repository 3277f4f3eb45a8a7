//! Where a value of the configuration came from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// Line and column of a file, both from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// A file, as a whole where there is no position.
    File {
        /// The file.
        path: PathBuf,
        /// The place in it.
        position: Option<Position>,
    },
    /// A variable of the environment.
    Environment(String),
    /// An argument on the command line.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File {
                path,
                position: None,
            } => write!(f, "{}", path.display()),
            Self::File {
                path,
                position: Some(position),
            } => {
                write!(f, "{}:{}", path.display(), position.line)
            }
            Self::Environment(name) => write!(f, "env {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// Where each value came from, by its path; what is not here is a default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(BTreeMap<String, Known>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    origin: Origin,
    secret: bool,
}

impl Origins {
    /// Returns where the value at `path` came from.
    pub fn of(&self, path: &str) -> Origin {
        self.0
            .get(path)
            .map_or(Origin::Default, |known| known.origin.clone())
    }

    /// Tells whether the value at `path` holds something read from the environment by `${VAR}`.
    pub fn is_secret(&self, path: &str) -> bool {
        self.0.get(path).is_some_and(|known| known.secret)
    }

    /// Returns every path that was given, with its origin.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Origin)> {
        self.0
            .iter()
            .map(|(path, known)| (path.as_str(), &known.origin))
    }

    pub(crate) fn insert(&mut self, path: String, origin: Origin, secret: bool) {
        self.0.insert(path, Known { origin, secret });
    }
}
