//! Why an upstream could not do what it was asked.

use mcpproxy_core::UpstreamId;

/// A failure on the upstream's side of the gateway.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No upstream has this name.
    #[error("no upstream is named `{0}`")]
    Unknown(UpstreamId),
    /// The upstream is switched off.
    #[error("upstream `{0}` is disabled")]
    Disabled(UpstreamId),
    /// The upstream is down and will be tried again.
    #[error("upstream `{name}` is down: {why}")]
    Down {
        /// Its name.
        name: UpstreamId,
        /// What was seen last.
        why: String,
    },
    /// The upstream's program cannot be started.
    #[error("cannot start `{program}`: {why}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        why: String,
    },
    /// The transport failed.
    #[error(transparent)]
    Transport(#[from] mcpproxy_mcp::Error),
    /// The transport failed while a message was under way.
    #[error("upstream `{name}` failed: {source}")]
    Failed {
        /// Its name.
        name: UpstreamId,
        /// What was seen.
        source: mcpproxy_mcp::Error,
    },
    /// The upstream answered a request of the gateway with an error.
    #[error("upstream refused `{method}`: {message}")]
    Refused {
        /// The method.
        method: &'static str,
        /// The code of the error.
        code: i64,
        /// The upstream's words.
        message: String,
        /// Whether the error names a version that the gateway speaks.
        names_version: bool,
    },
    /// The upstream speaks no version that the gateway speaks.
    #[error("upstream speaks no common protocol version")]
    NoCommonVersion,
    /// A person has to log in: there is no token, or it is not accepted any more.
    #[error("needs login: run `mcpproxy upstream login {name}` ({why})")]
    NeedsLogin {
        /// The upstream.
        name: UpstreamId,
        /// Why.
        why: String,
    },
    /// An authorization server could not be asked, or said what cannot be used.
    #[error("authorization server: {0}")]
    Authority(String),
    /// A bound was reached.
    #[error("upstream `{name}` is at its limit of {limit} {what}")]
    Full {
        /// Its name.
        name: UpstreamId,
        /// What there are too many of.
        what: &'static str,
        /// The bound.
        limit: u32,
    },
}

impl Error {
    /// Tells whether the upstream certainly did not act on the request, so that another try is
    /// safe.
    pub fn is_unsent(&self) -> bool {
        match self {
            Self::Unknown(_)
            | Self::Disabled(_)
            | Self::Down { .. }
            | Self::Start { .. }
            | Self::Full { .. }
            | Self::NeedsLogin { .. }
            | Self::Authority(_)
            | Self::NoCommonVersion => true,
            Self::Transport(source) | Self::Failed { source, .. } => {
                use mcpproxy_mcp::Error::{Unauthorized, Unreachable};
                matches!(source, Unreachable(_) | Unauthorized(_))
            }
            Self::Refused { .. } => false,
        }
    }

    /// Tells whether the upstream has forgotten the session: it did not act, and a new session
    /// may be opened (Streamable HTTP, "Session management").
    pub fn is_session_gone(&self) -> bool {
        match self {
            Self::Transport(source) | Self::Failed { source, .. } => {
                matches!(source, mcpproxy_mcp::Error::Status { status: 404, .. })
            }
            Self::Unknown(_)
            | Self::Disabled(_)
            | Self::Down { .. }
            | Self::Start { .. }
            | Self::Full { .. }
            | Self::NeedsLogin { .. }
            | Self::Authority(_)
            | Self::NoCommonVersion
            | Self::Refused { .. } => false,
        }
    }
}
