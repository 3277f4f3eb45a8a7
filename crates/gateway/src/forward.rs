//! The way of a call: translate, clear, send, listen, judge, record, answer.
//!
//! A call runs in its own task, so that a downstream that disconnects cannot cut `after` short.

mod hearing;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{Call, Cleared, Declared, MessageKind, Outcome, Status, ToolName};
use mcpproxy_engine::After;
use mcpproxy_mcp::era::{self, Era};
use mcpproxy_mcp::frame::replace;
use mcpproxy_mcp::{Frame, FrameKind, compose, header, input};
use mcpproxy_text::{self as text, Limits};
use mcpproxy_upstream::instance::ticket;
use mcpproxy_upstream::settings::Scope;
use mcpproxy_upstream::{Caller, Instance, Upstream};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::ask;
use crate::clear::{At, DECISION, Message, clear, withheld};
use crate::downstream::{Downstream, Way};
use crate::error::{Failure, Fault};
use crate::gateway::{Gateway, INVALID_TOKEN};
use crate::translate;

/// Input rounds of one call at most.
const ROUNDS: u8 = 16;
/// Messages of an upstream that may wait for a call's task.
const EVENTS: usize = 64;

/// The request that waits for an answer: its raw id and the way back. A retry replaces it.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The raw id.
    pub id: String,
    /// The request itself, to which an input round is bound.
    pub frame: Frame,
    /// The way back.
    pub way: Way,
}

/// What a request is addressed to.
#[derive(Clone, Debug)]
pub struct Target {
    /// The upstream.
    pub upstream: Arc<Upstream>,
    /// The tool, prompt or resource; empty where none is named.
    pub tool: ToolName,
    /// What the agent says about its intent.
    pub declared: Declared,
}

/// One request on its way.
pub(crate) struct Passage<'a> {
    pub(crate) gateway: &'a Arc<Gateway>,
    pub(crate) downstream: &'a Downstream,
    pub(crate) target: &'a Target,
    pub(crate) caller: Caller,
    pub(crate) instance: Arc<Instance>,
    pub(crate) deadline: Instant,
}

/// Forwards a request and returns the upstream's answer, in the downstream's era and under the
/// gateway's own id.
pub async fn forward(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    target: &Target,
    origin: &mut Origin,
) -> Result<Frame, Failure> {
    let timeout = gateway.call_timeout(target.upstream.settings());
    let endless = &**frame.method() == "subscriptions/listen";
    let patience = if endless {
        Duration::from_hours(24)
    } else {
        timeout
    };
    let caller = downstream.caller(target.upstream.name());
    let deadline = Instant::now() + patience;
    let opened = conversation_of(gateway, downstream, &target.upstream, &caller);
    let opened = timeout_at(deadline, opened).await;
    let instance = opened.map_err(|_| Failure::timed_out())??;
    if &**frame.method() == "tools/call" {
        // One that is only just starting has yet to list what is called here, and be judged by it.
        let left = deadline.saturating_duration_since(Instant::now());
        target.upstream.tried(left).await;
        let name = target.upstream.name();
        let own = target.upstream.settings().effective_scope() != Scope::Shared;
        if own && gateway.engine.is_unlisted(name, target.tool.as_str()) {
            let read = gateway.hub.read_for(&target.upstream, &instance);
            let read = timeout_at(deadline, read).await;
            read.map_err(|_| Failure::timed_out())?;
        }
    }
    let mut passage = Passage {
        gateway,
        downstream,
        target,
        caller,
        instance,
        deadline,
    };
    passage.legs(frame, origin).await
}

/// Finds the downstream's conversation with an upstream, or opens one.
pub(crate) async fn conversation(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    upstream: &Arc<Upstream>,
) -> Result<Arc<Instance>, Failure> {
    let caller = downstream.caller(upstream.name());
    conversation_of(gateway, downstream, upstream, &caller).await
}

