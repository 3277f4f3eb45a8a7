//! The gateway's shared state, how it is put together, and how a new configuration is put in
//! force without disturbing what is under way.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use http::HeaderName;
use mcpproxy_core::{
    CallId, Clock, FlowScope, Id128, LiveStore, OfferKind, Principal, PrincipalKind, SessionBasis,
    SessionKey, UpstreamId,
};
use mcpproxy_engine::events::{ConfigNews, Event, ServerNews};
use mcpproxy_engine::{Engine, Happening, Reach};
use mcpproxy_mcp::seal::{self, Sealer};
use mcpproxy_text::Limits;
use mcpproxy_upstream::catalogue::Entry;
use mcpproxy_upstream::settings::UpstreamSettings;
use mcpproxy_upstream::{Fleet, FleetSettings, Upstream};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc, watch};

use crate::Error;
use crate::access::Access;
use crate::board::Board;
use crate::error::Failure;
use crate::gaps::Gaps;
use crate::hub::GatewayHub;
use crate::listen::unsubscribe;
use crate::listing::settle;
use crate::logouts::Logouts;
use crate::parked::Parked;
use crate::relay::Watchers;
use crate::rest::layers::Pace;
use crate::retries::Retries;
use crate::session::{NewSession, Opened, Question, Session, Sessions, lock};
use crate::settings::Settings;
use crate::shed::Shed;
use crate::streams::GENERAL;
use crate::tls::Tls;
use crate::token_news::TokenLog;
use crate::toolbox::Cache;
use crate::watches::Watcher;

/// The questions of upstreams to a session that belong to no call.
type Questions = mpsc::Receiver<Box<Question>>;

/// The settings in force.
#[derive(Clone, Debug)]
pub struct Active {
    /// The gateway's own.
    pub settings: Settings,
    /// The upstreams'.
    pub upstreams: BTreeMap<String, UpstreamSettings>,
    /// What speaks TLS on the listener, where it does.
    pub tls: Option<Arc<Tls>>,
    /// The header that carries the id under which everything about a request is found.
    pub correlation_header: Option<HeaderName>,
}

/// What a gateway is made of.
#[derive(Debug)]
pub struct GatewayParts {
    /// The settings.
    pub active: Active,
    /// The engine.
    pub engine: Arc<Engine>,
    /// What all upstreams share.
    pub fleet: FleetSettings,
    /// Who may come in.
    pub access: Access,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// Where state is shared with other gateways, if it is.
    pub live: Option<Arc<dyn LiveStore>>,
}

/// The gateway.
#[derive(Debug)]
pub struct Gateway {
    active: ArcSwap<Active>,
    /// The engine.
    pub engine: Arc<Engine>,
    /// The upstreams.
    pub fleet: Fleet,
    /// The legacy sessions.
    pub sessions: Arc<Sessions>,
    /// Who may come in.
    pub access: Access,
    /// Calls in flight.
    pub shed: Arc<Shed>,
    /// Subscriptions of stateless downstreams, which last as long as their streams.
    pub listening: Arc<Shed>,
    /// What shared upstreams say.
    pub hub: Arc<GatewayHub>,
    /// Calls of stateless downstreams that wait for input.
    pub parked: Parked,
    /// Answers that were cut and can be read on.
    pub cache: Cache,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// Where state is shared with other gateways, if it is.
    pub(crate) live: Option<Arc<dyn LiveStore>>,
    /// Stands for this process among those that share state.
    pub(crate) process: String,
    /// Questions that wait at other gateways.
    pub(crate) board: Board,
    /// Whether other gateways may not know of the orders in force.
    pub(crate) orders_owed: AtomicBool,
    /// Tokens that were made and revoked.
    pub(crate) token_log: TokenLog,
    /// Who watches what happens, here and at other gateways.
    pub(crate) watchers: Watchers,
    /// Parked calls that come back by another gateway than they went.
    pub(crate) retries: Retries,
    /// Logins to the dashboard that ended at other gateways.
    pub(crate) logouts: Logouts,
    /// The problem of the latest reload, if it failed.
    pub reload_problem: ArcSwap<Option<String>>,
    /// The address that is listened at, once it is.
    pub bound: OnceLock<SocketAddr>,
    /// Uses of tools about which agents' hooks could not ask.
    pub gaps: Gaps,
    /// How often each caller of the REST interface comes.
    pub(crate) pace: Pace,
    /// Places for those who count much of the log.
    pub(crate) summaries: Arc<Semaphore>,
    /// Places for trying a configuration that nobody put in force.
    pub(crate) trials: Arc<Semaphore>,
    /// Exports under way: who reads theirs slowly keeps nobody else from anything.
    pub(crate) exports: Arc<Shed>,
    /// When the gateway was started.
    pub since: mcpproxy_core::Wall,
    stopping: watch::Sender<bool>,
    /// Told when tokens may have become worthless.
    expelled: watch::Sender<()>,
    tasks: Mutex<TaskOwners>,
    random: Mutex<u128>,
}

