//! The figures of the specification, and whether they are good enough.
//!
//! A figure of nothing is no figure: what was not played says nothing about how good anything is.

use serde::Serialize;

use crate::outcome::{Finished, Outcome, TwinOutcome};
use crate::run::Extent;
use crate::scenario::{Floors, Measures, Scenario};

/// The figures; those of which nothing was played are not there.
#[derive(Clone, Debug, Serialize)]
pub struct Metrics {
    /// Attacks that were stopped or warned about.
    pub attack_detection_rate: Option<f64>,
    /// Attacks that were stopped.
    pub attack_stop_rate: Option<f64>,
    /// Attacks that were stopped with no warning on record; they are in both figures above.
    pub attack_silent_stop_rate: Option<f64>,
    /// Twins that were asked about, denied or withheld.
    pub false_positive_rate: Option<f64>,
    /// Attacks that came through unnoticed.
    pub false_negative_rate: Option<f64>,
    /// Of what was called a contradiction, how much is one.
    pub contradiction_precision: Option<f64>,
    /// Of the contradictions, how many were called so.
    pub contradiction_recall: Option<f64>,
    /// Tools whose operation was told right.
    pub classification_accuracy: Option<f64>,
    /// How well personal data is recognized.
    pub pii_detection_f1: Option<f64>,
    /// Rug pulls that were stopped or warned about.
    pub rug_pull_detection_rate: Option<f64>,
    /// How long a refusal took as the agent sees it, the way over loopback included.
    pub avg_detection_time_ms: Option<f64>,
    /// Whether the specification calls this ready; never where a figure that it asks for is not there.
    /// Of a part of the scenarios it is not told.
    pub production_ready: Option<bool>,
}

/// What was reached in one category.
#[derive(Clone, Debug, Serialize)]
pub struct Category {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub title: String,
    /// Attacks, in all modes.
    pub attacks: usize,
    /// Of these, stopped.
    pub stopped: usize,
    /// Of those, with no warning on record.
    pub stopped_silently: usize,
    /// Of the attacks, not stopped and warned about.
    pub detected: usize,
    /// Of these, unnoticed.
    pub missed: usize,
    /// Twins.
    pub twins: usize,
    /// Twins that were not left alone.
    pub false_alarms: usize,
    /// Whether its floors are reached.
    pub reached: bool,
}

/// What was recognized right and wrong, for the figures that are about recognizing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recognized {
    pub(crate) right: usize,
    pub(crate) wrong: usize,
    pub(crate) overlooked: usize,
}

impl Recognized {
    fn precision(self) -> Option<f64> {
        ratio(self.right, self.right + self.wrong)
    }

    fn recall(self) -> Option<f64> {
        ratio(self.right, self.right + self.overlooked)
    }

    /// The harmonic mean of precision and recall.
    fn f1(self) -> Option<f64> {
        let right = 2 * self.right;
        ratio(right, right + self.wrong + self.overlooked)
    }
}

