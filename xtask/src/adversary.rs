//! `cargo xtask adversary`: writes the tables of incidents and standards from what the scenarios
//! say of themselves, and with `--report` the figures of a run. Tidy fails while the first two are
//! old; the figures are compared by a test of the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use mcpproxy_adversary::standards::{Standards, Status, tags};
use mcpproxy_adversary::{Control, Incident, Library, Verdict};
use serde_json::Value;

use crate::{Outcome, workspace};

/// The table of published incidents.
pub(crate) const INCIDENTS: &str = "docs/incidents.md";
/// The table of standards.
pub(crate) const STANDARDS: &str = "docs/standards.md";
/// The figures.
const FIGURES: &str = "docs/adversary.md";
/// The page that quotes them.
const README: &str = "README.md";
const FROM: &str = "<!-- written by `cargo xtask adversary` -->\n";
const TO: &str = "<!-- end of what is written -->";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Also write the figures, from what `mcpproxy adversary run --all --json` printed
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Writes the tables.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let root = workspace::root()?;
    let library = Library::embedded()?;
    let mut written = vec![
        (INCIDENTS, incidents(&library)?),
        (STANDARDS, standards(&library)?),
    ];
    if let Some(file) = &arguments.report {
        let report = fs::read(file).with_context(|| format!("cannot read `{}`", file.display()))?;
        let report = serde_json::from_slice(&report).context("the report is no JSON")?;
        written.push((FIGURES, figures(&report)?));
        written.push((README, quoted(&report)));
    }
    for (document, table) in written {
        let path = root.join(document);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read `{document}`"))?;
        let Some(text) = replaced(&text, &table) else {
            bail!("`{document}` has no place for the table");
        };
        fs::write(path, text)?;
    }
    Ok(Outcome::Clean)
}

/// Says what is wrong with a document that should hold a table, if anything is.
pub(crate) fn check(document: &str, text: &str) -> Option<String> {
    let table =
        Library::embedded()
            .map_err(anyhow::Error::from)
            .and_then(|library| match document {
                INCIDENTS => incidents(&library),
                _ => standards(&library),
            });
    match table.map(|table| replaced(text, &table)) {
        Ok(Some(written)) if written == text => None,
        Ok(Some(_)) => Some("the table is old: run `cargo xtask adversary`".to_owned()),
        Ok(None) => Some("there is no place for the table".to_owned()),
        Err(fault) => Some(fault.to_string()),
    }
}

fn replaced(document: &str, table: &str) -> Option<String> {
    let (before, rest) = document.split_once(FROM)?;
    let (_, after) = rest.split_once(TO)?;
    Some([before, FROM, table, TO, after].concat())
}

fn incidents(library: &Library) -> Result<String> {
    let mut table = "\n| | incident | verdict | why | replay | with the defence off |\n|---|---|---|---|---|---|\n".to_owned();
    let mut rows: Vec<(Incident, String, Control)> = Vec::new();
    for (scenario, case) in library.cases() {
        if let Some(incident) = &case.incident {
            let replay = format!("`{}/{}`", scenario.name, case.id);
            let control = case.control.unwrap_or(scenario.control);
            rows.push((incident.clone(), replay, control));
        }
    }
    rows.sort_by_key(|(incident, ..)| incident.number);
    for (incident, replay, control) in rows {
        let verdict = match incident.verdict {
            Verdict::Stopped => "stopped",
            Verdict::Limited => "limited",
            Verdict::Open => "not stopped yet",
            Verdict::NotOurs => "not ours",
        };
        let control = match (control, incident.verdict) {
            (_, Verdict::NotOurs) => "as it is".to_owned(),
            (Control::Off, _) => "harm, with `security.enabled: false`".to_owned(),
            (Control::Direct, _) => "harm, without a gateway".to_owned(),
            (Control::Default, _) => "harm, with the default configuration".to_owned(),
            (Control::Named, _) => {
                "harm, with the names in `allowed_hosts` and `allowed_origins`".to_owned()
            }
            (Control::Known, _) => "harm, with that key as `api_key`".to_owned(),
            (Control::Owner, _) => "harm, with the owner's key".to_owned(),
            (Control::None, _) => {
                let why = incident.uncontrolled.unwrap_or_default();
                format!("not played: {why}")
            }
        };
        let Incident {
            number, name, why, ..
        } = incident;
        writeln!(
            table,
            "| {number} | {name} | {verdict} | {why} | {replay} | {control} |"
        )?;
    }
    table.push('\n');
    Ok(table)
}

