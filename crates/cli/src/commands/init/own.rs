//! Our own configuration file: reading it, working out what it will say, and replacing it whole.

use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use mcpproxy_config::{Loaded, Sources, edit, load, load_text};
use similar::{ChangeTag, TextDiff};

use super::additions::Entry;
use super::mask;
use crate::args::Global;
use crate::daemon::flags;
use crate::exit::{bad_input, failed};

/// Mode of a folder that we make.
const PRIVATE: u32 = 0o700;

/// Looks up a variable of the environment.
pub(super) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Loads the user's configuration. A project's file takes no part: who wrote it could otherwise
/// choose where the user's agents are pointed, and would be given the user's servers.
pub(super) fn configuration(global: &Global) -> Result<Loaded> {
    let empty = tempfile::tempdir()?;
    let sources = Sources {
        project_dir: empty.path().to_owned(),
        ..Sources::new(flags(global, None), &environment)
    };
    load(&sources).map_err(|problems| {
        bad_input(
            problems.to_string(),
            Some("run `mcpproxy config check` once that is mended"),
        )
    })
}

/// Returns the data folder, also where the configuration cannot be loaded.
pub(super) fn data_dir(global: &Global) -> Result<PathBuf> {
    if let Ok(loaded) = configuration(global) {
        return Ok(loaded.config.gateway.data_dir);
    }
    let sources = Sources::new(flags(global, None), &environment);
    let loaded = load_text(&sources, Path::new("mcpproxy.yaml"), "");
    let loaded = loaded.map_err(|problems| bad_input(problems.to_string(), None))?;
    Ok(loaded.config.gateway.data_dir)
}

/// Our own file, as it was read.
pub(super) struct OwnFile {
    pub(super) path: PathBuf,
    /// Its text; none where there is no file.
    pub(super) before: Option<String>,
}

impl OwnFile {
    /// Reads the file, if there is one.
    pub(super) fn read(path: &Path) -> Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            before: text_of(path)?,
        })
    }

    /// Returns what the file says with these entries added.
    pub(super) fn with(&self, entries: &[(String, Entry)]) -> Result<String> {
        // The editor works on files, so it is given a copy.
        let scratch = tempfile::tempdir()?;
        let copy = scratch
            .path()
            .join(self.path.file_name().unwrap_or_default());
        if let Some(before) = &self.before {
            fs::write(&copy, before)?;
        }
        for (name, entry) in entries {
            edit::add_upstream(&copy, name, entry).map_err(|fault| {
                let message = fault.to_string();
                let (copy, own) = (copy.to_string_lossy(), self.path.to_string_lossy());
                let hint = "add it by hand, or leave its agent out with `--agent`";
                bad_input(message.replace(&*copy, &own), Some(hint))
            })?;
        }
        Ok(text_of(&copy)?.unwrap_or_default())
    }

    /// Makes sure that a text would load in place of the file's.
    pub(super) fn check(&self, text: &str) -> Result<()> {
        let sources = Sources::new(mcpproxy_config::Flags::default(), &environment);
        let loaded = load_text(&sources, &self.path, text);
        loaded.map(drop).map_err(|problems| {
            let message = format!("the configuration would not load any more: {problems}");
            failed(message, Some("nothing was changed"))
        })
    }

    /// Returns the lines that the entries add, with secrets hidden.
    pub(super) fn diff(&self, entries: &[(String, Entry)]) -> Result<String> {
        if entries.is_empty() {
            return Ok(String::new());
        }
        let masked: Vec<_> = entries
            .iter()
            .map(|(name, entry)| (name.clone(), mask::entry(entry)))
            .collect();
        let before = self.before.as_deref().unwrap_or_default();
        let after = self.with(&masked)?;
        let path = self.path.display();
        let from = self
            .before
            .as_ref()
            .map_or("/dev/null".to_owned(), |_| path.to_string());
        let lines = added(before, &after).unwrap_or_else(|| spelled(&masked));
        Ok(format!("--- {from}\n+++ {path}\n{lines}\n"))
    }

    /// Replaces the file in one step, unless somebody else changed it since it was read.
    pub(super) fn write(&self, text: &str) -> Result<()> {
        let context = || format!("cannot write `{}`", self.path.display());
        // A link stays a link: what it leads to is replaced.
        let target = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let folder = target
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        if !folder.exists() {
            DirBuilder::new()
                .recursive(true)
                .mode(PRIVATE)
                .create(folder)
                .with_context(context)?;
        }
        // A temporary file is for its owner only, which is right for a new file.
        let mut beside = tempfile::Builder::new()
            .prefix(".mcpproxy-")
            .tempfile_in(folder)?;
        beside.write_all(text.as_bytes()).with_context(context)?;
        if let Ok(metadata) = fs::metadata(&target) {
            beside
                .as_file()
                .set_permissions(metadata.permissions())
                .with_context(context)?;
        }
        beside.as_file().sync_all().with_context(context)?;
        if text_of(&target)? != self.before {
            let message = format!(
                "`{}` was changed by somebody else meanwhile",
                target.display()
            );
            return Err(failed(
                message,
                Some("nothing was changed; run the command again"),
            ));
        }
        // CRASH: before this the old file is whole; after it the new one is.
        beside
            .persist(&target)
            .map_err(|fault| fault.error)
            .with_context(context)?;
        fs::File::open(folder)
            .and_then(|folder| folder.sync_all())
            .with_context(context)
    }
}

/// Returns the text of a file; none where there is no file.
pub(super) fn text_of(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(fault) => Err(fault).with_context(|| format!("cannot read `{}`", path.display())),
    }
}

/// Returns the lines that were added; nothing where a line of the old text had to be rewritten,
/// since that line may hold a secret.
fn added(before: &str, after: &str) -> Option<String> {
    let diff = TextDiff::from_lines(before, after);
    let mut lines = Vec::new();
    let mut gone: Vec<&str> = Vec::new();
    for change in diff.iter_all_changes() {
        let line = change.value().trim_end();
        match change.tag() {
            ChangeTag::Equal => {}
            ChangeTag::Delete => gone.push(line),
            ChangeTag::Insert => {
                // In JSON the line before a new one gains a comma, and no more.
                let comma = line.strip_suffix(',').unwrap_or(line);
                match gone.iter().position(|gone| *gone == comma) {
                    Some(at) => drop(gone.remove(at)),
                    None => lines.push(format!("+{line}")),
                }
            }
        }
    }
    let bare = |line: &&str| {
        let word = line.trim_matches(|char: char| "{}[]:\" \t".contains(char));
        matches!(word, "" | "mcpServers")
    };
    gone.iter().all(bare).then(|| lines.join("\n"))
}

/// Spells the entries by themselves.
fn spelled(entries: &[(String, Entry)]) -> String {
    let entries: serde_json::Map<_, _> = entries
        .iter()
        .map(|(name, entry)| (name.clone(), entry.clone().into()))
        .collect();
    let text = serde_json::to_string_pretty(&entries).unwrap_or_default();
    let lines: Vec<_> = text.lines().map(|line| format!("+{line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests;
