//! What was decided about a call, and why. A denial is a value, never an error.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::Finding;

/// What to do with a call, mildest first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Let it pass.
    Allow,
    /// Let it pass and say so.
    Warn,
    /// Ask a person first.
    Ask,
    /// Do not let it pass.
    Deny,
}

/// Whether a verdict was acted upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Enforcement {
    /// The action was taken as decided.
    Enforced,
    /// There was nobody to ask, so `ask` became `warn`.
    Degraded,
    /// Only written down: the call went on as if nothing had been found.
    Shadow,
    /// Nobody heard it: whoever asked had stopped waiting, and went on as they do then.
    Unheard,
}

/// The direction in which data moved, the gravest last.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
pub enum FlowType {
    /// No data known from elsewhere was seen.
    #[serde(rename = "none")]
    None,
    /// Between internal places.
    #[serde(rename = "internal→internal")]
    InternalToInternal,
    /// Between external places.
    #[serde(rename = "external→external")]
    ExternalToExternal,
    /// From an external source to an internal destination.
    #[serde(rename = "external→internal")]
    ExternalToInternal,
    /// From an internal source to an external destination.
    #[serde(rename = "internal→external")]
    InternalToExternal,
}

impl FlowType {
    /// Returns the name under which records have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::InternalToInternal => "internal→internal",
            Self::ExternalToExternal => "external→external",
            Self::ExternalToInternal => "external→internal",
            Self::InternalToExternal => "internal→external",
        }
    }
}

/// How risky the flow is, by the spec's levels.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum RiskLevel {
    /// No risk.
    None,
    /// Data moves out, not known to be sensitive.
    Medium,
    /// Data moves out without a justification.
    High,
    /// Sensitive data moves out.
    Critical,
}

impl RiskLevel {
    /// Returns the name under which records have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// The two measures of risk; they are separate on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Risk {
    /// The level of the flow.
    #[serde(rename = "risk_level")]
    pub level: RiskLevel,
    /// The weighted score of all findings, 0 to 100.
    #[serde(rename = "risk_score")]
    pub score: u8,
}

/// What was decided about a call.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What to do.
    pub action: Action,
    /// What was decided, before it was seen that nobody can be asked or nothing is enforced.
    pub wanted: Action,
    /// Whether it was done as decided.
    pub enforced: Enforcement,
    /// The finding that decided, as an index into `findings`.
    pub decided_by: Option<usize>,
    /// Everything that was found.
    pub findings: Arc<[Finding]>,
    /// The risk.
    pub risk: Risk,
    /// The direction in which data would move.
    pub flow: FlowType,
}

impl Verdict {
    /// Returns the reason of the finding that decided, if one did.
    pub fn reason(&self) -> Option<&str> {
        let finding = self.findings.get(self.decided_by?)?;
        Some(finding.reason.as_str())
    }
}
