//! What a message is for: answered here, or forwarded to the upstream it names.
//!
//! What an agent's hook announced is recognized in `announced`. Opening a conversation is in `hello`, resource subscriptions of legacy downstreams are in
//! `subscriptions`, messages that want no answer in `notifications`.

mod announced;
mod hello;
mod notifications;
mod subscriptions;

use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_core::{Declared, OfferKind, Operation, PrincipalKind, ToolName, ToolRef, UpstreamId};
use mcpproxy_mcp::era::{self, Era};
use mcpproxy_mcp::{Frame, compose, header};
use mcpproxy_text as text;
use mcpproxy_upstream::Upstream;
use tokio::time::Instant;

use self::announced::attribute;
pub use self::hello::initialize;
use self::hello::own_discover;
pub(crate) use self::notifications::CANCELLED;
pub use self::notifications::notification;
use self::notifications::set_level;
use self::subscriptions::subscribe;
use crate::clear::unknown;
use crate::downstream::{Downstream, Way};
use crate::error::Failure;
use crate::forward::{Origin, Target, as_tool_result, conversation, forward};
use crate::gateway::{Gateway, INVALID_TOKEN};
use crate::listen::{end_of_subscription, listen};
use crate::listing;
use crate::parked::{Parked, Resume};
use crate::session::InFlight;
use crate::settings::RoutingMode;
use crate::shed::Place;
use crate::toolbox;
use crate::translate;
use crate::unjudged::{Judged, is_settled, settled};
use crate::withheld::{filtered, hello, listed_by, own_tasks};

/// The separator between an upstream's name and a tool's.
pub const SEPARATOR: &str = "__";

/// What a request came to.
#[derive(Debug)]
pub enum Answer {
    /// The upstream's answer.
    Frame(Box<Frame>),
    /// A raw result of the gateway's own.
    Result(String),
    /// Nothing: another task answers.
    Elsewhere,
}

/// Answers one request; runs to its end whether or not somebody still waits. Its place among the
/// requests in flight is given up before the answer leaves, so that its id is free by then.
pub async fn request(
    gateway: Arc<Gateway>,
    mut downstream: Downstream,
    frame: Frame,
    way: Way,
    place: Option<InFlight>,
) {
    let began = Instant::now();
    attribute(&gateway, &mut downstream, &frame);
    downstream.judged = Judged::begin(&gateway, &frame);
    let id = frame.id().unwrap_or_default().to_owned();
    let mut origin = Origin {
        id,
        frame: frame.clone(),
        way,
    };
    let room = room(&gateway, &downstream, &frame);
    let answer = if room.is_none() {
        Err(Failure::overloaded())
    } else if has_ended(&gateway, &downstream) {
        Err(Failure::downstream(era::DENIED, "denied", INVALID_TOKEN))
    } else if is_endless(&downstream, &frame) {
        Box::pin(subscription(&gateway, &downstream, &frame, &mut origin)).await
    } else {
        dispatch(&gateway, &downstream, &frame, &mut origin).await
    };
    let took = began.elapsed();
    let answer = if is_settled(&downstream, &answer) {
        answer
    } else {
        Box::pin(settled(&gateway, &downstream, &frame, answer, took)).await
    };
    let (message, code) = match answer {
        Ok(Answer::Elsewhere) => return,
        Ok(Answer::Frame(answer)) => (answer.with_id(&origin.id), answer.error_code()),
        Ok(Answer::Result(result)) => (compose::result(&origin.id, &result), None),
        Err(failure) => refusal(&failure, &frame, &origin.id, downstream.era),
    };
    drop(place);
    origin.way.finish(message, code, room).await;
}

/// Tells whether a credential that is renewed has ended on a connection that is older than that.
fn has_ended(gateway: &Gateway, downstream: &Downstream) -> bool {
    let who = &downstream.who;
    who.kind.is_renewed() && !gateway.access.control().is_valid(who)
}

fn refusal(failure: &Failure, frame: &Frame, id: &str, era: Era) -> (Bytes, Option<i64>) {
    if let Some(inside) = &failure.inside {
        tracing::error!("{}: {inside}", failure.name);
    } else {
        // What the caller is told may repeat what it said, a secret in a name, say.
        tracing::debug!("a request failed: {} ({})", failure.name, failure.code);
    }
    if failure.name == "denied" && &**frame.method() == "tools/call" {
        return (as_tool_result(failure, id, era), None);
    }
    (failure.answer(Some(id)), Some(failure.code))
}

