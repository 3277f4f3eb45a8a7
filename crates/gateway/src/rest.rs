//! The REST interface under `/api/v1`: what the command line, the dashboard and scripts use.
//!
//! Every answer is `{success, data | error, request_id}`. Who asks was verified by the door; whom an
//! operation is for says the table of routes, which is here, and `control` decides again about what it
//! does. One subject a file.

mod activity;
mod approvals;
mod config;
mod events;
pub mod hooks;
pub(crate) mod layers;
mod openapi;
mod pipeline;
mod policy;
mod quarantine;
mod route;
mod servers;
mod sessions;
mod status;
mod stops;
mod taken;
mod tokens;
mod tools;

use std::sync::Arc;

use axum::extract::State as AxumState;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Router, middleware};
use http::header::{CONTENT_TYPE, ETAG};
use http::{HeaderName, HeaderValue, StatusCode};
use mcpproxy_control::{Applied, Kind, Refused, Shown};
use mcpproxy_core::Principal;
use serde_json::{Value, json};

use self::route::{For, Route, Told};
use crate::gateway::Gateway;

pub use self::status::ready;

type Shared = AxumState<Arc<Gateway>>;
type Who = Extension<Principal>;

/// The largest body of a request.
const LARGEST: usize = 1024 * 1024;

/// Builds the routes.
pub fn router(gateway: Arc<Gateway>) -> Router {
    let served = |routes: Vec<Route>| {
        let router = Router::new();
        routes.into_iter().fold(router, |router, route| {
            router.route(route.path, route.served)
        })
    };
    Router::new()
        .nest("/api/v1", served(routes()))
        .merge(served(outside()))
        .fallback(|| async { failed(StatusCode::NOT_FOUND, "no such resource", None) })
        .method_not_allowed_fallback(|| async {
            let message = "this cannot be done here";
            failed(StatusCode::METHOD_NOT_ALLOWED, message, None)
        })
        .layer(middleware::from_fn(layers::fresh))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&gateway),
            layers::pace,
        ))
        .layer(axum::extract::DefaultBodyLimit::max(LARGEST))
        .with_state(gateway)
}

/// The routes under `/api/v1`.
fn routes() -> Vec<Route> {
    let mut routes = about_records();
    routes.extend(about_calls());
    routes.extend(about_upstreams());
    routes.extend(about_settings());
    routes
}

/// The routes that stand beside `/api/v1`.
fn outside() -> Vec<Route> {
    let text = json!({ "type": "string" });
    vec![
        Route::at("/events").get(
            events::listen,
            Told::new("Tells what happens, as it happens.")
                .whose(For::Auditors)
                .query(
                    "types",
                    &text,
                    "Only these types, with commas between; `a.*` for all of a kind.",
                )
                .raw(&["text/event-stream"]),
        ),
        Route::at("/metrics").get(
            pipeline::metrics,
            Told::new("Shows what is counted, as Prometheus reads it.")
                .whose(For::Auditors)
                .raw(&["text/plain"]),
        ),
    ]
}

