//! Limits that several gateways keep together: what a call would be charged is asked of the store that
//! they share, and what that says is noted here. Where it says nothing, the limits of this gateway
//! alone hold, beginning with what it knows of the others, and the store is told later.

use std::time::Duration;

use mcpproxy_core::{Call, CallId, Charge, Charged, Finding, Limit as Asked, Seat, Tick};
use sha2::{Digest as _, Sha256};

use super::{Abuse, BYTES, Bucket, CALLS, Full, Held, KINDS, Limit, Sip, WORDS, finding, said};

/// How long a place is taken for a call whose gateway does not say any more that it is under way.
pub const LEASE: Duration = Duration::from_secs(30);
/// How the bucket is named that is shared by whoever there is no room for.
const REST: &str = "rest";

/// What a call is to be charged.
#[derive(Debug)]
pub struct Bill {
    /// What the store is asked.
    pub charge: Charge,
    lines: Vec<Line>,
    keys: [u64; KINDS],
    asked: Tick,
}

/// What one limit of a bill stands for.
#[derive(Clone, Copy, Debug)]
struct Line {
    kind: usize,
    key: u64,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Running(u32),
    Calls,
    Bytes,
}

impl Abuse {
    /// Says what a call is to be charged; nothing where nothing is limited.
    pub fn bill(&self, call: &Call, now: Tick) -> Option<Bill> {
        let (cost, bytes) = self.weight(call);
        let mut bill = Bill {
            charge: Charge {
                call: call.id.to_string(),
                limits: Vec::new(),
                lease: LEASE,
            },
            lines: Vec::new(),
            keys: [0; KINDS],
            asked: now,
        };
        let mut state = self.lock();
        state.sweep(now);
        for (kind, limit) in self.limits().iter().enumerate() {
            if *limit == Limit::default() {
                continue;
            }
            let own = self.key(kind, call);
            let key = state.room(own, kind);
            let name = if key == own {
                name(kind, call)
            } else {
                [&kind.to_string(), REST].join("\0")
            };
            let bucket = state.buckets.get(&key).copied().unwrap_or_default();
            let known = |full: Tick| {
                let known = now.until(full);
                if bucket.untold { known } else { Duration::ZERO }
            };
            let line = |what| Line { kind, key, what };
            if limit.concurrent > 0 {
                let places = Asked::Places(limit.concurrent);
                bill.add(&name, line(What::Running(limit.concurrent)), places);
            }
            if let Some(sip) = limit.calls(cost) {
                bill.add(&name, line(What::Calls), sip.asked(known(bucket.calls)));
            }
            if let Some(sip) = limit.bytes(bytes) {
                bill.add(&name, line(What::Bytes), sip.asked(known(bucket.bytes)));
            }
            if let Some(slot) = bill.keys.get_mut(kind) {
                *slot = key;
            }
        }
        (!bill.lines.is_empty()).then_some(bill)
    }

    /// Takes note of what the store said to a bill; where it said nothing, the call is charged here
    /// alone. Returns why the call is too much, if it is.
    pub fn settle(&self, call: &Call, bill: &Bill, said: Option<&Charged>) -> Option<Finding> {
        match said {
            None => self.admit(call, bill.asked),
            Some(Charged::Full { limit, wait }) => {
                let line = bill.lines.get(*limit)?;
                self.note_full(bill, *limit, *wait);
                let full = match line.what {
                    What::Running(most) => Full::Concurrent(most),
                    What::Calls => Full::Later(CALLS, *wait),
                    What::Bytes => Full::Later(BYTES, *wait),
                };
                WORDS.get(line.kind).map(|word| finding(&full, word))
            }
            Some(Charged::Taken(lacks)) => {
                self.note(call.id, bill, lacks);
                None
            }
        }
    }

