//! The figures for people, and for programs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::score::{Limit, Outcome, Row, Score};
use super::session::Wanted;
use crate::eval::report::{count, with_interval};
use crate::eval::score::Share;

/// Prints everything; of misses and false alarms at most `most` of each transformation or kind.
pub(super) fn print(score: &Score, rows: &[Row], sets: &[&'static str], most: usize) {
    aims(rows);
    for (title, named) in [("named in the design", true), ("named nowhere", false)] {
        let of = |one: &Outcome| one.is_leak() && one.meta.named == named;
        transformations(score, sets, title, of);
    }
    let leak = |one: &Outcome| one.is_leak() && one.meta.set != "AgentDojo";
    views(score, sets, "kind of data", leak, |one| &one.meta.data);
    views(score, sets, "carrier", leak, |one| &one.meta.carrier);
    views(score, sets, "position", leak, |one| &one.meta.position);
    evidence(score);
    harmless(score);
    times(score);
    surprises(score, "Missed", most, |one| {
        one.is_leak() && !one.is_found()
    });
    surprises(score, "Stopped for nothing", most, |one| {
        !one.is_leak() && one.is_found()
    });
}

fn aims(rows: &[Row]) {
    println!("\n| set | what | so many | share (95 %) | aim | met |\n|---|---|---|---|---|---|");
    for row in rows {
        let aim = match row.limit {
            Limit::AtLeast(least) => format!(">= {least}"),
            Limit::Below(most) => format!("< {most}"),
        };
        println!(
            "| {} | {} | {} | {} | {aim} | {} |",
            row.set,
            row.name,
            count(row.share),
            share(row.share),
            if row.is_met { "yes" } else { "no" },
        );
    }
}

fn share(share: Share) -> String {
    with_interval(share, share.interval(), 3)
}

/// Found by transformation, each set in a column, and what left before the stop.
fn transformations(score: &Score, sets: &[&str], title: &str, of: impl Fn(&Outcome) -> bool) {
    let key = |one: &'_ Outcome| of(one).then(|| (one.meta.group.clone(), one.meta.set.clone()));
    let found = score.by(key, Outcome::is_found);
    let denied = score.by(key, |one| one.wanted == Wanted::Deny);
    let groups = groups(score, &of);
    println!("\nTransformations {title}: found, of these blocked outright\n");
    println!(
        "| transformation | {} | left before the stop |",
        sets.join(" | ")
    );
    println!("|---|{}---|", "---|".repeat(sets.len()));
    for group in groups {
        let cells = sets.iter().map(|set| {
            let key = (group.clone(), (*set).to_owned());
            let blocked = denied.get(&key).map_or(0, |share| share.hits);
            let found = found.get(&key).copied().unwrap_or_default();
            match found.of {
                0 => String::new(),
                _ => format!("{}, {blocked}: {}", count(found), share(found)),
            }
        });
        let cells: Vec<String> = cells.collect();
        println!(
            "| {group} | {} | {} |",
            cells.join(" | "),
            left(score, &group)
        );
    }
}

/// The groups in the order in which they were asked.
fn groups(score: &Score, of: &impl Fn(&Outcome) -> bool) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    for one in score.outcomes.iter().filter(|one| of(one)) {
        if !groups.contains(&one.meta.group) {
            groups.push(one.meta.group.clone());
        }
    }
    groups
}

/// The mean share of a leak in several calls that had left when it was stopped.
fn left(score: &Score, group: &str) -> String {
    let several = |one: &&Outcome| one.meta.group == group && one.meta.leaks.len() > 1;
    let found = score
        .outcomes
        .iter()
        .filter(several)
        .filter(|one| one.is_found());
    let left: Vec<f64> = found.map(|one| one.left).collect();
    let number = f64::from(u32::try_from(left.len()).unwrap_or(1));
    if left.is_empty() {
        return String::new();
    }
    format!("{:.2}", left.iter().sum::<f64>() / number)
}

