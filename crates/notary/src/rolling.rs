//! When the next pack of a session that goes on is due.

use std::time::Duration;

use mcpproxy_core::{PackInterval, Tick};

/// Since when and since how many receipts no pack was made.
#[derive(Clone, Debug)]
pub struct Rolling {
    interval: PackInterval,
    since: Tick,
    packed: u64,
}

impl Rolling {
    /// Begins with a session.
    pub fn new(interval: PackInterval, now: Tick) -> Self {
        Self {
            interval,
            since: now,
            packed: 0,
        }
    }

    /// Tells whether a pack is due once so many receipts are written, and counts from here if so.
    pub fn due(&mut self, now: Tick, written: u64) -> bool {
        let due = match self.interval {
            PackInterval::Session => false,
            PackInterval::Minutes(minutes) => {
                self.since.after(Duration::from_mins(1) * minutes) <= now
            }
            PackInterval::Receipts(count) => {
                written.saturating_sub(self.packed) >= u64::from(count)
            }
        };
        if due {
            (self.since, self.packed) = (now, written);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each step is minutes since the start and receipts so far.
    fn check(interval: &str, steps: &[(u64, u64)], expect: &[bool]) {
        let start = Tick(Duration::from_secs(7));
        let mut rolling = Rolling::new(interval.parse().unwrap(), start);
        let due = steps.iter().map(|(minute, written)| {
            rolling.due(start.after(Duration::from_mins(*minute)), *written)
        });
        assert_eq!(due.collect::<Vec<_>>(), expect, "{interval}");
    }

    #[test]
    fn packs_are_due_by_time_or_by_number() {
        let steps = [(0, 0), (1, 3), (4, 4), (5, 5), (9, 6), (10, 12), (11, 15)];
        let (no, yes) = (false, true);
        check("session", &steps, &[no; 7]);
        check("5m", &steps, &[no, no, no, yes, no, yes, no]);
        check("5r", &steps, &[no, no, no, yes, no, yes, no]);
        check("3r", &steps, &[no, yes, no, no, yes, yes, yes]);
    }
}
