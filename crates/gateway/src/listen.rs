//! Subscriptions of stateless downstreams: one request that stays open and tells of changes.
//!
//! Changes of lists come from the hub. For updates of a resource the gateway subscribes at the
//! upstream that has it, in a conversation of its own, for as long as somebody wants to hear.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::{Declared, Operation, ToolName, UpstreamId};
use mcpproxy_mcp::Frame;
use mcpproxy_mcp::compose::{self, quoted};
use mcpproxy_mcp::era::{Era, META_SUBSCRIPTION};
use mcpproxy_text as text;
use mcpproxy_upstream::instance::ticket;
use mcpproxy_upstream::{Instance, Upstream};
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::downstream::{Downstream, Way};
use crate::error::Failure;
use crate::forward::{Origin, Passage, Target};
use crate::gateway::Gateway;
use crate::hub::Filter;
use crate::listing;
use crate::renewed::{self, ACKNOWLEDGED, Again};
use crate::router::Answer;
use crate::watches::{Watcher, Watches, check_length};

/// Resources that one subscription may name; the rest is not acknowledged.
const MOST: usize = 1000;
/// How long an upstream may take to confirm a subscription.
const PATIENCE: Duration = Duration::from_secs(10);

const SUBSCRIBE: &str = "resources/subscribe";
const UNSUBSCRIBE: &str = "resources/unsubscribe";
const UPDATED: &str = "notifications/resources/updated";