/// Finds the conversation of a downstream that was introduced already.
///
/// What a downstream says of itself leaves with the opening, so it is judged like a call; and one
/// that may not reach the upstream does not make it start.
async fn conversation_of(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    upstream: &Arc<Upstream>,
    caller: &Caller,
) -> Result<Arc<Instance>, Failure> {
    gateway.access.reaches(&downstream.who, upstream.name())?;
    let own = upstream.settings().effective_scope() != Scope::Shared;
    if own && upstream.existing(caller).is_none() {
        let (capabilities, info) = (
            &downstream.greeting.capabilities,
            &downstream.greeting.client_info,
        );
        let params = format!(r#"{{"capabilities":{capabilities},"clientInfo":{info}}}"#);
        let raw = compose::request("0", "initialize", &params);
        let greeting = Frame::parse(raw, gateway.limits())?;
        let target = Target {
            upstream: Arc::clone(upstream),
            tool: ToolName::new(""),
            declared: Declared::default(),
        };
        let deadline = Instant::now() + gateway.call_timeout(upstream.settings());
        let kind = MessageKind::Request(Arc::clone(greeting.method()));
        let at = At {
            gateway,
            downstream,
            target: &target,
            deadline,
        };
        drop(clear(&at, Message::new(&greeting, kind), None).await?);
    }
    let instance = upstream.instance(caller).await?;
    let session = downstream.session.as_ref();
    if session.is_some_and(|session| session.is_ended()) {
        // Nobody else would: what the session had was let go of when it ended.
        upstream.forget_session(caller.session);
        return Err(Failure::session_ended());
    }
    Ok(instance)
}

/// Takes a page of an earlier answer through the engine: it leaves for the downstream now.
pub(crate) async fn reread(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    target: &Target,
    page: Value,
) -> Result<Value, Failure> {
    let started = Instant::now();
    let deadline = started + gateway.call_timeout(target.upstream.settings());
    let kind = MessageKind::Request(Arc::clone(frame.method()));
    let at = At {
        gateway,
        downstream,
        target,
        deadline,
    };
    let cleared = clear(&at, Message::new(frame, kind), None).await?;
    let outcome = Outcome {
        body: page.to_string().into(),
        status: Status::Success,
        took: started.elapsed(),
    };
    let kept = gateway.engine.after(&cleared, &outcome, None).await;
    match kept.map_err(|fault| Failure::internal(fault.to_string()))? {
        After::Passed => Ok(page),
        After::Replaced(body) => serde_json::from_slice(&body)
            .map_err(|_| Failure::internal("a hook gave a page that is no JSON")),
        After::Withheld(why) => Err(withheld(&why, cleared.value().id)),
    }
}

impl Passage<'_> {
    /// Sends a request, and again with what the downstream was asked for in between.
    async fn legs(&mut self, frame: &Frame, origin: &mut Origin) -> Result<Frame, Failure> {
        let limits = self.gateway.limits();
        let mut outgoing =
            translate::outgoing(frame, self.downstream, self.instance.era(), limits)?;
        let mut reopened = false;
        let mut leg = 0;
        loop {
            let (sent, token) = translate::numbered(&outgoing, ticket(), limits)?;
            self.refuse_twins(&sent)?;
            let cleared = self.clear(&sent, leg, origin).await?;
            let started = Instant::now();
            // What was cleared has an intent on record, and with it an end.
            let answer = match as_cleared(sent, &cleared, limits) {
                Ok(sent) => {
                    self.converse(&cleared, &sent, token.as_deref(), origin)
                        .await
                }
                Err(failure) => Err(failure),
            };
            let answer = self.recorded(&cleared, answer, started.elapsed()).await;
            let gone = answer.as_ref().is_err_and(is_session_gone);
            if gone && !reopened && self.instance.is_forgotten() {
                // The upstream forgot the session and did not act: once more in a new one.
                reopened = true;
                Box::pin(self.reopen()).await?;
                let era = self.instance.era();
                outgoing = translate::outgoing(frame, self.downstream, era, limits)?;
                continue;
            }
            let answer = answer?;
            let wanted = match self.instance.era() {
                Era::Modern => input::required(&answer),
                Era::Legacy => None,
            };
            if let Some(wanted) = &wanted {
                ask::refuse_undeclared(self.downstream, wanted)?;
            }
            let wanted = wanted.filter(|_| self.downstream.era == Era::Legacy);
            let Some(wanted) = wanted else {
                let (from, to) = (self.instance.era(), self.downstream.era);
                return Ok(translate::incoming(
                    &answer,
                    frame.method(),
                    from,
                    to,
                    limits,
                )?);
            };
            leg += 1;
            if leg > ROUNDS {
                return Err(Failure::params("the upstream asked for input too often"));
            }
            outgoing = tokio::select! {
                gathered = ask::gather(self, &outgoing, &wanted, origin) => gathered?,
                why = self.broken_off(cleared.value(), &origin.way) => return Err(why),
            };
        }
    }

    /// Opens the conversation anew, within the time that the call has left.
    async fn reopen(&mut self) -> Result<(), Failure> {
        let upstream = &self.target.upstream;
        let opened = conversation_of(self.gateway, self.downstream, upstream, &self.caller);
        let opened = timeout_at(self.deadline, opened).await;
        self.instance = opened.map_err(|_| Failure::timed_out())??;
        Ok(())
    }

    /// Takes a request through the engine; whoever waits for its answer may be asked about it.
    async fn clear(
        &self,
        sent: &Frame,
        leg: u8,
        origin: &mut Origin,
    ) -> Result<Box<Cleared<Call>>, Failure> {
        let kind = MessageKind::Request(Arc::clone(sent.method()));
        let message = Message::new(sent, kind).of_leg(leg);
        clear(&self.door(), message, Some(origin)).await
    }

    /// Takes a request through the engine about which nobody can be asked.
    pub(crate) async fn clear_request(&self, sent: &Frame) -> Result<Box<Cleared<Call>>, Failure> {
        let kind = MessageKind::Request(Arc::clone(sent.method()));
        self.clear_as(sent, kind).await
    }

    /// Takes a message through the engine about which nobody can be asked.
    pub(crate) async fn clear_as(
        &self,
        sent: &Frame,
        kind: MessageKind,
    ) -> Result<Box<Cleared<Call>>, Failure> {
        clear(&self.door(), Message::new(sent, kind), None).await
    }

    fn door(&self) -> At<'_> {
        At {
            gateway: self.gateway,
            downstream: self.downstream,
            target: self.target,
            deadline: self.deadline,
        }
    }

    /// Sends a cleared request and hears the upstream out, until the answer, the deadline, a
    /// cancellation or an order to stop.
    ///
    /// What few calls come to is boxed: every call takes as much memory as the largest of all this.
    async fn converse(
        &self,
        cleared: &Cleared<Call>,
        sent: &Frame,
        token: Option<&str>,
        origin: &mut Origin,
    ) -> Result<Frame, Failure> {
        let ticket = cleared.value().wire.ticket.unwrap_or_default();
        let (sender, mut events) = mpsc::channel(EVENTS);
        let headers = self.all_headers(cleared.value(), sent);
        let answer = self.instance.call(cleared, headers, sender);
        tokio::pin!(answer);
        let mut deadline = self.deadline;
        let why = loop {
            let way = origin.way.clone();
            tokio::select! {
                biased;
                Some(event) = events.recv() => {
                    let began = Instant::now();
                    let noted = Box::pin(self.note(cleared.value(), event, (ticket, token)));
                    let Some(event) = noted.await else {
                        continue;
                    };
                    let heard = Box::pin(self.heard(event, ticket, token, origin));
                    // A question may take long; the answer must be polled meanwhile. What was heard
                    // comes first: a notification is passed on before the answer that follows it.
                    let said = tokio::select! {
                        biased;
                        said = heard => said?,
                        answer = &mut answer => return self.drained(cleared.value(), answer?, &mut events, (ticket, token), origin).await,
                        // What was heard has a bound of its own on its time.
                        why = self.broken_off(cleared.value(), &way) => break why,
                    };
                    // An answer to the upstream leaves whole, with its record: what comes from there
                    // meanwhile waits.
                    if let Some((asked, said)) = said {
                        Box::pin(ask::answer(self, &asked, &said)).await?;
                    }
                    // A call that was parked has not run meanwhile.
                    if self.downstream.era == Era::Modern {
                        deadline += began.elapsed();
                    }
                }
                answer = &mut answer => return self.drained(cleared.value(), answer?, &mut events, (ticket, token), origin).await,
                why = self.broken_off(cleared.value(), &way) => break why,
                () = tokio::time::sleep_until(deadline) => break Failure::timed_out(),
            }
        };
        // Nobody waits any more: the upstream is told, and a late answer finds nobody.
        let (instance, reason) = (Arc::clone(&self.instance), why.outside.clone());
        tokio::spawn(async move { instance.cancel(ticket, &reason).await });
        Err(why)
    }

    /// Resolves once a call must not go on: an order stops it, or nobody waits for it any more.
    async fn broken_off(&self, call: &Call, way: &Way) -> Failure {
        let stops = self.gateway.engine.stops();
        let mut orders = stops.watch();
        // An order may have come since the call was cleared.
        orders.mark_changed();
        loop {
            tokio::select! {
                _ = orders.changed() => {
                    if let Some(finding) = stops.judge(call) {
                        let reason = finding.reason.to_string();
                        return Failure {
                            fault: Fault::Gateway,
                            ..Failure::downstream(era::DENIED, "denied", reason)
                        };
                    }
                }
                reason = way.cancelled() => {
                    return Failure::downstream(era::INTERNAL_ERROR, "cancelled", reason);
                }
                () = self.gateway.until_invalid(&self.downstream.who),
                        if self.ends_with_token(call) => {
                    let reason = INVALID_TOKEN.to_owned();
                    return Failure::downstream(era::INTERNAL_ERROR, "cancelled", reason);
                }
            }
        }
    }

    /// Tells whether a call is cut off when the token ends that it was made with. With a session,
    /// the session's end cancels what is under way in it. The short-lived tokens of users are shown
    /// at the beginning of a call, which may outlast them; a subscription has no end of its own.
    fn ends_with_token(&self, call: &Call) -> bool {
        let listens = matches!(&call.kind, MessageKind::Request(method) if &**method == "subscriptions/listen");
        let may_outlast = self.downstream.who.kind.is_renewed() && !listens;
        self.downstream.session.is_none() && !may_outlast
    }

    /// Sends a cleared message that is not answered, and puts it on record.
    pub(crate) async fn deliver(&self, cleared: &Cleared<Call>) -> Result<(), Failure> {
        let started = Instant::now();
        let deadline = match self.downstream.era {
            Era::Legacy => self.deadline,
            // The call may have been parked for longer than its time.
            Era::Modern => started + self.gateway.call_timeout(self.target.upstream.settings()),
        };
        let headers = added(cleared.value());
        let sent = timeout_at(deadline, self.instance.send(cleared, headers)).await;
        let sent = sent.map_or_else(|_| Err(Failure::timed_out()), |sent| Ok(sent?));
        let problem = sent.as_ref().err();
        let outcome = Outcome {
            body: Bytes::new(),
            status: problem.map_or(Status::Success, |_| Status::Error),
            took: started.elapsed(),
        };
        let problem = problem.map(Failure::unanswered);
        let kept = self.gateway.engine.after(cleared, &outcome, problem).await;
        kept.map_err(|fault| Failure::unrecorded(&fault))?;
        // Nothing came back that could be withheld.
        sent
    }

    /// Takes what came back through the engine. In strict mode it is on disk before it is released.
    async fn recorded(
        &self,
        cleared: &Cleared<Call>,
        answer: Result<Frame, Failure>,
        took: Duration,
    ) -> Result<Frame, Failure> {
        let (body, status, problem) = match &answer {
            Ok(frame) => (frame.payload_bytes(), status(frame), None),
            Err(failure) => {
                if failure.fault == Fault::Upstream {
                    self.target.upstream.trouble();
                }
                (Bytes::new(), Status::Error, Some(failure.unanswered()))
            }
        };
        let outcome = Outcome { body, status, took };
        let kept = self.gateway.engine.after(cleared, &outcome, problem).await;
        match kept.map_err(|fault| Failure::unrecorded(&fault))? {
            After::Passed => answer,
            After::Replaced(body) => {
                let answer = answer?;
                let raw = replace(answer.raw(), answer.payload_span(), &body);
                Ok(Frame::parse(raw, self.gateway.limits())?)
            }
            After::Withheld(why) => Err(withheld(&why, cleared.value().id)),
        }
    }

    /// The headers that go with a request: those of the protocol, and those that hooks add.
    fn all_headers(&self, call: &Call, sent: &Frame) -> Vec<(http::HeaderName, http::HeaderValue)> {
        let mut headers = self.headers(sent);
        headers.extend(added(call));
        headers
    }

    /// The headers that a modern upstream wants with a request.
    pub(crate) fn headers(&self, sent: &Frame) -> Vec<(http::HeaderName, http::HeaderValue)> {
        if self.instance.era() == Era::Legacy || self.target.upstream.settings().command.is_some() {
            return Vec::new();
        }
        let mut headers = header::routing(sent, self.instance.version());
        if &**sent.method() == "tools/call" {
            let listed = self.target.upstream.listed();
            if let Some(card) = listed.tool(self.target.tool.as_str()) {
                headers.extend(header::params(sent, &card.param_headers));
            }
        }
        headers
    }

    /// Refuses arguments of which two spell one declared property.
    fn refuse_twins(&self, sent: &Frame) -> Result<(), Failure> {
        if &**sent.method() != "tools/call" {
            return Ok(());
        }
        let Some((arguments, _)) = text::get(sent.params(), &["arguments"]) else {
            return Ok(());
        };
        let keys: Vec<_> = text::members(arguments).map(|member| member.key).collect();
        let Some((one, other)) = text::fold_twins(&keys) else {
            return Ok(());
        };
        let listed = self.target.upstream.listed();
        let declared = listed.tool(self.target.tool.as_str()).is_some_and(|card| {
            let has =
                |name: &str| text::get(card.text(), &["inputSchema", "properties", name]).is_some();
            has(&one) || has(&other)
        });
        if !declared {
            return Ok(());
        }
        Err(Failure::params(format!(
            "arguments `{one}` and `{other}` differ only in case or Unicode form"
        )))
    }
}

