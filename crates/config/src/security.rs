//! The `security` section: the parts that policy owns, and those whose owners come with their
//! features.
//!
//! A part that is not active yet is read and checked like any other; `notice` says that it does
//! nothing.

pub(crate) mod guards;
mod hooks;
mod limits;
mod pii;
mod remote;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use mcpproxy_classify::Classification;
use mcpproxy_core::Trust;
use mcpproxy_detect::Settings as Detector;
use mcpproxy_flow::FlowTracking;
use mcpproxy_policy::Policy;
use mcpproxy_policy::settings::{
    Alerts, Exfiltration, FlowPolicy, Mode, RiskAssessment, ToolPolicy,
};
use mcpproxy_upstream::settings::{Span, TrustName};

pub use self::guards::{BaselinePlace, baseline_place};
pub use self::hooks::{
    AgentHooks, FailureMode, HookKind, HookMethod, HookPhase, HookProtocol, HookSettings, HookSight,
};
pub use self::pii::{CustomPattern, PatternSeverity, PiiDetection, PiiPattern};

/// Everything under `security`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SecuritySettings {
    /// Whether calls are checked at all.
    pub enabled: bool,
    /// Whether verdicts are acted upon, or only written down.
    pub mode: Mode,
    /// Header that carries the id under which a request is traced.
    pub correlation_id_header: String,
    /// How data is followed.
    pub flow_tracking: FlowTracking,
    /// Which side of the fence an upstream is on.
    pub classification: Classification,
    /// What happens to data that flows outside.
    pub flow_policy: FlowPolicy,
    /// What happens to a call by the kind of its operation.
    pub tool_policy: ToolPolicy,
    /// Hooks of agents that ask us before they use a tool of their own.
    pub agent_hooks: AgentHooks,
    /// The pipeline of security hooks; a map here is the section `agent_hooks`.
    #[schemars(with = "hooks::HooksDocument")]
    pub hooks: Vec<HookSettings>,
    /// Secrets, personal data, hidden and hostile text: what is looked for, and where.
    pub detector: Detector,
    /// Personal data in calls and answers.
    pub pii_detection: PiiDetection,
    /// What a risk score leads to.
    pub risk_assessment: RiskAssessment,
    /// How much may go outside within a while.
    pub exfiltration: Exfiltration,
    /// Calls that wait for a person.
    pub approvals: Approvals,
    /// Tools that wait for approval.
    pub tool_quarantine: ToolQuarantine,
    /// Who is told about findings.
    pub alerts: Alerts,
    /// Where decisions are copied to.
    pub audit_logging: AuditLogging,
}

/// Tools that wait for approval.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolQuarantine {
    /// Whether there is a quarantine.
    pub enabled: bool,
    /// Whether a tool seen for the first time goes there.
    pub auto_quarantine_new_tools: bool,
    /// Whether a tool that changed goes there.
    pub rug_pull_detection: bool,
    /// How much is taken on trust of what an upstream offers that says nothing else.
    #[schemars(with = "TrustName")]
    pub trust: Trust,
}

/// Calls that wait for a person.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Approvals {
    /// Whether a call that is to be asked about waits where its caller cannot be asked.
    pub mode: ApprovalMode,
    /// How long it waits; then it is denied.
    pub timeout: Span,
}

/// What happens to a question that the caller cannot be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalMode {
    /// It becomes a warning.
    #[default]
    Off,
    /// The call waits in a queue for a person.
    Queue,
}

/// Where decisions are copied to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AuditLogging {
    /// Whether they are copied.
    pub enabled: bool,
    /// Service that takes them.
    pub destination: Option<String>,
}

impl SecuritySettings {
    /// Returns the policy that these sections make.
    pub fn policy(&self) -> Policy {
        Policy {
            flow: self.flow_policy.clone(),
            tools: self.tool_policy.clone(),
            risk: self.risk_assessment.clone(),
            alerts: self.alerts.switches(),
            exfiltration: self.exfiltration.clone(),
            mode: self.mode,
        }
    }
}

impl Default for SecuritySettings {
    fn default() -> Self {
        Self {
            enabled: true,
            mode: Mode::default(),
            correlation_id_header: "X-Correlation-ID".to_owned(),
            flow_tracking: FlowTracking::default(),
            classification: Classification::default(),
            flow_policy: FlowPolicy::default(),
            tool_policy: ToolPolicy::default(),
            agent_hooks: AgentHooks::default(),
            hooks: Vec::new(),
            detector: Detector::default(),
            pii_detection: PiiDetection::default(),
            risk_assessment: RiskAssessment::default(),
            exfiltration: Exfiltration::default(),
            approvals: Approvals::default(),
            tool_quarantine: ToolQuarantine::default(),
            alerts: Alerts::default(),
            audit_logging: AuditLogging::default(),
        }
    }
}

impl Default for ToolQuarantine {
    fn default() -> Self {
        Self {
            enabled: true,
            auto_quarantine_new_tools: true,
            rug_pull_detection: true,
            trust: Trust::default(),
        }
    }
}

impl Default for Approvals {
    fn default() -> Self {
        Self {
            mode: ApprovalMode::default(),
            timeout: Span::from_secs(300),
        }
    }
}
