//! What a summary looks at in a record.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Deserialize;

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
    pub(super) effective: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) flow_type: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) risk_level: Cow<'a, str>,
    #[serde(borrow, default)]
    parent_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) session_id: Cow<'a, str>,
    #[serde(borrow, default)]
    hook: Option<Hook<'a>>,
    #[serde(borrow, default)]
    findings: Vec<Found<'a>>,
}

#[derive(Deserialize)]
struct Hook<'a> {
    #[serde(borrow)]
    phase: Cow<'a, str>,
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