fn views(
    score: &Score,
    sets: &[&str],
    title: &str,
    of: impl Fn(&Outcome) -> bool,
    field: impl Fn(&Outcome) -> &String,
) {
    let key = |one: &'_ Outcome| {
        let wanted = of(one) && !field(one).is_empty();
        wanted.then(|| (field(one).clone(), one.meta.named, one.meta.set.clone()))
    };
    let found = score.by(key, Outcome::is_found);
    let mut lines: BTreeMap<&String, Vec<String>> = BTreeMap::new();
    for (name, _, _) in found.keys() {
        lines.entry(name).or_default();
    }
    let sets: Vec<&str> = sets
        .iter()
        .copied()
        .filter(|set| *set != "AgentDojo")
        .collect();
    for (name, cells) in &mut lines {
        for set in &sets {
            for named in [true, false] {
                let key = ((*name).clone(), named, (*set).to_owned());
                let share = found.get(&key).copied().unwrap_or_default();
                cells.push(with_interval(share, share.interval(), 2));
            }
        }
    }
    let heads = sets
        .iter()
        .map(|set| format!("{set}, named | {set}, named nowhere"));
    let heads: Vec<String> = heads.collect();
    println!("\nFound by {title}\n\n| {title} | {} |", heads.join(" | "));
    println!("|---|{}", "---|".repeat(2 * sets.len()));
    for (name, cells) in lines {
        println!("| {name} | {} |", cells.join(" | "));
    }
}

fn evidence(score: &Score) {
    println!("\nWhat a stop rests on, and what nothing rests on\n");
    println!("| evidence | leaks, named | leaks, named nowhere | benign |\n|---|---|---|---|");
    let mut lines: BTreeMap<&str, [u32; 3]> = BTreeMap::new();
    for one in &score.outcomes {
        let [named, foreign, benign] = lines.entry(&one.evidence).or_default();
        let cell = match (one.is_leak(), one.meta.named) {
            (true, true) => named,
            (true, false) => foreign,
            (false, _) => benign,
        };
        *cell += 1;
    }
    for (evidence, [named, foreign, benign]) in lines {
        let evidence = if evidence == "missed" {
            "none"
        } else {
            evidence
        };
        println!("| {evidence} | {named} | {foreign} | {benign} |");
    }
}

fn harmless(score: &Score) {
    println!("\nHarmless conversations: asked, blocked\n");
    println!("| set | kind | asked | blocked |\n|---|---|---|---|");
    let key =
        |one: &'_ Outcome| (!one.is_leak()).then(|| (one.meta.set.clone(), one.meta.group.clone()));
    let asked = score.by(key, |one| one.is_asked);
    let blocked = score.by(key, |one| one.wanted == Wanted::Deny);
    for ((key, asked), blocked) in asked.iter().zip(blocked.values()) {
        println!(
            "| {} | {} | {} | {} |",
            key.0,
            key.1,
            count(*asked),
            count(*blocked)
        );
    }
}

/// Times as ratios to parsing the same JSON in the same run, since machines differ.
fn times(score: &Score) {
    let sum = |pick: fn(&(Duration, Duration)) -> Duration| -> Duration {
        score.times.iter().map(pick).sum()
    };
    let (judging, parsing) = (sum(|(judging, _)| *judging), sum(|(_, parsing)| *parsing));
    let mut each: Vec<Duration> = score.times.iter().map(|(judging, _)| *judging).collect();
    each.sort_unstable();
    let at = |percent: usize| {
        each.get(each.len() * percent / 100)
            .copied()
            .unwrap_or_default()
    };
    println!(
        "\ntime per call: p50 {:.1} us, p95 {:.1} us; all calls together {:.1} times as long as parsing their JSON",
        at(50).as_secs_f64() * 1e6,
        at(95).as_secs_f64() * 1e6,
        judging.as_secs_f64() / parsing.as_secs_f64().max(1e-9),
    );
}

/// What should have come out otherwise; ids and what was said, never what a conversation holds.
fn surprises(score: &Score, title: &str, most: usize, of: impl Fn(&Outcome) -> bool) {
    if most == 0 {
        return;
    }
    println!("\n{title}");
    for group in groups(score, &of) {
        let all = score
            .outcomes
            .iter()
            .filter(|one| of(one) && one.meta.group == group);
        let all: Vec<&Outcome> = all.collect();
        println!("\n{group}: {}", all.len());
        for one in all.iter().take(most) {
            let Outcome { id, meta, said, .. } = one;
            let mut said = said.clone();
            said.dedup();
            println!(
                "  {id} [{} {} {}] {}",
                meta.data,
                meta.carrier,
                meta.position,
                said.join(" / ")
            );
        }
    }
}

/// The lines with aims, and every conversation that came out otherwise, as JSON.
pub(super) fn json(score: &Score, rows: &[Row]) -> Value {
    let wrong = score
        .outcomes
        .iter()
        .filter(|one| one.is_leak() != one.is_found());
    let wrong = wrong.map(|one| json!({ "id": one.id, "meta": one.meta, "said": one.said }));
    json!({ "rows": rows, "surprises": wrong.collect::<Vec<_>>() })
}
