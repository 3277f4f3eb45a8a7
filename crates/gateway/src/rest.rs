//! The REST interface under `/api/v1`: what the command line and scripts use.
//!
//! Every answer is `{success, data | error, request_id}`. Who asks was verified by the door;
//! whether they may is decided by `control`.

macro_rules! owner {
    ($who:expr) => {
        if let Err(refused) = only_owner(&$who) {
            return *refused;
        }
    };
}

mod activity;
mod approvals;
mod events;
pub mod hooks;
mod pipeline;
mod quarantine;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, Query, State as AxumState};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use mcpproxy_control::{Kind, Refused, TokenScope};
use mcpproxy_core::{
    Door, Id128, OfferKind, Principal, PrincipalKind, SessionBasis, SessionKey, UpstreamId,
};
use mcpproxy_engine::coverage::ACTIVE;
use mcpproxy_engine::{StopScope, is_named};
use mcpproxy_mcp::era::{self, Era, LEGACY_LATEST};
use mcpproxy_mcp::{Frame, compose};
use mcpproxy_upstream::settings::Start;
use mcpproxy_upstream::{Greeting, Standing, State, Upstream};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::downstream::{Downstream, Reply, Way};
use crate::gateway::Gateway;
use crate::management;
use crate::reply::{Answered, json as answered};
use crate::router;
use crate::settings::RoutingMode;

type Shared = AxumState<Arc<Gateway>>;
type Who = Extension<Principal>;

/// Builds the routes.
pub fn router(gateway: Arc<Gateway>) -> Router {
    let routes = Router::new()
        .route("/status", get(status))
        .route("/diagnostics", get(diagnostics))
        .route("/servers", get(servers).post(add_server))
        .route(
            "/servers/{name}",
            get(server).patch(change_server).delete(remove_server),
        )
        .route(
            "/servers/{name}/{action}",
            get(look_at_server).post(act_on_server),
        )
        .route("/servers/{name}/tools/approve", post(quarantine::approve))
        .route("/servers/{name}/tools/block", post(quarantine::block))
        .route("/servers/{name}/tools/{tool}/diff", get(quarantine::diff))
        .route("/tools", get(tools))
        .route("/tools/call", post(call_tool))
        .route("/index/search", get(search))
        .route("/sessions", get(sessions))
        .route("/sessions/{id}/flow", get(session_flow))
        .route("/activity", get(activity::list))
        .route("/activity/{id}", get(activity::show))
        .route("/stops", get(stops).post(stop_calls))
        .route("/stops/{scope}", axum::routing::delete(resume_calls))
        .route("/tokens", get(tokens).post(create_token))
        .route("/tokens/{name}", axum::routing::delete(revoke_token))
        .route("/approvals", get(approvals::list))
        .route("/approvals/{id}", post(approvals::answer))
        .route("/hooks", get(pipeline::list))
        .route("/hooks/evaluate", post(hooks::evaluate))
        .route("/config/reload", post(reload));
    Router::new()
        .nest("/api/v1", routes)
        .route("/events", get(events::listen))
        .route("/metrics", get(pipeline::metrics))
        .fallback(|| async { failed(StatusCode::NOT_FOUND, "no such resource", None) })
        .layer(axum::extract::DefaultBodyLimit::max(1024 * 1024))
        .with_state(gateway)
}

fn envelope(status: StatusCode, mut body: Value) -> Response {
    let random = mcpproxy_mcp::seal::random().unwrap_or_default();
    let id = mcpproxy_core::Id128::from_bytes(random).to_string();
    if let Some(body) = body.as_object_mut() {
        body.insert("request_id".into(), json!(id));
    }
    let mut response = (status, Json(body)).into_response();
    if let Ok(id) = HeaderValue::from_str(&id) {
        response
            .headers_mut()
            .insert(HeaderName::from_static("x-request-id"), id);
    }
    response
}

fn done(data: impl Into<Value>) -> Response {
    envelope(
        StatusCode::OK,
        json!({ "success": true, "data": data.into() }),
    )
}

