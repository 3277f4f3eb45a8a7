//! Questions of an upstream to a downstream, in every combination of eras.
//!
//! A downstream's answer leaves for the upstream like any other data, so it goes through the
//! engine like any other call.

use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_core::MessageKind;
use mcpproxy_mcp::envelope::remove;
use mcpproxy_mcp::era::{DENIED, Era, METHOD_NOT_FOUND, capability, declares};
use mcpproxy_mcp::input::{self, InputRequired};
use mcpproxy_mcp::{Frame, FrameKind, compose};
use mcpproxy_text::{self as text, Splice};
use mcpproxy_upstream::instance::ticket;
use tokio::time::{Instant, timeout_at};

use crate::asides::overheard;
use crate::downstream::Downstream;
use crate::error::Failure;
use crate::forward::{Origin, Passage, Target};
use crate::gateway::Gateway;
use crate::session::{Question, Session};

/// What an upstream is told of an answer that policy keeps from it.
const WITHHELD: &str = "the answer is withheld by mcpproxy";
/// The key under which the one question of a translated request stands.
const KEY: &str = "request";

/// Puts a legacy upstream's request to the downstream and returns what it says; nothing if the
/// upstream is answered already.
pub(crate) async fn put_to(
    passage: &Passage<'_>,
    frame: &Frame,
    origin: &mut Origin,
) -> Result<Option<Frame>, Failure> {
    let id = frame.id().unwrap_or_default();
    if &**frame.method() == "ping" {
        passage.instance.pong(id).await;
        return Ok(None);
    }
    if !declares(&passage.downstream.greeting.capabilities, frame.method()) {
        let message = "the downstream did not declare the capability for this request";
        passage.instance.refuse(id, METHOD_NOT_FOUND, message).await;
        return Ok(None);
    }
    let answered = match passage.downstream.era {
        Era::Legacy => ask_legacy(passage.downstream, passage.deadline, frame, origin).await,
        Era::Modern => ask_modern(passage.gateway, passage.downstream, frame, origin).await,
    };
    match answered {
        Ok(reply) => Ok(Some(reply)),
        Err(failure) => {
            passage
                .instance
                .refuse(id, failure.code, &failure.outside)
                .await;
            Ok(None)
        }
    }
}

/// Clears an answer and sends it to the upstream under the id of the upstream's own request.
pub(crate) async fn answer(
    passage: &Passage<'_>,
    asked: &Frame,
    reply: &Frame,
) -> Result<(), Failure> {
    let id = asked.id().unwrap_or_default();
    let sent = Frame::parse(reply.with_id(id), passage.gateway.limits())?;
    let kind = MessageKind::Answer(Arc::clone(asked.method()));
    match passage.clear_as(&sent, kind).await {
        Ok(cleared) => passage.deliver(&cleared).await,
        Err(failure) => {
            // Why is on record: an upstream must not learn from a denial what is known of others.
            let why = match failure.code {
                DENIED => WITHHELD,
                _ => &failure.outside,
            };
            passage.instance.refuse(id, failure.code, why).await;
            Ok(())
        }
    }
}

/// Sends a request to a legacy downstream, along with the answer it belongs to, and waits.
pub(crate) async fn ask_legacy(
    downstream: &Downstream,
    deadline: Instant,
    frame: &Frame,
    origin: &Origin,
) -> Result<Frame, Failure> {
    let session = downstream.session.as_ref();
    let session = session.ok_or_else(|| Failure::internal("a legacy downstream has no session"))?;
    let number = ticket();
    let answered = session.expect(number);
    if !origin.way.tell(frame.with_id(&number.to_string())) {
        return Err(Failure::overloaded());
    }
    let answered = timeout_at(deadline, answered)
        .await
        .map_err(|_| Failure::timed_out())?;
    answered.map_err(|_| Failure::timed_out())
}

/// Gives a stateless downstream the question as a result and waits until it comes back.
pub(crate) async fn ask_modern(
    gateway: &Gateway,
    downstream: &Downstream,
    frame: &Frame,
    origin: &mut Origin,
) -> Result<Frame, Failure> {
    let patience = gateway.active().settings.limits.pending_input.into();
    let now = (gateway.clock.tick(), gateway.clock.wall());
    let principal = &downstream.who.name;
    let (state, resumed) = gateway
        .parked
        .park(principal, origin.frame.params(), now, patience)?;
    gateway
        .publish_parked(&state, &downstream.who, patience)
        .await;
    let result = input::ask(KEY, frame.method(), frame.params(), &state);
    origin
        .way
        .finish(compose::result(&origin.id, &result), None, None)
        .await;
    let resumed = tokio::time::timeout(patience, resumed)
        .await
        .map_err(|_| Failure::timed_out())?;
    let resumed = resumed.map_err(|_| Failure::timed_out())?;
    *origin = resumed.origin;
    let answer = text::get(&resumed.answers, &[KEY]).map(|(raw, _)| raw.to_owned());
    let answer = answer.ok_or_else(|| Failure::params("the input response is missing"))?;
    Ok(Frame::parse(
        compose::result("0", &answer),
        gateway.limits(),
    )?)
}

/// Refuses questions of a modern upstream that the downstream did not declare to be able to answer. One
/// that the protocol does not know is between the two of them.
pub(crate) fn refuse_undeclared(
    downstream: &Downstream,
    wanted: &InputRequired,
) -> Result<(), Failure> {
    let declared = &downstream.greeting.capabilities;
    let mut methods = wanted.requests.iter().map(|request| &*request.method);
    let unfit = methods.find(|method| capability(method).is_some() && !declares(declared, method));
    unfit.map_or(Ok(()), |method| Err(undeclared(method)))
}