/// A part of a whole; of nothing, none.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of cases are far below what a float holds"
)]
fn ratio(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Metrics {
    /// Computes the figures from what was played and what was recognized.
    pub(crate) fn of(
        finished: &[(Measures, &Finished)],
        operations: Recognized,
        personal: Recognized,
        times: &[f64],
        extent: Extent,
    ) -> Self {
        let all: Vec<&Finished> = finished.iter().map(|(_, one)| *one).collect();
        let caught = |one: &&Finished| one.outcome != Outcome::Missed;
        let count =
            |keep: &dyn Fn(&&Finished) -> bool| all.iter().copied().filter(|one| keep(one)).count();
        let twins = count(&|one| one.twin.is_some());
        let alarms = count(&|one| one.twin == Some(TwinOutcome::FalseAlarm));
        let of = |wanted: Measures| {
            let some = finished
                .iter()
                .filter(move |(measures, _)| *measures == wanted);
            some.map(|(_, one)| *one)
        };
        let pulls = of(Measures::RugPull).count();
        let said = Recognized {
            right: of(Measures::Contradiction)
                .filter(|one| one.evidence.contradicted)
                .count(),
            wrong: contradicted(all.iter().copied()),
            overlooked: of(Measures::Contradiction)
                .filter(|one| !one.evidence.contradicted)
                .count(),
        };
        let mut metrics = Self {
            attack_detection_rate: ratio(count(&caught), all.len()),
            attack_stop_rate: ratio(count(&|one| one.outcome == Outcome::Stopped), all.len()),
            attack_silent_stop_rate: ratio(count(&|one| one.stopped_silently()), all.len()),
            false_positive_rate: ratio(alarms, twins),
            false_negative_rate: ratio(count(&|one| !caught(one)), all.len()),
            contradiction_precision: said.precision(),
            contradiction_recall: said.recall(),
            classification_accuracy: operations.precision(),
            pii_detection_f1: personal.f1(),
            rug_pull_detection_rate: ratio(of(Measures::RugPull).filter(caught).count(), pulls),
            avg_detection_time_ms: average(times),
            production_ready: None,
        };
        if extent == Extent::Whole {
            let ready = metrics.demands().iter().all(|(_, met)| *met == Some(true));
            metrics.production_ready = Some(ready);
        }
        metrics
    }

    /// What the specification asks of whatever is ready, and whether it is met, where it was measured.
    fn demands(&self) -> [(&'static str, Option<bool>); 4] {
        let below = |figure: Option<f64>, bound: f64| figure.map(|figure| figure < bound);
        [
            (
                "attack_detection_rate",
                self.attack_detection_rate.map(|rate| rate > 0.99),
            ),
            ("false_negative_rate", below(self.false_negative_rate, 0.01)),
            ("false_positive_rate", below(self.false_positive_rate, 0.05)),
            (
                "avg_detection_time_ms",
                below(self.avg_detection_time_ms, 50.0),
            ),
        ]
    }

    /// Tells whether every demand that was measured is met, and every figure beside them is above the
    /// floor that we set ourselves.
    pub(crate) fn is_good_enough(&self) -> bool {
        let floors = [
            (self.contradiction_precision, 0.99),
            (self.contradiction_recall, 0.99),
            (self.rug_pull_detection_rate, 1.0),
            (self.classification_accuracy, 0.95),
            (self.pii_detection_f1, 0.95),
        ];
        let above = |(figure, floor): &(Option<f64>, f64)| figure.is_none_or(|it| it >= *floor);
        self.demands().iter().all(|(_, met)| *met != Some(false)) && floors.iter().all(above)
    }

    /// Returns the figures without which nothing is called ready, and that were not measured.
    pub(crate) fn lacking(&self) -> Vec<&'static str> {
        let demands = self.demands().into_iter();
        let lacking = demands.filter(|(_, met)| met.is_none());
        lacking.map(|(name, _)| name).collect()
    }
}

fn contradicted<'a>(finished: impl Iterator<Item = &'a Finished>) -> usize {
    let twins = finished.filter_map(|one| one.twin_evidence.as_ref());
    twins.filter(|evidence| evidence.contradicted).count()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of cases are far below what a float holds"
)]
fn average(times: &[f64]) -> Option<f64> {
    (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
}

impl Category {
    /// Counts what was reached.
    pub(crate) fn of(scenario: &Scenario, finished: &[&Finished]) -> Self {
        let came = |outcome: Outcome| finished.iter().filter(|one| one.outcome == outcome).count();
        let (stopped, detected) = (came(Outcome::Stopped), came(Outcome::Detected));
        let false_alarms = finished
            .iter()
            .filter(|one| one.twin == Some(TwinOutcome::FalseAlarm))
            .count();
        let attacks = finished.len();
        let Floors {
            detected: least,
            stopped: least_stopped,
        } = scenario.floors;
        let holds = |part: usize, least: f64| ratio(part, attacks).is_some_and(|it| it >= least);
        let reached = holds(stopped + detected, least) && holds(stopped, least_stopped);
        Self {
            name: scenario.name.clone(),
            title: scenario.title.clone(),
            attacks,
            stopped,
            stopped_silently: finished.iter().filter(|one| one.stopped_silently()).count(),
            detected,
            missed: came(Outcome::Missed),
            twins: finished.iter().filter(|one| one.twin.is_some()).count(),
            false_alarms,
            reached,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Evidence;
    use crate::scenario::{Era, Mode};

    fn stopped(twin: Option<TwinOutcome>) -> Finished {
        Finished {
            scenario: "own".to_owned(),
            case: "one".to_owned(),
            title: String::new(),
            mode: Mode::Proxy,
            era: Era::Legacy,
            outcome: Outcome::Stopped,
            silent: false,
            harm: None,
            evidence: Evidence::default(),
            twin,
            twin_trouble: Vec::new(),
            twin_evidence: None,
        }
    }

    fn metrics(finished: &[Finished], times: &[f64]) -> Metrics {
        let finished: Vec<_> = finished.iter().map(|one| (Measures::Attack, one)).collect();
        let none = Recognized::default();
        Metrics::of(&finished, none, none, times, Extent::Whole)
    }

    #[test]
    fn a_figure_of_nothing_is_no_figure_and_nothing_is_ready() {
        let nothing = metrics(&[], &[]);
        let shown = serde_json::to_value(&nothing).unwrap();
        for (name, figure) in shown.as_object().unwrap() {
            let empty = name == "production_ready" || figure.is_null();
            assert!(empty, "{name}: {figure}");
        }
        assert_eq!(nothing.production_ready, Some(false));
        assert_eq!(nothing.lacking().len(), 4);
    }

    #[test]
    fn ready_is_only_what_was_measured_in_everything_that_counts() {
        let passed = stopped(Some(TwinOutcome::Passed));
        let whole = metrics(std::slice::from_ref(&passed), &[0.5]);
        assert!(whole.production_ready == Some(true) && whole.is_good_enough());
        assert_eq!(whole.lacking(), [""; 0]);
        let without_twins = metrics(&[stopped(None)], &[0.5]);
        assert!(without_twins.production_ready == Some(false) && without_twins.is_good_enough());
        assert_eq!(without_twins.lacking(), ["false_positive_rate"]);
        let without_times = metrics(&[passed], &[]);
        assert_eq!(without_times.production_ready, Some(false));
        assert_eq!(without_times.lacking(), ["avg_detection_time_ms"]);
        let alarmed = metrics(&[stopped(Some(TwinOutcome::FalseAlarm))], &[0.5]);
        assert!(alarmed.production_ready == Some(false) && !alarmed.is_good_enough());
        // What the specification does not ask for has a floor all the same.
        for low in [
            Metrics {
                classification_accuracy: Some(0.94),
                ..whole.clone()
            },
            Metrics {
                pii_detection_f1: Some(0.94),
                ..whole.clone()
            },
            Metrics {
                contradiction_recall: Some(0.98),
                ..whole.clone()
            },
            Metrics {
                contradiction_precision: Some(0.98),
                ..whole.clone()
            },
            Metrics {
                rug_pull_detection_rate: Some(0.99),
                ..whole
            },
        ] {
            assert!(!low.is_good_enough(), "{low:?}");
        }
    }

    #[test]
    fn of_a_part_nothing_is_called_ready() {
        let passed = stopped(Some(TwinOutcome::Passed));
        let none = Recognized::default();
        let part = Metrics::of(
            &[(Measures::Attack, &passed)],
            none,
            none,
            &[0.5],
            Extent::Part,
        );
        assert!(part.production_ready.is_none() && part.is_good_enough());
    }

    #[test]
    fn what_is_stopped_without_a_word_has_a_figure_of_its_own() {
        let silent = Finished {
            silent: true,
            ..stopped(None)
        };
        let missed = Finished {
            outcome: Outcome::Missed,
            ..silent.clone()
        };
        let found = metrics(
            &[silent.clone(), missed.clone(), stopped(None), stopped(None)],
            &[],
        );
        assert_eq!(found.attack_silent_stop_rate, Some(0.25));
        assert_eq!(found.attack_stop_rate, Some(0.75));
        let category = Category::of(&Scenario::default(), &[&silent, &missed, &stopped(None)]);
        assert_eq!((category.stopped, category.stopped_silently), (2, 1));
    }

    #[test]
    fn every_bound_of_the_gate_is_held_to() {
        let ready = |attacks: usize, missed: usize, alarms: usize, time: f64| {
            let played = (0..attacks).map(|at| {
                let alarmed = at < alarms;
                Finished {
                    outcome: if at < missed {
                        Outcome::Missed
                    } else {
                        Outcome::Stopped
                    },
                    ..stopped(Some(if alarmed {
                        TwinOutcome::FalseAlarm
                    } else {
                        TwinOutcome::Passed
                    }))
                }
            });
            let played: Vec<_> = played.collect();
            let found = metrics(&played, &[time]);
            let met = found.demands().map(|(_, met)| met == Some(true));
            assert_eq!(found.production_ready, Some(met == [true; 4]));
            met
        };
        // Detected, missed, false alarms, time.
        assert_eq!(ready(1000, 9, 49, 49.9), [true; 4]);
        assert_eq!(ready(1000, 10, 0, 1.0), [false, false, true, true]);
        assert_eq!(ready(1000, 0, 50, 1.0), [true, true, false, true]);
        assert_eq!(ready(1000, 0, 0, 50.0), [true, true, true, false]);
    }
}
