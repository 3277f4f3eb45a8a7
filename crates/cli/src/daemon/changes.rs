//! Changes of the configuration file as a whole: tried without being made, or made and put in force.

use std::path::PathBuf;

use mcpproxy_config::{Loaded, Problems, Sources, edit, load_with, show};
use mcpproxy_control::{Applied, ChangeFault, ConfigChange, Configurer as _, Shown, ShownValue};

use super::{ConfigFiles, NotMade, access, change_fault, environment};

/// The configuration that a change would make.
pub(super) struct Changed {
    /// The file.
    file: PathBuf,
    /// Its text.
    text: String,
    /// What it would load to, or everything that is wrong with it.
    pub(super) loaded: Result<Box<Loaded>, Vec<String>>,
}

impl ConfigFiles {
    /// Finds out what a change would make; nothing is written.
    pub(super) fn changed(&self, change: &ConfigChange) -> Result<Changed, ChangeFault> {
        let sources = Sources::new(self.flags.clone(), &environment);
        let file = mcpproxy_config::target(&sources);
        let text = match change {
            ConfigChange::Text(text) => text.clone(),
            ConfigChange::Patch(patch) => {
                let patched = edit::patched(&file, patch);
                patched.map_err(|fault| change_fault(&fault, ""))?
            }
        };
        let loaded = load_with(&sources, &file, &text);
        let loaded = loaded.map_err(|problems| lines(&problems));
        let loaded = loaded.and_then(|loaded| match access::rules(&loaded) {
            Ok(_) => Ok(Box::new(loaded)),
            Err(why) => Err(vec![why]),
        });
        Ok(Changed { file, text, loaded })
    }

    /// Makes a change and puts it in force, or leaves everything as it was.
    pub(super) fn put(&self, change: &ConfigChange) -> Result<Applied, ChangeFault> {
        let Changed { file, text, loaded } = self.changed(change)?;
        loaded.map_err(|problems| invalid(&problems))?;
        let mut applied = Applied::default();
        let mut backup = None;
        let tried = edit::tried(
            &file,
            |file| {
                backup = edit::put(file, &text)?;
                Ok(())
            },
            || {
                applied.report = self.reload().map_err(NotMade::Reload)?;
                Ok(())
            },
        );
        tried.map_err(|fault| self.not_made(fault, ""))?;
        applied.backup = backup.map(|backup| backup.display().to_string());
        Ok(applied)
    }
}

/// Shows a configuration without its secrets.
pub(super) fn shown(loaded: &Loaded) -> Shown {
    let values = show(loaded, true).into_iter().map(|row| ShownValue {
        key: row.path,
        value: row.value,
        origin: row
            .origin
            .map(|origin| origin.to_string())
            .unwrap_or_default(),
    });
    let files = loaded.files.iter().map(|file| file.display().to_string());
    Shown {
        values: values.collect(),
        files: files.collect(),
        target: loaded.target.display().to_string(),
        notices: loaded.notices.iter().map(ToString::to_string).collect(),
    }
}

/// Says that a configuration is wrong, and all that is.
pub(super) fn invalid(problems: &[String]) -> ChangeFault {
    ChangeFault::Invalid {
        reason: problems.join("\n"),
        hint: Some("see `mcpproxy config schema`".to_owned()),
    }
}

fn lines(problems: &Problems) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}
