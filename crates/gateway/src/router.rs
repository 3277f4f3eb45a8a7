//! What a message is for: answered here, or forwarded to the upstream it names.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use mcpproxy_core::{Declared, Door, MessageKind, Operation, Principal, PrincipalKind, ToolName};
use mcpproxy_mcp::compose::{self, quoted};
use mcpproxy_mcp::era::{Era, META_SERVER_INFO, MODERN, negotiate};
use mcpproxy_mcp::{Frame, header};
use mcpproxy_text as text;
use mcpproxy_upstream::settings::Scope;
use mcpproxy_upstream::{FromUpstream, Greeting, Upstream};
use tokio::sync::mpsc;

use crate::ask;
use crate::downstream::{Downstream, Way};
use crate::error::Failure;
use crate::forward::{Origin, Passage, Target, as_tool_result, conversation, forward};
use crate::gateway::Gateway;
use crate::listen::{end_of_subscription, listen};
use crate::listing;
use crate::parked::{Parked, Resume};
use crate::session::{self, InFlight, NewSession, Session, lock};
use crate::settings::RoutingMode;
use crate::shed::Place;
use crate::toolbox;
use crate::translate;

/// The separator between an upstream's name and a tool's.
pub const SEPARATOR: &str = "__";

/// What an upstream is told of a request that its downstream cancelled.
pub(crate) const CANCELLED: &str = "cancelled by the downstream";
/// Resource subscriptions of one session at modern upstreams; one more is refused.
const SUBSCRIPTIONS: usize = 256;

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
    downstream: Downstream,
    frame: Frame,
    way: Way,
    place: Option<InFlight>,
) {
    let id = frame.id().unwrap_or_default().to_owned();
    let mut origin = Origin {
        id,
        frame: frame.clone(),
        way,
    };
    let answer = if is_endless(&downstream, &frame) {
        Box::pin(subscription(&gateway, &downstream, &frame, &mut origin)).await
    } else {
        dispatch(&gateway, &downstream, &frame, &mut origin).await
    };
    let (message, code) = match answer {
        Ok(Answer::Elsewhere) => return,
        Ok(Answer::Frame(answer)) => (answer.with_id(&origin.id), answer.error_code()),
        Ok(Answer::Result(result)) => (compose::result(&origin.id, &result), None),
        Err(failure) => refusal(&failure, &frame, &origin.id, downstream.era),
    };
    drop(place);
    origin.way.finish(message, code).await;
}

