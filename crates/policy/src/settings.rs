//! The configuration sections that policy reads: flow policy, tool policy, flow tracking, risk,
//! alerts, thresholds, and whether anything is enforced.
//!
//! Keys and defaults are those of the specifications. What a section leads to is decided elsewhere.

mod flow;
mod risk;
mod tools;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::flow::{FlowPolicy, Trifecta};
pub use self::risk::{AlertSwitches, Alerts, Exfiltration, RiskAssessment};
pub use self::tools::{DecisionLevel, ToolPolicy};

/// Whether verdicts are acted upon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// What is decided is done.
    #[default]
    Enforce,
    /// What is decided is written down, and every call passes.
    Shadow,
}

/// The names of [`mcpproxy_core::Action`] for the schema; `core` knows no schemas.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(
    dead_code,
    reason = "stands for `core::Action` in the schema and is never made"
)]
enum ActionName {
    Allow,
    Warn,
    Ask,
    Deny,
}