fn standards(library: &Library) -> Result<String> {
    let tags = tags(library);
    let mut text = "\n".to_owned();
    for standard in Standards::embedded()?.standards {
        writeln!(text, "## {}\n", standard.name)?;
        writeln!(
            text,
            "| id | about | | missing | shown by |\n|---|---|---|---|---|"
        )?;
        for entry in &standard.entries {
            let status = match entry.status {
                Status::Covered => "covered",
                Status::Partly => "partly",
                Status::Not => "not",
            };
            let tagged = tags.get(&entry.id).into_iter().flatten();
            let tagged = tagged.map(|name| format!("scenario `{name}`"));
            let named = entry.tests.iter().map(|name| format!("`{name}`"));
            let shown: Vec<String> = tagged.chain(named).collect();
            let (id, title, remark) = (&entry.id, &entry.title, &entry.remark);
            let shown = shown.join(", ");
            writeln!(text, "| {id} | {title} | {status} | {remark} | {shown} |")?;
        }
        text.push('\n');
    }
    Ok(text)
}

/// Returns the names of the tests that the table of standards refers to.
pub(crate) fn named_tests() -> Vec<String> {
    let standards = Standards::embedded().unwrap_or_default().standards;
    let entries = standards.into_iter().flat_map(|one| one.entries);
    entries.flat_map(|entry| entry.tests).collect()
}

fn figures(report: &Value) -> Result<String> {
    let mut text = "\n| figure | |\n|---|---|\n".to_owned();
    let rates = report.as_object().into_iter().flatten();
    for (name, value) in
        rates.filter(|(name, value)| !value.is_array() && *name != "avg_detection_time_ms")
    {
        match value.as_f64() {
            Some(rate) => writeln!(text, "| `{name}` | {rate:.4} |")?,
            None if value.is_null() => writeln!(text, "| `{name}` | - |")?,
            None => writeln!(text, "| `{name}` | {value} |")?,
        }
    }
    text.push_str(
        "\n| category | attacks | stopped | of these silently | detected | missed | twins | false alarms |\n",
    );
    text.push_str("|---|---|---|---|---|---|---|---|\n");
    for one in list(report, "categories") {
        let cell = |key: &str| one.get(key).map(ToString::to_string).unwrap_or_default();
        let keys = [
            "name",
            "attacks",
            "stopped",
            "stopped_silently",
            "detected",
            "missed",
            "twins",
            "false_alarms",
        ];
        let cells: Vec<String> = keys.iter().map(|key| cell(key).replace('"', "")).collect();
        writeln!(text, "| {} |", cells.join(" | "))?;
    }
    text.push_str("\n## What comes through\n\n");
    for (what, ways) in through(report) {
        writeln!(text, "- {what} ({})", ways.join(", "))?;
    }
    for one in list(report, "unrecognized") {
        writeln!(
            text,
            "- not recognized: {}",
            one.as_str().unwrap_or_default()
        )?;
    }
    text.push_str("\n## What is stopped silently\n\n");
    for (scenario, cases) in silently(report) {
        let cases: Vec<String> = cases.iter().map(|case| format!("`{case}`")).collect();
        writeln!(text, "- {scenario}: {}", cases.join(", "))?;
    }
    text.push('\n');
    Ok(text)
}

/// Returns the cases that were stopped with no warning on record in some mode or era, by their scenarios.
fn silently(report: &Value) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut silently: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for one in list(report, "scenarios") {
        let word = |key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default();
        if word("outcome") == "stopped" && one.get("silent") == Some(&Value::Bool(true)) {
            let cases = silently.entry(word("scenario")).or_default();
            cases.insert(word("case"));
        }
    }
    silently
}

