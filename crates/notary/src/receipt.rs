//! Receipts: what is known of a call when it is seen, how it ended, and the line that says both.
//!
//! Every field of the schema stands in every receipt. Which of them are null follows from the
//! outcome, and an [`Outcome`] cannot hold what its row of the matrix leaves out.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::Wall;

use crate::content::Content;
use crate::error::NotaryError;
use crate::hash::{Digest, hex};
use crate::ledger::Transport;
use crate::line::Line;

/// The version of the receipts' schema.
pub const SCHEMA: &str = "3.0";

/// The longest tool name and request id that stand in a receipt; the rest is cut, with a mark.
const NAME: usize = 1024;

/// The id in a request, as far as a receipt repeats it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestId {
    /// There was none.
    Absent,
    /// A whole number that every reader reads the same.
    Number(i64),
    /// A string; or the text of what is neither.
    Text(String),
}

impl RequestId {
    /// Takes an id as it stands in the message, or nothing.
    pub fn from_json(raw: Option<&str>) -> Self {
        let Some(raw) = raw.map(str::trim).filter(|raw| *raw != "null") else {
            return Self::Absent;
        };
        if let Some(text) = mcpproxy_text::string(raw) {
            return Self::Text(text.into_owned());
        }
        match raw.parse::<i64>() {
            Ok(number) if number.unsigned_abs() < 1 << 53 && raw == number.to_string() => {
                Self::Number(number)
            }
            _ => Self::Text(raw.to_owned()),
        }
    }
}

/// A value as a receipt holds it: its digest, and itself where that was asked for.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The digest.
    pub digest: Digest,
    /// The value, if it is to be kept.
    pub content: Option<Content>,
}

impl Evidence {
    /// Returns how many bytes are kept in clear.
    pub(crate) fn size(&self) -> usize {
        self.content.as_ref().map_or(0, Content::size)
    }

    /// Keeps a digest only.
    pub fn hashed(digest: Digest) -> Self {
        Self {
            digest,
            content: None,
        }
    }
}

/// What the policy said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// No policy is loaded.
    NoPolicy,
    /// It permits the call.
    Allowed(Rule),
    /// It rejects the call; in the audit profile the call is forwarded all the same.
    Denied(Rule),
}

/// The rule that decided, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Which rule matched, as `denylist` or `constraints.web_fetch.deny_private_hosts`.
    pub name: String,
    /// Why, in words; nothing where the rule's name says it.
    pub reason: Option<String>,
    /// When it was decided.
    pub decided_at: Wall,
}

/// What a reader must know about a receipt beyond its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// The request had no id, so no answer can be matched to it.
    NoId,
    /// Another call in flight had the same id when this one came.
    DuplicateId,
    /// An answer came that may have been for this call or for another request with the same id.
    Ambiguous,
    /// It came in a batch.
    Batch,
    /// Whoever called cancelled it.
    Cancelled,
    /// The upstream ended before it answered.
    UpstreamExited,
    /// The proxy ended before the answer.
    ProxyStopped,
    /// The session ended without a word; the receipt was written at the next start.
    Recovered,
    /// The message could not be read as strict JSON and was not judged.
    Uninspected,
    /// The call ended, and how could not be recorded.
    Unrecorded,
    /// A name or id was cut.
    Cut,
    /// A value was to be kept and is too long for a receipt.
    ContentTooLong,
    /// An agent's hook told of it; nothing of it crossed the gateway.
    Hook,
    /// The agent did not say what became of it.
    Unreported,
    /// The upstream, or the way to it, failed before the answer.
    UpstreamFailed,
    /// An order of the operator ended it.
    Stopped,
    /// The caller got another answer than the one that came.
    AnswerChanged,
    /// The caller got nothing of the answer that came.
    AnswerWithheld,
}

impl Mark {
    const ALL: [Self; 18] = [
        Self::NoId,
        Self::DuplicateId,
        Self::Ambiguous,
        Self::Batch,
        Self::Cancelled,
        Self::UpstreamExited,
        Self::ProxyStopped,
        Self::Recovered,
        Self::Uninspected,
        Self::Unrecorded,
        Self::Cut,
        Self::ContentTooLong,
        Self::Hook,
        Self::Unreported,
        Self::UpstreamFailed,
        Self::Stopped,
        Self::AnswerChanged,
        Self::AnswerWithheld,
    ];

    /// Finds the mark of that name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mark| mark.name() == name)
    }

    /// Returns the name that stands in the receipt.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoId => "no_id",
            Self::DuplicateId => "duplicate_id",
            Self::Ambiguous => "ambiguous",
            Self::Batch => "batch",
            Self::Cancelled => "cancelled",
            Self::UpstreamExited => "upstream_exited",
            Self::ProxyStopped => "proxy_stopped",
            Self::Recovered => "recovered",
            Self::Uninspected => "uninspected",
            Self::Unrecorded => "unrecorded",
            Self::Cut => "cut",
            Self::ContentTooLong => "content_too_long",
            Self::Hook => "hook",
            Self::Unreported => "unreported",
            Self::UpstreamFailed => "upstream_failed",
            Self::Stopped => "stopped",
            Self::AnswerChanged => "answer_changed",
            Self::AnswerWithheld => "answer_withheld",
        }
    }
}

