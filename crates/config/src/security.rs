//! The `security` section: the parts that policy owns, and those whose owners come with their
//! features.
//!
//! A part that is not active yet is read and checked like any other; `notice` says that it does
//! nothing.

mod hooks;
mod pii;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use mcpproxy_classify::Classification;
use mcpproxy_core::Secret;
use mcpproxy_detect::Settings as Detector;
use mcpproxy_policy::settings::{FlowPolicy, FlowTracking, ToolPolicy};

pub use self::hooks::{AgentHooks, FailureMode, HookKind, HookMethod, HookPhase, HookSettings};
pub use self::pii::{CustomPattern, PatternSeverity, PiiDetection, PiiPattern};

/// Everything under `security`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SecuritySettings {
    /// Whether calls are checked at all.
    pub enabled: bool,
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
    /// Tools that wait for approval.
    pub tool_quarantine: ToolQuarantine,
    /// Who is told about findings.
    pub alerts: Alerts,
    /// Where decisions are copied to.
    pub audit_logging: AuditLogging,
}

/// What a risk score from 0 to 100 leads to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RiskAssessment {
    /// Whether calls are scored.
    pub enabled: bool,
    /// Score from which a call is flagged.
    #[schemars(range(max = 100))]
    pub auto_flag_threshold: u8,
    /// Score from which a call needs approval.
    #[schemars(range(max = 100))]
    pub require_approval_threshold: u8,
    /// Whether a critical score stops a call.
    pub block_on_critical: bool,
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
}

/// Who is told about findings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Alerts {
    /// Whether data on its way outside raises an alert.
    pub exfiltration_detection: bool,
    /// Whether personal data raises an alert.
    pub pii_exposure: bool,
    /// Address to which alerts are posted; it often is a credential by itself.
    #[schemars(with = "Option<String>")]
    pub webhook_url: Option<Secret>,
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

impl Default for SecuritySettings {
    fn default() -> Self {
        Self {
            enabled: true,
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
            tool_quarantine: ToolQuarantine::default(),
            alerts: Alerts::default(),
            audit_logging: AuditLogging::default(),
        }
    }
}

impl Default for RiskAssessment {
    fn default() -> Self {
        Self {
            enabled: true,
            auto_flag_threshold: 70,
            require_approval_threshold: 85,
            block_on_critical: false,
        }
    }
}

impl Default for ToolQuarantine {
    fn default() -> Self {
        Self {
            enabled: true,
            auto_quarantine_new_tools: true,
            rug_pull_detection: true,
        }
    }
}

impl Default for Alerts {
    fn default() -> Self {
        Self {
            exfiltration_detection: true,
            pii_exposure: true,
            webhook_url: None,
        }
    }
}
