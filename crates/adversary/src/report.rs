//! The report: what was played, put together and counted.

use serde::Serialize;

use crate::metrics::{Category, Metrics, Recognized};
use crate::outcome::{self, Finished, Outcome};
use crate::run::{Orders, Played, Side};
use crate::scenario::{Case, Library, Measures, Scenario, Verdict};

/// What came of everything.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The figures.
    #[serde(flatten)]
    pub metrics: Metrics,
    /// The figures by category.
    pub categories: Vec<Category>,
    /// Every case in every mode.
    pub scenarios: Vec<Finished>,
    /// Every published incident.
    pub incidents: Vec<Replayed>,
    /// What was recognized otherwise than expected, in words.
    pub unrecognized: Vec<String>,
}

impl Report {
    /// Tells whether the figures are good enough, every floor is reached and every incident came out
    /// as told.
    pub fn is_ready(&self) -> bool {
        self.metrics.production_ready
            && self.categories.iter().all(|one| one.reached)
            && self.incidents.iter().all(|one| one.as_told)
    }

    /// Returns the figures with their names, for people.
    pub fn figures(&self) -> Vec<(&'static str, String)> {
        let Metrics {
            attack_detection_rate,
            attack_stop_rate,
            false_positive_rate,
            false_negative_rate,
            contradiction_precision,
            contradiction_recall,
            classification_accuracy,
            pii_detection_f1,
            rug_pull_detection_rate,
            avg_detection_time_ms,
            production_ready,
        } = &self.metrics;
        let rates = [
            ("attack_detection_rate", attack_detection_rate),
            ("attack_stop_rate", attack_stop_rate),
            ("false_positive_rate", false_positive_rate),
            ("false_negative_rate", false_negative_rate),
            ("contradiction_precision", contradiction_precision),
            ("contradiction_recall", contradiction_recall),
            ("classification_accuracy", classification_accuracy),
            ("pii_detection_f1", pii_detection_f1),
            ("rug_pull_detection_rate", rug_pull_detection_rate),
            ("avg_detection_time_ms", avg_detection_time_ms),
        ];
        let mut figures: Vec<_> = rates
            .map(|(name, rate)| (name, format!("{rate:.4}")))
            .into();
        figures.push(("production_ready", production_ready.to_string()));
        figures
    }
}

/// A published incident and what came of its replay.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    /// Its number in the table.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// What the table says.
    pub verdict: Verdict,
    /// What came of it.
    pub outcome: Outcome,
    /// Whether the two go together.
    pub as_told: bool,
}

/// Puts together what was played.
pub(crate) fn report(
    library: &Library,
    orders: &Orders,
    played: &[Played<'_>],
    times: &[f64],
) -> Report {
    let mut finished: Vec<(Measures, Finished)> = Vec::new();
    let mut incidents = Vec::new();
    let mut unrecognized = Vec::new();
    let (mut operations, mut personal) = (Recognized::default(), Recognized::default());
    for (scenario, case) in library.cases() {
        for (mode, era) in orders.ways() {
            let find = |side: Side| {
                let own = |one: &&Played<'_>| {
                    let way = (one.mode, one.era) == (mode, era);
                    std::ptr::eq(one.case, case) && one.side == side && way
                };
                played.iter().find(own)
            };
            let Some(attack) = find(Side::Attack) else {
                continue;
            };
            match scenario.measures {
                Measures::Incident => incidents.extend(replayed(case, attack)),
                Measures::Classification => {
                    count_operation(case, attack, &mut operations, &mut unrecognized);
                }
                Measures::Pii => count_types(case, attack, &mut personal, &mut unrecognized),
                Measures::Attack | Measures::RugPull | Measures::Contradiction => {
                    let one = one(scenario, case, attack, find(Side::Twin));
                    finished.push((scenario.measures, one));
                }
            }
        }
    }
    let borrowed: Vec<_> = finished
        .iter()
        .map(|(measures, one)| (*measures, one))
        .collect();
    let metrics = Metrics::of(&borrowed, operations, personal, times);
    let categories = library.scenarios.iter().filter_map(|scenario| {
        let own: Vec<&Finished> = finished
            .iter()
            .map(|(_, one)| one)
            .filter(|one| one.scenario == scenario.name)
            .collect();
        (!own.is_empty()).then(|| Category::of(scenario, &own))
    });
    let categories = categories.collect();
    Report {
        metrics,
        categories,
        scenarios: finished.into_iter().map(|(_, one)| one).collect(),
        incidents,
        unrecognized,
    }
}

fn one(
    scenario: &Scenario,
    case: &Case,
    attack: &Played<'_>,
    twin: Option<&Played<'_>>,
) -> Finished {
    Finished {
        scenario: scenario.name.clone(),
        case: case.id.clone(),
        title: case.title.clone(),
        mode: attack.mode,
        era: attack.era,
        outcome: outcome::attack(&attack.came, &attack.evidence),
        harm: attack.came.harm.clone(),
        evidence: attack.evidence.clone(),
        twin: twin.map(|twin| outcome::twin(&twin.came, &twin.evidence)),
        twin_trouble: twin
            .map(|twin| twin.came.refused.clone())
            .unwrap_or_default(),
        twin_evidence: twin.map(|twin| twin.evidence.clone()),
    }
}

fn replayed(case: &Case, attack: &Played<'_>) -> Option<Replayed> {
    let incident = case.incident.clone()?;
    let outcome = outcome::attack(&attack.came, &attack.evidence);
    let as_told = match incident.verdict {
        Verdict::Stopped => outcome == Outcome::Stopped,
        Verdict::Limited => outcome != Outcome::Missed,
        Verdict::Open | Verdict::NotOurs => outcome == Outcome::Missed,
    };
    Some(Replayed {
        number: incident.number,
        name: incident.name,
        verdict: incident.verdict,
        outcome,
        as_told,
    })
}

fn count_operation(
    case: &Case,
    played: &Played<'_>,
    operations: &mut Recognized,
    unrecognized: &mut Vec<String>,
) {
    let Some(expected) = &case.attack.expect.operation else {
        return;
    };
    // The scenario's policy warns of what writes and asks about what destroys.
    let found = match played.evidence.strictest {
        0 => "read",
        1 => "write",
        _ => "destructive",
    };
    if found == expected {
        operations.right += 1;
    } else {
        operations.wrong += 1;
        unrecognized.push(format!("{}: expected {expected}, found {found}", case.id));
    }
}

fn count_types(
    case: &Case,
    played: &Played<'_>,
    personal: &mut Recognized,
    unrecognized: &mut Vec<String>,
) {
    let (expected, found) = (&case.attack.expect.types, &played.evidence.types);
    for kind in expected {
        if found.contains(kind) {
            personal.right += 1;
        } else {
            personal.overlooked += 1;
            unrecognized.push(format!("{}: `{kind}` is overlooked", case.id));
        }
    }
    for kind in found.iter().filter(|kind| !expected.contains(kind)) {
        personal.wrong += 1;
        unrecognized.push(format!("{}: `{kind}` is not there", case.id));
    }
}
