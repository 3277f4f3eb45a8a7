//! Answers that a service said hold for a while, by the question.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_core::Tick;
use mcpproxy_core::security::SecurityDecision;

/// Answers that are kept. Past that those that are over go, then all of them.
const MOST: usize = 1_000;
/// The longest that an answer is kept, whatever the service says.
pub(super) const LONGEST: Duration = Duration::from_mins(5);

/// The digest of everything that an answer depends on.
pub(super) type Key = [u8; 32];

#[derive(Default)]
pub(super) struct Kept(Mutex<HashMap<Key, (SecurityDecision, Tick)>>);

impl Kept {
    /// Says whether nothing was ever kept: then no question needs a key.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    pub(super) fn get(&self, key: &Key, now: Tick) -> Option<SecurityDecision> {
        let answers = self.lock();
        let (decision, until) = answers.get(key)?;
        (now < *until).then(|| decision.clone())
    }

    pub(super) fn put(&self, key: Key, decision: SecurityDecision, now: Tick, span: Duration) {
        let mut answers = self.lock();
        if answers.len() >= MOST {
            answers.retain(|_, (_, until)| now < *until);
        }
        if answers.len() >= MOST {
            answers.clear();
        }
        answers.insert(key, (decision, now.after(span.min(LONGEST))));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, (SecurityDecision, Tick)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Tick {
        Tick(Duration::from_secs(seconds))
    }

    #[test]
    fn an_answer_is_kept_for_as_long_as_was_said_and_never_longer_than_the_bound() {
        let check = |said: u64, asked: u64, known: bool| {
            let kept = Kept::default();
            let span = Duration::from_secs(said);
            kept.put([1; 32], SecurityDecision::Allow, at(10), span);
            assert_eq!(kept.get(&[1; 32], at(10 + asked)).is_some(), known);
            assert_eq!(kept.get(&[2; 32], at(10)), None);
        };
        check(5, 4, true);
        check(5, 5, false);
        check(0, 0, false);
        check(10_000, 299, true);
        check(10_000, 300, false);
    }

    #[test]
    fn a_full_memory_drops_what_is_over_first() {
        let kept = Kept::default();
        let put = |number: usize, now: u64, seconds: u64| {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&number.to_le_bytes());
            let span = Duration::from_secs(seconds);
            kept.put(key, SecurityDecision::Allow, at(now), span);
            key
        };
        let first = put(0, 0, 200);
        for number in 1..MOST {
            put(number, 0, 1);
        }
        put(MOST, 2, 200);
        assert!(kept.get(&first, at(2)).is_some());
        for number in 0..MOST {
            put(MOST + number, 2, 200);
        }
        assert_eq!(kept.get(&first, at(2)), None);
        assert!(kept.lock().len() <= MOST);
    }
}
