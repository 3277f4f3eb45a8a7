//! What a summary looks at in a record.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Deserialize;

use super::GroupBy;

/// The requests that use something of an upstream.
const CALLS: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

/// What a summary looks at in a record.
#[derive(Deserialize)]
pub(super) struct Seen<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) timestamp: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) server_name: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) tool_name: Cow<'a, str>,
    #[serde(borrow, default)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) status: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) decision: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) effective: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) flow_type: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) risk_level: Cow<'a, str>,
    #[serde(borrow, default)]
    parent_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    principal: Cow<'a, str>,
    #[serde(borrow, default)]
    hook: Option<Hook<'a>>,
    #[serde(borrow, default)]
    findings: Vec<Found<'a>>,
}

#[derive(Deserialize)]
struct Hook<'a> {
    #[serde(borrow)]
    agent: Cow<'a, str>,
    #[serde(borrow)]
    phase: Cow<'a, str>,
    #[serde(borrow, default)]
    owner: Cow<'a, str>,
    #[serde(borrow, default)]
    tool_use_id: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Found<'a> {
    #[serde(borrow, default)]
    evidence: Option<Evidence<'a>>,
}

#[derive(Deserialize)]
struct Evidence<'a> {
    #[serde(borrow)]
    origin: Origin<'a>,
}

#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Origin<'a> {
    #[serde(borrow)]
    upstream: Cow<'a, str>,
    #[serde(borrow)]
    tool: Cow<'a, str>,
}

impl Seen<'_> {
    /// Tells whether the record stands for a call: for a tool, a prompt or a resource that somebody
    /// wanted to use. Notices, answers to questions, lists and summaries are on record as well.
    pub(super) fn is_call(&self) -> bool {
        match &*self.kind {
            "tool_call" => true,
            "policy_decision" | "message" => CALLS.contains(&&*self.method),
            "hook_evaluation" => self.hook.as_ref().is_some_and(|hook| {
                // What comes by the gateway has a record of its own, unless it is stopped here;
                // what is told after a use was told before it.
                hook.phase == "pre" && (hook.owner != "gateway" || self.status == "blocked")
            }),
            _ => false,
        }
    }

    /// Returns the call that a person was asked about, and what they said, if the record tells of
    /// either.
    pub(super) fn question(&self) -> Option<(&str, Option<bool>)> {
        let about = self
            .parent_id
            .as_deref()
            .filter(|_| self.kind == "approval")?;
        let answer = match &*self.method {
            "approved" => Some(true),
            "denied" => Some(false),
            _ => None,
        };
        Some((about, answer))
    }

    /// Returns what a record is grouped by; nothing where it has none.
    pub(super) fn key(&self, by: GroupBy) -> Option<Cow<'_, str>> {
        let key = match by {
            GroupBy::Server => &self.server_name,
            GroupBy::Kind => &self.kind,
            GroupBy::Status => &self.status,
            GroupBy::Session => &self.session_id,
            GroupBy::Principal => &self.principal,
            GroupBy::FlowType => &self.flow_type,
            GroupBy::RiskLevel => &self.risk_level,
            GroupBy::Agent => &self.hook.as_ref()?.agent,
            GroupBy::Tool if self.tool_name.is_empty() => return None,
            GroupBy::Tool => {
                return Some(format!("{}:{}", self.server_name, self.tool_name).into());
            }
        };
        (!key.is_empty()).then(|| Cow::Borrowed(&**key))
    }

    /// Returns where the data was read that was recognized in the call, each place once.
    pub(super) fn sources(&self) -> Vec<String> {
        let evidence = self.findings.iter().filter_map(|one| one.evidence.as_ref());
        let origins: BTreeSet<_> = evidence.map(|one| &one.origin).collect();
        let name = |one: &Origin<'_>| format!("{}:{}", one.upstream, one.tool);
        origins.into_iter().map(name).collect()
    }

    /// Returns the use of a tool that a hook spoke of, and whether it has taken place.
    pub(super) fn hooked_use(&self) -> Option<(String, bool)> {
        let hook = self.hook.as_ref()?;
        let used = hook.tool_use_id.as_deref()?;
        Some((format!("{}/{used}", self.session_id), hook.phase == "post"))
    }
}