/// What is on record.
fn about_records() -> Vec<Route> {
    let number = |most: u64| json!({ "type": "integer", "minimum": 0, "maximum": most });
    let period = json!({ "type": "string", "enum": ["1h", "24h", "7d", "30d"] });
    let group = json!({ "type": "string", "enum": [
        "server", "tool", "type", "status", "session_id", "principal", "agent", "flow_type",
        "risk_level",
    ] });
    let format = json!({ "type": "string", "enum": ["json", "ndjson", "csv", "ocsf", "cef"] });
    let flag = json!({ "type": "string", "enum": ["true", "false"] });
    let list = Told::new("Lists records, newest first: by when they were written, those of a session by when calls began.")
        .query(
            "limit",
            &number(100),
            "How many at most; 50 where nothing is said.",
        )
        .query(
            "offset",
            &json!({ "type": "integer", "minimum": 0, "maximum": 10_000 }),
            "How many are left out.",
        )
        .query(
            "cursor",
            &activity::cursor(),
            "Where the page before ended; a page can be short and not the last.",
        );
    let summary = Told::new("Counts what a stretch of time came to.")
        .query(
            "period",
            &period,
            "The stretch up to the end; a day where neither it nor a start is given.",
        )
        .query("group_by", &group, "Counts groups of records, too.")
        .gives::<mcpproxy_control::Summary>();
    let export = Told::new("Carries records away, newest first.")
        .query("format", &format, "The form; ndjson where nothing is said.")
        .query(
            "include_flows",
            &flag,
            "Whether it says how data was followed.",
        )
        .query(
            "include_bodies",
            &flag,
            "Whether it has what was sent and what came back, where that is kept; json and ndjson have room for it.",
        )
        .query(
            "rollup",
            &json!({ "const": "daily" }),
            "Counts by day after the records; json always has them.",
        )
        .query(
            "limit",
            &number(10_000),
            "How many in one part; `X-Next-Cursor` says where the next begins.",
        )
        .query(
            "cursor",
            &activity::cursor(),
            "Where the part before ended.",
        )
        .raw(&[
            "application/json",
            "application/x-ndjson",
            "text/csv",
            "text/plain",
        ]);
    vec![
        Route::at("/activity").get(activity::list, activity::filtered(list)),
        Route::at("/activity/summary").get(activity::summary, activity::filtered(summary)),
        Route::at("/activity/export").get(activity::export, activity::filtered(export)),
        Route::at("/activity/{id}").get(
            activity::show,
            Told::new("Shows what was last recorded about a call.").whose(For::Auditors),
        ),
        Route::at("/activity/{id}/receipts").get(
            activity::receipts,
            Told::new("Shows the receipts of a call, and the proof of those that are in a pack.")
                .whose(For::Auditors),
        ),
    ]
}

/// Who calls, and what is to be decided about calls.
fn about_calls() -> Vec<Route> {
    vec![
        Route::at("/sessions").get(sessions::sessions, Told::new("Lists the conversations.")),
        Route::at("/sessions/{id}/flow").get(
            sessions::session_flow,
            Told::new("Shows what a session read, where it went and what became of it.")
                .whose(For::Auditors),
        ),
        Route::at("/approvals").get(
            approvals::list,
            Told::new("Lists the calls that wait for a person."),
        ),
        Route::at("/approvals/{id}").post(
            approvals::answer,
            Told::new("Answers for a call.")
                .whose(For::Key)
                .body::<approvals::Answer>(),
        ),
        Route::at("/stops")
            .get(stops::stops, Told::new("Lists what is stopped."))
            .post(
                stops::stop_calls,
                Told::new("Stops calls at once.").body::<stops::StopOrder>(),
            ),
        Route::at("/stops/{scope}").delete(stops::resume_calls, Told::new("Lets calls go again.")),
        Route::at("/hooks").get(
            pipeline::list,
            Told::new("Says how guards and hooks are doing."),
        ),
        Route::at("/hooks/evaluate").post(
            hooks::evaluate,
            Told::new("Answers an agent's hook.")
                .whose(For::Agents)
                .body::<servers::Settings>(),
        ),
    ]
}

/// Upstreams and what they offer.
fn about_upstreams() -> Vec<Route> {
    let text = json!({ "type": "string" });
    let limit = json!({ "type": "integer", "minimum": 0 });
    vec![
        Route::at("/servers")
            .get(servers::servers, Told::new("Lists upstreams."))
            .post(
                servers::add_server,
                Told::new("Adds an upstream.").body::<servers::NewServer>(),
            ),
        Route::at("/servers/{name}")
            .get(servers::server, Told::new("Shows an upstream."))
            .patch(
                servers::change_server,
                Told::new("Changes an upstream.").body::<servers::Settings>(),
            )
            .delete(servers::remove_server, Told::new("Removes an upstream.")),
        Route::at("/servers/{name}/{action}")
            .get(
                servers::look_at_server,
                Told::new("Looks at an upstream.").path("action", &servers::LOOKS),
            )
            .post(
                servers::act_on_server,
                Told::new("Acts on an upstream.").path("action", &servers::ACTIONS),
            ),
        Route::at("/servers/{name}/tools/approve").post(
            quarantine::approve,
            Told::new("Lets tools pass as they are now.")
                .whose(For::Key)
                .body::<quarantine::Chosen>(),
        ),
        Route::at("/servers/{name}/tools/block").post(
            quarantine::block,
            Told::new("Withholds tools for good.").body::<quarantine::Chosen>(),
        ),
        Route::at("/servers/{name}/tools/{tool}/diff").get(
            quarantine::diff,
            Told::new("Shows what changed in a tool since it was approved."),
        ),
        Route::at("/tools").get(tools::tools, Told::new("Lists the tools of all upstreams.")),
        Route::at("/tools/call").post(
            tools::call_tool,
            Told::new("Calls a tool.")
                .whose(For::Agents)
                .body::<tools::ToolCall>(),
        ),
        Route::at("/index/search").get(
            tools::search,
            Told::new("Searches tools.")
                .required("q", &text, "What is looked for.")
                .query(
                    "limit",
                    &limit,
                    "How many, 100 at most; 15 where nothing is said.",
                ),
        ),
    ]
}

