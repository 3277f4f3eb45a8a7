//! What one hook is shown of a message: what its declaration names, with secrets masked unless it
//! may see them, and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{McpRequest, McpSessionInfo, RequestMetadata, SecurityContext, Sight};

use crate::question::{Around, Mask, Subject};

/// A message on its way through the chain, with its masked form once somebody needs it.
pub(crate) struct Shown<'a> {
    exact: Subject,
    masked: Option<Subject>,
    headers: Option<Vec<(String, String)>>,
    mask: Mask<'a>,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(subject: Subject, mask: Mask<'a>) -> Self {
        Self {
            exact: subject,
            masked: None,
            headers: None,
            mask,
        }
    }

    /// Returns the headers that a hook is shown: those that hold a secret without it, unless it may
    /// see secrets, and none where nobody can tell.
    pub(crate) fn headers(&mut self, around: &Around, sight: Sight) -> Vec<(String, String)> {
        let exact = &around.request.headers;
        match (sight.headers, sight.secrets) {
            (false, _) => Vec::new(),
            (true, true) => exact.clone(),
            (true, false) => {
                let masked = || headers(exact, self.mask).unwrap_or_default();
                self.headers.get_or_insert_with(masked).clone()
            }
        }
    }

    /// Returns the message as it is.
    pub(crate) fn exact(&self) -> &Subject {
        &self.exact
    }

    /// Returns the message's body as it is, and as a hook was shown it; nothing in place of the second
    /// where it was shown nothing of it.
    pub(crate) fn bodies(&self, sight: Sight) -> (&Bytes, Option<&Bytes>) {
        let exact = body_in(&self.exact);
        let sees = match &self.exact {
            Subject::Request(_) | Subject::Message(_) => sight.arguments,
            Subject::Response(..) => sight.results,
        };
        let shown = match &self.masked {
            Some(masked) if !sight.secrets => body_in(masked),
            _ => exact,
        };
        (exact, Some(shown).filter(|_| sees))
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
            Subject::Request(request) if !sight.arguments => bare(request),
            Subject::Message(message) if !sight.arguments => message.params = nothing(),
            Subject::Response(request, response) => {
                if !sight.arguments {
                    bare(request);
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

fn body_in(subject: &Subject) -> &Bytes {
    match subject {
        Subject::Request(request) => &request.params,
        Subject::Response(_, response) => &response.body,
        Subject::Message(message) => &message.params,
    }
}

/// Takes out of a request what it says: its parameters, and what the address of a resource says
/// beside naming it.
fn bare(request: &mut McpRequest) {
    request.params = Bytes::from_static(b"{}");
    if let Some(at) = request
        .name
        .find(['?', '#'])
        .filter(|_| request.name.contains(':'))
    {
        request.name = request.name.get(..at).unwrap_or_default().into();
    }
}

/// Masks the address of a resource, or any other name, like every text.
fn name(name: &str, mask: Mask<'_>) -> Option<String> {
    let text = serde_json::to_vec(name).ok()?;
    serde_json::from_slice(&mask(&text.into())?).ok()
}

/// Masks headers as the members of objects, so that their names count as what values are for.
fn headers(exact: &[(String, String)], mask: Mask<'_>) -> Option<Vec<(String, String)>> {
    let each = |(name, value): &(String, String)| {
        let text = serde_json::to_vec(&BTreeMap::from([(name, value)])).ok()?;
        let masked: BTreeMap<String, String> = serde_json::from_slice(&mask(&text.into())?).ok()?;
        masked.into_iter().next()
    };
    exact.iter().map(each).collect()
}

fn masked(subject: &Subject, mask: Mask<'_>) -> Option<Subject> {
    let mut subject = subject.clone();
    match &mut subject {
        Subject::Request(request) => {
            request.params = mask(&request.params)?;
            request.name = name(&request.name, mask)?.into();
        }
        Subject::Response(request, response) => {
            request.params = mask(&request.params)?;
            request.name = name(&request.name, mask)?.into();
            response.body = mask(&response.body)?;
        }
        Subject::Message(message) => message.params = mask(&message.params)?,
    }
    Some(subject)
}

/// Returns what a hook is told about what surrounds a message.
pub(crate) fn context(
    around: &Around,
    (sight, headers): (Sight, Vec<(String, String)>),
    metadata: &[(Box<str>, Box<str>)],
    timeout: Duration,
) -> SecurityContext {
    let request = &around.request;
    let bare = headers != request.headers;
    let unnamed = !sight.identity && request.remote_addr.is_some();
    let request_metadata = if bare || unnamed {
        Arc::new(RequestMetadata {
            headers,
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

#[cfg(test)]
mod tests {
    use mcpproxy_core::McpRequest;

    use super::*;

    fn mask(body: &Bytes) -> Option<Bytes> {
        let text = std::str::from_utf8(body).ok()?;
        // A value is judged by the name under which it stands, too.
        let text = text.replace("hunter2", "***");
        Some(
            text.replace(r#""x-auth-token":"opaque""#, r#""x-auth-token":"***""#)
                .into(),
        )
    }

    #[test]
    fn names_and_headers_hold_no_more_than_the_rest() {
        let request = McpRequest {
            method: "resources/read".into(),
            name: "note://x?token=hunter2".into(),
            params: Bytes::from_static(b"{}"),
            id: None,
        };
        let name = |sight: Sight| {
            let mut shown = Shown::new(Subject::Request(request.clone()), &mask);
            match shown.to(sight) {
                Some(Subject::Request(request)) => request.name.to_string(),
                _ => "nothing".to_owned(),
            }
        };
        let secrets = Sight {
            secrets: true,
            ..Sight::default()
        };
        assert_eq!(name(secrets), "note://x?token=hunter2");
        assert_eq!(name(Sight::default()), "note://x?token=***");
        for sight in [secrets, Sight::default()] {
            let bare = Sight {
                arguments: false,
                ..sight
            };
            assert_eq!(name(bare), "note://x");
        }
        let exact = [
            ("accept", "*/*"),
            ("x-note", "it is hunter2"),
            ("x-auth-token", "opaque"),
            ("accept", "text"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let masked = headers(&exact, &mask).unwrap();
        let values: Vec<&str> = masked.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["*/*", "it is ***", "***", "text"]);
        assert_eq!(headers(&exact, &|_| None), None);
    }
}
