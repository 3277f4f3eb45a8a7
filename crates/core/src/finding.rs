//! The only thing a check may say. Checks report findings; `policy::decide` decides.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::Contradiction;
use crate::flow::Match;
use crate::secret::Masked;
use crate::verdict::Action;

/// One observation by one check.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// The stable name of the rule; one of a hook has the hook's id in front.
    pub rule: Cow<'static, str>,
    /// The kind of detection it came from.
    pub source: Source,
    /// The tier of precedence at which it speaks.
    #[serde(skip)]
    pub tier: Tier,
    /// What the check would do.
    pub wants: Action,
    /// How bad it is if true.
    pub severity: Severity,
    /// How sure the check is, in percent.
    pub confidence: u8,
    /// The threat it belongs to.
    pub threat: Threat,
    /// Where it was seen in the message, as a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Box<str>>,
    /// The data that was recognized, where the finding is about data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Box<Match>>,
    /// What contradicts what, where the finding is about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<Box<Contradiction>>,
    /// In how many seconds the same call may pass, where that is only a matter of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// The reason, safe to show.
    pub reason: Masked,
}

impl Finding {
    /// Starts a finding that is certain and of medium severity, from the message itself.
    pub fn new(rule: impl Into<Cow<'static, str>>, tier: Tier, wants: Action) -> Self {
        Self {
            rule: rule.into(),
            source: Source::Static,
            tier,
            wants,
            severity: Severity::Medium,
            confidence: 100,
            threat: Threat::AnomalousBehavior,
            place: None,
            evidence: None,
            contradiction: None,
            retry_after: None,
            reason: Masked::from_safe(""),
        }
    }
}

/// The kind of detection that a finding came from; it weighs the risk score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Data-flow tracking.
    Flow,
    /// Secrets and personal data in the message.
    Pii,
    /// Static analysis of the message.
    Static,
    /// Behaviour over time: thresholds, windows.
    Behavioral,
    /// What the agent says about itself.
    AgentHint,
    /// The operator's own orders.
    Operator,
}

/// Tiers of precedence, strongest first: the first tier with an opinion wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// A suspicious endpoint.
    Endpoint,
    /// A quarantined or blocked tool, and the kill switch.
    Quarantine,
    /// Guard deny lists and constraints.
    Guard,
    /// External hooks; they may only tighten.
    Hook,
    /// Access policy.
    Access,
    /// Overrides for single tools.
    Override,
    /// Signals that contradict each other.
    Contradiction,
    /// Sensitive data on its way out.
    SensitiveFlow,
    /// Any data on its way out.
    Flow,
    /// Policy by operation.
    Operation,
    /// Thresholds and scores; they may only tighten.
    Risk,
}

/// How bad a finding is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth a line in the log.
    Info,
    /// Low.
    Low,
    /// Medium.
    Medium,
    /// High.
    High,
    /// Critical.
    Critical,
}

impl Severity {
    /// All of them, mildest first.
    pub const ALL: [Self; 5] = [
        Self::Info,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::Critical,
    ];

    /// Returns the name under which metrics have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// The twelve threats of the hook framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Threat {
    /// Instructions hidden in a tool's description.
    ToolPoisoning,
    /// A tool that changed after it was approved.
    RugPull,
    /// A tool that stands in for another.
    ToolShadowing,
    /// An upstream that pretends to be another.
    ServerSpoofing,
    /// A call the caller may not make.
    UnauthorizedAccess,
    /// Instructions in data.
    PromptInjection,
    /// Commands in data.
    CommandInjection,
    /// Data on its way out.
    DataExfiltration,
    /// A session used by somebody else.
    SessionHijacking,
    /// Context that was tampered with.
    ContextPoisoning,
    /// Too many calls.
    RateLimitExceeded,
    /// Behaviour unlike before.
    AnomalousBehavior,
}

impl Threat {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::ToolPoisoning,
        Self::RugPull,
        Self::ToolShadowing,
        Self::ServerSpoofing,
        Self::UnauthorizedAccess,
        Self::PromptInjection,
        Self::CommandInjection,
        Self::DataExfiltration,
        Self::SessionHijacking,
        Self::ContextPoisoning,
        Self::RateLimitExceeded,
        Self::AnomalousBehavior,
    ];

    /// Returns the name under which metrics have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ToolPoisoning => "tool_poisoning",
            Self::RugPull => "rug_pull",
            Self::ToolShadowing => "tool_shadowing",
            Self::ServerSpoofing => "server_spoofing",
            Self::UnauthorizedAccess => "unauthorized_access",
            Self::PromptInjection => "prompt_injection",
            Self::CommandInjection => "command_injection",
            Self::DataExfiltration => "data_exfiltration",
            Self::SessionHijacking => "session_hijacking",
            Self::ContextPoisoning => "context_poisoning",
            Self::RateLimitExceeded => "rate_limit_exceeded",
            Self::AnomalousBehavior => "anomalous_behavior",
        }
    }
}
