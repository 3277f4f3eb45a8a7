//! Resource subscriptions of legacy downstreams, at upstreams of both eras.

use std::sync::{Arc, Weak};

use mcpproxy_core::{Declared, Door, Operation, ToolName, UpstreamId};
use mcpproxy_mcp::compose::{self, quoted};
use mcpproxy_mcp::era::Era;
use mcpproxy_mcp::{Frame, FrameKind};
use mcpproxy_upstream::settings::Scope;
use mcpproxy_upstream::{Instance, Upstream};

use super::{Answer, pass};
use crate::downstream::Downstream;
use crate::error::Failure;
use crate::forward::{Origin, Passage, Target, conversation};
use crate::gateway::Gateway;
use crate::listen::resubscribe;
use crate::renewed::{self, Again};
use crate::session::{Session, lock};
use crate::watches::{EACH, Left, Watcher, check_length};

/// Subscribes a legacy downstream to a resource. A modern upstream is asked with a request that
/// stays open; a shared one tells the hub, which then tells the session.
pub(super) async fn subscribe(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    upstream: Arc<Upstream>,
    origin: &mut Origin,
) -> Result<Answer, Failure> {
    gateway
        .access
        .permits(&downstream.who, upstream.name(), || Operation::Read)?;
    let uri = frame
        .parameter(&["uri"])
        .ok_or_else(|| Failure::params("`uri` is missing"))?;
    check_length(&uri)?;
    let wanted = &**frame.method() == "resources/subscribe";
    let session = downstream.session.clone();
    let session = session.ok_or_else(|| Failure::method(frame.method()))?;
    let instance = conversation(gateway, downstream, &upstream).await?;
    if instance.era() == Era::Legacy {
        // What an upstream of the session's own tells comes to the session by itself.
        let shared = upstream.settings().effective_scope() == Scope::Shared;
        return match (shared, wanted) {
            (false, _) => pass(gateway, downstream, frame, upstream, origin).await,
            (true, true) => watch(gateway, downstream, frame, upstream, origin, &session).await,
            (true, false) => {
                unwatch(gateway, downstream, frame, (upstream, instance), origin).await
            }
        };
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
        drop(passage.clear_request(frame).await?);
    }
    let mut subscriptions = lock(&session.subscriptions);
    // The session ends its subscriptions under this lock, once.
    if session.is_ended() {
        return Err(Failure::session_ended());
    }
    if let Some(task) = subscriptions.remove(uri.as_ref()) {
        task.abort();
    }
    if wanted && subscriptions.len() >= EACH {
        return Err(Failure::params("too many resource subscriptions"));
    }
    if wanted {
        let (gateway, listener) = (Arc::clone(gateway), Arc::downgrade(&session));
        let params = format!(
            r#"{{"notifications":{{"resourceSubscriptions":[{}]}}}}"#,
            quoted(&uri)
        );
        let task = tokio::spawn(async move {
            let heard = |frame: &Frame| told(frame, &listener);
            let again = || place(&gateway, &listener, upstream.name());
            renewed::listen(instance, &params, heard, again).await;
        });
        subscriptions.insert(uri.into_owned(), task.abort_handle());
    }
    Ok(Answer::Result("{}".to_owned()))
}

/// Subscribes at a shared upstream, where the session hears of a resource once the upstream took
/// the subscription.
async fn watch(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    upstream: Arc<Upstream>,
    origin: &mut Origin,
    session: &Session,
) -> Result<Answer, Failure> {
    let uri = frame.parameter(&["uri"]).unwrap_or_default();
    let (watches, name) = (&gateway.hub.watches, upstream.name().clone());
    let who = Watcher::Session(session.key.id);
    watches.begin(&name, &uri, who)?;
    let answer = pass(gateway, downstream, frame, upstream, origin).await;
    if matches!(&answer, Ok(Answer::Frame(frame)) if frame.kind() == FrameKind::Result) {
        watches.accept(&name, &uri, who);
    } else {
        watches.remove(&name, &uri, who);
    }
    // A session that ended meanwhile has been forgotten already.
    if session.is_ended() {
        gateway.unwatch(who);
    }
    answer
}

/// Takes a session's subscription at a shared upstream back, there only if nobody else wants it.
async fn unwatch(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    (upstream, instance): (Arc<Upstream>, Arc<Instance>),
    origin: &mut Origin,
) -> Result<Answer, Failure> {
    let uri = frame.parameter(&["uri"]).unwrap_or_default();
    let watches = &gateway.hub.watches;
    let who = Watcher::Session(downstream.key.id);
    if watches.remove(upstream.name(), &uri, who) == Left::Others {
        return Ok(Answer::Result("{}".to_owned()));
    }
    let answer = pass(gateway, downstream, frame, upstream, origin).await;
    resubscribe(watches, &instance, &uri).await;
    answer
}

/// Finds the session's conversation with an upstream, or opens it anew.
async fn place(gateway: &Arc<Gateway>, session: &Weak<Session>, upstream: &UpstreamId) -> Again {
    let (Some(session), Ok(upstream)) = (session.upgrade(), gateway.fleet.get(upstream.as_str()))
    else {
        return Again::Never;
    };
    let downstream = Downstream::of_session(&session, Door::Mcp);
    match conversation(gateway, &downstream, &upstream).await {
        Ok(instance) => Again::Here(instance),
        Err(_) => Again::Later,
    }
}

/// Passes an update of a resource on to the session.
fn told(frame: &Frame, session: &Weak<Session>) {
    if &**frame.method() == "notifications/resources/updated"
        && let Some(session) = session.upgrade()
    {
        let uri = quoted(&frame.parameter(&["uri"]).unwrap_or_default());
        let params = format!(r#"{{"uri":{uri}}}"#);
        session.push(&compose::notification(frame.method(), &params));
    }
}
