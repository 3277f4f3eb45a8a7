//! The body of a question, version 1: what a webhook is sent. `docs/webhook.md` explains it and
//! `webhook.schema.json` is made from these types.

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use mcpproxy_core::Wall;
use mcpproxy_core::security::{
    HookFault, Identity, McpRequest, McpResponse, McpSessionInfo, RequestMetadata, ResponseKind,
    SecurityContext, Subject,
};

use super::kept::Key;
use crate::subject::{Phase, Shown};

/// The version of the body. It changes when a reader of the old one would go wrong.
pub(super) const VERSION: &str = "1";

/// What a webhook is asked.
#[derive(Serialize, JsonSchema)]
pub(super) struct Question<'a> {
    /// Version of this body: `1`.
    version: &'static str,
    /// Id of the hook in the configuration.
    hook_id: &'a str,
    /// What is looked at.
    phase: Phase,
    /// Ties together all records of one call.
    correlation_id: &'a str,
    /// When the question was sent, RFC 3339 in UTC.
    sent_at: String,
    /// Milliseconds within which the answer is of use.
    timeout_ms: u64,
    /// The conversation.
    session: Session<'a>,
    /// The verified caller; absent where the hook may not know or there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<Caller<'a>>,
    /// How the request came in.
    received: Received<'a>,
    /// What hooks before this one left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<Earlier<'a>>,
    /// The request; in phase `response` and `listing` the one that was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Request<'a>>,
    /// What came back, in phase `response` and `listing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<Response<'a>>,
    /// The message, in phase `notification` and `reverse`.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message<'a>>,
}

/// The conversation.
#[derive(Serialize, JsonSchema)]
struct Session<'a> {
    /// Names the session; it is no credential.
    id: &'a str,
    /// The upstream's name in the configuration.
    server_id: &'a str,
    /// What the upstream calls itself.
    server_name: &'a str,
    /// Version of MCP.
    protocol_version: &'a str,
    /// When it began, RFC 3339 in UTC.
    established_at: String,
}

/// The verified caller.
#[derive(Serialize, JsonSchema)]
struct Caller<'a> {
    /// The principal.
    user_id: &'a str,
    /// The agent, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a str>,
    /// Roles.
    roles: &'a [String],
    /// Scopes.
    scopes: &'a [String],
    /// What else was verified.
    attributes: Vec<Pair<'a>>,
}

/// How a request came in.
#[derive(Serialize, JsonSchema)]
struct Received<'a> {
    /// Method of MCP.
    method: &'a str,
    /// Path of the door.
    path: &'a str,
    /// Headers without credentials, names in lower case.
    headers: Vec<Pair<'a>>,
    /// Address of whoever connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    remote_addr: Option<&'a str>,
    /// When it was received, RFC 3339 in UTC.
    at: String,
}

/// A name and its value.
#[derive(Serialize, JsonSchema)]
struct Pair<'a> {
    /// The name.
    name: &'a str,
    /// The value.
    value: &'a str,
}

/// What one hook left for those behind it.
#[derive(Serialize, JsonSchema)]
struct Earlier<'a> {
    /// The hook.
    hook_id: &'a str,
    /// What it left.
    #[schemars(with = "serde_json::Value")]
    metadata: &'a RawValue,
}

/// A request.
#[derive(Serialize, JsonSchema)]
struct Request<'a> {
    /// Method of MCP.
    method: &'a str,
    /// The tool, prompt or resource; empty where there is none.
    name: &'a str,
    /// Parameters, byte for byte as they would leave; `{}` where the hook may not see them.
    #[schemars(with = "serde_json::Value")]
    params: &'a RawValue,
    /// The id; absent for notifications.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    id: Option<&'a RawValue>,
}

/// What came back.
#[derive(Serialize, JsonSchema)]
struct Response<'a> {
    /// `result`, `error` or `listing`.
    #[schemars(with = "Kind")]
    kind: ResponseKind,
    /// The result or error, byte for byte as it came; `null` where the hook may not see it.
    #[schemars(with = "serde_json::Value")]
    body: &'a RawValue,
}

/// Kinds of an answer, for the schema.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(
    dead_code,
    reason = "describes `ResponseKind` in the schema and is never made"
)]
enum Kind {
    Result,
    Error,
    Listing,
}

/// A message that answers nothing.
#[derive(Serialize, JsonSchema)]
struct Message<'a> {
    /// Whether it goes to the upstream; otherwise it comes from there.
    to_upstream: bool,
    /// Whether an answer is expected.
    wants_answer: bool,
    /// Method of MCP.
    method: &'a str,
    /// Parameters, byte for byte.
    #[schemars(with = "serde_json::Value")]
    params: &'a RawValue,
}

