//! Legacy sessions: what one client said about itself, its streams, its requests in flight, and
//! the questions that upstreams have put to it. All sessions together are in `table`.

mod table;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{Call, Principal, SessionKey, Tick, UpstreamId, Wall};
use mcpproxy_engine::{Engine, Unasked};
use mcpproxy_mcp::era::Era;
use mcpproxy_mcp::{Frame, FrameKind, compose};
use mcpproxy_upstream::{Greeting, Instance, Listener};
use tokio::sync::{SetOnce, mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

pub use self::table::{NewSession, Opened, Sessions};
use crate::asides::{is_meant, listened};
use crate::downstream::Way;
use crate::gateway::Gateway;
use crate::news::{List, News, When};
use crate::settings::RoutingMode;
use crate::streams::{GENERAL, Item, Streams};

/// Says that nobody waits for a request any more, and why.
type Cancel = watch::Sender<Option<String>>;

/// The levels of log messages, least severe first.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];
/// How long an upstream may take to set its level of log messages.
const LEVEL_PATIENCE: Duration = Duration::from_secs(30);

/// Whether other gateways were told of a session.
#[derive(Clone, Copy, Debug, Default)]
enum Published {
    /// They were not: where nothing is shared, and at doors whose sessions end with their connection.
    #[default]
    Never,
    /// They are to be told.
    Owed,
    /// They were told then.
    At(Tick),
}

/// One legacy session.
#[derive(Debug)]
pub struct Session {
    /// The id that the client sends with each message.
    pub id: String,
    /// The key for attribution.
    pub key: SessionKey,
    /// Who opened it; nobody else may use it.
    pub who: Principal,
    /// The same with the credential that was shown last.
    holder: Mutex<Principal>,
    /// What the client said about itself.
    pub greeting: Arc<Greeting>,
    /// The version in force.
    pub version: String,
    /// What the endpoint shows.
    pub mode: RoutingMode,
    /// When it was opened.
    pub opened: Wall,
    engine: Option<Arc<Engine>>,
    /// The event streams.
    pub streams: Mutex<Streams>,
    log_level: Mutex<Option<&'static str>>,
    /// Tells upstreams the level; a new level takes the place of one that is still being told.
    telling: Mutex<Option<AbortHandle>>,
    /// Resource subscriptions at modern upstreams, which need a request each.
    pub subscriptions: Mutex<BTreeMap<String, AbortHandle>>,
    in_flight: Mutex<HashMap<String, (Cancel, Way)>>,
    asked: Mutex<HashMap<u64, oneshot::Sender<Frame>>>,
    news: News,
    /// Requests of upstreams that belong to no call, waiting for whoever puts them to the client.
    /// Boxed, because a channel reserves room for many at once.
    unasked: mpsc::Sender<Box<Question>>,
    used: AtomicU64,
    published: Mutex<Published>,
    ended: AtomicBool,
}

/// Passes on what belongs to no request in the `form` of a door whose connection is the session's only
/// one.
///
/// A burst that the connection could not keep up with closes the stream; it is resumed at once, so
/// that what was kept of the burst and all that comes later still arrives.
pub async fn follow(
    gateway: Arc<Gateway>,
    session: Weak<Session>,
    queue: mpsc::Sender<Bytes>,
    form: fn(Item) -> Option<Bytes>,
) {
    loop {
        let Some(session) = session.upgrade() else {
            return;
        };
        if session.is_ended() || gateway.is_stopping() {
            return;
        }
        if !gateway.access.control().is_valid(&session.holder()) {
            // Nobody can come back to it: the connection was let in by what has ended.
            gateway.end_session(&session.id);
            return;
        }
        let items = lock(&session.streams).attach(GENERAL, None);
        drop(session);
        let Some(mut items) = items else { return };
        while let Some(item) = items.recv().await {
            let Some(message) = form(item) else { continue };
            if queue.send(message).await.is_err() {
                return;
            }
        }
    }
}

impl Session {
    /// Tells whether hooks look at notifications before the session hears them.
    fn is_overheard(&self) -> bool {
        let engine = self.engine.as_ref();
        engine.is_some_and(|engine| engine.overhears(false))
    }

    /// Returns who uses it, with the credential that was shown last.
    pub fn holder(&self) -> Principal {
        lock(&self.holder).clone()
    }

    /// Takes note of the credential that its user shows now.
    pub fn renew(&self, who: &Principal) {
        if who.kind.is_renewed() {
            who.clone_into(&mut lock(&self.holder));
        }
    }

    /// Returns a call that stands for what an upstream says in this session outside of any.
    pub(crate) fn conversation(&self, engine: &Engine, upstream: &UpstreamId) -> Call {
        let who = self.holder();
        let unasked = Unasked {
            upstream,
            scope: Gateway::flow_scope(&who),
            session: self.key,
        };
        let mut call = engine.conversation(&unasked, who);
        call.trace.opened = Some(self.opened);
        call
    }

    /// Takes a notification that belongs to no call. Hooks that want to look at it do so in their own
    /// time.
    fn hear(&self, ear: &Ear, frame: Frame) -> bool {
        if self.is_overheard() {
            return self.question(ear, frame);
        }
        if !self.wants(&frame) {
            return true;
        }
        let heard = match &self.engine {
            Some(engine) => {
                let conversation = self.conversation(engine, &ear.upstream);
                listened(engine, &conversation, &frame)
            }
            None => Some(frame),
        };
        if let Some(frame) = heard {
            self.push(frame.raw());
        }
        true
    }

    fn question(&self, ear: &Ear, frame: Frame) -> bool {
        let question = Question {
            upstream: ear.upstream.clone(),
            asker: Arc::clone(&ear.asker),
            frame,
        };
        self.unasked.try_send(Box::new(question)).is_ok()
    }

    /// Passes on that a list of an upstream changed, at once or together with more of that, and
    /// nothing else that the upstream wrote.
    pub(crate) fn changed(self: &Arc<Self>, upstream: &UpstreamId, list: List, method: &str) {
        let message = compose::notification(method, "{}");
        let at = match self.news.heard(upstream, list, Instant::now()) {
            When::Now => return self.push(&message),
            When::Joined => return,
            When::At(at) => at,
        };
        let (session, upstream) = (Arc::downgrade(self), upstream.clone());
        tokio::spawn(async move {
            sleep_until(at).await;
            if let Some(session) = session.upgrade() {
                session.news.told(&upstream, list, Instant::now());
                session.push(&message);
            }
        });
    }

    /// Writes a message that belongs to no request.
    pub fn push(&self, message: &Bytes) {
        let mut streams = lock(&self.streams);
        streams.write(GENERAL, message);
    }

    /// Sends a request of an upstream that belongs to no call: on the general stream if somebody
    /// is there, else along with a request in flight. Returns false if there is no way.
    pub fn put(&self, message: &Bytes) -> bool {
        let mut streams = lock(&self.streams);
        if streams.is_live(GENERAL) {
            streams.write(GENERAL, message);
            return true;
        }
        drop(streams);
        let in_flight = lock(&self.in_flight);
        in_flight.values().any(|(_, way)| way.tell(message.clone()))
    }

    /// Notes a request as in flight. Returns nothing if its id is in use.
    pub fn begin(self: &Arc<Self>, id: &str, cancel: Cancel, way: Way) -> Option<InFlight> {
        let mut in_flight = lock(&self.in_flight);
        if in_flight.contains_key(id) {
            return None;
        }
        in_flight.insert(id.to_owned(), (cancel, way));
        Some(InFlight {
            session: Arc::clone(self),
            id: id.to_owned(),
        })
    }

    /// Cancels a request; one that is not in flight has just ended.
    pub fn cancel(&self, id: &str, reason: &str) {
        if let Some((cancel, _)) = lock(&self.in_flight).get(id) {
            cancel.send_replace(Some(reason.to_owned()));
        }
    }

    /// Notes the least severe level at which the client wants log messages. Returns it, or
    /// nothing if there is no such level.
    pub fn set_log_level(&self, level: &str) -> Option<&'static str> {
        let known = LEVELS.into_iter().find(|known| *known == level)?;
        *lock(&self.log_level) = Some(known);
        Some(known)
    }

    /// Tells upstreams that speak to this client alone at which level it wants log messages: one
    /// task at a time, however often the level changes.
    pub fn tell_level(&self, instances: Vec<Arc<Instance>>, level: &'static str) {
        let task = tokio::spawn(async move {
            let told = instances.into_iter().map(|one| set_level(one, level));
            told.collect::<JoinSet<_>>().join_all().await;
        });
        if let Some(before) = lock(&self.telling).replace(task.abort_handle()) {
            before.abort();
        }
    }

    /// Returns the least severe level at which the client wants log messages, if it said so.
    pub fn log_level(&self) -> Option<&'static str> {
        *lock(&self.log_level)
    }

    /// Tells whether the client wants a notification: all but log messages that are less severe
    /// than it asked for.
    pub fn wants(&self, frame: &Frame) -> bool {
        self.log_level()
            .is_none_or(|least| !is_log_message(frame) || reaches(frame, least))
    }

    /// Cancels every request in flight.
    pub fn cancel_all(&self, reason: &str) {
        let in_flight = lock(&self.in_flight);
        in_flight.values().for_each(|(cancel, _)| {
            cancel.send_replace(Some(reason.to_owned()));
        });
    }

    /// Takes a place for the client's answer to the request `ticket`.
    pub fn expect(&self, ticket: u64) -> oneshot::Receiver<Frame> {
        let (sender, receiver) = oneshot::channel();
        let mut asked = lock(&self.asked);
        asked.retain(|_, waiting| !waiting.is_closed());
        asked.insert(ticket, sender);
        receiver
    }

    /// Hands an answer of the client to whoever asked. Returns false if nobody did.
    pub fn answered(&self, frame: Frame) -> bool {
        let ticket = frame.id().and_then(|id| id.parse().ok());
        let waiting = ticket.and_then(|ticket: u64| lock(&self.asked).remove(&ticket));
        waiting.is_some_and(|waiting| waiting.send(frame).is_ok())
    }

    /// Tells whether the session has ended.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Tells whether nobody waits for anything in this session.
    fn is_idle(&self) -> bool {
        lock(&self.in_flight).is_empty() && !lock(&self.streams).is_live(GENERAL)
    }

    /// Ends what the session has under way for itself.
    fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        for task in std::mem::take(&mut *lock(&self.subscriptions)).values() {
            task.abort();
        }
        if let Some(task) = lock(&self.telling).take() {
            task.abort();
        }
    }

    /// Notes that the session is in use.
    pub fn touch(&self, now: Tick) {
        self.used.store(millis(now.0), Ordering::Relaxed);
    }

    /// Notes that other gateways are to know of it.
    pub(crate) fn owe(&self) {
        *lock(&self.published) = Published::Owed;
    }

    /// Notes that other gateways know of it.
    pub(crate) fn published(&self, now: Tick) {
        *lock(&self.published) = Published::At(now);
    }

    /// Notes that what other gateways were told is lost.
    fn unpublished(&self) {
        let mut published = lock(&self.published);
        if let Published::At(_) = *published {
            *published = Published::Owed;
        }
    }

    fn is_owed(&self) -> bool {
        matches!(*lock(&self.published), Published::Owed)
    }

    /// Tells whether other gateways must be told of it, again after some time.
    pub(crate) fn is_due(&self, now: Tick, after: Duration) -> bool {
        match *lock(&self.published) {
            Published::At(told) => now.0.saturating_sub(told.0) >= after,
            Published::Never | Published::Owed => true,
        }
    }
}

