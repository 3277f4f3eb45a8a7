//! How often a hook is asked: a bucket that fills with time, as a value.

use std::time::Duration;

use mcpproxy_core::Tick;

use crate::limits::Rate;

/// A bucket of questions that may be asked.
#[derive(Debug)]
pub(crate) struct Bucket {
    rate: Rate,
    /// How much time its content stands for: a question takes a share of a second.
    full: Duration,
    seen: Tick,
}

impl Bucket {
    /// Makes a bucket that is full.
    pub(crate) fn new(rate: Rate, now: Tick) -> Self {
        let mut bucket = Self {
            rate,
            full: Duration::ZERO,
            seen: now,
        };
        bucket.full = bucket.most();
        bucket
    }

    /// Takes one question out of the bucket, if there is one.
    pub(crate) fn take(&mut self, now: Tick) -> bool {
        let passed = self.seen.until(now);
        self.seen = now;
        self.full = self.full.saturating_add(passed).min(self.most());
        match self.full.checked_sub(self.one()) {
            Some(left) => {
                self.full = left;
                true
            }
            None => false,
        }
    }

    fn one(&self) -> Duration {
        Duration::from_secs(1) / self.rate.per_second.max(1)
    }

    fn most(&self) -> Duration {
        self.one().saturating_mul(self.rate.burst.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_come_at_the_rate_and_in_bursts() {
        let check = |per_second: u32, burst: u32, asked_ms: &[u64], expect: &[bool]| {
            let rate = Rate { per_second, burst };
            let at = |ms: &u64| Tick(Duration::from_millis(*ms));
            let mut bucket = Bucket::new(rate, at(&0));
            let given: Vec<bool> = asked_ms.iter().map(|ms| bucket.take(at(ms))).collect();
            assert_eq!(given, expect, "{rate:?}");
        };
        check(
            10,
            1,
            &[0, 50, 100, 150, 200],
            &[true, false, true, false, true],
        );
        check(10, 3, &[0, 0, 0, 0, 100], &[true, true, true, false, true]);
        check(
            1,
            2,
            &[0, 60_000, 60_000, 60_000],
            &[true, true, true, false],
        );
        check(0, 0, &[0, 0], &[true, false]);
    }
}
