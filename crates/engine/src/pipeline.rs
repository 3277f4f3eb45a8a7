//! Hooks in the way of a call: asked after the native rules, again after each change, and once more
//! about what came back. What they say are findings like any other, of a tier that may only tighten.
//!
//! Deliberately absent: limits, order and failure modes, which the registry has.

mod aside;
mod changed;
mod listing;
mod masked;
pub(crate) mod review;
mod told;
mod tried;

pub(crate) use self::masked::mask;

use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_core::{
    Action, Call, Finding, HookLeft, Identity, Masked, McpMessage, McpRequest, McpSessionInfo,
    MessageKind, Principal, PrincipalKind, RequestMetadata, Severity, Tier, Verdict, Wall,
};
use mcpproxy_hooks::{Around, Noted, Phase, Registry, Subject};
use mcpproxy_policy::decide;
use mcpproxy_text as text;

use crate::engine::{Engine, Found, Judged, announces};
use crate::facts::whose;
use crate::ready::Ready;

pub use self::aside::{Heard, Note};
pub(crate) use self::listing::Looked;
pub use self::listing::{HOOKED, UnderWay};
pub(crate) use self::told::Told;
pub use self::tried::Tried;

/// How often hooks may change one message: after that they do not agree.
const ROUNDS: usize = 4;
/// Under which id hooks that are told and not asked read what was decided.
const SELF: &str = "mcpproxy";
/// What hooks leave on record about one call at most.
const MOST_LEFT: usize = 32;

impl Engine {
    /// Judges a call by everything there is: facts, rules, hooks. Hooks may change it.
    /// `early` is what guards found that look at it once.
    pub(crate) async fn judged(
        &self,
        call: &mut Call,
        early: Vec<Finding>,
        ready: &Ready,
    ) -> Judged {
        call.trace.began = Some(self.now().0);
        match self.pipeline_for(call, ready) {
            None => self.ruled(call, self.found_by_all(call, &early, ready).await, ready),
            // Boxed: without hooks a call stays small.
            Some(pipeline) => Box::pin(self.rounds(call, &early, ready, &pipeline)).await,
        }
    }

    /// Returns the hooks that are asked about a call before it leaves, if there are any. One that a
    /// hook of an agent announces comes by itself.
    fn pipeline_for(&self, call: &Call, ready: &Ready) -> Option<Arc<Registry>> {
        let pipeline = self.hooks()?;
        let concerns = ready.settings.enabled && pipeline.concerns(phase(call));
        (concerns && !announces(call)).then_some(pipeline)
    }

    async fn rounds(
        &self,
        call: &mut Call,
        early: &[Finding],
        ready: &Ready,
        pipeline: &Registry,
    ) -> Judged {
        let around = self.around(call);
        let found = self.agreed(call, early, ready, pipeline, &around).await;
        let judged = self.ruled(call, found, ready);
        let around = told(around, &judged.verdict);
        pipeline.tell(subject(call), &around, &masked::mask(ready));
        judged
    }

    /// Asks the hooks about a call until none of them changes it any more.
    async fn agreed(
        &self,
        call: &mut Call,
        early: &[Finding],
        ready: &Ready,
        pipeline: &Registry,
        around: &Around,
    ) -> Found {
        let mask = masked::mask(ready);
        let mut kept = Vec::new();
        for _ in 0..ROUNDS {
            let mut found = self.found_by_all(call, early, ready).await;
            found.findings.extend(kept.iter().cloned());
            let facts = &found.seen.facts;
            let so_far = decide(&ready.settings.policy, call, facts, found.findings.clone());
            if so_far.wanted == Action::Deny {
                return found;
            }
            let mut ran = pipeline.ask(subject(call), around, &mask).await;
            let change = ran.changed.take().filter(|_| ran.wants() < Action::Deny);
            leave(ready, call, ran.headers, ran.metadata);
            let Some(change) = change else {
                found.findings.extend(said(ready, call, ran.noted));
                return found;
            };
            match changed::applied(call, &change) {
                // The same again, in another order.
                Ok(raw) if raw == call.wire.raw => {
                    found.findings.extend(said(ready, call, ran.noted));
                    return found;
                }
                Ok(raw) => {
                    // What was reserved for the call as it was is given back.
                    self.unsent(call);
                    call.wire.raw = raw;
                    kept = said(ready, call, ran.noted.into_iter().filter(is_change));
                }
                Err(why) => {
                    found.findings.push(refusal("unusable_modification", why));
                    return found;
                }
            }
        }
        let mut found = self.found_by_all(call, early, ready).await;
        found.findings.append(&mut kept);
        let why = "hooks go on changing this call and do not agree on a form of it";
        found.findings.push(refusal("hook_rounds", why));
        found
    }

    /// Returns when the session of a call began: when it was opened, or where the protocol has none,
    /// when the conversation was first heard of.
    fn established(&self, call: &Call) -> Wall {
        let heard = || {
            let since = self.tracker().since(whose(call))?;
            Some(self.wall_at(since))
        };
        call.trace.opened.or_else(heard).unwrap_or(call.at)
    }

