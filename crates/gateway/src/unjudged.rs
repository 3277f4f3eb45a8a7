//! Receipts of calls that the engine never judged: refused at a door or on their way to an
//! upstream, or answered by the gateway itself. What a token's scope leaves out is on record, too.
//!
//! This is the one place that tells of them. Doors say who came and with what; whether that is a
//! call is found out here, from the bytes alone, since what is refused for its form has no frame.
//! What nobody can recognize as a call has no receipt.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{
    Cause, Deed, Door, Ended, Oddity, Passing, Principal, SessionKey, SinkFault, ToolName, ToolRef,
    Trace, UpstreamId, Verdict,
};
use mcpproxy_engine::{SCOPE, refusal, unjudged};
use mcpproxy_mcp::tap::{Part, Seen, Tap, Watch};
use mcpproxy_mcp::{Frame, Refusal, era};
use mcpproxy_text as text;

use crate::access::OUT_OF_SCOPE;
use crate::arrived::Arrived;
use crate::downstream::Downstream;
use crate::error::{Failure, Fault};
use crate::gateway::Gateway;
use crate::router::{Answer, SEPARATOR, only_upstream};
use crate::settings::RoutingMode;
use crate::toolbox;

/// The method of calls.
pub(crate) const CALL: &str = "tools/call";
/// Names the gateway where receipts name an upstream.
const SELF: &str = "mcpproxy";
/// What receipts name in place of a rule where the form of a message is refused.
const FORM: &str = "refused";
/// Calls of one refused batch that have receipts; a batch is refused as a whole, and must not be a
/// cheap way to fill the disk.
const MOST: usize = 64;

/// Says whether the engine has taken up a call of a request: its receipts are then the engine's.
#[derive(Clone, Debug, Default)]
pub struct Judged(Option<Arc<AtomicBool>>);

impl Judged {
    /// Begins to follow a request, where it may be a call and anybody keeps receipts.
    pub(crate) fn begin(gateway: &Gateway, frame: &Frame) -> Self {
        let followed = &**frame.method() == CALL && gateway.engine.is_witnessed();
        Self(followed.then(Arc::default))
    }

    /// Notes that the engine takes it up.
    pub(crate) fn set(&self) {
        if let Some(judged) = &self.0 {
            judged.store(true, Ordering::Relaxed);
        }
    }

    /// Tells whether it is a call that the engine did not take up.
    fn is_missing(&self) -> bool {
        let judged = self.0.as_ref();
        judged.is_some_and(|judged| !judged.load(Ordering::Relaxed))
    }
}

/// Somebody at a door with a message.
pub(crate) struct Knock<'a> {
    gateway: &'a Gateway,
    who: &'a Principal,
    mode: RoutingMode,
    door: Door,
    /// The conversation; that of the credential where there is none yet.
    session: Option<SessionKey>,
    arrived: Option<&'a Arrived>,
}

impl<'a> Knock<'a> {
    /// Somebody whose message has yet to be read.
    pub(crate) fn new(gateway: &'a Gateway, who: &'a Principal, mode: RoutingMode) -> Self {
        Self {
            gateway,
            who,
            mode,
            door: Door::Mcp,
            session: None,
            arrived: None,
        }
    }

    /// Adds how the message came in.
    pub(crate) fn arrived(self, arrived: &'a Arrived) -> Self {
        Self {
            arrived: Some(arrived),
            ..self
        }
    }

    /// Adds the conversation.
    pub(crate) fn within(self, session: SessionKey) -> Self {
        Self {
            session: Some(session),
            ..self
        }
    }

    /// Says that it came over the REST interface, where a credential is a conversation.
    pub(crate) fn over_rest(self, session: SessionKey) -> Self {
        Self {
            door: Door::Api,
            ..self.within(session)
        }
    }

    /// Says that an agent's hook brought it.
    pub(crate) fn over_hook(self, session: SessionKey) -> Self {
        Self {
            door: Door::Hook,
            ..self.within(session)
        }
    }

    /// The sender of a message that was read.
    pub(crate) fn of(gateway: &'a Gateway, downstream: &'a Downstream) -> Self {
        Self {
            gateway,
            who: &downstream.who,
            mode: downstream.mode,
            door: downstream.door,
            session: Some(downstream.conversation()),
            arrived: downstream.arrived.as_deref(),
        }
    }

    /// Tells that a message was refused for its form.
    pub(crate) async fn refused(&self, raw: &Bytes, why: &Refusal, odd: &[Oddity]) {
        self.turned_away(raw, (FORM, &why.message), odd).await;
    }

