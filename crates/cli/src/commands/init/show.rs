//! What `init` found and is about to do, on the screen or as one JSON value.

use std::path::{Path, PathBuf};

use anyhow::Result;
use mcpproxy_agents::{Found, Imported, Scope, Transport, mask_args, mask_url};
use serde_json::{Map, Value, json};

use super::Outlook;
use super::survey::Survey;
use crate::args::Format;
use crate::exit::Exit;
use crate::output;

/// Shows each thing when it is known, or all of it at the end.
pub(super) struct Screen {
    format: Format,
    all: Map<String, Value>,
}

impl Screen {
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            all: Map::new(),
        }
    }

    fn line(&self, text: &str) -> Result<()> {
        if self.format == Format::Table {
            output::line(text)
        } else {
            Ok(())
        }
    }

    /// Shows the agents' files, the project's apart from the user's.
    pub(super) fn survey(&mut self, survey: &Survey) -> Result<()> {
        let (user, project): (Vec<_>, Vec<_>) = survey
            .found
            .iter()
            .partition(|file| file.scope == Scope::User);
        if survey.found.is_empty() {
            output::note("no configuration of an agent was found; `--agent NAME` makes one");
        }
        for file in &user {
            self.file(file)?;
        }
        if !project.is_empty() {
            self.line("Files of the project at hand, from whoever wrote it (each is asked for):")?;
        }
        for file in &project {
            self.file(file)?;
        }
        for left in &survey.left {
            output::note(&format!("note: {}", output::flat(left)));
        }
        let files: Vec<_> = survey.found.iter().map(file).collect();
        self.all.insert("files".to_owned(), files.into());
        self.all.insert("left".to_owned(), json!(survey.left));
        Ok(())
    }

    fn file(&self, found: &Found) -> Result<()> {
        self.line(&format!(
            "{} ({}): {}",
            found.agent,
            scope(found),
            found.path.display()
        ))?;
        let width = found
            .upstreams
            .iter()
            .map(|one| one.name.chars().count())
            .max()
            .unwrap_or(0);
        for upstream in &found.upstreams {
            let name = output::flat(&upstream.name);
            let off = if upstream.enabled {
                ""
            } else {
                "  (switched off)"
            };
            self.line(&format!("  {name:width$}  {}{off}", reached(upstream)))?;
        }
        if found.upstreams.is_empty() {
            self.line("  no servers to import")?;
        }
        found
            .problems
            .iter()
            .try_for_each(|problem| self.line(&format!("  problem: {problem}")))
    }

    /// Shows what will be done.
    pub(super) fn outlook(&mut self, outlook: &Outlook) -> Result<()> {
        let mut notes: Vec<String> = outlook.plan.notes.iter().map(ToString::to_string).collect();
        notes.extend(outlook.additions.notes.iter().cloned());
        for new in outlook
            .additions
            .new
            .iter()
            .filter(|new| !new.variables.is_empty())
        {
            let variables = new.variables.join(", ");
            let where_ = "in the environment of `mcpproxy serve`";
            notes.push(format!("`{}` needs {variables} {where_}", new.name));
        }
        notes.extend(outlook.skipped.iter().cloned());
        for note in &notes {
            output::note(&format!("note: {}", output::flat(note)));
        }
        let entries = outlook.additions.entries();
        let mut diffs = vec![(outlook.own.path.clone(), outlook.own.diff(&entries)?)];
        diffs.extend(
            outlook
                .plan
                .changes()
                .map(|file| (file.path.clone(), file.diff())),
        );
        diffs.retain(|(_, diff)| !diff.is_empty());
        for (_, diff) in &diffs {
            self.line("")?;
            self.line(diff.trim_end())?;
        }
        let diffs: Vec<_> = diffs
            .iter()
            .map(|(path, diff)| diffed(path, diff))
            .collect();
        let added: Vec<_> = outlook.additions.new.iter().map(|new| &new.name).collect();
        self.all.insert("notes".to_owned(), json!(notes));
        self.all.insert("diffs".to_owned(), diffs.into());
        self.all.insert("added".to_owned(), json!(added));
        self.all
            .insert("present".to_owned(), json!(outlook.additions.present));
        Ok(())
    }

    /// Shows the rest, with the files that were changed.
    pub(super) fn finish(mut self, changed: &[PathBuf]) -> Result<Exit> {
        if self.format != Format::Table {
            let changed: Vec<_> = changed
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            self.all.insert("changed".to_owned(), changed.into());
            output::value(self.format, &Value::Object(self.all))?;
        }
        Ok(Exit::Fine)
    }
}

fn scope(found: &Found) -> &'static str {
    match found.scope {
        Scope::User => "user",
        Scope::Project => "project",
    }
}

fn diffed(path: &Path, diff: &str) -> Value {
    json!({ "path": path.display().to_string(), "diff": diff })
}

fn file(found: &Found) -> Value {
    let servers: Vec<_> = found
        .upstreams
        .iter()
        .map(|upstream| {
            json!({
                "name": upstream.name,
                "reached": reached(upstream),
                "enabled": upstream.enabled,
                "variables": upstream.variables,
            })
        })
        .collect();
    let problems: Vec<_> = found.problems.iter().map(ToString::to_string).collect();
    json!({
        "agent": found.agent.slug(),
        "path": found.path.display().to_string(),
        "scope": scope(found),
        "servers": servers,
        "problems": problems,
    })
}

/// Says how an upstream is reached, without its secrets.
fn reached(upstream: &Imported) -> String {
    let text = match &upstream.transport {
        Transport::Stdio { command, args, .. } => {
            let words = std::iter::once(command.clone()).chain(mask_args(args));
            words.collect::<Vec<_>>().join(" ")
        }
        Transport::Http { url, .. } | Transport::Sse { url, .. } => mask_url(url),
    };
    output::flat(&text)
}