    /// Returns what surrounds a call.
    pub(crate) fn around(&self, call: &Call) -> Around {
        let request = call.trace.request.as_ref();
        let request = request.map_or_else(|| bare(call), |request| (**request).clone());
        let upstream = call.tool.upstream.to_string();
        let version = call.trace.version.as_deref().unwrap_or_default();
        let agent = call.hook.as_ref().map(|hook| hook.agent.to_string());
        let earlier = call.trace.hook_metadata.iter();
        Around {
            correlation_id: call.correlation_id(),
            session: Arc::new(McpSessionInfo {
                session_id: call.session.id.to_string(),
                server_id: upstream.clone(),
                server_name: upstream,
                protocol_version: version.to_owned(),
                established_at: self.established(call),
            }),
            identity: Some(Arc::new(identity(&call.who, agent))),
            request: Arc::new(RequestMetadata {
                method: call.kind.method().to_owned(),
                ..request
            }),
            earlier: earlier
                .map(|left| (left.hook.clone(), left.data.clone()))
                .collect(),
            left: self.now().0.until(call.deadline),
        }
    }
}

/// Adds what was decided, for hooks that are told and not asked.
fn told(mut around: Around, verdict: &Verdict) -> Around {
    let decider = verdict.decided_by.and_then(|at| verdict.findings.get(at));
    let said = serde_json::json!({
        "decision": verdict.wanted,
        "effective": verdict.action,
        "rule": decider.map(|finding| &finding.rule),
        "risk_level": verdict.risk.level,
        "risk_score": verdict.risk.score,
    });
    around.earlier.push((SELF.into(), said.to_string().into()));
    around
}

fn phase(call: &Call) -> Phase {
    match &call.kind {
        MessageKind::Request(_) | MessageKind::Answer(_) => Phase::Request,
        MessageKind::Notification(_) => Phase::Notification,
    }
}

/// A call as hooks see it. What a downstream answers an upstream is data that leaves, as a request
/// is.
fn subject(call: &Call) -> Subject {
    let params = call.wire.raw.slice(span(call));
    match &call.kind {
        MessageKind::Request(method) | MessageKind::Answer(method) => {
            Subject::Request(McpRequest {
                method: Arc::clone(method),
                name: call.tool.tool.as_str().into(),
                params,
                id: call.wire.ticket.map(|ticket| ticket.to_string().into()),
            })
        }
        MessageKind::Notification(method) => Subject::Message(McpMessage {
            to_upstream: true,
            wants_answer: false,
            method: Arc::clone(method),
            params,
        }),
    }
}

/// Where in a message that leaves its content stands.
fn span(call: &Call) -> std::ops::Range<usize> {
    let raw = std::str::from_utf8(&call.wire.raw).unwrap_or_default();
    let mut found = ["params", "result", "error"].into_iter();
    let found = found.find_map(|name| text::get(raw, &[name]));
    found.map_or(0..0, |(_, span)| span)
}

fn bare(call: &Call) -> RequestMetadata {
    RequestMetadata {
        method: String::new(),
        path: String::new(),
        headers: Vec::new(),
        remote_addr: None,
        timestamp: call.at,
    }
}

/// A caller as hooks know it: what its credential claims, and its kind as a role.
fn identity(who: &Principal, agent_id: Option<String>) -> Identity {
    let claims = who.claims.as_deref().cloned().unwrap_or_default();
    let mut roles = vec![role(who.kind).to_owned()];
    roles.extend(claims.roles);
    Identity {
        user_id: who.name.to_string(),
        agent_id,
        roles,
        scopes: claims.scopes,
        attributes: claims.attributes,
    }
}

fn role(kind: PrincipalKind) -> &'static str {
    match kind {
        PrincipalKind::Owner => "owner",
        PrincipalKind::Agent => "agent",
        PrincipalKind::User => "user",
        PrincipalKind::Certificate => "certificate",
        PrincipalKind::Local => "local",
    }
}

/// Turns what hooks say into findings, with secrets in their words masked.
fn said(ready: &Ready, call: &Call, noted: impl IntoIterator<Item = Noted>) -> Vec<Finding> {
    let noted = noted.into_iter();
    let safe = |words: String| masked::words(ready, &words);
    noted.map(|one| one.finding(call.askable, safe)).collect()
}

fn is_change(noted: &Noted) -> bool {
    noted.wants == Action::Allow
}

/// Puts what hooks left with the call: headers, of which the last of a name counts, and notes, with
/// secrets in them masked.
fn leave(
    ready: &Ready,
    call: &mut Call,
    headers: Vec<(String, String)>,
    metadata: Vec<(Box<str>, Box<str>)>,
) {
    let added = &mut call.trace.added_headers;
    for header in headers {
        added.retain(|(name, _)| !name.eq_ignore_ascii_case(&header.0));
        added.push(header);
    }
    let left = &mut call.trace.hook_metadata;
    let room = MOST_LEFT.saturating_sub(left.len());
    left.extend(kept(ready, metadata).into_iter().take(room));
}

fn kept(ready: &Ready, metadata: Vec<(Box<str>, Box<str>)>) -> Vec<HookLeft> {
    let mask = masked::mask(ready);
    let safe = metadata.into_iter().filter_map(|(hook, data)| {
        let data = mask(&Bytes::from(String::from(data)))?;
        let data = std::str::from_utf8(&data).ok()?.into();
        Some(HookLeft { hook, data })
    });
    safe.take(MOST_LEFT).collect()
}

/// A denial that no single hook gave.
fn refusal(rule: &'static str, why: &str) -> Finding {
    Finding {
        severity: Severity::High,
        reason: Masked::from_safe(why),
        ..Finding::new(rule, Tier::Hook, Action::Deny)
    }
}
