//! Runs the examples that the rules carry, each over the whole set.

use serde::Serialize;

use super::Secrets;
use crate::{Detection, Scan};

/// An example that did not do what its rule promises.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The rule.
    pub rule: &'static str,
    /// The example, as it stands in the rule file.
    pub example: &'static str,
    /// Whether the rule should have fired.
    pub should_fire: bool,
    /// The rules that fired instead.
    pub fired: Vec<String>,
}

/// Runs every example of every rule and returns those that fail.
pub fn check(secrets: &Secrets) -> Vec<Failure> {
    let mut failures = Vec::new();
    for rule in secrets.rules() {
        let wanted = rule.positives().zip(&rule.yes).map(|pair| (pair, true));
        let unwanted = rule.negatives().zip(&rule.no).map(|pair| (pair, false));
        for ((text, example), should_fire) in wanted.chain(unwanted) {
            let mut seen: Vec<Detection> = Vec::new();
            secrets.scan(&text, &mut seen);
            if seen.iter().any(|detection| detection.rule == rule.id) != should_fire {
                let fired = seen
                    .into_iter()
                    .map(|detection| detection.rule.into_owned())
                    .collect();
                failures.push(Failure {
                    rule: rule.id,
                    example,
                    should_fire,
                    fired,
                });
            }
        }
    }
    failures
}
