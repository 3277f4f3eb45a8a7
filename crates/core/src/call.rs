//! A call on its way to an upstream, and what came back.
//!
//! Bodies are exact bytes. What they mean is for `mcp` to know; here they have a ticket under which
//! the answer comes back.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::activity::{ApprovalNote, HookLeft};
use crate::clock::{Tick, Wall};
use crate::finding::Severity;
use crate::hook::{Asker, Hooked};
use crate::id::{CallId, ToolName, UpstreamId};
use crate::security::RequestMetadata;
use crate::who::{FlowScope, Principal, SessionKey};

/// One message that a downstream wants an upstream to have.
#[derive(Clone, Debug)]
pub struct Call {
    /// Names the call in the log.
    pub id: CallId,
    /// Counts the retries of one invocation: input rounds and approvals.
    pub leg: u8,
    /// When the door received it.
    pub at: Wall,
    /// When the caller stops waiting.
    pub deadline: Tick,
    /// The door it came through.
    pub door: Door,
    /// The verified caller.
    pub who: Principal,
    /// The domain in which secrets are matched.
    pub scope: FlowScope,
    /// The conversation it belongs to.
    pub session: SessionKey,
    /// What kind of message it is.
    pub kind: MessageKind,
    /// What it is addressed to.
    pub tool: ToolRef,
    /// What the agent says about its own intent.
    pub declared: Declared,
    /// Whom a question about this call could be put to.
    pub askable: Askable,
    /// What the agent's hook said about it; nothing for what comes through another door.
    pub hook: Option<Arc<Hooked>>,
    /// What came along with it.
    pub trace: Trace,
    /// The bytes that will leave, after routing and era translation.
    pub wire: Wire,
}

/// What came along with a call beside its message.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The id that ties together every record, span, receipt and hook of one request; the call's
    /// own id where the door gave none.
    pub correlation_id: Option<Arc<str>>,
    /// The raw id under which whoever called knows the request.
    pub asked_as: Option<Box<str>>,
    /// The protocol's version, as the downstream speaks it.
    pub version: Option<Arc<str>>,
    /// When the session was opened, where the protocol has one.
    pub opened: Option<Wall>,
    /// What stood in the place of the gateway's own span, where calls are traced.
    pub traced: Option<Traced>,
    /// How the request came in, where hooks want to know.
    pub request: Option<Arc<RequestMetadata>>,
    /// Headers that hooks add for the upstream.
    pub added_headers: Vec<(String, String)>,
    /// What hooks left about it, for the hooks behind them and for the record.
    pub hook_metadata: Vec<HookLeft>,
    /// The earlier answer of a person that decided about it.
    pub approval: Option<Box<ApprovalNote>>,
    /// What was detected in what it sends, once it was judged.
    pub detected: Detected,
    /// When it began to be judged.
    pub began: Option<Tick>,
    /// Who waits for what is decided, where that can be seen.
    pub asker: Option<Asker>,
    /// Whether what it uses is named by something that nobody may read, once it was judged: an agent
    /// can put anything into the address of a resource.
    pub unnamed: bool,
}

/// A call whose message names the gateway's own span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// The caller's span, as its message had it: raw JSON.
    pub parent: Option<Box<str>>,
}

/// What was detected in the messages of a call, as its record says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detected {
    /// The types of it.
    pub types: BTreeSet<Box<str>>,
    /// How bad the worst of it is.
    pub worst: Option<Severity>,
}

impl Call {
    /// Returns the id under which everything about the call is found.
    pub fn correlation_id(&self) -> Arc<str> {
        let given = self.trace.correlation_id.as_ref();
        given.map_or_else(|| self.id.to_string().into(), Arc::clone)
    }

    /// Returns the name of what it uses, for records, logs and events.
    pub fn shown_tool(&self) -> &str {
        if self.trace.unnamed {
            "[withheld: it holds a secret]"
        } else {
            self.tool.tool.as_str()
        }
    }
}

/// The exact message that will leave.
///
/// INVARIANT: all of `raw` is judged and all of it is sent, as it is. Ids, tokens and names were
/// put in before the engine looked.
#[derive(Clone, Debug)]
pub struct Wire {
    /// The whole message.
    pub raw: Bytes,
    /// The id under which an answer is expected; nothing for messages that are not answered.
    pub ticket: Option<u64>,
}

/// The door a call came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Door {
    /// The gateway's MCP endpoints, over any transport.
    Mcp,
    /// The command line.
    Cli,
    /// The REST interface.
    Api,
    /// An agent's hook.
    Hook,
    /// None: the gateway itself.
    Internal,
}

impl Door {
    /// Returns the name under which records have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Cli => "cli",
            Self::Api => "api",
            Self::Hook => "hook",
            Self::Internal => "internal",
        }
    }
}

/// What kind of message a call is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// A request with its method.
    Request(Arc<str>),
    /// A notification with its method.
    Notification(Arc<str>),
    /// The downstream's answer to a request that the upstream made.
    Answer(Arc<str>),
}

impl MessageKind {
    /// Returns the method that the message carries or answers.
    pub fn method(&self) -> &str {
        match self {
            Self::Request(method) | Self::Notification(method) | Self::Answer(method) => method,
        }
    }
}

/// What a call is addressed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRef {
    /// The upstream.
    pub upstream: UpstreamId,
    /// The tool, prompt or resource; empty for messages that name none.
    pub tool: ToolName,
}

/// What the agent says about its own intent. Advisory: an agent can be talked into lying.
///
/// The log does not keep what says nothing, so all of it may be missing where it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Declared {
    /// The operation that the chosen tool variant declares.
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
    /// How sensitive the agent says the data is.
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<Box<str>>,
    /// Why it makes the call.
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Box<str>>,
    /// Why it sends data outside.
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub flow_justification: Option<Box<str>>,
    /// What kind of destination it says the data goes to.
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub flow_destination_type: Option<Box<str>>,
}

/// What an operation does to the world.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Only looks.
    Read,
    /// Adds or changes.
    Write,
    /// Removes, or cannot be undone.
    Destructive,
}

impl Operation {
    /// Returns the name under which records and rules have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
        }
    }
}

/// Whom a question about a call could be put to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Askable {
    /// The downstream can be sent an elicitation.
    Elicit,
    /// The downstream can be answered with an input-required result.
    InputRequired,
    /// The agent prompts its user.
    AgentPrompt,
    /// A person looks at the queue.
    Queue,
    /// Nobody.
    Nobody,
}

/// What came back for a call.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The result or error value, exact bytes.
    pub body: Bytes,
    /// How it ended.
    pub status: Status,
    /// How long the upstream took.
    pub took: Duration,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// A result that does not say it is an error.
    Success,
    /// An error, or a result that says it is one.
    Error,
    /// Stopped by policy before the upstream saw it.
    Blocked,
    /// Refused by the gateway for its form, its target or a limit.
    Rejected,
    /// About to leave; written first where evidence must precede the act.
    Pending,
}
