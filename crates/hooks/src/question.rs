//! What a hook is asked: a message of one of five kinds, and what surrounds it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{
    HookFault, Identity, Later, McpMessage, McpRequest, McpResponse, McpSessionInfo, Phases,
    RequestMetadata, ResponseKind, SecurityContext, SecurityDecision, SecurityHook,
};

/// Replaces secrets and personal data in JSON text by what may be shown of them; nothing where it
/// cannot be told what they are.
pub type Mask<'a> = &'a (dyn Fn(&Bytes) -> Option<Bytes> + Send + Sync);

/// What kind of message hooks are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// A request before it leaves.
    Request,
    /// A result or error before the caller sees it.
    Response,
    /// A listing, or an upstream's instructions.
    Listing,
    /// A notification.
    Notification,
    /// A request that an upstream makes of the agent.
    Reverse,
}

impl Phase {
    /// Tells whether hooks with these phases are asked in this one.
    pub(crate) const fn is_of(self, phases: Phases) -> bool {
        match self {
            Self::Request => phases.request,
            Self::Response => phases.response,
            Self::Listing => phases.listing,
            Self::Notification => phases.notification,
            Self::Reverse => phases.reverse,
        }
    }
}

/// The message that hooks are asked about.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A request.
    Request(McpRequest),
    /// What came back for one.
    Response(McpRequest, McpResponse),
    /// A message that answers nothing.
    Message(McpMessage),
}

impl Subject {
    /// Returns in which phase hooks are asked about it.
    pub fn phase(&self) -> Phase {
        match self {
            Self::Request(_) => Phase::Request,
            Self::Response(_, response) => match response.kind {
                ResponseKind::Listing => Phase::Listing,
                ResponseKind::Result | ResponseKind::Error => Phase::Response,
            },
            Self::Message(message) if message.wants_answer => Phase::Reverse,
            Self::Message(_) => Phase::Notification,
        }
    }

    /// Returns how large it is.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Request(request) => request.params.len(),
            Self::Response(request, response) => request.params.len() + response.body.len(),
            Self::Message(message) => message.params.len(),
        }
    }
}

/// What surrounds a message, before it is known which hook is asked.
#[derive(Clone, Debug)]
pub struct Around {
    /// The id that ties together everything about one call.
    pub correlation_id: Arc<str>,
    /// The conversation.
    pub session: Arc<McpSessionInfo>,
    /// The verified caller.
    pub identity: Option<Arc<Identity>>,
    /// How the request came in.
    pub request: Arc<RequestMetadata>,
    /// What hooks left about the same call earlier, as pairs of a hook's id and JSON text.
    pub earlier: Vec<(Box<str>, Box<str>)>,
    /// How long the caller still waits.
    pub left: Duration,
}

/// One question to one hook.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) context: SecurityContext,
    pub(crate) subject: Subject,
}

impl Question {
    /// Asks the hook.
    pub(crate) fn put_to<'a>(
        &'a self,
        hook: &'a dyn SecurityHook,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        match &self.subject {
            Subject::Request(request) => hook.inspect_request(&self.context, request),
            Subject::Response(request, response) => {
                hook.inspect_response(&self.context, request, response)
            }
            Subject::Message(message) => hook.inspect_message(&self.context, message),
        }
    }
}
