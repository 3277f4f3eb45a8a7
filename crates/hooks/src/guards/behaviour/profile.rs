//! What is usual of one caller or one upstream: how much, which tools in which order, when, where
//! to, how large, how often in vain.
//!
//! Everything here is bounded. At a bound nothing more is told apart: somebody who uses hundreds of
//! tools as a matter of course has no habits in that. What is not usual does not fill a bound, or
//! whoever calls for hundreds of new things could have the next one overlooked.

use std::collections::{BTreeMap, HashMap};

use mcpproxy_core::{SessionKey, Wall};
use serde::{Deserialize, Serialize};

use super::Settings;
use super::drift::{Drift, Kind};
use super::novelty::{Lesson, Novelty, Seen};
use super::usual::Usual;

/// Tools, pairs of tools and destinations of one profile.
const MOST_TOOLS: usize = 256;
const MOST_PAIRS: usize = 1024;
const MOST_HOSTS: usize = 256;
/// Sessions whose last tool is remembered.
const MOST_SESSIONS: usize = 64;
/// Days on which somebody was active before hours say anything.
const DAYS: u32 = 5;
/// Calls within a minute, and bytes of a message, that are always usual.
const FEW_CALLS: u64 = 10;
const FEW_BYTES: u64 = 4096;
/// Past this many, the hours of calls are halved: what was long ago fades.
const MANY_HOURS: u32 = 10_000;
const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// The parts of a minute in which calls are counted.
const PART: u64 = 10_000;
const PARTS: usize = 6;

/// One call as habits see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct About<'a> {
    pub(super) upstream: &'a str,
    pub(super) tool: &'a str,
    pub(super) session: SessionKey,
    pub(super) bytes: u64,
    /// Registered domains that the arguments name.
    pub(super) hosts: &'a [Box<str>],
    pub(super) now: Wall,
}

/// What is usual of one caller or one upstream.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Profile {
    /// When the first call was learned, in milliseconds since 1970.
    since: u64,
    calls: u64,
    /// The last day on which there was a call, and the number of such days.
    day: u64,
    days: u32,
    hours: [u32; 24],
    /// The minute that is being counted, and the calls in it that were allowed.
    minute: (u64, u64),
    volume: Usual,
    tools: Tools,
    hosts: Hosts,
    errors: Errors,
    #[serde(skip)]
    recent: Recent,
    /// The last tool of each session.
    #[serde(skip)]
    last: HashMap<SessionKey, u16>,
    /// Whether something was learned that is not written down.
    #[serde(skip)]
    pub(super) dirty: bool,
}

/// The tools that were used, and which came after which.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct Tools {
    /// Places in `used` by upstream and name.
    places: BTreeMap<Box<str>, BTreeMap<Box<str>, u16>>,
    used: Vec<Tool>,
    /// Which tool came after which, by both places.
    pairs: BTreeMap<u32, Seen>,
    novelty: Novelty,
    pair_novelty: Novelty,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct Tool {
    seen: Seen,
    sent: Usual,
    given: Usual,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct Hosts {
    named: BTreeMap<Box<str>, Seen>,
    novelty: Novelty,
}

/// How the last calls ended, and how they usually do.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct Errors {
    /// One bit a call, the latest last.
    last: u16,
    rate: f64,
    observed: u32,
}

/// The calls of the last minute, allowed or not.
#[derive(Clone, Debug, Default)]
struct Recent {
    part: u64,
    counts: [u64; PARTS],
}

impl Profile {
    /// Counts a call that is about to be judged.
    pub(super) fn count(&mut self, now: Wall) {
        self.recent.add(now);
    }

    /// Tells when there was a call last.
    pub(super) fn last_day(&self) -> u64 {
        self.day
    }

    /// Tells whether enough was seen to say what is usual.
    fn is_settled(&self, settings: &Settings, now: Wall) -> bool {
        let learning =
            u64::try_from(settings.learning_time.duration().as_millis()).unwrap_or(u64::MAX);
        let seen = now.0.saturating_sub(self.since);
        self.calls >= u64::from(settings.learning_calls) && seen >= learning
    }

    /// Says how a call departs from what is usual; `whose` ends the sentences.
    pub(super) fn judge(
        &self,
        about: &About<'_>,
        settings: &Settings,
        whose: &str,
        drift: &mut Drift,
    ) {
        if !self.is_settled(settings, about.now) {
            return;
        }
        let calls = self.recent.sum(about.now);
        let excess = self.volume.excess(calls, FEW_CALLS, 1.5);
        if excess > 0.0 {
            drift.note(Kind::Volume, (20.0 + 15.0 * excess).min(60.0), || {
                let usual = self.volume.shown();
                format!("{calls} calls in a minute where {usual} are usual {whose}")
            });
        }
        self.judge_tool(about, whose, drift);
        for host in about.hosts {
            let known = self.hosts.named.get(host).is_some_and(|seen| seen.usual);
            if !known && !self.hosts.is_without_habit() {
                let points = 36.0 * self.hosts.novelty.surprise();
                drift.note(Kind::Destinations, points, || {
                    format!("`{host}`, which is new {whose}")
                });
            }
        }
        if let Some((failed, usually)) = self.errors.unusual() {
            drift.note(Kind::Errors, 20.0, || {
                format!("{failed} of the last 16 calls failed where {usually} do usually {whose}")
            });
        }
        self.judge_hour(about.now, whose, drift);
    }