/// A request that is in flight as long as this lives.
#[derive(Debug)]
pub struct InFlight {
    session: Arc<Session>,
    id: String,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        lock(&self.session.in_flight).remove(&self.id);
    }
}

/// A request of an upstream that belongs to no call, or a notification that hooks look at first.
#[derive(Debug)]
pub struct Question {
    /// Who asks.
    pub upstream: UpstreamId,
    /// The conversation in which it asks.
    pub asker: Asker,
    /// What it asks.
    pub frame: Frame,
}

/// The conversation in which a question was asked, once it is open, and without keeping it open:
/// an answer belongs to it and to no later one.
pub type Asker = Arc<SetOnce<Weak<Instance>>>;

/// Hears what an upstream says to a session outside any call.
#[derive(Debug)]
pub struct Ear {
    session: Weak<Session>,
    upstream: UpstreamId,
    asker: Asker,
}

impl Ear {
    /// Listens to one upstream for a session, without keeping the session alive.
    pub fn of(session: &Arc<Session>, upstream: &UpstreamId) -> Self {
        Self {
            session: Arc::downgrade(session),
            upstream: upstream.clone(),
            asker: Asker::default(),
        }
    }
}

impl Listener for Ear {
    fn heard(&self, frame: Frame) -> bool {
        let Some(session) = self.session.upgrade() else {
            return false;
        };
        match (frame.kind(), List::of(&frame)) {
            (FrameKind::Notification, Some(list)) => {
                session.changed(&self.upstream, list, frame.method());
                true
            }
            (FrameKind::Notification, None) if !is_meant(&frame, None) => {
                tracing::debug!("dropped `{}`: it is of no request", frame.method());
                true
            }
            (FrameKind::Notification, None) => session.hear(self, frame),
            (FrameKind::Request, _) => session.question(self, frame),
            (FrameKind::Result | FrameKind::Error, _) => false,
        }
    }

