//! `scan`: attacks and exposed secrets in saved tool lists, configuration files and upstreams.
//!
//! A file is only read. An upstream is started as the gateway would, asked what it offers, and
//! ended. What is found is judged by the detectors; nothing here decides about calls.

mod command;
mod entries;
mod file;
mod finding;
mod live;
mod offer;
mod sarif;
mod settings;

use std::path::Path;

use anyhow::Result;
use mcpproxy_config::Loaded;
use mcpproxy_detect::{Inspector, Level};
use serde_json::{Value, json};

use self::file::Source;
use self::finding::Finding;
use self::live::Reach;
use self::offer::Offer;
pub(crate) use self::sarif::SCHEMA as SARIF_SCHEMA;
use crate::args::{Format, Global, Scan};
use crate::daemon::{configuration, flags};
use crate::exit::{Exit, bad_input};
use crate::output;

/// What findings in the settings of an agent are about.
const SETTINGS: &str = "settings";

/// Scans the targets, or the whole configuration.
pub(crate) fn run(global: &Global, scan: &Scan) -> Result<Exit> {
    let loaded = configuration(&flags(global, None))?;
    let mut settings = loaded.config.security.detection();
    // Whoever scans wants to know, whatever is done with live traffic.
    settings.enabled = true;
    let work = plan(scan, &loaded)?;
    let mut pass = Pass {
        inspector: Inspector::new(&settings)?,
        findings: Vec::new(),
        offers: Vec::new(),
        problems: Vec::new(),
    };
    for source in &work.sources {
        pass.source(source)?;
    }
    pass.reach(&loaded, &work.reaches)?;
    let (found, unread) = offer::inspect(&pass.inspector, &pass.offers);
    pass.findings.extend(found);
    pass.problems.extend(unread);
    pass.finish(global.format(), scan.notes)
}

/// What is to be looked at.
#[derive(Default)]
struct Work {
    sources: Vec<Source>,
    reaches: Vec<Reach>,
}

fn plan(scan: &Scan, loaded: &Loaded) -> Result<Work> {
    let mut work = Work::default();
    if let Some(reach) = Reach::given(scan.url.as_deref(), &scan.command)? {
        work.reaches.push(reach);
    }
    for target in &scan.targets {
        if let Some(settings) = loaded.config.upstreams.get(target) {
            work.reaches.push(Reach::configured(target, settings));
        } else if Path::new(target).exists() {
            work.sources.push(Source::read(target)?);
        } else {
            let known: Vec<_> = loaded.config.upstreams.keys().map(String::as_str).collect();
            let hint = match known.as_slice() {
                [] => "no upstream is configured; give a file".to_owned(),
                known => format!("the upstreams are: {}", known.join(", ")),
            };
            let message = format!("`{target}` is neither a file nor an upstream");
            return Err(bad_input(message, Some(&hint)));
        }
    }
    if work.sources.is_empty() && work.reaches.is_empty() {
        for file in &loaded.files {
            work.sources.push(Source::read(&file.to_string_lossy())?);
        }
        let all = loaded.config.upstreams.iter();
        let enabled = all.filter(|(_, settings)| settings.enabled);
        work.reaches
            .extend(enabled.map(|(name, settings)| Reach::configured(name, settings)));
        if work.sources.is_empty() {
            let hint = "give a file, the name of an upstream, `--url URL` or `-- PROGRAM`";
            return Err(bad_input("there is nothing to scan", Some(hint)));
        }
    }
    Ok(work)
}

/// What came together so far.
struct Pass<'a> {
    inspector: Inspector,
    findings: Vec<Finding>,
    offers: Vec<Offer<'a>>,
    /// What could not be scanned, and why.
    problems: Vec<String>,
}

impl<'a> Pass<'a> {
    fn source(&mut self, source: &'a Source) -> Result<()> {
        if let Some(offer) = Offer::saved(source) {
            self.offers.push(offer);
            return Ok(());
        }
        let entries = entries::of(&source.document.value);
        let settings = settings::of(&source.document.value);
        if entries.is_empty() && settings.is_empty() && !settings::is_one(&source.document.value) {
            let message = format!("`{}` has neither tools nor upstreams in it", source.name);
            let hint = "give the result of `tools/list`, a file with `mcpServers`, or the settings of an agent";
            return Err(bad_input(message, Some(hint)));
        }
        self.findings.extend(settings.into_iter().map(|placed| {
            let level = placed.detection.level;
            let finding = Finding {
                category: "configuration".to_owned(),
                ..Finding::new(SETTINGS, "resource", level, placed)
            };
            finding.in_file(source)
        }));
        for entry in entries {
            let found = entry.inspect(&self.inspector).into_iter();
            self.findings
                .extend(found.map(|finding| finding.in_file(source)));
        }
        Ok(())
    }

    fn reach(&mut self, loaded: &Loaded, reaches: &[Reach]) -> Result<()> {
        // What stands in a file is found there, with its line.
        for entry in reaches.iter().filter_map(Reach::entry) {
            self.findings.extend(entry.inspect(&self.inspector));
        }
        if reaches.is_empty() {
            return Ok(());
        }
        for (name, offer) in live::offers(loaded, reaches)? {
            match offer {
                Ok(offer) => self.offers.push(offer),
                Err(why) => self
                    .problems
                    .push(format!("upstream `{name}` cannot be scanned: {why}")),
            }
        }
        Ok(())
    }

    fn finish(mut self, format: Format, notes: bool) -> Result<Exit> {
        self.findings.sort_by(Finding::order);
        let all = self.findings.len();
        self.findings
            .retain(|finding| notes || finding.verdict > Level::Note);
        show(format, &self.findings, self.problems.is_empty())?;
        let hidden = all - self.findings.len();
        if hidden > 0 {
            output::note(&format!(
                "{hidden} more are only worth a note; `--notes` shows them"
            ));
        }
        for problem in &self.problems {
            output::error(&output::flat(problem), None);
        }
        let loud = self.findings.iter().any(|one| one.verdict > Level::Note);
        Ok(match (self.problems.is_empty(), loud) {
            (false, _) => Exit::Error,
            (true, true) => Exit::Findings,
            (true, false) => Exit::Fine,
        })
    }
}

fn show(format: Format, findings: &[Finding], whole: bool) -> Result<()> {
    let rows: Vec<Value> = findings.iter().map(Finding::row).collect();
    match format {
        Format::Table if rows.is_empty() => {
            if whole {
                output::note("nothing was found");
            }
            Ok(())
        }
        Format::Table => {
            let columns = [
                "verdict", "severity", "where", "field", "rule", "reason", "sample",
            ];
            let rows: Vec<Value> = findings.iter().map(Finding::line).collect();
            output::rows(format, &columns, &rows)
        }
        Format::Sarif => output::line(&serde_json::to_string_pretty(&sarif::log(findings, whole))?),
        Format::Jsonl => output::rows(format, &[], &rows),
        Format::Json | Format::Yaml => output::value(format, &json!({ "findings": rows })),
    }
}