async fn dispatch(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    origin: &mut Origin,
) -> Result<Answer, Failure> {
    match downstream.era {
        Era::Legacy => match frame.method().as_ref() {
            "ping" => return Ok(Answer::Result("{}".to_owned())),
            "initialize" => return Err(Failure::params("this session is initialized already")),
            "server/discover" | "subscriptions/listen" => {
                return Err(Failure::method(frame.method()));
            }
            "logging/setLevel" => set_level(gateway, downstream, frame)?,
            _ => {}
        },
        Era::Modern => {
            if is_removed(frame.method()) {
                return Err(Failure::method(frame.method()));
            }
            if let Some(answer) = resumed(gateway, downstream, frame, origin).await? {
                return Ok(answer);
            }
        }
    }
    // Boxed: what is moved into a call's task stays small.
    match downstream.mode {
        RoutingMode::Single => Box::pin(single(gateway, downstream, frame, origin)).await,
        RoutingMode::Call | RoutingMode::All => {
            Box::pin(many(gateway, downstream, frame, origin)).await
        }
    }
}

/// Tells whether a request waits until its stream is closed.
fn is_endless(downstream: &Downstream, frame: &Frame) -> bool {
    downstream.era == Era::Modern && &**frame.method() == "subscriptions/listen"
}

/// Serves a request that ends with its stream, or with the gateway.
async fn subscription(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    origin: &mut Origin,
) -> Result<Answer, Failure> {
    let id = frame.id().unwrap_or_default();
    tokio::select! {
        answer = dispatch(gateway, downstream, frame, origin) => answer,
        () = gateway.stopped() => Ok(Answer::Result(end_of_subscription(id))),
    }
}

/// Takes the request's place among those at once. A subscription is no call in flight: it does
/// nothing but wait, and there may be one for every connection.
fn room(gateway: &Gateway, downstream: &Downstream, frame: &Frame) -> Option<Place> {
    // A token is one caller however many sessions it opens; callers without a credential are told
    // apart by their sessions, which is all there is.
    let caller = match downstream.who.kind {
        PrincipalKind::Agent | PrincipalKind::User | PrincipalKind::Certificate => {
            Gateway::flow_scope(&downstream.who).0
        }
        PrincipalKind::Owner | PrincipalKind::Local => downstream.key.id,
    };
    let limits = &gateway.active().settings.limits;
    if is_endless(downstream, frame) {
        let most = limits.connections;
        return gateway.listening.admit(caller, most, most);
    }
    let (all, each) = (limits.calls_in_flight, limits.calls_per_caller);
    gateway.shed.admit(caller, all, each)
}

/// Methods that the modern era did away with.
fn is_removed(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "ping"
            | "logging/setLevel"
            | "resources/subscribe"
            | "resources/unsubscribe"
    )
}

/// Hands a retry that carries the gateway's own state to the call that waits for it.
async fn resumed(
    gateway: &Gateway,
    downstream: &Downstream,
    frame: &Frame,
    origin: &Origin,
) -> Result<Option<Answer>, Failure> {
    let Some(state) = frame.parameter(&["requestState"]) else {
        return Ok(None);
    };
    if !Parked::is_ours(&state) {
        return Ok(None);
    }
    let answers = text::get(frame.params(), &["inputResponses"]).map_or("{}", |(raw, _)| raw);
    let resume = Resume {
        origin: origin.clone(),
        answers: answers.to_owned(),
    };
    let (who, now) = (&downstream.who.name, gateway.clock.wall());
    let resumed = gateway
        .parked
        .resume(&state, who, frame.params(), now, resume);
    let Err(refusal) = resumed else {
        return Ok(Some(Answer::Elsewhere));
    };
    // Boxed: where nothing is shared a request stays small.
    let handed = gateway.retried_elsewhere(&state, &downstream.who, origin, answers);
    match Box::pin(handed).await {
        Some(passed) => passed.map(|()| Some(Answer::Elsewhere)),
        None => Err(refusal),
    }
}