    fn judge_tool(&self, about: &About<'_>, whose: &str, drift: &mut Drift) {
        let place = self.tools.place(about);
        let tool = place.and_then(|place| self.tools.used.get(usize::from(place)));
        let Some(tool) = tool.filter(|tool| tool.seen.usual) else {
            if !self.tools.is_without_habit() {
                let points = 36.0 * self.tools.novelty.surprise();
                drift.note(Kind::Tools, points, || {
                    let (name, calls) = (shown(about), self.calls);
                    format!("`{name}`, which is new after {calls} calls {whose}")
                });
            }
            return;
        };
        let excess = tool.sent.excess(about.bytes, FEW_BYTES, 3.0);
        if excess > 0.0 {
            drift.note(Kind::Sizes, (20.0 + 10.0 * excess).min(40.0), || {
                let (bytes, usual) = (about.bytes, tool.sent.shown());
                format!("{bytes} bytes are sent where {usual} are usual {whose}")
            });
        }
        let pair = place.and_then(|place| self.pair(about, place));
        let known = |pair| self.tools.pairs.get(&pair).is_some_and(|seen| seen.usual);
        let pairs = self.tools.pairs.values();
        if pair.is_some_and(|pair| !known(pair)) && usual(pairs) < MOST_PAIRS {
            let points = 18.0 * self.tools.pair_novelty.surprise();
            drift.note(Kind::Sequences, points, || {
                let name = shown(about);
                format!("`{name}` never came after the tool before it {whose}")
            });
        }
    }

    fn judge_hour(&self, now: Wall, whose: &str, drift: &mut Drift) {
        let all: u32 = self.hours.iter().sum();
        let hour = hour(now);
        let around = [hour + 23, hour, hour + 1].map(|hour| self.hours.get(hour % 24));
        let around: u32 = around.into_iter().flatten().sum();
        if self.days >= DAYS && around.saturating_mul(100) < all {
            drift.note(Kind::Hours, 18.0, || {
                format!("it is {hour:02}:00 UTC, when there are hardly any calls {whose}")
            });
        }
    }

    /// Learns from a call that was allowed and is over. Says whether the answer was larger than
    /// usual.
    pub(super) fn learn(
        &mut self,
        about: &About<'_>,
        given: u64,
        failed: bool,
        settings: &Settings,
        whose: &str,
    ) -> Drift {
        let now = about.now.0;
        if self.calls == 0 {
            self.since = now;
        }
        let lesson = Lesson {
            settled: self.is_settled(settings, about.now),
            day: now / DAY,
            new_per_day: settings.new_per_day,
        };
        self.dirty = true;
        self.calls = self.calls.saturating_add(1);
        self.learn_time(now, lesson);
        self.errors.learn(failed, lesson.settled);
        for host in about.hosts {
            self.hosts.learn(host, lesson);
        }
        self.learn_tool(about, given, lesson, whose)
    }

    fn learn_time(&mut self, now: u64, lesson: Lesson) {
        if self.day != lesson.day {
            (self.day, self.days) = (lesson.day, self.days.saturating_add(1));
        }
        if let Some(hour) = self.hours.get_mut(hour(Wall(now))) {
            *hour = hour.saturating_add(1);
        }
        if self.hours.iter().sum::<u32>() > MANY_HOURS {
            self.hours = self.hours.map(|hour| hour / 2);
        }
        let minute = now / MINUTE;
        if self.minute.0 != minute {
            if self.minute.1 > 0 {
                self.volume.learn(self.minute.1, lesson.settled, lesson.day);
            }
            self.minute = (minute, 0);
        }
        self.minute.1 = self.minute.1.saturating_add(1);
    }

    fn learn_tool(&mut self, about: &About<'_>, given: u64, lesson: Lesson, whose: &str) -> Drift {
        let mut drift = Drift::default();
        let before = self.last.get(&about.session).copied();
        let Some(place) = self.tools.place_or_new(about) else {
            self.last.remove(&about.session);
            return drift;
        };
        let Tools { used, novelty, .. } = &mut self.tools;
        if let Some(tool) = used.get_mut(usize::from(place)) {
            let excess = tool.given.excess(given, FEW_BYTES, 4.0);
            if lesson.settled && excess > 0.0 {
                drift.note(Kind::Sizes, (20.0 + 10.0 * excess).min(40.0), || {
                    let usual = tool.given.shown();
                    format!("{given} bytes came back where {usual} are usual {whose}")
                });
            }
            novelty.learn(&mut tool.seen, lesson);
            tool.sent.learn(about.bytes, lesson.settled, lesson.day);
            tool.given.learn(given, lesson.settled, lesson.day);
        }
        if let Some(before) = before {
            self.tools.learn_pair(before, place, lesson);
        }
        if self.last.len() >= MOST_SESSIONS && !self.last.contains_key(&about.session) {
            self.last.clear();
        }
        self.last.insert(about.session, place);
        drift
    }

