//! Scenario files: calls with their results, and the verdicts that a policy must come to. Users
//! write them for their own policy; the project's own scenarios are of the same form.

use std::collections::BTreeMap;
use std::path::Path as FilePath;

use mcpproxy_classify::Kind;
use mcpproxy_core::{Action, FlowType, Likeness, Operation, RiskLevel};
use serde::Deserialize;
use serde_json::Value;

use crate::error::Problems;
use crate::load::read_text;
use crate::security::SecuritySettings;

/// A scenario.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// What it shows.
    pub name: String,
    /// The `security` section under which it plays; what is left out has its default.
    pub security: SecuritySettings,
    /// What is known of the upstreams, beside their names.
    pub servers: BTreeMap<String, ScenarioServer>,
    /// Whether somebody can be asked.
    pub askable: bool,
    /// The calls, in order.
    pub steps: Vec<ScenarioStep>,
}

/// An upstream of a scenario.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScenarioServer {
    /// Its class, as `server_overrides` would give it.
    pub class: Option<Kind>,
    /// Descriptors of its tools, as `tools/list` has them.
    pub tools: Vec<Value>,
}

/// One call of a scenario.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioStep {
    /// The upstream.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// What is sent.
    #[serde(default)]
    pub args: Value,
    /// What comes back if it is.
    #[serde(default)]
    pub result: Value,
    /// The operation that the agent declares.
    #[serde(default)]
    pub operation: Option<Operation>,
    /// Why the agent sends data outside.
    #[serde(default)]
    pub flow_justification: Option<String>,
    /// What kind of destination the agent calls it.
    #[serde(default)]
    pub flow_destination_type: Option<String>,
    /// When, in milliseconds from the start.
    #[serde(default)]
    pub at_ms: Option<u64>,
    /// What must come of it; what is left out may be anything.
    #[serde(default)]
    pub expect: Expectation,
}

/// What must come of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expectation {
    /// What is decided.
    pub decision: Option<Action>,
    /// What is done about it.
    pub effective: Option<Action>,
    /// The risk of the flow.
    pub risk_level: Option<RiskLevel>,
    /// The direction of the flow.
    pub flow_type: Option<FlowType>,
    /// How data was recognized.
    pub evidence: Option<Likeness>,
    /// Words that the reason contains.
    pub reason: Option<String>,
}

/// Reads a scenario; every mistake that can be found is in the error, with its place.
pub fn load_scenario(file: &FilePath, text: &str) -> Result<Scenario, Problems> {
    read_text(file, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_named_with_its_place() {
        let text =
            "name: x\nsteps:\n  - server: a\n    tool: b\n    expect:\n      decison: deny\n";
        let problems = load_scenario(FilePath::new("x.yaml"), text).unwrap_err();
        let said = problems.to_string();
        assert!(said.contains("x.yaml:6:7"), "{said}");
        assert!(said.contains("did you mean `decision`?"), "{said}");
    }

    #[test]
    fn a_scenario_is_read() {
        let text = "
name: a leak
security: { flow_policy: { internal_to_external: deny } }
servers: { crm: { class: internal } }
steps:
  - { server: crm, tool: get, args: { id: 7 }, result: [1, two] }
  - server: slack
    tool: post
    expect: { decision: deny, flow_type: internal→external, risk_level: medium, evidence: field }
";
        let scenario = load_scenario(FilePath::new("x.yaml"), text).unwrap();
        assert_eq!(
            scenario.security.flow_policy.internal_to_external,
            Action::Deny
        );
        assert_eq!(scenario.servers["crm"].class, Some(Kind::Internal));
        let [first, second] = &scenario.steps[..] else {
            panic!("{:?}", scenario.steps);
        };
        assert_eq!(first.args, serde_json::json!({ "id": 7 }));
        assert_eq!(second.expect.flow_type, Some(FlowType::InternalToExternal));
    }
}