/// The only upstream of a gateway in single mode.
pub fn only_upstream(gateway: &Gateway) -> Result<Arc<Upstream>, Failure> {
    let all = gateway.fleet.all();
    let mut enabled = all.values().filter(|upstream| upstream.settings().enabled);
    match (enabled.next(), enabled.next()) {
        (Some(only), None) => Ok(Arc::clone(only)),
        (None, _) => Err(Failure::params("no upstream is enabled")),
        (Some(_), Some(_)) => Err(Failure::params(
            "`routing_mode: single` needs exactly one enabled upstream",
        )),
    }
}

async fn single(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    origin: &mut Origin,
) -> Result<Answer, Failure> {
    let upstream = only_upstream(gateway)?;
    gateway.access.reaches(&downstream.who, upstream.name())?;
    let filter = &upstream.settings().tools;
    let narrowed = !filter.allow.is_empty() || !filter.deny.is_empty();
    match frame.method().as_ref() {
        "tools/list" if narrowed => {
            upstream
                .tried(upstream.settings().start_timeout.into())
                .await;
            return listing::tools_of(gateway, &upstream, frame, downstream);
        }
        method if listed_by(method).is_some() => {
            // What is listed first is judged first: not an extract that somebody asks for.
            upstream
                .tried(upstream.settings().start_timeout.into())
                .await;
            let answer = pass(gateway, downstream, frame, Arc::clone(&upstream), origin).await?;
            return Ok(filtered(
                gateway,
                &downstream.who,
                &upstream,
                frame.method(),
                answer,
            ));
        }
        "logging/setLevel" => {
            let instance = conversation(gateway, downstream, &upstream).await?;
            if instance.era() == Era::Modern {
                // Each request carries the level from now on; there is nothing to tell.
                return Ok(Answer::Result("{}".to_owned()));
            }
        }
        // What an upstream would tell somebody must be held against what they may know of.
        "subscriptions/listen" if gateway.engine.hides() => {
            return listen(gateway, downstream, frame, origin).await;
        }
        "server/discover" | "subscriptions/listen" => {
            let instance = conversation(gateway, downstream, &upstream).await?;
            if instance.era() == Era::Legacy {
                return match frame.method().as_ref() {
                    "server/discover" => {
                        let result = translate::discover_result(&instance);
                        Ok(Answer::Result(hello(gateway, &upstream, result)))
                    }
                    _ => listen(gateway, downstream, frame, origin).await,
                };
            }
            if &**frame.method() == "server/discover" {
                return discovered(gateway, downstream, frame, upstream, origin).await;
            }
        }
        "resources/subscribe" | "resources/unsubscribe" => {
            return subscribe(gateway, downstream, frame, upstream, origin).await;
        }
        "tasks/list" => {
            let answer = pass(gateway, downstream, frame, upstream, origin).await?;
            return Ok(own_tasks(gateway, &downstream.who, answer));
        }
        method if method.starts_with("tasks/") => drop(task_at(gateway, downstream, frame)?),
        _ => {}
    }
    pass(gateway, downstream, frame, upstream, origin).await
}

/// Forwards the question what the upstream is, and leaves out of the answer what may not be shown.
async fn discovered(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    upstream: Arc<Upstream>,
    origin: &mut Origin,
) -> Result<Answer, Failure> {
    let answer = pass(gateway, downstream, frame, Arc::clone(&upstream), origin).await?;
    let Answer::Frame(frame) = &answer else {
        return Ok(answer);
    };
    let said = hello(gateway, &upstream, frame.payload().to_owned());
    Ok(if said == frame.payload() {
        answer
    } else {
        Answer::Result(said)
    })
}

/// Forwards a request as it is.
async fn pass(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    upstream: Arc<Upstream>,
    origin: &mut Origin,
) -> Result<Answer, Failure> {
    let named = frame
        .parameter(&["name"])
        .or_else(|| frame.parameter(&["uri"]))
        .or_else(|| frame.parameter(&["ref", "name"]))
        .or_else(|| frame.parameter(&["ref", "uri"]));
    let tool = ToolName::new(named.unwrap_or_default());
    to_upstream(
        gateway,
        downstream,
        frame,
        upstream,
        tool,
        Declared::default(),
        origin,
    )
    .await
}