/// How the gateway is set up and how it is doing.
fn about_settings() -> Vec<Route> {
    vec![
        Route::at("/status").get(status::status, Told::new("Shows how the gateway is doing.")),
        Route::at("/diagnostics").get(status::diagnostics, Told::new("Shows what is wrong.")),
        Route::at("/tokens")
            .get(tokens::tokens, Told::new("Lists tokens."))
            .post(
                tokens::create_token,
                Told::new("Makes a token.").body::<tokens::NewToken>(),
            ),
        Route::at("/tokens/{name}")
            .delete(tokens::revoke_token, Told::new("Makes a token useless.")),
        Route::at("/config").get(
            config::show,
            Told::new("Shows the configuration, without secrets.").gives::<Shown>(),
        ),
        Route::at("/config/validate").post(
            config::validate,
            Told::new("Says what is wrong with a changed configuration.").body::<config::Change>(),
        ),
        Route::at("/config/apply").post(
            config::apply,
            Told::new("Changes the configuration.")
                .whose(For::Key)
                .body::<config::Change>()
                .gives::<Applied>(),
        ),
        Route::at("/config/reload")
            .post(config::reload, Told::new("Reads the configuration again.")),
        Route::at("/policy/explain").post(
            policy::explain,
            Told::new("Explains what would happen to a call.").body::<servers::Settings>(),
        ),
        Route::at("/policy/replay").post(
            policy::replay,
            Told::new("Judges calls on record under a changed policy.").body::<policy::Replay>(),
        ),
        Route::at("/openapi.json").get(
            openapi::serve,
            Told::new("This document.")
                .whose(For::Anybody)
                .raw(&["application/json"]),
        ),
    ]
}

fn request_id() -> String {
    let random = mcpproxy_mcp::seal::random().unwrap_or_default();
    mcpproxy_core::Id128::from_bytes(random).to_string()
}

fn envelope(status: StatusCode, body: String, id: &str) -> Response {
    let kind = HeaderValue::from_static("application/json");
    let mut response = (status, [(CONTENT_TYPE, kind)], body).into_response();
    if let Ok(id) = HeaderValue::from_str(id) {
        let name = HeaderName::from_static("x-request-id");
        response.headers_mut().insert(name, id);
    }
    response
}

fn done(data: impl Into<Value>) -> Response {
    done_under(&request_id(), data)
}

/// Answers under an id that is known already, since it is on record.
fn done_under(id: &str, data: impl Into<Value>) -> Response {
    let data = data.into().to_string();
    let body = format!(r#"{{"success":true,"data":{data},"request_id":"{id}"}}"#);
    let mut response = envelope(StatusCode::OK, body, id);
    if let Some(tag) = layers::tag(&data) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

pub(crate) fn failed(status: StatusCode, message: &str, hint: Option<&str>) -> Response {
    failed_under(&request_id(), status, message, hint)
}

fn failed_under(id: &str, status: StatusCode, message: &str, hint: Option<&str>) -> Response {
    let mut body = json!({ "success": false, "error": message, "request_id": id });
    if let (Some(hint), Some(body)) = (hint, body.as_object_mut()) {
        body.insert("hint".into(), json!(hint));
    }
    envelope(status, body.to_string(), id)
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