fn refusal(failure: &Failure, frame: &Frame, id: &str, era: Era) -> (Bytes, Option<i64>) {
    if let Some(inside) = &failure.inside {
        tracing::error!("{}: {inside}", failure.name);
    } else {
        tracing::debug!("`{}` failed: {failure}", frame.method());
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
    let _place = place(gateway, downstream, frame).ok_or_else(Failure::overloaded)?;
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
            if let Some(answer) = resumed(gateway, downstream, frame, origin)? {
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
fn place(gateway: &Gateway, downstream: &Downstream, frame: &Frame) -> Option<Place> {
    // A token is one caller however many sessions it opens; callers without a credential are told
    // apart by their sessions, which is all there is.
    let caller = match downstream.who.kind {
        PrincipalKind::Agent => Gateway::flow_scope(&downstream.who).0,
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

/// Notes at which level a downstream wants log messages, and tells the upstreams that speak to it
/// alone and already do.
fn set_level(gateway: &Gateway, downstream: &Downstream, frame: &Frame) -> Result<(), Failure> {
    let level = frame.parameter(&["level"]).unwrap_or_default();
    let Some(session) = &downstream.session else {
        return Ok(());
    };
    let known = session.set_log_level(&level);
    let known = known.ok_or_else(|| Failure::params(format!("unknown level `{level}`")))?;
    if downstream.mode == RoutingMode::Single {
        return Ok(());
    }
    for upstream in gateway.fleet.all().values() {
        let own = upstream.settings().effective_scope() != Scope::Shared;
        let instance = upstream.existing(&downstream.caller(upstream.name()));
        if let Some(instance) = instance.filter(|_| own) {
            session::set_level(&instance, known);
        }
    }
    Ok(())
}

/// Hands a retry that carries the gateway's own state to the call that waits for it.
fn resumed(
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
    gateway
        .parked
        .resume(&state, who, frame.params(), now, resume)
        .map(|()| Some(Answer::Elsewhere))
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
    let filter = &upstream.settings().tools;
    let filtered = !filter.allow.is_empty() || !filter.deny.is_empty();
    match frame.method().as_ref() {
        "tools/list" if filtered => {
            upstream
                .tried(upstream.settings().start_timeout.into())
                .await;
            return listing::tools_of(&upstream, frame, downstream.era);
        }
        "logging/setLevel" => {
            let instance = conversation(gateway, downstream, &upstream).await?;
            if instance.era() == Era::Modern {
                // Each request carries the level from now on; there is nothing to tell.
                return Ok(Answer::Result("{}".to_owned()));
            }
        }
        "server/discover" | "subscriptions/listen" => {
            let instance = conversation(gateway, downstream, &upstream).await?;
            if instance.era() == Era::Legacy {
                return match frame.method().as_ref() {
                    "server/discover" => Ok(Answer::Result(translate::discover_result(&instance))),
                    _ => listen(gateway, downstream, frame, origin).await,
                };
            }
        }
        "resources/subscribe" | "resources/unsubscribe" => {
            return subscribe(gateway, downstream, frame, upstream, origin).await;
        }
        _ => {}
    }
    pass(gateway, downstream, frame, upstream, origin).await
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
        .or_else(|| frame.parameter(&["uri"]));
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
    gateway
        .access
        .permits(&downstream.who, upstream.name(), declared.operation)?;
    let calls_tool = &**frame.method() == "tools/call";
    if calls_tool && !upstream.settings().tools.admits(tool.as_str()) {
        return Err(Failure::params(format!(
            "tool `{tool}` is filtered by the configuration"
        )));
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

/// Remembers where a long task runs, so that questions about it find their way.
fn note_task(gateway: &Gateway, downstream: &Downstream, answer: &Frame, target: &Target) {
    let payload = answer.payload();
    let id = text::get(payload, &["task", "taskId"]).or_else(|| text::get(payload, &["taskId"]));
    if let Some(id) = id.and_then(|(raw, _)| text::string(raw)) {
        gateway.note_task(&downstream.who, &id, target.upstream.name());
    }
}

async fn many(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    origin: &mut Origin,
) -> Result<Answer, Failure> {
    let era = downstream.era;
    match frame.method().as_ref() {
        "tools/list" => listing::tools(gateway, downstream.mode, frame, era).await,
        "prompts/list" => listing::prompts(gateway, frame, era).await,
        "resources/list" => listing::resources(gateway, frame, era).await,
        "resources/templates/list" => listing::templates(gateway, frame, era).await,
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
            let upstream = listing::owner_of(gateway, frame).await?;
            pass(gateway, downstream, frame, upstream, origin).await
        }
        "resources/subscribe" | "resources/unsubscribe" => {
            let upstream = listing::owner_of(gateway, frame).await?;
            subscribe(gateway, downstream, frame, upstream, origin).await
        }
        method if method.starts_with("tasks/") => {
            let task = frame.parameter(&["taskId"]).unwrap_or_default();
            let owner = gateway.task_owner(&downstream.who, &task);
            let owner =
                owner.ok_or_else(|| Failure::params(format!("no task `{task}` is known")))?;
            let upstream = gateway.fleet.get(owner.as_str())?;
            pass(gateway, downstream, frame, upstream, origin).await
        }
        method => Err(Failure::method(method)),
    }
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
    let upstream = gateway.fleet.get(upstream)?;
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
    let upstream = listing::owner_of(gateway, frame).await?;
    pass(gateway, downstream, frame, upstream, origin).await
}

/// Subscribes a legacy downstream to a resource. A modern upstream is asked with a request that
/// stays open; a shared one tells the hub, which then tells the session.
async fn subscribe(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    upstream: Arc<Upstream>,
    origin: &mut Origin,
) -> Result<Answer, Failure> {
    gateway
        .access
        .permits(&downstream.who, upstream.name(), Some(Operation::Read))?;
    let uri = frame
        .parameter(&["uri"])
        .ok_or_else(|| Failure::params("`uri` is missing"))?;
    let wanted = &**frame.method() == "resources/subscribe";
    let session = downstream.session.clone();
    let session = session.ok_or_else(|| Failure::method(frame.method()))?;
    let instance = conversation(gateway, downstream, &upstream).await?;
    if instance.era() == Era::Legacy {
        // What an upstream of the session's own tells comes to the session by itself.
        let shared = upstream.settings().effective_scope() == Scope::Shared;
        if shared
            && gateway
                .hub
                .watch(upstream.name(), &uri, session.key.id, wanted)
            && !wanted
        {
            // Others share the subscription at the upstream and still want it.
            return Ok(Answer::Result("{}".to_owned()));
        }
        return pass(gateway, downstream, frame, upstream, origin).await;
    }
    if wanted {
        // The address leaves for the upstream, so it is judged like any call.
        let target = Target {
            upstream: Arc::clone(&upstream),
            tool: ToolName::new(uri.as_ref()),
            declared: Declared::default(),
        };
        let caller = downstream.caller(upstream.name());
        let deadline = tokio::time::Instant::now() + gateway.call_timeout(upstream.settings());
        let instance = Arc::clone(&instance);
        let passage = Passage {
            gateway,
            downstream,
            target: &target,
            caller,
            instance,
            deadline,
        };
        drop(passage.clear(frame, 0).await?);
    }
    let mut subscriptions = lock(&session.subscriptions);
    if let Some(task) = subscriptions.remove(uri.as_ref()) {
        task.abort();
    }
    if wanted && subscriptions.len() >= SUBSCRIPTIONS {
        return Err(Failure::params("too many resource subscriptions"));
    }
    if wanted {
        let listener = Arc::downgrade(&session);
        let params = format!(
            r#"{{"notifications":{{"resourceSubscriptions":[{}]}}}}"#,
            quoted(&uri)
        );
        let task = tokio::spawn(async move {
            let (sender, events) = mpsc::channel(16);
            let told = pass_updates(events, listener);
            let asked = instance.own_call("subscriptions/listen", &params, sender);
            drop(tokio::join!(told, asked));
        });
        subscriptions.insert(uri.into_owned(), task.abort_handle());
    }
    Ok(Answer::Result("{}".to_owned()))
}

async fn pass_updates(mut events: mpsc::Receiver<FromUpstream>, session: Weak<Session>) {
    while let Some(event) = events.recv().await {
        let Some(session) = session.upgrade() else {
            return;
        };
        if let FromUpstream::Message(frame) = event
            && &**frame.method() == "notifications/resources/updated"
        {
            let uri = quoted(&frame.parameter(&["uri"]).unwrap_or_default());
            let params = format!(r#"{{"uri":{uri}}}"#);
            session.push(&compose::notification(frame.method(), &params));
        }
    }
}

/// Opens a legacy session and returns the result of `initialize`.
pub async fn initialize(
    gateway: &Arc<Gateway>,
    who: Principal,
    mode: RoutingMode,
    frame: &Frame,
) -> Result<(Arc<Session>, String), Failure> {
    let raw = |name: &str| text::get(frame.params(), &[name]).map(|(raw, _)| raw.to_owned());
    let proposed = frame.parameter(&["protocolVersion"]);
    let proposed = proposed.ok_or_else(|| Failure::params("`protocolVersion` is missing"))?;
    let greeting = Arc::new(Greeting {
        version: negotiate(&proposed).to_owned(),
        capabilities: raw("capabilities").unwrap_or_else(|| "{}".to_owned()),
        client_info: raw("clientInfo")
            .unwrap_or_else(|| r#"{"name":"unknown","version":"0"}"#.to_owned()),
    });
    let version = greeting.version.clone();
    let limit = gateway.active().settings.limits.sessions;
    let new = NewSession {
        who,
        greeting,
        version,
        mode,
    };
    let opened = gateway.sessions.open(new, limit);
    let (session, questions) = opened.ok_or_else(Failure::overloaded)?;
    tokio::spawn(ask::serve_questions(
        Arc::clone(gateway),
        Arc::downgrade(&session),
        questions,
    ));
    let result = match mode {
        RoutingMode::Single => single_hello(gateway, &session, &proposed).await,
        RoutingMode::Call | RoutingMode::All => Ok(own_hello(gateway, &session.version)),
    };
    match result {
        Ok(result) => Ok((session, result)),
        Err(failure) => {
            gateway.end_session(&session.id);
            Err(failure)
        }
    }
}

async fn single_hello(
    gateway: &Arc<Gateway>,
    session: &Arc<Session>,
    proposed: &str,
) -> Result<String, Failure> {
    let upstream = only_upstream(gateway)?;
    let downstream = Downstream::of_session(session, Door::Mcp);
    let instance = conversation(gateway, &downstream, &upstream).await?;
    Ok(translate::initialize_result(&instance, proposed))
}

/// What the gateway says it can do when it stands for many upstreams.
fn own_capabilities() -> &'static str {
    r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}}"#
}

fn own_info() -> String {
    format!(
        r#"{{"name":"mcpproxy","version":"{}"}}"#,
        env!("CARGO_PKG_VERSION")
    )
}

fn own_instructions(gateway: &Gateway) -> String {
    let active = gateway.active();
    let usual = "This gateway stands in front of several MCP servers. In call mode, find tools with retrieve_tools, then call them with the call_tool_* variant that each result names.";
    quoted(active.settings.instructions.as_deref().unwrap_or(usual))
}

fn own_hello(gateway: &Gateway, version: &str) -> String {
    let (capabilities, info) = (own_capabilities(), own_info());
    let instructions = own_instructions(gateway);
    format!(
        r#"{{"protocolVersion":"{version}","capabilities":{capabilities},"serverInfo":{info},"instructions":{instructions}}}"#
    )
}

fn own_discover(gateway: &Gateway) -> String {
    let (capabilities, info) = (own_capabilities(), own_info());
    let instructions = own_instructions(gateway);
    let key = quoted(META_SERVER_INFO);
    format!(
        r#"{{"resultType":"complete","supportedVersions":["{MODERN}"],"capabilities":{capabilities},"instructions":{instructions},"ttlMs":60000,"cacheScope":"public","_meta":{{{key}:{info}}}}}"#
    )
}

/// Takes a notification of a downstream.
pub async fn notification(gateway: &Arc<Gateway>, downstream: &Downstream, frame: &Frame) {
    match frame.method().as_ref() {
        "notifications/initialized" => {}
        "notifications/cancelled" => {
            let id = text::get(frame.params(), &["requestId"]).map(|(raw, _)| raw);
            // The reason is the downstream's own text and would leave unjudged: it stays here.
            if let (Some(session), Some(id)) = (&downstream.session, id) {
                session.cancel(id, CANCELLED);
            }
        }
        "tools/call" => {
            tracing::warn!("refused a `tools/call` without an id: nobody could be answered");
        }
        _ => {
            if let Err(failure) = pass_notification(gateway, downstream, frame).await {
                tracing::debug!("could not pass on `{}`: {failure}", frame.method());
            }
        }
    }
}

/// Passes a notification on to the conversations that the downstream already has.
async fn pass_notification(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
) -> Result<(), Failure> {
    for upstream in gateway.fleet.all().values() {
        let caller = downstream.caller(upstream.name());
        let Some(instance) = upstream.existing(&caller) else {
            continue;
        };
        let own = upstream.settings().effective_scope() != Scope::Shared;
        if !own || instance.era() != Era::Legacy {
            continue;
        }
        let target = Target {
            upstream: Arc::clone(upstream),
            tool: ToolName::new(""),
            declared: Declared::default(),
        };
        let deadline = tokio::time::Instant::now() + gateway.call_timeout(upstream.settings());
        let passage = Passage {
            gateway,
            downstream,
            target: &target,
            caller,
            instance,
            deadline,
        };
        let kind = MessageKind::Notification(Arc::clone(frame.method()));
        let cleared = passage.clear_as(frame, kind, 0).await?;
        passage.deliver(&cleared).await?;
    }
    Ok(())
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
    match upstream.listed().tool(tool) {
        Some(card) => header::check_params(headers, frame, &card.param_headers),
        None => Ok(()),
    }
}
