//! Why a page cannot show what it was asked for.

use http::StatusCode;

/// A page that cannot be shown, or an act that was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// The interface refused.
    #[error("{message}")]
    Refused {
        /// Its status.
        status: StatusCode,
        /// What it said.
        message: String,
        /// What it advised.
        hint: Option<String>,
    },
    /// The interface answered something that cannot be read.
    #[error("the answer of the interface cannot be read: {0}")]
    Unreadable(String),
    /// There is no randomness to make a secret of.
    #[error("no random bytes can be had: {0}")]
    Random(String),
}

impl Error {
    /// The status that a page with this has.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Refused { status, .. } => *status,
            Self::Unreadable(_) => StatusCode::BAD_GATEWAY,
            Self::Random(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// What can be done about it.
    pub(crate) fn hint(&self) -> Option<&str> {
        match self {
            Self::Refused { hint, .. } => hint.as_deref(),
            Self::Unreadable(_) | Self::Random(_) => None,
        }
    }

    /// Tells whether the interface wants to see the key for this.
    pub(crate) fn needs_key(&self) -> bool {
        matches!(self, Self::Refused { status, .. } if *status == StatusCode::FORBIDDEN)
    }
}