fn failed(status: StatusCode, message: &str, hint: Option<&str>) -> Response {
    let mut body = json!({ "success": false, "error": message });
    if let (Some(hint), Some(body)) = (hint, body.as_object_mut()) {
        body.insert("hint".into(), json!(hint));
    }
    envelope(status, body)
}

fn refused(refused: &Refused) -> Response {
    let status = match refused.kind() {
        Kind::Forbidden => StatusCode::FORBIDDEN,
        Kind::Unknown => StatusCode::NOT_FOUND,
        Kind::Invalid => StatusCode::BAD_REQUEST,
        Kind::Conflict => StatusCode::CONFLICT,
        Kind::Busy => StatusCode::SERVICE_UNAVAILABLE,
        Kind::Failed => StatusCode::INTERNAL_SERVER_ERROR,
    };
    failed(status, &refused.to_string(), refused.remedy().as_deref())
}

/// Administration and reading of state is for owners; agents get 403.
fn only_owner(who: &Principal) -> Result<(), Box<Response>> {
    match who.kind {
        PrincipalKind::Owner => Ok(()),
        PrincipalKind::Agent | PrincipalKind::User | PrincipalKind::Local => {
            let hint = "use the API key, or the Unix socket";
            Err(Box::new(failed(
                StatusCode::FORBIDDEN,
                "only the owner may do this",
                Some(hint),
            )))
        }
    }
}

/// Tells whether the gateway can serve: each enabled upstream was tried.
pub fn ready(gateway: &Gateway) -> Answered {
    let untried = |upstream: &Arc<Upstream>| match upstream.state() {
        State::Starting => true,
        // It starts with the gateway and has not got round to it.
        State::Idle => upstream.settings().start == Start::Eager,
        State::Up { .. } | State::Down { .. } | State::Stopped { .. } => false,
    };
    let all = gateway.fleet.all();
    let waiting = all.values().filter(|upstream| untried(upstream)).count();
    let status = if waiting == 0 {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    answered(
        status,
        format!(r#"{{"ready":{},"starting":{waiting}}}"#, waiting == 0).into(),
    )
}

async fn status(AxumState(gateway): Shared, who: Who) -> Response {
    owner!(who);
    gateway.take_gaps().await;
    let sight = gateway.engine.sight();
    let active = gateway.active();
    let all = gateway.fleet.all();
    let up = all
        .values()
        .filter(|one| matches!(one.state(), State::Up { .. }))
        .count();
    let stopped: Vec<_> = gateway
        .engine
        .stops()
        .list()
        .iter()
        .map(ToString::to_string)
        .collect();
    done(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "since": gateway.since.rfc3339(),
        // The configured port may be 0, which stands for any.
        "listen": gateway.bound.get().map_or(active.settings.listen.clone(), ToString::to_string),
        "routing_mode": active.settings.routing_mode,
        "upstreams": { "total": all.len(), "up": up },
        "logins": logins(&all),
        "sessions": gateway.sessions.len(),
        "calls_in_flight": gateway.shed.in_flight(),
        "stopped": stopped,
        "config_problem": gateway.reload_problem.load_full().as_ref().clone(),
        "activity_problem": gateway.engine.record_problem(),
        "approvals": gateway.engine.approvals().list(gateway.clock.tick()).len(),
        // What was read before is not known: a restart starts afresh.
        "flow_tracking_since": gateway.engine.since().rfc3339(),
        "security_coverage": sight.coverage,
        "hooks_active": !sight.agents.is_empty(),
        "hooks": {
            "enabled": gateway.engine.answers_hooks(),
            // How long an event counts as a sign of life.
            "window_seconds": ACTIVE.as_secs(),
            "agents": sight.agents,
            "gaps": gateway.gaps.shown(),
        },
    }))
}

/// How the upstreams are logged in to that are.
fn logins(all: &BTreeMap<UpstreamId, Arc<Upstream>>) -> BTreeMap<&str, Standing> {
    let standing = all.iter().filter_map(|(name, upstream)| {
        let standing = upstream.login()?.standing();
        (standing != Standing::None).then_some((name.as_str(), standing))
    });
    standing.collect()
}

