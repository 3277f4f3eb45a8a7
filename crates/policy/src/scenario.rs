//! Scenario files: a conversation, call by call, with the verdicts that somebody expects of their
//! policy. Here are the form of a file and the comparison; running one takes an engine.
//!
//! How a file is read, with its line in every mistake, is for `config`, which also knows the
//! section `C` of the configuration that a scenario brings along.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mcpproxy_core::{
    Action, Claims, FlowType, Likeness, Operation, Principal, PrincipalKind, RiskLevel, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::words;

/// A conversation with its expected verdicts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[serde(bound(deserialize = "C: Deserialize<'de> + Default"))]
pub struct Scenario<C> {
    /// What it shows.
    pub name: String,
    /// The `security` section that it runs under.
    pub config: C,
    /// Who calls; who comes from this machine without a credential where nothing is said.
    pub caller: Option<Caller>,
    /// The upstreams that it calls; others are made up by their name alone.
    pub upstreams: Vec<ScenarioUpstream>,
    /// The calls, in order.
    pub steps: Vec<Step>,
}

/// Somebody who calls, as their credential would name them.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Caller {
    /// What kind of credential they show.
    pub kind: PrincipalKind,
    /// Their name.
    #[serde(default)]
    pub name: String,
    /// Their roles.
    #[serde(default)]
    pub roles: Vec<String>,
    /// What the credential is for.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Other properties.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
}

impl From<&Caller> for Principal {
    fn from(caller: &Caller) -> Self {
        match caller.kind {
            PrincipalKind::Owner => Self::owner(),
            PrincipalKind::Local => Self::local(),
            kind @ (PrincipalKind::Agent | PrincipalKind::User | PrincipalKind::Certificate) => {
                let claims = Claims {
                    subject: caller.name.clone(),
                    roles: caller.roles.clone(),
                    scopes: caller.scopes.clone(),
                    attributes: caller.attributes.clone().into_iter().collect(),
                    until: None,
                };
                Self {
                    kind,
                    name: caller.name.as_str().into(),
                    claims: Some(Arc::new(claims)),
                }
            }
        }
    }
}

/// An upstream of a scenario.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioUpstream {
    /// Its name.
    pub name: String,
    /// Its class, as if the configuration gave it.
    #[serde(default)]
    pub class: Option<ClassName>,
    /// Its tools, as it would list them.
    #[serde(default)]
    pub tools: Vec<Map<String, Value>>,
}

/// Which side of the fence an upstream is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClassName {
    /// Holds data that should not leave.
    Internal,
    /// Can carry data out.
    External,
    /// Both, depending on the call.
    Hybrid,
    /// Nothing is known.
    Unknown,
}

/// One call of a scenario.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The tool: `upstream:tool`, `upstream__tool`, or the bare name of an agent's own tool.
    pub call: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// The operation that the agent declares.
    #[serde(default)]
    pub operation: Option<OperationName>,
    /// Why the agent says it sends data outside.
    #[serde(default)]
    pub flow_justification: Option<String>,
    /// Where the agent says it sends data.
    #[serde(default)]
    pub flow_destination_type: Option<String>,
    /// How sensitive the agent says the data is.
    #[serde(default)]
    pub intent_data_sensitivity: Option<String>,
    /// What the upstream answers: a text, or a whole result; nothing for an empty one.
    #[serde(default)]
    pub result: Option<Value>,
    /// What is expected of the verdict.
    #[serde(default)]
    pub expect: Expect,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperationName {
    /// Only looks.
    Read,
    /// Adds or changes.
    Write,
    /// Removes, or cannot be undone.
    Destructive,
}

impl From<OperationName> for Operation {
    fn from(name: OperationName) -> Self {
        match name {
            OperationName::Read => Self::Read,
            OperationName::Write => Self::Write,
            OperationName::Destructive => Self::Destructive,
        }
    }
}

