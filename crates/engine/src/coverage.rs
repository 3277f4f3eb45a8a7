//! How much can be seen of what agents do: hooks count as active because events came, never because
//! a file says so. Events that came to other gateways count as well.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_core::{Coverage, Hooked, Id128, SessionBasis, SessionKey, Tick, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::live::Moment;

/// How long an event counts as a sign of life.
pub const ACTIVE: Duration = Duration::from_mins(30);
/// Conversations that are remembered, of this gateway and of others each; the one that rested longest
/// goes first.
const MOST: usize = 1024;
/// How long others wait for more news of a conversation that they know of.
const AGAIN: Duration = Duration::from_secs(10);
/// Conversations that others are told of at once, and that are kept for who comes later.
const TOLD: usize = 256;
/// The longest name of an agent or of a gateway that is taken over from another, in bytes.
const LONGEST_NAME: usize = 64;

/// What was heard here from one conversation of an agent.
#[derive(Clone, Debug)]
struct Heard {
    session: Box<str>,
    last: Tick,
    at: Wall,
    events: u64,
    /// When others were told of it, and of how many events.
    told: Option<(Tick, u64)>,
}

impl Heard {
    fn is_active(&self, now: Tick) -> bool {
        self.last.until(now) <= ACTIVE
    }

    /// Tells whether others have to be told of it.
    fn is_news(&self, now: Tick) -> bool {
        let told = |(at, events): (Tick, u64)| events == self.events || now < at.after(AGAIN);
        self.is_active(now) && !self.told.is_some_and(told)
    }
}

/// What another gateway heard from one conversation. The clock of a process begins with it, so
/// that only the time of day tells how old this is.
#[derive(Clone, Copy, Debug)]
struct Reported {
    at: Wall,
    events: u64,
}

impl Reported {
    fn is_active(self, now: Wall) -> bool {
        self.at.after(ACTIVE) >= now
    }
}

/// A conversation and its agent: two agents may call theirs by the same name.
type Speaker = (SessionKey, Arc<str>);

/// What was heard from the hooks of agents.
#[derive(Debug, Default)]
pub(crate) struct Hearing(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    own: HashMap<Speaker, Heard>,
    /// What other gateways heard, by which of them did.
    elsewhere: HashMap<(Arc<str>, Speaker), Reported>,
}

/// A conversation with how many events came from it and when the last one did.
type Active<'a> = (&'a Speaker, (u64, Wall));

impl Known {
    /// The conversations that are active here.
    fn here(&self, now: Tick) -> impl Iterator<Item = Active<'_>> {
        let active = self.own.iter().filter(move |(_, one)| one.is_active(now));
        active.map(|(speaker, one)| (speaker, (one.events, one.at)))
    }

    /// Those that are active at other gateways, by which of them heard it.
    fn there(&self, now: Wall) -> impl Iterator<Item = (&str, Active<'_>)> {
        let all = self.elsewhere.iter();
        let active = all.filter(move |(_, one)| one.is_active(now));
        active.map(|((from, speaker), one)| (&**from, (speaker, (one.events, one.at))))
    }
}

/// What is heard from one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentHeard {
    /// The agent, as `claude-code`.
    pub agent: String,
    /// Conversations from which something was heard lately.
    pub sessions: usize,
    /// Events that were heard from them.
    pub events: u64,
    /// When the last one came, RFC 3339.
    pub last_event: String,
}

/// How much can be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// How much.
    pub coverage: Coverage,
    /// The agents whose hooks are active.
    pub agents: Vec<AgentHeard>,
}

/// What one gateway heard from a conversation, as it tells others.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct HeardNews {
    /// The conversation.
    pub hook: String,
    /// Its agent.
    pub agent: String,
    /// Events that came so far.
    pub events: u64,
    /// When the last one came, in milliseconds since 1970.
    pub last: u64,
}

impl HeardNews {
    fn of((key, agent): &Speaker, (events, last): (u64, Wall)) -> Self {
        Self {
            hook: key.id.to_string(),
            agent: agent.to_string(),
            events,
            last: last.0,
        }
    }

    fn speaker(&self) -> Option<Speaker> {
        let id = u128::from_str_radix(&self.hook, 16).ok().map(Id128)?;
        let basis = SessionBasis::Hook;
        let agent = self.agent.as_str();
        (agent.len() <= LONGEST_NAME).then(|| (SessionKey { basis, id }, agent.into()))
    }
}

impl Hearing {
    /// Notes an event.
    pub(crate) fn note(&self, key: SessionKey, hook: &Hooked, now: (Tick, Wall)) {
        let mut known = self.known();
        let speaker = (key, Arc::clone(&hook.agent));
        make_room(&mut known.own, &speaker, |(key, _), one| (one.last, key.id));
        let new = || Heard {
            session: hook.session.clone(),
            last: now.0,
            at: now.1,
            events: 0,
            told: None,
        };
        let heard = known.own.entry(speaker).or_insert_with(new);
        (heard.last, heard.at) = now;
        heard.events += 1;
    }

