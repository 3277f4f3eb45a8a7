//! Failures of the gateway: each has a stable code, says whose fault it is, and carries one
//! message for outside and one for inside. Only the outside one leaves the process.

use bytes::Bytes;
use mcpproxy_core::{Cause, SinkFault, ToolName, ToolRef, Unanswered, UpstreamId};
use mcpproxy_mcp::{Refusal, compose, era};
use serde_json::{Value, json};

/// The name of the failure to find an upstream.
pub(crate) const UNKNOWN_UPSTREAM: &str = "unknown_upstream";

/// The name of the failure to call an upstream that is switched off.
pub(crate) const DISABLED: &str = "upstream_disabled";

/// The name of the failure to find a tool.
pub(crate) const UNKNOWN_TOOL: &str = "unknown_tool";

/// Whose fault a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The caller's.
    Downstream,
    /// The upstream's.
    Upstream,
    /// Ours.
    Gateway,
}

/// A failure to answer a request.
#[derive(Debug, thiserror::Error)]
#[error("{outside}")]
pub struct Failure {
    /// The JSON-RPC code.
    pub code: i64,
    /// A stable name.
    pub name: &'static str,
    /// Whose fault it is.
    pub fault: Fault,
    /// Whether the same request may be sent again without doing something twice.
    pub retry: bool,
    /// What the caller is told.
    pub outside: String,
    /// What only the log is told.
    pub inside: Option<String>,
    /// More for the caller, where the protocol has it; boxed, since few failures have any.
    pub data: Option<Box<Value>>,
    /// What the scope of the caller's token left out, where that is why: it is put on record.
    pub out_of_scope: Option<Box<ToolRef>>,
}

impl Failure {
    /// The caller asked for something that is not there or not right.
    pub fn downstream(code: i64, name: &'static str, outside: impl Into<String>) -> Self {
        Self {
            code,
            name,
            fault: Fault::Downstream,
            retry: false,
            outside: outside.into(),
            inside: None,
            data: None,
            out_of_scope: None,
        }
    }

    /// The scope of the caller's token leaves something out.
    pub fn out_of_scope(upstream: &UpstreamId, outside: &str) -> Self {
        let what = ToolRef {
            upstream: upstream.clone(),
            tool: ToolName::new(""),
        };
        Self {
            out_of_scope: Some(Box::new(what)),
            ..Self::downstream(era::DENIED, "denied", outside)
        }
    }

    /// No such method here.
    pub fn method(method: &str) -> Self {
        let outside = format!("method `{method}` is not available here");
        Self::downstream(era::METHOD_NOT_FOUND, "method_not_found", outside)
    }

    /// Parameters are missing or wrong.
    pub fn params(outside: impl Into<String>) -> Self {
        Self::downstream(era::INVALID_PARAMS, "invalid_params", outside)
    }

    /// There is no such tool.
    pub fn unknown_tool(name: &str) -> Self {
        let outside = format!("unknown tool `{name}`");
        Self::downstream(era::INVALID_PARAMS, UNKNOWN_TOOL, outside)
    }

    /// The gateway has too much to do.
    pub fn overloaded() -> Self {
        Self::too_many("calls in flight")
    }

    /// The gateway has as many of something as it takes.
    pub fn too_many(what: &str) -> Self {
        let outside = format!("the gateway has too many {what}; try again later");
        Self {
            fault: Fault::Gateway,
            retry: true,
            ..Self::downstream(era::OVERLOADED, "overloaded", outside)
        }
    }

    /// Something of ours failed.
    pub fn internal(inside: impl Into<String>) -> Self {
        Self {
            fault: Fault::Gateway,
            inside: Some(inside.into()),
            ..Self::downstream(era::INTERNAL_ERROR, "internal", "internal error")
        }
    }

    /// What happened could not be put on record, so that it is not let through.
    pub fn unrecorded(fault: &SinkFault) -> Self {
        let outside = match fault {
            // The words of the system may name files.
            SinkFault::Broken(_) => "the activity log cannot be written".to_owned(),
            SinkFault::Unreceipted(_) => "receipts cannot be written".to_owned(),
            SinkFault::Full | SinkFault::Late => fault.to_string(),
        };
        Self {
            fault: Fault::Gateway,
            inside: Some(fault.to_string()),
            ..Self::downstream(era::INTERNAL_ERROR, "unrecorded", outside)
        }
    }