/// What is expected of a verdict; what is left out may be anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expect {
    /// What is decided.
    pub decision: Option<Action>,
    /// What is done; differs from the decision where nobody can be asked, and in shadow mode.
    pub effective: Option<Action>,
    /// The risk of the flow.
    pub risk: Option<LevelName>,
    /// The direction of the flow.
    pub flow: Option<FlowName>,
    /// How data was recognized, in any of the findings.
    pub evidence: Option<EvidenceName>,
    /// The rule that decides.
    pub rule: Option<String>,
    /// A part of the reason.
    pub reason_contains: Option<String>,
    /// What becomes of the answer.
    pub answer: Option<AnswerName>,
}

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerName {
    /// There is none: the call did not leave.
    None,
    /// The caller gets it as it came.
    Passed,
    /// The caller gets it changed.
    Changed,
    /// The caller does not get it.
    Withheld,
}

impl AnswerName {
    /// Returns the name that scenarios use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Passed => "passed",
            Self::Changed => "changed",
            Self::Withheld => "withheld",
        }
    }
}

/// The risk of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LevelName {
    /// No risk.
    None,
    /// Data moves out, not known to be sensitive.
    Medium,
    /// Data moves out without a justification.
    High,
    /// Sensitive data moves out.
    Critical,
}

/// The direction of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum FlowName {
    /// No data known from elsewhere.
    #[serde(rename = "none")]
    None,
    /// Between internal places.
    #[serde(rename = "internal→internal", alias = "internal->internal")]
    InternalToInternal,
    /// Between external places.
    #[serde(rename = "external→external", alias = "external->external")]
    ExternalToExternal,
    /// Inward.
    #[serde(rename = "external→internal", alias = "external->internal")]
    ExternalToInternal,
    /// Outward.
    #[serde(rename = "internal→external", alias = "internal->external")]
    InternalToExternal,
}

/// How data was recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceName {
    /// As it was.
    Exact,
    /// A whole field as it was.
    Field,
    /// A whole field but for case and space.
    Normalized,
    /// A part of it.
    Fragment,
    /// After encodings were undone.
    Encoded,
    /// Put together from several fields or calls.
    Pieces,
    /// Several rare words of it.
    Tokens,
}

/// Something that came out otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// The key of the expectation.
    pub key: &'static str,
    /// What was expected.
    pub expected: String,
    /// What came out.
    pub found: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key,
            expected,
            found,
        } = self;
        write!(f, "{key}: expected `{expected}`, found `{found}`")
    }
}

impl Expect {
    /// Returns what came out otherwise.
    pub fn compare(&self, verdict: &Verdict, answer: AnswerName) -> Vec<Mismatch> {
        let decider = verdict.decided_by.and_then(|at| verdict.findings.get(at));
        let same = |key, expected: Option<&str>, found: &str| {
            let expected = expected.filter(|expected| *expected != found)?;
            Some(mismatch(key, expected, found))
        };
        let word = |action: Option<Action>| action.map(words::action);
        let (wanted, action) = (words::action(verdict.wanted), words::action(verdict.action));
        let (level, flow) = (verdict.risk.level.name(), verdict.flow.name());
        let rule = decider.map_or("none", |finding| &*finding.rule);
        let found = [
            same("decision", word(self.decision), wanted),
            same("effective", word(self.effective), action),
            same(
                "risk",
                self.risk.map(|one| RiskLevel::from(one).name()),
                level,
            ),
            same(
                "flow",
                self.flow.map(|one| FlowType::from(one).name()),
                flow,
            ),
            self.compare_evidence(verdict),
            same("rule", self.rule.as_deref(), rule),
            self.compare_reason(verdict.reason().unwrap_or_default()),
            same("answer", self.answer.map(AnswerName::name), answer.name()),
        ];
        found.into_iter().flatten().collect()
    }

    fn compare_evidence(&self, verdict: &Verdict) -> Option<Mismatch> {
        let expected = words::likeness(self.evidence?.into());
        let evidence = verdict
            .findings
            .iter()
            .filter_map(|one| one.evidence.as_ref());
        let mut seen: Vec<_> = evidence.map(|one| words::likeness(one.how)).collect();
        if seen.contains(&expected) {
            return None;
        }
        seen.dedup();
        let seen = if seen.is_empty() { vec!["none"] } else { seen };
        Some(mismatch("evidence", expected, &seen.join(", ")))
    }

