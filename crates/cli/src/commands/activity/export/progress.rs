//! What a person at a terminal sees while records are written: how many there are, and how far back they
//! reach.
//!
//! Absent on purpose: a share of what there is where no start was asked for. How far back the log reaches
//! would have to be asked for first.

use std::io::{self, IsTerminal as _, Write as _};

use mcpproxy_core::{Clock as _, SystemClock, Wall};
use serde_json::Value;

use super::rows;
use crate::args::{ActivityExport, ExportFormat};

/// Where the time of a record stands in a row.
const TIME: usize = 2;

/// How far it has come.
pub(super) struct Progress {
    shown: bool,
    format: ExportFormat,
    /// The stretch of time that is asked for, where its start is known.
    stretch: Option<[u64; 2]>,
}

impl Progress {
    pub(super) fn new(export: &ActivityExport) -> Self {
        let time = |given: &Option<String>| given.as_deref().and_then(Wall::from_rfc3339);
        let now = SystemClock::start().wall();
        let until = time(&export.filter.end_time).map_or(now, |until| until.min(now));
        let from = time(&export.filter.start_time);
        Self {
            shown: io::stderr().is_terminal(),
            format: export.format,
            stretch: from.map(|from| [from.0, until.0]),
        }
    }

    /// Shows how far it is once a part is written, with which there are so many records.
    pub(super) fn show(&self, part: &str, records: u64) {
        if self.shown {
            drop(write!(io::stderr(), "\r\x1b[K{}", self.line(part, records)));
        }
    }

    fn line(&self, part: &str, records: u64) -> String {
        match (self.stretch, last_time(part, self.format)) {
            (Some([from, until]), Some(at)) => {
                format!("{} {records} records", bar(from, at.0, until))
            }
            (None, Some(at)) => format!("{records} records, back to {}", at.rfc3339()),
            (_, None) => format!("{records} records"),
        }
    }

    pub(super) fn end(&self) {
        if self.shown {
            drop(write!(io::stderr(), "\r\x1b[K"));
        }
    }
}

/// Returns when the last record of a part was made.
fn last_time(part: &str, format: ExportFormat) -> Option<Wall> {
    let line = || part.lines().next_back();
    let of = |name: &str| {
        let record: Value = serde_json::from_str(line()?).ok()?;
        record.get(name).cloned()
    };
    match format {
        ExportFormat::Json | ExportFormat::Ndjson => Wall::from_rfc3339(of("timestamp")?.as_str()?),
        ExportFormat::Ocsf => of("time")?.as_u64().map(Wall),
        ExportFormat::Csv => Wall::from_rfc3339(rows(part).last()?.split(',').nth(TIME)?),
        ExportFormat::Cef => {
            let (_, rest) = line()?.split_once(" rt=")?;
            rest.split(' ').next()?.parse().ok().map(Wall)
        }
    }
}

/// A bar of the time that is done: records come newest first.
fn bar(from: u64, at: u64, until: u64) -> String {
    const WIDTH: u64 = 30;
    let whole = until.saturating_sub(from).max(1);
    let done = until.saturating_sub(at).min(whole);
    let full = usize::try_from(done * WIDTH / whole).unwrap_or(0);
    let rest = usize::try_from(WIDTH).unwrap_or(0).saturating_sub(full);
    format!(
        "[{}{}] {:3} %",
        "#".repeat(full),
        " ".repeat(rest),
        done * 100 / whole
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_the_share_of_time() {
        assert_eq!(bar(0, 100, 100), format!("[{}]   0 %", " ".repeat(30)));
        assert_eq!(
            bar(0, 50, 100),
            format!("[{}{}]  50 %", "#".repeat(15), " ".repeat(15))
        );
        assert_eq!(bar(0, 0, 100), format!("[{}] 100 %", "#".repeat(30)));
        assert_eq!(bar(100, 0, 100), format!("[{}] 100 %", "#".repeat(30)));
    }

    /// Regression for #8: there was a bar for JSON alone, and it counted lines.
    #[test]
    fn every_form_shows_how_far_it_is() {
        let at = Wall::from_rfc3339("2026-03-04T12:00:00.000Z").unwrap();
        let ends = ["2026-03-04", "2026-03-05"].map(|day| Wall::from_rfc3339(day).unwrap().0);
        let check = |format: ExportFormat, part: &str| {
            let mut progress = Progress {
                shown: true,
                format,
                stretch: Some(ends),
            };
            let half = format!("[{}{}]  50 % 7 records", "#".repeat(15), " ".repeat(15));
            assert_eq!(progress.line(part, 7), half, "{part}");
            progress.stretch = None;
            let line = "7 records, back to 2026-03-04T12:00:00.000Z";
            assert_eq!(progress.line(part, 7), line, "{part}");
            assert_eq!(progress.line("", 7), "7 records");
        };
        let time = at.rfc3339();
        let record = format!("{{\"timestamp\":\"{time}\"}}");
        check(ExportFormat::Ndjson, &format!("{{}}\n{record}\n"));
        check(ExportFormat::Json, &format!(",\n{record},\n{record}"));
        let row =
            format!("id,type,timestamp,why\r\n1,tool_call,{time},\"two\nlines,\n,2020,\"\r\n");
        check(ExportFormat::Csv, &row);
        check(ExportFormat::Ocsf, &format!("{{\"time\":{}}}\n", at.0));
        let line = format!("CEF:0|a|externalId=1 rt={} msg=rt\\=5\n", at.0);
        check(ExportFormat::Cef, &line);
    }
}
