//! One gateway among several: what it folds is told to the others before its caller goes on, and what
//! they folded is folded here before a call is judged.
//!
//! Where nothing is shared a call takes one branch. Where the common store is lost, what happens here
//! is folded here, kept for later within bounds, and every verdict says so; whether calls to the
//! outside go on meanwhile is for the configuration to say. What travels are the events of `flow`;
//! how, is for the port to know.

mod room;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_core::{
    Action, Call, Exchange, Finding, FlowScope, Id128, Journal, LiveFault, LiveStore, Masked,
    Reduced, Severity, Source, Tick, Tier, Wall,
};
use mcpproxy_flow::{Event, Tracker, Whose};
use tokio::sync::Mutex as Waiting;

use self::room::{Packet, Room};
use crate::engine::{Engine, Found};
use crate::facts::whose;
use crate::rates::{RENEW, Rates};
use crate::ready::Ready;

/// How often a call is looked at again because others did something meanwhile.
const ROUNDS: usize = 3;
/// Steps in which further scopes of a conversation become known.
const STEPS: usize = 3;
/// How long one meeting may take, however much others told; the rest is heard with the next.
pub(crate) const LONGEST: Duration = Duration::from_secs(5);
/// How often what waits is told, where no call does.
const TENDED: Duration = Duration::from_millis(100);

/// How often what was learned about callers and upstreams is told, and what answers are held to.
const TAUGHT: Duration = Duration::from_secs(1);
/// The room of the log of what was learned; scopes are digests, and none is this.
const HABITS: Id128 = Id128(3);
/// Entries of that log that are kept, and for how long.
const LESSONS: usize = 256;
const LESSONS_REST: Duration = Duration::from_hours(1);

/// What happens to calls to the outside while nothing can be shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLoss {
    /// They are judged by what this gateway saw itself.
    #[default]
    Local,
    /// They are refused.
    Closed,
}

/// What came of meeting the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Met {
    /// Nothing that matters happened.
    Quiet,
    /// Others did something that may change a verdict.
    News,
    /// Nobody could be met.
    Lost,
}

/// What an engine shares with others.
#[derive(Debug)]
pub(crate) struct Live {
    store: Arc<dyn LiveStore>,
    /// This process, and no later one.
    process: Id128,
    /// Rooms that were opened.
    opened: AtomicU64,
    on_loss: OnLoss,
    rooms: Mutex<HashMap<FlowScope, Arc<Waiting<Room>>>>,
    lost: AtomicBool,
    /// Whether the store may have forgotten what was told.
    doubted: AtomicBool,
    rates: Rates,
    /// The log of what was learned.
    habits: Waiting<Journal>,
}

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) tick: Tick,
    pub(crate) wall: Wall,
}

impl Moment {
    /// Returns the wall time of a tick that was.
    fn wall_of(self, tick: Tick) -> Wall {
        let ago = u64::try_from(tick.until(self.tick).as_millis()).unwrap_or(u64::MAX);
        Wall(self.wall.0.saturating_sub(ago))
    }

    /// Returns the tick of a wall time that was, as far as clocks agree.
    fn tick_of(self, wall: Wall) -> Tick {
        let ago = Duration::from_millis(self.wall.0.saturating_sub(wall.0));
        Tick(self.tick.0.saturating_sub(ago))
    }
}

impl Live {
    pub(crate) fn new(store: Arc<dyn LiveStore>, process: Id128, on_loss: OnLoss) -> Self {
        Self {
            store,
            process,
            opened: AtomicU64::new(0),
            on_loss,
            rooms: Mutex::default(),
            lost: AtomicBool::new(false),
            doubted: AtomicBool::new(false),
            rates: Rates::default(),
            habits: Waiting::new(Journal::new(HABITS, LESSONS)),
        }
    }

    pub(crate) fn store(&self) -> &dyn LiveStore {
        &*self.store
    }

    pub(crate) fn rates(&self) -> &Rates {
        &self.rates
    }

    fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    fn rooms(&self) -> MutexGuard<'_, HashMap<FlowScope, Arc<Waiting<Room>>>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn room(&self, scope: FlowScope) -> Arc<Waiting<Room>> {
        let new = || {
            let number = self.opened.fetch_add(1, Ordering::Relaxed);
            let writer = Id128(self.process.0.wrapping_add(u128::from(number)));
            Arc::new(Waiting::new(Room::new(writer)))
        };
        Arc::clone(self.rooms().entry(scope).or_insert_with(new))
    }

    /// Tells what was folded in a scope, and folds what others did there.
    async fn meet(&self, tracker: &Tracker, scope: FlowScope, now: Moment) -> Met {
        let met = tokio::time::timeout(LONGEST, self.exchanged(tracker, scope, now)).await;
        let late = || LiveFault("others told too much to be heard at once".to_owned());
        match met.unwrap_or_else(|_| Err(late())) {
            Ok(met) => {
                self.lost.store(false, Ordering::Relaxed);
                met
            }
            Err(fault) => {
                if !self.lost.swap(true, Ordering::Relaxed) {
                    tracing::warn!("only what this gateway sees is known: {fault}");
                }
                Met::Lost
            }
        }
    }

    async fn exchanged(
        &self,
        tracker: &Tracker,
        scope: FlowScope,
        now: Moment,
    ) -> Result<Met, LiveFault> {
        let room = self.room(scope);
        let mut room = room.lock().await;
        let mut met = Met::Quiet;
        loop {
            // INVARIANT: taken while the room is held, so that whoever holds it next finds what was
            // taken before either told or still in the room.
            for (at, event) in tracker.take(scope) {
                room.write(now.wall_of(at), &event);
            }
            let exchange = Exchange {
                room: scope.0,
                logs: room.asked(),
                rest: tracker.longest(),
            };
            let exchanged = self.store.exchange(exchange).await?;
            let (packets, again) = room.said(exchanged);
            for Packet { at, event, .. } in packets {
                if event.matters() {
                    met = Met::News;
                }
                tracker.fold(scope, event, now.tick_of(at));
            }
            if !again {
                return Ok(met);
            }
        }
    }

    /// Meets the others in every scope that a conversation reaches into; some become known only then.
    async fn meet_all(&self, tracker: &Tracker, whose: Whose, now: Moment) -> Met {
        let mut met = Met::Quiet;
        let mut done = Vec::new();
        for _ in 0..STEPS {
            let mut scopes = tracker.scopes(whose);
            scopes.retain(|scope| !done.contains(scope));
            if scopes.is_empty() {
                break;
            }
            for scope in scopes {
                met = met.max(self.meet(tracker, scope, now).await);
                done.push(scope);
            }
        }
        met
    }
}

impl Engine {
    /// Says why nothing is shared with other gateways, while that is so.
    pub fn live_problem(&self) -> Option<String> {
        let live = self.live()?;
        let dropped = self.tracker().dropped();
        let dropped = (dropped > 0).then(|| format!("{dropped} events were not shared"));
        live.store.problem().or(dropped)
    }

    /// Tells whether anything is shared with other gateways.
    pub fn is_shared(&self) -> bool {
        self.live().is_some()
    }

    /// Tells whether a call is judged by what this gateway saw alone, although there are others.
    pub(crate) fn is_alone(&self) -> bool {
        self.live().is_some_and(Live::is_lost)
    }

    pub(crate) fn moment(&self) -> Moment {
        let (tick, wall) = self.now();
        Moment { tick, wall }
    }

    /// Finds out what there is to find out about a call, by all that any gateway knows.
    pub(crate) async fn found_by_all(
        &self,
        call: &Call,
        early: &[Finding],
        ready: &Ready,
    ) -> Found {
        let follows = ready.settings.enabled && ready.settings.flow_tracking.enabled;
        match self.live().filter(|_| follows) {
            None => self.found(call, early, ready),
            // Boxed: where nothing is shared a call stays small.
            Some(live) => Box::pin(self.found_with(live, call, early, ready)).await,
        }
    }

    /// What a call reserves is told before it leaves. If others did something meanwhile, it is looked
    /// at again: of two calls at two gateways, the second to tell knows of the first.
    async fn found_with(
        &self,
        live: &Live,
        call: &Call,
        early: &[Finding],
        ready: &Ready,
    ) -> Found {
        let (tracker, whose) = (self.tracker(), whose(call));
        live.meet_all(tracker, whose, self.moment()).await;
        let mut found = self.found(call, early, ready);
        for _ in 1..ROUNDS {
            if !found.seen.facts.destination.sink.is_outside() {
                break;
            }
            let met = live.meet_all(tracker, whose, self.moment()).await;
            if met == Met::Quiet || met == Met::Lost && says_so(&found) {
                break;
            }
            self.unsent(call);
            found = self.found(call, early, ready);
        }
        found
    }

    /// Objects to a call that goes outside while nothing can be shared, where that is wanted.
    pub(crate) fn refused_alone(&self, outside: bool) -> Option<Finding> {
        let lost = |live: &&Live| live.is_lost() || live.rates.is_lost();
        let live = self.live().filter(lost)?;
        if !outside || live.on_loss != OnLoss::Closed {
            return None;
        }
        let reason = "what other gateways know cannot be asked, and calls to the outside are \
                      refused until it can";
        Some(Finding {
            source: Source::Operator,
            severity: Severity::High,
            reason: Masked::from_safe(reason),
            ..Finding::new("live-state-lost", Tier::Quarantine, Action::Deny)
        })
    }

