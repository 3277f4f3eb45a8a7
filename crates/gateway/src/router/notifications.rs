//! What a downstream tells without wanting an answer, and the level of log messages it wants: both
//! go to the conversations that it already has.

use std::sync::Arc;

use mcpproxy_core::{Declared, MessageKind, Oddity, ToolName};
use mcpproxy_mcp::Frame;
use mcpproxy_mcp::era::Era;
use mcpproxy_text as text;
use mcpproxy_upstream::settings::Scope;
use mcpproxy_upstream::{Instance, Upstream};
use tokio::time::Instant;

use crate::downstream::Downstream;
use crate::error::Failure;
use crate::forward::{Passage, Target};
use crate::gateway::Gateway;
use crate::settings::RoutingMode;
use crate::streamable::without_id;
use crate::unjudged::{CALL, Knock};

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
        CALL => {
            tracing::warn!("refused a `tools/call` without an id: nobody could be answered");
            let knock = Knock::of(gateway, downstream);
            knock
                .refused(frame.raw(), &without_id(), &[Oddity::NoId])
                .await;
        }
        _ => pass_on(gateway, downstream, frame).await,
    }
}

/// Passes a notification on to the conversations that the downstream already has, all at once. One
/// that does not take it is none of the others' business.
async fn pass_on(gateway: &Arc<Gateway>, downstream: &Downstream, frame: &Frame) {
    let all = gateway.fleet.all();
    let told = all.values().filter_map(|upstream| {
        let own = upstream.settings().effective_scope() != Scope::Shared;
        let instance = upstream.existing(&downstream.caller(upstream.name()));
        let instance = instance.filter(|one| own && one.era() == Era::Legacy)?;
        Some(async move {
            if let Err(failure) = tell(gateway, downstream, frame, upstream, instance).await {
                let (method, name) = (frame.method(), upstream.name());
                tracing::info!("could not pass `{method}` on to `{name}`: {failure}");
            }
        })
    });
    futures_util::future::join_all(told).await;
}

async fn tell(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    upstream: &Arc<Upstream>,
    instance: Arc<Instance>,
) -> Result<(), Failure> {
    let target = Target {
        upstream: Arc::clone(upstream),
        tool: ToolName::new(""),
        declared: Declared::default(),
    };
    let deadline = Instant::now() + gateway.call_timeout(upstream.settings());
    let passage = Passage {
        gateway,
        downstream,
        target: &target,
        caller: downstream.caller(upstream.name()),
        instance,
        deadline,
    };
    let kind = MessageKind::Notification(Arc::clone(frame.method()));
    let cleared = passage.clear_as(frame, kind).await?;
    passage.deliver(&cleared).await
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
    let all = gateway.fleet.all();
    let own = all
        .values()
        .filter(|upstream| upstream.settings().effective_scope() != Scope::Shared)
        .filter_map(|upstream| upstream.existing(&downstream.caller(upstream.name())));
    session.tell_level(own.collect(), known);
    Ok(())
}
