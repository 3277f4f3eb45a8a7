//! The pipeline of hooks: how each of them is doing; and everything that is counted.

use std::sync::atomic::Ordering;

use axum::extract::State as AxumState;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use mcpproxy_engine::Health;
use mcpproxy_engine::metrics::{Text, escaped};
use mcpproxy_upstream::State;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Shared, done};
use crate::gateway::Gateway;

/// The form in which Prometheus reads what is counted.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How guards and hooks are doing.
#[derive(Serialize, JsonSchema)]
pub(super) struct Hooks {
    /// Each of them, in the order in which they are asked.
    hooks: Vec<Health>,
}

/// Says how each guard and each hook is doing, in the order in which they are asked.
pub(super) async fn list(AxumState(gateway): Shared) -> Response {
    let hooks = gateway.engine.health().await;
    done(&Hooks { hooks })
}

/// Prints what is counted about calls, hooks and violations, and how the gateway is doing.
pub(super) async fn metrics(AxumState(gateway): Shared) -> Response {
    let mut text = Text::default();
    gateway.engine.calls().print(&mut text);
    own(&gateway, &mut text);
    let text = gateway.engine.metrics().text() + &text.finish();
    ([(CONTENT_TYPE, TEXT)], text).into_response()
}

/// Prints how the gateway itself is doing.
fn own(gateway: &Gateway, text: &mut Text) {
    let name = "mcpproxy_upstream_up";
    let help =
        "Whether an upstream answers; one that is disabled or was not needed yet has no sample.";
    text.family(name, "gauge", help);
    for (upstream, one) in gateway.fleet.all().iter() {
        // Nobody misses it, so that a zero would be a false alarm.
        if !one.settings().enabled || one.state() == State::Idle {
            continue;
        }
        let label = format!("server=\"{}\"", escaped(upstream.as_str()));
        let up = matches!(one.state(), State::Up { .. });
        text.sample(name, &label, u8::from(up));
    }
    let approvals = gateway.engine.approvals().list(gateway.clock.tick());
    let problem = gateway.engine.record_problem().is_some();
    for (name, help, value) in [
        (
            "mcpproxy_calls_in_flight",
            "Calls under way.",
            gateway.shed.in_flight(),
        ),
        (
            "mcpproxy_sessions",
            "Open sessions.",
            gateway.sessions.len(),
        ),
        (
            "mcpproxy_approvals_waiting",
            "Calls that wait for a person.",
            approvals.len(),
        ),
        (
            "mcpproxy_event_listeners",
            "Listeners to `/events` here.",
            gateway.engine.watchers(),
        ),
        (
            "mcpproxy_activity_log_failing",
            "Whether records are being lost.",
            usize::from(problem),
        ),
        (
            "mcpproxy_activity_log_waiting",
            "Records that wait to be written.",
            gateway.engine.records_waiting(),
        ),
        (
            "mcpproxy_live_state_lost",
            "Whether what other gateways know cannot be asked.",
            usize::from(gateway.engine.live_problem().is_some()),
        ),
        (
            "mcpproxy_config_reload_failed",
            "Whether the configuration in the files is bad.",
            usize::from(gateway.reload_problem.load().is_some()),
        ),
    ] {
        text.family(name, "gauge", help);
        text.sample(name, "", value);
    }
    // A loss that is over is seen as well.
    let alerts = gateway.engine.alerts_lost().load(Ordering::Relaxed);
    for (name, help, value) in [
        (
            "mcpproxy_activity_log_lost_total",
            "Records that were lost.",
            gateway.engine.records_lost(),
        ),
        (
            "mcpproxy_alerts_lost_total",
            "Alerts that the webhook or syslog did not get.",
            alerts,
        ),
    ] {
        text.family(name, "counter", help);
        text.sample(name, "", value);
    }
    let name = "mcpproxy_build_info";
    text.family(name, "gauge", "The version that runs.");
    text.sample(
        name,
        concat!("version=\"", env!("CARGO_PKG_VERSION"), "\""),
        1,
    );
}
