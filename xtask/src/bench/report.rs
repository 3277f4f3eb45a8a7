//! Gathers the samples, takes medians over the rounds and prints the tables.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use super::contestant::{Contestant, Start};
use super::measure::{Cell, Sample};
use super::stats::median;
use super::targets::{self, Target};

/// Everything that was measured.
#[derive(Default, Debug)]
pub(super) struct Report {
    samples: BTreeMap<(usize, u32, Contestant), Vec<Sample>>,
    starts: BTreeMap<Contestant, Vec<Start>>,
    absences: BTreeMap<Contestant, String>,
}

/// One cell of one contestant: medians over the rounds, sums of what went wrong.
#[derive(Serialize, Clone, Debug)]
pub(super) struct Row {
    #[serde(skip)]
    pub(super) contestant: Contestant,
    name: &'static str,
    pub(super) payload: usize,
    pub(super) connections: u32,
    pub(super) per_second: f64,
    pub(super) p50_us: f64,
    p95_us: f64,
    p99_us: f64,
    pub(super) cpu_us: f64,
    pub(super) resident_mb: f64,
    wrong: u32,
    faults: u32,
}

/// How one contestant starts: medians over the rounds.
#[derive(Serialize, Clone, Debug)]
pub(super) struct StartRow {
    #[serde(skip)]
    pub(super) contestant: Contestant,
    name: &'static str,
    very_first_ms: f64,
    pub(super) first_answer_ms: f64,
    idle_mb: f64,
}

/// What the run says.
#[derive(Serialize, Debug)]
pub(super) struct Summary {
    rows: Vec<Row>,
    starts: Vec<StartRow>,
    targets: Vec<Target>,
    absent: Vec<String>,
    #[serde(skip)]
    ours_absent: bool,
}

impl Report {
    /// Adds one cell, and says whether the contestant still answers.
    pub(super) fn add_measured(
        &mut self,
        contestant: Contestant,
        cell: Cell,
        measured: Result<Sample>,
    ) -> bool {
        let place = format!("{} B, {} connections", cell.payload, cell.connections);
        match measured {
            Ok(sample) if sample.load.calls > 0 => {
                let key = (cell.payload, cell.connections, contestant);
                self.samples.entry(key).or_default().push(sample);
                true
            }
            Ok(_) => {
                self.add_absence(contestant, &format!("{place}: not one call was answered"));
                false
            }
            Err(error) => {
                self.add_absence(contestant, &format!("{place}: {error:#}"));
                false
            }
        }
    }

    /// Adds how a contestant started.
    pub(super) fn add_start(&mut self, contestant: Contestant, start: Start) {
        self.starts.entry(contestant).or_default().push(start);
    }

    /// Notes that a contestant was not measured, or not to the end.
    pub(super) fn add_absence(&mut self, contestant: Contestant, reason: &str) {
        println!("{}: {reason}", contestant.name());
        self.absences.insert(contestant, reason.to_owned());
    }

    /// Takes the medians and judges them by the targets.
    pub(super) fn summarize(&self) -> Summary {
        let rows: Vec<Row> = self
            .samples
            .iter()
            .map(|(key, samples)| row(*key, samples))
            .collect();
        let starts: Vec<StartRow> = self
            .starts
            .iter()
            .map(|(contestant, starts)| start_row(*contestant, starts))
            .collect();
        let targets = targets::judge(&rows, &starts);
        let absent = self
            .absences
            .iter()
            .map(|(c, reason)| format!("{}: {reason}", c.name()));
        let ours_absent = self.absences.keys().any(|contestant| contestant.is_ours());
        Summary {
            rows,
            starts,
            targets,
            absent: absent.collect(),
            ours_absent,
        }
    }
}

