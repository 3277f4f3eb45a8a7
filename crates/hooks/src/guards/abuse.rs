//! Rate limits and abuse: how often, how much and how many at once, for a caller, a session, an
//! upstream and a tool, and the same call again and again.
//!
//! Every limit is a bucket that fills with time, kept as the one moment at which it will be full
//! again. A call is charged to all of its buckets or to none. What is done about a call that is too
//! much is decided by policy, like everything else. Several gateways keep limits together (`shared`);
//! what is kept here is then what this one knows of them, by which it goes on while it is alone.

mod shared;

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_core::{Action, Call, CallId, Finding, Masked, Source, Threat, Tick, Tier};
use serde::{Deserialize, Serialize};

use super::fingerprint::canonical;

pub use self::shared::{Bill, LEASE, seats};

/// The id by which the configuration knows this guard.
pub const ID: &str = "rate-limiter";
/// Buckets that are kept. Past that, those that are full are forgotten, which changes nothing; if
/// none is, whoever is new shares one bucket for each kind of limit.
const MOST: usize = 50_000;
/// How long nothing is forgotten again, since looking for what can be is not free.
const REST: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
/// Calls that may come all at once at any rate that allows so many in a minute.
const LEAST_BURST: u32 = 5;

/// What is limited. Nothing is, unless the configuration says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// For each caller.
    pub per_principal: Limit,
    /// For each session.
    pub per_session: Limit,
    /// For each upstream, whoever calls.
    pub per_server: Limit,
    /// For each tool, whoever calls.
    pub per_tool: Limit,
    /// How many calls a call of a tool, as `server:tool`, counts for.
    pub costs: BTreeMap<String, u32>,
    /// How often one caller may make the same call within a minute, in whatever sessions; 0 is without
    /// limit.
    pub repeats_per_minute: u32,
}

/// One limit; 0 is without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limit {
    /// Calls within a minute.
    pub calls_per_minute: u32,
    /// Calls that may come all at once; where it is not said, as many as in ten seconds or five, but no
    /// more than in a minute.
    pub burst: u32,
    /// Calls that may be under way at the same time.
    pub concurrent: u32,
    /// Bytes that may be sent within a minute.
    pub bytes_per_minute: u32,
}

impl Settings {
    /// Says what is wrong with them.
    pub fn check(&self) -> Result<(), String> {
        let limits = [
            ("per_principal", self.per_principal),
            ("per_session", self.per_session),
            ("per_server", self.per_server),
            ("per_tool", self.per_tool),
        ];
        let idle = |limit: &Limit| limit.burst > 0 && limit.calls_per_minute == 0;
        match limits.iter().find(|(_, limit)| idle(limit)) {
            Some((name, _)) => Err(format!(
                "`{name}`: `burst` is no limit without `calls_per_minute`"
            )),
            None => Ok(()),
        }
    }
}

/// Rate limits at work.
#[derive(Debug)]
pub struct Abuse {
    settings: Settings,
    // Keyed anew in every process: nobody outside can aim at somebody else's bucket.
    keys: RandomState,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    buckets: HashMap<u64, Bucket>,
    held: HashMap<CallId, Held>,
    swept: Option<Tick>,
}

/// Where a call that is under way is counted.
#[derive(Debug)]
struct Held {
    /// The buckets.
    keys: [u64; KINDS],
    /// The places that it has among those of all gateways, by name.
    places: Vec<String>,
}

/// What is left of one limit.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// When it will be full again.
    calls: Tick,
    bytes: Tick,
    running: u32,
    /// Whether other gateways may not know of it.
    untold: bool,
}

/// The kinds of limit, in the order in which a refusal names them.
const KINDS: usize = 5;
const WORDS: [&str; KINDS] = [
    "by this caller",
    "in this session",
    "to this upstream",
    "of this tool",
    "that say the same",
];

/// What is counted, as a refusal says it.
const CALLS: &str = "calls";
const BYTES: &str = "bytes in calls";

