//! What a component is shown: the records of `wit/hook.wit`, borrowed from what the port has.

use bytes::Bytes;
use wasmtime::component::{ComponentType, Lower};

use mcpproxy_core::security::{
    self, HookFault, Identity, McpMessage, McpRequest, McpResponse, McpSessionInfo,
    RequestMetadata, ResponseKind, SecurityContext,
};

/// What a question is about.
#[derive(Clone, Debug)]
pub(crate) enum About {
    Request(McpRequest),
    Response(McpRequest, McpResponse),
    Message(McpMessage),
}

/// A component is asked on a thread of its own, which may outlive whoever asks.
impl From<security::Subject<'_>> for About {
    fn from(subject: security::Subject<'_>) -> Self {
        match subject {
            security::Subject::Request(asked) => Self::Request(asked.clone()),
            security::Subject::Response(asked, answered) => {
                Self::Response(asked.clone(), answered.clone())
            }
            security::Subject::Message(said) => Self::Message(said.clone()),
        }
    }
}

#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct Context<'a> {
    #[component(name = "hook-id")]
    hook_id: &'a str,
    config: &'a str,
    #[component(name = "correlation-id")]
    correlation_id: &'a str,
    session: Session<'a>,
    identity: Option<Caller<'a>>,
    received: Received<'a>,
    earlier: Vec<Pair<'a>>,
}

#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct Session<'a> {
    id: &'a str,
    #[component(name = "server-id")]
    server_id: &'a str,
    #[component(name = "server-name")]
    server_name: &'a str,
    #[component(name = "protocol-version")]
    protocol_version: &'a str,
    #[component(name = "established-at")]
    established_at: u64,
}

#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct Caller<'a> {
    #[component(name = "user-id")]
    user_id: &'a str,
    #[component(name = "agent-id")]
    agent_id: Option<&'a str>,
    roles: &'a [String],
    scopes: &'a [String],
    attributes: Vec<Pair<'a>>,
}

#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct Received<'a> {
    method: &'a str,
    path: &'a str,
    headers: Vec<Pair<'a>>,
    #[component(name = "remote-addr")]
    remote_addr: Option<&'a str>,
    at: u64,
}

#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct Pair<'a> {
    name: &'a str,
    value: &'a str,
}

#[derive(ComponentType, Lower)]
#[component(variant)]
pub(crate) enum Subject<'a> {
    #[component(name = "request")]
    Request(Request<'a>),
    #[component(name = "response")]
    Response(Exchange<'a>),
    #[component(name = "message")]
    Message(Message<'a>),
}

#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct Request<'a> {
    method: &'a str,
    name: &'a str,
    params: &'a str,
    id: Option<&'a str>,
}

#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct Exchange<'a> {
    request: Request<'a>,
    kind: Kind,
    body: &'a str,
}

#[derive(Clone, Copy, ComponentType, Lower)]
#[component(enum)]
#[repr(u8)]
pub(crate) enum Kind {
    #[component(name = "result")]
    Result,
    #[component(name = "error")]
    Error,
    #[component(name = "listing")]
    Listing,
}

#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct Message<'a> {
    #[component(name = "to-upstream")]
    to_upstream: bool,
    #[component(name = "wants-answer")]
    wants_answer: bool,
    method: &'a str,
    params: &'a str,
}

impl<'a> Context<'a> {
    pub(crate) fn new(hook_id: &'a str, config: &'a str, context: &'a SecurityContext) -> Self {
        let earlier = context.security_metadata.iter();
        Self {
            hook_id,
            config,
            correlation_id: &context.correlation_id,
            session: session(&context.session),
            identity: context.identity.as_deref().map(caller),
            received: received(&context.request_metadata),
            earlier: earlier.map(|(name, value)| Pair { name, value }).collect(),
        }
    }
}

impl<'a> Subject<'a> {
    /// Takes what is shown whole; nobody decides about half of a message.
    pub(crate) fn new(about: &'a About, limit: u64) -> Result<Self, HookFault> {
        let text = |bytes, hidden| text(bytes, hidden, limit);
        Ok(match about {
            About::Request(asked) => Self::Request(request(asked, limit)?),
            About::Response(asked, answered) => Self::Response(Exchange {
                request: request(asked, limit)?,
                kind: match answered.kind {
                    ResponseKind::Result => Kind::Result,
                    ResponseKind::Error => Kind::Error,
                    ResponseKind::Listing => Kind::Listing,
                },
                body: text(&answered.body, "null")?,
            }),
            About::Message(said) => Self::Message(Message {
                to_upstream: said.to_upstream,
                wants_answer: said.wants_answer,
                method: &said.method,
                params: text(&said.params, "{}")?,
            }),
        })
    }
}

fn request(asked: &McpRequest, limit: u64) -> Result<Request<'_>, HookFault> {
    Ok(Request {
        method: &asked.method,
        name: &asked.name,
        params: text(&asked.params, "{}", limit)?,
        id: asked.id.as_deref(),
    })
}

fn text<'a>(bytes: &'a Bytes, hidden: &'a str, limit: u64) -> Result<&'a str, HookFault> {
    if bytes.is_empty() {
        return Ok(hidden);
    }
    if u64::try_from(bytes.len()).is_ok_and(|length| length > limit) {
        return Err(HookFault::TooLarge);
    }
    std::str::from_utf8(bytes)
        .map_err(|_| HookFault::Crashed("the message to show is not text".to_owned()))
}

fn session(session: &McpSessionInfo) -> Session<'_> {
    Session {
        id: &session.session_id,
        server_id: &session.server_id,
        server_name: &session.server_name,
        protocol_version: &session.protocol_version,
        established_at: session.established_at.0,
    }
}

fn caller(identity: &Identity) -> Caller<'_> {
    Caller {
        user_id: &identity.user_id,
        agent_id: identity.agent_id.as_deref(),
        roles: &identity.roles,
        scopes: &identity.scopes,
        attributes: pairs(&identity.attributes),
    }
}

fn received(metadata: &RequestMetadata) -> Received<'_> {
    Received {
        method: &metadata.method,
        path: &metadata.path,
        headers: pairs(&metadata.headers),
        remote_addr: metadata.remote_addr.as_deref(),
        at: metadata.timestamp.0,
    }
}

fn pairs(pairs: &[(String, String)]) -> Vec<Pair<'_>> {
    let pairs = pairs.iter();
    pairs.map(|(name, value)| Pair { name, value }).collect()
}
