//! A message's way through the engine, and the question that it may raise: who waits for the answer
//! is asked, or a person who looks at the queue.
//!
//! An answer counts for this call alone. Nothing that an upstream wrote is shown unmarked.

use std::sync::Arc;

use mcpproxy_core::{
    Action, Askable, Call, CallId, Cleared, Likeness, Match, MessageKind, OfferKind, ToolRef,
    Trace, Traced, Wire,
};
use mcpproxy_engine::{Asked, Before, Denied, Event, HIDDEN, Happening, Said, Standing, UNLISTED};
use mcpproxy_mcp::compose::quoted;
use mcpproxy_mcp::era::{self, Era, declares};
use mcpproxy_mcp::{Frame, FrameKind, compose};
use mcpproxy_text as text;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::ask::{ask_legacy, ask_modern};
use crate::downstream::Downstream;
use crate::error::Failure;
use crate::forward::{Origin, Target};
use crate::gateway::Gateway;
use crate::listing::unknown_resource;
use crate::translate;
use crate::unjudged::CALL;

/// The member of `_meta` under which a denied call says why.
pub(crate) const DECISION: &str = "io.mcpproxy/decision";
/// The method with which somebody is asked.
const ELICIT: &str = "elicitation/create";
/// Characters of a tool's name that are shown to a person.
const SHOWN: usize = 80;

/// Where a message is about to leave.
pub(crate) struct At<'a> {
    pub(crate) gateway: &'a Arc<Gateway>,
    pub(crate) downstream: &'a Downstream,
    pub(crate) target: &'a Target,
    pub(crate) deadline: Instant,
}

/// The message.
pub(crate) struct Message<'a> {
    sent: &'a Frame,
    kind: MessageKind,
    leg: u8,
}

impl<'a> Message<'a> {
    /// Takes a message as it will leave.
    pub(crate) fn new(sent: &'a Frame, kind: MessageKind) -> Self {
        Self { sent, kind, leg: 0 }
    }

    /// Counts the retries of one invocation.
    pub(crate) fn of_leg(self, leg: u8) -> Self {
        Self { leg, ..self }
    }
}

/// Takes a message through the engine; `origin` is whoever can be asked about it.
pub(crate) async fn clear(
    at: &At<'_>,
    message: Message<'_>,
    origin: Option<&mut Origin>,
) -> Result<Box<Cleared<Call>>, Failure> {
    let (gateway, downstream) = (at.gateway, at.downstream);
    let left = at.deadline.saturating_duration_since(Instant::now());
    let arrived = downstream.arrived.as_ref();
    let arrived = arrived.map(|arrived| arrived.next(gateway));
    let (id, trace) = arrived.unwrap_or_else(|| (gateway.call_id(), Trace::default()));
    let (wire, traced) = wire(gateway, &message, id)?;
    let call = Call {
        id,
        leg: message.leg,
        at: gateway.clock.wall(),
        deadline: gateway.clock.tick().after(left),
        door: downstream.door,
        who: downstream.who.clone(),
        scope: Gateway::flow_scope(&downstream.who),
        session: downstream.conversation(),
        kind: message.kind.clone(),
        tool: ToolRef {
            upstream: at.target.upstream.name().clone(),
            tool: at.target.tool.clone(),
        },
        declared: at.target.declared.clone(),
        askable: askable(gateway, downstream, origin.is_some()),
        hook: None,
        trace: Trace {
            version: gateway
                .engine
                .hooks()
                .map(|_| downstream.greeting.version.as_str().into()),
            opened: downstream.session.as_ref().map(|session| session.opened),
            asked_as: origin.as_ref().map(|origin| origin.id.as_str().into()),
            traced,
            ..trace
        },
        wire,
    };
    if matches!(&message.kind, MessageKind::Request(method) if &**method == CALL) {
        downstream.judged.set();
    }
    match gateway.engine.before(call).await {
        Before::Cleared(cleared) => Ok(cleared),
        // Boxed: few calls raise a question.
        Before::Asked(asked) => Box::pin(ask(at, *asked, origin)).await,
        Before::Denied(why) if is_unknown(&why) => {
            let kind = kind_of(message.kind.method(), message.sent);
            Err(unknown(kind, at.target.tool.as_str()))
        }
        Before::Denied(why) => Err(denied(&why, id)),
        Before::Unrecorded(fault) => Err(Failure::unrecorded(&fault)),
    }
}