/// What is known of a call when its request is seen. It becomes the intent, and with an
/// [`Outcome`] the receipt.
#[derive(Clone, Debug)]
pub struct Call {
    /// Names this call in the session; see [`invocation_id`].
    pub invocation_id: String,
    /// The tool.
    pub tool_name: String,
    /// The request's id.
    pub request_id: RequestId,
    /// When the request was seen.
    pub observed_at: Wall,
    /// The arguments.
    pub arguments: Evidence,
    /// What the policy said.
    pub ruling: Ruling,
    /// What else is to be known.
    pub marks: Vec<Mark>,
    /// Where it came from and went, in the ledger of a gateway.
    pub via: Option<Box<Via>>,
}

/// Whose call it is and which upstream's, in a ledger that holds those of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Via {
    /// Names the upstream.
    pub server_id: String,
    /// How it is reached.
    pub transport: Transport,
    /// The SHA-256 of the policy in force, in hexadecimal.
    pub policy_hash: Option<Arc<str>>,
    /// Names the call in the activity log.
    pub activity_id: String,
    /// Ties together everything about one request.
    pub correlation_id: String,
    /// The conversation with whoever called.
    pub downstream_session_id: String,
    /// The verified caller.
    pub principal: String,
    /// The door it came through.
    pub door: String,
}

impl Via {
    fn fields(&self, line: &mut Line) {
        line.text("activity_id", &self.activity_id)
            .text("correlation_id", cut(&self.correlation_id).0)
            .text("downstream_session_id", &self.downstream_session_id)
            .text("principal", cut(&self.principal).0)
            .text("door", &self.door);
    }

    /// Returns what the lines of a session have in common, as it is for this call.
    fn common(&self, common: &Common) -> Common {
        Common {
            server_id: self.server_id.clone(),
            transport: self.transport.name(),
            policy_hash: self.policy_hash.as_deref().map(str::to_owned),
            ..common.clone()
        }
    }
}

/// An answer that came back.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The result, or the body of the error.
    pub result: Evidence,
    /// The digest of what a gateway's hook gave the caller instead.
    pub replaced_by: Option<Digest>,
    /// When it was seen.
    pub observed_at: Wall,
    /// How long it took.
    pub duration: Duration,
}

/// How a call ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It was answered.
    Forwarded(Answer),
    /// It was refused and never reached the upstream.
    Denied(Rule),
    /// It was answered with an error, or with a result that is marked as one.
    Error(Answer),
    /// It was not answered.
    Timeout {
        /// How long it was waited for.
        after: Duration,
    },
}

impl Outcome {
    fn replaced_by(&self) -> Option<Digest> {
        match self {
            Self::Forwarded(answer) | Self::Error(answer) => answer.replaced_by,
            Self::Denied(_) | Self::Timeout { .. } => None,
        }
    }

    /// Returns the name that stands in the receipt.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Forwarded(_) => "forwarded",
            Self::Denied(_) => "denied",
            Self::Error(_) => "error",
            Self::Timeout { .. } => "timeout",
        }
    }
}

/// A call and its outcome.
#[derive(Clone, Debug)]
pub struct CallReceipt {
    /// The call.
    pub call: Call,
    /// How it ended.
    pub outcome: Outcome,
}

/// What is the same in all receipts of a session.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) session_id: String,
    pub(crate) server_id: String,
    pub(crate) transport: &'static str,
    pub(crate) policy_hash: Option<String>,
    pub(crate) version: String,
}

impl Common {
    /// Starts a line of `kind`; the chain adds the sequence number and the link.
    pub(crate) fn line(&self, kind: &str, id: &str, at: Wall) -> Line {
        let mut line = Line::default();
        line.text("type", kind)
            .text("receipt_id", id)
            .time("timestamp", Some(at))
            .text("schema_version", SCHEMA)
            .text("session_id", &self.session_id)
            .text("server_id", &self.server_id)
            .text("server_transport", self.transport)
            .text("proxy_version", &self.version)
            .text("integration_source", "assay.mcp_proxy");
        line
    }
}

impl Call {
    /// Renders the record that precedes forwarding.
    pub(crate) fn intent(&self, common: &Common, id: &str, at: Wall) -> Line {
        let common = &*self.common(common);
        let mut line = common.line("mcp.tool_intent", id, at);
        self.fields(&mut line, &self.marks);
        self.ruling.fields(&mut line, common);
        line
    }

