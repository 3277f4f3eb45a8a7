//! What a plan decided by itself, in a form that can be shown.

use std::fmt;
use std::path::PathBuf;

use crate::agent::AgentKind;
use crate::places::Scope;
use crate::shown;

/// An entry in an agent's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Whose entry it was.
    pub agent: AgentKind,
    /// In which file.
    pub path: PathBuf,
    /// Whom that file speaks for. A project's file may come from strangers.
    pub scope: Scope,
    /// Under which name.
    pub name: String,
}

/// Something the plan decided that the user did not ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Its name is not valid here.
    Sanitized {
        /// The entry.
        origin: Origin,
        /// The new name.
        name: String,
    },
    /// A different upstream had its name.
    Renamed {
        /// The entry.
        origin: Origin,
        /// The new name.
        name: String,
    },
    /// An entry called `mcpproxy` led elsewhere and is pointed at the endpoint.
    Retargeted {
        /// The entry.
        origin: Origin,
    },
    /// The file stays as it is, with all its entries.
    Refused {
        /// Whose file it is.
        agent: AgentKind,
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = |origin: &Origin| format!("`{}` of {}", origin.name, origin.agent);
        let text = match self {
            Self::Sanitized { origin, name } => {
                format!(
                    "{} is called `{name}`, since its name is not valid here",
                    entry(origin)
                )
            }
            Self::Renamed { origin, name } => {
                let reason = "since a different upstream has its name";
                format!("{} is called `{name}`, {reason}", entry(origin))
            }
            Self::Retargeted { origin } => {
                format!("{} led elsewhere and is replaced", entry(origin))
            }
            Self::Refused {
                agent,
                path,
                reason,
            } => {
                format!("`{}` of {agent} stays as it is: {reason}", path.display())
            }
        };
        f.write_str(&shown::printable(&text))
    }
}