/// Why a bucket does not take a call.
#[derive(Clone, Copy, Debug)]
enum Full {
    Later(&'static str, Duration),
    Concurrent(u32),
}

impl Abuse {
    /// Starts with full buckets.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            keys: RandomState::new(),
            state: Mutex::default(),
        }
    }

    /// Charges a call, or says why it is too much. What was admitted is to be released.
    pub fn admit(&self, call: &Call, now: Tick) -> Option<Finding> {
        let limits = self.limits();
        let (cost, bytes) = self.weight(call);
        let mut state = self.lock();
        state.sweep(now);
        let mut charged = Vec::with_capacity(KINDS);
        let mut keys = [0; KINDS];
        for ((kind, limit), (slot, word)) in
            limits.iter().enumerate().zip(keys.iter_mut().zip(WORDS))
        {
            if *limit == Limit::default() {
                continue;
            }
            let key = state.room(self.key(kind, call), kind);
            let bucket = state.buckets.get(&key).copied().unwrap_or_default();
            match bucket.charged(*limit, cost, bytes, now) {
                Ok(bucket) => {
                    *slot = key;
                    charged.push((key, bucket));
                }
                Err(full) => return Some(finding(&full, word)),
            }
        }
        if !charged.is_empty() {
            state.buckets.extend(charged);
            let places = Vec::new();
            state.held.insert(call.id, Held { keys, places });
        }
        None
    }

    /// Takes note that a call is over; one that was not admitted is none of its business. Returns the
    /// places that it had among those of all gateways.
    pub fn release(&self, call: CallId) -> Vec<String> {
        let mut state = self.lock();
        let Some(held) = state.held.remove(&call) else {
            return Vec::new();
        };
        for key in held.keys {
            if let Some(bucket) = state.buckets.get_mut(&key) {
                bucket.running = bucket.running.saturating_sub(1);
            }
        }
        held.places
    }

    /// Returns how many calls a call counts for, and its bytes.
    fn weight(&self, call: &Call) -> (u32, u32) {
        let cost = self.settings.costs.get(&named(call)).copied();
        let bytes = u32::try_from(call.wire.raw.len()).unwrap_or(u32::MAX);
        (cost.unwrap_or(1), bytes)
    }

    fn limits(&self) -> [Limit; KINDS] {
        let settings = &self.settings;
        let repeats = Limit {
            calls_per_minute: settings.repeats_per_minute,
            burst: settings.repeats_per_minute,
            ..Limit::default()
        };
        [
            settings.per_principal,
            settings.per_session,
            settings.per_server,
            settings.per_tool,
            repeats,
        ]
    }

    fn key(&self, kind: usize, call: &Call) -> u64 {
        let (who, session, tool) = (&call.who.name, call.session, &call.tool);
        let key = match kind {
            0 => self.keys.hash_one((kind, who, call.who.kind)),
            1 => self.keys.hash_one((kind, session)),
            2 => self.keys.hash_one((kind, tool.upstream.as_str())),
            3 => self
                .keys
                .hash_one((kind, tool.upstream.as_str(), tool.tool.as_str())),
            _ => {
                let said = said(&call.wire.raw);
                let tool = (tool.upstream.as_str(), tool.tool.as_str());
                self.keys.hash_one((kind, who, call.who.kind, tool, said))
            }
        };
        // The lowest keys are those of buckets that are shared, and 0 is none.
        key.max(KINDS as u64 + 1)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns the key itself while there is room for it, or that of the shared bucket.
    fn room(&self, key: u64, kind: usize) -> u64 {
        if self.buckets.len() < MOST || self.buckets.contains_key(&key) {
            return key;
        }
        kind as u64 + 1
    }

    /// Forgets buckets that are full, once there are too many: a new one would be the same.
    fn sweep(&mut self, now: Tick) {
        let rested = self.swept.is_none_or(|last| last.until(now) >= REST);
        if self.buckets.len() >= MOST && rested {
            self.swept = Some(now);
            self.buckets
                .retain(|_, it| it.running > 0 || it.calls > now || it.bytes > now);
        }
    }
}

