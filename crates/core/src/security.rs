//! The port behind which security hooks stand: what a hook is shown of a message, and what it may
//! say about it.
//!
//! Deliberately absent: order, timeouts, failure modes and limits, which the registry in `hooks`
//! enforces on all hooks alike, and any transport. A hook is shown what its declaration names and
//! nothing else; whoever makes the values of this module leaves the rest empty.

mod outside;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::activity::Later;
use crate::clock::Wall;
use crate::finding::{Severity, Threat};

pub use self::outside::{HookCard, OutsideHook, Subject};

/// One security hook.
///
/// A guard of our own, a gRPC service, a webhook and a WebAssembly component are all the same to
/// the registry. Methods take `&self`: a hook serves many calls at once and is replaced as a whole
/// when the configuration changes.
pub trait SecurityHook: Send + Sync + fmt::Debug {
    /// Returns the id, unique among all hooks.
    fn id(&self) -> &str;

    /// Returns the name that people read.
    fn name(&self) -> &str;

    /// Says in one sentence what it does.
    fn description(&self) -> &str;

    /// Returns its place in the order; lower runs earlier.
    fn priority(&self) -> u32;

    /// Returns what it is to be asked about.
    fn runs_on(&self) -> Phases;

    /// Gets ready, once, before the first message. A hook that cannot says why.
    fn initialize(&self) -> Later<'_, Result<(), HookFault>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Looks at a request before it leaves.
    fn inspect_request<'a>(
        &'a self,
        context: &'a SecurityContext,
        request: &'a McpRequest,
    ) -> Later<'a, Result<SecurityDecision, HookFault>>;

    /// Looks at what came back for a request, before the caller sees it.
    fn inspect_response<'a>(
        &'a self,
        context: &'a SecurityContext,
        request: &'a McpRequest,
        response: &'a McpResponse,
    ) -> Later<'a, Result<SecurityDecision, HookFault>>;

    /// Looks at a message that answers nothing: a notification, or a request of the upstream.
    fn inspect_message<'a>(
        &'a self,
        _context: &'a SecurityContext,
        _message: &'a McpMessage,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        Box::pin(std::future::ready(Ok(SecurityDecision::Allow)))
    }

    /// Says how it is doing.
    fn health_check(&self) -> Later<'_, Result<HealthStatus, HookFault>>;
}

/// What a hook is asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a set of five phases, each on or off, as the configuration lists them"
)]
pub struct Phases {
    /// Requests before they leave.
    pub request: bool,
    /// Results and errors before the caller sees them.
    pub response: bool,
    /// Listings of tools, prompts and resources, and an upstream's instructions.
    pub listing: bool,
    /// Notifications, either way.
    pub notification: bool,
    /// Requests that an upstream makes of the agent: sampling, elicitation, roots.
    pub reverse: bool,
}

/// What a hook may see beside the message's method and target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a set of five sights, each on or off, as the configuration lists them"
)]
pub struct Sight {
    /// Arguments and other parameters of requests.
    pub arguments: bool,
    /// Results.
    pub results: bool,
    /// Who calls, and in which session.
    pub identity: bool,
    /// Headers of the downstream, without credentials.
    pub headers: bool,
    /// Secrets and personal data as they are; otherwise they are masked before the hook sees them.
    pub secrets: bool,
}

impl Default for Sight {
    fn default() -> Self {
        Self {
            arguments: true,
            results: true,
            identity: true,
            headers: true,
            secrets: false,
        }
    }
}

/// What surrounds a message.
#[derive(Clone, Debug)]
pub struct SecurityContext {
    /// The id that ties together every record, span, receipt and hook of one call.
    pub correlation_id: Arc<str>,
    /// The conversation.
    pub session: Arc<McpSessionInfo>,
    /// The verified caller, where the hook may know.
    pub identity: Option<Arc<Identity>>,
    /// How the request came in.
    pub request_metadata: Arc<RequestMetadata>,
    /// What hooks before this one left, as pairs of a hook's id and JSON text.
    pub security_metadata: Arc<[(Box<str>, Box<str>)]>,
    /// How long this hook has.
    pub timeout: Duration,
}

/// The conversation that a message belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpSessionInfo {
    /// Names the session; never the credential of one.
    pub session_id: String,
    /// The upstream.
    pub server_id: String,
    /// What the upstream calls itself.
    pub server_name: String,
    /// The protocol's version.
    pub protocol_version: String,
    /// When it began.
    pub established_at: Wall,
}

/// The verified caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The principal's name.
    pub user_id: String,
    /// The agent, where it is known.
    pub agent_id: Option<String>,
    /// Roles.
    pub roles: Vec<String>,
    /// Scopes.
    pub scopes: Vec<String>,
    /// What else was verified about it.
    pub attributes: Vec<(String, String)>,
}

