//! What can go wrong when attacks are played. That one comes through is no error.

use std::io;
use std::path::PathBuf;

/// Why something could not be played.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No scenario has this name.
    #[error("no scenario is called `{0}`")]
    UnknownScenario(String),
    /// A scenario has no such case.
    #[error("scenario `{scenario}` has no case `{case}`")]
    UnknownCase {
        /// The scenario.
        scenario: String,
        /// The case that was asked for.
        case: String,
    },
    /// A scenario cannot be read.
    #[error("{0}")]
    Scenario(#[from] mcpproxy_config::Problems),
    /// A scenario reads well and has nothing to play.
    #[error("`{}` has nothing to play: {why}", path.display())]
    Nothing {
        /// The file.
        path: PathBuf,
        /// What is missing.
        why: &'static str,
    },
    /// A scenario reads well and makes no sense.
    #[error("case `{case}`: {why}")]
    Senseless {
        /// The case.
        case: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file cannot be read or written.
    #[error("cannot use `{}`: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The gateway did not start.
    #[error("the gateway did not start: {0}")]
    Gateway(String),
    /// The gateway did not do what its owner asked for.
    #[error("the gateway did not answer `{path}`: {why}")]
    Owner {
        /// What was asked for.
        path: String,
        /// What came instead.
        why: String,
    },
    /// The agent's hook did not do its part.
    #[error("the agent's hook: {0}")]
    Hook(String),
    /// Something of the machine failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}
