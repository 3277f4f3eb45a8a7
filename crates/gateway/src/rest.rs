//! The REST interface under `/api/v1`: what the command line, the dashboard and scripts use.
//!
//! Every answer is `{success, data | error, request_id}`. Who asks was verified by the door; whom an
//! operation is for says the table of routes, which is here, and `control` decides again about what it
//! does. One subject a file.

mod activity;
mod approvals;
mod config;
mod envelope;
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
use axum::{Extension, Router, middleware};
use http::StatusCode;
use mcpproxy_control::{Applied, Replayed, Shown, Summary, TokenInfo};
use mcpproxy_core::Principal;
use mcpproxy_engine::Diff;
use mcpproxy_engine::replay::Explanation;
use serde_json::{Value, json};

use self::envelope::{Done, done, done_under, failed_under, refused, request_id};
use self::route::{For, Route, Told};
use crate::gateway::Gateway;
use crate::listed::Listed;
use crate::management::Described;

pub(crate) use self::envelope::failed;
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
    let types = json!({ "type": "string", "pattern": events::types() });
    vec![
        Route::at("/events").get(
            events::listen,
            Told::raw("Tells what happens, as it happens.", &["text/event-stream"])
                .whose(For::Auditors)
                .query(
                    "types",
                    &types,
                    "Only these types, with commas between; `a.*` for all of a kind.",
                ),
        ),
        Route::at("/metrics").get(
            pipeline::metrics,
            Told::raw(
                "Shows what is counted, as Prometheus reads it.",
                &["text/plain"],
            )
            .whose(For::Auditors),
        ),
    ]
}

/// What is on record.
fn about_records() -> Vec<Route> {
    let number = |most: u64| json!({ "type": "integer", "minimum": 1, "maximum": most });
    let period = json!({ "type": "string", "enum": ["1h", "24h", "7d", "30d"] });
    let group = json!({ "type": "string", "enum": [
        "server", "tool", "type", "status", "session_id", "principal", "agent", "flow_type",
        "risk_level",
    ] });
    let flag = one_of(&["true", "false"]);
    let list = Told::giving::<activity::Page>("Lists records, newest first: by when they were written, those of a session by when calls began.")
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
    let summary = Told::giving::<Summary>("Counts what a stretch of time came to.")
        .query(
            "period",
            &period,
            "The stretch up to the end; a day where neither it nor a start is given. Of it and a start, \
             the later beginning counts.",
        )
        .query("group_by", &group, "Counts groups of records, too.");
    let forms = &[
        "application/json",
        "application/x-ndjson",
        "text/csv",
        "text/plain",
    ];
    let export = Told::raw("Carries records away, newest first.", forms)
        .exploded(
            "form",
            &json!([
                { "properties": {
                    "format": one_of(&["json", "ndjson"]),
                    "include_bodies": flag,
                    "rollup": { "const": "daily" },
                } },
                { "required": ["format"], "properties": {
                    "format": one_of(&["csv", "ocsf", "cef"]),
                    "include_bodies": { "const": "false" },
                } },
            ]),
            "`format` is the form; ndjson where nothing is said. `include_bodies` says whether it has \
             what was sent and what came back, where that is kept. `rollup` counts by day after the \
             records; json always has them. Only json and ndjson have room for the two.",
        )
        .query(
            "include_flows",
            &flag,
            "Whether it says how data was followed.",
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
        );
    vec![
        Route::at("/activity").get(activity::list, activity::filtered(list)),
        Route::at("/activity/summary").get(activity::summary, activity::filtered(summary)),
        Route::at("/activity/export").get(activity::export, activity::filtered(export)),
        Route::at("/activity/{id}").get(
            activity::show,
            Told::giving::<activity::Shown>("Shows what was last recorded about a call.")
                .whose(For::Auditors),
        ),
        Route::at("/activity/{id}/receipts").get(
            activity::receipts,
            Told::giving::<activity::Receipts>(
                "Shows the receipts of a call, and the proof of those that are in a pack.",
            )
            .whose(For::Auditors),
        ),
    ]
}

/// Who calls, and what is to be decided about calls.
fn about_calls() -> Vec<Route> {
    vec![
        Route::at("/sessions").get(
            sessions::sessions,
            Told::giving::<Listed>(
                "Lists the conversations, with those of other gateways that share live state.",
            ),
        ),
        Route::at("/sessions/{id}/flow").get(
            sessions::session_flow,
            Told::giving::<sessions::SessionFlow>(
                "Shows what a session read, where it went and what became of it.",
            )
            .whose(For::Auditors),
        ),
        Route::at("/approvals").get(
            approvals::list,
            Told::giving::<approvals::Waiting>("Lists the calls that wait for a person."),
        ),
        Route::at("/approvals/{id}").post(
            approvals::answer,
            Told::giving::<approvals::Settled>("Answers for a call.")
                .whose(For::Key)
                .body::<approvals::Answer>(),
        ),
        Route::at("/stops")
            .get(
                stops::stops,
                Told::giving::<Vec<String>>("Lists what is stopped."),
            )
            .post(
                stops::stop_calls,
                Told::giving::<stops::Stopped>("Stops calls at once.").body::<stops::StopOrder>(),
            ),
        Route::at("/stops/{scope}").delete(
            stops::resume_calls,
            Told::giving::<Done>("Lets calls go again.").path(
                "scope",
                &json!({ "type": "string", "pattern": stops::SCOPE }),
            ),
        ),
        Route::at("/hooks").get(
            pipeline::list,
            Told::giving::<pipeline::Hooks>("Says how guards and hooks are doing."),
        ),
        Route::at("/hooks/evaluate").post(hooks::evaluate, hooks::told()),
    ]
}

