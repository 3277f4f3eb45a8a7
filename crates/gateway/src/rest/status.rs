//! How the gateway is doing, what is wrong, and what would make it see more.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State as AxumState;
use axum::response::Response;
use http::StatusCode;
use mcpproxy_core::UpstreamId;
use mcpproxy_engine::Recording;
use mcpproxy_engine::coverage::ACTIVE;
use mcpproxy_upstream::settings::Start;
use mcpproxy_upstream::{Standing, State, Upstream};
use serde_json::{Value, json};

use super::{Shared, done, quarantine, stops};
use crate::gateway::Gateway;
use crate::reply::{Answered, json as answered};

/// Tells whether the gateway can serve: each enabled upstream was tried, and calls are not refused
/// because they cannot be put on record. Anybody may ask, so that what the disk or the database said is
/// not told here.
pub fn ready(gateway: &Gateway) -> Answered {
    let untried = |upstream: &Arc<Upstream>| match upstream.state() {
        State::Starting => true,
        // It starts with the gateway and has not got round to it.
        State::Idle => upstream.settings().start == Start::Eager,
        State::Up { .. } | State::Down { .. } | State::Stopped { .. } => false,
    };
    let all = gateway.fleet.all();
    let waiting = all.values().filter(|upstream| untried(upstream)).count();
    let recording = gateway.engine.recording();
    let ready = waiting == 0 && recording != Recording::Refusing;
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let problem = match recording {
        Recording::Sound => "",
        Recording::Losing => {
            r#","problem":"the activity log cannot be written: records are being lost""#
        }
        Recording::Refusing => {
            r#","problem":"the activity log cannot be written: calls are refused""#
        }
    };
    answered(
        status,
        format!(r#"{{"ready":{ready},"starting":{waiting}{problem}}}"#).into(),
    )
}

pub(super) async fn status(AxumState(gateway): Shared) -> Response {
    gateway.take_gaps().await;
    let sight = gateway.engine.sight();
    let active = gateway.active();
    let all = gateway.fleet.all();
    let up = all
        .values()
        .filter(|one| matches!(one.state(), State::Up { .. }))
        .count();
    done(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "since": gateway.since.rfc3339(),
        // The configured port may be 0, which stands for any.
        "listen": gateway.bound.get().map_or(active.settings.listen.clone(), ToString::to_string),
        "scheme": active.settings.scheme(),
        "routing_mode": active.settings.routing_mode,
        "upstreams": { "total": all.len(), "up": up },
        "logins": logins(&all),
        "sessions": gateway.sessions.len(),
        "calls_in_flight": gateway.shed.in_flight(),
        "stopped": stops::stopped(&gateway),
        "config_problem": gateway.reload_problem.load_full().as_ref().clone(),
        "activity_problem": gateway.engine.record_problem(),
        // Whether state is shared with other gateways, and why it is not at the moment.
        "live_shared": gateway.engine.is_shared(),
        "live_problem": gateway.engine.live_problem(),
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

pub(super) async fn diagnostics(AxumState(gateway): Shared) -> Response {
    let mut problems = Vec::new();
    if let Some(problem) = gateway.reload_problem.load_full().as_ref() {
        problems.push(json!({ "area": "configuration", "problem": problem }));
    }
    if let Some(problem) = gateway.engine.record_problem() {
        let hint = "see to it that there is room, and that the database answers";
        problems.push(json!({ "area": "activity log", "problem": problem, "hint": hint }));
    }
    if let Some(problem) = gateway.engine.live_problem() {
        let hint = "see to it that Redis answers at `live.url`";
        problems.push(json!({ "area": "live state", "problem": problem, "hint": hint }));
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