/// Serves a stateless downstream's subscription until it goes away.
pub(crate) async fn listen(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    origin: &Origin,
) -> Result<Answer, Failure> {
    let number = ticket();
    let _unwatching = Unwatching(Arc::clone(gateway), Watcher::Listener(number));
    let watching = tokio::select! {
        watching = Watching::start(gateway, downstream, frame, (origin, number)) => watching,
        _gone = origin.way.cancelled() => {
            return Ok(Answer::Result(end_of_subscription(&origin.id)));
        }
    };
    let wants = |name: &str| {
        text::get(frame.params(), &["notifications", name]).is_some_and(|(raw, _)| raw == "true")
    };
    let filter = Filter {
        tools: wants("toolsListChanged"),
        prompts: wants("promptsListChanged"),
        resources: wants("resourcesListChanged"),
    };
    let granted = granted(&filter, &watching.uris);
    let meta = meta(&origin.id);
    let params = format!(r#"{{"notifications":{granted},"_meta":{meta}}}"#);
    origin
        .way
        .tell(compose::notification(ACKNOWLEDGED, &params));
    let (id, way) = (origin.id.clone(), origin.way.clone());
    gateway.hub.subscribe(number, id, filter, way);
    tokio::select! {
        _gone = origin.way.cancelled() => {}
        () = gateway.until_invalid(&downstream.who) => {}
    }
    gateway.hub.unsubscribe(number);
    Ok(Answer::Result(end_of_subscription(&origin.id)))
}

/// The result with which a subscription under this raw id ends.
pub(crate) fn end_of_subscription(id: &str) -> String {
    let meta = meta(id);
    format!(r#"{{"resultType":"complete","_meta":{meta}}}"#)
}

fn meta(id: &str) -> String {
    format!("{{{}:{id}}}", quoted(META_SUBSCRIPTION))
}

/// Says what of the wishes will be fulfilled, and nothing else.
fn granted(filter: &Filter, uris: &BTreeSet<String>) -> Value {
    let lists = [
        ("toolsListChanged", filter.tools),
        ("promptsListChanged", filter.prompts),
        ("resourcesListChanged", filter.resources),
    ];
    let mut granted: Map<_, _> = lists
        .into_iter()
        .filter(|(_, wanted)| *wanted)
        .map(|(name, _)| (name.to_owned(), true.into()))
        .collect();
    if !uris.is_empty() {
        let uris = uris.iter().cloned().collect::<Vec<_>>();
        granted.insert("resourceSubscriptions".to_owned(), uris.into());
    }
    Value::Object(granted)
}

/// What is subscribed to at upstreams for one downstream.
#[derive(Default)]
struct Watching {
    /// The resources whose updates will be told.
    uris: BTreeSet<String>,
    /// The open requests to modern upstreams.
    modern: Vec<AbortHandle>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        for task in &self.modern {
            task.abort();
        }
    }
}

impl Watching {
    /// Subscribes to the resources that a request names, where its sender may.
    async fn start(
        gateway: &Arc<Gateway>,
        downstream: &Downstream,
        frame: &Frame,
        (origin, number): (&Origin, u64),
    ) -> Self {
        let path = ["notifications", "resourceSubscriptions"];
        let (list, _) = text::get(frame.params(), &path).unwrap_or(("[]", 0..0));
        let named = text::elements(list).filter_map(|span| text::string(list.get(span)?));
        let named: BTreeSet<_> = named.take(MOST).map(Cow::into_owned).collect();
        let mut watching = Self::default();
        if named.is_empty() {
            return watching;
        }
        let known = gateway.settled_for(&downstream.who).await;
        let mut modern: BTreeMap<UpstreamId, (Arc<Instance>, Vec<String>)> = BTreeMap::new();
        for uri in named {
            let instance = match admitted(gateway, downstream, &known, frame, &uri).await {
                Ok(instance) => instance,
                Err(failure) => {
                    tracing::debug!("no updates of a resource: {failure}");
                    continue;
                }
            };
            if instance.era() == Era::Modern {
                let name = instance.upstream().clone();
                modern
                    .entry(name)
                    .or_insert((instance, Vec::new()))
                    .1
                    .push(uri);
            } else if watched(gateway, &instance, &uri, Watcher::Listener(number)).await {
                watching.uris.insert(uri);
            }
        }
        for (instance, uris) in modern.into_values() {
            if let Some(task) = opened(gateway, instance, &uris, origin).await {
                watching.uris.extend(uris);
                watching.modern.push(task);
            }
        }
        watching
    }
}

/// Takes back what a downstream subscribed to once it has gone, however it went.
struct Unwatching(Arc<Gateway>, Watcher);

impl Drop for Unwatching {
    fn drop(&mut self) {
        self.0.unwatch(self.1);
    }
}

/// Subscribes to a resource at a legacy upstream, whose updates the hub hears.
async fn watched(gateway: &Gateway, instance: &Instance, uri: &str, who: Watcher) -> bool {
    let (watches, upstream) = (&gateway.hub.watches, instance.upstream());
    if let Err(failure) = watches.begin(upstream, uri, who) {
        tracing::debug!("no updates of a resource: {failure}");
        return false;
    }
    let taken = subscribed(instance, SUBSCRIBE, uri).await;
    if taken {
        watches.accept(upstream, uri, who);
    } else {
        watches.remove(upstream, uri, who);
    }
    taken
}

/// Subscribes again to resources of an upstream that was restarted.
pub(crate) async fn renew(instance: Arc<Instance>, uris: Vec<String>) {
    for uri in uris {
        if !subscribed(&instance, SUBSCRIBE, &uri).await {
            let upstream = instance.upstream();
            tracing::warn!("could not subscribe again to a resource of `{upstream}`");
        }
        if instance.ended().is_some() {
            return;
        }
    }
}

/// Takes back the subscription to a resource that nobody watches any more.
pub(crate) async fn unsubscribe(watches: &Watches, instance: &Instance, uri: &str) -> bool {
    let told = subscribed(instance, UNSUBSCRIBE, uri).await;
    resubscribe(watches, instance, uri).await;
    told
}

/// Subscribes again where somebody did while the subscription was being taken back: which of the
/// two the upstream saw last is not known.
pub(crate) async fn resubscribe(watches: &Watches, instance: &Instance, uri: &str) {
    if watches.is_watched(instance.upstream(), uri) {
        subscribed(instance, SUBSCRIBE, uri).await;
    }
}

/// Finds the upstream of a resource and asks the engine: the address leaves for the upstream, so it
/// is judged like any call.
async fn admitted(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    known: &[Arc<Upstream>],
    frame: &Frame,
    uri: &str,
) -> Result<Arc<Instance>, Failure> {
    check_length(uri)?;
    let upstream = listing::offering(gateway, &downstream.who, known, uri)?;
    let access = &gateway.access;
    access.permits(&downstream.who, upstream.name(), || Operation::Read)?;
    let instance = upstream.own_instance().await?;
    let deadline = tokio::time::Instant::now() + gateway.call_timeout(upstream.settings());
    let caller = downstream.caller(upstream.name());
    let target = Target {
        upstream,
        tool: ToolName::new(uri),
        declared: Declared::default(),
    };
    let passage = Passage {
        gateway,
        downstream,
        target: &target,
        caller,
        instance: Arc::clone(&instance),
        deadline,
    };
    drop(passage.clear_request(frame).await?);
    Ok(instance)
}

async fn subscribed(instance: &Instance, method: &'static str, uri: &str) -> bool {
    let params = format!(r#"{{"uri":{}}}"#, quoted(uri));
    let told = instance.own(method, &params, PATIENCE).await;
    told.inspect_err(|fault| tracing::debug!("`{method}` failed: {fault}"))
        .is_ok()
}

/// Opens a subscription at a modern upstream and waits until it is confirmed.
async fn opened(
    gateway: &Arc<Gateway>,
    instance: Arc<Instance>,
    uris: &[String],
    origin: &Origin,
) -> Option<AbortHandle> {
    let uris = Value::from(uris.to_vec());
    let params = format!(r#"{{"notifications":{{"resourceSubscriptions":{uris}}}}}"#);
    let (confirm, confirmed) = oneshot::channel();
    let (id, way) = (origin.id.clone(), origin.way.clone());
    let gateway = Arc::clone(gateway);
    let task = tokio::spawn(async move {
        let upstream = instance.upstream().clone();
        let mut confirm = Some(confirm);
        let heard = |frame: &Frame| told(frame, &mut confirm, (&id, &way));
        let again = || place(&gateway, &upstream);
        renewed::listen(instance, &params, heard, again).await;
    });
    let task = task.abort_handle();
    if let Ok(Ok(())) = tokio::time::timeout(PATIENCE, confirmed).await {
        return Some(task);
    }
    task.abort();
    None
}

/// Finds the gateway's own conversation with an upstream, where there is one.
async fn place(gateway: &Gateway, upstream: &UpstreamId) -> Again {
    let Ok(upstream) = gateway.fleet.get(upstream.as_str()) else {
        return Again::Never;
    };
    match upstream.own_instance().await {
        Ok(instance) => Again::Here(instance),
        Err(_) => Again::Later,
    }
}

/// Passes an update on under the downstream's own id, and that the subscription is confirmed.
fn told(frame: &Frame, confirm: &mut Option<oneshot::Sender<()>>, (id, way): (&str, &Way)) {
    if &**frame.method() == ACKNOWLEDGED
        && let Some(confirm) = confirm.take()
    {
        // Whoever waited for it has given up otherwise, and ends this task.
        confirm.send(()).unwrap_or_default();
    }
    if &**frame.method() == UPDATED {
        let uri = quoted(&frame.parameter(&["uri"]).unwrap_or_default());
        let params = format!(r#"{{"uri":{uri},"_meta":{}}}"#, meta(id));
        way.tell(compose::notification(UPDATED, &params));
    }
}
