//! How much of what upstreams say beside their answers goes on record: an upstream that talks without
//! end must not push everything else out of the log.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mcpproxy_core::{SessionKey, Tick, UpstreamId};

/// Messages of one upstream to one conversation that are put on record within a minute; the rest
/// is stopped or changed like them, and counted.
const EACH: u32 = 16;
const WINDOW: Duration = Duration::from_mins(1);
/// Conversations with an upstream that are counted at once; beyond, all are counted anew.
const MOST: usize = 4096;
/// A step by which numbers differ in all their bits.
const STEP: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;

/// What was told of late.
#[derive(Debug)]
pub(crate) struct Told {
    counted: Mutex<HashMap<(SessionKey, UpstreamId), Count>>,
    /// Where numbers begin: elsewhere in every process, since several may write to one log.
    first: u128,
    numbers: AtomicU64,
}

impl Default for Told {
    fn default() -> Self {
        let [high, low] = [(); 2].map(|()| RandomState::new().hash_one(0_u8));
        Self {
            counted: Mutex::default(),
            first: (u128::from(high) << 64) | u128::from(low),
            numbers: AtomicU64::default(),
        }
    }
}

#[derive(Debug)]
struct Count {
    since: Tick,
    told: u32,
}

impl Told {
    /// Tells whether one more message is put on record.
    pub(crate) fn admits(&self, (session, upstream): (SessionKey, &UpstreamId), now: Tick) -> bool {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() >= MOST {
            counted.clear();
        }
        let count = counted.entry((session, upstream.clone()));
        let count = count.or_insert(Count {
            since: now,
            told: 0,
        });
        if now.0.saturating_sub(count.since.0) >= WINDOW {
            *count = Count {
                since: now,
                told: 0,
            };
        }
        count.told = count.told.saturating_add(1);
        count.told <= EACH
    }

    /// Returns a number for a message of a conversation, as unlike any other as an id must be.
    pub(crate) fn number(&self, session: SessionKey) -> u128 {
        let next = self.numbers.fetch_add(1, Ordering::Relaxed);
        let next = self.first.wrapping_add(STEP.wrapping_mul(u128::from(next)));
        session.id.0.wrapping_mul(STEP).wrapping_add(next)
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::{Id128, SessionBasis};

    use super::*;

    #[test]
    fn an_upstream_that_talks_without_end_is_told_of_for_a_while() {
        let told = Told::default();
        let session = SessionKey {
            basis: SessionBasis::McpSession,
            id: Id128(7),
        };
        let check = |upstream: &str, at: u64, expect: usize| {
            let now = Tick(Duration::from_secs(at));
            let upstream = UpstreamId::new(upstream);
            let admitted = (0..100).filter(|_| told.admits((session, &upstream), now));
            assert_eq!(admitted.count(), expect, "{upstream} {at}");
        };
        check("ledger", 0, 16);
        check("ledger", 59, 0);
        check("clock", 59, 16);
        check("ledger", 60, 16);
        assert_ne!(told.number(session), told.number(session));
        // Another gateway's numbers are others.
        assert_ne!(
            Told::default().number(session),
            Told::default().number(session)
        );
    }
}