async fn diagnostics(AxumState(gateway): Shared, who: Who) -> Response {
    owner!(who);
    let mut problems = Vec::new();
    if let Some(problem) = gateway.reload_problem.load_full().as_ref() {
        problems.push(json!({ "area": "configuration", "problem": problem }));
    }
    if let Some(problem) = gateway.engine.record_problem() {
        problems.push(json!({ "area": "activity log", "problem": problem }));
    }
    for (name, upstream) in gateway.fleet.all().iter() {
        if let State::Down { why, attempts } = upstream.state() {
            let problem = format!("down after {attempts} attempts: {why}");
            let login = upstream.login().map(|login| login.standing());
            let hint = match login {
                Some(Standing::Needed { .. }) => format!("mcpproxy upstream login {name}"),
                Some(_) | None => format!("mcpproxy upstream logs {name}"),
            };
            problems.push(json!({ "area": name.as_str(), "problem": problem, "hint": hint }));
        }
        for problem in upstream.listed().problems.iter().take(5) {
            problems.push(json!({ "area": name.as_str(), "problem": problem }));
        }
        problems.extend(quarantine::problem(&gateway, name));
    }
    let recommendations = recommendations(&gateway);
    done(json!({ "problems": problems, "recommendations": recommendations }))
}

/// What would make the gateway see more.
fn recommendations(gateway: &Gateway) -> Vec<Value> {
    if !gateway.engine.sight().agents.is_empty() {
        return Vec::new();
    }
    vec![json!({
        "id": "install-hooks",
        "category": "security_coverage",
        "title": "Install agent hooks for improved security coverage",
        "description": "Hooks provide visibility into agent-internal tools (Read, Bash, WebFetch). \
            Without hooks, flow detection is limited to MCP-proxied tool calls.",
        "command": "mcpproxy hook install --agent claude-code",
        "priority": "optional",
    })]
}

async fn servers(AxumState(gateway): Shared, who: Who) -> Response {
    owner!(who);
    done(management::list(&gateway, &who))
}

#[derive(Deserialize)]
struct NewServer {
    name: String,
    #[serde(flatten)]
    settings: serde_json::Map<String, Value>,
}

async fn add_server(AxumState(gateway): Shared, who: Who, Json(new): Json<NewServer>) -> Response {
    let control = gateway.access.control();
    match control.add_upstream(&who, &new.name, Value::Object(new.settings)) {
        Ok(change) => done(json!({ "done": change.to_string() })),
        Err(refusal) => refused(&refusal),
    }
}

async fn change_server(
    AxumState(gateway): Shared,
    who: Who,
    Path(name): Path<String>,
    Json(settings): Json<Value>,
) -> Response {
    let control = gateway.access.control();
    match control.change_upstream(&who, &name, settings) {
        Ok(change) => done(json!({ "done": change.to_string() })),
        Err(refusal) => refused(&refusal),
    }
}

async fn server(AxumState(gateway): Shared, who: Who, Path(name): Path<String>) -> Response {
    owner!(who);
    match gateway.fleet.get(&name) {
        Ok(upstream) => done(management::describe(&gateway, &who, &upstream)),
        Err(fault) => failed(StatusCode::NOT_FOUND, &fault.to_string(), None),
    }
}

async fn remove_server(AxumState(gateway): Shared, who: Who, Path(name): Path<String>) -> Response {
    match gateway.access.control().remove_upstream(&who, &name) {
        Ok(change) => done(json!({ "done": change.to_string() })),
        Err(refusal) => refused(&refusal),
    }
}

async fn look_at_server(
    AxumState(gateway): Shared,
    who: Who,
    Path((name, what)): Path<(String, String)>,
) -> Response {
    owner!(who);
    let upstream = match gateway.fleet.get(&name) {
        Ok(upstream) => upstream,
        Err(fault) => return failed(StatusCode::NOT_FOUND, &fault.to_string(), None),
    };
    match what.as_str() {
        "logs" => done(json!({ "lines": upstream.stderr() })),
        "tools" => {
            let listed = upstream.listed();
            let tools: Vec<Value> = listed
                .tools
                .iter()
                .filter_map(|card| serde_json::from_str(card.text()).ok())
                .collect();
            let states = quarantine::states(&gateway, &name, &who);
            done(json!({
                "tools": tools,
                "filtered": listed.filtered.len(),
                "quarantine": states,
            }))
        }
        _ => failed(StatusCode::NOT_FOUND, "no such resource", None),
    }
}