/// Returns the message that leaves: hooks may have changed it.
fn as_cleared(sent: Frame, cleared: &Cleared<Call>, limits: Limits) -> Result<Frame, Failure> {
    let raw = &cleared.value().wire.raw;
    if raw == sent.raw() {
        return Ok(sent);
    }
    Ok(Frame::parse(raw.clone(), limits)?)
}

/// The headers that hooks add for the upstream.
fn added(call: &Call) -> Vec<(http::HeaderName, http::HeaderValue)> {
    let added = call.trace.added_headers.iter();
    let added = added.filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)));
    added.collect()
}

fn is_session_gone(failure: &Failure) -> bool {
    failure.name == "session_gone"
}

fn status(frame: &Frame) -> Status {
    let says_error =
        || text::get(frame.payload(), &["isError"]).is_some_and(|(raw, _)| raw == "true");
    match frame.kind() {
        FrameKind::Error => Status::Error,
        FrameKind::Result if says_error() => Status::Error,
        FrameKind::Result | FrameKind::Request | FrameKind::Notification => Status::Success,
    }
}

/// Answers a denied tool call as the tool would: an agent reads results, not protocol errors.
pub fn as_tool_result(failure: &Failure, id: &str, to: Era) -> Bytes {
    let mut members = match to {
        Era::Legacy => String::new(),
        Era::Modern => r#""resultType":"complete","#.to_owned(),
    };
    if let Some(data) = &failure.data {
        members.extend([r#""_meta":{"#, &compose::quoted(DECISION), ":"]);
        members.extend([&data.to_string(), "},"]);
    }
    let result = compose::tool_error(&failure.outside).replacen('{', &format!("{{{members}"), 1);
    compose::result(id, &result)
}
