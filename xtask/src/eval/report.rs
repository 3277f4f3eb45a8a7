//! The figures for people, and for programs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::case::{Detector, Set};
use super::score::{Row, Score, Share, Surprise};

/// Prints everything; of misses and false alarms at most `most` of each detector.
pub(super) fn print(score: &Score, rows: &[Row], most: usize) {
    for (set, title) in [(Set::Own, "made here"), (Set::Corpus, "given")] {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.set == set).collect();
        if !rows.is_empty() {
            println!("\nCases {title}, and false alarms with ordinary files of this machine\n");
            table(&rows);
        }
    }
    sources(score);
    let (missed, alarms): (Vec<_>, Vec<_>) = score.surprises.iter().partition(|one| one.missed);
    list("Missed", &missed, most);
    list("False alarms", &alarms, most);
    for fault in score.refused.iter().take(most) {
        println!("refused: {fault}");
    }
}

fn table(rows: &[&Row]) {
    println!(
        "| detector | tier | found | recall (95 %) | macro of sources | false alarms | rate (95 %) | precision | aim | met |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for row in rows {
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.detector.name(),
            row.tier,
            count(row.found),
            with_interval(row.found, row.interval, 3),
            row.macro_recall.map_or(String::new(), |rate| format!(
                "{rate:.3} of {}",
                row.sources
            )),
            count(row.alarms),
            with_interval(row.alarms, row.alarms_interval, 4),
            row.precision
                .map_or(String::new(), |rate| format!("{rate:.3}")),
            aim(row),
            match row.is_met {
                Some(true) => "yes",
                Some(false) => "no",
                None => "",
            },
        );
    }
}

/// Returns a share as numbers.
pub(super) fn count(share: Share) -> String {
    if share.of == 0 {
        return String::new();
    }
    format!("{} of {}", share.hits, share.of)
}

/// Returns a share as a fraction with its interval.
pub(super) fn with_interval(share: Share, interval: Option<(f64, f64)>, digits: usize) -> String {
    match (share.rate(), interval) {
        (Some(rate), Some((low, high))) => {
            format!("{rate:.digits$} ({low:.digits$}-{high:.digits$})")
        }
        _ => String::new(),
    }
}

fn aim(row: &Row) -> String {
    match row.aim {
        Some(aim) => match aim.recall {
            Some(recall) => format!(">= {recall} at <= {}", aim.alarms),
            None => format!("<= {}", aim.alarms),
        },
        None => "reported".to_owned(),
    }
}

fn sources(score: &Score) {
    println!("\nBy source, warn / block\n");
    println!("| detector | source | found | false alarms |\n|---|---|---|---|");
    for ((set, detector, source), tally) in &score.tallies {
        let [found, found_block] = tally.found;
        let [alarms, alarms_block] = tally.alarms;
        let pair = |warn: Share, block: Share| match warn.of {
            0 => String::new(),
            of => format!("{} / {} of {of}", warn.hits, block.hits),
        };
        let own = if *set == Set::Own { "own: " } else { "" };
        let (found, alarms) = (pair(found, found_block), pair(alarms, alarms_block));
        println!(
            "| {} | {own}{source} | {found} | {alarms} |",
            detector.name()
        );
    }
}

/// Ids and what was seen, never what a case says.
fn list(title: &str, surprises: &[&Surprise], most: usize) {
    let mut by_detector: BTreeMap<(Detector, Set), Vec<&Surprise>> = BTreeMap::new();
    for one in surprises {
        by_detector
            .entry((one.detector, one.set))
            .or_default()
            .push(one);
    }
    if most > 0 && !by_detector.is_empty() {
        println!("\n{title}, at the warn tier");
    }
    for ((detector, _), all) in by_detector.iter().filter(|_| most > 0) {
        println!("\n{}: {}", detector.name(), all.len());
        for one in all.iter().take(most) {
            println!("  {} [{}] {}", one.id, one.source, one.seen.join(" "));
        }
        if all.len() > most {
            println!("  and {} more", all.len() - most);
        }
    }
}

/// Everything as JSON.
pub(super) fn json(score: &Score, rows: &[Row]) -> Value {
    let sources = score
        .tallies
        .iter()
        .map(|((set, detector, source), tally)| {
            json!({
                "set": set, "detector": detector, "source": source,
                "found": tally.found, "false_alarms": tally.alarms,
            })
        });
    json!({
        "rows": rows,
        "sources": sources.collect::<Vec<_>>(),
        "surprises": score.surprises,
        "refused": score.refused,
    })
}
