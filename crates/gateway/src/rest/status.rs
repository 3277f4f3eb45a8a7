//! How the gateway is doing, what is wrong, and what would make it see more.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State as AxumState;
use axum::response::Response;
use http::StatusCode;
use mcpproxy_core::{Coverage, UpstreamId};
use mcpproxy_engine::coverage::ACTIVE;
use mcpproxy_engine::{AgentHeard, Recording};
use mcpproxy_upstream::settings::Start;
use mcpproxy_upstream::{Standing, State, Upstream};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Shared, done, quarantine, stops};
use crate::gaps::ShownGaps;
use crate::gateway::Gateway;
use crate::reply::{Answered, json as answered};
use crate::settings::RoutingMode;

/// How the gateway is doing.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "GatewayStatus")]
pub(super) struct Status {
    /// The version that runs.
    version: &'static str,
    /// When it was started, RFC 3339.
    since: String,
    /// The address that it listens at.
    listen: String,
    /// How it is spoken to there.
    #[schemars(extend("enum" = ["http", "https"]))]
    scheme: &'static str,
    /// What `/mcp` shows to agents.
    routing_mode: RoutingMode,
    /// The upstreams that are configured.
    upstreams: Upstreams,
    /// How those are logged in to that are, by their names.
    logins: BTreeMap<String, Standing>,
    /// Conversations that are open at this gateway.
    sessions: usize,
    /// Calls under way.
    calls_in_flight: usize,
    /// What is stopped.
    stopped: Vec<String>,
    /// What is wrong with the configuration in the files.
    config_problem: Option<String>,
    /// Why records are being lost.
    activity_problem: Option<String>,
    /// Whether state is shared with other gateways.
    live_shared: bool,
    /// Why it is not at the moment.
    live_problem: Option<String>,
    /// Calls that wait for a person.
    approvals: usize,
    /// Since when data is followed. What was read before is not known: a restart starts afresh.
    flow_tracking_since: String,
    /// How much of what agents do can be seen.
    security_coverage: Coverage,
    /// Whether any agent's hooks are active.
    hooks_active: bool,
    /// Agents' hooks.
    hooks: Hooks,
}

/// The upstreams in numbers.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UpstreamCounts")]
struct Upstreams {
    /// How many there are.
    total: usize,
    /// How many of them answer.
    up: usize,
}

/// Agents' hooks.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AgentHooks")]
struct Hooks {
    /// Whether they are answered.
    enabled: bool,
    /// How long an event counts as a sign of life.
    window_seconds: u64,
    /// The agents whose hooks are active.
    agents: Vec<AgentHeard>,
    /// Uses of tools about which hooks could not ask.
    gaps: ShownGaps,
}

/// What is wrong, and what would make more be seen.
#[derive(Serialize, JsonSchema)]
pub(super) struct Diagnostics {
    /// What is wrong.
    problems: Vec<Trouble>,
    /// What would make more be seen.
    recommendations: Vec<Recommendation>,
}

/// Something that is wrong.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(super) struct Trouble {
    /// What it is about: the name of an upstream, or of a part of the gateway.
    area: String,
    /// What is wrong.
    problem: String,
    /// What would make it right.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    hint: Option<String>,
}

impl Trouble {
    pub(super) fn new(area: &str, problem: impl Into<String>) -> Self {
        Self {
            area: area.to_owned(),
            problem: problem.into(),
            hint: None,
        }
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        let hint = Some(hint.into());
        Self { hint, ..self }
    }
}