    fn common<'a>(&self, common: &'a Common) -> Cow<'a, Common> {
        match &self.via {
            None => Cow::Borrowed(common),
            Some(via) => Cow::Owned(via.common(common)),
        }
    }

    fn fields(&self, line: &mut Line, marks: &[Mark]) {
        let (tool_name, name_cut) = cut(&self.tool_name);
        line.text("invocation_id", &self.invocation_id)
            .null("parent_receipt_id")
            .text("tool_name", tool_name)
            .time("request_observed_at", Some(self.observed_at))
            .text("arguments_hash", &self.arguments.digest.to_string());
        content(line, "arguments_content", &self.arguments);
        let id_cut = match &self.request_id {
            RequestId::Absent => {
                line.null("mcp_request_id");
                false
            }
            RequestId::Number(number) => {
                line.number("mcp_request_id", number);
                false
            }
            RequestId::Text(text) => {
                let (text, was_cut) = cut(text);
                line.text("mcp_request_id", text);
                was_cut
            }
        };
        let mut marks = marks.to_vec();
        if name_cut || id_cut {
            marks.push(Mark::Cut);
        }
        marks.sort_unstable();
        marks.dedup();
        line.list("marks", marks.iter().map(|mark| mark.name()));
        if let Some(via) = &self.via {
            via.fields(line);
        }
    }
}

impl CallReceipt {
    /// Returns how many bytes are kept in clear.
    pub(crate) fn size(&self) -> usize {
        let result = match &self.outcome {
            Outcome::Forwarded(answer) | Outcome::Error(answer) => answer.result.size(),
            Outcome::Denied(_) | Outcome::Timeout { .. } => 0,
        };
        self.call.arguments.size() + result
    }

    /// Renders the receipt.
    pub(crate) fn line(&self, common: &Common, id: &str, at: Wall) -> Line {
        let common = &*self.call.common(common);
        let mut line = common.line("mcp_tool_call", id, at);
        self.call.fields(&mut line, &self.call.marks);
        line.text("outcome", self.outcome.name());
        if self.call.via.is_some() {
            let replaced_by = self.outcome.replaced_by().map(|digest| digest.to_string());
            line.optional("replaced_by_hash", replaced_by.as_deref());
        }
        match &self.outcome {
            Outcome::Forwarded(answer) | Outcome::Error(answer) => {
                line.text("result_hash", &answer.result.digest.to_string())
                    .flag("result_is_error", matches!(self.outcome, Outcome::Error(_)))
                    .time("response_observed_at", Some(answer.observed_at))
                    .number("duration_ms", answer.duration.as_millis());
                content(&mut line, "result_content", &answer.result);
                self.call.ruling.fields(&mut line, common);
            }
            Outcome::Denied(rule) => {
                unanswered(&mut line).null("duration_ms");
                rule.fields(&mut line, "denied", common);
            }
            Outcome::Timeout { after } => {
                unanswered(&mut line).number("duration_ms", after.as_millis());
                self.call.ruling.fields(&mut line, common);
            }
        }
        line
    }
}

/// Sets what an answer would have set to null.
pub(crate) fn unanswered(line: &mut Line) -> &mut Line {
    line.null("result_hash")
        .null("result_content")
        .null("result_is_error")
        .null("response_observed_at")
}

impl Ruling {
    fn fields(&self, line: &mut Line, common: &Common) {
        match self {
            Self::NoPolicy => {
                line.text("policy_verdict", "no_policy")
                    .null("policy_ref")
                    .null("policy_reason")
                    .null("policy_decided_at")
                    .null("policy_hash");
            }
            Self::Allowed(rule) => rule.fields(line, "allowed", common),
            Self::Denied(rule) => rule.fields(line, "denied", common),
        }
    }
}

impl Rule {
    fn fields(&self, line: &mut Line, verdict: &str, common: &Common) {
        line.text("policy_verdict", verdict)
            .text("policy_ref", cut(&self.name).0)
            .optional(
                "policy_reason",
                self.reason.as_deref().map(|reason| cut(reason).0),
            )
            .time("policy_decided_at", Some(self.decided_at))
            .optional("policy_hash", common.policy_hash.as_deref());
    }
}

fn content(line: &mut Line, key: &'static str, evidence: &Evidence) {
    match &evidence.content {
        Some(content) => line.raw(key, content.rendered()),
        None => line.null(key),
    };
}

/// Shortens a text to what a receipt holds, at a character's boundary.
fn cut(text: &str) -> (&str, bool) {
    let end = text.floor_char_boundary(NAME);
    (text.get(..end).unwrap_or_default(), end < text.len())
}

/// Makes the name of a call.
pub fn invocation_id() -> Result<String, NotaryError> {
    random_id("inv_")
}

/// Makes an id of sixteen random hexadecimal digits behind a prefix.
pub(crate) fn random_id(prefix: &str) -> Result<String, NotaryError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|fault| NotaryError::Random(fault.to_string()))?;
    Ok(format!("{prefix}{}", hex(&bytes)))
}

#[cfg(test)]
mod tests;