/// Forwards a request to an upstream that was found for it.
pub(crate) async fn to_upstream(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    upstream: Arc<Upstream>,
    tool: ToolName,
    declared: Declared,
    origin: &mut Origin,
) -> Result<Answer, Failure> {
    in_scope(gateway, downstream, frame, &upstream, &tool, &declared)?;
    let calls_tool = &**frame.method() == "tools/call";
    if calls_tool && !upstream.settings().tools.admits(tool.as_str()) {
        return Err(Failure::params(format!(
            "tool `{tool}` is filtered by the configuration"
        )));
    }
    if asks_for_prompt(frame) && gateway.engine.hides() {
        lists_prompt(&upstream, &tool).await?;
    }
    let target = Target {
        upstream,
        tool,
        declared,
    };
    let answer = forward(gateway, downstream, frame, &target, origin).await?;
    note_task(gateway, downstream, &answer, &target);
    if &**frame.method() == "subscriptions/listen" {
        let answer = translate::subscription_result(&answer, &origin.id, gateway.limits())?;
        return Ok(Answer::Frame(Box::new(answer)));
    }
    Ok(Answer::Frame(Box::new(answer)))
}

/// Refuses what the scope of a token does not cover. Where access rules hide things, a tool that
/// they hide is refused as one is that nobody lists: the scope must not tell them apart.
fn in_scope(
    gateway: &Gateway,
    downstream: &Downstream,
    frame: &Frame,
    upstream: &Upstream,
    tool: &ToolName,
    declared: &Declared,
) -> Result<(), Failure> {
    let who = &downstream.who;
    let operation = || operation(upstream, frame.method(), tool, declared);
    let covered = gateway.access.permits(who, upstream.name(), operation);
    let hides = &**frame.method() == "tools/call" && gateway.engine.hides();
    covered.map_err(|refusal| {
        let listed = upstream.listed().tool(tool.as_str()).is_some();
        let known = listed && gateway.may_know(who, upstream, OfferKind::Tool, tool.as_str());
        let said = if hides && !known {
            unknown(OfferKind::Tool, tool.as_str())
        } else {
            refusal
        };
        let what = ToolRef {
            upstream: upstream.name().clone(),
            tool: tool.clone(),
        };
        Failure {
            out_of_scope: Some(Box::new(what)),
            ..said
        }
    })
}

fn asks_for_prompt(frame: &Frame) -> bool {
    &**frame.method() == "prompts/get" || frame.parameter(&["ref", "name"]).is_some()
}

/// Refuses a prompt that the upstream does not list, as one is that access rules hide.
async fn lists_prompt(upstream: &Upstream, name: &ToolName) -> Result<(), Failure> {
    upstream
        .tried(upstream.settings().start_timeout.into())
        .await;
    let listed = upstream.listed();
    if listed
        .prompts
        .iter()
        .any(|prompt| prompt.key == name.as_str())
    {
        return Ok(());
    }
    Err(unknown(OfferKind::Prompt, name.as_str()))
}

/// What a request may do, as far as a token's scope is concerned: the worst of what the agent
/// declares and what the tool says of itself. A tool that nobody has listed may do anything.
fn operation(upstream: &Upstream, method: &str, tool: &ToolName, declared: &Declared) -> Operation {
    let declared = declared.operation.unwrap_or(Operation::Read);
    match method {
        "tools/call" => {
            let listed = upstream.listed();
            let says = listed.tool(tool.as_str()).map(|card| toolbox::says(card));
            declared.max(says.unwrap_or(Operation::Destructive))
        }
        "tasks/cancel" | "tasks/update" => declared.max(Operation::Write),
        _ => declared,
    }
}

/// Remembers where a long task runs, so that questions about it find their way.
fn note_task(gateway: &Gateway, downstream: &Downstream, answer: &Frame, target: &Target) {
    let payload = answer.payload();
    let mut id = None;
    for member in text::members(payload) {
        let value = payload.get(member.value).unwrap_or_default();
        match &*member.key {
            "task" => {
                if let Some((inner, _)) = text::get(value, &["taskId"]) {
                    id = Some(inner);
                    break;
                }
            }
            "taskId" => id = Some(value),
            _ => {}
        }
    }
    if let Some(id) = id.and_then(text::string) {
        gateway.note_task(&downstream.who, &id, target.upstream.name());
    }
}