/// How a request came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestMetadata {
    /// The protocol's method.
    pub method: String,
    /// The path of the door.
    pub path: String,
    /// Headers without credentials, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The address of whoever connected, where there is one.
    pub remote_addr: Option<String>,
    /// When it was received.
    pub timestamp: Wall,
}

/// A request as it would leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpRequest {
    /// The method.
    pub method: Arc<str>,
    /// The tool, prompt or resource; empty where there is none.
    pub name: Arc<str>,
    /// The parameters as JSON text, exact bytes; `{}` where the hook may not see them.
    pub params: Bytes,
    /// The id as JSON text; nothing for notifications.
    pub id: Option<Box<str>>,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpResponse {
    /// What kind of answer it is.
    pub kind: ResponseKind,
    /// The result or error as JSON text, exact bytes.
    pub body: Bytes,
}

/// What kind of answer came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ResponseKind {
    /// A result.
    Result,
    /// An error.
    Error,
    /// A list of tools, prompts, resources or templates, or an upstream's instructions.
    Listing,
}

/// A message that answers nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpMessage {
    /// Whether it goes to the upstream; otherwise it comes from there.
    pub to_upstream: bool,
    /// Whether an answer is expected.
    pub wants_answer: bool,
    /// The method.
    pub method: Arc<str>,
    /// The parameters as JSON text, exact bytes.
    pub params: Bytes,
}

/// What a hook says about a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecurityDecision {
    /// Let it pass.
    Allow,
    /// Let it pass in another form, which is judged again.
    AllowWithModification(SecurityModification),
    /// Ask a person first; where nobody can be asked, policy says what becomes of it.
    Ask(SecurityViolation),
    /// Do not let it pass, unless a person says so: where nobody can be asked, it is a denial.
    AskOrDeny(SecurityViolation),
    /// Let it pass only for somebody who proves more about themselves; says what.
    RequireAdditionalAuth(String),
    /// Do not let it pass.
    Deny(SecurityViolation),
}

/// How a hook wants a message to be changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecurityModification {
    /// The parameters in place of those of the request, as JSON text.
    pub modified_request: Option<Bytes>,
    /// The result in place of the one that came, as JSON text.
    pub modified_response: Option<Bytes>,
    /// Headers for the upstream.
    pub added_headers: Vec<(String, String)>,
    /// What to put on record, as JSON text.
    pub audit_metadata: Option<Box<str>>,
}

/// What a hook found.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct SecurityViolation {
    /// The hook's own name of the rule.
    pub rule_id: String,
    /// How bad it is.
    pub severity: Severity,
    /// The threat it belongs to.
    pub threat_type: Threat,
    /// What it is, for people. The hook answers for what it writes; it is masked before it is kept.
    pub description: String,
    /// What it is based on, as JSON text.
    pub evidence: String,
    /// What to do about it.
    pub recommended_action: String,
}

/// How a hook is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HealthStatus {
    /// Whether it works.
    pub healthy: bool,
    /// What it says about itself.
    pub message: String,
}

/// Why a hook did not decide. What follows from it is the hook's failure mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookFault {
    /// It did not answer in time.
    Late,
    /// It could not be reached.
    Unreachable(String),
    /// It answered something that is no decision.
    Garbage(String),
    /// It answered more than is read, or was to be shown more than it takes.
    TooLarge,
    /// It broke down while it looked.
    Crashed(String),
    /// It is not asked for a while, since it failed too often.
    Resting,
    /// It has as many questions as it may have at once, or in this second.
    Busy,
}

impl HookFault {
    /// Returns the name under which metrics have it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Late => "timeout",
            Self::Unreachable(_) => "unreachable",
            Self::Garbage(_) => "garbage",
            Self::TooLarge => "too_large",
            Self::Crashed(_) => "crashed",
            Self::Resting => "circuit_open",
            Self::Busy => "busy",
        }
    }
}

impl fmt::Display for HookFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late => f.write_str("it did not answer in time"),
            Self::Unreachable(why) => write!(f, "it could not be reached: {why}"),
            Self::Garbage(why) => write!(f, "its answer is no decision: {why}"),
            Self::TooLarge => f.write_str("the message or its answer is too large"),
            Self::Crashed(why) => write!(f, "it broke down: {why}"),
            Self::Resting => f.write_str("it failed too often and is not asked for a while"),
            Self::Busy => f.write_str("it has as many questions as it may have at once"),
        }
    }
}

impl std::error::Error for HookFault {}
