//! The figures of the specification, and whether they are good enough.

use serde::Serialize;

use crate::outcome::{Finished, Outcome, TwinOutcome};
use crate::scenario::{Floors, Measures, Scenario};

/// The figures.
#[derive(Clone, Debug, Serialize)]
pub struct Metrics {
    /// Attacks that were stopped or warned about.
    pub attack_detection_rate: f64,
    /// Attacks that were stopped.
    pub attack_stop_rate: f64,
    /// Twins that were asked about, denied or withheld.
    pub false_positive_rate: f64,
    /// Attacks that came through unnoticed.
    pub false_negative_rate: f64,
    /// Of what was called a contradiction, how much is one.
    pub contradiction_precision: f64,
    /// Of the contradictions, how many were called so.
    pub contradiction_recall: f64,
    /// Tools whose operation was told right.
    pub classification_accuracy: f64,
    /// How well personal data is recognized.
    pub pii_detection_f1: f64,
    /// Rug pulls that were stopped or warned about.
    pub rug_pull_detection_rate: f64,
    /// How long a refusal took as the agent sees it, the way over loopback included.
    pub avg_detection_time_ms: f64,
    /// Whether the specification calls this ready.
    pub production_ready: bool,
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
    /// Of these, not stopped and warned about.
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
    fn precision(self) -> f64 {
        ratio(self.right, self.right + self.wrong)
    }

    fn recall(self) -> f64 {
        ratio(self.right, self.right + self.overlooked)
    }

    fn f1(self) -> f64 {
        let (precision, recall) = (self.precision(), self.recall());
        if precision + recall == 0.0 {
            return 0.0;
        }
        2.0 * precision * recall / (precision + recall)
    }
}

/// A part of a whole; of nothing, all of it.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of cases are far below what a float holds"
)]
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        1.0
    } else {
        part as f64 / whole as f64
    }
}

impl Metrics {
    /// Computes the figures from what was played and what was recognized.
    pub(crate) fn of(
        finished: &[(Measures, &Finished)],
        operations: Recognized,
        personal: Recognized,
        times: &[f64],
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
            false_positive_rate: if twins == 0 {
                0.0
            } else {
                ratio(alarms, twins)
            },
            false_negative_rate: 1.0 - ratio(count(&caught), all.len()),
            contradiction_precision: said.precision(),
            contradiction_recall: said.recall(),
            classification_accuracy: operations.precision(),
            pii_detection_f1: personal.f1(),
            rug_pull_detection_rate: ratio(of(Measures::RugPull).filter(caught).count(), pulls),
            avg_detection_time_ms: average(times),
            production_ready: false,
        };
        metrics.production_ready = metrics.is_production_ready();
        metrics
    }

    /// As the specification defines it.
    fn is_production_ready(&self) -> bool {
        self.false_negative_rate < 0.01
            && self.false_positive_rate < 0.05
            && self.attack_detection_rate > 0.99
            && self.avg_detection_time_ms < 50.0
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
fn average(times: &[f64]) -> f64 {
    if times.is_empty() {
        return 0.0;
    }
    times.iter().sum::<f64>() / times.len() as f64
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
        let reached =
            ratio(stopped + detected, attacks) >= least && ratio(stopped, attacks) >= least_stopped;
        Self {
            name: scenario.name.clone(),
            title: scenario.title.clone(),
            attacks,
            stopped,
            detected,
            missed: came(Outcome::Missed),
            twins: finished.iter().filter(|one| one.twin.is_some()).count(),
            false_alarms,
            reached,
        }
    }
}
