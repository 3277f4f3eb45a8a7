//! Secrets that upstreams gave out, and to whom first: keyed hashes, never the values.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};

use mcpproxy_core::Call;

/// Secrets that are remembered; the one that was first seen goes first.
const MOST: usize = 16 * 1024;
/// The fewest bytes of a secret that two callers cannot share by chance.
const SHORTEST: usize = 12;

/// Who got which secret first.
#[derive(Debug, Default)]
pub(super) struct Leaks {
    keys: RandomState,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    first: HashMap<u64, u64>,
    order: VecDeque<u64>,
}

impl Leaks {
    /// Returns what the first secret is that somebody else got before, and remembers the rest.
    pub(super) fn judge<'a>(
        &self,
        call: &Call,
        secrets: impl Iterator<Item = (&'a str, &'static str)>,
    ) -> Option<&'static str> {
        let caller = self.keys.hash_one(&*call.who.name);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut leaked = None;
        for (value, word) in secrets.filter(|(value, _)| value.len() >= SHORTEST) {
            let key = self.keys.hash_one((&call.tool.upstream, value));
            match known.first.get(&key) {
                Some(first) if *first != caller => leaked = leaked.or(Some(word)),
                Some(_) => {}
                None => known.remember(key, caller),
            }
        }
        leaked
    }
}

impl Known {
    fn remember(&mut self, key: u64, caller: u64) {
        while self.order.len() >= MOST {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            self.first.remove(&oldest);
        }
        self.order.push_back(key);
        self.first.insert(key, caller);
    }
}
