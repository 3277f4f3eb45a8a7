//! A store for live state in memory, which several engines of one process can share, and which can be
//! lost, come back, and have forgotten everything.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcpproxy_core::{
    Charge, Charged, Exchange, Exchanged, Id128, Later, Limit, LiveFault, LiveStore, LogAsk,
    LogSaid, Place, Seat,
};
use tokio::sync::{broadcast, watch};

use crate::lock;

/// Notices that may wait.
const NOTICES: usize = 64;

type Log = VecDeque<(Place, Vec<u8>)>;

/// What all holders share.
#[derive(Debug)]
struct Shared {
    kept: Mutex<Kept>,
    notices: broadcast::Sender<Vec<u8>>,
    slow: watch::Sender<Slow>,
}

/// What a store has not done yet and does not say anything of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slow {
    /// Nothing.
    #[default]
    Nothing,
    /// Keeping a value.
    Puts,
    /// Taking a value away.
    Removals,
}

#[derive(Debug, Default)]
struct Kept {
    logs: BTreeMap<(Id128, usize), Log>,
    values: BTreeMap<String, Vec<u8>>,
    /// When buckets are full again.
    buckets: BTreeMap<String, Instant>,
    /// Who has a place, and until when.
    seats: BTreeMap<String, BTreeMap<String, Instant>>,
    places: u64,
    epoch: u128,
    lost: bool,
    /// Whether it does what it is told and says that it did not.
    mute: bool,
}

/// One holder of the store.
#[derive(Debug)]
pub struct MemoryLive {
    shared: Arc<Shared>,
    heard: tokio::sync::Mutex<broadcast::Receiver<Vec<u8>>>,
}

impl Default for MemoryLive {
    fn default() -> Self {
        let (notices, heard) = broadcast::channel(NOTICES);
        let kept = Mutex::default();
        Self {
            shared: Arc::new(Shared {
                kept,
                notices,
                slow: watch::Sender::default(),
            }),
            heard: tokio::sync::Mutex::new(heard),
        }
    }
}

/// Another holder of the same store.
impl Clone for MemoryLive {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            heard: tokio::sync::Mutex::new(self.shared.notices.subscribe()),
        }
    }
}

impl MemoryLive {
    /// Loses the store for all, or brings it back.
    pub fn lose(&self, lost: bool) {
        lock(&self.shared.kept).lost = lost;
    }

    /// Has the store do what it is told and not say so, as one that answers too late, or ends that.
    pub fn mute(&self, mute: bool) {
        lock(&self.shared.kept).mute = mute;
    }

    /// Has some of what the store is told wait until something else is slow.
    pub fn slow(&self, slow: Slow) {
        self.shared.slow.send_replace(slow);
    }

    /// Waits while something is slow.
    async fn pass(&self, what: Slow) {
        let mut slow = self.shared.slow.subscribe();
        // The sender lives as long as this.
        drop(slow.wait_for(|slow| *slow != what).await);
    }

    /// Forgets everything.
    pub fn forget(&self) {
        let mut kept = lock(&self.shared.kept);
        let (places, epoch) = (kept.places, kept.epoch + 1);
        *kept = Kept {
            places,
            epoch,
            lost: kept.lost,
            mute: kept.mute,
            ..Kept::default()
        };
    }

    /// Counts the entries of all logs.
    pub fn entries(&self) -> usize {
        lock(&self.shared.kept)
            .logs
            .values()
            .map(VecDeque::len)
            .sum()
    }

    fn there<T>(&self, act: impl FnOnce(&mut Kept) -> T) -> Result<T, LiveFault> {
        let mut kept = lock(&self.shared.kept);
        if kept.lost {
            return Err(LiveFault("it was lost to order".to_owned()));
        }
        let done = act(&mut kept);
        if kept.mute {
            return Err(LiveFault("it said nothing to order".to_owned()));
        }
        Ok(done)
    }
}

impl Kept {
    fn log(&mut self, room: Id128, number: usize, asked: LogAsk) -> LogSaid {
        let log = self.logs.entry((room, number)).or_default();
        let after = |place: &Place| asked.after.is_none_or(|after| *place > after);
        let entries = log.iter().filter(|(place, _)| after(place)).cloned();
        let entries = entries.collect();
        let mut appended = Vec::new();
        for entry in asked.append {
            self.places += 1;
            let place = Place(self.places, 0);
            log.push_back((place, entry));
            appended.push(place);
        }
        log.retain(|(place, _)| asked.keep.is_none_or(|keep| *place >= keep));
        LogSaid {
            entries,
            more: false,
            appended,
        }
    }
}

