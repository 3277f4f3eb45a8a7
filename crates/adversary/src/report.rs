//! The report: what was played, put together and counted.

use serde::Serialize;

use crate::metrics::{Category, Metrics, Recognized};
use crate::outcome::{self, Finished, Outcome};
use crate::run::{Orders, Played, Side};
use crate::scenario::{Case, Era, Library, Measures, Mode, Scenario, Verdict};

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
    /// Attacks, incidents and samples that were played, in all modes and eras.
    #[serde(skip)]
    pub played: usize,
}

impl Report {
    /// Tells whether what was played came out well: something was played, the figures that were measured
    /// are good enough, every floor is reached and every incident came out as told. Whether that makes
    /// anything ready for production is another question: it needs every figure that counts.
    pub fn passed(&self) -> bool {
        self.played > 0
            && self.metrics.is_good_enough()
            && self.categories.iter().all(|one| one.reached)
            && self.incidents.iter().all(|one| one.as_told)
    }

    /// Returns the figures that are needed to call anything ready and that were not measured; of a part
    /// of the scenarios nobody asks.
    pub fn lacking(&self) -> Vec<&'static str> {
        match self.metrics.production_ready {
            Some(_) => self.metrics.lacking(),
            None => Vec::new(),
        }
    }

    /// Returns the figures with their names, for people; `-` where nothing was measured.
    pub fn figures(&self) -> Vec<(&'static str, String)> {
        let Metrics {
            attack_detection_rate,
            attack_stop_rate,
            attack_silent_stop_rate,
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
            ("attack_silent_stop_rate", attack_silent_stop_rate),
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
            .map(|(name, rate)| {
                (
                    name,
                    rate.map_or("-".to_owned(), |rate| format!("{rate:.4}")),
                )
            })
            .into();
        let ready = production_ready.map_or("- (only told of a run with --all)".to_owned(), |it| {
            it.to_string()
        });
        figures.push(("production_ready", ready));
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
    /// The case that replays it.
    pub case: String,
    /// How agent and gateway worked together.
    pub mode: Mode,
    /// The era in which agent and upstreams spoke.
    pub era: Era,
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
    let mut count = 0;
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
            count += 1;
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
    let metrics = Metrics::of(&borrowed, operations, personal, times, orders.extent);
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
        played: count,
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
        silent: outcome::silent(&attack.came, &attack.evidence),
        harm: attack.came.harm.clone(),
        evidence: attack.evidence.clone(),
        twin: twin.map(|twin| outcome::twin(&twin.came, &twin.evidence)),
        twin_trouble: twin.map(|twin| twin.came.trouble()).unwrap_or_default(),
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
        case: case.id.clone(),
        mode: attack.mode,
        era: attack.era,
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
    // The scenario's policy warns of what writes and asks about what destroys. That nothing is on
    // record says nothing about the tool.
    let found = match (played.evidence.calls, played.evidence.strictest) {
        (0, _) => "no record of the call",
        (_, 0) => "read",
        (_, 1) => "write",
        (_, _) => "destructive",
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::outcome::Evidence;
    use crate::play::Came;
    use crate::scenario::{Expect, Play};

    fn counted(record: Option<&serde_json::Value>) -> (usize, usize) {
        let mut case = Case {
            id: "lookup".to_owned(),
            ..Case::default()
        };
        case.attack = Play {
            expect: Expect {
                operation: Some("read".to_owned()),
                ..Expect::default()
            },
            ..Play::default()
        };
        let mut evidence = Evidence::default();
        if let Some(record) = record {
            evidence.add(record);
        }
        let played = Played {
            case: &case,
            side: Side::Attack,
            mode: Mode::Proxy,
            era: Era::Legacy,
            came: Came::default(),
            evidence,
        };
        let mut operations = Recognized::default();
        count_operation(&case, &played, &mut operations, &mut Vec::new());
        (operations.right, operations.wrong)
    }

    #[test]
    fn a_call_without_a_record_was_not_recognized() {
        let call = json!({ "type": "tool_call", "decision": "allow" });
        assert_eq!(counted(Some(&call)), (1, 0));
        let list = json!({ "type": "message", "decision": "allow" });
        assert_eq!(counted(Some(&list)), (0, 1));
        assert_eq!(counted(None), (0, 1));
    }
}
