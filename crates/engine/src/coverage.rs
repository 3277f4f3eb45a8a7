//! How much can be seen of what agents do: hooks count as active because events came, never because
//! a file says so.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_core::{Coverage, Hooked, SessionKey, Tick, Wall};
use schemars::JsonSchema;
use serde::Serialize;

/// How long an event counts as a sign of life.
pub const ACTIVE: Duration = Duration::from_mins(30);
/// Conversations that are remembered; the one that rested longest goes first.
const MOST: usize = 1024;

/// What was heard from one conversation of an agent.
#[derive(Clone, Debug)]
struct Heard {
    session: Box<str>,
    last: Tick,
    at: Wall,
    events: u64,
}

/// A conversation and its agent: two agents may call theirs by the same name.
type Speaker = (SessionKey, Arc<str>);

/// What was heard from the hooks of agents.
#[derive(Debug, Default)]
pub(crate) struct Hearing(Mutex<HashMap<Speaker, Heard>>);

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

impl Hearing {
    /// Notes an event.
    pub(crate) fn note(&self, key: SessionKey, hook: &Hooked, now: (Tick, Wall)) {
        let mut all = self.all();
        let speaker = (key, Arc::clone(&hook.agent));
        if all.len() >= MOST && !all.contains_key(&speaker) {
            let oldest = all.iter().min_by_key(|((key, _), one)| (one.last, key.id));
            let oldest = oldest.map(|(speaker, _)| speaker.clone());
            oldest.and_then(|oldest| all.remove(&oldest));
        }
        let new = || Heard {
            session: hook.session.clone(),
            last: now.0,
            at: now.1,
            events: 0,
        };
        let heard = all.entry(speaker).or_insert_with(new);
        (heard.last, heard.at) = now;
        heard.events += 1;
    }

    /// Returns how much can be seen now.
    pub(crate) fn sight(&self, now: Tick) -> Sight {
        let mut agents: BTreeMap<String, (usize, u64, Wall)> = BTreeMap::new();
        let all = self.all();
        let active = |one: &Heard| now.0.saturating_sub(one.last.0) <= ACTIVE;
        for ((_, agent), one) in all.iter().filter(|(_, one)| active(one)) {
            let (sessions, events, last) =
                agents.entry(agent.to_string()).or_insert((0, 0, one.at));
            *sessions += 1;
            *events += one.events;
            *last = (*last).max(one.at);
        }
        let heard = agents
            .into_iter()
            .map(|(agent, (sessions, events, last))| AgentHeard {
                agent,
                sessions,
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
        let all = self.all();
        let mut found = all.iter().filter(|(_, one)| *one.session == *session);
        found.next().map(|((key, _), _)| *key)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Speaker, Heard>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