    fn is_shared(&self) -> bool {
        false
    }

    /// Tells the upstream what the session wants to hear of, if anything.
    fn opened(&self, instance: &Arc<Instance>) {
        // A listener hears one conversation, so that this is set once.
        drop(self.asker.set(Arc::downgrade(instance)));
        let Some(session) = self.session.upgrade() else {
            return;
        };
        if lock(&session.streams).is_live(GENERAL) {
            instance.listen();
        }
        if let Some(level) = session.log_level() {
            tokio::spawn(set_level(Arc::clone(instance), level));
        }
    }

    fn ended(&self, _: &str) {}
}

/// Tells whether a notification is a log message.
pub(crate) fn is_log_message(frame: &Frame) -> bool {
    &**frame.method() == "notifications/message"
}

/// Tells whether a log message is at least as severe as `least`; one of an unknown level is.
pub(crate) fn reaches(frame: &Frame, least: &str) -> bool {
    let severity = |level: &str| LEVELS.iter().position(|known| *known == level);
    let level = frame.parameter(&["level"]);
    let level = level.and_then(|level| severity(&level));
    level.is_none() || level >= severity(least)
}

/// Tells a legacy upstream at which level its log messages are wanted.
async fn set_level(instance: Arc<Instance>, level: &'static str) {
    if instance.era() != Era::Legacy || !instance.declares(&["logging"]) {
        return;
    }
    let params = format!(r#"{{"level":"{level}"}}"#);
    let told = instance.own("logging/setLevel", &params, LEVEL_PATIENCE);
    if let Err(fault) = told.await {
        let upstream = instance.upstream();
        tracing::debug!("could not set the level of log messages of `{upstream}`: {fault}");
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Takes a lock; a panic elsewhere while it was held leaves plain data that is still whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
