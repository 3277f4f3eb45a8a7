//! The configuration sections that policy reads: flow policy, tool policy.
//!
//! Keys and defaults are those of the specifications. What a section leads to is decided elsewhere.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use mcpproxy_core::Action;

/// Hosts that collect what is sent to them and serve no other purpose.
const SUSPICIOUS_ENDPOINTS: [&str; 5] = [
    "webhook.site",
    "requestbin.com",
    "pipedream.net",
    "hookbin.com",
    "beeceptor.com",
];

/// What happens to data that flows from inside to outside.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FlowPolicy {
    /// For a flow without sensitive data.
    #[schemars(with = "ActionName")]
    pub internal_to_external: Action,
    /// For a flow with sensitive data.
    #[schemars(with = "ActionName")]
    pub sensitive_data_external: Action,
    /// Whether a call that carries data out must say why.
    pub require_justification: bool,
    /// Hosts to which nothing is sent.
    pub suspicious_endpoints: Vec<String>,
    /// Action by name of the tool, before the flow is considered.
    #[schemars(with = "BTreeMap<String, ActionName>")]
    pub tool_overrides: BTreeMap<String, Action>,
}

/// What happens to a call by the kind of its operation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolPolicy {
    /// For calls that read.
    #[serde(deserialize_with = "level")]
    #[schemars(with = "ActionLevel")]
    pub read: Action,
    /// For calls that write.
    #[serde(deserialize_with = "level")]
    #[schemars(with = "ActionLevel")]
    pub write: Action,
    /// For calls that destroy.
    #[serde(deserialize_with = "level")]
    #[schemars(with = "ActionLevel")]
    pub destructive: Action,
    /// For calls whose declared, listed and apparent operations disagree.
    #[serde(deserialize_with = "level")]
    #[schemars(with = "ActionLevel")]
    pub contradiction: Action,
    /// Weight with which a decision is logged.
    pub log_level: DecisionLevel,
}

/// Weight with which a decision is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecisionLevel {
    /// What failed.
    Error,
    /// What looks wrong and went on.
    #[default]
    Warn,
    /// What an operator wants to know.
    Info,
    /// What helps to find a mistake.
    Debug,
}

/// The names of [`Action`] for the schema; `core` knows no schemas.
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

/// The actions of a tool policy, which also calls asking `approve`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ActionLevel {
    Allow,
    Warn,
    #[serde(alias = "approve")]
    Ask,
    Deny,
}

fn level<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Action, D::Error> {
    Ok(match ActionLevel::deserialize(deserializer)? {
        ActionLevel::Allow => Action::Allow,
        ActionLevel::Warn => Action::Warn,
        ActionLevel::Ask => Action::Ask,
        ActionLevel::Deny => Action::Deny,
    })
}

impl Default for FlowPolicy {
    fn default() -> Self {
        Self {
            internal_to_external: Action::Ask,
            sensitive_data_external: Action::Deny,
            require_justification: true,
            suspicious_endpoints: SUSPICIOUS_ENDPOINTS.map(str::to_owned).to_vec(),
            tool_overrides: BTreeMap::new(),
        }
    }
}

impl Default for ToolPolicy {
    fn default() -> Self {
        Self {
            read: Action::Allow,
            write: Action::Allow,
            destructive: Action::Deny,
            contradiction: Action::Deny,
            log_level: DecisionLevel::default(),
        }
    }
}