async fn act_on_server(
    AxumState(gateway): Shared,
    who: Who,
    headers: HeaderMap,
    Path((name, action)): Path<(String, String)>,
) -> Response {
    owner!(who);
    let control = gateway.access.control();
    let changed = match action.as_str() {
        "enable" => control
            .enable_upstream(&who, &name)
            .map(|change| change.to_string()),
        "disable" => control
            .disable_upstream(&who, &name)
            .map(|change| change.to_string()),
        "restart" | "refresh" => {
            let acted = if action == "restart" {
                gateway.fleet.restart(&name)
            } else {
                gateway.fleet.get(&name).map(|upstream| upstream.refresh())
            };
            return match acted {
                Ok(()) => done(json!({ "done": format!("{action} of `{name}`") })),
                Err(fault) => failed(StatusCode::NOT_FOUND, &fault.to_string(), None),
            };
        }
        "quarantine" | "unquarantine" => {
            return quarantine::server(&gateway, &who, (&name, &action), &headers).await;
        }
        _ => return failed(StatusCode::NOT_FOUND, "no such action", None),
    };
    match changed {
        Ok(change) => done(json!({ "done": change })),
        Err(refusal) => refused(&refusal),
    }
}

async fn tools(AxumState(gateway): Shared, who: Who) -> Response {
    owner!(who);
    let known = gateway.known_to(&who);
    crate::listing::settle(&known).await;
    let mut tools = Vec::new();
    for upstream in &known {
        for card in &upstream.listed().tools {
            let description = card.string(&["description"]).unwrap_or_default();
            let first = description.lines().next().unwrap_or_default();
            let name = format!("{}:{}", upstream.name(), card.name);
            let held = gateway
                .engine
                .held(upstream.name(), OfferKind::Tool, card.name.as_str());
            let state = held.as_ref().map_or("approved", |held| held.state);
            tools.push(json!({
                "name": name,
                "state": state,
                "reason": held.map(|held| held.reason),
                "description": first,
            }));
        }
    }
    done(tools)
}

#[derive(Deserialize)]
struct SearchQuery {
    q: String,
    limit: Option<usize>,
}

async fn search(
    AxumState(gateway): Shared,
    who: Who,
    Query(query): Query<SearchQuery>,
) -> Response {
    owner!(who);
    let limit = query.limit.unwrap_or(15).min(100);
    let hits = gateway.hub.search(|index| {
        let found = index.search(&query.q, limit);
        let hits = found.hits.iter().map(
            |hit| json!({ "name": format!("{}:{}", hit.upstream, hit.name), "score": hit.score }),
        );
        hits.collect::<Vec<_>>()
    });
    done(hits)
}

#[derive(Deserialize)]
struct ToolCall {
    /// `server:tool`.
    name: String,
    /// `read`, `write` or `destructive`.
    operation: Option<String>,
    #[serde(default)]
    arguments: Value,
}

/// The status that says whose fault a failed call is.
fn status_of(code: Option<i64>) -> StatusCode {
    match code {
        Some(era::INVALID_PARAMS | era::METHOD_NOT_FOUND) => StatusCode::BAD_REQUEST,
        Some(era::OVERLOADED) => StatusCode::SERVICE_UNAVAILABLE,
        Some(era::TIMED_OUT) => StatusCode::GATEWAY_TIMEOUT,
        Some(_) | None => StatusCode::BAD_GATEWAY,
    }
}