/// Returns the sum of all categories, in words.
fn quoted(report: &Value) -> String {
    let categories = list(report, "categories");
    let sum = |key: &str| -> u64 {
        let counts = categories.iter().filter_map(|one| one.get(key)?.as_u64());
        counts.sum()
    };
    let (attacks, stopped, silent, told, missed) = (
        grouped(sum("attacks")),
        grouped(sum("stopped")),
        grouped(sum("stopped_silently")),
        grouped(sum("detected")),
        grouped(sum("missed")),
    );
    let (twins, alarms) = (grouped(sum("twins")), grouped(sum("false_alarms")));
    let kinds = categories.len();
    format!(
        "{attacks} attacks in {kinds} categories, all modes and eras of the run together: {stopped} \
         stopped ({silent} of them with no warning on record), {told} only told, {missed} missed. {twins} twins: {alarms} false alarms.\n"
    )
}

/// Writes a number with its thousands apart.
fn grouped(number: u64) -> String {
    match number {
        1000.. => format!("{},{:03}", grouped(number / 1000), number % 1000),
        _ => number.to_string(),
    }
}

/// Returns what came through, and in which modes and eras.
fn through(report: &Value) -> BTreeMap<String, Vec<String>> {
    let mut through: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let scenarios = list(report, "scenarios").iter();
    for one in scenarios.chain(list(report, "incidents")) {
        let word = |key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default();
        let scenario = one.get("scenario").and_then(Value::as_str);
        let scenario = scenario.unwrap_or("incidents");
        let outcome = match word("outcome") {
            "missed" => Some("missed"),
            "detected" => Some("only told"),
            _ => None,
        };
        let alarm = (word("twin") == "false_alarm").then_some("false alarm");
        for kind in outcome.into_iter().chain(alarm) {
            let what = format!("{kind}: `{scenario}/{}`", word("case"));
            let way = format!("{} {}", word("mode"), word("era"));
            through.entry(what).or_default().push(way);
        }
    }
    through
}

fn list<'a>(report: &'a Value, key: &str) -> &'a [Value] {
    let list = report.get(key).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_quoted_is_the_sum_of_the_categories() {
        let category = |attacks: u64, stopped: u64, missed: u64| {
            json!({
                "name": "a", "attacks": attacks, "stopped": stopped, "missed": missed,
                "stopped_silently": stopped / 10,
                "detected": attacks - stopped - missed, "twins": attacks, "false_alarms": 1,
            })
        };
        let report =
            json!({ "categories": [category(1_234_000, 1_000_000, 3), category(5, 5, 0)] });
        let expect = "1,234,005 attacks in 2 categories, all modes and eras of the run together: \
            1,000,005 stopped (100,000 of them with no warning on record), 233,997 only told, 3 missed. 1,234,005 twins: 2 false alarms.\n";
        assert_eq!(quoted(&report), expect);
    }

    #[test]
    fn what_is_stopped_without_a_word_is_listed() {
        let one = |case: &str, outcome: &str, silent: bool| json!({ "scenario": "a", "case": case, "outcome": outcome, "silent": silent });
        let played = [
            one("x", "stopped", true),
            one("x", "stopped", true),
            one("y", "stopped", false),
            one("z", "missed", true),
        ];
        let table = figures(&json!({ "scenarios": played })).unwrap();
        assert!(table.contains("silently\n\n- a: `x`\n"), "{table}");
    }

    #[test]
    fn incidents_that_come_through_are_listed_too() {
        let one = |case: &str, outcome: &str| json!({ "case": case, "outcome": outcome, "mode": "proxy", "era": "legacy" });
        let played = [
            one("x", "stopped"),
            one("y", "missed"),
            one("z", "detected"),
        ];
        let table = figures(&json!({ "incidents": played })).unwrap();
        let expect =
            "- missed: `incidents/y` (proxy legacy)\n- only told: `incidents/z` (proxy legacy)\n";
        assert!(table.contains(expect), "{table}");
    }

    #[test]
    fn what_was_not_measured_has_no_figure() {
        let table = figures(&json!({ "a_rate": null, "b_rate": 0.5 })).unwrap();
        assert!(
            table.contains("| `a_rate` | - |\n| `b_rate` | 0.5000 |"),
            "{table}"
        );
    }
}
