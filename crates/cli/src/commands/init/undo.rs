//! `init --undo`: the agents' files first, then our own, so that no server is ever nowhere.

use std::fs;

use anyhow::{Context as _, Result};
use mcpproxy_agents::{self as agents, OnConflict, Undone};
use mcpproxy_config::{check_upstream, edit};
use serde_json::{Value, json};

use super::own::{self, OwnFile};
use super::record::{self, Record};
use crate::args::{Format, Global};
use crate::exit::{Exit, bad_input, failed};
use crate::output;

/// What became of our own file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Taken {
    /// The upstreams that were taken out.
    removed: Vec<String>,
    /// Those that somebody changed since, and that stay.
    kept: Vec<String>,
}

/// Takes back the last `init` that was not taken back yet.
pub(super) fn run(global: &Global) -> Result<Exit> {
    let backups = own::data_dir(global)?.join(super::BACKUPS);
    let record = Record::newest(&backups)?;
    let label = record::newest_of_agents(&backups)?;
    // An init that failed midway changed our own file and no agent's.
    let paired = match (&record, &label) {
        (None, None) => {
            let message = format!("no `init` is on record in `{}`", backups.display());
            return Err(bad_input(
                message,
                Some("was it run with another `--data-dir`?"),
            ));
        }
        (Some(record), Some(label)) => record.label == *label,
        (None, Some(_)) => true,
        (Some(_), None) => false,
    };
    let undone = if paired {
        let undone = agents::undo(&backups, OnConflict::Merge);
        undone.map_err(|fault| failed(fault.to_string(), None))?
    } else {
        Undone::default()
    };
    report_agents(&undone);
    if let Some(conflict) = undone.conflicts.first() {
        return Err(unmerged(conflict));
    }
    let taken = match record {
        Some(record) => {
            let taken = take_back(global, &record)?;
            record.close()?;
            taken
        }
        None => Taken::default(),
    };
    report(global, &undone, &taken)
}

fn report_agents(undone: &Undone) {
    for path in &undone.restored {
        output::note(&format!("restored {}", path.display()));
    }
    for path in &undone.merged {
        let path = path.display();
        output::note(&format!(
            "took our change out of {path}, which others changed since"
        ));
    }
}

/// Our own upstreams stay as long as an agent still points here.
fn unmerged(conflict: &agents::Conflict) -> anyhow::Error {
    let path = conflict.path.display();
    let message = format!("`{path}` was changed since, and our change cannot be told from theirs");
    let hint = match &conflict.backup {
        Some(backup) => format!(
            "put back what you need from `{}`, and try again",
            backup.display()
        ),
        None => "there was no such file; remove it, and try again".to_owned(),
    };
    failed(message, Some(&hint))
}

/// Takes the added upstreams out of our own file: all of it at once where nobody else changed it,
/// else those that are as they were added.
fn take_back(global: &Global, record: &Record) -> Result<Taken> {
    let mut taken = Taken::default();
    if record.entries.is_empty() {
        return Ok(taken);
    }
    let original = OwnFile {
        path: record.file.clone(),
        before: record.before.clone(),
    };
    let now = OwnFile::read(&record.file)?;
    if now.before == record.before {
        return Ok(taken);
    }
    if now.before == original.with(&record.entries).ok() {
        match &record.before {
            Some(before) => now.write(before)?,
            None => fs::remove_file(&record.file)
                .with_context(|| format!("cannot remove `{}`", record.file.display()))?,
        }
        taken.removed = record
            .entries
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        return Ok(taken);
    }
    let loaded = own::configuration(global)?;
    for (name, entry) in &record.entries {
        let Some(held) = loaded.config.upstreams.get(name) else {
            continue;
        };
        let added = check_upstream(name, &Value::Object(entry.clone()), &own::environment);
        if added.is_ok_and(|added| added == *held) {
            let removed = edit::remove_upstream(&record.file, name);
            removed.map_err(|fault| failed(fault.to_string(), None))?;
            taken.removed.push(name.clone());
        } else {
            taken.kept.push(name.clone());
        }
    }
    Ok(taken)
}

fn report(global: &Global, undone: &Undone, taken: &Taken) -> Result<Exit> {
    for name in &taken.removed {
        output::note(&format!("removed upstream `{name}`"));
    }
    for name in &taken.kept {
        let command = format!("`mcpproxy upstream remove {name}`");
        output::note(&format!(
            "upstream `{name}` was changed since and stays; {command} removes it"
        ));
    }
    if global.format() != Format::Table {
        let names = |paths: &[std::path::PathBuf]| -> Vec<String> {
            paths
                .iter()
                .map(|path| path.display().to_string())
                .collect()
        };
        let done = json!({
            "restored": names(&undone.restored),
            "merged": names(&undone.merged),
            "removed": taken.removed,
            "kept": taken.kept,
        });
        output::value(global.format(), &done)?;
    }
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::additions::Entry;
    use super::*;

    fn entries() -> Vec<(String, Entry)> {
        let entry = |command: &str| json!({ "command": command }).as_object().unwrap().clone();
        vec![("b".to_owned(), entry("b")), ("a".to_owned(), entry("a"))]
    }

    /// Adds the entries, lets somebody change the text, takes the entries back.
    fn check(
        before: Option<&str>,
        change: fn(String) -> String,
        removed: &[&str],
        rest: Option<&str>,
    ) {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("mcpproxy.yaml");
        let own = OwnFile {
            path: file.clone(),
            before: before.map(str::to_owned),
        };
        let record = Record::begin(home.path(), "label", &own, &entries()).unwrap();
        fs::write(&file, change(own.with(&entries()).unwrap())).unwrap();
        let taken = take_back(&global(home.path(), &file), &record).unwrap();
        assert_eq!(taken.removed, removed);
        assert_eq!(fs::read_to_string(&file).ok().as_deref(), rest);
    }

    fn global(data_dir: &Path, config: &Path) -> Global {
        Global {
            config: Some(config.to_owned()),
            data_dir: Some(data_dir.to_owned()),
            output: crate::args::Output::Form(Format::Table),
            json: false,
            log_level: None,
        }
    }

    #[test]
    fn only_what_was_added_is_taken_back() {
        let before = "# mine\nlisten: 127.0.0.1:1\n";
        check(None, |text| text, &["b", "a"], None);
        check(Some(before), |text| text, &["b", "a"], Some(before));
        check(
            Some(before),
            |_| "# mine\nlisten: 127.0.0.1:1\n".to_owned(),
            &[],
            Some(before),
        );
        let tuned = |text: String| text.replace("command: a", "command: a\n    max_in_flight: 2");
        let rest = "mcpServers:\n  a:\n    command: a\n    max_in_flight: 2\n";
        check(None, tuned, &["b"], Some(rest));
        let gone = |_| "mcpServers:\n  a:\n    command: a\n  c:\n    command: c\n".to_owned();
        check(
            None,
            gone,
            &["a"],
            Some("mcpServers:\n  c:\n    command: c\n"),
        );
    }
}
