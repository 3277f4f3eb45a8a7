//! What happens at other gateways, for those who watch here: a gateway at which somebody watches says
//! so, and the others tell it what happens for as long as it does. Where nobody watches anywhere,
//! nothing is told.
//!
//! What cannot be told in time is not told later: listeners hear that they missed something.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcpproxy_core::LiveStore;
use mcpproxy_engine::Event;
use mcpproxy_engine::events::{MissedNews, Numbered};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::gateway::Gateway;
use crate::notices::Notice;

/// How often others hear that somebody watches here, and for how long that holds.
const AGAIN: Duration = Duration::from_secs(30);
const HOLDS: Duration = Duration::from_secs(90);
/// Events that are told at once.
const BATCH: usize = 256;
/// Why a listener does not hear of something.
const UNHEARD: &str = "other gateways could not be heard";
const UNTOLD: &str = "another gateway could not tell them in time";

/// Who watches.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    /// Until when others want to be told, in milliseconds of the clock of this process.
    elsewhere: AtomicU64,
    /// Somebody began to watch here.
    pub(crate) came: Notify,
}

/// An event as it is told to other gateways.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Happened {
    name: String,
    payload: Value,
}

impl Gateway {
    fn millis(&self, later: Duration) -> u64 {
        let at = self.clock.tick().after(later).0;
        u64::try_from(at.as_millis()).unwrap_or(u64::MAX)
    }

    /// Takes note that somebody watches at another gateway.
    pub(crate) fn watched_elsewhere(&self) {
        let until = self.millis(HOLDS);
        self.watchers.elsewhere.store(until, Ordering::Relaxed);
        self.engine.events().watch_elsewhere(self.clock.wall().0);
    }

    fn is_watched_elsewhere(&self) -> bool {
        let until = self.watchers.elsewhere.load(Ordering::Relaxed);
        self.millis(Duration::ZERO) < until
    }

    /// Tells those who watch here what happened at another gateway.
    pub(crate) fn happened_elsewhere(&self, happened: Vec<Happened>, missed: u64) {
        if !self.engine.is_watched() {
            return;
        }
        let events = self.engine.events();
        for Happened { name, payload } in happened {
            // One that is not known was told by a later version.
            if let Some(event) = Event::elsewhere(&name, payload) {
                events.tell(event);
            }
        }
        if missed > 0 {
            self.tell_missed(Some(missed), UNTOLD);
        }
    }

    /// Tells those who watch here that other gateways were not heard for a while.
    pub(crate) fn unheard(&self) {
        if self.engine.is_watched() {
            self.tell_missed(None, UNHEARD);
            self.watchers.came.notify_one();
        }
    }

    fn tell_missed(&self, events: Option<u64>, reason: &'static str) {
        let missed = MissedNews { events, reason };
        self.engine.events().tell(Event::Missed(missed));
    }

    /// Tells other gateways what happens here while somebody watches there, and that somebody watches
    /// here; for as long as this gateway runs.
    pub async fn relay(self: Arc<Self>) {
        let Some(live) = self.live.clone() else {
            return;
        };
        let mut events = self.engine.overhear();
        let mut untold = 0;
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Ok(event) => untold = self.tell_on(&*live, &event, &mut events, untold).await,
                    Err(RecvError::Lagged(missed)) => untold += missed,
                    Err(RecvError::Closed) => return,
                },
                () = self.watchers.came.notified() => self.say_watching().await,
                () = tokio::time::sleep(AGAIN) => self.say_watching().await,
                () = self.stopped() => return,
            }
        }
    }

    async fn say_watching(&self) {
        if self.engine.is_watched() {
            self.announce(Notice::Watching).await;
        }
    }

    /// Tells an event and those that wait behind it; returns how many are untold by now.
    async fn tell_on(
        &self,
        live: &dyn LiveStore,
        first: &Numbered,
        events: &mut Receiver<Arc<Numbered>>,
        mut untold: u64,
    ) -> u64 {
        let mut happened: Vec<_> = happened(first).into_iter().collect();
        for _ in 1..BATCH {
            match events.try_recv() {
                Ok(event) => happened.extend(self::happened(&event)),
                Err(TryRecvError::Lagged(missed)) => untold += missed,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        if happened.is_empty() || !self.is_watched_elsewhere() {
            return 0;
        }
        let told = u64::try_from(happened.len()).unwrap_or(u64::MAX);
        let notice = Notice::Happened {
            events: happened,
            missed: untold,
        };
        // Whether others hear it is known nowhere; that it was not sent is.
        match live.announce(self.as_told(notice)).await {
            Ok(_) => 0,
            Err(_) => untold.saturating_add(told),
        }
    }
}

/// What is told on of an event; nothing of what others told.
fn happened(event: &Numbered) -> Option<Happened> {
    event.event.is_own().then(|| Happened {
        name: event.event.name().to_owned(),
        payload: serde_json::to_value(&event.event).unwrap_or_default(),
    })
}
