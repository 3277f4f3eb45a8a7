//! What one hook is shown of a message: what its declaration names, with secrets masked unless it
//! may see them, and nothing else.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{McpSessionInfo, RequestMetadata, SecurityContext, Sight};

use crate::question::{Around, Mask, Subject};

/// A message on its way through the chain, with its masked form once somebody needs it.
pub(crate) struct Shown<'a> {
    exact: Subject,
    masked: Option<Subject>,
    mask: Mask<'a>,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(subject: Subject, mask: Mask<'a>) -> Self {
        Self {
            exact: subject,
            masked: None,
            mask,
        }
    }

    /// Returns the message as it is.
    pub(crate) fn exact(&self) -> &Subject {
        &self.exact
    }

    /// Puts another body in place of the message's own.
    pub(crate) fn replace(&mut self, body: Bytes) {
        self.masked = None;
        *body_of(&mut self.exact) = body;
    }

    /// Returns what a hook is shown; nothing where it may not see secrets and nobody can tell
    /// whether there are any.
    pub(crate) fn to(&mut self, sight: Sight) -> Option<Subject> {
        if !sight.secrets && self.masked.is_none() {
            self.masked = masked(&self.exact, self.mask);
        }
        let mut seen = if sight.secrets {
            self.exact.clone()
        } else {
            self.masked.clone()?
        };
        let nothing = || Bytes::from_static(b"{}");
        match &mut seen {
            Subject::Request(request) if !sight.arguments => request.params = nothing(),
            Subject::Message(message) if !sight.arguments => message.params = nothing(),
            Subject::Response(request, response) => {
                if !sight.arguments {
                    request.params = nothing();
                }
                if !sight.results {
                    response.body = nothing();
                }
            }
            Subject::Request(_) | Subject::Message(_) => {}
        }
        Some(seen)
    }
}

/// The body that hooks may change.
fn body_of(subject: &mut Subject) -> &mut Bytes {
    match subject {
        Subject::Request(request) => &mut request.params,
        Subject::Response(_, response) => &mut response.body,
        Subject::Message(message) => &mut message.params,
    }
}

fn masked(subject: &Subject, mask: Mask<'_>) -> Option<Subject> {
    let mut subject = subject.clone();
    match &mut subject {
        Subject::Request(request) => request.params = mask(&request.params)?,
        Subject::Response(request, response) => {
            request.params = mask(&request.params)?;
            response.body = mask(&response.body)?;
        }
        Subject::Message(message) => message.params = mask(&message.params)?,
    }
    Some(subject)
}

/// Returns what a hook is told about what surrounds a message.
pub(crate) fn context(
    around: &Around,
    sight: Sight,
    metadata: &[(Box<str>, Box<str>)],
    timeout: Duration,
) -> SecurityContext {
    let request = &around.request;
    let bare = !sight.headers && !request.headers.is_empty();
    let unnamed = !sight.identity && request.remote_addr.is_some();
    let request_metadata = if bare || unnamed {
        Arc::new(RequestMetadata {
            headers: if sight.headers {
                request.headers.clone()
            } else {
                Vec::new()
            },
            remote_addr: request.remote_addr.clone().filter(|_| sight.identity),
            ..(**request).clone()
        })
    } else {
        Arc::clone(request)
    };
    let session = if sight.identity {
        Arc::clone(&around.session)
    } else {
        Arc::new(McpSessionInfo {
            session_id: String::new(),
            ..(*around.session).clone()
        })
    };
    SecurityContext {
        correlation_id: Arc::clone(&around.correlation_id),
        session,
        identity: around.identity.clone().filter(|_| sight.identity),
        request_metadata,
        security_metadata: around.earlier.iter().chain(metadata).cloned().collect(),
        timeout,
    }
}