/// Returns the message as it will leave. Where calls are traced, a request names the gateway's span: that
/// is put in before it is judged, so that what is judged is what leaves.
fn wire(
    gateway: &Gateway,
    message: &Message<'_>,
    id: CallId,
) -> Result<(Wire, Option<Traced>), Failure> {
    let is_request = matches!(message.kind, MessageKind::Request(_));
    if !is_request || !gateway.engine.keeps_spans() {
        return Ok((message.sent.wire(), None));
    }
    let (sent, parent) = translate::traced(message.sent, id, gateway.limits())?;
    let parent = parent.map(Into::into);
    Ok((sent.wire(), Some(Traced { parent })))
}

/// Tells whether a call was denied of something that nobody has listed, or that its caller may not
/// know of. Whatever else speaks against the call is not said: it would tell the two apart.
fn is_unknown(why: &Denied) -> bool {
    let mut findings = why.verdict.findings.iter();
    findings.any(|finding| finding.rule == UNLISTED || finding.rule == HIDDEN)
}

fn kind_of(method: &str, sent: &Frame) -> OfferKind {
    match method {
        "prompts/get" => OfferKind::Prompt,
        "completion/complete" if sent.parameter(&["ref", "uri"]).is_none() => OfferKind::Prompt,
        "completion/complete" => OfferKind::Resource,
        method if method.starts_with("resources/") => OfferKind::Resource,
        _ => OfferKind::Tool,
    }
}

/// Answers as if there were no such thing.
pub(crate) fn unknown(kind: OfferKind, name: &str) -> Failure {
    let short: String = name.chars().take(SHOWN).collect();
    match kind {
        OfferKind::Prompt => Failure::params(format!("unknown prompt `{short}`")),
        OfferKind::Resource | OfferKind::Template => unknown_resource(name),
        OfferKind::Tool | OfferKind::Server | OfferKind::Instructions => {
            Failure::unknown_tool(&short)
        }
    }
}

/// Finds out whom a question about a call could be put to.
fn askable(gateway: &Gateway, downstream: &Downstream, waits: bool) -> Askable {
    if waits && declares(&downstream.greeting.capabilities, ELICIT) {
        match downstream.era {
            Era::Legacy if downstream.session.is_some() => return Askable::Elicit,
            Era::Modern => return Askable::InputRequired,
            Era::Legacy => {}
        }
    }
    match gateway.engine.patience() {
        Some(_) => Askable::Queue,
        None => Askable::Nobody,
    }
}

/// Asks, and goes on with the answer.
async fn ask(
    at: &At<'_>,
    mut asked: Asked,
    origin: Option<&mut Origin>,
) -> Result<Box<Cleared<Call>>, Failure> {
    let id = asked.call.id;
    let said = match (asked.call.askable, origin) {
        (Askable::Elicit | Askable::InputRequired, Some(origin)) => {
            let call = Box::new(asked.call.clone());
            let engine = &at.gateway.engine;
            engine.chronicle(Happening::Asked(call.clone())).await;
            let said = elicited(at, &asked, origin).await;
            let outcome = match said {
                Said::Yes => "approved",
                Said::No => "denied",
                Said::Nothing | Said::Later => "lapsed",
            };
            let answered = Happening::Elicited { call, outcome };
            engine.chronicle(answered).await;
            said
        }
        (Askable::Queue, _) => match queued(at, &mut asked).await {
            Ok(said) => said,
            Err(waits) => {
                let stopped = at.gateway.engine.answered(asked, Said::Later).await;
                return Err(match stopped {
                    Before::Unrecorded(fault) => Failure::unrecorded(&fault),
                    Before::Cleared(_) | Before::Asked(_) | Before::Denied(_) => waits,
                });
            }
        },
        (Askable::Elicit | Askable::InputRequired, None)
        | (Askable::AgentPrompt | Askable::Nobody, _) => Said::Nothing,
    };
    match at.gateway.engine.answered(asked, said).await {
        Before::Cleared(cleared) => Ok(cleared),
        Before::Denied(why) => Err(refused(&why, id, said)),
        Before::Unrecorded(fault) => Err(Failure::unrecorded(&fault)),
        Before::Asked(_) => Err(Failure::internal("a question raised another")),
    }
}