    /// The session ended before the request could be sent.
    pub fn session_ended() -> Self {
        Self::downstream(
            era::INVALID_REQUEST,
            "session_ended",
            "the session has ended",
        )
    }

    /// The deadline passed.
    pub fn timed_out() -> Self {
        Self {
            fault: Fault::Upstream,
            ..Self::downstream(
                era::TIMED_OUT,
                "timed_out",
                "the deadline passed before an answer came",
            )
        }
    }

    /// Says why no answer came back, as records have it.
    pub fn unanswered(&self) -> Unanswered<'_> {
        let cause = match (self.name, self.fault) {
            ("timed_out", _) => Cause::TimedOut,
            ("cancelled", _) => Cause::Cancelled,
            (_, Fault::Upstream) => Cause::Failed,
            (_, Fault::Downstream | Fault::Gateway) => Cause::Stopped,
        };
        let words = &self.outside;
        Unanswered { cause, words }
    }

    /// Composes the answer to the request with this id.
    pub fn answer(&self, id: Option<&str>) -> Bytes {
        let mut data = self.data.as_deref().cloned().unwrap_or_else(|| json!({}));
        if let Some(data) = data.as_object_mut()
            && self.data.is_none()
        {
            data.insert("error".into(), self.name.into());
            data.insert("retry".into(), self.retry.into());
        }
        compose::error(id, self.code, &self.outside, Some(&data))
    }
}

impl From<mcpproxy_upstream::Error> for Failure {
    fn from(error: mcpproxy_upstream::Error) -> Self {
        use mcpproxy_upstream::Error as Upstream;
        let retry = error.is_unsent() || error.is_session_gone();
        let (code, name) = match &error {
            Upstream::Unknown(_) => (era::INVALID_PARAMS, UNKNOWN_UPSTREAM),
            Upstream::Disabled(_) => (era::UPSTREAM_FAILED, DISABLED),
            Upstream::Down { .. } | Upstream::Start { .. } => {
                (era::UPSTREAM_FAILED, "upstream_down")
            }
            Upstream::Full { .. } => (era::OVERLOADED, "upstream_full"),
            Upstream::Transport(mcpproxy_mcp::Error::TimedOut)
            | Upstream::Failed {
                source: mcpproxy_mcp::Error::TimedOut,
                ..
            } => (era::TIMED_OUT, "timed_out"),
            _ if error.is_session_gone() => (era::UPSTREAM_FAILED, "session_gone"),
            Upstream::Transport(_)
            | Upstream::Failed { .. }
            | Upstream::Refused { .. }
            | Upstream::NeedsLogin { .. }
            | Upstream::Authority(_)
            | Upstream::NoCommonVersion => (era::UPSTREAM_FAILED, "upstream_failed"),
        };
        let outside = error.to_string();
        Self {
            fault: Fault::Upstream,
            retry,
            ..Self::downstream(code, name, outside)
        }
    }
}

impl From<mcpproxy_mcp::Error> for Failure {
    fn from(error: mcpproxy_mcp::Error) -> Self {
        mcpproxy_upstream::Error::from(error).into()
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::downstream(refusal.code, "refused", refusal.message)
    }
}

/// A failure to start or to run the gateway.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be listened on.
    #[error("cannot listen on `{address}`: {source}")]
    Listen {
        /// The address.
        address: String,
        /// Why.
        source: std::io::Error,
    },
    /// The address is open to others and nothing asks them who they are.
    #[error("refusing to listen on `{address}` without authentication")]
    Unprotected {
        /// The address.
        address: String,
    },
    /// Another gateway has the data folder.
    #[error("cannot use `{}`: another mcpproxy is running with this data folder", path.display())]
    Runs {
        /// The socket that answers.
        path: std::path::PathBuf,
    },
    /// A file of the data folder cannot be read or written.
    #[error("cannot use `{}`: {source}", path.display())]
    DataFile {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file that TLS on the listener needs cannot be used.
    #[error("cannot use `{}` for `tls`: {why}", path.display())]
    Tls {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        why: String,
    },
    /// The operating system gave no random bytes.
    #[error("no random bytes: {0}")]
    Random(String),
    /// The configuration does not fit together.
    #[error("{0}")]
    Settings(String),
}
