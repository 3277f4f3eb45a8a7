//! What is told to those who watch live: one bounded channel, on which a slow listener misses the
//! oldest and never holds up a call.

use std::sync::Arc;

use mcpproxy_core::{Action, Call, CallId, FlowType, QuarantineNote, RiskLevel};
use serde::Serialize;
use tokio::sync::broadcast;

use crate::approvals::Approval;

/// Events that a slow listener may be behind.
const BEHIND: usize = 1024;

/// Something that happened.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Event {
    /// Data is on its way outside, or was stopped there.
    FlowAlert(FlowAlert),
    /// Somebody is asked about a call.
    ApprovalRequested(ApprovalNews),
    /// A question about a call came to an end.
    ApprovalResolved(ApprovalNews),
    /// An upstream went into quarantine or came out.
    QuarantineChange(QuarantineNews),
    /// A tool, or something else that an upstream offers, went into quarantine or came out.
    ToolQuarantineChange(QuarantineNews),
}

/// What went into quarantine or came out.
#[derive(Clone, Debug, Serialize)]
pub struct QuarantineNews {
    /// The record it belongs to.
    pub activity_id: CallId,
    /// The upstream.
    pub server_name: String,
    /// The tool, prompt or resource; empty for the upstream itself.
    pub tool_name: String,
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

impl Event {
    /// Somebody is asked about a call.
    pub fn approval_requested(call: &Call, approval_id: CallId) -> Self {
        Self::ApprovalRequested(ApprovalNews {
            approval_id,
            tool_name: format!("{}:{}", call.tool.upstream, call.tool.tool),
            outcome: None,
        })
    }

    /// A question about a call came to an end.
    pub fn approval_resolved(about: &Approval, outcome: &'static str) -> Self {
        Self::ApprovalResolved(ApprovalNews {
            approval_id: about.id,
            tool_name: format!("{}:{}", about.server_name, about.tool_name),
            outcome: Some(outcome),
        })
    }

    /// Returns the name under which listeners know it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::FlowAlert(_) => "flow.alert",
            Self::ApprovalRequested(_) => "approval.requested",
            Self::ApprovalResolved(_) => "approval.resolved",
            Self::QuarantineChange(_) => "activity.quarantine_change",
            Self::ToolQuarantineChange(_) => "activity.tool_quarantine_change",
        }
    }
}

/// The channel.
#[derive(Debug)]
pub struct Events(broadcast::Sender<Arc<Event>>);

impl Default for Events {
    fn default() -> Self {
        Self(broadcast::Sender::new(BEHIND))
    }
}

impl Events {
    /// Tells everybody who listens.
    pub fn tell(&self, event: Event) {
        // Nobody listens: nobody is told.
        drop(self.0.send(Arc::new(event)));
    }

    /// Listens from now on.
    pub fn listen(&self) -> broadcast::Receiver<Arc<Event>> {
        self.0.subscribe()
    }
}
