//! What came through, and what was taken for an attack, as SARIF 2.1.0.

use mcpproxy_adversary::{Finished, Outcome, Replayed, Report, TwinOutcome};
use serde_json::{Value, json};

use crate::commands::scan::SARIF_SCHEMA;

/// Makes a log of one run.
pub(super) fn log(report: &Report) -> Value {
    let mut results: Vec<Value> = report.scenarios.iter().flat_map(results).collect();
    let otherwise = report.incidents.iter().filter(|one| !one.as_told);
    results.extend(otherwise.map(incident));
    let rules = [
        ("missed", "an attack came through unnoticed"),
        ("detected", "an attack came through with a warning"),
        ("false-alarm", "a harmless call was stopped or asked about"),
        (
            "incident",
            "a published incident came out otherwise than its verdict says",
        ),
    ];
    let rules = rules.map(|(id, text)| json!({ "id": id, "shortDescription": { "text": text } }));
    let driver = json!({
        "name": "mcpproxy adversary",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "informationUri": env!("CARGO_PKG_REPOSITORY"),
        "rules": rules,
    });
    json!({
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver },
            "invocations": [{ "executionSuccessful": true }],
            "results": results,
            "properties": report.metrics,
        }],
    })
}

fn incident(one: &Replayed) -> Value {
    let (number, name, verdict, outcome) = (one.number, &one.name, one.verdict, one.outcome);
    let verdict = super::told(verdict);
    let text = format!("incident {number}, {name}: told as {verdict}, came out as {outcome:?}");
    json!({
        "ruleId": "incident",
        "level": "error",
        "message": { "text": text },
        "locations": [{ "logicalLocations": [{
            "name": one.case, "fullyQualifiedName": format!("incidents/{}", one.case),
            "kind": "scenario",
        }] }],
        "properties": { "mode": one.mode, "era": one.era },
    })
}

fn results(one: &Finished) -> Vec<Value> {
    let harm = one.harm.as_deref().unwrap_or_default();
    let attack = match one.outcome {
        Outcome::Missed => Some(("missed", "error", harm)),
        Outcome::Detected => Some(("detected", "warning", harm)),
        Outcome::Stopped => None,
    };
    let alarm = one.twin.filter(|twin| *twin == TwinOutcome::FalseAlarm);
    let alarm = alarm.map(|_| ("false-alarm", "warning", "the twin did not pass"));
    let told = attack.into_iter().chain(alarm);
    let told = told.map(|(rule, level, text)| {
        let name = format!("{}/{}", one.scenario, one.case);
        json!({
            "ruleId": rule,
            "level": level,
            "message": { "text": format!("{}: {text}", one.title) },
            "locations": [{ "logicalLocations": [{
                "name": one.case, "fullyQualifiedName": name, "kind": "scenario",
            }] }],
            "properties": { "mode": one.mode, "era": one.era, "rules": one.evidence.rules },
        })
    });
    told.collect()
}
