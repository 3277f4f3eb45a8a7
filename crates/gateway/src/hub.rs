//! What shared upstreams say to nobody in particular: their lists changed, a resource was updated.
//! Those who asked to hear of it do; nothing else is passed on.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, RwLock, Weak};

use mcpproxy_core::{Door, Id128, OfferKind, UpstreamId};
use mcpproxy_engine::events::{Event, ServerNews};
use mcpproxy_engine::{Described, Engine, Extent, Offered, Profile};
use mcpproxy_mcp::compose::{self, quoted};
use mcpproxy_mcp::era::{Era, META_SUBSCRIPTION};
use mcpproxy_mcp::{Frame, FrameKind};
use mcpproxy_search::{Document, Index};
use mcpproxy_text as text;
use mcpproxy_upstream::settings::{Scope, UpstreamSettings};
use mcpproxy_upstream::upstream::Hub;
use mcpproxy_upstream::{Instance, Listed, State, ToolCard, Upstream};
use sha2::{Digest as _, Sha256};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::downstream::Way;
use crate::listen::renew;
use crate::session::{Sessions, lock};
use crate::watches::{Watcher, Watches};

/// What a stateless downstream wants to hear of.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Changes of the list of tools.
    pub tools: bool,
    /// Changes of the list of prompts.
    pub prompts: bool,
    /// Changes of the list of resources.
    pub resources: bool,
}

#[derive(Debug)]
struct Subscriber {
    filter: Filter,
    id: String,
    way: Way,
}

/// The gateway's ear for shared upstreams, and the search index over what they offer.
#[derive(Debug)]
pub struct GatewayHub {
    engine: Arc<Engine>,
    sessions: Arc<Sessions>,
    subscribers: Mutex<BTreeMap<u64, Subscriber>>,
    /// Who subscribed to which resource.
    pub(crate) watches: Arc<Watches>,
    index: RwLock<Index>,
    seen: Mutex<HashMap<UpstreamId, [Id128; 3]>>,
    me: Weak<Self>,
}