    /// Tells that a message was refused at the door, if it is a call.
    pub(crate) async fn turned_away(
        &self,
        raw: &Bytes,
        (rule, reason): (&'static str, &str),
        odd: &[Oddity],
    ) {
        if !self.gateway.engine.is_witnessed() {
            return;
        }
        let (calls, batched) = calls(raw);
        let oddities = odd.iter().copied();
        let oddities: Vec<_> = oddities.chain(batched.then_some(Oddity::Batched)).collect();
        for seen in calls {
            let tool = self.addressed(&seen.tool().unwrap_or_default());
            let verdict = refusal(rule, unquoted(reason));
            let deed = self.deed(raw, &seen, tool, verdict, oddities.clone());
            said(self.gateway.engine.witness_unjudged(deed, None).await);
        }
    }

    /// Tells that something was refused of which only its address says that it is a call.
    pub(crate) async fn unread(&self, why: (&'static str, &str)) {
        let raw = Bytes::from_static(br#"{"method":"tools/call","params":{"arguments":{}}}"#);
        self.turned_away(&raw, why, &[Oddity::Unread]).await;
    }

    /// Makes what a receipt tells of a call.
    fn deed(
        &self,
        raw: &Bytes,
        seen: &Seen,
        tool: ToolRef,
        verdict: Arc<Verdict>,
        oddities: Vec<Oddity>,
    ) -> Deed {
        let next = self.arrived.map(|arrived| arrived.next(self.gateway));
        let (id, trace) = next.unwrap_or_else(|| (self.gateway.call_id(), Trace::default()));
        let session = || Gateway::credential_key(self.who, None);
        let now = self.gateway.clock.wall();
        let asked_as = seen.id.as_deref().map(String::from_utf8_lossy);
        let whole = oddities.contains(&Oddity::Unread).then_some(0..raw.len());
        Deed {
            id,
            leg: 0,
            at: now,
            decided_at: now,
            door: self.door,
            principal: Arc::clone(&self.who.name),
            session: self.session.unwrap_or_else(session),
            tool,
            correlation_id: trace.correlation_id,
            hook: None,
            ticket: None,
            asked_as: asked_as.map(|id| id.into_owned().into()),
            oddities,
            raw: raw.clone(),
            // What cannot be taken apart is evidence as a whole.
            arguments: seen.arguments.clone().or(whole).unwrap_or(0..0),
            verdict,
        }
    }

    /// Finds out what a name is addressed to; what belongs to no upstream is the gateway's own.
    fn addressed(&self, name: &str) -> ToolRef {
        let own = || (UpstreamId::new(SELF), name);
        let (upstream, tool) = match self.mode {
            RoutingMode::Single => match only_upstream(self.gateway) {
                Ok(only) => (only.name().clone(), name),
                Err(_) => own(),
            },
            RoutingMode::All => self.split(name, SEPARATOR).unwrap_or_else(own),
            RoutingMode::Call => own(),
        };
        ToolRef {
            upstream,
            tool: ToolName::new(tool),
        }
    }

    fn split<'n>(&self, name: &'n str, separator: &str) -> Option<(UpstreamId, &'n str)> {
        let (upstream, tool) = name.split_once(separator)?;
        let found = self.gateway.fleet.get(upstream).ok()?;
        Some((found.name().clone(), tool))
    }

    /// Takes a call of an upstream's tool out of one of ours, where it can be.
    fn inside(&self, frame: &Frame) -> Option<(Frame, ToolRef)> {
        if self.mode != RoutingMode::Call {
            return None;
        }
        let inner = toolbox::inside(frame, self.gateway.limits())?;
        let upstream = self.gateway.fleet.get(&inner.upstream).ok()?;
        let tool = ToolRef {
            upstream: upstream.name().clone(),
            tool: ToolName::new(inner.tool),
        };
        Some((inner.frame, tool))
    }
}

/// Tells whether the engine took a request up, as it does most calls, or another task answers it.
pub(crate) fn is_settled(downstream: &Downstream, answer: &Result<Answer, Failure>) -> bool {
    match answer {
        Ok(Answer::Elsewhere) => true,
        Ok(_) => !downstream.judged.is_missing(),
        Err(failure) => !downstream.judged.is_missing() && failure.out_of_scope.is_none(),
    }
}

/// Tells what became of a request that is a call and that the engine did not take up, and of any
/// that a token's scope leaves out, which is on record, too. In strict mode an answer is released
/// once that is on disk.
pub(crate) async fn settled(
    gateway: &Gateway,
    downstream: &Downstream,
    frame: &Frame,
    answer: Result<Answer, Failure>,
    took: Duration,
) -> Result<Answer, Failure> {
    let beyond = answer.as_ref().err();
    let beyond = beyond.and_then(|failure| failure.out_of_scope.as_deref());
    let witnessed = downstream.judged.is_missing();
    let knock = Knock::of(gateway, downstream);
    let inside = knock.inside(frame);
    let raw = inside.as_ref().map_or(frame, |(inner, _)| inner).raw();
    let seen = calls(raw).0.pop().unwrap_or_default();
    let own = || knock.addressed(&seen.tool().unwrap_or_default());
    let meant = inside.as_ref().map_or_else(own, |(_, tool)| tool.clone());
    let meant = beyond.map_or(meant, |beyond| named(beyond, frame));
    let (ended, verdict) = match &answer {
        Ok(answer) => (Some(answered(answer, took)), unjudged()),
        // What the caller is told may hide that there is such a tool.
        Err(_) if beyond.is_some() => (None, refusal(SCOPE, OUT_OF_SCOPE)),
        Err(failure) => match failed(failure, frame, took) {
            Some(ended) => (Some(ended), unjudged()),
            None => (None, refusal(failure.name, unquoted(&failure.outside))),
        },
    };
    let deed = knock.deed(raw, &seen, meant, verdict, Vec::new());
    let engine = &gateway.engine;
    let unkept = |fault| Failure::unrecorded(&fault);
    if beyond.is_some() {
        let kept = engine.record_out_of_scope(&deed, frame.method()).await;
        kept.map_err(unkept)?;
    }
    if witnessed {
        let kept = engine.witness_unjudged(deed, ended).await;
        kept.map_err(unkept)?;
    }
    answer
}

/// What a scope leaves out; where it leaves out an upstream, what a request wanted of it.
fn named(beyond: &ToolRef, frame: &Frame) -> ToolRef {
    if !beyond.tool.as_str().is_empty() {
        return beyond.clone();
    }
    let wanted = frame.parameter(&["name"]).unwrap_or_default();
    ToolRef {
        upstream: beyond.upstream.clone(),
        tool: ToolName::new(wanted),
    }
}

/// How a call ended that the gateway answered itself.
fn answered(answer: &Answer, took: Duration) -> Ended {
    let body = match answer {
        Answer::Frame(frame) => frame.payload_bytes(),
        Answer::Result(result) => Bytes::copy_from_slice(result.as_bytes()),
        Answer::Elsewhere => Bytes::new(),
    };
    Ended::Answered {
        body,
        is_error: false,
        passing: Passing::Whole,
        took,
    }
}

/// How a call ended that failed before it was judged; nothing if it was refused.
fn failed(failure: &Failure, frame: &Frame, took: Duration) -> Option<Ended> {
    let why = failure.unanswered().cause;
    if matches!(why, Cause::TimedOut | Cause::Cancelled) {
        return Some(Ended::Unanswered { cause: why, took });
    }
    // An upstream that nobody has is the caller's mistake.
    let upstream = failure.fault == Fault::Upstream && failure.code != era::INVALID_PARAMS;
    if !upstream && failure.name != "internal" {
        return None;
    }
    let answer = failure.answer(frame.id());
    let span = std::str::from_utf8(&answer).ok();
    let span = span.and_then(|text| text::get(text, &["error"]));
    Some(Ended::Unsent {
        body: span.map_or_else(Bytes::new, |(_, span)| answer.slice(span)),
        cause: upstream.then_some(Cause::Failed),
        took,
    })
}

/// Collects the calls of a message.
#[derive(Default)]
struct Calls {
    found: Vec<Seen>,
    /// One that readers may disagree about.
    doubted: Option<Seen>,
}

impl Watch for Calls {
    fn part(&mut self, _: Part, _: &[u8]) {}

    fn message(&mut self, seen: Seen) {
        if !seen.is_method(CALL) {
            self.doubted = self
                .doubted
                .take()
                .or(Some(seen).filter(|one| one.doubtful));
        } else if self.found.len() < MOST {
            self.found.push(seen);
        }
    }
}

/// Finds the calls in a message, and says whether it is a batch. One that breaks off before its
/// method, or says two things of itself, counts as a call if that method is named in it at all.
fn calls(raw: &Bytes) -> (Vec<Seen>, bool) {
    let (mut tap, mut calls) = (Tap::default(), Calls::default());
    tap.push(raw, &mut calls);
    let (partial, batched) = (tap.partial().clone(), tap.is_batch());
    let partial = tap.finish().err().map(|_| partial);
    let Calls { mut found, doubted } = calls;
    let unclear = |seen: &Seen| seen.method.is_none() && found.is_empty() && names_call(raw);
    let broken = partial.filter(|seen| seen.is_method(CALL) || unclear(seen));
    let doubted = doubted.filter(|_| found.is_empty() && names_call(raw));
    found.extend(broken.or(doubted));
    (found, batched)
}

/// Tells whether the method of calls stands in a text, be it one of UTF-16 or UTF-32.
fn names_call(raw: &[u8]) -> bool {
    let narrow: Vec<u8> = raw.iter().copied().filter(|byte| *byte != 0).collect();
    let mut words = narrow.windows(CALL.len());
    words.any(|word| word == CALL.as_bytes())
}

/// Leaves what is quoted out of a reason: it is the caller's own text, and receipts hold no values
/// unless they are asked to.
fn unquoted(reason: &str) -> String {
    match (reason.find('`'), reason.rfind('`')) {
        (Some(first), Some(last)) if first < last => {
            let (before, after) = (reason.get(..=first), reason.get(last..));
            [before, after].map(Option::unwrap_or_default).join("…")
        }
        _ => reason.to_owned(),
    }
}

/// Nothing hangs on it: the call is refused in any case, and what is lost is counted.
fn said(kept: Result<(), SinkFault>) {
    if let Err(fault) = kept {
        tracing::error!("a refused call has no receipt: {fault}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_recognized_whatever_is_wrong_with_them() {
        let check = |raw: &str, expect: usize| {
            let (found, _) = calls(&Bytes::copy_from_slice(raw.as_bytes()));
            assert_eq!(found.len(), expect, "{raw}");
        };
        check(r#"{"id":1,"method":"tools/call","params":{"name":"a"}}"#, 1);
        check(r#"{"id":1,"method":"tools\/call"}"#, 1);
        check(r#"{"method":"tools/call","params":[]}"#, 1);
        check(r#"{"method":"tools/call","method":"ping"}"#, 1);
        check(r#"{"method":"ping","method":"tools/call"}"#, 1);
        check(r#"{"method":"tools/call","params":{"name":"a""#, 1);
        check(r#"[{"method":"tools/call"},{"method":"tools/call"}]"#, 2);
        check(r#"[{"method":"ping"},{"method":"tools/call"}]"#, 1);
        check(r#"{"id":1,"method":"ping"}"#, 0);
        check(
            r#"{"id":1,"method":"prompts/get","params":{"name":"tools/call"}}"#,
            0,
        );
        check(r#"{"params":{"name":"a"},"method":"tools/call"#, 1);
        check(r#"{"method":"ping","params":{"a":1,"a":"tools/call"}}"#, 0);
        check(r#"{"method":"ping","params":"tools/call"#, 0);
        check("not JSON", 0);
        check(
            "{\0\"\0m\0e\0t\0h\0o\0d\0\"\0:\0\"\0t\0o\0o\0l\0s\0/\0c\0a\0l\0l\0\"\0}\0",
            1,
        );
        let many = vec![r#"{"method":"tools/call"}"#; MOST + 1].join(",");
        check(&format!("[{many}]"), MOST);
    }

    #[test]
    fn a_batch_is_one_whatever_stands_before_it() {
        let check = |raw: &str, expect: bool| {
            let (_, batched) = calls(&Bytes::copy_from_slice(raw.as_bytes()));
            assert_eq!(batched, expect, "{raw}");
        };
        check(r#"[{"method":"tools/call"}]"#, true);
        check(" \n[", true);
        check("\u{feff}[{\"method\":\"tools/call\"}]", true);
        check(r#"{"method":"tools/call","params":[]}"#, false);
        check("", false);
    }

    #[test]
    fn what_a_caller_wrote_is_not_repeated() {
        let check = |reason: &str, expect: &str| assert_eq!(unquoted(reason), expect);
        check("no tool is named `a`b`", "no tool is named `…`");
        check("`x` is not of the form `y`", "`…`");
        check("the session has ended", "the session has ended");
        check("one ` alone", "one ` alone");
    }
}
