//! What hooks say about what came back. The origin of its data was remembered before, as it came;
//! here is only what the caller gets of it.

use bytes::Bytes;
use mcpproxy_core::{
    Action, Call, Facts, Finding, HookLeft, McpRequest, McpResponse, Outcome, Record, ResponseKind,
    Status, Verdict,
};
use mcpproxy_hooks::guards::poisoning::answers::Answered;
use mcpproxy_hooks::{Phase, Registry, Subject};
use mcpproxy_policy::{answer, decide};
use mcpproxy_text as text;

use super::{ROUNDS, kept, masked, refusal, said, subject, told};
use crate::engine::{After, Denied, Engine};
use crate::facts::destination;
use crate::ready::Ready;

/// What hooks made of an answer.
pub(crate) struct Reviewed {
    pub(crate) after: After,
    verdict: Option<std::sync::Arc<Verdict>>,
    left: Vec<HookLeft>,
}

/// What came back for a call, past the guards.
struct Came<'a> {
    request: McpRequest,
    response: McpResponse,
    /// The body as the upstream gave it.
    original: &'a Bytes,
    findings: Vec<Finding>,
}

impl Reviewed {
    fn nothing() -> Self {
        Self {
            after: After::Passed,
            verdict: None,
            left: Vec::new(),
        }
    }

    /// Adds what hooks said to the record of the call.
    pub(crate) fn note(&self, record: &mut Record) {
        record.hook_metadata.extend(self.left.iter().cloned());
        let Some(verdict) = &self.verdict else { return };
        record.findings.extend(verdict.findings.iter().cloned());
        if verdict.wanted > record.decision {
            record.decision = verdict.wanted;
            record.enforcement = verdict.enforced;
        }
        record.effective = record.effective.max(verdict.action);
        if let After::Withheld(denied) = &self.after {
            record.status = Status::Blocked;
            record.error_message = denied.verdict.reason().map(crate::record::short);
        }
    }
}

impl Engine {
    /// Takes what came back for a call past the guards, and asks hooks about it. `answered` is what
    /// was found in it already, and what is left of it.
    pub(crate) async fn reviewed(
        &self,
        call: &Call,
        outcome: &Outcome,
        answered: Answered,
        ready: &Ready,
    ) -> Reviewed {
        let look = match self.live() {
            None => None,
            // Boxed: where nothing is shared a call stays small.
            Some(live) => Box::pin(self.looked_at(live, call, outcome, &answered, ready)).await,
        };
        let (findings, replaced) = self.guard_answer(call, outcome, answered, look, ready);
        if self.has_reads_to_keep() {
            Box::pin(self.keep_reads()).await;
        }
        let stopped = findings.iter().any(|one| one.wants >= Action::Deny);
        let pipeline = self.hooks().filter(|pipeline| {
            let concerns = ready.settings.enabled && pipeline.concerns(Phase::Response);
            concerns && !outcome.body.is_empty() && !stopped
        });
        let asked = pipeline.and_then(|pipeline| match subject(call) {
            Subject::Request(request) => Some((pipeline, request)),
            Subject::Response(..) | Subject::Message(_) => None,
        });
        let Some((pipeline, request)) = asked else {
            if findings.is_empty() && replaced.is_none() {
                return Reviewed::nothing();
            }
            return self.concluded(call, findings, Vec::new(), replaced, ready);
        };
        let body = replaced.unwrap_or_else(|| outcome.body.clone());
        let response = McpResponse {
            kind: kind(outcome),
            body,
        };
        let came = Came {
            request,
            response,
            original: &outcome.body,
            findings,
        };
        // Boxed: without hooks a call stays small.
        Box::pin(self.review(call, came, ready, &pipeline)).await
    }

    async fn review(
        &self,
        call: &Call,
        came: Came<'_>,
        ready: &Ready,
        pipeline: &Registry,
    ) -> Reviewed {
        let around = self.around(call);
        let mask = masked::mask(ready);
        let Came {
            request,
            mut response,
            original,
            mut findings,
        } = came;
        let mut left = Vec::new();
        let mut settled = false;
        for _ in 0..ROUNDS {
            let subject = Subject::Response(request.clone(), response.clone());
            let ran = pipeline.ask(subject, &around, &mask).await;
            let denies = ran.wants() == Action::Deny;
            findings.extend(said(ready, call, ran.noted));
            left = kept(ready, ran.metadata);
            let Some(body) = ran.changed.filter(|_| !denies) else {
                settled = true;
                break;
            };
            response.body = body;
        }
        if !settled {
            let why = "hooks go on changing this answer and do not agree on a form of it";
            findings.push(refusal("hook_rounds", why));
        }
        let replaced = (response.body != *original).then(|| response.body.clone());
        let reviewed = self.concluded(call, findings, left, replaced, ready);
        let around = match &reviewed.verdict {
            Some(verdict) => told(around, verdict),
            None => around,
        };
        pipeline.tell(Subject::Response(request, response), &around, &mask);
        reviewed
    }

    pub(super) fn concluded(
        &self,
        call: &Call,
        mut findings: Vec<Finding>,
        left: Vec<HookLeft>,
        replaced: Option<Bytes>,
        ready: &Ready,
    ) -> Reviewed {
        for finding in &mut findings {
            // Nobody can be asked about an answer before it is there.
            if finding.wants == Action::Ask {
                finding.wants = Action::Deny;
            }
        }
        let policy = &ready.settings.policy;
        let class = self
            .classes()
            .of(&call.tool, &ready.settings.classification);
        let facts = Facts::bare(destination(call, &class));
        let verdict = std::sync::Arc::new(decide(policy, call, &facts, findings));
        let after = if verdict.action == Action::Deny {
            After::Withheld(Box::new(Denied {
                answer: answer(policy, call, &facts, &verdict),
                verdict: std::sync::Arc::clone(&verdict),
            }))
        } else {
            replaced.map_or(After::Passed, After::Replaced)
        };
        Reviewed {
            after,
            verdict: Some(verdict),
            left,
        }
    }
}

/// Tells an error of the protocol from a result that says it is one: only the former has a code.
pub(crate) fn kind(outcome: &Outcome) -> ResponseKind {
    let body = std::str::from_utf8(&outcome.body).unwrap_or_default();
    let has = |name| text::get(body, &[name]).is_some();
    if outcome.status == Status::Error && has("code") && has("message") && !has("content") {
        ResponseKind::Error
    } else {
        ResponseKind::Result
    }
}