/// Calls a tool the way an agent in call mode would, through the same engine.
async fn call_tool(AxumState(gateway): Shared, who: Who, Json(call): Json<ToolCall>) -> Response {
    let operation = call.operation.as_deref().unwrap_or("write");
    if !["read", "write", "destructive"].contains(&operation) {
        let message = format!("unknown operation `{operation}`");
        return failed(
            StatusCode::BAD_REQUEST,
            &message,
            Some("use read, write or destructive"),
        );
    }
    let arguments = if call.arguments.is_null() {
        json!({})
    } else {
        call.arguments
    };
    let params = json!({
        "name": format!("call_tool_{operation}"),
        "arguments": { "name": call.name, "args": arguments },
    });
    let raw = compose::request("1", "tools/call", &params.to_string());
    let frame = match Frame::parse(raw, gateway.limits()) {
        Ok(frame) => frame,
        Err(refusal) => return failed(StatusCode::BAD_REQUEST, &refusal.to_string(), None),
    };
    let key = Gateway::credential_key(&who.0, Some("rest"));
    let greeting = Arc::new(Greeting {
        version: LEGACY_LATEST.to_owned(),
        ..Greeting::default()
    });
    let downstream = Downstream {
        connection: None,
        linked: None,
        arrived: None,
        who: who.0,
        door: Door::Api,
        era: Era::Legacy,
        mode: RoutingMode::Call,
        key,
        greeting,
        session: None,
    };
    let (way, mut back) = Way::new();
    tokio::spawn(router::request(gateway, downstream, frame, way, None));
    while let Some(reply) = back.replies.recv().await {
        if let Reply::Final(message, ..) = reply {
            let answer: Value = serde_json::from_slice(&message).unwrap_or_default();
            return match (answer.get("result"), answer.get("error")) {
                (Some(result), _) => done(result.clone()),
                (None, error) => {
                    let message = error.and_then(|error| error.get("message"));
                    let message = message.and_then(Value::as_str).unwrap_or("the call failed");
                    let code = error.and_then(|error| error.get("code")?.as_i64());
                    failed(status_of(code), message, None)
                }
            };
        }
    }
    failed(StatusCode::INTERNAL_SERVER_ERROR, "the call was lost", None)
}

/// Shows what a session read and where data of it went.
async fn session_flow(AxumState(gateway): Shared, who: Who, Path(id): Path<String>) -> Response {
    owner!(who);
    let id = u128::from_str_radix(&id, 16).ok().map(Id128);
    let bases = [
        SessionBasis::Hook,
        SessionBasis::McpSession,
        SessionBasis::Credential,
        SessionBasis::Connection,
    ];
    let mut keys = id.into_iter().flat_map(|id| {
        let key = move |basis| SessionKey { basis, id };
        bases.map(key)
    });
    let Some(view) = keys.find_map(|key| gateway.engine.session(key)) else {
        let hint = "`GET /api/v1/activity` has the ids of sessions that have ended";
        return failed(StatusCode::NOT_FOUND, "no such session", Some(hint));
    };
    let summary = &view.summary;
    let edges = view.edges.iter().map(|edge| {
        json!({
            "activity_id": edge.call,
            "from": edge.origin,
            "to": &*edge.to,
            "evidence": edge.how,
            "weight": edge.weight,
            "shared": edge.shared,
        })
    });
    done(json!({
        "origins": view.origins,
        "edges": edges.collect::<Vec<_>>(),
        "origins_total": summary.origins,
        "edges_total": summary.edges,
        "seen": summary.taint,
    }))
}

async fn sessions(AxumState(gateway): Shared, who: Who) -> Response {
    owner!(who);
    let sessions: Vec<_> = gateway
        .sessions
        .all()
        .iter()
        .take(1000)
        .map(|session| {
            let client: Value =
                serde_json::from_str(&session.greeting.client_info).unwrap_or_default();
            json!({
                "id": session.key.id.to_string(),
                "principal": &*session.who.name,
                "protocol_version": session.version,
                "client": client,
            })
        })
        .collect();
    done(json!({ "total": gateway.sessions.len(), "sessions": sessions }))
}

async fn stops(AxumState(gateway): Shared, who: Who) -> Response {
    owner!(who);
    let stopped: Vec<_> = gateway
        .engine
        .stops()
        .list()
        .iter()
        .map(ToString::to_string)
        .collect();
    done(stopped)
}