fn row((payload, connections, contestant): (usize, u32, Contestant), samples: &[Sample]) -> Row {
    let of = |value: &dyn Fn(&Sample) -> f64| {
        median(&samples.iter().map(value).collect::<Vec<f64>>()).unwrap_or_default()
    };
    Row {
        contestant,
        name: contestant.name(),
        payload,
        connections,
        per_second: of(&|s| f64::from(s.load.calls) / s.load.seconds),
        p50_us: of(&|s| s.load.p50_us),
        p95_us: of(&|s| s.load.p95_us),
        p99_us: of(&|s| s.load.p99_us),
        cpu_us: of(&|s| s.cpu_us),
        resident_mb: of(&|s| f64::from(s.resident_kb) / 1024.0),
        wrong: samples.iter().map(|s| s.load.wrong).sum(),
        faults: samples.iter().map(|s| s.load.faults).sum(),
    }
}

fn start_row(contestant: Contestant, starts: &[Start]) -> StartRow {
    let of = |value: &dyn Fn(&Start) -> f64| {
        median(&starts.iter().map(value).collect::<Vec<f64>>()).unwrap_or_default()
    };
    StartRow {
        contestant,
        name: contestant.name(),
        very_first_ms: of(&|s| s.very_first.as_secs_f64() * 1e3),
        first_answer_ms: of(&|s| s.first_answer.as_secs_f64() * 1e3),
        idle_mb: of(&|s| f64::from(s.idle_kb) / 1024.0),
    }
}

impl Summary {
    /// Says whether every contestant of ours ran and answered every question rightly.
    pub(super) fn is_sound(&self) -> bool {
        let faultless = |row: &Row| !row.contestant.is_ours() || row.wrong + row.faults == 0;
        !self.ours_absent && self.rows.iter().all(faultless)
    }

    /// Prints the tables.
    pub(super) fn print(&self) {
        let mut cell = None;
        for row in &self.rows {
            if cell.replace((row.payload, row.connections)) != Some((row.payload, row.connections))
            {
                print_heading(row);
            }
            self.print_row(row);
        }
        println!(
            "\n{:<26}{:>16}{:>16}{:>12}",
            "start", "first answer ms", "in a new folder", "idle MB"
        );
        for start in &self.starts {
            println!(
                "{:<26}{:>16.1}{:>16.1}{:>12.1}",
                start.name, start.first_answer_ms, start.very_first_ms, start.idle_mb
            );
        }
        println!("\n{:<62}{:>10}{:>10}", "target", "aim", "seen");
        for target in &self.targets {
            println!("{target}");
        }
        let wrong: u32 = self.rows.iter().map(|row| row.wrong).sum();
        let faults: u32 = self.rows.iter().map(|row| row.faults).sum();
        println!("\nevery answer was checked: {wrong} wrong, {faults} refused or broken");
        for absent in &self.absent {
            println!("not measured: {absent}");
        }
    }

    fn print_row(&self, row: &Row) {
        println!(
            "{:<26}{:>9.0}{:>8}{:>9}{:>9.0}{:>9.0}{:>9.0}{:>8.1}{:>8.1}{:>7}{:>7}",
            row.name,
            row.per_second,
            self.ratio(row, Contestant::Direct),
            self.ratio(row, Contestant::Parsing),
            row.p50_us,
            row.p95_us,
            row.p99_us,
            row.cpu_us,
            row.resident_mb,
            row.wrong,
            row.faults
        );
    }

    fn ratio(&self, row: &Row, base: Contestant) -> String {
        let base = targets::find(&self.rows, base, row.payload, row.connections);
        base.map_or_else(
            || "-".to_owned(),
            |base| format!("{:.2}", row.per_second / base.per_second),
        )
    }
}

fn print_heading(row: &Row) {
    let title = format!("{} B, {} connections", row.payload, row.connections);
    println!(
        "\n{title:<26}{:>9}{:>8}{:>9}{:>9}{:>9}{:>9}{:>8}{:>8}{:>7}{:>7}",
        "calls/s",
        "/direct",
        "/parsing",
        "p50 us",
        "p95 us",
        "p99 us",
        "CPU us",
        "MB",
        "wrong",
        "faults"
    );
}
