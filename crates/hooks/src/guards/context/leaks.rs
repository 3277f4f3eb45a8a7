//! Secrets that upstreams gave out, and to whom first: fingerprints, never the values.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcpproxy_core::Call;

use super::shared::{Fact, Print, print};

/// Secrets that are remembered; the one that was first seen goes first.
const MOST: usize = 16 * 1024;
/// The fewest bytes of a secret that two callers cannot share by chance.
const SHORTEST: usize = 12;

/// The secrets of an answer, and who is given them.
#[derive(Clone, Debug, Default)]
pub struct Given {
    caller: Print,
    secrets: Vec<(Print, &'static str)>,
}

impl Given {
    /// Takes the values of an answer to a call, with the words for what they are.
    pub fn new<'a>(call: &Call, secrets: impl Iterator<Item = (&'a str, &'static str)>) -> Self {
        let long = secrets.filter(|(value, _)| value.len() >= SHORTEST);
        let upstream = call.tool.upstream.as_str();
        Self {
            caller: print(&[&call.who.name]),
            secrets: long
                .map(|(value, word)| (print(&[upstream, value]), word))
                .collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }
}

/// Who got which secret first.
#[derive(Debug, Default)]
pub(super) struct Leaks(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    first: HashMap<Print, Print>,
    order: VecDeque<Print>,
}

impl Leaks {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what the first secret is that somebody else got before, and remembers the rest.
    pub(super) fn judge(&self, given: &Given) -> Option<&'static str> {
        let mut known = self.known();
        let mut leaked = None;
        for (secret, word) in &given.secrets {
            if known.first_of(*secret, given.caller) != given.caller {
                leaked = leaked.or(Some(*word));
            }
        }
        leaked
    }

    /// Remembers who got a secret first, by the word of another gateway.
    pub(super) fn fold(&self, secret: Print, caller: Print) {
        self.known().first_of(secret, caller);
    }

    /// Returns what nobody was given before.
    pub(super) fn news(&self, given: &Given) -> Vec<Fact> {
        let known = self.known();
        let secrets = given.secrets.iter();
        let new = secrets.filter(|(secret, _)| !known.first.contains_key(secret));
        let caller = given.caller;
        new.map(|(secret, _)| Fact::Gave(*secret, caller)).collect()
    }

    /// Returns everything that is remembered, oldest first.
    pub(super) fn all(&self) -> Vec<Fact> {
        let known = self.known();
        let fact = |secret: &Print| Some(Fact::Gave(*secret, *known.first.get(secret)?));
        known.order.iter().filter_map(fact).collect()
    }
}

impl Known {
    /// Returns who got a secret first; `caller` where nobody did before.
    fn first_of(&mut self, secret: Print, caller: Print) -> Print {
        if let Some(first) = self.first.get(&secret) {
            return *first;
        }
        while self.order.len() >= MOST {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            self.first.remove(&oldest);
        }
        self.order.push_back(secret);
        self.first.insert(secret, caller);
        caller
    }
}
