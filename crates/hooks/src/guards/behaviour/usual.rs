//! What is usual of a number: its mean and how far it strays, on a scale of doublings.
//!
//! INVARIANT: once it has settled, it moves by no more than a little within a day, and never
//! further than `MOST_GROWTH` from where it settled: somebody who does a little more every day
//! cannot make a flood usual.

use serde::{Deserialize, Serialize};

/// The share of one observation, once there are enough of them.
const SHARE: f64 = 1.0 / 64.0;
/// Doublings by which the mean may grow within a day: a fifth more.
const DAILY_GROWTH: f64 = 0.25;
/// Doublings by which the mean may grow for good: four times as much.
const MOST_GROWTH: f64 = 2.0;
/// Doublings by which the spread may grow within a day, and for good.
const DAILY_SPREAD: f64 = 0.1;
const MOST_SPREAD: f64 = 0.5;
/// Spreads above the mean that are still usual.
const SPREADS: f64 = 3.0;

/// What is usual of a number.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Usual {
    observed: u32,
    mean: f64,
    spread: f64,
    /// Where it stood when it settled, and when the day began.
    settled: Option<Stand>,
    morning: Option<(u64, Stand)>,
}

/// Mean and spread at some time.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
struct Stand {
    mean: f64,
    spread: f64,
}

impl Usual {
    /// Takes a number into account.
    pub(super) fn learn(&mut self, number: u64, settled: bool, day: u64) {
        if settled {
            self.settled.get_or_insert(Stand {
                mean: self.mean,
                spread: self.spread,
            });
            if self.morning.is_none_or(|(known, _)| known != day) {
                let (mean, spread) = (self.mean, self.spread);
                self.morning = Some((day, Stand { mean, spread }));
            }
        }
        self.observed = self.observed.saturating_add(1);
        let share = SHARE.max(1.0 / f64::from(self.observed));
        let mut away = doublings(number) - self.mean;
        if settled {
            // One that is far off says no more than one that is just unusual.
            away = away.min(SPREADS * self.spread.max(1.0));
        }
        self.mean += share * away;
        self.spread += share * (away.abs() - self.spread);
        if let (Some(settled), Some((_, morning))) = (self.settled, self.morning) {
            let most = (settled.mean + MOST_GROWTH).min(morning.mean + DAILY_GROWTH);
            self.mean = self.mean.min(most);
            let most = (settled.spread + MOST_SPREAD).min(morning.spread + DAILY_SPREAD);
            self.spread = self.spread.min(most);
        }
    }

    /// Returns by how many doublings a number exceeds what is usual. Up to `few`, and `least`
    /// doublings above the mean, everything is; so is that of which too little is known.
    pub(super) fn excess(&self, number: u64, few: u64, least: f64) -> f64 {
        const KNOWN: u32 = 8;
        if self.observed < KNOWN || number <= few {
            return 0.0;
        }
        let most = self.mean + least.max(SPREADS * self.spread);
        (doublings(number) - most).max(0.0)
    }

    /// Returns the number that is usual, as one says it.
    pub(super) fn shown(&self) -> String {
        format!("{:.0}", self.mean.exp2().max(1.0))
    }
}

/// A number on the scale of doublings.
fn doublings(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX).max(1)).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(numbers: impl Iterator<Item = u64>) -> Usual {
        let mut usual = Usual::default();
        for number in numbers {
            usual.learn(number, false, 0);
        }
        usual
    }

    #[test]
    fn what_exceeds_is_counted_in_doublings() {
        let check = |number: u64, expect: f64| {
            let usual = settled([2, 2, 2, 2].into_iter().cycle().take(100));
            let excess = usual.excess(number, 10, 2.0);
            assert!((excess - expect).abs() < 0.01, "{number}: {excess}");
        };
        check(0, 0.0);
        check(2, 0.0);
        check(8, 0.0);
        check(16, 1.0);
        check(64, 3.0);
        check(u64::MAX, 29.0);
        // What strays by itself may stray.
        let stray = settled((0..400).map(|at| 1 << (at % 8)));
        assert!(stray.excess(600, 0, 1.0) < 0.01);
        assert!(settled(std::iter::empty()).excess(1 << 30, 0, 1.0) < 0.01);
    }

    #[test]
    fn a_little_more_every_day_does_not_make_a_flood_usual() {
        let mut usual = settled(std::iter::repeat_n(100, 300));
        let mut number = 100;
        for day in 1..365 {
            let before = usual.mean;
            number = (number + number / 10).min(1 << 30);
            for _ in 0..500 {
                usual.learn(number, true, day);
            }
            assert!(usual.mean - before <= DAILY_GROWTH + 0.001, "day {day}");
        }
        // Four times as much, and some spread: for ever.
        assert!(usual.mean.exp2() < 401.0, "{usual:?}");
        assert!(usual.excess(4000, 0, 1.0) > 1.0, "{usual:?}");
        // It comes down again as fast as it likes.
        for _ in 0..500 {
            usual.learn(1, true, 366);
        }
        assert_eq!(usual.shown(), "1");
    }
}