    /// Tells the others what a call did, before anybody can act on it.
    pub(crate) async fn tell_others(&self, call: &Call) {
        if let Some(live) = self.live() {
            let (tracker, now) = (self.tracker(), self.moment());
            Box::pin(live.meet_all(tracker, whose(call), now)).await;
        }
    }

    /// Asks whether sessions that rest here go on elsewhere.
    pub(crate) async fn ask_about_resting(&self) {
        if let Some(live) = self.live() {
            let (tracker, now) = (self.tracker(), self.moment());
            for scope in tracker.resting(now.tick) {
                live.meet(tracker, scope, now).await;
            }
            live.rooms().retain(|scope, _| tracker.knows(*scope));
        }
    }

    /// Tells whether it is for this gateway to write down what a session came to.
    pub(crate) async fn closes(&self, session: Id128) -> bool {
        let Some(live) = self.live() else {
            return true;
        };
        let name = format!("closed/{session}");
        let claimed = live.store.claim(&name, self.tracker().longest()).await;
        // Twice is better than never.
        claimed.unwrap_or(true)
    }

    /// Tells the others what no call waits for, and what could not be told before; for as long as the
    /// engine lives.
    pub async fn tend(self: Arc<Self>) {
        let engine = Arc::downgrade(&self);
        drop(self);
        let (mut renewed, mut taught) = (Duration::ZERO, Duration::ZERO);
        loop {
            tokio::time::sleep(TENDED).await;
            renewed = renewed.saturating_add(TENDED);
            taught = taught.saturating_add(TENDED);
            let Some(engine) = engine.upgrade() else {
                return;
            };
            let Some(live) = engine.live() else { return };
            if live.store.problem().is_some() {
                continue;
            }
            engine.tell_all().await;
            if renewed >= RENEW {
                renewed = Duration::ZERO;
                engine.renew_places(live).await;
            }
            if taught >= TAUGHT {
                taught = Duration::ZERO;
                engine.share_habits(live).await;
                engine.share_context(live).await;
            }
        }
    }

    /// Tells the others what was learned here, and learns what they tell. What cannot be told is not
    /// told later: it would count as of then.
    async fn share_habits(&self, live: &Live) {
        if !self.guarded().learns() {
            return;
        }
        let now = self.now().1;
        let head = |at: Wall| [&live.process.0.to_be_bytes()[..], &at.0.to_be_bytes()].concat();
        let learned = self.habits().untold();
        let append = learned.map(|learned| [head(now), learned].concat());
        let mut journal = live.habits.lock().await;
        let turn = journal.turn(&*live.store, append.into_iter().collect(), LESSONS_REST);
        let Ok(turn) = turn.await else {
            return;
        };
        for entry in turn.entries {
            let head = entry.split_first_chunk::<16>();
            let Some((from, rest)) = head else { continue };
            let Some((at, told)) = rest.split_first_chunk() else {
                continue;
            };
            // What was told before this gateway began may be in its store of habits already.
            let news = u64::from_be_bytes(*at) >= self.since().0;
            if news && *from != live.process.0.to_be_bytes() {
                self.guarded().fold(told, now);
            }
        }
    }

    /// Says that the store was away, and may have forgotten what was told.
    pub fn doubt_live(&self) {
        if let Some(live) = self.live() {
            live.doubted.store(true, Ordering::Relaxed);
            self.doubt_limits(live);
        }
    }

    /// Tells the others whatever they were not told yet.
    pub(crate) async fn tell_all(&self) {
        let Some(live) = self.live() else { return };
        let mut scopes = self.tracker().untold();
        scopes.extend(live.unfinished());
        for scope in scopes {
            live.meet(self.tracker(), scope, self.moment()).await;
        }
    }
}

impl Live {
    /// Returns the rooms in which something waits, or all of them where the store may have forgotten.
    fn unfinished(&self) -> Vec<FlowScope> {
        let lost = self.doubted.swap(false, Ordering::Relaxed) || self.is_lost();
        let rooms = self.rooms();
        let waits = |room: &Arc<Waiting<Room>>| room.try_lock().is_ok_and(|room| room.waits());
        let some = rooms.iter().filter(|(_, room)| lost || waits(room));
        some.map(|(scope, _)| *scope).collect()
    }
}

/// Tells whether it is said that only what this gateway saw was compared.
fn says_so(found: &Found) -> bool {
    let reduced = &found.seen.facts.flow.reduced;
    reduced.contains(&Reduced::LocalOnly)
}

/// Keeps an event readable for others.
fn packed(writer: Id128, number: u64, at: Wall, event: &Event) -> Vec<u8> {
    let head = [
        &writer.0.to_be_bytes()[..],
        &number.to_be_bytes(),
        &at.0.to_be_bytes(),
    ];
    let mut bytes = head.concat();
    bytes.extend(event.encode());
    bytes
}