/// Which upstream runs which long task, bounded, oldest forgotten first.
#[derive(Debug, Default)]
struct TaskOwners {
    owner: HashMap<Id128, UpstreamId>,
    order: VecDeque<Id128>,
}

/// The deepest nesting that any configuration gets: walkers of schemas recurse.
pub(crate) const DEEPEST: usize = 1024;
/// Why what a token had under way is ended.
pub(crate) const INVALID_TOKEN: &str = "the token is no longer valid";
/// Summaries that are counted at once.
const SUMMARIES: usize = 4;
/// Configurations that are tried at once.
const TRIALS: usize = 2;
/// Long tasks remembered at most.
const TASKS: usize = 10_000;

impl Gateway {
    /// Puts a gateway together; the upstreams begin to start.
    pub fn new(parts: GatewayParts) -> Result<Arc<Self>, Error> {
        let seed: [u8; 16] = seal::random().map_err(|fault| Error::Random(fault.to_string()))?;
        let process: [u8; 16] = seal::random().map_err(|fault| Error::Random(fault.to_string()))?;
        let sealer = Sealer::ephemeral().map_err(|fault| Error::Random(fault.to_string()))?;
        let sessions = Arc::new(Sessions::new(Arc::clone(&parts.clock)));
        let hub = GatewayHub::new(Arc::clone(&parts.engine), Arc::clone(&sessions));
        let fleet = Fleet::new(parts.fleet, Arc::clone(&hub) as _);
        fleet.apply(&parts.active.upstreams);
        let oauth = parts.active.settings.oauth.as_ref();
        parts.access.trust(oauth, &parts.clock);
        Ok(Arc::new(Self {
            active: ArcSwap::from_pointee(parts.active),
            engine: parts.engine,
            fleet,
            sessions,
            access: parts.access,
            shed: Arc::default(),
            listening: Arc::default(),
            hub,
            parked: Parked::new(sealer),
            cache: Cache::default(),
            bound: OnceLock::new(),
            gaps: Gaps::default(),
            pace: Pace::default(),
            summaries: Arc::new(Semaphore::new(SUMMARIES)),
            trials: Arc::new(Semaphore::new(TRIALS)),
            exports: Arc::default(),
            since: parts.clock.wall(),
            clock: parts.clock,
            live: parts.live,
            process: Id128::from_bytes(process).to_string(),
            board: Board::default(),
            orders_owed: AtomicBool::new(false),
            token_log: TokenLog::default(),
            retries: Retries::default(),
            watchers: Watchers::default(),
            logouts: Logouts::default(),
            reload_problem: ArcSwap::default(),
            stopping: watch::Sender::new(false),
            expelled: watch::Sender::new(()),
            tasks: Mutex::default(),
            random: Mutex::new(u128::from_be_bytes(seed)),
        }))
    }

