//! What a downstream tells without wanting an answer, and the level of log messages it wants: both
//! go to the conversations that it already has.

use std::sync::Arc;

use mcpproxy_core::{Declared, MessageKind, ToolName};
use mcpproxy_mcp::Frame;
use mcpproxy_mcp::era::Era;
use mcpproxy_text as text;
use mcpproxy_upstream::settings::Scope;

use crate::downstream::Downstream;
use crate::error::Failure;
use crate::forward::{Passage, Target};
use crate::gateway::Gateway;
use crate::session;
use crate::settings::RoutingMode;

/// What an upstream is told of a request that its downstream cancelled.
pub(crate) const CANCELLED: &str = "cancelled by the downstream";
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

/// Notes at which level a downstream wants log messages, and tells the upstreams that speak to it
/// alone and already do.
pub(super) fn set_level(
    gateway: &Gateway,
    downstream: &Downstream,
    frame: &Frame,
) -> Result<(), Failure> {
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
