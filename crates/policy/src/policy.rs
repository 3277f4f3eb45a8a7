//! Everything that a verdict depends on beside the call and what is known about it.

use mcpproxy_core::{Action, Verdict};
use serde::Serialize;

use crate::settings::{
    AlertSwitches, DecisionLevel, Exfiltration, FlowPolicy, Mode, RiskAssessment, ToolPolicy,
};

/// The policy in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// What happens to data on its way out.
    pub flow: FlowPolicy,
    /// What happens to a call by the kind of its operation.
    pub tools: ToolPolicy,
    /// What a risk score leads to.
    pub risk: RiskAssessment,
    /// Which alarms are raised.
    pub alerts: AlertSwitches,
    /// How much may go outside within a while.
    pub exfiltration: Exfiltration,
    /// Whether verdicts are acted upon.
    pub mode: Mode,
}

impl Policy {
    /// Returns the weight with which a verdict is logged; nothing if `tool_policy.log_level` leaves
    /// it out.
    pub fn logged_at(&self, verdict: &Verdict) -> Option<DecisionLevel> {
        let level = match verdict.wanted {
            Action::Deny => DecisionLevel::Error,
            Action::Ask | Action::Warn => DecisionLevel::Warn,
            Action::Allow if !verdict.findings.is_empty() => DecisionLevel::Info,
            Action::Allow => DecisionLevel::Debug,
        };
        (level <= self.tools.log_level).then_some(level)
    }
}