/// Asks whoever waits for the answer of the call.
async fn elicited(at: &At<'_>, asked: &Asked, origin: &mut Origin) -> Said {
    let raw = compose::request("0", ELICIT, &question(asked));
    let Ok(frame) = Frame::parse(raw, at.gateway.limits()) else {
        return Said::Nothing;
    };
    let reply = match at.downstream.era {
        Era::Legacy => ask_legacy(at.downstream, at.deadline, &frame, origin).await,
        Era::Modern => ask_modern(at.gateway, at.downstream, &frame, origin).await,
    };
    match reply {
        Ok(reply) if reply.kind() == FrameKind::Result => decision(reply.payload()),
        Ok(_) | Err(_) => Said::Nothing,
    }
}

/// Puts a question into the queue and waits for as long as the call may take, or until the question
/// lapses.
async fn queued(at: &At<'_>, asked: &mut Asked) -> Result<Said, Failure> {
    let engine = &at.gateway.engine;
    let patience = engine.patience().unwrap_or_default();
    match at.gateway.known_elsewhere(asked).await {
        Some(Ok((said, before))) => {
            asked.call.trace.approval = before;
            return Ok(said);
        }
        Some(Err(id)) => return Err(pending(&id)),
        None => {}
    }
    let now = (at.gateway.clock.tick(), at.gateway.clock.wall());
    let lapses = Instant::now() + patience;
    let (id, answered) = match engine.approvals().put(asked, now, patience) {
        Standing::Said(said, before) => {
            asked.call.trace.approval = Some(before);
            return Ok(said);
        }
        Standing::Pending(id) => return Err(pending(&id.to_string())),
        Standing::Full => return Err(Failure::too_many("calls that wait for approval")),
        Standing::Waits(id, answered) => (id, answered),
    };
    engine
        .events()
        .tell(Event::approval_requested(&asked.call, id));
    let put = Happening::Asked(Box::new(asked.call.clone()));
    engine.chronicle(put).await;
    at.gateway.share_questions().await;
    let waited = tokio::select! {
        waited = timeout_at(at.deadline.min(lapses), answered) => waited,
        // The time that is left is for calls that will be answered in it.
        () = at.gateway.stopped() => return Err(pending(&id.to_string())),
    };
    match waited {
        Ok(Ok(said)) => Ok(said),
        Ok(Err(_)) => Ok(Said::Nothing),
        Err(_) if lapses <= at.deadline => {
            engine.approvals().lapse(id);
            engine.record_lapsed().await;
            Ok(Said::Nothing)
        }
        Err(_) => Err(pending(&id.to_string())),
    }
}

/// The question as a form: denying comes first, nothing is chosen beforehand, and an empty answer
/// is no answer.
fn question(asked: &Asked) -> String {
    let ToolRef { upstream, tool } = &asked.call.tool;
    let tool: String = tool.as_str().chars().take(SHOWN).collect();
    let reason = asked.verdict().reason().unwrap_or("policy asks first");
    let message = format!(
        "mcpproxy asks before this call leaves: {reason}\nUpstream `{upstream}`, tool `{tool}`. Allow it?"
    );
    let message = quoted(&message);
    format!(
        r#"{{"message":{message},"requestedSchema":{{"type":"object","properties":{{"decision":{{"type":"string","title":"Decision","enum":["deny","allow"]}}}},"required":["decision"]}}}}"#
    )
}