    /// Says that the gateway stops: what is under way goes on, what only waits ends.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
        for session in self.sessions.all() {
            lock(&session.streams).detach(GENERAL);
        }
    }

    /// Tells whether the gateway stops.
    pub fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Resolves once the gateway stops.
    pub async fn stopped(&self) {
        let mut stopping = self.stopping.subscribe();
        // The sender lives as long as the gateway, so that this ends only when it stops.
        drop(stopping.wait_for(|stopping| *stopping).await);
    }

    /// Returns the settings in force.
    pub fn active(&self) -> Arc<Active> {
        self.active.load_full()
    }

    /// Puts new settings in force. Requests in flight end under those they began with.
    pub fn reload(&self, active: Active) {
        let before = self.fleet.all();
        let news = news(&self.active.load().upstreams, &active.upstreams);
        self.fleet.apply(&active.upstreams);
        self.access
            .trust(active.settings.oauth.as_ref(), &self.clock);
        self.active.store(Arc::new(active));
        self.reload_problem.store(Arc::new(None));
        let after = self.fleet.all();
        let serves = |name| {
            let found = after.get::<UpstreamId>(name);
            found.is_some_and(|upstream| upstream.settings().enabled)
        };
        for name in before.keys().filter(|name| !serves(name)) {
            self.hub.forget(name);
        }
        self.hub.judge_again(after.values());
        self.tell(news);
    }

    /// Tells those who watch of a configuration that was read again.
    fn tell(&self, news: ConfigNews) {
        let (events, mut happened) = (self.engine.events(), vec![Happening::Configured]);
        for (names, change) in [
            (&news.added, "added"),
            (&news.removed, "removed"),
            (&news.changed, "changed"),
        ] {
            for name in names {
                events.tell(Event::ServersChanged(ServerNews {
                    server_name: name.clone(),
                    change,
                }));
                happened.push(Happening::Upstream {
                    name: name.clone(),
                    change,
                });
            }
        }
        events.tell(Event::ConfigReloaded(news));
        let engine = Arc::clone(&self.engine);
        tokio::spawn(async move {
            for one in happened {
                engine.chronicle(one).await;
            }
        });
    }

    /// Tells whether something that an upstream offers may be shown, in exactly this form.
    pub fn shows(&self, upstream: &Upstream, kind: OfferKind, name: &str, raw: &[u8]) -> bool {
        self.engine.shows(upstream.name(), kind, name, raw)
    }

    /// Returns the upstreams that a caller may know of, by name: a token's scope and access rules
    /// limit what it sees as they limit what it calls.
    pub fn known_to(&self, who: &Principal) -> Vec<Arc<Upstream>> {
        let all = self.fleet.all();
        let known = all
            .values()
            .filter(|upstream| self.access.reaches(who, upstream.name()).is_ok())
            .filter(|upstream| self.offers_any(who, upstream));
        known.cloned().collect()
    }

    /// Returns the upstreams that a caller may know of once those that are being started have said
    /// what they offer, or taken too long. Starting one tells nobody that it is there.
    pub async fn settled_for(&self, who: &Principal) -> Vec<Arc<Upstream>> {
        let all = self.fleet.all();
        let reached = all.values();
        let reached = reached.filter(|one| self.access.reaches(who, one.name()).is_ok());
        let reached: Vec<_> = reached.cloned().collect();
        settle(&reached).await;
        self.known_to(who)
    }

    /// Finds the upstream of a name; one that access rules hide from the caller is not found. What
    /// the caller wants of it may be known to them before it was listed.
    pub fn upstream_for(
        &self,
        who: &Principal,
        name: &str,
        wanted: Option<(OfferKind, &str)>,
    ) -> Result<Arc<Upstream>, Failure> {
        let found = self.fleet.get(name)?;
        let wanted = wanted.is_some_and(|(kind, name)| self.may_know(who, &found, kind, name));
        if wanted || self.offers_any(who, &found) {
            return Ok(found);
        }
        Err(mcpproxy_upstream::Error::Unknown(UpstreamId::new(name)).into())
    }

    /// Tells whether access rules let a caller know of something that an upstream offers.
    pub fn may_know(
        &self,
        who: &Principal,
        upstream: &Upstream,
        kind: OfferKind,
        name: &str,
    ) -> bool {
        self.engine.may_know(who, upstream.name(), kind, name)
    }

    /// Tells whether an upstream offers anything that a caller may know of. One that has listed
    /// nothing yet is known to nobody whom rules keep from knowing all.
    fn offers_any(&self, who: &Principal, upstream: &Upstream) -> bool {
        if !self.engine.hides() {
            return true;
        }
        let listed = upstream.listed();
        let tools = listed.tools.iter();
        let mut offered = tools
            .map(|card| (OfferKind::Tool, card.name.as_str()))
            .chain(entries(OfferKind::Prompt, &listed.prompts))
            .chain(entries(OfferKind::Resource, &listed.resources))
            .chain(entries(OfferKind::Template, &listed.templates));
        offered.any(|(kind, name)| self.may_know(who, upstream, kind, name))
    }

    /// Returns the bounds of a message's form.
    pub fn limits(&self) -> Limits {
        Limits {
            depth: self.active.load().settings.limits.nesting.min(DEEPEST),
        }
    }

    /// Draws an id for a call.
    pub fn call_id(&self) -> CallId {
        // The random part only has to differ between calls of one millisecond: a step of the
        // golden ratio from a random start does that without asking the system each time.
        let mut random = lock(&self.random);
        *random = random.wrapping_add(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        CallId::new(self.clock.wall().0, *random)
    }

    /// Returns the conversation of a downstream without a session: its credential together with
    /// what it says about itself.
    pub fn credential_key(who: &Principal, client_info: Option<&str>) -> SessionKey {
        let id = digest(&[
            who.name.as_bytes(),
            client_info.unwrap_or_default().as_bytes(),
        ]);
        SessionKey {
            basis: SessionBasis::Credential,
            id,
        }
    }

    /// Returns the conversation of an agent's hook, by the agent's own name for it. Which agent it is
    /// has no say: one that loads another's file tells of one conversation through the hooks of both.
    pub fn hook_key(who: &Principal, session: &str) -> SessionKey {
        SessionKey {
            basis: SessionBasis::Hook,
            id: digest(&[b"hook", who.name.as_bytes(), session.as_bytes()]),
        }
    }

    /// Returns the domain in which a principal's secrets are matched.
    pub fn flow_scope(who: &Principal) -> FlowScope {
        FlowScope(digest(&[who.name.as_bytes()]))
    }

    /// Returns whose sessions a hook may be linked with that speaks in a principal's domain.
    pub fn hook_reach(scope: FlowScope) -> Reach {
        // Whoever has the owner's credential asks as this one.
        if scope == Self::flow_scope(&Principal::local()) {
            Reach::Owner
        } else {
            Reach::Only(scope)
        }
    }

    /// Remembers which upstream runs a long task of a principal. The first to name it keeps it:
    /// another upstream cannot take a task over by naming it too.
    pub fn note_task(&self, who: &Principal, task: &str, upstream: &UpstreamId) {
        let key = task_key(who, task);
        let mut tasks = lock(&self.tasks);
        if tasks.owner.contains_key(&key) {
            return;
        }
        tasks.owner.insert(key, upstream.clone());
        tasks.order.push_back(key);
        while tasks.order.len() > TASKS {
            if let Some(oldest) = tasks.order.pop_front() {
                tasks.owner.remove(&oldest);
            }
        }
    }

    /// Finds the upstream that runs a long task of a principal.
    pub fn task_owner(&self, who: &Principal, task: &str) -> Option<UpstreamId> {
        lock(&self.tasks).owner.get(&task_key(who, task)).cloned()
    }

    /// Ends what was left alone for too long; called now and then.
    pub fn sweep(&self) {
        let limits = &self.active.load().settings.limits;
        for session in self.sessions.sweep(limits.session_idle.into()) {
            self.forget_session(session.key.id);
        }
        self.expel();
        self.parked.sweep(self.clock.tick());
        self.cache.sweep(self.clock.tick());
    }

    /// Opens a session, ending an idle one of who has too many where there is no room.
    pub(crate) fn open_session(
        &self,
        new: NewSession,
    ) -> Result<(Arc<Session>, Questions), Failure> {
        let limit = self.active.load().settings.limits.sessions;
        let opened = self.sessions.open(new, limit);
        let opened = opened.ok_or_else(|| Failure::too_many("sessions"))?;
        Ok(self.opened(opened))
    }

    /// Ends what had to make room for a session.
    fn opened(&self, opened: Opened) -> (Arc<Session>, Questions) {
        if let Some(evicted) = opened.evicted {
            let who = &evicted.who.name;
            tracing::info!("ended an idle session of `{who}` to make room for another");
            self.forget_session(evicted.key.id);
        }
        (opened.session, opened.questions)
    }

    /// Opens a session that another gateway opened before, or returns the one that is open here.
    pub(crate) fn adopt_session(
        &self,
        id: &str,
        new: NewSession,
    ) -> Option<(Arc<Session>, Option<Questions>)> {
        let limit = self.active.load().settings.limits.sessions;
        let who = new.who.clone();
        match self.sessions.adopt(id, new, limit) {
            Ok(opened) => {
                let (session, questions) = self.opened(opened?);
                Some((session, Some(questions)))
            }
            Err(known) => (known.who == who).then_some((known, None)),
        }
    }

    /// Ends what tokens that are no longer valid still have open.
    pub fn expel(&self) {
        let control = self.access.control();
        for session in self.sessions.all() {
            if control.is_valid(&session.holder()) {
                continue;
            }
            if session.who.kind.is_renewed() {
                // They come back with a renewed credential; until then they hear nothing.
                lock(&session.streams).detach(GENERAL);
                continue;
            }
            session.cancel_all(INVALID_TOKEN);
            self.end_session(&session.id);
        }
        self.expelled.send_replace(());
    }

    /// Resolves once a caller would not be let in again.
    pub async fn until_invalid(&self, who: &Principal) {
        // Only tokens end; a call of anybody else need not listen for it.
        match who.kind {
            PrincipalKind::Agent | PrincipalKind::User | PrincipalKind::Certificate => {}
            PrincipalKind::Owner | PrincipalKind::Local => return std::future::pending().await,
        }
        let mut expelled = self.expelled.subscribe();
        while self.access.control().is_valid(who) {
            // The sender lives as long as the gateway.
            drop(expelled.changed().await);
        }
    }

    /// Ends a session at once.
    pub fn end_session(&self, id: &str) -> bool {
        let ended = self.sessions.end(id);
        if let Some(session) = &ended {
            self.forget_session(session.key.id);
        }
        ended.is_some()
    }

    fn forget_session(&self, session: Id128) {
        self.unwatch(Watcher::Session(session));
        self.fleet.forget_session(session);
    }

    /// Takes back what somebody who has gone subscribed to, where nobody else wants it.
    pub(crate) fn unwatch(&self, who: Watcher) {
        // Upstreams end with the runtime: there is nothing to take back then.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let watches = Arc::clone(&self.hub.watches);
        let mut by_upstream: BTreeMap<UpstreamId, Vec<String>> = BTreeMap::new();
        for (upstream, uri) in watches.forget(who) {
            by_upstream.entry(upstream).or_default().push(uri);
        }
        for (upstream, uris) in by_upstream {
            let upstream = self.fleet.get(upstream.as_str()).ok();
            let Some(instance) = upstream.and_then(|upstream| upstream.own_existing()) else {
                continue;
            };
            let watches = Arc::clone(&watches);
            runtime.spawn(async move {
                for uri in uris {
                    // One that does not answer is not asked for the rest.
                    if !unsubscribe(&watches, &instance, &uri).await {
                        return;
                    }
                }
            });
        }
    }

    /// Returns the bound on one call's time.
    pub fn call_timeout(&self, upstream: &UpstreamSettings) -> Duration {
        let own = upstream.call_timeout.map(Duration::from);
        own.unwrap_or_else(|| self.active.load().settings.limits.call_timeout.into())
    }
}