/// Something that one can do.
#[derive(Serialize, JsonSchema)]
struct Recommendation {
    /// Its name.
    id: &'static str,
    /// What it is about.
    category: &'static str,
    /// In a few words.
    title: &'static str,
    /// In more.
    description: &'static str,
    /// The command that does it.
    command: &'static str,
    /// How much depends on it.
    priority: &'static str,
}

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
    // The configured port may be 0, which stands for any.
    let listen = gateway.bound.get().map(ToString::to_string);
    done(&Status {
        version: env!("CARGO_PKG_VERSION"),
        since: gateway.since.rfc3339(),
        listen: listen.unwrap_or_else(|| active.settings.listen.clone()),
        scheme: active.settings.scheme(),
        routing_mode: active.settings.routing_mode,
        upstreams: Upstreams {
            total: all.len(),
            up,
        },
        logins: logins(&all),
        sessions: gateway.sessions.len(),
        calls_in_flight: gateway.shed.in_flight(),
        stopped: stops::stopped(&gateway),
        config_problem: gateway.reload_problem.load_full().as_ref().clone(),
        activity_problem: gateway.engine.record_problem(),
        live_shared: gateway.engine.is_shared(),
        live_problem: gateway.engine.live_problem(),
        approvals: gateway.engine.approvals().list(gateway.clock.tick()).len(),
        flow_tracking_since: gateway.engine.since().rfc3339(),
        security_coverage: sight.coverage,
        hooks_active: !sight.agents.is_empty(),
        hooks: Hooks {
            enabled: gateway.engine.answers_hooks(),
            window_seconds: ACTIVE.as_secs(),
            agents: sight.agents,
            gaps: gateway.gaps.shown(),
        },
    })
}

/// How the upstreams are logged in to that are.
fn logins(all: &BTreeMap<UpstreamId, Arc<Upstream>>) -> BTreeMap<String, Standing> {
    let standing = all.iter().filter_map(|(name, upstream)| {
        let standing = upstream.login()?.standing();
        (standing != Standing::None).then(|| (name.to_string(), standing))
    });
    standing.collect()
}

pub(super) async fn diagnostics(AxumState(gateway): Shared) -> Response {
    let mut problems = Vec::new();
    if let Some(problem) = gateway.reload_problem.load_full().as_ref() {
        problems.push(Trouble::new("configuration", problem.clone()));
    }
    if let Some(problem) = gateway.engine.record_problem() {
        let hint = "see to it that there is room, and that the database answers";
        problems.push(Trouble::new("activity log", problem).with_hint(hint));
    }
    if let Some(problem) = gateway.engine.record_doubt() {
        let hint = "mcpproxy activity verify";
        problems.push(Trouble::new("activity log", problem).with_hint(hint));
    }
    if let Some(problem) = gateway.engine.live_problem() {
        let hint = "see to it that Redis answers at `live.url`";
        problems.push(Trouble::new("live state", problem).with_hint(hint));
    }
    for (name, upstream) in gateway.fleet.all().iter() {
        if let State::Down { why, attempts } = upstream.state() {
            let problem = format!("down after {attempts} attempts: {why}");
            let login = upstream.login().map(|login| login.standing());
            let hint = match login {
                Some(Standing::Needed { .. }) => format!("mcpproxy upstream login {name}"),
                Some(_) | None => format!("mcpproxy upstream logs {name}"),
            };
            problems.push(Trouble::new(name.as_str(), problem).with_hint(hint));
        }
        for problem in upstream.listed().problems.iter().take(5) {
            problems.push(Trouble::new(name.as_str(), problem.clone()));
        }
        problems.extend(quarantine::problem(&gateway, name));
    }
    let recommendations = recommendations(&gateway);
    done(&Diagnostics {
        problems,
        recommendations,
    })
}

/// What would make the gateway see more.
fn recommendations(gateway: &Gateway) -> Vec<Recommendation> {
    if !gateway.engine.sight().agents.is_empty() {
        return Vec::new();
    }
    vec![Recommendation {
        id: "install-hooks",
        category: "security_coverage",
        title: "Install agent hooks for improved security coverage",
        description: "Hooks provide visibility into agent-internal tools (Read, Bash, WebFetch). \
            Without hooks, flow detection is limited to MCP-proxied tool calls.",
        command: "mcpproxy hook install --agent claude-code",
        priority: "optional",
    }]
}
