//! A record as it is shown: the form in which lists, single records, exports and the dashboard have it,
//! and in which the interface describes it.
//!
//! It stands here so that who writes it and who describes it cannot drift apart. How it is made from what
//! is kept is for `store` to know.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use crate::activity::{ApprovalNote, ChangeNote, HookLeft, QuarantineNote};
use crate::call::{Declared, Door, Status};
use crate::finding::{Finding, Severity};
use crate::flow::FlowSummary;
use crate::history::Field;
use crate::hook::{Coverage, HookNote};
use crate::id::CallId;
use crate::verdict::{Action, Enforcement, FlowType, RiskLevel};

/// One line of the activity log.
///
/// What is kept as JSON is handed on as it is: `Raw` is a value of that kind. Records outlive versions, so
/// what a later one adds to the types named here must be something that a record may lack.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(
    rename = "ActivityRecord",
    bound = "",
    description = "One line of the activity log. One that is `redacted`, or was written by an earlier version, lacks \
        what is not required."
)]
pub struct ShownRecord<'a, Raw> {
    /// The call's id.
    pub id: CallId,
    /// The record's type.
    #[serde(rename = "type")]
    #[schemars(schema_with = "kinds")]
    pub kind: &'a str,
    /// The door it came through.
    #[schemars(with = "Door")]
    pub source: &'a str,
    /// The upstream; empty where there is none.
    pub server_name: &'a str,
    /// The tool, prompt or resource; empty where there is none.
    pub tool_name: &'a str,
    /// The method of the protocol.
    pub method: &'a str,
    /// How it ended.
    #[schemars(with = "Status")]
    pub status: &'a str,
    /// What went wrong, in safe words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub error_message: Option<Cow<'a, str>>,
    /// How long it took.
    pub duration_ms: f64,
    /// When the call was received, RFC 3339.
    pub timestamp: String,
    /// The conversation.
    pub session_id: &'a str,
    /// The id that ties together everything about one request.
    pub correlation_id: &'a str,
    /// The same under the name by which it is asked for.
    pub request_id: &'a str,
    /// The record of what it is a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CallId")]
    pub parent_id: Option<Cow<'a, str>>,
    /// The verified caller.
    pub principal: &'a str,
    /// Bytes that left.
    #[schemars(with = "u64")]
    pub request_bytes: i64,
    /// Bytes that came back.
    #[schemars(with = "u64")]
    pub response_bytes: i64,
    /// What was decided.
    #[schemars(with = "Action")]
    pub decision: &'a str,
    /// What was done: a question that nobody can be asked becomes a warning, and in shadow mode
    /// everything passes.
    #[schemars(with = "Action")]
    pub effective: Cow<'a, str>,
    /// Whether it was done as decided.
    #[schemars(with = "Enforcement")]
    pub enforcement: Cow<'a, str>,
    /// The direction in which data moved.
    #[schemars(with = "FlowType")]
    pub flow_type: &'a str,
    /// The level of risk of the flow.
    #[schemars(with = "RiskLevel")]
    pub risk_level: &'a str,
    /// The weighted score of all findings.
    #[schemars(range(min = 0, max = 100))]
    pub risk_score: i64,
    /// Whether a secret or personal data was seen, on the way out or back.
    pub has_sensitive_data: bool,
    /// The types of what was seen, each once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub detection_types: Option<Raw>,
    /// How bad the worst of it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Severity")]
    pub max_severity: Option<&'a str>,
    /// What the agent said about itself.
    #[schemars(with = "Declared")]
    pub declared: Option<Raw>,
    /// What was found.
    #[schemars(with = "Vec<Finding>")]
    pub findings: Option<Raw>,
    /// The session of the protocol, where the conversation is that of a hook.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub mcp_session_id: Option<Cow<'a, str>>,
    /// How much of the conversation could be seen, where it is a call or closes a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Coverage")]
    pub security_coverage: Option<Cow<'a, str>>,
    /// The hook it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "HookNote")]
    pub hook: Option<Raw>,
    /// What hooks of the pipeline left about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<HookLeft>")]
    pub hook_metadata: Option<Raw>,
    /// What a session came to, in the record that closes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "FlowSummary")]
    pub summary: Option<Raw>,
    /// What became of something that an upstream offers, in the record of such a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "QuarantineNote")]
    pub quarantine: Option<Raw>,
    /// What somebody changed through the gateway, in the record of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ChangeNote")]
    pub change: Option<Raw>,
    /// The answer of a person: in the record of an answer itself, and in that of a call which an earlier
    /// answer decided about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ApprovalNote")]
    pub approval: Option<Raw>,
    /// What was sent, as JSON text, masked and cut; where that is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub arguments: Option<Raw>,
    /// What came back, as JSON text, masked and cut; where that is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub response: Option<Raw>,
    /// Whether more came back than is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub response_truncated: Option<bool>,
    /// What belongs to the type of the record, for those who read every type in one way: its summary,
    /// its change of the quarantine or of the gateway, its hook, what the agent said, or what a person answered.
    #[schemars(schema_with = "object")]
    pub metadata: Option<Raw>,
    /// Whether what it said in words was taken out of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}

fn kinds(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Field::Kind.known().unwrap_or_default() })
}

fn object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object" })
}
