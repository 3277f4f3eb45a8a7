//! `activity export`: records into a file, part by part, so that an export that is broken off can go
//! on where it was.
//!
//! Until it is whole the file stands under another name, beside a note of how far it came.

mod days;
mod progress;
mod written;

use anyhow::Result;
use http::HeaderMap;

use self::progress::Progress;
use self::written::{Place, Target};
use super::query;
use crate::args::{ActivityExport, ExportFormat, Global, Rollup};
use crate::commands::client::{fetch, runtime, socket};
use crate::exit::bad_input;
use crate::output;

/// Records of one part.
const PART: usize = 1000;

/// Writes records.
pub(super) fn run(global: &Global, export: &ActivityExport) -> Result<()> {
    let asked = asked(export);
    let mut target = target(global, export, &asked)?;
    let progress = Progress::new(export);
    // The line that names the columns is no record.
    let heading = u64::from(export.format == ExportFormat::Csv);
    let socket = socket(global);
    runtime()?.block_on(async {
        loop {
            let mut path = format!("/activity/export?limit={PART}{asked}");
            if let Place::At { cursor, .. } = &target.place {
                path.extend(["&cursor=", cursor]);
            }
            let fetched = fetch(&socket, &path).await;
            let (headers, part) = fetched.map_err(|fault| target.broken_off(fault, heading))?;
            let text = String::from_utf8_lossy(&part);
            let lines = match export.rollup {
                Some(_) => target.days.take(&text),
                None => &*text,
            };
            let body = match export.format {
                ExportFormat::Json => target.listed(lines),
                ExportFormat::Ndjson
                | ExportFormat::Csv
                | ExportFormat::Ocsf
                | ExportFormat::Cef => lines.to_owned(),
            };
            let next = next(&headers);
            let last = next.is_none();
            target.write(&body, counted(&body, export.format), next)?;
            progress.show(&body, target.records.saturating_sub(heading));
            if last {
                return Ok::<_, anyhow::Error>(());
            }
        }
    })?;
    progress.end();
    let records = target.records.saturating_sub(heading);
    let days = target.days.lines();
    let closing = match export.format {
        ExportFormat::Json => format!("{}]\n", target.listed(&days)),
        ExportFormat::Ndjson | ExportFormat::Csv | ExportFormat::Ocsf | ExportFormat::Cef => days,
    };
    target.write(&closing, 0, None)?;
    if let Some(file) = target.finish()? {
        output::note(&format!("wrote {records} records to `{}`", file.display()));
    }
    Ok(())
}

fn target(global: &Global, export: &ActivityExport, asked: &str) -> Result<Target> {
    let opening = if export.format == ExportFormat::Json {
        "["
    } else {
        ""
    };
    match (global.file(), &export.recipient) {
        (Some(file), _) if export.resume => Target::resumed(file, asked, opening),
        (None, _) if export.resume => {
            let hint = "name the file with `--output FILE`";
            Err(bad_input("there is no file to go on with", Some(hint)))
        }
        (file, Some(recipient)) => Target::encrypted(file, recipient, opening),
        (Some(file), None) => Target::file(file, asked, opening),
        (None, None) => Target::standard(opening),
    }
}

/// What the gateway is asked for in every part; an export goes on only with the same.
fn asked(export: &ActivityExport) -> String {
    let form = export.format.asked();
    let (flows, bodies) = (export.include_flows, export.include_bodies);
    let rollup = match export.rollup {
        Some(Rollup::Daily) => "&rollup=daily",
        None => "",
    };
    let filters = query(&export.filter);
    format!("&format={form}&include_flows={flows}&include_bodies={bodies}{rollup}{filters}")
}

/// Counts the records of a part; the line that names the columns is counted with them.
fn counted(part: &str, format: ExportFormat) -> u64 {
    let count = match format {
        ExportFormat::Csv => rows(part).count(),
        ExportFormat::Json | ExportFormat::Ndjson | ExportFormat::Ocsf | ExportFormat::Cef => {
            part.lines().filter(|line| line.len() > 1).count()
        }
    };
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Returns the rows of a part. A line that breaks within a cell is no other row: the quotes around a cell,
/// and those within it, which are written twice, are even in number where a row ends.
fn rows(part: &str) -> impl Iterator<Item = &str> {
    let mut is_within = false;
    part.split_inclusive(move |char| {
        is_within ^= char == '"';
        char == '\n' && !is_within
    })
}

fn next(headers: &HeaderMap) -> Option<String> {
    let next = headers.get("x-next-cursor")?.to_str().ok()?;
    Some(next.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression for #8: a line that broke within a cell was told of as a record.
    #[test]
    fn rows_are_counted_and_not_their_lines() {
        let check = |part: &str, format: ExportFormat, expect: u64| {
            assert_eq!(counted(part, format), expect, "{part:?}");
        };
        check("", ExportFormat::Csv, 0);
        check("id,why\r\n1,a\r\n", ExportFormat::Csv, 2);
        check(
            "1,\"two\nlines, \"\"quoted\"\"\"\r\n2,b\r\n",
            ExportFormat::Csv,
            2,
        );
        check("{\"a\":\"x\"}\n{}\n", ExportFormat::Ndjson, 2);
        check("{\"a\":1},\n{\"a\":2}", ExportFormat::Json, 2);
    }
}