fn entries(kind: OfferKind, entries: &[Entry]) -> impl Iterator<Item = (OfferKind, &str)> {
    entries.iter().map(move |entry| (kind, entry.key.as_str()))
}

fn task_key(who: &Principal, task: &str) -> Id128 {
    digest(&[who.name.as_bytes(), task.as_bytes()])
}

fn digest(parts: &[&[u8]]) -> Id128 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    let digest: [u8; 32] = hash.finalize().into();
    let (head, _) = digest.split_at(16);
    Id128::from_bytes(head.try_into().unwrap_or_default())
}

/// What another configuration means for upstreams.
fn news(
    before: &BTreeMap<String, UpstreamSettings>,
    after: &BTreeMap<String, UpstreamSettings>,
) -> ConfigNews {
    let missing = |from: &BTreeMap<String, UpstreamSettings>,
                   of: &BTreeMap<String, UpstreamSettings>| {
        let names = of.keys().filter(|name| !from.contains_key(*name));
        names.cloned().collect()
    };
    let changed = after.iter().filter(|(name, settings)| {
        let old = before.get(*name);
        old.is_some_and(|old| old != *settings)
    });
    ConfigNews {
        added: missing(before, after),
        removed: missing(after, before),
        changed: changed.map(|(name, _)| name.clone()).collect(),
    }
}