impl Bucket {
    /// Takes a call into account, if there is room for it.
    fn charged(self, limit: Limit, cost: u32, bytes: u32, now: Tick) -> Result<Self, Full> {
        if limit.concurrent > 0 && self.running >= limit.concurrent {
            return Err(Full::Concurrent(limit.concurrent));
        }
        let calls = taken(self.calls, limit.calls(cost), now);
        let calls = calls.map_err(|wait| Full::Later(CALLS, wait))?;
        let bytes = taken(self.bytes, limit.bytes(bytes), now);
        let bytes = bytes.map_err(|wait| Full::Later(BYTES, wait))?;
        Ok(Self {
            calls,
            bytes,
            running: self.running.saturating_add(1),
            untold: true,
        })
    }
}

/// What a call takes out of a bucket, as the time in which it fills up again.
#[derive(Clone, Copy, Debug)]
struct Sip {
    cost: Duration,
    /// The most that may be taken out. An amount that is more than the bucket holds is let pass when
    /// it is full: otherwise it never would be.
    room: Duration,
}

impl Limit {
    /// What so many calls take, if calls are limited.
    fn calls(&self, cost: u32) -> Option<Sip> {
        let burst = if self.burst > 0 {
            self.burst
        } else {
            // Agents call a few tools at once: a low rate alone is no reason to refuse the second.
            let rate = self.calls_per_minute;
            rate.div_ceil(6).max(LEAST_BURST).min(rate)
        };
        Sip::of(self.calls_per_minute, cost, burst)
    }

    /// What so many bytes take, if they are limited.
    fn bytes(&self, bytes: u32) -> Option<Sip> {
        let rate = self.bytes_per_minute;
        Sip::of(rate, bytes, rate)
    }
}

impl Sip {
    /// Takes `amount` out of a bucket that holds `burst` and fills by `rate` a minute.
    fn of(rate: u32, amount: u32, burst: u32) -> Option<Self> {
        let time = |amount: u32| {
            let nanos = MINUTE.as_nanos().saturating_mul(amount.into());
            let nanos = nanos.checked_div(rate.into())?;
            Some(Duration::from_nanos(
                u64::try_from(nanos).unwrap_or(u64::MAX),
            ))
        };
        Some(Self {
            cost: time(amount)?,
            room: time(burst.max(amount))?,
        })
    }
}

/// Says when a bucket will be full again once something is taken out, or how long to wait for that.
fn taken(full: Tick, sip: Option<Sip>, now: Tick) -> Result<Tick, Duration> {
    let Some(Sip { cost, room }) = sip else {
        return Ok(full);
    };
    let full = full.max(now).after(cost);
    let over = now.until(full).saturating_sub(room);
    if over.is_zero() { Ok(full) } else { Err(over) }
}

fn named(call: &Call) -> String {
    [call.tool.upstream.as_str(), ":", call.tool.tool.as_str()].concat()
}

/// What a call says: everything but what the gateway put in, in one form however it is written.
fn said(raw: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(raw).unwrap_or_default();
    let inner = mcpproxy_text::get(text, &["params", "arguments"]);
    let inner = inner.or_else(|| mcpproxy_text::get(text, &["params"]));
    let Some((inner, _)) = inner else {
        return raw.to_owned();
    };
    let value = serde_json::from_str(inner);
    let said = value.map_or_else(|_| inner.to_owned(), |value| canonical(&value));
    said.into_bytes()
}

fn finding(full: &Full, word: &str) -> Finding {
    let (reason, retry_after) = match full {
        Full::Later(what, wait) => {
            let seconds = wait.as_secs().saturating_add(1);
            let reason = format!("Too many {what} {word}: try again in {seconds} s.");
            (reason, seconds)
        }
        // When one is over, nobody knows.
        Full::Concurrent(most) => {
            let reason = format!(
                "More than {most} calls {word} at the same time: try again when one is over."
            );
            (reason, 1)
        }
    };
    Finding {
        source: Source::Behavioral,
        threat: Threat::RateLimitExceeded,
        retry_after: Some(retry_after),
        reason: Masked::from_safe(reason),
        ..Finding::new(ID, Tier::Risk, Action::Deny)
    }
}

#[cfg(test)]
mod tests;
