//! Things that were there before, and how surprising a new one is.
//!
//! INVARIANT: once everything has settled, no more than a few new things become usual in a day, and
//! each only after it was seen several times; that new things come often is learned only before.

use serde::{Deserialize, Serialize};

/// The share of one observation, and the least rate at which new things are taken to come.
const SHARE: f64 = 1.0 / 64.0;
/// By how much the rate of new things may grow for good.
const MOST_GROWTH: f64 = 0.02;
/// How often something must be seen before it is usual.
const SEVERAL: u32 = 3;

/// One thing that was seen.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Seen {
    pub(super) times: u32,
    pub(super) usual: bool,
}

/// How often new things come.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Novelty {
    observed: u32,
    rate: f64,
    settled: Option<f64>,
    /// The day, and how many new things became usual in it.
    day: u64,
    admitted: u16,
}

/// When something is learned, and how much of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lesson {
    /// Whether what is usual is known already.
    pub(super) settled: bool,
    /// The day.
    pub(super) day: u64,
    /// New things that become usual in a day at most.
    pub(super) new_per_day: u16,
}

impl Novelty {
    /// Takes into account that something was seen.
    pub(super) fn learn(&mut self, seen: &mut Seen, lesson: Lesson) {
        let new = seen.times == 0;
        seen.times = seen.times.saturating_add(1);
        self.observed = self.observed.saturating_add(1);
        let share = SHARE.max(1.0 / f64::from(self.observed));
        self.rate += share * (f64::from(u8::from(new)) - self.rate);
        if !lesson.settled {
            seen.usual = true;
            return;
        }
        let settled = *self.settled.get_or_insert(self.rate);
        self.rate = self.rate.min(settled + MOST_GROWTH);
        if self.day != lesson.day {
            (self.day, self.admitted) = (lesson.day, 0);
        }
        if !seen.usual && seen.times >= SEVERAL && self.admitted < lesson.new_per_day {
            self.admitted = self.admitted.saturating_add(1);
            seen.usual = true;
        }
    }

    /// Returns how surprising something new is, from 0 where new things come all the time to 1.
    pub(super) fn surprise(&self) -> f64 {
        let rate = self.rate.clamp(SHARE, 1.0);
        rate.log2() / SHARE.log2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lesson(settled: bool, day: u64) -> Lesson {
        Lesson {
            settled,
            day,
            new_per_day: 2,
        }
    }

    #[test]
    fn new_things_surprise_where_they_are_rare() {
        let check = |every: u32, least: f64, most: f64| {
            let mut novelty = Novelty::default();
            for at in 0..600 {
                let mut seen = Seen {
                    times: u32::from(at % every > 0),
                    usual: false,
                };
                novelty.learn(&mut seen, lesson(false, 0));
            }
            let surprise = novelty.surprise();
            assert!((least..=most).contains(&surprise), "{every}: {surprise}");
        };
        check(1, 0.0, 0.0);
        check(4, 0.2, 0.5);
        check(600, 0.99, 1.0);
    }

    #[test]
    fn few_new_things_become_usual_in_a_day() {
        let mut novelty = Novelty::default();
        for _ in 0..300 {
            let mut old = Seen {
                times: 1,
                usual: true,
            };
            novelty.learn(&mut old, lesson(true, 1));
        }
        let mut things = vec![Seen::default(); 10];
        let mut usual = Vec::new();
        for day in 1..4 {
            for _ in 0..5 {
                for thing in &mut things {
                    novelty.learn(thing, lesson(true, day));
                }
            }
            usual.push(things.iter().filter(|thing| thing.usual).count());
        }
        assert_eq!(usual, [2, 4, 6]);
        assert!(novelty.surprise() > 0.8, "{novelty:?}");
    }
}