fn undeclared(method: &str) -> Failure {
    Failure::params(format!(
        "the upstream wants `{method}`, which was not declared"
    ))
}

/// Asks a legacy downstream everything that a modern upstream wants to know, and returns the
/// request with the answers.
pub(crate) async fn gather(
    passage: &Passage<'_>,
    outgoing: &Frame,
    wanted: &InputRequired,
    origin: &Origin,
) -> Result<Frame, Failure> {
    let limits = passage.gateway.limits();
    let mut answers = Vec::with_capacity(wanted.requests.len());
    for request in &wanted.requests {
        if !declares(&passage.downstream.greeting.capabilities, &request.method) {
            return Err(undeclared(&request.method));
        }
        let raw = compose::request("0", &request.method, &request.params);
        let question = Frame::parse(raw, limits)?;
        let reply = ask_legacy(passage.downstream, passage.deadline, &question, origin).await?;
        if reply.kind() != FrameKind::Result {
            return Err(Failure::params(format!(
                "`{}` was answered with an error",
                request.method
            )));
        }
        answers.push((request.key.clone(), reply.payload().to_owned()));
    }
    let members = input::retry_members(&answers, wanted.state.as_deref());
    let bare = remove(outgoing, &[], &["inputResponses", "requestState"], limits)?;
    let mut splice = Splice::default();
    if let Some(span) = bare.params_span() {
        let comma = if text::members(bare.params()).next().is_some() {
            ","
        } else {
            ""
        };
        splice.replace(span.start + 1..span.start + 1, format!("{members}{comma}"));
    }
    Ok(bare.edited(splice, limits)?)
}

/// Puts the questions of upstreams that belong to no call to the session's client, one after the
/// other, for as long as the session lives.
pub(crate) async fn serve_questions(
    gateway: Arc<Gateway>,
    session: std::sync::Weak<Session>,
    mut questions: tokio::sync::mpsc::Receiver<Box<Question>>,
) {
    while let Some(question) = questions.recv().await {
        let Some(session) = session.upgrade() else {
            return;
        };
        // Boxed: a session that is never asked anything stays small.
        let Some(question) = Box::pin(judged(&gateway, &session, *question)).await else {
            continue;
        };
        if question.frame.kind() == FrameKind::Notification {
            if session.wants(&question.frame) {
                session.push(question.frame.raw());
            }
            continue;
        }
        if let Err(failure) = Box::pin(put(&gateway, &session, &question)).await {
            tracing::info!("a question to a session came to nothing: {failure}");
        }
    }
}

/// Has the engine and hooks look at what an upstream says outside of calls; what they stop goes no
/// further.
async fn judged(gateway: &Gateway, session: &Session, question: Question) -> Option<Question> {
    let Question {
        upstream,
        asker,
        frame,
    } = question;
    let conversation = session.conversation(&gateway.engine, &upstream);
    match overheard(gateway, &conversation, &frame).await {
        Ok(frame) => Some(Question {
            upstream,
            asker,
            frame,
        }),
        Err(why) => {
            let asking = asker.get().and_then(std::sync::Weak::upgrade);
            if let (Some(instance), Some(id)) = (asking, frame.id()) {
                instance.refuse(id, DENIED, why).await;
            }
            None
        }
    }
}

async fn put(
    gateway: &Arc<Gateway>,
    session: &Arc<Session>,
    question: &Question,
) -> Result<(), Failure> {
    let downstream = Downstream::of_session(session, mcpproxy_core::Door::Mcp);
    let upstream = gateway.fleet.get(question.upstream.as_str())?;
    let caller = downstream.caller(upstream.name());
    let deadline = Instant::now() + gateway.call_timeout(upstream.settings());
    let opened = timeout_at(deadline, question.asker.wait()).await;
    let asker = opened.map_err(|_| Failure::timed_out())?;
    let instance = asker.upgrade().ok_or_else(|| over(question))?;
    let target = Target {
        upstream,
        tool: mcpproxy_core::ToolName::new(""),
        declared: mcpproxy_core::Declared::default(),
    };
    let passage = Passage {
        gateway,
        downstream: &downstream,
        target: &target,
        caller,
        instance,
        deadline,
    };
    let frame = &question.frame;
    let id = frame.id().unwrap_or_default();
    let number = ticket();
    let answered = session.expect(number);
    let message: Bytes = frame.with_id(&number.to_string());
    let can = declares(&session.greeting.capabilities, frame.method());
    if !can || !session.put(&message) {
        let why = "no downstream can be asked";
        passage.instance.refuse(id, METHOD_NOT_FOUND, why).await;
        return Ok(());
    }
    let reply = timeout_at(passage.deadline, answered)
        .await
        .map_err(|_| Failure::timed_out())?;
    let reply = reply.map_err(|_| Failure::timed_out())?;
    if passage.instance.ended().is_some() {
        return Err(over(question));
    }
    answer(&passage, frame, &reply).await
}

/// The conversation in which a question was asked has ended: another one did not ask.
fn over(question: &Question) -> Failure {
    let (upstream, method) = (&question.upstream, question.frame.method());
    Failure::params(format!(
        "the conversation in which `{upstream}` asked `{method}` has ended"
    ))
}
