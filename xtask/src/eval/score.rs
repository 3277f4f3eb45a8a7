//! Counting, and what the counts allow to be said: rates with their intervals, and the aims.

use std::collections::BTreeMap;

use serde::Serialize;

use super::case::{Answer, Case, Detector, Expect, Level, Set};

/// The two levels at which somebody is bothered.
pub(super) const TIERS: [(Level, &str); 2] = [(Level::Warn, "warn"), (Level::Block, "block")];

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Share {
    pub(super) hits: u32,
    pub(super) of: u32,
}

impl Share {
    /// Counts one more.
    pub(super) fn count(&mut self, hit: bool) {
        self.of += 1;
        self.hits += u32::from(hit);
    }

    /// Adds another share.
    pub(super) fn add(&mut self, other: Self) {
        self.hits += other.hits;
        self.of += other.of;
    }

    /// Returns the share as a fraction; nothing of nothing is none.
    pub(super) fn rate(self) -> Option<f64> {
        (self.of > 0).then(|| f64::from(self.hits) / f64::from(self.of))
    }

    /// Returns the interval that holds the true share in 95 of 100 cases, after Wilson.
    pub(super) fn interval(self) -> Option<(f64, f64)> {
        const Z: f64 = 1.959_963_985;
        let rate = self.rate()?;
        let of = f64::from(self.of);
        let scale = 1.0 + Z * Z / of;
        let middle = (rate + Z * Z / (2.0 * of)) / scale;
        let spread = Z / scale * (rate * (1.0 - rate) / of + Z * Z / (4.0 * of * of)).sqrt();
        Some(((middle - spread).max(0.0), (middle + spread).min(1.0)))
    }
}

/// What one detector made of one source, by tier.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) found: [Share; 2],
    pub(super) alarms: [Share; 2],
}

/// A case that came out otherwise than it should.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Surprise {
    pub(super) set: Set,
    pub(super) detector: Detector,
    pub(super) source: String,
    pub(super) id: String,
    /// Whether it was missed, rather than flagged for nothing.
    pub(super) missed: bool,
    /// The types of what was seen; no values.
    pub(super) seen: Vec<String>,
}

/// Everything that was counted.
#[derive(Debug, Default)]
pub(super) struct Score {
    pub(super) tallies: BTreeMap<(Set, Detector, String), Tally>,
    pub(super) surprises: Vec<Surprise>,
    pub(super) refused: Vec<String>,
}

impl Score {
    /// Counts one answer.
    pub(super) fn add(&mut self, case: &Case, answer: &Answer) {
        if let Some(fault) = &answer.error {
            self.refused.push(format!("{}: {fault}", case.id));
        }
        for mark in &case.marks {
            let key = (case.set, mark.detector, case.source.clone());
            let tally = self.tallies.entry(key).or_default();
            let place = match &mark.expect {
                Expect::Flagged(place) => place.as_ref(),
                Expect::Clean => None,
            };
            let shares = match mark.expect {
                Expect::Flagged(_) => &mut tally.found,
                Expect::Clean => &mut tally.alarms,
            };
            for (share, (tier, _)) in shares.iter_mut().zip(TIERS) {
                share.count(answer.flags(mark.detector, tier, place));
            }
            let missed = mark.expect != Expect::Clean;
            if answer.flags(mark.detector, Level::Warn, place) == missed {
                continue;
            }
            let seen = answer
                .findings
                .iter()
                .filter(|one| missed || one.level >= Level::Warn);
            let mut seen: Vec<String> = seen.map(|one| one.kind.clone()).collect();
            seen.sort();
            seen.dedup();
            self.surprises.push(Surprise {
                set: case.set,
                detector: mark.detector,
                source: case.source.clone(),
                id: case.id.clone(),
                missed,
                seen,
            });
        }
    }

    /// Sums up a set, detector by detector and tier by tier.
    pub(super) fn rows(&self, set: Set) -> Vec<Row> {
        let pairs = Detector::ALL
            .into_iter()
            .flat_map(|detector| [(detector, 0), (detector, 1)]);
        pairs
            .filter_map(|(detector, tier)| self.row(set, detector, tier))
            .collect()
    }