/// What an answer depends on: all of a question that is not of this one call alone.
#[derive(Serialize)]
struct Matter<'a> {
    phase: Phase,
    session: &'a Session<'a>,
    identity: Option<&'a Caller<'a>>,
    received: (&'a str, &'a str, &'a [Pair<'a>], Option<&'a str>),
    earlier: &'a [Earlier<'a>],
    request: Option<(&'a str, &'a str, &'a RawValue)>,
    response: Option<&'a Response<'a>>,
    message: Option<&'a Message<'a>>,
}

impl<'a> Question<'a> {
    /// Makes the question about a message.
    pub(super) fn of(
        hook_id: &'a str,
        sent_at: Wall,
        context: &'a SecurityContext,
        subject: Subject<'a>,
        shown: Shown,
    ) -> Result<Self, HookFault> {
        let mut question = Self {
            version: VERSION,
            hook_id,
            phase: subject.into(),
            correlation_id: &context.correlation_id,
            sent_at: sent_at.rfc3339(),
            timeout_ms: u64::try_from(context.timeout.as_millis()).unwrap_or(u64::MAX),
            session: session(&context.session),
            identity: context.identity.as_deref().map(caller),
            received: received(&context.request_metadata),
            earlier: earlier(&context.security_metadata),
            request: None,
            response: None,
            message: None,
        };
        match subject {
            Subject::Request(asked) => question.request = Some(request(asked, shown)?),
            Subject::Response(asked, answered) => {
                question.request = Some(request(asked, shown)?);
                question.response = Some(response(answered, shown)?);
            }
            Subject::Message(said) => {
                question.message = Some(Message {
                    to_upstream: said.to_upstream,
                    wants_answer: said.wants_answer,
                    method: &said.method,
                    params: raw(shown.request(&said.params)?, "{}")?,
                });
            }
        }
        Ok(question)
    }

    /// Writes the question as it is sent.
    pub(super) fn write(&self) -> Result<Bytes, HookFault> {
        written(self).map(Bytes::from)
    }

    /// Returns what the same question has, whenever it is asked.
    pub(super) fn key(&self) -> Result<Key, HookFault> {
        let received = &self.received;
        let matter = Matter {
            phase: self.phase,
            session: &self.session,
            identity: self.identity.as_ref(),
            received: (
                received.method,
                received.path,
                &received.headers,
                received.remote_addr,
            ),
            earlier: &self.earlier,
            request: self
                .request
                .as_ref()
                .map(|request| (request.method, request.name, request.params)),
            response: self.response.as_ref(),
            message: self.message.as_ref(),
        };
        Ok(Sha256::digest(written(&matter)?).into())
    }
}

fn written(what: &impl Serialize) -> Result<Vec<u8>, HookFault> {
    serde_json::to_vec(what).map_err(|why| HookFault::Crashed(why.to_string()))
}

fn request(request: &McpRequest, shown: Shown) -> Result<Request<'_>, HookFault> {
    let id = request.id.as_deref().map(serde_json::from_str);
    Ok(Request {
        method: &request.method,
        name: &request.name,
        params: raw(shown.request(&request.params)?, "{}")?,
        id: id.transpose().map_err(|_| unfit())?,
    })
}

fn response(response: &McpResponse, shown: Shown) -> Result<Response<'_>, HookFault> {
    Ok(Response {
        kind: response.kind,
        body: raw(shown.response(&response.body)?, "null")?,
    })
}

/// Takes JSON text as it is, once it is known to be JSON.
fn raw<'a>(text: Option<&'a Bytes>, hidden: &'a str) -> Result<&'a RawValue, HookFault> {
    let text = text.map_or(hidden.as_bytes(), |text| text);
    serde_json::from_slice(text).map_err(|_| unfit())
}

fn unfit() -> HookFault {
    HookFault::Crashed("the message to show is not JSON".to_owned())
}

fn session(session: &McpSessionInfo) -> Session<'_> {
    Session {
        id: &session.session_id,
        server_id: &session.server_id,
        server_name: &session.server_name,
        protocol_version: &session.protocol_version,
        established_at: session.established_at.rfc3339(),
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
        at: metadata.timestamp.rfc3339(),
    }
}

fn pairs(pairs: &[(String, String)]) -> Vec<Pair<'_>> {
    let pairs = pairs.iter();
    pairs.map(|(name, value)| Pair { name, value }).collect()
}

/// Leaves out what is not JSON, which no hook of ours writes.
fn earlier(left: &[(Box<str>, Box<str>)]) -> Vec<Earlier<'_>> {
    let left = left.iter().filter_map(|(hook_id, text)| {
        let metadata = serde_json::from_str(text).ok()?;
        Some(Earlier { hook_id, metadata })
    });
    left.collect()
}
