//! What is written down about a call, and the port behind which the log stands.

use std::fmt;
use std::pin::Pin;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::baseline::{OfferKind, OfferState};
use crate::call::{Declared, Door, Status};
use crate::finding::{Finding, Severity};
use crate::flow::FlowSummary;
use crate::hook::{Coverage, HookNote};
use crate::id::CallId;
use crate::receipt::Cause;
use crate::secret::Masked;
use crate::verdict::{Action, Enforcement, FlowType, Risk, RiskLevel};

/// A future behind `dyn`, from std alone.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One line of the activity log.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// The call's id.
    pub id: CallId,
    /// The record's type, as `tool_call` or `policy_decision`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The door.
    pub source: Door,
    /// The upstream.
    pub server_name: String,
    /// The tool, prompt or resource.
    pub tool_name: String,
    /// The method.
    pub method: String,
    /// How it ended.
    pub status: Status,
    /// What went wrong, in safe words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// How long it took.
    pub duration_ms: f64,
    /// When the call was received, RFC 3339.
    pub timestamp: String,
    /// The conversation.
    pub session_id: String,
    /// The id that ties together everything about one request; empty where it is the call's own.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub correlation_id: String,
    /// The record of what it is a part of: a message of the call under way, a question of the call
    /// that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<CallId>,
    /// The verified caller.
    pub principal: String,
    /// Bytes that left.
    pub request_bytes: usize,
    /// Bytes that came back.
    pub response_bytes: usize,
    /// What was decided.
    pub decision: Action,
    /// What was done: a question that nobody can be asked becomes a warning, and in shadow mode
    /// everything passes.
    pub effective: Action,
    /// Whether it was done as decided.
    pub enforcement: Enforcement,
    /// The direction in which data moved.
    pub flow_type: FlowType,
    /// The risk.
    #[serde(flatten)]
    pub risk: Risk,
    /// What the agent said about itself.
    pub declared: Declared,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Whether a secret or personal data was seen, on the way out or back.
    pub has_sensitive_data: bool,
    /// The types of what was seen, each once.
    pub detection_types: Vec<Box<str>>,
    /// How bad the worst of it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_severity: Option<Severity>,
    /// The session of the protocol, where the conversation is that of a hook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_session_id: Option<String>,
    /// How much of the conversation could be seen, where it is a call or closes a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_coverage: Option<Coverage>,
    /// The hook it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<Box<HookNote>>,
    /// What hooks of the pipeline left about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hook_metadata: Vec<HookLeft>,
    /// What a session came to, in the record that closes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Box<FlowSummary>>,
    /// What became of something that an upstream offers, in the record of such a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<Box<QuarantineNote>>,
    /// What somebody changed through the gateway, in the record of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Box<ChangeNote>>,
    /// The answer of a person: in the record of an answer itself, and in that of a call which an earlier
    /// answer decided about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Box<ApprovalNote>>,
    /// What was sent and what came back, where that is kept.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub bodies: Option<Box<Bodies>>,
}

/// What a call sent and what came back, masked and cut: JSON texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bodies {
    /// What was sent.
    pub arguments: Masked,
    /// What came back, if something did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Masked>,
    /// Whether more came back than is kept.
    pub response_truncated: bool,
}

/// What a trace needs to know of a call beside its record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceNote {
    /// The span of the caller, as the message has it (W3C Trace Context).
    pub parent: Option<Box<str>>,
    /// The id under which the call left.
    pub request: Option<u64>,
    /// The code of the error with which the upstream answered, as JSON-RPC has it; a result that says it
    /// is an error has none.
    pub code: Option<i64>,
    /// Why no answer came, where none did.
    pub cause: Option<Cause>,
}

/// Where traces of calls go. It must not wait.
pub trait TraceSink: Send + Sync + fmt::Debug {
    /// Takes note of a call of which this is put on record.
    fn ended(&self, record: &Record, note: &TraceNote);

    /// Tells whether spans are kept, so that upstreams may name them as their parents.
    fn keeps_spans(&self) -> bool;
}

