//! What a question is about, and how much of it is shown. Common to all wires.

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use mcpproxy_core::security::{HookFault, ResponseKind, Subject};

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Phase {
    /// A request before it leaves.
    Request,
    /// A result or an error before the caller sees it.
    Response,
    /// A list of tools, prompts, resources or templates, or an upstream's instructions.
    Listing,
    /// A notification, either way.
    Notification,
    /// A request that the upstream makes of the agent.
    Reverse,
}

impl From<Subject<'_>> for Phase {
    fn from(subject: Subject<'_>) -> Self {
        match subject {
            Subject::Request(_) => Self::Request,
            Subject::Response(_, response) => match response.kind {
                ResponseKind::Result | ResponseKind::Error => Self::Response,
                ResponseKind::Listing => Self::Listing,
            },
            Subject::Message(message) if message.wants_answer => Self::Reverse,
            Subject::Message(_) => Self::Notification,
        }
    }
}

/// What of a message is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    pub(crate) requests: bool,
    pub(crate) responses: bool,
    pub(crate) limit: usize,
}

impl Shown {
    /// Returns the parameters where they are shown and are there.
    pub(crate) fn request<'a>(&self, params: &'a Bytes) -> Result<Option<&'a Bytes>, HookFault> {
        self.part(self.requests, params)
    }

    /// Returns the result or error where it is shown and is there.
    pub(crate) fn response<'a>(&self, body: &'a Bytes) -> Result<Option<&'a Bytes>, HookFault> {
        self.part(self.responses, body)
    }

    /// A part is shown whole or is too large: nobody decides about half of a message.
    fn part<'a>(&self, shown: bool, part: &'a Bytes) -> Result<Option<&'a Bytes>, HookFault> {
        if !shown || part.is_empty() {
            return Ok(None);
        }
        if part.len() > self.limit {
            return Err(HookFault::TooLarge);
        }
        Ok(Some(part))
    }
}
