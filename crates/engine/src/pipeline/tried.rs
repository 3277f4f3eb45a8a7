//! Hooks asked about calls that are never sent: to try one out, and to measure it.

use mcpproxy_core::{Action, Call, Detected, Finding, McpResponse, Outcome};
use mcpproxy_hooks::guards::watch::{On, maker};
use mcpproxy_hooks::{Phase, Registry, Subject};
use serde::Serialize;

use super::{kept, masked, said, subject};
use crate::engine::{Engine, audience};
use crate::pipeline::review::kind;

/// What hooks said about one message.
#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    /// The call, as `server:tool`.
    pub call: String,
    /// What it was: `request` or `response`.
    pub phase: &'static str,
    /// What would become of it, as far as hooks go.
    pub decision: Action,
    /// What they say.
    pub findings: Vec<Finding>,
    /// What they put in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
    /// Headers that they add for the upstream, by name: values may be credentials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added_headers: Vec<String>,
    /// What they leave on record.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hook_metadata: Vec<mcpproxy_core::HookLeft>,
}

impl Engine {
    /// Asks hooks about a call and, where it is known, what came back for it.
    pub(crate) async fn tried(
        &self,
        pipeline: &Registry,
        call: &Call,
        outcome: Option<&Outcome>,
    ) -> Vec<Tried> {
        let mut subjects = vec![(Phase::Request, "request", subject(call))];
        if let (Some(outcome), Subject::Request(request)) = (outcome, subject(call)) {
            let response = McpResponse {
                kind: kind(outcome),
                body: outcome.body.clone(),
            };
            let subject = Subject::Response(request, response);
            subjects.push((Phase::Response, "response", subject));
        }
        let (ready, around) = (self.ready(), self.around(call));
        let mask = masked::mask(&ready);
        let mut tried = Vec::new();
        for (phase, name, subject) in subjects {
            if !pipeline.concerns(phase) {
                continue;
            }
            let ran = pipeline.ask(subject, &around, &mask).await;
            let changed = ran.changed.as_deref().map(String::from_utf8_lossy);
            tried.push(Tried {
                call: format!("{}:{}", call.tool.upstream, call.tool.tool),
                phase: name,
                decision: ran.wants(),
                changed: changed.map(std::borrow::Cow::into_owned),
                added_headers: ran.headers.iter().map(|(name, _)| name.clone()).collect(),
                findings: said(&ready, call, ran.noted),
                hook_metadata: kept(&ready, ran.metadata),
            });
        }
        tried
    }

    /// Asks a native guard, the only one that is switched on, about a call and, where it is known, what
    /// came back for it.
    pub(crate) fn tried_guard(
        &self,
        id: &str,
        mut call: Call,
        outcome: Option<&Outcome>,
    ) -> Vec<Tried> {
        let ready = self.ready();
        let watches = ready.guards.watches();
        let runs = |phase: On| watches.of(id).is_some_and(|watch| watch.runs_on(phase));
        let name = format!("{}:{}", call.tool.upstream, call.tool.tool);
        let tried = |phase, findings: Vec<Finding>, changed: Option<&[u8]>| {
            let findings = findings.into_iter();
            let findings: Vec<_> = findings.filter(|one| maker(one) == Some(id)).collect();
            let wants = findings.iter().map(|one| one.wants).max();
            let changed = changed.map(String::from_utf8_lossy);
            Tried {
                call: name.clone(),
                phase,
                decision: wants.unwrap_or(Action::Allow),
                findings,
                changed: changed.map(std::borrow::Cow::into_owned),
                added_headers: Vec::new(),
                hook_metadata: Vec::new(),
            }
        };
        let mut all = Vec::new();
        let sent = call.wire.raw.clone();
        let early = self.guard_call(&mut call, None, &ready);
        let found = self.found(&call, &early, &ready);
        if runs(On::Request) {
            let raw = &call.wire.raw;
            let changed = (sent != *raw).then_some(&raw[..]);
            all.push(tried("request", found.findings, changed));
        }
        let Some(outcome) = outcome else { return all };
        let body = std::str::from_utf8(&outcome.body).unwrap_or_default();
        let audience = Some(audience(&call, outcome.status));
        let mut answered = self.remember(&call, body, audience, &ready, &mut Detected::default());
        let unusual = self.guarded().over(&call, outcome, self.now().1, watches);
        answered.findings.extend(unusual);
        let (findings, changed) = self.guard_answer(&call, outcome, answered, None, &ready);
        if runs(On::Response) {
            all.push(tried("response", findings, changed.as_deref()));
        }
        all
    }
}
