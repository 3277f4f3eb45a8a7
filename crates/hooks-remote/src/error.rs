//! Why a hook cannot be made from its settings.

use std::path::PathBuf;

/// Why a hook cannot be made from its settings.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is none that this kind of hook can use.
    #[error("`{0}` is not an address that starts with {1}")]
    Address(String, &'static str),
    /// The address holds a password, and is not shown.
    #[error("the address holds credentials, which do not belong there; give them in `headers`")]
    Credentials,
    /// A header's name or value is none.
    #[error("header `{0}` has a name or a value that HTTP does not know")]
    Header(String),
    /// A header that the hook writes itself.
    #[error("header `{0}` is written by mcpproxy and cannot be set")]
    ReservedHeader(String),
    /// A key for signatures is too short or not what it says it is.
    #[error("a signing key needs 24 bytes or more, and after `whsec_` it is base64")]
    SigningKey,
    /// A file for TLS cannot be read.
    #[error("cannot read `{path}`: {why}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A certificate without its key, or the other way round.
    #[error("`certificate` and `key` are given together or not at all")]
    HalfIdentity,
    /// The certificates do not make a configuration.
    #[error("cannot use the TLS settings: {0}")]
    Tls(String),
    /// TLS settings for an address without TLS.
    #[error("`tls` is set, but `{0}` does not use TLS")]
    PlainAddress(String),
    /// The protocol cannot carry what the hook is to look at.
    #[error("protocol `{protocol}` cannot carry {phase}; leave it out of `runs_on`")]
    Phase {
        /// The protocol.
        protocol: &'static str,
        /// What it cannot carry.
        phase: &'static str,
    },
    /// The protocol cannot carry batches.
    #[error("only protocol `mcpproxy` takes batches")]
    Batch,
    /// A bound of a batch is nothing at all.
    #[error("a batch holds one event or more")]
    EmptyBatch,
}