    /// Returns the tool before this one in its session, together with this one.
    fn pair(&self, about: &About<'_>, place: u16) -> Option<u32> {
        let before = self.last.get(&about.session)?;
        Some(pair(*before, place))
    }
}

impl Tools {
    fn is_without_habit(&self) -> bool {
        usual(self.used.iter().map(|tool| &tool.seen)) >= MOST_TOOLS
    }

    fn place(&self, about: &About<'_>) -> Option<u16> {
        self.places.get(about.upstream)?.get(about.tool).copied()
    }

    fn place_or_new(&mut self, about: &About<'_>) -> Option<u16> {
        if let Some(place) = self.place(about) {
            return Some(place);
        }
        if self.used.len() >= MOST_TOOLS {
            return None;
        }
        let place = u16::try_from(self.used.len()).ok()?;
        let names = self.places.entry(about.upstream.into()).or_default();
        names.insert(about.tool.into(), place);
        self.used.push(Tool::default());
        Some(place)
    }

    fn learn_pair(&mut self, before: u16, place: u16, lesson: Lesson) {
        let pair = pair(before, place);
        if self.pairs.len() >= MOST_PAIRS && !self.pairs.contains_key(&pair) {
            return;
        }
        let seen = self.pairs.entry(pair).or_default();
        self.pair_novelty.learn(seen, lesson);
    }
}

impl Hosts {
    fn is_without_habit(&self) -> bool {
        usual(self.named.values()) >= MOST_HOSTS
    }

    fn learn(&mut self, host: &str, lesson: Lesson) {
        if !self.named.contains_key(host) {
            if self.named.len() >= MOST_HOSTS && !self.make_room() {
                return;
            }
            self.named.insert(host.into(), Seen::default());
        }
        if let Some(seen) = self.named.get_mut(host) {
            self.novelty.learn(seen, lesson);
        }
    }

    /// Forgets the place that was seen least of those that are not usual.
    fn make_room(&mut self) -> bool {
        let odd = self.named.iter().filter(|(_, seen)| !seen.usual);
        let least = odd.min_by_key(|(_, seen)| seen.times);
        let least = least.map(|(host, _)| host.clone());
        least.is_some_and(|host| self.named.remove(&host).is_some())
    }
}

impl Errors {
    fn learn(&mut self, failed: bool, settled: bool) {
        self.last = (self.last << 1) | u16::from(failed);
        self.observed = self.observed.saturating_add(1);
        // What is usual is learned slowly, so that a burst does not become it.
        let share = if settled { 1.0 / 512.0 } else { 1.0 / 128.0 };
        let share = f64::max(share, 1.0 / f64::from(self.observed));
        self.rate += share * (f64::from(u8::from(failed)) - self.rate);
    }

    /// Returns how many of the last calls failed and how many do usually, if that is unusual.
    fn unusual(&self) -> Option<(u32, String)> {
        let failed = self.last.count_ones();
        let usually = self.rate * 16.0;
        let unusual = failed >= 6 && f64::from(failed) > 3.0 * usually + 2.0;
        unusual.then(|| (failed, format!("{usually:.0}")))
    }
}

impl Recent {
    fn add(&mut self, now: Wall) {
        let part = now.0 / PART;
        let passed = usize::try_from(part.saturating_sub(self.part)).unwrap_or(PARTS);
        if passed > 0 {
            for step in 1..=passed.min(PARTS) {
                if let Some(count) = self.counts.get_mut(slot(self.part, step)) {
                    *count = 0;
                }
            }
            if passed >= PARTS {
                self.counts = [0; PARTS];
            }
            self.part = part;
        }
        if let Some(count) = self.counts.get_mut(slot(self.part, 0)) {
            *count = count.saturating_add(1);
        }
    }

    fn sum(&self, now: Wall) -> u64 {
        let passed = (now.0 / PART).saturating_sub(self.part);
        if passed >= PARTS as u64 {
            return 0;
        }
        self.counts.iter().sum()
    }
}

fn slot(part: u64, step: usize) -> usize {
    let part = usize::try_from(part % PARTS as u64).unwrap_or(0);
    (part + step) % PARTS
}

fn usual<'a>(all: impl Iterator<Item = &'a Seen>) -> usize {
    all.filter(|seen| seen.usual).count()
}

fn pair(before: u16, place: u16) -> u32 {
    (u32::from(before) << 16) | u32::from(place)
}

fn hour(now: Wall) -> usize {
    usize::try_from(now.0 % DAY / HOUR).unwrap_or(0)
}

fn shown(about: &About<'_>) -> String {
    [about.upstream, ":", about.tool].concat()
}
