//! Why a component cannot be put to use.

use std::path::PathBuf;

/// Why a component cannot be put to use.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read `{path}`: {why}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The file is larger than any hook.
    #[error("`{path}` is larger than {limit} bytes")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        limit: u64,
    },
    /// The file is not the one that the configuration pins.
    #[error("`{path}` has the SHA-256 digest {found}, not the one that `sha256` says")]
    Digest {
        /// The file.
        path: PathBuf,
        /// The digest that it has.
        found: String,
    },
    /// The pinned digest is none.
    #[error("`{0}` is not a SHA-256 digest of 64 hexadecimal digits")]
    Pin(String),
    /// The file is no component.
    #[error("`{path}` cannot be used as a WebAssembly component: {why}")]
    Component {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The component wants something from outside, or more memories and tables than it may have.
    #[error("`{path}` wants what no hook is given: {why}")]
    Import {
        /// The file.
        path: PathBuf,
        /// What it wants.
        why: String,
    },
    /// The component is not of the published world.
    #[error("`{path}` does not export `{name}` as the world `mcpproxy:hook` has it")]
    Export {
        /// The file.
        path: PathBuf,
        /// The function.
        name: &'static str,
    },
    /// The component refuses its configuration.
    #[error("the component refuses its `settings`: {0}")]
    Refused(String),
    /// The component failed when it was shown its configuration.
    #[error("the component failed when it was shown its `settings`: {0}")]
    Failed(String),
    /// A bound is none.
    #[error("`{name}` has to be from {least} to {most}")]
    Bound {
        /// The setting.
        name: &'static str,
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// The sandbox cannot be set up on this machine.
    #[error("cannot set up the sandbox: {0}")]
    Sandbox(String),
}
