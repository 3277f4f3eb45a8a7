//! Why a payload is not understood.

/// Why a payload is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    /// It is no JSON, or no object.
    #[error("the hook's payload is not a JSON object: {reason}")]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
    /// It is larger than is looked at.
    #[error("the hook's payload has more than {limit} bytes")]
    TooLarge {
        /// The most that is looked at.
        limit: usize,
    },
    /// It nests deeper than is looked at.
    #[error("the hook's payload nests too deeply")]
    TooDeep,
    /// Readers differ on it: half a surrogate pair, a number past all bounds, a key twice.
    #[error("the hook's payload does not mean the same to every reader: {reason}")]
    Ambiguous {
        /// What is odd about it.
        reason: String,
    },
    /// What happened is something we do not take part in.
    #[error("the hook's payload speaks of `{name}`, an event that is not known here")]
    UnknownEvent {
        /// The name.
        name: String,
    },
    /// A tool is used, and when that is, nobody here knows.
    #[error("the hook's payload speaks of a tool at `{name}`, an event that is not known here")]
    UnknownUse {
        /// The name.
        name: String,
    },
    /// Something is missing without which nothing can be said.
    #[error("the hook's payload has no `{field}`")]
    Missing {
        /// What.
        field: &'static str,
    },
}

impl HookError {
    /// Says whether an agent could have been talked into sending this, so that a pre event is to
    /// be denied even where failures let calls pass.
    pub fn is_evasion(&self) -> bool {
        match self {
            Self::TooLarge { .. } | Self::TooDeep | Self::Ambiguous { .. } => true,
            Self::Malformed { .. }
            | Self::UnknownEvent { .. }
            | Self::UnknownUse { .. }
            | Self::Missing { .. } => false,
        }
    }
}