/// Reads an answer: only an accepted form that says `allow` allows.
fn decision(result: &str) -> Said {
    let said = |path: &[&str]| text::get(result, path).and_then(|(raw, _)| text::string(raw));
    let accepted = said(&["action"]).is_some_and(|action| action == "accept");
    let chosen = said(&["content", "decision"]);
    match chosen.as_deref() {
        Some("allow") if accepted => Said::Yes,
        _ => Said::No,
    }
}

fn pending(id: &str) -> Failure {
    let outside = format!(
        "approval {id} is pending: a person was asked about this call; repeat the same call later"
    );
    Failure {
        retry: true,
        data: Some(Box::new(
            json!({ "decision": "ask", "approval_id": id, "retry": true }),
        )),
        ..Failure::downstream(era::DENIED, "denied", outside)
    }
}

fn refused(why: &Denied, id: CallId, said: Said) -> Failure {
    let failure = denied(why, id);
    let end = match said {
        Said::No => "a person refused this call",
        Said::Yes | Said::Nothing | Said::Later => {
            "a person was asked about this call and did not answer"
        }
    };
    Failure {
        outside: format!("{} ({end})", failure.outside),
        ..failure
    }
}

/// What the caller is told about an answer that hooks withhold.
pub(crate) fn withheld(why: &Denied, id: CallId) -> Failure {
    let outside = format!("the answer is withheld by mcpproxy: {}", why.answer.reason);
    Failure {
        outside,
        ..denied(why, id)
    }
}

fn denied(why: &Denied, id: CallId) -> Failure {
    let outside = format!("denied by mcpproxy: {}", why.answer.reason);
    Failure {
        data: Some(Box::new(decided(why, id))),
        ..Failure::downstream(era::DENIED, "denied", outside)
    }
}

/// What is told about a decision beside its reason. An agent that was turned away often is told
/// no more than that.
fn decided(why: &Denied, id: CallId) -> Value {
    let Denied { verdict, answer } = why;
    let decision = match verdict.wanted {
        Action::Ask => "ask",
        Action::Allow | Action::Warn | Action::Deny => "deny",
    };
    let mut data = json!({ "decision": decision, "activity_id": id.to_string() });
    let terse = verdict.reason() != Some(answer.reason.as_str());
    let deciding = verdict.decided_by.and_then(|at| verdict.findings.get(at));
    if let (Some(data), Some(finding), false) = (data.as_object_mut(), deciding, terse) {
        data.insert("rule".to_owned(), (*finding.rule).into());
        data.insert("flow_type".to_owned(), json!(verdict.flow));
        data.insert("risk_level".to_owned(), json!(verdict.risk.level));
        data.insert("risk_score".to_owned(), verdict.risk.score.into());
        data.insert("remedy".to_owned(), json!(answer.remedy));
        if let Some(seconds) = finding.retry_after {
            data.insert("retry_after".to_owned(), seconds.into());
        }
        if let Some(matched) = &finding.evidence {
            data.insert("evidence".to_owned(), recognized(matched).into());
        }
    }
    data
}

/// How data was recognized, as `encoded(base64)`.
fn recognized(matched: &Match) -> String {
    let how = match matched.how {
        Likeness::Exact => "exact",
        Likeness::Field => "field",
        Likeness::Normalized => "normalized",
        Likeness::Fragment => "fragment",
        Likeness::Encoded => "encoded",
        Likeness::Pieces => "pieces",
        Likeness::Tokens => "tokens",
    };
    if matched.via.is_empty() {
        return how.to_owned();
    }
    format!("{how}({})", matched.via.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_explicit_allow_allows() {
        let check = |result: &str, expect: Said| assert_eq!(decision(result), expect, "{result}");
        check(
            r#"{"action":"accept","content":{"decision":"allow"}}"#,
            Said::Yes,
        );
        check(
            r#"{"action":"accept","content":{"decision":"deny"}}"#,
            Said::No,
        );
        check(r#"{"action":"accept","content":{}}"#, Said::No);
        check(r#"{"action":"accept"}"#, Said::No);
        check(
            r#"{"action":"decline","content":{"decision":"allow"}}"#,
            Said::No,
        );
        check(
            r#"{"action":"accept","content":{"decision":true}}"#,
            Said::No,
        );
        check("{}", Said::No);
    }
}
