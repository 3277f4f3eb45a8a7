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
    /// The peer could not be reached, so that nothing was sent to it.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// The peer broke off.
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
    /// The peer accepts no credential that we have, so that it did not act.
    #[error("{0}")]
    Unauthorized(String),
    /// A message broke the rules of the protocol.
    #[error("{0}")]
    Refused(#[from] crate::Refusal),
    /// Bytes sealed by this gateway did not open: tampered with, expired, or of another key.
    #[error("request state is not valid here")]
    Unsealed,
}

impl Error {
    /// Tells whether the peer was not there or not there for long enough, whatever it was asked.
    pub fn is_outage(&self) -> bool {
        matches!(
            self,
            Self::TimedOut | Self::Closed | Self::Unreachable(_) | Self::Transport(_)
        )
    }
}