    /// Takes over what another gateway heard.
    pub(crate) fn fold(&self, from: &str, news: &[HeardNews], now: Wall) {
        if from.len() > LONGEST_NAME {
            return;
        }
        let (from, mut known) = (Arc::<str>::from(from), self.known());
        for one in news {
            let Some(speaker) = one.speaker() else {
                continue;
            };
            let reported = Reported {
                // A clock that is ahead makes nothing last longer.
                at: Wall(one.last).min(now),
                events: one.events,
            };
            let whose = (Arc::clone(&from), speaker);
            // What is kept may be older than what was told, and the same once more is no news.
            let before = known.elsewhere.get(&whose);
            if before.is_some_and(|before| before.events >= one.events) || !reported.is_active(now)
            {
                continue;
            }
            make_room(&mut known.elsewhere, &whose, |(_, (key, _)), one| {
                (one.at, key.id)
            });
            known.elsewhere.insert(whose, reported);
        }
    }

    /// Returns what others have to be told, latest first.
    pub(crate) fn news(&self, now: Tick) -> Vec<HeardNews> {
        let known = self.known();
        let news = known.own.iter().filter(|(_, one)| one.is_news(now));
        let news = news.map(|(speaker, heard)| HeardNews::of(speaker, (heard.events, heard.at)));
        latest(news.collect())
    }

    /// Notes that others were told.
    pub(crate) fn told(&self, news: &[HeardNews], now: Tick) {
        let mut known = self.known();
        for one in news {
            let speaker = one.speaker();
            let heard = speaker.and_then(|speaker| known.own.get_mut(&speaker));
            if let Some(heard) = heard {
                heard.told = Some((now, one.events));
            }
        }
    }

    /// Has others told of everything once more.
    pub(crate) fn doubt(&self) {
        let mut known = self.known();
        known.own.values_mut().for_each(|heard| heard.told = None);
    }

    /// Returns what is known of conversations that are active, by who heard it; `own` names this
    /// gateway.
    pub(crate) fn all(&self, own: &str, now: Moment) -> BTreeMap<String, Vec<HeardNews>> {
        let known = self.known();
        let here = known.here(now.tick).map(|heard| (own, heard));
        let there = known.there(now.wall);
        let mut all: BTreeMap<String, Vec<HeardNews>> = BTreeMap::new();
        for (from, (speaker, heard)) in here.chain(there) {
            let news = all.entry(from.to_owned()).or_default();
            news.push(HeardNews::of(speaker, heard));
        }
        let all = all.into_iter();
        all.map(|(from, news)| (from, latest(news))).collect()
    }

    /// Returns how much can be seen now.
    pub(crate) fn sight(&self, now: Moment) -> Sight {
        let known = self.known();
        let there = known.there(now.wall).map(|(_, heard)| heard);
        let mut agents: BTreeMap<&str, (BTreeSet<Id128>, u64, Wall)> = BTreeMap::new();
        for ((key, agent), (events, at)) in known.here(now.tick).chain(there) {
            let new = (BTreeSet::new(), 0, at);
            let (sessions, all, last) = agents.entry(agent).or_insert(new);
            // One conversation may have asked two gateways.
            sessions.insert(key.id);
            *all += events;
            *last = (*last).max(at);
        }
        let heard = agents
            .into_iter()
            .map(|(agent, (sessions, events, last))| AgentHeard {
                agent: agent.to_owned(),
                sessions: sessions.len(),
                events,
                last_event: last.rfc3339(),
            });
        let agents: Vec<_> = heard.collect();
        Sight {
            coverage: if agents.is_empty() {
                Coverage::ProxyOnly
            } else {
                Coverage::Full
            },
            agents,
        }
    }

    /// Finds the conversations that an agent calls by this name.
    pub(crate) fn named(&self, session: &str) -> Option<SessionKey> {
        let known = self.known();
        let mut found = known.own.iter().filter(|(_, one)| *one.session == *session);
        found.next().map(|((key, _), _)| *key)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets go of the conversation that rested longest where there is no room for another.
fn make_room<K: Clone + Eq + Hash, V, O: Ord>(
    all: &mut HashMap<K, V>,
    new: &K,
    rests: impl Fn(&K, &V) -> O,
) {
    if all.len() < MOST || all.contains_key(new) {
        return;
    }
    let oldest = all.iter().min_by_key(|(key, one)| rests(key, one));
    let oldest = oldest.map(|(key, _)| key.clone());
    oldest.and_then(|oldest| all.remove(&oldest));
}

/// Keeps the latest of what is told.
fn latest(mut news: Vec<HeardNews>) -> Vec<HeardNews> {
    news.sort_by(|one, other| {
        let order = other.last.cmp(&one.last);
        order.then_with(|| one.hook.cmp(&other.hook))
    });
    news.truncate(TOLD);
    news
}
