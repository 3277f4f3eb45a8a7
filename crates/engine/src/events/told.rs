//! What is told about each kind of event.

use mcpproxy_core::{
    Action, Call, CallId, Door, FlowType, QuarantineNote, Record, RiskLevel, Severity, Status,
};
use serde::Serialize;

/// What went into quarantine or came out.
#[derive(Clone, Debug, Serialize)]
pub struct QuarantineNews {
    /// The record it belongs to.
    pub activity_id: CallId,
    /// The upstream.
    pub server_name: String,
    /// The tool, prompt or resource; empty for the upstream itself.
    pub tool_name: String,
    /// How bad it is, as its record says; nothing where something was let pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_severity: Option<Severity>,
    /// What became of it.
    #[serde(flatten)]
    pub note: QuarantineNote,
}

/// Data on its way outside.
#[derive(Clone, Debug, Serialize)]
pub struct FlowAlert {
    /// The record it belongs to.
    pub activity_id: CallId,
    /// The conversation.
    pub session_id: String,
    /// Who calls.
    pub principal: String,
    /// The direction.
    pub flow_type: FlowType,
    /// The risk.
    pub risk_level: RiskLevel,
    /// The tool it goes to, as `upstream:tool`.
    pub tool_name: String,
    /// Whether a secret or personal data is among it.
    pub has_sensitive_data: bool,
    /// What was decided.
    pub decision: Action,
    /// What was done: it may be less, as where nobody heard of it in time.
    pub effective: Action,
    /// The thresholds that were passed with it, as `data_volume`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<&'static str>,
}

/// A question about a call.
#[derive(Clone, Debug, Serialize)]
pub struct ApprovalNews {
    /// The question.
    pub approval_id: CallId,
    /// The tool, as `upstream:tool`.
    pub tool_name: String,
    /// How it ended, once it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
}

/// An upstream that came, went, or is in another state.
#[derive(Clone, Debug, Serialize)]
pub struct ServerNews {
    /// The upstream.
    pub server_name: String,
    /// What became of it, as `up`, `down`, `added` or `listed`.
    pub change: &'static str,
}

/// What another gateway told of.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    /// The name under which listeners know it.
    pub name: &'static str,
    /// What was told.
    pub payload: serde_json::Value,
}

impl Serialize for Elsewhere {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.payload.serialize(serializer)
    }
}

/// What was not told.
#[derive(Clone, Debug, Serialize)]
pub struct MissedNews {
    /// How many events, where that is known.
    pub events: Option<u64>,
    /// Why.
    pub reason: &'static str,
}

/// A configuration that was read again.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ConfigNews {
    /// Upstreams that are new.
    pub added: Vec<String>,
    /// Upstreams that are gone.
    pub removed: Vec<String>,
    /// Upstreams whose settings changed.
    pub changed: Vec<String>,
}

/// What is on record about a call, in short.
#[derive(Clone, Debug, Serialize)]
pub struct ActivityNews {
    /// The record.
    pub activity_id: CallId,
    /// The door.
    pub source: Door,
    /// The upstream.
    pub server_name: String,
    /// The tool, prompt or resource.
    pub tool_name: String,
    /// The conversation.
    pub session_id: String,
    /// How it ended, once it has.
    #[serde(flatten)]
    pub ended: Option<Box<EndNews>>,
}

/// How a call ended.
#[derive(Clone, Debug, Serialize)]
pub struct EndNews {
    /// The type of the record.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// How it ended.
    pub status: Status,
    /// What was decided.
    pub decision: Action,
    /// What was done.
    pub effective: Action,
    /// The direction in which data moved.
    pub flow_type: FlowType,
    /// The risk of the flow.
    pub risk_level: RiskLevel,
    /// How long it took.
    pub duration_ms: f64,
    /// Whether a secret or personal data was seen.
    pub has_sensitive_data: bool,
    /// The types of what was seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub detection_types: Vec<Box<str>>,
    /// How bad the worst of it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_severity: Option<Severity>,
}

impl ActivityNews {
    /// Tells of a record.
    pub(super) fn of(record: &Record) -> Self {
        Self {
            activity_id: record.id,
            source: record.source,
            server_name: record.server_name.clone(),
            tool_name: record.tool_name.clone(),
            session_id: record.session_id.clone(),
            ended: Some(Box::new(EndNews {
                kind: record.kind,
                status: record.status,
                decision: record.decision,
                effective: record.effective,
                flow_type: record.flow_type,
                risk_level: record.risk.level,
                duration_ms: record.duration_ms,
                has_sensitive_data: record.has_sensitive_data,
                detection_types: record.detection_types.clone(),
                max_severity: record.max_severity,
            })),
        }
    }

    /// Tells of a call that has no record yet.
    pub(super) fn started(call: &Call) -> Self {
        Self {
            activity_id: call.id,
            source: call.door,
            server_name: call.tool.upstream.to_string(),
            tool_name: crate::record::short(call.shown_tool()),
            session_id: call.session.id.to_string(),
            ended: None,
        }
    }
}