/// When a change of the configuration conflicts with what there is. What is wrong with one depends on
/// all of it and on the machine, so that no schema of a request can say it.
const WRONG_CONFIG: &str = "The configuration that it would make is wrong, as `error` says and where. \
    Nothing has changed.";

/// A text that is one of these.
fn one_of(known: &[&str]) -> Value {
    json!({ "type": "string", "enum": known })
}

/// Upstreams and what they offer.
fn about_upstreams() -> Vec<Route> {
    let text = json!({ "type": "string" });
    let limit = json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX });
    vec![
        Route::at("/servers")
            .get(
                servers::servers,
                Told::giving::<Vec<Described>>("Lists upstreams."),
            )
            .post(
                servers::add_server,
                Told::giving::<Done>("Adds an upstream.")
                    .body::<servers::NewServer>()
                    .conflict(WRONG_CONFIG),
            ),
        Route::at("/servers/{name}")
            .get(
                servers::server,
                Told::giving::<Described>("Shows an upstream."),
            )
            .patch(
                servers::change_server,
                Told::giving::<Done>("Changes an upstream.")
                    .body::<servers::Settings>()
                    .conflict(WRONG_CONFIG),
            )
            .delete(
                servers::remove_server,
                Told::giving::<Done>("Removes an upstream."),
            ),
        Route::at("/servers/{name}/{action}")
            .get(
                servers::look_at_server,
                Told::giving::<servers::Looked>("Looks at an upstream.")
                    .path("action", &one_of(&servers::LOOKS)),
            )
            .post(
                servers::act_on_server,
                Told::giving::<servers::Acted>("Acts on an upstream.")
                    .path("action", &one_of(&servers::ACTIONS)),
            ),
        Route::at("/servers/{name}/tools/approve").post(
            quarantine::approve,
            Told::giving::<quarantine::MovedOffers>("Lets tools pass as they are now.")
                .whose(For::Key)
                .body::<quarantine::Approved>(),
        ),
        Route::at("/servers/{name}/tools/block").post(
            quarantine::block,
            Told::giving::<quarantine::MovedOffers>("Withholds tools for good.")
                .body::<quarantine::Blocked>(),
        ),
        Route::at("/servers/{name}/tools/{tool}/diff").get(
            quarantine::diff,
            Told::giving::<Diff>("Shows what changed in a tool since it was approved."),
        ),
        Route::at("/tools").get(
            tools::tools,
            Told::giving::<Vec<tools::Tool>>("Lists the tools of all upstreams."),
        ),
        Route::at("/tools/call").post(
            tools::call_tool,
            Told::giving::<tools::CallResult>("Calls a tool.")
                .whose(For::Agents)
                .body::<tools::ToolCall>(),
        ),
        Route::at("/index/search").get(
            tools::search,
            Told::giving::<Vec<tools::Hit>>("Searches tools.")
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
        Route::at("/status").get(
            status::status,
            Told::giving::<status::Status>("Shows how the gateway is doing."),
        ),
        Route::at("/diagnostics").get(
            status::diagnostics,
            Told::giving::<status::Diagnostics>("Shows what is wrong."),
        ),
        Route::at("/tokens")
            .get(
                tokens::tokens,
                Told::giving::<Vec<TokenInfo>>("Lists tokens."),
            )
            .post(
                tokens::create_token,
                Told::giving::<tokens::MadeToken>("Makes a token.")
                    .body::<tokens::NewToken>()
                    .conflict(
                        "There is one of that name, as many as are kept, or its end is past.",
                    ),
            ),
        Route::at("/tokens/{name}").delete(
            tokens::revoke_token,
            Told::giving::<Done>("Makes a token useless."),
        ),
        Route::at("/config").get(
            config::show,
            Told::giving::<Shown>("Shows the configuration, without secrets."),
        ),
        Route::at("/config/validate").post(
            config::validate,
            Told::giving::<config::Checked>("Says what is wrong with a changed configuration.")
                .body::<config::Change>(),
        ),
        Route::at("/config/apply").post(
            config::apply,
            Told::giving::<Applied>("Changes the configuration.")
                .whose(For::Key)
                .body::<config::Change>()
                .conflict(WRONG_CONFIG),
        ),
        Route::at("/config/reload").post(
            config::reload,
            Told::giving::<Done>("Reads the configuration again."),
        ),
        Route::at("/policy/explain").post(
            policy::explain,
            Told::giving::<Explanation>("Explains what would happen to a call.")
                .body::<policy::Tried>(),
        ),
        Route::at("/policy/replay").post(
            policy::replay,
            Told::giving::<Replayed>("Judges calls on record under a changed policy.")
                .body::<policy::Replay>()
                .conflict(WRONG_CONFIG),
        ),
        Route::at("/openapi.json").get(
            openapi::serve,
            Told::raw("This document.", &["application/json"]).whose(For::Anybody),
        ),
    ]
}