impl Kept {
    fn charge(&mut self, charge: &Charge, now: Instant) -> Charged {
        let mut lacks = Vec::new();
        for (at, (name, limit)) in charge.limits.iter().enumerate() {
            let full = |wait| Charged::Full { limit: at, wait };
            match limit {
                Limit::Bucket { cost, room, known } => {
                    let until = self.buckets.get(name).copied().unwrap_or(now);
                    let lack = until.saturating_duration_since(now).max(*known) + *cost;
                    if lack > *room {
                        return full(lack.saturating_sub(*room));
                    }
                    lacks.push(lack);
                }
                Limit::Places(most) => {
                    let seats = self.seats.entry(name.clone()).or_default();
                    seats.retain(|_, until| *until > now);
                    if seats.len() >= usize::try_from(*most).unwrap_or(usize::MAX) {
                        return full(Duration::ZERO);
                    }
                    lacks.push(Duration::ZERO);
                }
            }
        }
        for ((name, limit), lack) in charge.limits.iter().zip(&lacks) {
            match limit {
                Limit::Bucket { .. } => {
                    self.buckets.insert(name.clone(), now + *lack);
                }
                Limit::Places(_) => {
                    let seats = self.seats.entry(name.clone()).or_default();
                    seats.insert(charge.call.clone(), now + charge.lease);
                }
            }
        }
        Charged::Taken(lacks)
    }
}

fn now<'a, T: Send + 'a>(value: T) -> Later<'a, T> {
    Box::pin(std::future::ready(value))
}

impl LiveStore for MemoryLive {
    fn exchange(&self, asked: Exchange) -> Later<'_, Result<Exchanged, LiveFault>> {
        let [first, second] = asked.logs;
        now(self.there(|kept| Exchanged {
            logs: [
                kept.log(asked.room, 0, first),
                kept.log(asked.room, 1, second),
            ],
            epoch: Id128(kept.epoch),
        }))
    }

    fn put<'a>(
        &'a self,
        name: &'a str,
        value: Vec<u8>,
        _: Duration,
    ) -> Later<'a, Result<(), LiveFault>> {
        Box::pin(async move {
            self.pass(Slow::Puts).await;
            self.there(|kept| drop(kept.values.insert(name.to_owned(), value)))
        })
    }

    fn get<'a>(&'a self, name: &'a str) -> Later<'a, Result<Option<Vec<u8>>, LiveFault>> {
        now(self.there(|kept| kept.values.get(name).cloned()))
    }

    fn remove<'a>(&'a self, name: &'a str) -> Later<'a, Result<bool, LiveFault>> {
        Box::pin(async move {
            self.pass(Slow::Removals).await;
            self.there(|kept| kept.values.remove(name).is_some())
        })
    }

    fn claim<'a>(&'a self, name: &'a str, _: Duration) -> Later<'a, Result<bool, LiveFault>> {
        now(self.there(|kept| kept.values.insert(name.to_owned(), Vec::new()).is_none()))
    }

    fn charge(&self, charge: Charge) -> Later<'_, Result<Charged, LiveFault>> {
        now(self.there(|kept| kept.charge(&charge, Instant::now())))
    }

    fn leave(&self, seats: Vec<Seat>) -> Later<'_, Result<(), LiveFault>> {
        now(self.there(|kept| {
            for Seat { limit, call } in seats {
                let seats = kept.seats.get_mut(&limit);
                seats.and_then(|seats| seats.remove(&call));
            }
        }))
    }

    fn stay(
        &self,
        seats: Vec<Seat>,
        lease: Duration,
        anew: bool,
    ) -> Later<'_, Result<(), LiveFault>> {
        now(self.there(|kept| {
            for Seat { limit, call } in seats {
                let seats = kept.seats.entry(limit).or_default();
                if anew || seats.contains_key(&call) {
                    seats.insert(call, Instant::now() + lease);
                }
            }
        }))
    }

    fn announce(&self, notice: Vec<u8>) -> Later<'_, Result<usize, LiveFault>> {
        now(self.there(|_| self.shared.notices.send(notice).unwrap_or(0)))
    }

    fn heard(&self) -> Later<'_, Option<Vec<u8>>> {
        Box::pin(async { self.heard.lock().await.recv().await.ok() })
    }

    fn problem(&self) -> Option<String> {
        self.there(|_| ()).err().map(|fault| fault.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::live as suite;

    #[tokio::test]
    async fn it_does_what_every_store_does() {
        let one = MemoryLive::default();
        let other = one.clone();
        suite::logs_are_read_on(&one, &other).await;
        suite::values_are_kept(&one, &other).await;
        suite::notices_are_heard(&one, &other).await;
        suite::limits_are_kept_together(&one, &other).await;
    }
}