    /// Notes what the store charged.
    fn note(&self, call: CallId, bill: &Bill, lacks: &[Duration]) {
        let mut state = self.lock();
        for key in bill.keys.into_iter().filter(|key| *key > 0) {
            let bucket = state.buckets.entry(key).or_default();
            bucket.running = bucket.running.saturating_add(1);
            bucket.untold = false;
        }
        for (line, lack) in bill.lines.iter().zip(lacks) {
            let bucket = state.buckets.entry(line.key).or_default();
            line.set(bucket, bill.asked.after(*lack));
        }
        let limits = bill.charge.limits.iter();
        let places = limits.filter(|(_, limit)| matches!(limit, Asked::Places(_)));
        let held = Held {
            keys: bill.keys,
            places: places.map(|(name, _)| name.clone()).collect(),
        };
        state.held.insert(call, held);
    }

    /// Notes what the store says of a bucket that has no room for a call, so that this gateway knows
    /// when it is alone.
    fn note_full(&self, bill: &Bill, limit: usize, wait: Duration) {
        let asked = bill.charge.limits.get(limit).map(|(_, limit)| limit);
        let line = bill.lines.get(limit);
        if let (Some(line), Some(Asked::Bucket { cost, room, .. })) = (line, asked) {
            let lack = room.saturating_add(wait).saturating_sub(*cost);
            let mut state = self.lock();
            let bucket = state.buckets.entry(line.key).or_default();
            line.set(bucket, bill.asked.after(lack));
        }
    }

    /// Takes note that the store may have forgotten what it was told.
    pub fn doubt(&self) {
        let mut state = self.lock();
        let buckets = state.buckets.values_mut();
        buckets.for_each(|bucket| bucket.untold = true);
    }

    /// Returns the places that calls under way have among those of all gateways.
    pub fn seats(&self) -> Vec<Seat> {
        let state = self.lock();
        let held = state.held.iter();
        held.flat_map(|(call, held)| seats(*call, &held.places))
            .collect()
    }
}

/// Returns the places of a call.
pub fn seats(call: CallId, places: &[String]) -> Vec<Seat> {
    let seat = |limit: &String| Seat {
        limit: limit.clone(),
        call: call.to_string(),
    };
    places.iter().map(seat).collect()
}

impl Line {
    /// Sets when what it stands for is full again.
    fn set(self, bucket: &mut Bucket, full: Tick) {
        match self.what {
            What::Running(_) => {}
            What::Calls => bucket.calls = full,
            What::Bytes => bucket.bytes = full,
        }
    }
}

impl Bill {
    fn add(&mut self, name: &str, line: Line, limit: Asked) {
        let part = match line.what {
            What::Running(_) => "running",
            What::Calls => "calls",
            What::Bytes => "bytes",
        };
        let name = ["rate", part, name].join("\0");
        self.charge.limits.push((name, limit));
        self.lines.push(line);
    }
}

impl Sip {
    fn asked(self, known: Duration) -> Asked {
        Asked::Bucket {
            cost: self.cost,
            room: self.room,
            known,
        }
    }
}

/// The name of a bucket, the same at every gateway. Of its parts only the last can hold anything.
fn name(kind: usize, call: &Call) -> String {
    let (upstream, tool) = (call.tool.upstream.as_str(), call.tool.tool.as_str());
    let caller = || [&format!("{:?}", call.who.kind), &*call.who.name].join("\0");
    let rest = match kind {
        0 => caller(),
        1 => format!("{:?} {}", call.session.basis, call.session.id),
        2 => upstream.to_owned(),
        3 => [upstream, tool].join("\0"),
        _ => {
            let said = Sha256::digest(said(&call.wire.raw));
            let said = said.iter().map(|byte| format!("{byte:02x}"));
            // The name of a caller can hold anything, so it stands last.
            let call = [upstream, &said.collect::<String>(), tool].join("\0");
            [call, caller()].join("\0")
        }
    };
    [&*kind.to_string(), &rest].join("\0")
}