impl GatewayHub {
    /// Makes a hub that tells the engine and these sessions.
    pub fn new(engine: Arc<Engine>, sessions: Arc<Sessions>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            engine,
            sessions,
            subscribers: Mutex::default(),
            watches: Arc::default(),
            index: RwLock::default(),
            seen: Mutex::default(),
        })
    }

    /// Tells those who watch about an upstream.
    fn server_news(&self, upstream: &UpstreamId, change: &'static str) {
        self.engine.events().tell(Event::ServersChanged(ServerNews {
            server_name: upstream.to_string(),
            change,
        }));
    }

    /// Looks into the search index.
    pub fn search<T>(&self, look: impl FnOnce(&Index) -> T) -> T {
        look(
            &self
                .index
                .read()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        )
    }

    /// Adds a stateless subscriber under a number of the caller's choice.
    pub fn subscribe(&self, number: u64, id: String, filter: Filter, way: Way) {
        lock(&self.subscribers).insert(number, Subscriber { filter, id, way });
    }

    /// Removes a stateless subscriber.
    pub fn unsubscribe(&self, number: u64) {
        lock(&self.subscribers).remove(&number);
    }

    /// Forgets an upstream that is no longer there, and tells that what it offered is gone.
    pub fn forget(&self, upstream: &UpstreamId) {
        self.watches.forget_upstream(upstream);
        self.engine.forget(upstream);
        if lock(&self.seen).remove(upstream).is_none() {
            return;
        }
        let mut index = self
            .index
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        index.remove(upstream.as_str());
        drop(index);
        self.changed([true; 3]);
    }

    /// Has hooks look at what an upstream offers; what they let through is told as news.
    fn look(&self, upstream: &UpstreamId, offers: Vec<Offered>) {
        let (engine, hub) = (Arc::clone(&self.engine), Weak::clone(&self.me));
        let (upstream, under_way) = (upstream.clone(), engine.begin_look());
        tokio::spawn(async move {
            let news = engine.look_at(&upstream, offers).await;
            drop(under_way);
            if let (Some(hub), true) = (hub.upgrade(), news) {
                hub.changed([true; 3]);
            }
        });
    }

    /// Has the engine judge what an upstream offers; returns whether that changed what is shown.
    fn judge_offers(&self, upstream: &Upstream, offers: Vec<Offered>, extent: Extent) -> bool {
        let profile = profile(upstream);
        if self.engine.looks_at_listings() {
            self.look(upstream.name(), offers.clone());
        }
        let judge = || {
            let engine = &self.engine;
            engine.judge_offers(upstream.name(), &profile, offers, extent)
        };
        let engine = Arc::clone(&self.engine);
        // A long list takes a while to read, and the disk takes one to write: what is on record about
        // a list is there before the list is shown.
        match Handle::try_current() {
            Ok(runtime) if runtime.runtime_flavor() == RuntimeFlavor::MultiThread => {
                tokio::task::block_in_place(|| {
                    let news = judge();
                    let changed = !news.is_empty();
                    runtime.block_on(engine.tell(news, Door::Internal));
                    changed
                })
            }
            // With one thread nobody may wait here; no gateway is run that way.
            Ok(_) | Err(_) => {
                let news = judge();
                let changed = !news.is_empty();
                tokio::spawn(async move { engine.tell(news, Door::Internal).await });
                changed
            }
        }
    }

    /// Judges what an upstream lists to a caller, in whose own conversation there may be more.
    pub(crate) fn judge_seen(&self, upstream: &Upstream, offers: Vec<Offered>) {
        let extent = match upstream.settings().effective_scope() {
            Scope::Shared => Extent::Part,
            Scope::Principal | Scope::Session => Extent::Elsewhere,
        };
        self.judge_offers(upstream, offers, extent);
    }

    /// Reads what an upstream offers in a caller's own conversation, and judges the tools that are
    /// not in ours.
    pub(crate) async fn read_for(&self, upstream: &Upstream, instance: &Instance) {
        let unlisted = |one: &Offered| {
            let tool = one.kind == OfferKind::Tool;
            tool && self.engine.is_unlisted(upstream.name(), &one.name)
        };
        match Listed::fetch(instance, &upstream.settings().tools).await {
            Ok(listed) => {
                let mut offers = offered(&listed);
                offers.retain(unlisted);
                self.judge_seen(upstream, offers);
            }
            Err(fault) => tracing::debug!("cannot list `{}`: {fault}", upstream.name()),
        }
    }

    /// Judges anew what upstreams have listed, under settings that are new.
    pub(crate) fn judge_again<'a>(&self, upstreams: impl Iterator<Item = &'a Arc<Upstream>>) {
        let mut changed = false;
        for upstream in upstreams {
            if matches!(upstream.state(), State::Up { .. }) {
                let offers = offered(&upstream.listed());
                changed |= self.judge_offers(upstream, offers, Extent::Whole);
            }
        }
        if changed {
            self.changed([true; 3]);
        }
    }

    /// Tells that what is shown changed although nothing was listed: somebody approved or withheld
    /// it.
    pub(crate) fn moved(&self) {
        self.changed([true; 3]);
    }

    /// Tells which of the lists of tools, prompts and resources changed.
    fn changed(&self, [tools, prompts, resources]: [bool; 3]) {
        if tools {
            self.announce("notifications/tools/list_changed", |filter| filter.tools);
        }
        if prompts {
            let method = "notifications/prompts/list_changed";
            self.announce(method, |filter| filter.prompts);
        }
        if resources {
            let method = "notifications/resources/list_changed";
            self.announce(method, |filter| filter.resources);
        }
    }

    fn announce(&self, method: &str, wants: impl Fn(&Filter) -> bool) {
        self.sessions
            .broadcast(&compose::notification(method, "{}"));
        for subscriber in lock(&self.subscribers).values() {
            if wants(&subscriber.filter) {
                let meta = format!("{}:{}", quoted(META_SUBSCRIPTION), subscriber.id);
                let params = format!(r#"{{"_meta":{{{meta}}}}}"#);
                subscriber.way.tell(compose::notification(method, &params));
            }
        }
    }

    /// Passes on that a resource changed, to those who subscribed to it at this very upstream, and
    /// nothing but that: whatever else the upstream wrote was not asked for.
    fn updated(&self, upstream: &UpstreamId, frame: &Frame) {
        let Some(uri) = frame.parameter(&["uri"]) else {
            return;
        };
        let watching = self.watches.watching(upstream, &uri);
        if watching.is_empty() {
            return;
        }
        let uri = quoted(&uri);
        let params = format!(r#"{{"uri":{uri}}}"#);
        let message = compose::notification(frame.method(), &params);
        for session in self.sessions.all() {
            if watching.contains(&Watcher::Session(session.key.id)) {
                session.push(&message);
            }
        }
        for (number, subscriber) in lock(&self.subscribers).iter() {
            if watching.contains(&Watcher::Listener(*number)) {
                let meta = format!("{}:{}", quoted(META_SUBSCRIPTION), subscriber.id);
                let params = format!(r#"{{"uri":{uri},"_meta":{{{meta}}}}}"#);
                subscriber
                    .way
                    .tell(compose::notification(frame.method(), &params));
            }
        }
    }
}

fn profile(upstream: &Upstream) -> Profile {
    let settings = upstream.settings();
    Profile {
        command: settings.command.clone(),
        args: settings.args.clone(),
        working_dir: settings
            .working_dir
            .as_ref()
            .map(|dir| dir.display().to_string()),
        url: settings.url.clone(),
        pins: pins(settings),
        installed: upstream.installed(),
        trust: settings.trust,
    }
}

fn pins(settings: &UpstreamSettings) -> Vec<String> {
    let tls = settings.tls.as_ref();
    tls.map_or(Vec::new(), |tls| tls.pin.all().to_vec())
}

/// Everything in a listing that agents could be shown.
fn offered(listed: &Listed) -> Vec<Offered> {
    let tools = listed.tools.iter().map(|card| Offered {
        kind: OfferKind::Tool,
        name: card.name.as_str().into(),
        raw: card.raw.clone(),
    });
    let others = [
        (OfferKind::Prompt, &listed.prompts),
        (OfferKind::Resource, &listed.resources),
        (OfferKind::Template, &listed.templates),
    ];
    let others = others.into_iter().flat_map(|(kind, entries)| {
        entries.iter().map(move |entry| Offered {
            kind,
            name: entry.key.as_str().into(),
            raw: entry.raw.clone(),
        })
    });
    tools.chain(others).collect()
}

fn described(listed: &Listed) -> Vec<Described> {
    let tools = listed.tools.iter().map(|card| Described {
        name: card.name.clone(),
        descriptor: card.raw.clone(),
    });
    tools.collect()
}

impl Hub for GatewayHub {
    fn judge(&self, upstream: &Upstream, listed: &Listed) -> bool {
        self.engine
            .learn(upstream.name(), profile(upstream), described(listed));
        self.judge_offers(upstream, offered(listed), Extent::Whole)
    }

    fn listed(&self, upstream: &Upstream, news: bool) {
        let listed = upstream.listed();
        let now = fingerprints(&listed);
        let before = lock(&self.seen).insert(upstream.name().clone(), now);
        if before.is_none_or(|before| before[0] != now[0]) {
            let mut index = self
                .index
                .write()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            index.replace(
                upstream.name().as_str(),
                listed.tools.iter().map(|card| document(card)),
            );
        }
        // The first listing is news too: the upstream may have come up after a downstream asked.
        let changed = |at: usize| before.is_none_or(|before| before.get(at) != now.get(at));
        if news || [0, 1, 2].into_iter().any(changed) {
            self.server_news(upstream.name(), "listed");
        }
        self.changed([0, 1, 2].map(|at| news || changed(at)));
    }

    fn turned(&self, upstream: &UpstreamId, state: &State) {
        let change = match state {
            State::Idle => "idle",
            State::Starting => "starting",
            State::Up { .. } => "up",
            State::Down { .. } => "down",
            State::Stopped { .. } => "stopped",
        };
        self.server_news(upstream, change);
    }

    /// Subscribes again to what is watched: an upstream that was restarted has forgotten it.
    fn opened(&self, instance: &Arc<Instance>) {
        let uris = self.watches.subscribed(instance.upstream());
        if instance.era() == Era::Legacy && !uris.is_empty() {
            tokio::spawn(renew(Arc::clone(instance), uris));
        }
    }

    fn heard(&self, upstream: &UpstreamId, frame: Frame) {
        let update = frame.kind() == FrameKind::Notification
            && &**frame.method() == "notifications/resources/updated";
        if update {
            self.updated(upstream, &frame);
        } else {
            // What cannot be attributed is not broadcast.
            tracing::debug!(
                "dropped `{}` of `{upstream}`: it names no caller",
                frame.method()
            );
        }
    }
}

fn fingerprints(listed: &Listed) -> [Id128; 3] {
    let hash = |parts: &mut dyn Iterator<Item = &[u8]>| {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        let digest: [u8; 32] = hash.finalize().into();
        let (head, _) = digest.split_at(16);
        Id128::from_bytes(head.try_into().unwrap_or_default())
    };
    let resources = listed.resources.iter().chain(&listed.templates);
    [
        hash(&mut listed.tools.iter().map(|card| card.raw.as_ref())),
        hash(&mut listed.prompts.iter().map(|entry| entry.raw.as_ref())),
        hash(&mut resources.map(|entry| entry.raw.as_ref())),
    ]
}

/// What the search index is told about a tool. Strings with escapes are rare in descriptors and
/// left as they are spelled: the words in them are still found.
fn document(card: &ToolCard) -> Document<'_> {
    let plain = |object: &'_ str, path: &[&str]| -> Option<(usize, usize)> {
        let (raw, span) = text::get(object, path)?;
        (raw.len() >= 2 && raw.starts_with('"')).then_some((span.start + 1, span.end - 1))
    };
    let descriptor = card.text();
    let at = |span: (usize, usize)| descriptor.get(span.0..span.1);
    let properties = text::get(descriptor, &["inputSchema", "properties"]);
    let parameters = properties.map_or_else(Vec::new, |(object, base)| {
        text::members(object)
            .filter_map(|member| {
                let key = object.get(member.key_span.start + 1..member.key_span.end - 1)?;
                let value = object.get(member.value.clone())?;
                let shift = base.start + member.value.start;
                let description = plain(value, &["description"])
                    .and_then(|(from, to)| at((shift + from, shift + to)));
                Some((key, description))
            })
            .collect()
    });
    Document {
        name: card.name.as_str(),
        title: plain(descriptor, &["title"]).and_then(at),
        description: plain(descriptor, &["description"]).and_then(at),
        parameters,
    }
}
