//! How data is followed, and what happens to it on its way out.

use std::collections::BTreeMap;

use mcpproxy_core::Action;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ActionName;

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
    /// For the call with which a session has seen private data and text of strangers and can reach
    /// outside.
    pub lethal_trifecta: Trifecta,
    /// Hosts to which nothing is sent.
    pub suspicious_endpoints: Vec<String>,
    /// Action by name of the tool, before the flow is considered.
    #[schemars(with = "BTreeMap<String, ActionName>")]
    pub tool_overrides: BTreeMap<String, Action>,
}

/// What happens at the moment a session stands on all three legs of the lethal trifecta.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Trifecta {
    /// It is written down.
    #[default]
    Log,
    /// The call passes with a warning.
    Warn,
    /// A person is asked.
    Ask,
    /// The call does not pass.
    Deny,
}

impl Trifecta {
    /// Returns what is done with the call.
    pub fn action(self) -> Action {
        match self {
            Self::Log => Action::Allow,
            Self::Warn => Action::Warn,
            Self::Ask => Action::Ask,
            Self::Deny => Action::Deny,
        }
    }
}

impl Default for FlowPolicy {
    fn default() -> Self {
        Self {
            internal_to_external: Action::Ask,
            sensitive_data_external: Action::Deny,
            require_justification: true,
            lethal_trifecta: Trifecta::default(),
            suspicious_endpoints: SUSPICIOUS_ENDPOINTS.map(str::to_owned).to_vec(),
            tool_overrides: BTreeMap::new(),
        }
    }
}