impl Record {
    /// Makes a record of something allowed, of which nothing else is known yet.
    pub fn new(id: CallId, kind: &'static str, source: Door) -> Self {
        Self {
            id,
            kind,
            source,
            server_name: String::new(),
            tool_name: String::new(),
            method: String::new(),
            status: Status::Success,
            error_message: None,
            duration_ms: 0.0,
            timestamp: String::new(),
            session_id: String::new(),
            correlation_id: String::new(),
            parent_id: None,
            principal: String::new(),
            request_bytes: 0,
            response_bytes: 0,
            decision: Action::Allow,
            effective: Action::Allow,
            enforcement: Enforcement::Enforced,
            flow_type: FlowType::None,
            risk: Risk {
                level: RiskLevel::None,
                score: 0,
            },
            declared: Declared::default(),
            findings: Vec::new(),
            has_sensitive_data: false,
            detection_types: Vec::new(),
            max_severity: None,
            mcp_session_id: None,
            security_coverage: None,
            hook: None,
            hook_metadata: Vec::new(),
            summary: None,
            quarantine: None,
            change: None,
            approval: None,
            bodies: None,
        }
    }
}

/// What became of something that an upstream offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QuarantineNote {
    /// What it is.
    pub kind: OfferKind,
    /// Its state.
    pub state: OfferState,
    /// Its state before; nothing where it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<OfferState>,
    /// Who put it in this state: a person, or the check that did.
    pub by: String,
    /// Why, or what changed.
    pub reason: String,
}

/// What somebody changed through the gateway. It names things and never holds their values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangeNote {
    /// The scope of an order, the name of a token or of an upstream; empty for the configuration.
    pub target: String,
    /// What a token is limited to, or the keys that were set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// Whether it was so before.
    pub already_so: bool,
}

/// What a person answered when they were asked about a call.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ApprovalNote {
    /// For what it counts.
    pub term: ApprovalTerm,
    /// Until when it counts for a session, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Who gave it.
    pub by: String,
    /// The call that was asked about, where it is not this one: the records of its question and of the
    /// answer have it in `parent_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}

/// For what an answer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalTerm {
    /// For one call.
    Once,
    /// For the same question in the rest of a session.
    Session,
}

impl ApprovalNote {
    /// Makes that of an answer which counts once.
    pub fn once(by: &str) -> Self {
        Self {
            term: ApprovalTerm::Once,
            until: None,
            by: by.to_owned(),
            question: None,
        }
    }

    /// Has it count for the session, until that time.
    #[must_use]
    pub fn for_session(self, until: String) -> Self {
        Self {
            term: ApprovalTerm::Session,
            until: Some(until),
            ..self
        }
    }

    /// Returns it as it stands in the record of another call.
    #[must_use]
    pub fn about(&self, question: &str) -> Self {
        Self {
            question: Some(question.to_owned()),
            ..self.clone()
        }
    }
}

/// What one hook of the pipeline left on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HookLeft {
    /// The hook.
    pub hook: Box<str>,
    /// What it left, as JSON text, safe to show.
    pub data: Box<str>,
}

/// How long an append waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Until the record is queued.
    Relaxed,
    /// Until the record is on disk.
    Strict,
}

/// Why a record was not taken. Never silence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SinkFault {
    /// The queue is full.
    Full,
    /// The log cannot be written.
    Broken(String),
    /// The record was not on disk when the call's time was over.
    Late,
    /// The receipt cannot be written.
    Unreceipted(String),
}

impl fmt::Display for SinkFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => formatter.write_str("the activity log's queue is full"),
            Self::Broken(why) => write!(formatter, "the activity log cannot be written: {why}"),
            Self::Late => formatter.write_str("the activity log did not take the record in time"),
            Self::Unreceipted(why) => write!(formatter, "receipts cannot be written: {why}"),
        }
    }
}

impl std::error::Error for SinkFault {}

/// Where activity records go.
pub trait ActivitySink: Send + Sync + fmt::Debug {
    /// Takes one record: relaxed resolves when it is queued, strict when it is durable.
    fn append(&self, record: Record, how: Durability) -> Later<'_, Result<(), SinkFault>>;

    /// Resolves once everything that was appended before is on disk, or is known to be lost.
    fn flush(&self) -> Later<'_, Result<(), SinkFault>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Says why records are being lost, while they are.
    fn problem(&self) -> Option<String> {
        None
    }

    /// Says why old records are not dropped that should be, while they are not.
    fn doubt(&self) -> Option<String> {
        None
    }

    /// Returns how many records wait to be written.
    fn waiting(&self) -> usize {
        0
    }

    /// Returns how many records it took and could not write, since the start.
    fn lost(&self) -> u64 {
        0
    }
}
