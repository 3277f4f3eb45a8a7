//! What can go wrong on a transport. Hostile input is not an error here: it is a `Refusal`.

/// A transport's failure.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A body or line is longer than the bound.
    #[error("message is larger than {limit} bytes")]
    TooLarge {
        /// The bound.
        limit: usize,
    },
    /// The deadline passed.
    #[error("timed out")]
    TimedOut,
    /// The peer went away.
    #[error("connection closed")]
    Closed,
    /// The peer could not be reached or broke off.
    #[error("{0}")]
    Transport(String),
    /// The peer answered with an HTTP status that carries no protocol message.
    #[error("upstream answered HTTP {status}")]
    Status {
        /// The status.
        status: u16,
        /// What the peer wants for authentication, if it said so.
        authenticate: Option<String>,
    },
    /// A message broke the rules of the protocol.
    #[error("{0}")]
    Refused(#[from] crate::Refusal),
    /// Bytes sealed by this gateway did not open: tampered with, expired, or of another key.
    #[error("request state is not valid here")]
    Unsealed,
}