#[derive(Deserialize)]
struct StopOrder {
    scope: String,
}

/// Reads a scope. A session may be named as its client knows it; the log knows another name.
fn parse_scope(gateway: &Gateway, scope: &str) -> Result<StopScope, Box<Response>> {
    let refused = |message: String| Box::new(failed(StatusCode::BAD_REQUEST, &message, None));
    let scope = scope.parse::<StopScope>().map_err(refused)?;
    Ok(match scope {
        StopScope::Session(id) => {
            let key = gateway.sessions.key_of(&id);
            StopScope::Session(key.map_or(id, |key| key.id.to_string()))
        }
        other => other,
    })
}

/// Tells whether there is anything that a scope covers. A typing mistake in an order to stop is
/// worse than anywhere else.
fn covers_something(gateway: &Gateway, who: &Principal, scope: &StopScope) -> bool {
    match scope {
        StopScope::All => true,
        StopScope::Upstream(name) => gateway.fleet.get(name.as_str()).is_ok(),
        StopScope::Session(id) => {
            let sessions = gateway.sessions.all();
            sessions.iter().any(|one| one.key.id.to_string() == *id)
        }
        StopScope::Principal(name) => {
            let tokens = gateway.access.control().list_tokens(who);
            let known = |token: &str| is_named(&format!("token:{token}"), name);
            ["local", "owner"].contains(&name.as_str())
                || tokens.is_ok_and(|tokens| tokens.iter().any(|token| known(&token.name)))
        }
    }
}

async fn stop_calls(
    AxumState(gateway): Shared,
    who: Who,
    Json(order): Json<StopOrder>,
) -> Response {
    let scope = match parse_scope(&gateway, &order.scope) {
        Ok(scope) => scope,
        Err(answer) => return *answer,
    };
    match gateway.access.control().stop_calls(&who, &scope) {
        Ok(change) => {
            let nothing = "nothing that is known goes by this name; the order stands all the same";
            let notice = (!covers_something(&gateway, &who, &scope)).then_some(nothing);
            done(
                json!({ "done": change.to_string(), "scope": scope.to_string(), "notice": notice }),
            )
        }
        Err(refusal) => refused(&refusal),
    }
}

async fn resume_calls(AxumState(gateway): Shared, who: Who, Path(scope): Path<String>) -> Response {
    let scope = match parse_scope(&gateway, &scope) {
        Ok(scope) => scope,
        Err(answer) => return *answer,
    };
    match gateway.access.control().resume_calls(&who, &scope) {
        Ok(change) => done(json!({ "done": change.to_string() })),
        Err(refusal) => refused(&refusal),
    }
}

async fn tokens(AxumState(gateway): Shared, who: Who) -> Response {
    owner!(who);
    match gateway.access.control().list_tokens(&who) {
        Ok(tokens) => done(serde_json::to_value(tokens).unwrap_or_default()),
        Err(refusal) => refused(&refusal),
    }
}

#[derive(Deserialize)]
struct NewToken {
    name: String,
    #[serde(flatten)]
    scope: TokenScope,
}

async fn create_token(AxumState(gateway): Shared, who: Who, Json(new): Json<NewToken>) -> Response {
    let control = gateway.access.control();
    match control.create_token(&who, &new.name, new.scope) {
        Ok(new) => done(json!({ "name": new.info.name, "token": new.secret.expose() })),
        Err(refusal) => refused(&refusal),
    }
}

async fn revoke_token(AxumState(gateway): Shared, who: Who, Path(name): Path<String>) -> Response {
    match gateway.access.control().revoke_token(&who, &name) {
        Ok(change) => {
            gateway.expel();
            done(json!({ "done": change.to_string() }))
        }
        Err(refusal) => refused(&refusal),
    }
}

async fn reload(AxumState(gateway): Shared, who: Who) -> Response {
    match gateway.access.control().reload(&who) {
        Ok(reloaded) => done(json!({ "done": reloaded.change.to_string() })),
        Err(refusal) => refused(&refusal),
    }
}