    fn compare_reason(&self, reason: &str) -> Option<Mismatch> {
        let part = self.reason_contains.as_deref()?;
        let missing = !reason.contains(part);
        missing.then(|| mismatch("reason_contains", part, reason))
    }
}

fn mismatch(key: &'static str, expected: &str, found: &str) -> Mismatch {
    Mismatch {
        key,
        expected: expected.to_owned(),
        found: found.to_owned(),
    }
}

impl From<LevelName> for RiskLevel {
    fn from(name: LevelName) -> Self {
        match name {
            LevelName::None => Self::None,
            LevelName::Medium => Self::Medium,
            LevelName::High => Self::High,
            LevelName::Critical => Self::Critical,
        }
    }
}

impl From<FlowName> for FlowType {
    fn from(name: FlowName) -> Self {
        match name {
            FlowName::None => Self::None,
            FlowName::InternalToInternal => Self::InternalToInternal,
            FlowName::ExternalToExternal => Self::ExternalToExternal,
            FlowName::ExternalToInternal => Self::ExternalToInternal,
            FlowName::InternalToExternal => Self::InternalToExternal,
        }
    }
}

impl From<EvidenceName> for Likeness {
    fn from(name: EvidenceName) -> Self {
        match name {
            EvidenceName::Exact => Self::Exact,
            EvidenceName::Field => Self::Field,
            EvidenceName::Normalized => Self::Normalized,
            EvidenceName::Fragment => Self::Fragment,
            EvidenceName::Encoded => Self::Encoded,
            EvidenceName::Pieces => Self::Pieces,
            EvidenceName::Tokens => Self::Tokens,
        }
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::{Askable, Side, Weight};
    use serde_json::json;

    use super::*;
    use crate::samples::{call, outside, read};
    use crate::{Policy, decide, judge};

    /// Compares an expectation with the verdict about a flow that nobody can be asked about.
    fn check(expect: Value, mismatches: &[&str]) {
        let expect: Expect = serde_json::from_value(expect).unwrap();
        let (policy, mut call, mut facts) = (Policy::default(), call(), outside());
        call.askable = Askable::Nobody;
        facts.flow.matches.push(read(Side::Inside, Weight::Notable));
        let findings = judge(&policy, &call, &facts);
        let verdict = decide(&policy, &call, &facts, findings);
        let found = expect.compare(&verdict, AnswerName::Passed);
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, mismatches);
    }

    #[test]
    fn what_is_left_out_may_be_anything() {
        check(json!({}), &[]);
        check(
            json!({
                "decision": "ask", "effective": "warn", "risk": "medium",
                "flow": "internal->external", "evidence": "exact",
                "rule": "internal_to_external", "reason_contains": "(github)",
            }),
            &[],
        );
    }

    #[test]
    fn each_key_is_compared() {
        check(
            json!({"answer": "withheld"}),
            &["answer: expected `withheld`, found `passed`"],
        );
        check(
            json!({"decision": "deny"}),
            &["decision: expected `deny`, found `ask`"],
        );
        check(
            json!({"effective": "ask"}),
            &["effective: expected `ask`, found `warn`"],
        );
        check(
            json!({"risk": "critical"}),
            &["risk: expected `critical`, found `medium`"],
        );
        check(
            json!({"flow": "none"}),
            &["flow: expected `none`, found `internal→external`"],
        );
        check(
            json!({"evidence": "tokens"}),
            &["evidence: expected `tokens`, found `exact`"],
        );
        check(
            json!({"rule": "tool_policy"}),
            &["rule: expected `tool_policy`, found `internal_to_external`"],
        );
        check(
            json!({"reason_contains": "vault"}),
            &[
                "reason_contains: expected `vault`, found `Data flowing from internal source (github) to external destination (slack).`",
            ],
        );
    }
}
