//! An upstream as an agent had it configured, in mcpproxy's terms.
//!
//! Values may hold secrets, so that `Debug` is written by hand. Reading one from an agent's entry
//! is in `entry.rs`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::secrets;
use crate::tree::KeyPath;

/// An upstream found in an agent's configuration.
///
/// References to environment variables are in mcpproxy's form, `${NAME}` or `${NAME:-default}`,
/// whatever the agent's own form was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The name; after planning it is valid and unique.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// Whether the agent used it.
    pub enabled: bool,
    /// Keys of the entry that mean something to the agent only, by name.
    pub ignored: Vec<String>,
    /// Environment variables the values refer to; mcpproxy needs them where it runs.
    pub variables: Vec<String>,
    /// Where the entry stands in its file.
    pub(crate) at: KeyPath,
}

/// How an upstream is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A child process.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables added to its environment.
        env: BTreeMap<String, String>,
        /// The folder it starts in.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// Headers sent with each request.
        headers: BTreeMap<String, String>,
    },
    /// HTTP with server-sent events, as before 2025-03-26.
    Sse {
        /// The address.
        url: String,
        /// Headers sent with each request.
        headers: BTreeMap<String, String>,
    },
}

impl Transport {
    /// Says whether two entries are one upstream. A folder on one side only does not tell them
    /// apart: it was inferred from the project, and the other works without.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (self.without_cwd(), other.without_cwd()) {
            ((left, Some(mine)), (right, Some(theirs))) => left == right && mine == theirs,
            ((left, _), (right, _)) => left == right,
        }
    }

    fn without_cwd(&self) -> (Self, Option<PathBuf>) {
        let mut copy = self.clone();
        let cwd = match &mut copy {
            Self::Stdio { cwd, .. } => cwd.take(),
            Self::Http { .. } | Self::Sse { .. } => None,
        };
        (copy, cwd)
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &BTreeMap<String, String>| pairs.keys().cloned().collect::<Vec<_>>();
        match self {
            Self::Stdio {
                command,
                args,
                env,
                cwd,
            } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", &secrets::mask_args(args))
                .field("env", &names(env))
                .field("cwd", cwd)
                .finish(),
            Self::Http { url, headers } => f
                .debug_struct("Http")
                .field("url", &secrets::mask_url(url))
                .field("headers", &names(headers))
                .finish(),
            Self::Sse { url, headers } => f
                .debug_struct("Sse")
                .field("url", &secrets::mask_url(url))
                .field("headers", &names(headers))
                .finish(),
        }
    }
}