async fn many(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    origin: &mut Origin,
) -> Result<Answer, Failure> {
    match frame.method().as_ref() {
        "tools/list" => listing::tools(gateway, downstream, frame).await,
        "prompts/list" => listing::prompts(gateway, downstream, frame).await,
        "resources/list" => listing::resources(gateway, downstream, frame).await,
        "resources/templates/list" => listing::templates(gateway, downstream, frame).await,
        "server/discover" => Ok(Answer::Result(own_discover(gateway))),
        "logging/setLevel" => Ok(Answer::Result("{}".to_owned())),
        "subscriptions/listen" => listen(gateway, downstream, frame, origin).await,
        "tools/call" if downstream.mode == RoutingMode::Call => {
            toolbox::call(gateway, downstream, frame, origin).await
        }
        "tools/call" | "prompts/get" => {
            prefixed(gateway, downstream, frame, &["name"], origin).await
        }
        "completion/complete" => completion(gateway, downstream, frame, origin).await,
        "resources/read" => {
            let upstream = listing::owner_of(gateway, downstream, frame).await?;
            pass(gateway, downstream, frame, upstream, origin).await
        }
        "resources/subscribe" | "resources/unsubscribe" => {
            let upstream = listing::owner_of(gateway, downstream, frame).await?;
            subscribe(gateway, downstream, frame, upstream, origin).await
        }
        method if method.starts_with("tasks/") => {
            let upstream = task_at(gateway, downstream, frame)?;
            let upstream = gateway.fleet.get(upstream.as_str())?;
            pass(gateway, downstream, frame, upstream, origin).await
        }
        method => Err(Failure::method(method)),
    }
}

/// Finds the upstream that runs the task a request is about: one that the caller began.
fn task_at(
    gateway: &Gateway,
    downstream: &Downstream,
    frame: &Frame,
) -> Result<UpstreamId, Failure> {
    let task = frame.parameter(&["taskId"]).unwrap_or_default();
    let found = gateway.task_owner(&downstream.who, &task);
    found.ok_or_else(|| Failure::params(format!("no task `{task}` is known")))
}

/// Splits `upstream__name`, gives the request the upstream's own name, and forwards it.
async fn prefixed(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    path: &[&str],
    origin: &mut Origin,
) -> Result<Answer, Failure> {
    let full = frame.parameter(path).unwrap_or_default().into_owned();
    let Some((upstream, name)) = full.split_once(SEPARATOR) else {
        return Err(Failure::params(format!(
            "`{full}` is not of the form `upstream__name`"
        )));
    };
    let kind = match &**frame.method() {
        "tools/call" => OfferKind::Tool,
        _ => OfferKind::Prompt,
    };
    let upstream = gateway.upstream_for(&downstream.who, upstream, Some((kind, name)))?;
    let tool = ToolName::new(name);
    let frame = translate::renamed(frame, path, &tool, gateway.limits())?;
    to_upstream(
        gateway,
        downstream,
        &frame,
        upstream,
        tool,
        Declared::default(),
        origin,
    )
    .await
}

async fn completion(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    origin: &mut Origin,
) -> Result<Answer, Failure> {
    if frame.parameter(&["ref", "name"]).is_some() {
        return prefixed(gateway, downstream, frame, &["ref", "name"], origin).await;
    }
    let upstream = listing::owner_of(gateway, downstream, frame).await?;
    pass(gateway, downstream, frame, upstream, origin).await
}

/// Checks the headers that repeat single arguments, where the tool's schema asks for them.
pub fn check_param_headers(
    gateway: &Gateway,
    downstream: &Downstream,
    headers: &http::HeaderMap,
    frame: &Frame,
) -> Result<(), mcpproxy_mcp::Refusal> {
    if &**frame.method() != "tools/call" || downstream.mode == RoutingMode::Call {
        return Ok(());
    }
    let name = frame.parameter(&["name"]).unwrap_or_default();
    let found = match downstream.mode {
        RoutingMode::Single => only_upstream(gateway)
            .ok()
            .map(|upstream| (upstream, name.as_ref())),
        RoutingMode::All | RoutingMode::Call => name
            .split_once(SEPARATOR)
            .and_then(|(upstream, tool)| Some((gateway.fleet.get(upstream).ok()?, tool))),
    };
    let Some((upstream, tool)) = found else {
        return Ok(());
    };
    let known = gateway.may_know(&downstream.who, &upstream, OfferKind::Tool, tool);
    match upstream.listed().tool(tool).filter(|_| known) {
        Some(card) => header::check_params(headers, frame, &card.param_headers),
        None => Ok(()),
    }
}
