//! What happens to a call by the kind of its operation.

use mcpproxy_core::Action;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

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
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
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