    fn row(&self, set: Set, detector: Detector, tier: usize) -> Option<Row> {
        let (mut found, mut alarms, mut by_source) = (Share::default(), Share::default(), vec![]);
        for ((from, of, _), tally) in &self.tallies {
            if *of != detector || (*from != set && *from != Set::Machine) {
                continue;
            }
            let source = tally.found.get(tier).copied().unwrap_or_default();
            found.add(source);
            by_source.extend(source.rate());
            alarms.add(tally.alarms.get(tier).copied().unwrap_or_default());
        }
        let asked = self
            .tallies
            .keys()
            .any(|(from, of, _)| *from == set && *of == detector);
        let sources = u32::try_from(by_source.len()).unwrap_or(u32::MAX);
        let aim = aim(detector, tier);
        let macro_recall =
            (sources > 0).then(|| by_source.iter().sum::<f64>() / f64::from(sources));
        let flagged = Share {
            hits: found.hits,
            of: found.hits + alarms.hits,
        };
        asked.then(|| Row {
            set,
            detector,
            tier: TIERS.get(tier).map_or("", |(_, name)| name),
            sources,
            found,
            interval: found.interval(),
            macro_recall,
            precision: (found.of > 0).then(|| flagged.rate()).flatten(),
            alarms,
            alarms_interval: alarms.interval(),
            aim,
            is_met: aim.map(|aim| aim.is_met(macro_recall, alarms.rate())),
        })
    }
}

/// One line of the report.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) set: Set,
    pub(super) detector: Detector,
    pub(super) tier: &'static str,
    pub(super) sources: u32,
    pub(super) found: Share,
    pub(super) interval: Option<(f64, f64)>,
    pub(super) macro_recall: Option<f64>,
    pub(super) precision: Option<f64>,
    pub(super) alarms: Share,
    pub(super) alarms_interval: Option<(f64, f64)>,
    pub(super) aim: Option<Aim>,
    pub(super) is_met: Option<bool>,
}

/// What a detector should reach on cases never seen.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Aim {
    /// The least share of attacks or values that are found, macro over sources.
    pub(super) recall: Option<f64>,
    /// The greatest share of clean cases that are flagged.
    pub(super) alarms: f64,
}

impl Aim {
    fn is_met(self, recall: Option<f64>, alarms: Option<f64>) -> bool {
        let enough = match (self.recall, recall) {
            (Some(aim), Some(recall)) => recall >= aim,
            _ => true,
        };
        enough && alarms.is_none_or(|alarms| alarms <= self.alarms)
    }
}

fn aim(detector: Detector, tier: usize) -> Option<Aim> {
    let (recall, alarms) = match (detector, tier) {
        (Detector::Hidden, 0) => (Some(1.0), 0.0005),
        (Detector::Poisoning, 0) => (Some(0.85), 0.01),
        (Detector::Poisoning, _) => (Some(0.5), 0.001),
        (Detector::HardNegatives, _) => (None, 0.0),
        (Detector::RugPull, 0) => (Some(1.0), 0.05),
        (Detector::Secrets, 0) => (Some(0.95), 0.003),
        (Detector::Pii, 0) => (Some(0.98), 0.01),
        (Detector::Phones, 0) => (Some(0.9), 0.01),
        (Detector::Results, 0) => (None, 0.005),
        _ => return None,
    };
    Some(Aim { recall, alarms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_that_of_wilson() {
        let check = |hits, of, low: f64, high: f64| {
            let (from, to) = Share { hits, of }.interval().unwrap();
            assert!(
                (from - low).abs() < 0.0005 && (to - high).abs() < 0.0005,
                "{from} {to}"
            );
        };
        check(10, 10, 0.722, 1.0);
        check(0, 1000, 0.0, 0.0038);
        check(50, 100, 0.404, 0.596);
        assert_eq!(Share::default().interval(), None);
    }

    #[test]
    fn an_aim_is_missed_on_either_side() {
        let aim = aim(Detector::Secrets, 0).unwrap();
        let check = |recall, alarms, expect| assert_eq!(aim.is_met(recall, alarms), expect);
        check(Some(0.95), Some(0.003), true);
        check(Some(0.94), Some(0.0), false);
        check(Some(1.0), Some(0.004), false);
        check(None, Some(0.0), true);
    }
}
